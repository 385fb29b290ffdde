// SPDX-License-Identifier: Apache-2.0
#include "multiply_batch.hpp"
#include <algorithm>
#include "ops/matmul/problem/call_arguments.hpp"
#include "tessera/core/zeroed_front.hpp"
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

namespace tessera::matmul_batch::detail {

Outcome multiply_batch(const AnyBatch& a, const AnyBatch& b, const AnyBatch& c, const Options& options) {
  const ArrayView out = result_of(c);
  // What is added is set aside: C is written, and poisoned before a check, while C0 is still needed.
  Array kept;
  ArrayView added;
  if (options.beta != 0)
    added = options.c0.data == nullptr ? matmul::set_aside(out, kept) : addend_of(options, out);
  Arguments arguments =
      batch_arguments(view_of("A", a), view_of("B", b), out, options, options.beta != 0 ? &added : nullptr);
  return run(the_batch(), arguments, options.request, options.check);
}

}  // namespace tessera::matmul_batch::detail

namespace tessera::matmul_batch {

namespace {

// Its workspace holds operands that are written before they are read.
[[maybe_unused]] const bool front = (register_zeroed_front("matmul_batch", "cluster", 0), true);

Arguments arguments_in_place(const detail::AnyBatch& a, const detail::AnyBatch& b, const detail::AnyBatch& c,
                             const Options& options) {
  if (options.check) throw Error("what is enqueued cannot be checked: nobody waits for it");
  const ArrayView out = result_of(c);
  ArrayView added = out;
  if (options.beta != 0 && options.c0.data != nullptr) added = addend_of(options, out);
  return batch_arguments(view_of("A", a), view_of("B", b), out, options,
                         options.beta != 0 ? &added : nullptr);
}

}  // namespace

namespace detail {

std::size_t workspace_bytes(const AnyBatch& a, const AnyBatch& b, const AnyBatch& c, const Options& options) {
  const Arguments there = arguments_in_place(a, b, c, options);
  if (there.array("C").count() == 0) return 0;
  return tessera::workspace_bytes(choose_in_place(the_batch(), there, options.request), there);
}

Plan enqueue(void* stream, const AnyBatch& a, const AnyBatch& b, const AnyBatch& c, const Options& options,
             const Workspace& workspace) {
  const Arguments there = arguments_in_place(a, b, c, options);
  if (there.array("C").count() == 0) return {};
  Plan plan = choose_in_place(the_batch(), there, options.request);
  tessera::enqueue(plan, there, stream, workspace, "C0");
  return plan;
}

}  // namespace detail

}  // namespace tessera::matmul_batch
