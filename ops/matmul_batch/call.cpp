// SPDX-License-Identifier: Apache-2.0
#include "call.hpp"
#include <algorithm>
#include "ops/matmul/call.hpp"
#include "tessera/run/overlap.hpp"

namespace tessera::matmul_batch {
namespace {

Error wrong(const char* name, const std::string& what) { return Error(std::string(name) + " has " + what); }

// One matrix serves all: as many dimensions as a matrix has.
ArrayView operand(ArrayView view, std::int64_t entries) {
  if (view.extents[0] != 1 || entries == 1) return view;
  view.extents.erase(view.extents.begin());
  view.strides.erase(view.strides.begin());
  return view;
}

// A matrix by itself cannot: its leading dimension has been looked at.
void check_apart(const ArrayView& c) {
  if (overlaps_itself(c))
    throw wrong("C", "the step " + std::to_string(c.strides[0]) + ", with which its entries overlap");
}

}  // namespace

const Operation& the_batch() {
  const Operation* operation = find_operation("matmul_batch");
  if (operation == nullptr) throw Error(Error::Kind::internal, "the batched product is not linked");
  return *operation;
}

ArrayView view_of(const char* name, const detail::AnyBatch& batch) {
  if (batch.count < 0) throw wrong(name, "a negative extent");
  if (batch.step < 0) throw wrong(name, "the negative step " + std::to_string(batch.step));
  matmul::detail::AnyMatrix first = batch.first;
  if (batch.count == 0) first.data = reinterpret_cast<const void*>(std::uintptr_t{256});  // nobody reads it
  ArrayView view = matmul::view_of(name, first);
  const std::size_t lines = first.order == Order::rows ? 0 : 1;
  const bool empty = view.extents[0] == 0 || view.extents[1] == 0;
  const std::int64_t step = batch.step != 0 ? batch.step
                            : empty         ? 0
                                            : view.extents[lines] * view.strides[lines];
  if (!empty) matmul::check_reach(name, batch.count, step, first.element);
  view.extents.insert(view.extents.begin(), batch.count);
  view.strides.insert(view.strides.begin(), step);
  if (batch.count == 0) view.data = nullptr;
  return view;
}

ArrayView result_of(const detail::AnyBatch& c) {
  ArrayView out = view_of("C", c);
  check_apart(out);
  return out;
}

ArrayView addend_of(const Options& options, const ArrayView& c) {
  const matmul::detail::AnyMatrix first{
      options.c0.data, c.element, c.extents[1], c.extents[2], options.c0.leading_dimension, options.c0.order};
  return view_of("C0", {first, c.extents[0], options.c0.step});
}

Arguments batch_arguments(const ArrayView& a, const ArrayView& b, const ArrayView& c, const Options& options,
                          const ArrayView* added) {
  matmul::check_elements(a.element, b.element, c.element);
  const std::int64_t entries = c.extents[0];
  std::map<std::string, ArrayView> inputs{{"A", operand(a, entries)}, {"B", operand(b, entries)}};
  if (added != nullptr) inputs["C0"] = *added;
  matmul::add_vectors(inputs, options, c.extents[1], c.extents[2], &entries);
  Arguments::Words words = matmul::words_of(a.element, b.element, c.element, options);
  // Somebody must say how many entries there are.
  if (inputs["A"].extents.size() == 2 && inputs["B"].extents.size() == 2 && added == nullptr) {
    inputs["A"] = a;
    inputs["A"].extents[0] = entries;
    inputs["A"].strides[0] = 0;
  }
  Arguments out(the_batch().signature, a.element, std::move(inputs), words);
  out.set_array("C", c);
  return out;
}

}  // namespace tessera::matmul_batch
