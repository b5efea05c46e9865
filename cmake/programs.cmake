# The programs that ./cast builds: an engine for each config, one for any model, and the model tool. The command line is compiled once.
option(DIECAST_PROGRAMS "engines and the model tool" ${PROJECT_IS_TOP_LEVEL})
if(NOT DIECAST_PROGRAMS)
  return()
endif()

find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)

# Kernels are compiled for the machine that compiles them; everything else runs anywhere.
set(DIECAST_MACHINE -march=native CACHE STRING "compiler options that choose the instruction set of the kernels")

add_library(diecast_shell STATIC EXCLUDE_FROM_ALL
  tools/engine/main.cpp tools/engine/load.cpp tools/engine/run.cpp tools/engine/chat.cpp tools/engine/tokens.cpp tools/engine/logits.cpp
  tools/engine/info.cpp tools/engine/pack.cpp tools/engine/verify.cpp tools/engine/verify_device.cpp tools/engine/bench.cpp tools/engine/serve.cpp)
target_link_libraries(diecast_shell PUBLIC diecast::hf diecast::reference diecast::identity diecast::sentencepiece diecast::compiled_serve CLI11::CLI11 fmt::fmt PRIVATE diecast_warnings)
target_include_directories(diecast_shell PUBLIC tools/engine)

# diecast_engine(IDENTIFIER NAME [HEADER]): the target engine_<identifier> makes engines/NAME; without a config's header it takes any model. With one, the
# targets emulated_<identifier> and cuda_<identifier> make engines/NAME-emulated and engines/NAME-cuda, which have the backend of that name, too: where
# Boost.Context is here, and with -DDIECAST_CUDA=ON.
function(diecast_engine identifier name)
  # The kernels have a unit of their own, compiled for this machine, in a library that comes last to the linker: of the functions that it shares
  # with the rest of the program the linker keeps the first, so that the rest runs on any CPU and can say what is wrong.
  set(kernels ${CMAKE_BINARY_DIR}/engines/${identifier}_kernels.cpp)
  if(ARGN)
    set(config configs::${identifier})
    set(include "#include <${ARGN}>\n")
    set(compiled "diecast::compiled<${config}>()")
    set(path "path_of<${config}>()")
  else()
    set(compiled "{\"any model\", {}, {}}")
    set(path "path_of_any()")
  endif()
  file(GENERATE OUTPUT ${kernels} CONTENT "#include <diecast/cpu/make.hpp>\n${include}
diecast::cpu::Path kernels();\ndiecast::cpu::Path kernels() { return diecast::cpu::${path}; }\n")
  add_library(kernels_${identifier} STATIC EXCLUDE_FROM_ALL ${kernels})
  target_link_libraries(kernels_${identifier} PRIVATE diecast::cpu diecast_warnings)
  target_include_directories(kernels_${identifier} PRIVATE ${CMAKE_BINARY_DIR})
  target_compile_options(kernels_${identifier} PRIVATE ${DIECAST_MACHINE})

  function(program target program declared devices)
    file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/engines/${target}.cpp CONTENT "#include <shell.hpp>\n${include}#include <diecast/cpu/path.hpp>\n
diecast::cpu::Path kernels();\n${declared}
int main(int argc, char** argv) { return diecast::shell::main(${compiled}, kernels(), argc, argv${devices}); }\n")
    add_executable(${target} EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/engines/${target}.cpp)
    target_link_libraries(${target} PRIVATE diecast_shell ${ARGN} kernels_${identifier} diecast_warnings)
    target_include_directories(${target} PRIVATE ${CMAKE_BINARY_DIR})
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/engines OUTPUT_NAME ${program})
  endfunction()

  program(engine_${identifier} ${name} "" "")
  foreach(backend ${devices})
    if(ARGN)
      set(suffix cpp)
      set(library diecast::simt diecast_warnings)
      if(backend STREQUAL cuda)
        set(suffix cu)
        set(library diecast::kernels diecast_cuda_warnings)
      endif()
      set(unit ${CMAKE_BINARY_DIR}/engines/${identifier}_${backend}.${suffix})
      set(declared "std::shared_ptr<const diecast::cuda::DeviceBackend> open_device(const diecast::Weights&, const diecast::cuda::Ways&);\n")
      file(GENERATE OUTPUT ${unit} CONTENT "#include <diecast/cuda/${backend}_backend.hpp>\n${include}\n${declared}
std::shared_ptr<const diecast::cuda::DeviceBackend> open_device(const diecast::Weights& weights, const diecast::cuda::Ways& ways) {
  return diecast::cuda::open_${backend}<${config}>(weights, ways);\n}\n")
      add_library(device_${backend}_${identifier} STATIC EXCLUDE_FROM_ALL ${unit})
      target_link_libraries(device_${backend}_${identifier} PRIVATE ${library})
      target_include_directories(device_${backend}_${identifier} PRIVATE ${CMAKE_BINARY_DIR})
      program(${backend}_${identifier} ${name}-${backend} "${declared}" ", {.${backend} = open_device}" device_${backend}_${identifier})
    endif()
  endforeach()
endfunction()

# Devices whose backends can be built here. They cost nothing until somebody asks for such an engine.
set(devices "")
if(TARGET diecast::simt)
  list(APPEND devices emulated)
endif()
if(DIECAST_CUDA)
  list(APPEND devices cuda)
endif()

diecast_engine(any any)
# A new model is one file in configs/, or one that ./cast wrote into the build folder's own configs/: the file's name is the struct's, and its
# engine bears the name that the file says.
foreach(folder ${PROJECT_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  file(GLOB configs CONFIGURE_DEPENDS ${folder}/configs/*.hpp)
  foreach(config ${configs})
    get_filename_component(identifier ${config} NAME_WLE)
    file(STRINGS ${config} line REGEX "^ *static constexpr char name\\[\\] = \"[a-z0-9._-]+\";$")
    string(REGEX REPLACE ".*\"([a-z0-9._-]+)\".*" "\\1" name "${line}")
    if(NOT identifier MATCHES "^[a-z][a-z0-9_]*$" OR NOT name MATCHES "^[a-z0-9._-]+$")
      message(FATAL_ERROR "${config}: the file's name must be the struct's (a-z, 0-9, _) and name[] must be made of a-z, 0-9, '.', '_' and '-'")
    endif()
    if(TARGET engine_${identifier})
      continue()  # the project's own wins
    endif()
    if(folder STREQUAL PROJECT_SOURCE_DIR)
      diecast_engine(${identifier} ${name} diecast/configs/${identifier}.hpp)
    else()
      diecast_engine(${identifier} ${name} configs/${identifier}.hpp)
    endif()
  endforeach()
endforeach()

add_executable(diecast_tool EXCLUDE_FROM_ALL tools/tool/main.cpp tools/tool/inspect.cpp tools/tool/config.cpp tools/tool/embed.cpp)
target_link_libraries(diecast_tool PRIVATE diecast::hf diecast::identity diecast::sentencepiece CLI11::CLI11 fmt::fmt diecast_warnings)
set_target_properties(diecast_tool PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/engines)

add_subdirectory(${PROJECT_SOURCE_DIR}/bench ${CMAKE_BINARY_DIR}/bench)
