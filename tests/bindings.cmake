# SPDX-License-Identifier: Apache-2.0
if(TARGET tessera_c AND NOT TESSERA_SANITIZE)
  tessera_script(c_interface ${TESSERA_PYTHON} bindings/tests/c_interface_test.py $<TARGET_FILE:tessera_c> ${CMAKE_CXX_COMPILER})
endif()
if(TARGET python)
  tessera_script(python ${TESSERA_PYTHON} bindings/tests/python_test.py ${PROJECT_BINARY_DIR}/python)
  tessera_script(python_gpu ${TESSERA_PYTHON} bindings/tests/gpu_test.py ${PROJECT_BINARY_DIR}/python)
  set_tests_properties(python_gpu PROPERTIES SKIP_RETURN_CODE 77)
  tessera_script(python_check_zoo ${TESSERA_PYTHON} bindings/tests/check_zoo.py --package ${PROJECT_BINARY_DIR}/python --libraries numpy,tessera --seconds 2
    --mutants 140)
  tessera_script(python_examples ${TESSERA_PYTHON} bindings/tests/examples_test.py ${PROJECT_BINARY_DIR}/python)
endif()
