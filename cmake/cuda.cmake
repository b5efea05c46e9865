# Device code. -DDIECAST_CUDA=ON (the preset cuda) compiles the kernels with nvcc; it needs no GPU.
option(DIECAST_CUDA "compile device code with nvcc" OFF)

if(DIECAST_CUDA)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(DIECAST_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda/bin)
    if(DIECAST_NVCC)
      set(CMAKE_CUDA_COMPILER ${DIECAST_NVCC})
    endif()
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 90)
  endif()
  enable_language(CUDA)

  add_library(diecast_kernels INTERFACE)  # <diecast/kernels/...> in a .cu file
  add_library(diecast::kernels ALIAS diecast_kernels)
  target_link_libraries(diecast_kernels INTERFACE diecast::core)
  # Not as cuda_std_20: CMake 3.25 does not know that feature of CUDA 13.
  target_compile_options(diecast_kernels INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>)

  # -Wpedantic is left out: nvcc itself writes line markers that it complains about.
  add_library(diecast_cuda_warnings INTERFACE)
  target_compile_options(diecast_cuda_warnings INTERFACE
    $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wconversion,-Wshadow,-Werror>)
endif()
