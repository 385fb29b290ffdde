# SPDX-License-Identifier: Apache-2.0
# What the compiler made of kernels.
tessera_test(code tessera/lab/code_test.cpp)
tessera_script(code_nvcc ${TESSERA_PYTHON} tests/code_test.py $<TARGET_FILE:tessera_program>)
set_tests_properties(code_nvcc PROPERTIES SKIP_RETURN_CODE 77)
