# The cases of the kernels once more, for a GPU: test_on_device has the very units of the host executor's tests, compiled by nvcc (on_cuda.hpp). Built where
# somebody asks for it: cmake --build FOLDER --target test_on_device. bench/device.sh does, and runs it.
if(NOT DIECAST_CUDA)
  return()
endif()
add_executable(test_on_device EXCLUDE_FROM_ALL $<TARGET_OBJECTS:catch_main>)
foreach(name attention_16 attention_f32 draw embed_head flash_attention mlp products_floats products_integers products_k qkv_fused qkv_norms)
  set(unit ${CMAKE_CURRENT_BINARY_DIR}/on_device/${name}.cu)
  file(GENERATE OUTPUT ${unit} CONTENT "#include \"${CMAKE_CURRENT_LIST_DIR}/${name}.cpp\"\n")
  target_sources(test_on_device PRIVATE ${unit})
endforeach()
target_link_libraries(test_on_device PRIVATE diecast::kernels diecast::hf Catch2::Catch2)
target_include_directories(test_on_device PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_LIST_DIR})
target_compile_definitions(test_on_device PRIVATE DIECAST_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
