// SPDX-License-Identifier: Apache-2.0
// Checks of what programs give, shared by the calls of one product, of batches and of groups.
#pragma once
#include "ops/matmul/gemm/product_options.hpp"
#include "tessera/core/array.hpp"
#include "tessera/core/operation.hpp"

namespace tessera::matmul {

const Operation& matmul_operation();

// Throws where `count` lines or matrices, `step` elements from one to the next, reach further than addresses
// go.
void check_reach(const char* name, std::int64_t count, std::int64_t step, Element element);

// Throws where extents, leading dimension, data or its alignment cannot be.
void check_matrix(const char* name, const detail::AnyMatrix& matrix);
// Throws where the vector is not aligned, or the step from one entry's to the next is negative.
void check_vector(const char* name, const void* data, Element element, std::int64_t step);
// As it lies in memory, checked.
ArrayView view_of(const char* name, const detail::AnyMatrix& matrix);

// A copy of C, or of all entries' C, that lies in the same order: rounding may depend on that.
ArrayView set_aside(const ArrayView& c, Array& kept);

void check_enqueued(const Options& options);  // throws where they ask for what needs waiting

}  // namespace tessera::matmul
