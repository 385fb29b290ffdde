// SPDX-License-Identifier: Apache-2.0
// C = α·op(A)·op(B) + β·C0, for any m, n, k ≥ 0. A transposed operand is a view with its strides
// exchanged, so a rung sees A as m × k and B as k × n whatever op is, with any strides.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include "gemm/post_op.hpp"
#include "tessera/core/operation/arguments.hpp"
#include "tessera/core/array/element.hpp"
#include "tessera/core/device/view.hpp"

namespace tessera::matmul {
inline namespace TESSERA_UNIT {

// Returns sum + a·b in one rounding; integers wrap modulo 2^32.
template <class T>
SIMT T multiply_add(T a, T b, T sum) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b) + static_cast<U>(sum));
  } else {
    return std::fma(a, b, sum);
  }
}

template <class T>
SIMT T multiply(T a, T b) {
  if constexpr (std::is_integral_v<T>) return multiply_add(a, b, T{0});
  else return a * b;
}

template <class T>
struct Problem {
  using Elements = Types<float, double, std::int32_t>;  // every rung of our own supports these

  Matrix<const T> a, b;  // m × k, k × n
  Matrix<const T> c0;    // m × n, or no data: then beta is 0
  Matrix<T> c;           // m × n
  T alpha = 1, beta = 0;

  SIMT std::int64_t m() const { return c.rows(); }
  SIMT std::int64_t n() const { return c.cols(); }
  SIMT std::int64_t k() const { return a.cols(); }

  // Beyond the edge of a matrix, a tile reads zeros and its stores are dropped.
  SIMT T a_or_zero(std::int64_t i, std::int64_t l) const { return i < m() && l < k() ? a(i, l) : T{0}; }
  SIMT T b_or_zero(std::int64_t l, std::int64_t j) const { return l < k() && j < n() ? b(l, j) : T{0}; }

  // Scales the sum of products and writes it. C0 is not read when β = 0.
  SIMT void store(std::int64_t i, std::int64_t j, T sum) const {
    if (i < m() && j < n()) c(i, j) = scaled(i, j, sum);
  }
  SIMT T scaled(std::int64_t i, std::int64_t j, T sum) const {
    const T product = multiply(alpha, sum);
    return beta == T{0} ? product : multiply_add(beta, c0(i, j), product);
  }

  // The epilogue here is α and β only. (`compute` is ignored: strict f32 is always accurate enough.)
  static std::optional<std::string> unsupported_arguments(const Arguments& arguments) {
    if (!PostOp::of(arguments).is_identity()) return "does not support activations";
    for (const char* name : {"bias", "scale-a", "scale-b"})
      if (arguments.has(name)) return std::string("does not support ") + (name[0] == 'b' ? "bias" : "scales");
    return std::nullopt;
  }

  // Like BLAS, reads neither A nor B if α = 0: the sum over k is then empty.
  static Problem of(const Arguments& arguments) {
    Problem p;
    p.a = arguments.view<const T, 2>("A");
    p.b = arguments.view<const T, 2>("B");
    p.c = arguments.view<T, 2>("C");
    p.c0 = arguments.view<const T, 2>("C0");
    p.alpha = factor(arguments, "alpha");
    p.beta = p.c0.data != nullptr ? factor(arguments, "beta") : T{0};
    if (p.alpha == T{0}) p.a.extent[1] = p.b.extent[0] = 0;
    return p;
  }

  // Throws Error if T cannot hold the value: 0.5 as an integer, 1e300 as a float, and 1e-60 as a float too,
  // because rounded to 0 it would mean that nothing is read.
  static T factor(const Arguments& arguments, const char* name) {
    const double value = arguments.real(name);
    using limits = std::numeric_limits<T>;
    bool held = value >= static_cast<double>(limits::lowest()) && value <= static_cast<double>(limits::max());
    if (held && std::is_integral_v<T>) held = value == static_cast<double>(static_cast<std::int64_t>(value));
    if (held) held = value == 0 || static_cast<T>(value) != T{0};
    if (!held)
      throw Error(std::string("--") + name + " " + arguments.text(name) + " is not a number that " +
                  std::string(name_of(element_of<T>)) + " can hold");
    return static_cast<T>(value);
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::matmul
