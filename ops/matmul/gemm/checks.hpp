// SPDX-License-Identifier: Apache-2.0
// Checks of the arguments of public calls, shared by single, batched and grouped products.
#pragma once
#include "ops/matmul/gemm/product_options.hpp"
#include "tessera/core/array/array.hpp"
#include "tessera/core/operation/operation.hpp"

namespace tessera::matmul {

const Operation& matmul_operation();

// Throws if `count` lines or matrices, `step` elements apart, exceed the address space.
void check_reach(const char* name, std::int64_t count, std::int64_t step, Element element);

// Returns the number of elements from one row (column) to the next.
std::int64_t step_of(const detail::AnyMatrix& matrix);
// Throws if the extents, the leading dimension, the pointer or its alignment are invalid.
void check_matrix(const char* name, const detail::AnyMatrix& matrix);
// Throws if the vector is not aligned, or the step from one batch entry to the next is negative.
void check_vector(const char* name, const void* data, Element element, std::int64_t step);
// Checks the matrix and returns a view of it.
ArrayView view_of(const char* name, const detail::AnyMatrix& matrix);

// Copies C, or C of all batch entries, into `kept` with the same order of strides: rounding may depend on it.
ArrayView set_aside(const ArrayView& c, Array& kept);

// Throws if β multiplies C itself, which no longer holds what it held before the product.
void require_addend(const Options& options);

void check_enqueued(const Options& options);  // throws if an option needs synchronization

}  // namespace tessera::matmul
