// SPDX-License-Identifier: Apache-2.0
// The post-op: the function that each element of C is put through last, before it is rounded to C's element.
// An option of this kind is a member here, of Options (multiply.hpp) and of the parameters (post_op.cpp); its
// arithmetic stands in apply(), in epilogue_simd-inl.h for vectors, and in verify/bounds.cpp as a reference.
// Installed: for authors of variants.
#pragma once
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>
#include "tessera/core/arguments.hpp"
#include "tessera/core/thread.hpp"

namespace tessera::matmul {

struct Options;

// gelu is the exact one, x/2·(1 + erf(x/√2)); gelu_tanh its usual approximation.
enum class Activation : std::uint8_t { none, relu, gelu, gelu_tanh, silu };

// Members fill whole words, so that descriptions of products can be compared byte by byte.
struct PostOp {
  Activation activation = Activation::none;
  std::uint8_t unused[7] = {};

  static PostOp of(const Arguments& arguments);  // throws as check()
  static PostOp of(const Options& options);      // throws Error where a member of an enumeration is none
  void add_to(Arguments::Words& words) const;
  void check(Element c) const;  // throws Error for a function that a C of whole numbers cannot be put through

  bool is_identity() const { return activation == Activation::none; }
  // The activation, where the post-op is no more than that: libraries know nothing else.
  std::optional<Activation> only_activation() const { return activation; }
};

std::vector<Parameter> post_op_parameters();
// What is left after the post-op was done.
Arguments::Words identity_words();

inline namespace TESSERA_UNIT {

// T is float or double. A NaN stays one, which fmax would lose.
template <class T>
requires std::is_floating_point_v<T> SIMT T activated(Activation activation, T x) {
  constexpr T half_root = T(0.70710678118654752440), tanh_scale = T(0.79788456080286535588), one = T(1),
              half = T(0.5);
  switch (activation) {
    case Activation::relu:
      return x < 0 ? T(0) : x;
    case Activation::gelu:
      // Of the complement, for 1 + erf cancels where x is far below 0.
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

// Whole numbers know ReLU alone.
SIMT std::int32_t apply(const PostOp& post_op, std::int32_t x) {
  return post_op.activation == Activation::relu && x < 0 ? 0 : x;
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::matmul
