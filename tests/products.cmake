# SPDX-License-Identifier: Apache-2.0
# Products of whole numbers as `verify` never asks for them, and each kernel of theirs; on a GPU, where there is one.
tessera_test(products tests/products/single_test.cpp tests/products/many_test.cpp tests/products/each_test.cpp tests/products/long_test.cpp tests/products/whole.cpp tests/products/placed.cpp
             tests/products/product.cpp tests/products/drawn.cpp)
