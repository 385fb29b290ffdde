# SPDX-License-Identifier: Apache-2.0
if(NOT TESSERA_TRACING_ABSENT)
  # Kernels and tests in one unit, compiled as kernels are for tracing.
  tessera_test(trace calibration_test.cpp trace_test.cpp copies_test.cpp)
  set_source_files_properties(calibration_test.cpp trace_test.cpp
    copies_test.cpp
    PROPERTIES COMPILE_OPTIONS "${TESSERA_TRACED_FLAGS}")
  tessera_test(mutation mutation_test.cpp)
  # A sanitizer or a build without optimisation is no measure.
  if(NOT TESSERA_SANITIZE AND CMAKE_BUILD_TYPE STREQUAL "Release")
    tessera_script(trace_speed ${TESSERA_PYTHON} tests/trace_speed_test.py $<TARGET_FILE:tessera_program>)
    set_tests_properties(trace_speed PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endif()
