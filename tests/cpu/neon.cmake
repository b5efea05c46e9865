# The CPU path on Arm, where there are a cross compiler and an emulator of the processor: what depends on the instruction set, with dot products and
# without. A cross compiler does not look where this machine's headers lie, so a folder of links shows it the libraries that have nothing but headers.
find_program(DIECAST_AARCH64_GXX aarch64-linux-gnu-g++)
find_program(DIECAST_QEMU_AARCH64 qemu-aarch64)
if(NOT DIECAST_AARCH64_GXX OR NOT DIECAST_QEMU_AARCH64)
  return()
endif()

set(arm ${CMAKE_CURRENT_BINARY_DIR}/arm)
file(MAKE_DIRECTORY ${arm}/include)
foreach(header catch2/catch.hpp boost/hana.hpp nlohmann/json.hpp Eigen/Core)
  cmake_path(GET header PARENT_PATH library)
  find_path(DIECAST_FOLDER_OF_${library} ${header} PATH_SUFFIXES eigen3 REQUIRED)
  file(CREATE_LINK ${DIECAST_FOLDER_OF_${library}}/${library} ${arm}/include/${library} SYMBOLIC)
endforeach()

function(diecast_arm_object source march object)
  cmake_path(GET source STEM name)
  set(file ${arm}/${name}_${march}.o)
  add_custom_command(OUTPUT ${file} DEPENDS ${source} DEPFILE ${file}.d VERBATIM COMMAND_EXPAND_LISTS
    COMMAND ${DIECAST_AARCH64_GXX} -std=c++20 -O1 -march=${march} -MD -MF ${file}.d ${DIECAST_WARNINGS} -Wno-restrict -I${PROJECT_SOURCE_DIR}/include -I${CMAKE_CURRENT_SOURCE_DIR}
      -isystem ${arm}/include "-DDIECAST_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"" -c ${source} -o ${file})
  set(${object} ${file} PARENT_SCOPE)
endfunction()

function(diecast_arm_test set march)  # further arguments: units
  set(program ${arm}/test_cpu_${set})
  diecast_arm_object(${CMAKE_CURRENT_SOURCE_DIR}/catch_main.cpp armv8-a objects)
  foreach(unit ${ARGN})
    diecast_arm_object(${cpu}/${unit}.cpp ${march} object)
    list(APPEND objects ${object})
  endforeach()
  add_custom_command(OUTPUT ${program} DEPENDS ${objects} VERBATIM COMMAND ${DIECAST_AARCH64_GXX} -static -pthread ${objects} -o ${program})
  add_custom_target(test_cpu_${set} ALL DEPENDS ${program})
  add_test(NAME "cpu ${set}: all, in qemu" COMMAND ${DIECAST_QEMU_AARCH64} ${program})
  set_tests_properties("cpu ${set}: all, in qemu" PROPERTIES TIMEOUT 900)
endfunction()

diecast_arm_test(dotprod armv8.2-a+dotprod lanes math quantise norm product_q8 product_q5 attention backend_threads same_bits)
diecast_arm_test(neon armv8-a lanes product_q8 same_bits)
