# cmake --install: the headers, the targets for find_package(diecast COMPONENTS ...), and a pkg-config file for each part.
# What is installed knows no absolute path, so the folder may be moved. Parts have an export set each: a program that wants the core
# alone needs none of the other parts' libraries.
option(DIECAST_INSTALL "rules for cmake --install" ${PROJECT_IS_TOP_LEVEL})
if(NOT DIECAST_INSTALL)
  return()
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# kernels/ and configs/ are links in the tree and folders of their own once installed.
install(DIRECTORY include/diecast DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp"
  PATTERN kernels EXCLUDE PATTERN configs EXCLUDE)
install(DIRECTORY kernels configs DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/diecast FILES_MATCHING PATTERN "*.hpp")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# SentencePiece has no CMake package; diecast-config.cmake makes that target itself.
set(package ${CMAKE_INSTALL_DATADIR}/cmake/diecast)
foreach(part core cpu hf reference identity serve)
  set_target_properties(diecast_${part} PROPERTIES EXPORT_NAME ${part})
  install(TARGETS diecast_${part} EXPORT diecast_${part} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT diecast_${part} NAMESPACE diecast:: FILE diecast-${part}.cmake DESTINATION ${package})
endforeach()
# OPTIONAL: whoever installs without building has the headers all the same.
if(DIECAST_COMPILED)
  set_target_properties(diecast_compiled PROPERTIES EXPORT_NAME compiled)
  install(TARGETS diecast_compiled EXPORT diecast_compiled ARCHIVE OPTIONAL INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT diecast_compiled NAMESPACE diecast:: FILE diecast-compiled.cmake DESTINATION ${package})
endif()
configure_package_config_file(cmake/diecast-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/diecast-config.cmake INSTALL_DESTINATION ${package}
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/diecast-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/diecast-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/diecast-config-version.cmake DESTINATION ${package})

# diecast_pc(PART DESCRIPTION REQUIRES LIBS): diecast.pc is the core, diecast-PART.pc a further part.
file(RELATIVE_PATH up /${CMAKE_INSTALL_DATADIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" up "${up}")
function(diecast_pc part description requires libs)
  set(name diecast-${part})
  if(part STREQUAL "core")
    set(name diecast)
  else()
    string(PREPEND requires "diecast = ${PROJECT_VERSION}, ")
    string(REGEX REPLACE ", $" "" requires "${requires}")
  endif()
  configure_file(cmake/diecast.pc.in ${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)
endfunction()
diecast_pc(core "language models as engines of their own: the core" "" "")
diecast_pc(cpu "Diecast: the CPU backend" "" "-pthread")
diecast_pc(hf "Diecast: model folders with config.json, safetensors and tokenizer.json" "nlohmann_json" "")
diecast_pc(reference "Diecast: the reference backend" "eigen3" "-pthread")
diecast_pc(identity "Diecast: digests of a model" "libcrypto" "")
diecast_pc(serve "Diecast: the server" "nlohmann_json" "-pthread")
diecast_pc(sentencepiece "Diecast: SentencePiece tokenizers" "sentencepiece" "")
if(DIECAST_COMPILED)
  diecast_pc(compiled "Diecast: what a compiler takes longest for, compiled" "" "-L\${prefix}/${CMAKE_INSTALL_LIBDIR} -ldiecast_compiled")
endif()
