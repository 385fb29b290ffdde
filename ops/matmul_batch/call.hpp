// SPDX-License-Identifier: Apache-2.0
// What the batch's calls for programs have in common: from views and Options to arguments.
#pragma once
#include "multiply.hpp"

namespace tessera::matmul_batch {

const Operation& the_batch();

// As it lies in memory: [count, rows, cols]. Throws where it cannot.
ArrayView view_of(const char* name, const detail::AnyBatch& batch);
// C's: throws where its entries overlap.
ArrayView result_of(const detail::AnyBatch& c);
// What β multiplies, where that is not C itself.
ArrayView addend_of(const Options& options, const ArrayView& c);

// C's memory among them. β·C0 comes from `added`, where it is given. An A or B of one matrix serves all.
Arguments batch_arguments(const ArrayView& a, const ArrayView& b, const ArrayView& c, const Options& options,
                          const ArrayView* added);

}  // namespace tessera::matmul_batch
