// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/gemm/gemm.hpp"
#include <utility>
#include "ops/matmul/gemm/accuracy.hpp"
#include "ops/matmul/gemm/checks.hpp"
#include "ops/matmul/gemm/operands.hpp"

namespace tessera::matmul {
namespace {

Gemm::Strided strided(const char* name, const detail::AnyMatrix& x, bool transposed) {
  check_matrix(name, x);
  const bool by_rows = x.order == Order::rows;
  const std::int64_t step = step_of(x);
  if (by_rows != transposed) return {x.data, step, 1};
  return {x.data, 1, step};
}

Gemm::Vector vector(const char* name, const void* data, Element element, bool of_each, std::int64_t step) {
  if (data == nullptr) return {};
  check_vector(name, data, element, step);
  return {data, of_each ? 1 : 0};
}

// The constructor of Arguments throws the message that describes the misfit.
[[noreturn]] void throw_misfit(const detail::AnyMatrix& a, const detail::AnyMatrix& b,
                               const detail::AnyMatrix& c, const Options& options) {
  Gemm without_c0 = Gemm::of(a.element, b.element, c.element, options);
  without_c0.beta = 0;
  Arguments out(matmul_operation().signature, a.element, {{"A", view_of("A", a)}, {"B", view_of("B", b)}},
                without_c0.words());
  out.set_array("C", view_of("C", c));
  throw Error(Error::Kind::internal, "operands of other sizes were accepted");
}

const char* word_of(bool transposed) { return transposed ? "transpose" : "none"; }

ArrayView matrix_view(const Gemm::Strided& x, Element element, std::int64_t rows, std::int64_t cols,
                      bool transposed = false) {
  const ArrayView seen{const_cast<void*>(x.data), element, {rows, cols}, {x.row_stride, x.col_stride}};
  return transposed ? seen.transposed() : seen;
}

ArrayView vector_view(const Gemm::Vector& x, Element element, std::int64_t count) {
  return {const_cast<void*>(x.data), element, {count}, {1}};
}

}  // namespace

Gemm Gemm::of(Element a, Element b, Element c, const Options& options) {
  check_enumerator("compute", options.compute, Compute::f16x3);
  check_enumerator("accumulate", options.accumulate, Accumulate::fast);
  if (options.bias.data != nullptr)
    check_enumerator("bias's element", options.bias.element, all_elements().back());
  Gemm g;
  g.post_op = PostOp::of(options);
  g.alpha = options.alpha;
  g.beta = options.beta;
  g.a_element = a;
  g.b_element = b;
  g.c_element = c;
  g.bias_element = options.bias.element;
  g.compute = options.compute;
  if (const auto* const type = std::get_if<Element>(&options.accuracy)) {
    if (*type != Element::f32 && *type != Element::f64)
      check_accuracy(std::string(name_of(*type)), a, std::string(text_of(options.compute)));
    g.accuracy_of = *type == Element::f32 ? AccuracyOf::f32 : AccuracyOf::f64;
  } else if (const auto* const number = std::get_if<double>(&options.accuracy)) {
    g.accuracy_of = AccuracyOf::number;
    g.accuracy = *number;
  }
  g.accumulates_fast = options.accumulate == Accumulate::fast;
  g.batch_invariant = options.batch_invariant;
  g.a_is_transposed = options.transpose_a;
  g.b_is_transposed = options.transpose_b;
  g.bias_along_rows = options.bias.along_rows;
  g.scale_a_of_each = options.scale_a.of_each;
  g.scale_b_of_each = options.scale_b.of_each;
  return g;
}

Gemm Gemm::of(const detail::AnyMatrix& a, const detail::AnyMatrix& b, const detail::AnyMatrix& c,
              const Options& options) {
  Gemm g = of(a.element, b.element, c.element, options);
  g.c = strided("C", c, false);
  g.a = strided("A", a, options.transpose_a);
  g.b = strided("B", b, options.transpose_b);
  check_elements(a.element, b.element, c.element);
  g.m = c.rows;
  g.n = c.cols;
  g.k = options.transpose_a ? a.rows : a.cols;
  if ((options.transpose_a ? a.cols : a.rows) != g.m || (options.transpose_b ? b.cols : b.rows) != g.k ||
      (options.transpose_b ? b.rows : b.cols) != g.n)
    throw_misfit(a, b, c, options);
  const Addend& added = options.c0;
  g.adds_in_place = g.beta != 0 && added.data == nullptr;
  if (g.adds_in_place) g.c0 = g.c;
  else if (g.beta != 0)
    g.c0 =
        strided("C0", {added.data, c.element, c.rows, c.cols, added.leading_dimension, added.order}, false);
  const Scale &scale_a = options.scale_a, &scale_b = options.scale_b;
  g.scale_a = vector("scale-a", scale_a.data, Element::f32, scale_a.of_each, scale_a.step);
  g.scale_b = vector("scale-b", scale_b.data, Element::f32, scale_b.of_each, scale_b.step);
  g.bias = vector("bias", options.bias.data, options.bias.element, true, options.bias.step);
  return g;
}

Gemm Gemm::of(const Arguments& arguments) {
  Gemm g;
  const auto matrix = [&](const char* name) -> Strided {
    if (!arguments.has(name)) return {};
    const ArrayView v = arguments.oriented(name, arguments.array(name).element, 2);
    return {v.data, v.strides[0], v.strides[1]};
  };
  const auto vector = [&](const char* name, bool of_each) -> Vector {
    if (!arguments.has(name)) return {};
    const ArrayView& v = arguments.array(name);
    return {v.data, of_each ? v.strides[0] : 0};
  };
  g.a = matrix("A");
  g.b = matrix("B");
  g.c = matrix("C");
  g.m = arguments.dim("m");
  g.n = arguments.dim("n");
  g.k = arguments.dim("k");
  g.alpha = arguments.real("alpha");
  g.beta = arguments.has("C0") ? arguments.real("beta") : 0;
  if (g.beta != 0) g.c0 = matrix("C0");
  g.adds_in_place = g.beta != 0 && g.c0.data == g.c.data;
  g.scale_a_of_each = arguments.text("scale-a-per") != "tensor";
  g.scale_b_of_each = arguments.text("scale-b-per") != "tensor";
  g.scale_a = vector("scale-a", g.scale_a_of_each);
  g.scale_b = vector("scale-b", g.scale_b_of_each);
  g.bias = vector("bias", true);
  g.bias_along_rows = arguments.text("bias-along") == "rows";
  g.a_element = arguments.element();
  g.b_element = arguments.array("B").element;
  g.c_element = arguments.array("C").element;
  if (arguments.has("bias")) g.bias_element = arguments.array("bias").element;
  g.post_op = PostOp::of(arguments);
  if (g.a_element == Element::f32) g.compute = compute_of(arguments);
  g.accumulates_fast = arguments.text("accumulate") == "fast";
  g.batch_invariant = is_batch_invariant(arguments);
  g.a_is_transposed = arguments.text("op-a") == "transpose";
  g.b_is_transposed = arguments.text("op-b") == "transpose";
  return g;
}

Addresses Gemm::addresses() const {
  Addresses out{};
  const void* const all[] = {a.data, b.data, c0.data, scale_a.data, scale_b.data, bias.data, c.data};
  for (std::size_t i = 0; i < product_arrays; ++i) out[i] = const_cast<void*>(all[i]);
  return out;
}

ByteRange Gemm::range_of(ProductArray array) const {
  const auto range = [](const void* data, std::int64_t elements, Element element) -> ByteRange {
    const auto first = reinterpret_cast<std::uintptr_t>(data);
    return {first, first + static_cast<std::uintptr_t>(elements) * size_of(element)};
  };
  const auto of_matrix = [&](const Strided& x, std::int64_t rows, std::int64_t cols, Element element) {
    return range(x.data,
                 rows == 0 || cols == 0 ? 0 : (rows - 1) * x.row_stride + (cols - 1) * x.col_stride + 1,
                 element);
  };
  const auto of_vector = [&](const Vector& x, std::int64_t count, Element element) {
    return range(x.data, count == 0 ? 0 : (count - 1) * x.stride + 1, element);
  };
  switch (array) {
    case in_a:
      return of_matrix(a, m, k, a_element);
    case in_b:
      return of_matrix(b, k, n, b_element);
    case in_c0:
      return of_matrix(c0, m, n, c_element);
    case in_scale_a:
      return of_vector(scale_a, m, Element::f32);
    case in_scale_b:
      return of_vector(scale_b, n, Element::f32);
    case in_bias:
      return of_vector(bias, bias_along_rows ? m : n, bias_element);
    default:
      return of_matrix(c, m, n, c_element);
  }
}

Gemm Gemm::key(bool on_processors) const {
  Gemm out = *this;
  for (const void** data : {&out.a.data, &out.b.data, &out.c0.data, &out.c.data, &out.scale_a.data,
                            &out.scale_b.data, &out.bias.data})
    if (*data != nullptr) *data = on_processors ? alignment_of(nullptr) : alignment_of(*data);
  return out;
}

Arguments::Words Gemm::words() const {
  constexpr const char* accuracies[] = {"", "f32", "f64"};
  Arguments::Words words{{"alpha", tessera::text_of(alpha)},
                         {"beta", tessera::text_of(beta)},
                         {"op-a", word_of(a_is_transposed)},
                         {"op-b", word_of(b_is_transposed)},
                         {"compute", std::string(text_of(compute))},
                         {"accumulate", accumulates_fast ? "fast" : "promoted"},
                         {batch_invariant_option, batch_invariant ? "yes" : "no"},
                         {"scale-a-per", scale_a_of_each ? "row" : "tensor"},
                         {"scale-b-per", scale_b_of_each ? "column" : "tensor"},
                         {"bias-along", bias_along_rows ? "rows" : "columns"}};
  post_op.add_to(words);
  if (accuracy_of != AccuracyOf::none)
    words["accuracy"] = accuracy_of == AccuracyOf::number ? tessera::text_of(accuracy)
                                                          : accuracies[static_cast<std::size_t>(accuracy_of)];
  if (b_element != a_element) words["element-b"] = std::string(name_of(b_element));
  if (c_element != element_of_c(a_element, {})) words["output-element"] = std::string(name_of(c_element));
  return words;
}

ArrayView Gemm::in_memory(ProductArray array) const {
  switch (array) {
    case in_a:
      return matrix_view(a, a_element, m, k, a_is_transposed);
    case in_b:
      return matrix_view(b, b_element, k, n, b_is_transposed);
    case in_c0:
      return matrix_view(c0, c_element, m, n);
    case in_scale_a:
      return vector_view(scale_a, Element::f32, scale_a_of_each ? m : 1);
    case in_scale_b:
      return vector_view(scale_b, Element::f32, scale_b_of_each ? n : 1);
    case in_bias:
      return vector_view(bias, bias_element, bias_along_rows ? m : n);
    default:
      return matrix_view(c, c_element, m, n);
  }
}

void Gemm::set(ProductArray array, const ArrayView& v) {
  const auto matrix = [&](Strided& x, bool transposed) {
    x = {v.data, v.strides[transposed ? 1 : 0], v.strides[transposed ? 0 : 1]};
  };
  const auto vector = [&](Vector& x, bool of_each) { x = {v.data, of_each ? v.strides[0] : 0}; };
  switch (array) {
    case in_a:
      return matrix(a, a_is_transposed);
    case in_b:
      return matrix(b, b_is_transposed);
    case in_c0:
      return matrix(c0, false);
    case in_scale_a:
      return vector(scale_a, scale_a_of_each);
    case in_scale_b:
      return vector(scale_b, scale_b_of_each);
    case in_bias:
      return vector(bias, true);
    default:
      return matrix(c, false);
  }
}

Arguments Gemm::arguments() const {
  std::map<std::string, ArrayView> inputs{{"A", in_memory(in_a)}, {"B", in_memory(in_b)}};
  if (beta != 0) inputs["C0"] = in_memory(in_c0);
  if (scale_a.data != nullptr) inputs["scale-a"] = in_memory(in_scale_a);
  if (scale_b.data != nullptr) inputs["scale-b"] = in_memory(in_scale_b);
  if (bias.data != nullptr) inputs["bias"] = in_memory(in_bias);
  Arguments out(matmul_operation().signature, a_element, std::move(inputs), words());
  out.set_array("C", in_memory(out_c));
  if (accuracy_of != AccuracyOf::none) (void)compute_of(out);  // throws, even if C is empty
  return out;
}

bool is_batch_invariant(const Arguments& arguments) {
  return arguments.text(batch_invariant_option) == "yes";
}

void check_scales(Element element, bool scaled) {
  if (scaled && !has_mixed_problem(element))
    throw Error("a product of " + std::string(name_of(element)) + " takes no scales");
}

}  // namespace tessera::matmul
