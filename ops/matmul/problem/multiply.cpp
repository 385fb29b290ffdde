// SPDX-License-Identifier: Apache-2.0
// The calls for programs: from views and Options to arguments, to a choice, to a run.
#include <algorithm>
#include <cstdio>
#include "ops/matmul/problem/call_arguments.hpp"
#include "ops/matmul/problem/operands.hpp"
#include "ops/matmul/problem/multiply.hpp"
#include "ops/matmul/problem/small_call.hpp"
#include "ops/matmul/kernels/ampere/mma_plan.hpp"
#include "ops/matmul/kernels/hopper/tile_plan.hpp"
#include "ops/matmul/kernels/simt/warp_plan.hpp"
#include "tessera/core/zeroed_front.hpp"

namespace tessera::matmul {
namespace {

const char* word_of(Activation activation) {
  switch (activation) {
    case Activation::relu:
      return "relu";
    case Activation::gelu:
      return "gelu";
    case Activation::gelu_tanh:
      return "gelu-tanh";
    case Activation::silu:
      return "silu";
    case Activation::none:
      break;
  }
  return "none";
}

void check_alignment(const char* name, const void* data, Element element) {
  if (reinterpret_cast<std::uintptr_t>(data) % size_of(element) != 0)
    throw Error(std::string(name) + " is not aligned to its elements");
}

// `step`: from one entry to the next; 0: one serves all, and the array has one dimension.
ArrayView vector_of(const char* name, const void* data, Element element, std::int64_t count,
                    std::int64_t step, const std::int64_t* batch) {
  check_alignment(name, data, element);
  if (step < 0) throw Error(std::string(name) + " has the negative step " + std::to_string(step));
  auto* const there = const_cast<void*>(data);
  if (batch == nullptr || step == 0) return {there, element, {count}, {1}};
  check_reach(name, *batch, step, element);
  return {there, element, {*batch, count}, {step, 1}};
}

}  // namespace

void check_reach(const char* name, std::int64_t count, std::int64_t step, Element element) {
  const auto bytes = static_cast<std::int64_t>(size_of(element));
  std::int64_t reach = 0;
  if (__builtin_mul_overflow(count, step, &reach) || __builtin_mul_overflow(reach, bytes, &reach))
    throw Error(std::string(name) + " reaches beyond any memory: " + std::to_string(count) + " times " +
                std::to_string(step) + " elements");
}

const Operation& the_product() {
  const Operation* operation = find_operation("matmul");
  if (operation == nullptr) throw Error(Error::Kind::internal, "the matrix product is not linked");
  return *operation;
}

std::string exactly(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

ArrayView view_of(const char* name, const detail::AnyMatrix& x) {
  const std::string what(name);
  check_named((what + "'s order").c_str(), x.order, Order::columns);
  if (x.rows < 0 || x.cols < 0) throw Error(what + " has a negative extent");
  const bool by_rows = x.order == Order::rows;
  const std::int64_t line = by_rows ? x.cols : x.rows;
  const std::int64_t step = x.leading_dimension == 0 ? line : x.leading_dimension;
  if (step < line)
    throw Error(what + " has the leading dimension " + std::to_string(step) + ", but " +
                (by_rows ? "rows" : "columns") + " of " + std::to_string(line));
  if (line != 0) check_reach(name, by_rows ? x.rows : x.cols, step, x.element);
  if (x.data == nullptr && x.rows != 0 && x.cols != 0) throw Error(what + " has no data");
  check_alignment(name, x.data, x.element);
  Extents strides = by_rows ? Extents{step, 1} : Extents{1, step};
  return {const_cast<void*>(x.data), x.element, {x.rows, x.cols}, std::move(strides)};
}

void check_elements(Element a, Element b, Element c) {
  const auto name = [](Element element) { return std::string(name_of(element)); };
  const auto& known = the_product().elements;
  if (std::ranges::find(known, a) == known.end()) throw Error("there is no product of " + name(a));
  if (a != b && !(is_fp8(a) && is_fp8(b)))
    throw Error("B holds " + name(b) + ", A " + name(a) + ": only 8-bit floats may be mixed");
  try {
    (void)element_of_c(a, {{"output-element", name(c)}});
  } catch (const Error& error) {
    const std::string text = error.what();
    throw Error("C holds " + name(c) + text.substr(text.find(':')));
  }
}

Arguments::Words words_of(Element a, Element b, Element c, const Options& options) {
  check_named("activation", options.activation, Activation::silu);
  check_named("compute", options.compute, Compute::tf32);
  check_named("accumulate", options.accumulate, Accumulate::fast);
  Arguments::Words words{{"alpha", exactly(options.alpha)},
                         {"beta", exactly(options.beta)},
                         {"op-a", options.transpose_a ? "transpose" : "none"},
                         {"op-b", options.transpose_b ? "transpose" : "none"},
                         {"compute", options.compute == Compute::tf32 ? "tf32" : "strict"},
                         {"accumulate", options.accumulate == Accumulate::fast ? "fast" : "promoted"},
                         {"scale-a-per", options.scale_a.of_each ? "row" : "tensor"},
                         {"scale-b-per", options.scale_b.of_each ? "column" : "tensor"},
                         {"bias-along", options.bias.along_rows ? "rows" : "columns"},
                         {"activation", word_of(options.activation)}};
  if (b != a) words["element-b"] = std::string(name_of(b));
  if (c != element_of_c(a, {})) words["output-element"] = std::string(name_of(c));
  return words;
}

void add_vectors(std::map<std::string, ArrayView>& inputs, const Options& options, std::int64_t m,
                 std::int64_t n, const std::int64_t* batch) {
  const auto add_scale = [&](const char* name, const Scale& scale, std::int64_t count) {
    if (scale.data == nullptr) return;
    inputs[name] = vector_of(name, scale.data, Element::f32, scale.of_each ? count : 1, scale.step, batch);
  };
  add_scale("scale-a", options.scale_a, m);
  add_scale("scale-b", options.scale_b, n);
  const Bias& bias = options.bias;
  if (bias.data != nullptr) check_named("bias's element", bias.element, all_elements().back());
  if (bias.data != nullptr)
    inputs["bias"] = vector_of("bias", bias.data, bias.element, bias.along_rows ? m : n, bias.step, batch);
}

ArrayView set_aside(const ArrayView& c, Array& kept) {
  const bool by_columns = c.strides.back() != 1;
  kept = packed_copy(by_columns ? c.transposed() : c);
  return by_columns ? kept.view().transposed() : kept.view();
}

ArrayView addend_of(const Options& options, Element c, std::int64_t m, std::int64_t n) {
  return view_of("C0", {options.c0.data, c, m, n, options.c0.leading_dimension, options.c0.order});
}

Arguments arguments_of(const ArrayView& a, const ArrayView& b, const ArrayView& c, const Options& options,
                       const ArrayView* added) {
  check_elements(a.element, b.element, c.element);
  std::map<std::string, ArrayView> inputs{{"A", a}, {"B", b}};
  if (added != nullptr) inputs["C0"] = *added;
  add_vectors(inputs, options, c.extents[0], c.extents[1]);
  Arguments out(the_product().signature, a.element, std::move(inputs),
                words_of(a.element, b.element, c.element, options));
  out.set_array("C", c);
  return out;
}

namespace detail {

Outcome multiply(const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c, const Options& options) {
  Outcome outcome;
  if (multiply_at_once(a, b, c, options, outcome)) return outcome;
  const ArrayView out = view_of("C", c);
  // What is added is set aside: C is written, and poisoned before a check, while C0 is still needed.
  Array kept;
  ArrayView added;
  if (options.beta != 0)
    added = options.c0.data == nullptr ? set_aside(out, kept) : addend_of(options, c.element, c.rows, c.cols);
  Arguments arguments =
      arguments_of(view_of("A", a), view_of("B", b), out, options, options.beta != 0 ? &added : nullptr);
  outcome = run(the_product(), arguments, options.request, options.check);
  return outcome;
}

}  // namespace detail

namespace {

// Counters come first in these variants' workspaces; each run leaves zeros in them.
[[maybe_unused]] const bool fronts = [] {
  constexpr std::size_t counter = sizeof(std::uint32_t);
  register_zeroed_front("matmul", "warp_tiles", std::size_t{most_warp_counters} * counter);
  register_zeroed_front("matmul", "tensor_cores", std::size_t{most_mma_counters} * counter);
  register_zeroed_front("matmul", "cluster", std::size_t{most_split_tiles} * counter);
  return true;
}();

Arguments arguments_in_place(const detail::AnyMatrix& a, const detail::AnyMatrix& b,
                             const detail::AnyMatrix& c, const Options& options) {
  check_enqueued(options);
  const ArrayView out = view_of("C", c);
  ArrayView added = out;
  if (options.beta != 0 && options.c0.data != nullptr) added = addend_of(options, c.element, c.rows, c.cols);
  return arguments_of(view_of("A", a), view_of("B", b), out, options, options.beta != 0 ? &added : nullptr);
}

}  // namespace

void check_enqueued(const Options& options) {
  if (options.check) throw Error("what is enqueued cannot be checked: nobody waits for it");
}

std::size_t workspace_bytes_in_place(const Operation& operation, const Arguments& there,
                                     const Options& options) {
  if (there.array("C").count() == 0) return 0;
  return tessera::workspace_bytes(choose_in_place(operation, there, options.request), there);
}

Plan enqueue_in_place(const Operation& operation, void* stream, const Arguments& there,
                      const Options& options, const Workspace& workspace) {
  if (there.array("C").count() == 0) return {};
  Plan plan = choose_in_place(operation, there, options.request);
  tessera::enqueue(plan, there, stream, workspace, "C0");
  return plan;
}

namespace detail {

std::size_t workspace_bytes(const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c,
                            const Options& options) {
  return workspace_bytes_in_place(the_product(), arguments_in_place(a, b, c, options), options);
}

Plan enqueue(void* stream, const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c, const Options& options,
             const Workspace& workspace) {
  return enqueue_in_place(the_product(), stream, arguments_in_place(a, b, c, options), options, workspace);
}

}  // namespace detail

}  // namespace tessera::matmul
