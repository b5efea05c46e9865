# The CPU path is tested for each instruction set that this machine has: all of it for the one that its own kernels are compiled for, and for
# the others what depends on the set. Units are small, and few formats go into each: kernels are inlined whole and take the compiler long.
include(CheckCXXSourceRuns)

set(DIECAST_MACHINE -march=native CACHE STRING "compiler options that choose the instruction set of the kernels")
set(cpu ${CMAKE_CURRENT_SOURCE_DIR}/cpu)

function(diecast_cpu_test name options)  # further arguments: units
  add_executable(test_${name} ${ARGN} $<TARGET_OBJECTS:catch_main>)
  target_link_libraries(test_${name} PRIVATE diecast::reference diecast_test_options Threads::Threads)
  target_compile_options(test_${name} PRIVATE ${options})
endfunction()

function(diecast_runs_here flags condition result)
  set(CMAKE_REQUIRED_FLAGS ${flags})
  check_cxx_source_runs("int main() { return (${condition}) ? 0 : 1; }" ${result})
  set(${result} ${${result}} PARENT_SCOPE)
endfunction()

file(GLOB units CONFIGURE_DEPENDS ${cpu}/*.cpp)
diecast_cpu_test(cpu "${DIECAST_MACHINE}" ${units})
catch_discover_tests(test_cpu TEST_PREFIX "cpu: " PROPERTIES TIMEOUT 900)

set(units ${cpu}/lanes.cpp ${cpu}/math.cpp ${cpu}/quantise.cpp ${cpu}/norm.cpp ${cpu}/product_q8.cpp ${cpu}/attention.cpp ${cpu}/backend_threads.cpp ${cpu}/same_bits.cpp)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" AND NOT CMAKE_CROSSCOMPILING)
  diecast_runs_here(-march=x86-64-v3 "__builtin_cpu_supports(\"avx2\") && __builtin_cpu_supports(\"fma\")" DIECAST_AVX2_RUNS)
  if(DIECAST_AVX2_RUNS)
    diecast_cpu_test(cpu_avx2 -march=x86-64-v3 ${units})
    catch_discover_tests(test_cpu_avx2 TEST_PREFIX "cpu avx2: " PROPERTIES TIMEOUT 900)
  endif()
  diecast_cpu_test(cpu_portable -march=x86-64 ${units})
else()
  diecast_cpu_test(cpu_portable "" ${units})
endif()
catch_discover_tests(test_cpu_portable TEST_PREFIX "cpu portable: " PROPERTIES TIMEOUT 900)

# What runs under the sanitizers (cmake/sanitized.cmake).
diecast_cpu_test(cpu_sanitized "${DIECAST_MACHINE}" ${cpu}/lanes.cpp ${cpu}/pack.cpp ${cpu}/engine_file.cpp ${cpu}/quantise.cpp ${cpu}/norm.cpp ${cpu}/product_floats.cpp ${cpu}/product_q5.cpp
  ${cpu}/backend_threads.cpp)
diecast_cpu_test(cpu_threads "${DIECAST_MACHINE}" ${cpu}/team.cpp ${cpu}/backend_threads.cpp)
set_target_properties(test_cpu_sanitized test_cpu_threads PROPERTIES EXCLUDE_FROM_ALL ON)
