# The compiled kernels take what tests/kernels/resources.txt says and break none of its rules: a test for each config and each unit, so that several compile at once.
if(Python3_FOUND)
  file(GLOB units CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/configs/*.hpp ${CMAKE_CURRENT_SOURCE_DIR}/kernels/*.cu)
  foreach(unit ${units})
    get_filename_component(unit ${unit} NAME_WE)
    add_test(NAME "kernels compiled: ${unit}"
      COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/kernel_resources.py --check --cache ${CMAKE_CURRENT_BINARY_DIR}/compiled_kernels ${unit})
    set_tests_properties("kernels compiled: ${unit}" PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900 LABELS slow)
  endforeach()
endif()
