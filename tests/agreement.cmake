# SPDX-License-Identifier: Apache-2.0
# What the compiler made of kernels, and the executor's counts against a GPU's.
tessera_script(code_nvcc ${TESSERA_PYTHON} tests/code_test.py $<TARGET_FILE:tessera_program>)
set_tests_properties(code_nvcc PROPERTIES SKIP_RETURN_CODE 77)
tessera_script(agreement_page ${TESSERA_PYTHON} tools/agreement check)
set_tests_properties(agreement_page PROPERTIES SKIP_RETURN_CODE 77)

# Two programs that tools/agreement runs: the calibration kernels on the executor, and on a GPU.
if(NOT TESSERA_TRACING_ABSENT)
  tessera_script(learn_tables ${TESSERA_PYTHON} tools/learn_tables --check $<TARGET_FILE:tessera_program>)
  add_executable(calibration_counts calibration_counts.cpp)
  target_compile_options(calibration_counts PRIVATE ${TESSERA_TRACED_FLAGS})
  target_link_libraries(calibration_counts PRIVATE tessera_compile tessera::tessera nlohmann_json::nlohmann_json)
  set_target_properties(calibration_counts PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  tessera_script(agreement ${TESSERA_PYTHON} tests/agreement_test.py $<TARGET_FILE:tessera_program> $<TARGET_FILE:calibration_counts>)
else()
  tessera_script(agreement ${TESSERA_PYTHON} tests/agreement_test.py)
endif()
if(TESSERA_HAS_CUDA)
  tessera_script(spills ${CMAKE_CUDA_COMPILER} -gencode=arch=compute_90a,code=sm_90a ${TESSERA_NO_SPILLS} -cubin
                 -o ${PROJECT_BINARY_DIR}/tests/spills.cubin tests/spills.cu)
  set_tests_properties(spills PROPERTIES PASS_REGULAR_EXPRESSION "Local memory used")
  tessera_script(local_memory ${TESSERA_PYTHON} tests/local_memory_test.py $<TARGET_FILE:tessera_program>)
  set_tests_properties(local_memory PROPERTIES SKIP_RETURN_CODE 77)
  add_executable(calibration calibration.cu)
  target_link_libraries(calibration PRIVATE tessera_compile tessera::tessera)
  set_target_properties(calibration PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
endif()
