// SPDX-License-Identifier: Apache-2.0
// What the calls for programs have in common: from views and Options to arguments. What only one of them
// promises is its own.
#pragma once
#include "ops/matmul/problem/multiply.hpp"

namespace tessera::matmul {

const Operation& matmul_operation();

std::string round_trip(double value);  // as text that gives the same bits

// Throws where `value` is beyond the last of its enumeration: a program may cast any number.
template <class Enumeration>
void check_named(const char* what, Enumeration value, Enumeration last) {
  if (value > last)
    throw Error(std::string(what) + " is number " + std::to_string(static_cast<int>(value)) +
                " of its enumeration, which ends at " + std::to_string(static_cast<int>(last)));
}

// Throws where `count` lines or matrices, `step` elements from one to the next, reach further than addresses
// go.
void check_reach(const char* name, std::int64_t count, std::int64_t step, Element element);

// As it lies in memory. Throws where extents, leading dimension, data or its alignment cannot be.
ArrayView view_of(const char* name, const detail::AnyMatrix& matrix);

// Throws where no product of A's and B's elements is of C's.
void check_elements(Element a, Element b, Element c);

// What Options say but for the arrays. Of A's and B's elements and C's, which go together.
Arguments::Words words_of(Element a, Element b, Element c, const Options& options);

// Adds the arrays that Options bring along. `batch`: the entries of a batch, whose arrays have a dimension
// more; null: a single product.
void add_vectors(std::map<std::string, ArrayView>& inputs, const Options& options, std::int64_t m,
                 std::int64_t n, const std::int64_t* batch = nullptr);
// A copy of C, or of all entries' C, that lies in the same order: rounding may depend on that.
ArrayView set_aside(const ArrayView& c, Array& kept);
// What β multiplies, where that is not C itself.
ArrayView addend_of(const Options& options, Element c, std::int64_t m, std::int64_t n);

// The arguments of a single product, C's memory among them. β·C0 comes from `added`, where it is given.
Arguments arguments_of(const ArrayView& a, const ArrayView& b, const ArrayView& c, const Options& options,
                       const ArrayView* added);

// The last steps of either operation's calls in place: from arguments to a choice, to the launch.
std::size_t workspace_bytes_in_place(const Operation& operation, const Arguments& there,
                                     const Options& options);
Plan enqueue_in_place(const Operation& operation, void* stream, const Arguments& there,
                      const Options& options, const Workspace& workspace);
void check_enqueued(const Options& options);  // throws where they ask for what needs waiting

}  // namespace tessera::matmul
