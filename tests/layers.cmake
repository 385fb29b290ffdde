# SPDX-License-Identifier: Apache-2.0
tessera_test(core tessera/core/element_test.cpp tessera/core/expression_test.cpp
             tessera/core/array_test.cpp tessera/core/arguments_test.cpp tessera/core/variant_test.cpp)
tessera_test(conformance tests/conformance_test.cpp)
tessera_test(matmul ops/matmul/matmul_test.cpp)
tessera_test(lab tessera/lab/lab_test.cpp tessera/report/table_test.cpp)
target_link_libraries(test_lab PRIVATE nlohmann_json::nlohmann_json)
tessera_test(cli tessera/cli/ranges_test.cpp tessera/cli/ranges.cpp tessera/cli/words.cpp)
target_link_libraries(test_cli PRIVATE CLI11::CLI11)
tessera_script(program ${TESSERA_PYTHON} tests/cli_test.py $<TARGET_FILE:tessera_program>)
