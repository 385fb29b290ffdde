# SPDX-License-Identifier: Apache-2.0
# Products of whole numbers as `verify` never asks for them, and each kernel of theirs; on a GPU, where there is one.
tessera_test(products products/single_test.cpp products/many_test.cpp products/each_test.cpp products/far_lines_test.cpp products/whole.cpp products/device_matrix.cpp
             products/product.cpp products/drawn.cpp)

# multiply() beside OpenBLAS, where that is installed: times for whoever asks.
add_executable(beside_openblas beside_openblas.cpp)
target_link_libraries(beside_openblas PRIVATE tessera_compile tessera::tessera ${CMAKE_DL_LIBS})
set_target_properties(beside_openblas PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
