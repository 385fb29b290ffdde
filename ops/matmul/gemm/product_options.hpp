// SPDX-License-Identifier: Apache-2.0
// Matrix views and the options of a product, for the public calls.
#pragma once
#include <cstdint>
#include <type_traits>
#include <variant>
#include "mixed_problem.hpp"
#include "tessera/run/choose.hpp"

namespace tessera::matmul {

enum class Order : std::uint8_t { rows, columns };

// A matrix in the caller's memory, row-major or column-major.
template <class T>
struct MatrixView {
  T* data = nullptr;
  std::int64_t rows = 0, cols = 0;
  std::int64_t leading_dimension = 0;  // from one row (column) to the next, in elements; 0: contiguous
  Order order = Order::rows;

  // A mutable view converts to a const one: a result may be an operand of the next product.
  template <class Const>
  requires(!std::is_const_v<T> && std::is_same_v<Const, const T>) operator MatrixView<Const>() const {
    return {data, rows, cols, leading_dimension, order};
  }
};
template <class T>
using ConstMatrixView = MatrixView<const T>;

// f32 scale factors applied to A·B, in the same memory space as the matrices.
struct Scale {
  const float* data = nullptr;  // null: none
  bool of_each = false;         // true: one per row of A or column of B; false: one for the entire matrix
  std::int64_t step = 0;        // batches: from one entry to the next, in elements; 0: the same for all
};

// A vector to add, of C's element type (f32 if C is i8), in the same memory space as the matrices.
struct Bias {
  const void* data = nullptr;  // null: none
  Element element = Element::f32;
  bool along_rows = false;  // true: one entry per row of C; false: one per column
  std::int64_t step = 0;    // see Scale
};
template <class T>
[[nodiscard]] Bias bias_of_columns(const T* data, std::int64_t step = 0) {
  return {data, element_of<T>, false, step};
}
template <class T>
[[nodiscard]] Bias bias_of_rows(const T* data, std::int64_t step = 0) {
  return {data, element_of<T>, true, step};
}

// The matrix that β multiplies if it is not C itself: m × n, of C's element type, not overlapping C.
struct Addend {
  const void* data = nullptr;
  std::int64_t leading_dimension = 0;
  Order order = Order::rows;
  std::int64_t step = 0;  // batches: from one entry to the next; 0: contiguous
};

enum class Accumulate : std::uint8_t { promoted, fast };  // fast: 8-bit floats only

// Required componentwise error bound of C relative to |A|·|B|: either the bound of an ordinary product in the
// given type (Element::f32 or f64), or a number. The cheapest arithmetic that meets it is used; see
// docs/products.md.
using Accuracy = std::variant<std::monostate, Element, double>;

struct Options {
  double alpha = 1, beta = 0;                     // β = 0: neither C nor C0 is read
  bool transpose_a = false, transpose_b = false;  // the memory holds the transpose
  Request request = {};  // device, variant, tuning; by default the best for the sizes
  bool check = false;    // verify, see Outcome::verdict
  Scale scale_a = {}, scale_b = {};
  Bias bias = {};
  Activation activation = Activation::none;
  Compute compute = Compute::strict;  // f32 only: see mixed_problem.hpp
  Accumulate accumulate = Accumulate::promoted;
  Addend c0 = {};          // by default C itself
  Accuracy accuracy = {};  // f32 and f64 only: Element::f32, Element::f64 or a number; excludes `compute`
  // The bits of a row of C follow from that row of A (and C0, scale, bias), B, the options and the device:
  // not from the number of rows, the row's place, or the other rows. Holds for calls with equal element
  // types, n, k and layouts, and addresses and leading dimensions that are equal modulo 128 bytes. Batches
  // throw Error. See docs/batch_invariant.md.
  bool batch_invariant = false;
};

namespace detail {

// Type-erased MatrixView.
struct AnyMatrix {
  const void* data;
  Element element;
  std::int64_t rows, cols, leading_dimension;
  Order order;
};

template <class T>
inline constexpr bool is_element = element_of<T> != Element::f64 || std::is_same_v<T, double>;

template <class T>
AnyMatrix any(const MatrixView<T>& x) {
  using Plain = std::remove_const_t<T>;
  static_assert(is_element<Plain>, "no array holds this type");
  return {x.data, element_of<Plain>, x.rows, x.cols, x.leading_dimension, x.order};
}

}  // namespace detail
}  // namespace tessera::matmul
