# SPDX-License-Identifier: Apache-2.0
tessera_test(core tessera/core/element_test.cpp tessera/core/expression_test.cpp
             tessera/core/array_test.cpp tessera/core/arguments_test.cpp tessera/core/variant_test.cpp)
tessera_test(conformance tests/conformance_test.cpp)
tessera_test(matmul ops/matmul/matmul_test.cpp)
