# The programs that ./cast builds: an engine for each config, one for any model, and the model tool. The command line is compiled once.
option(DIECAST_PROGRAMS "engines and the model tool" ${PROJECT_IS_TOP_LEVEL})
if(NOT DIECAST_PROGRAMS)
  return()
endif()

find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)

add_library(diecast_shell STATIC EXCLUDE_FROM_ALL
  tools/engine/main.cpp tools/engine/load.cpp tools/engine/run.cpp tools/engine/chat.cpp tools/engine/tokens.cpp tools/engine/logits.cpp
  tools/engine/info.cpp tools/engine/verify.cpp)
target_link_libraries(diecast_shell PUBLIC diecast::hf diecast::reference diecast::identity diecast::sentencepiece CLI11::CLI11 fmt::fmt PRIVATE diecast_warnings)
target_include_directories(diecast_shell PUBLIC tools/engine)

# diecast_engine(NAME [CONFIG]): the target engine_<name> makes engines/NAME; without a config it takes any model.
function(diecast_engine name)
  string(REGEX REPLACE "[^a-z0-9_]" "_" identifier ${name})
  set(unit ${CMAKE_BINARY_DIR}/engines/${identifier}.cpp)
  if(ARGN)
    file(GENERATE OUTPUT ${unit} CONTENT "#include <shell.hpp>\n#include <${ARGN}>\n
int main(int argc, char** argv) { return diecast::shell::main(diecast::compiled<configs::${identifier}>(), argc, argv); }\n")
  else()
    file(GENERATE OUTPUT ${unit} CONTENT "#include <shell.hpp>\n
int main(int argc, char** argv) { return diecast::shell::main({\"any model\", {}, {}}, argc, argv); }\n")
  endif()
  add_executable(engine_${identifier} EXCLUDE_FROM_ALL ${unit})
  target_link_libraries(engine_${identifier} PRIVATE diecast_shell diecast_warnings)
  set_target_properties(engine_${identifier} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/engines OUTPUT_NAME ${name})
endfunction()

diecast_engine(any)
# A new model is one file in configs/: its engine bears the name that the file says.
file(GLOB configs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/configs/*.hpp)
foreach(config ${configs})
  file(STRINGS ${config} line REGEX "name\\[\\] = \"")
  string(REGEX REPLACE ".*\"([^\"]+)\".*" "\\1" name "${line}")
  get_filename_component(file ${config} NAME)
  diecast_engine(${name} diecast/configs/${file})
endforeach()

add_executable(diecast_tool EXCLUDE_FROM_ALL tools/tool/main.cpp tools/tool/inspect.cpp)
target_link_libraries(diecast_tool PRIVATE diecast::hf diecast::sentencepiece CLI11::CLI11 fmt::fmt diecast_warnings)
set_target_properties(diecast_tool PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/engines)
