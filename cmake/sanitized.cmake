# Test programs that run under a sanitizer, too. They are built in folders of their own (presets asan and tsan; targets asan_programs and
# tsan_programs), and their runs are tests of the release build, so that one ctest tells everything. Included after the programs are known.
option(DIECAST_SANITIZED "test what the presets asan and tsan built" OFF)

set(asan files chat tokens backend sample generate trace serve cpu_sanitized simt)  # where bytes and indices from outside are handled
set(tsan reference generate serve cpu_threads simt)                              # where threads are, or races are looked for

foreach(sanitizer asan tsan)
  add_custom_target(${sanitizer}_programs)
  foreach(part ${${sanitizer}})
    if(TARGET test_${part})
      add_dependencies(${sanitizer}_programs test_${part})
      if(DIECAST_SANITIZED)
        add_test(NAME "${sanitizer}: ${part}" COMMAND ${PROJECT_SOURCE_DIR}/build/${sanitizer}/tests/test_${part} "~[slow]")
        set_tests_properties("${sanitizer}: ${part}" PROPERTIES TIMEOUT 1200 LABELS sanitized)
      endif()
    endif()
  endforeach()
endforeach()
