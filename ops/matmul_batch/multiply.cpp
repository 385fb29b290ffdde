// SPDX-License-Identifier: Apache-2.0
#include "multiply.hpp"
#include <cstdio>

namespace tessera::matmul_batch {
namespace {

// What is known of a batch without its type.
struct Layout {
  Element element;
  std::int64_t count, rows, cols, leading, step;
};

Error wrong(const char* name, const std::string& what) { return Error(std::string(name) + " has " + what); }

Layout settled(const char* name, Layout b) {
  if (b.count < 0 || b.rows < 0 || b.cols < 0) throw wrong(name, "a negative extent");
  if (b.leading == 0) b.leading = b.cols;
  if (b.leading < b.cols)
    throw wrong(name, "the leading dimension " + std::to_string(b.leading) + ", but rows of " +
                          std::to_string(b.cols));
  if (b.step < 0) throw wrong(name, "the negative step " + std::to_string(b.step));
  std::int64_t reach = 0;
  if (__builtin_mul_overflow(b.rows, b.leading, &reach)) throw wrong(name, "more rows than any memory");
  if (b.step == 0) b.step = reach;
  return b;
}

template <class T>
ArrayView view_of(const char* name, const BatchView<T>& batch) {
  using Plain = std::remove_const_t<T>;
  const Layout b = settled(
      name, {element_of<Plain>, batch.count, batch.rows, batch.cols, batch.leading_dimension, batch.step});
  if (batch.data == nullptr && b.count != 0 && b.rows != 0 && b.cols != 0) throw wrong(name, "no data");
  return {const_cast<Plain*>(batch.data), b.element, {b.count, b.rows, b.cols}, {b.step, b.leading, 1}};
}

// One matrix serves all: as many dimensions as a matrix has.
ArrayView operand(ArrayView view, std::int64_t entries) {
  if (view.extents[0] != 1 || entries == 1) return view;
  view.extents.erase(view.extents.begin());
  view.strides.erase(view.strides.begin());
  return view;
}

// Entries lie behind each other, or side by side within the rows.
void check_apart(const ArrayView& c) {
  if (c.count() == 0 || c.extents[0] == 1) return;
  const std::int64_t one = (c.extents[1] - 1) * c.strides[1] + c.extents[2];
  const bool behind = c.strides[0] >= one;
  const bool beside =
      c.strides[0] >= c.extents[2] && (c.extents[0] - 1) * c.strides[0] + c.extents[2] <= c.strides[1];
  if (!behind && !beside)
    throw wrong("C", "the step " + std::to_string(c.strides[0]) + ", with which its entries overlap");
}

std::string exactly(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

const Operation& the_operation() {
  const Operation* operation = find_operation("matmul_batch");
  if (operation == nullptr) throw Error(Error::Kind::internal, "the batched product is not linked");
  return *operation;
}

Outcome multiply_views(const ArrayView& a, const ArrayView& b, const ArrayView& c, const Options& options) {
  check_apart(c);
  const std::int64_t entries = c.extents[0];
  std::map<std::string, ArrayView> inputs{{"A", operand(a, entries)}, {"B", operand(b, entries)}};
  // What is added is set aside: C is written, and poisoned before a check, while C0 is still needed.
  Array c0;
  if (options.beta != 0) {
    c0 = packed_copy(c);
    inputs["C0"] = c0.view();
  }
  // Somebody must say how many entries there are.
  Array repeated;
  if (inputs["A"].extents.size() == 2 && inputs["B"].extents.size() == 2 && options.beta == 0) {
    repeated = packed_copy({a.data, a.element, {entries, a.extents[1], a.extents[2]}, {0, a.strides[1], 1}});
    inputs["A"] = repeated.view();
  }
  Arguments::Words words{{"alpha", exactly(options.alpha)},
                         {"beta", exactly(options.beta)},
                         {"op-a", options.transpose_a ? "transpose" : "none"},
                         {"op-b", options.transpose_b ? "transpose" : "none"}};
  if (c.element != a.element) words["output-element"] = std::string(name_of(c.element));
  const Operation& operation = the_operation();
  Arguments arguments(operation.signature, a.element, std::move(inputs), words);
  arguments.set_array("C", c);
  return run(operation, arguments, options.request, options.check);
}

}  // namespace

template <class T, class Out>
Outcome multiply_batch(ConstBatchView<T> a, ConstBatchView<T> b, BatchView<Out> c, const Options& options) {
  return multiply_views(view_of("A", a), view_of("B", b), view_of("C", c), options);
}

template Outcome multiply_batch(ConstBatchView<float>, ConstBatchView<float>, BatchView<float>,
                                const Options&);
template Outcome multiply_batch(ConstBatchView<double>, ConstBatchView<double>, BatchView<double>,
                                const Options&);
template Outcome multiply_batch(ConstBatchView<std::int32_t>, ConstBatchView<std::int32_t>,
                                BatchView<std::int32_t>, const Options&);
template Outcome multiply_batch(ConstBatchView<bf16>, ConstBatchView<bf16>, BatchView<bf16>, const Options&);
template Outcome multiply_batch(ConstBatchView<bf16>, ConstBatchView<bf16>, BatchView<float>, const Options&);
template Outcome multiply_batch(ConstBatchView<f16>, ConstBatchView<f16>, BatchView<f16>, const Options&);
template Outcome multiply_batch(ConstBatchView<f16>, ConstBatchView<f16>, BatchView<float>, const Options&);
template Outcome multiply_batch(ConstBatchView<std::int8_t>, ConstBatchView<std::int8_t>,
                                BatchView<std::int32_t>, const Options&);

}  // namespace tessera::matmul_batch
