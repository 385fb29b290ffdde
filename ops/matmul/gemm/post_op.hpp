// SPDX-License-Identifier: Apache-2.0
// The post-op: the function applied to each element of C last, before it is rounded to C's element. A new
// post-op is a member here, of Options (product_options.hpp) and of the parameters (post_op.cpp); its
// arithmetic is in apply(), in epilogue_simd-inl.h for vectors, and in verify/bounds.cpp as a reference.
#pragma once
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>
#include "tessera/core/operation/arguments.hpp"
#include "tessera/core/device/thread.hpp"

namespace tessera::matmul {

struct Options;

// gelu is exact, x/2·(1 + erf(x/√2)); gelu_tanh is its usual approximation.
enum class Activation : std::uint8_t { none, relu, gelu, gelu_tanh, silu };

// Members fill whole words, so that descriptions of products can be compared byte by byte.
struct PostOp {
  Activation activation = Activation::none;
  std::uint8_t unused[7] = {};

  static PostOp of(const Arguments& arguments);  // throws like check()
  static PostOp of(const Options& options);      // throws Error if the enumerator is out of range
  void add_to(Arguments::Words& words) const;
  void check(Element c) const;  // throws Error if the function is not defined for an integer C

  bool is_identity() const { return activation == Activation::none; }
  // Returns the activation, if the post-op consists of it alone: libraries support nothing else.
  std::optional<Activation> only_activation() const { return activation; }
};

std::vector<Parameter> post_op_parameters();
// Returns the words of a product whose post-op has already been applied.
Arguments::Words identity_words();

inline namespace TESSERA_UNIT {

// T is float or double. NaN propagates, unlike with fmax.
template <class T>
requires std::is_floating_point_v<T> SIMT T activated(Activation activation, T x) {
  constexpr T half_root = T(0.70710678118654752440), tanh_scale = T(0.79788456080286535588), one = T(1),
              half = T(0.5);
  switch (activation) {
    case Activation::relu:
      return x < 0 ? T(0) : x;
    case Activation::gelu:
      // Uses the complement because 1 + erf cancels if x is far below 0.
      return half * x * std::erfc(-x * half_root);
    case Activation::gelu_tanh:
      return half * x * (one + std::tanh(tanh_scale * (x + T(0.044715) * x * x * x)));
    case Activation::silu:
      return x / (one + std::exp(-x));
    case Activation::none:
      break;
  }
  return x;
}

template <class T>
requires std::is_floating_point_v<T> SIMT T apply(const PostOp& post_op, T x) {
  return activated(post_op.activation, x);
}

// Integers support ReLU only.
SIMT std::int32_t apply(const PostOp& post_op, std::int32_t x) {
  return post_op.activation == Activation::relu && x < 0 ? 0 : x;
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::matmul
