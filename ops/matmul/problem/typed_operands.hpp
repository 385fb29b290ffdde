// SPDX-License-Identifier: Apache-2.0
// The operands of a MixedProblem as typed views, and their elements as doubles, for what runs on the CPU.
#pragma once
#include <array>
#include <bit>
#include <memory>
#include <type_traits>
#include "ops/matmul/problem/mixed_problem.hpp"
#include "tessera/core/element.hpp"
#include "tessera/core/view.hpp"

namespace tessera::matmul {

template <class T>
double widened(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else if constexpr (std::is_same_v<T, bf16>) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
  } else {
    constexpr std::size_t count = std::size_t{1} << (8 * sizeof(T));
    using Table = std::array<float, count>;
    static const std::unique_ptr<const Table> table = [] {
      auto made = std::make_unique<Table>();
      for (std::size_t i = 0; i < count; ++i)
        (*made)[i] = static_cast<float>(T{static_cast<decltype(T::bits)>(i)});
      return made;
    }();
    return (*table)[value.bits];
  }
}

// A MixedProblem's factors as typed views, for what runs on the CPU.

template <class T>
Matrix<const T> view_of(const Operand& x, std::int64_t rows, std::int64_t cols) {
  return {static_cast<const T*>(x.data), {rows, cols}, {x.row, x.col}};
}

// Calls f(a, b) with views of the factors' types: equal, but for 8-bit floats.
template <class F>
void with_factors(const MixedProblem& p, const F& f) {
  const auto call = [&]<class A, class B>() { f(view_of<A>(p.a, p.m, p.k), view_of<B>(p.b, p.k, p.n)); };
  const bool b_is_e4m3 = p.b.element == Element::e4m3;
  switch (p.a.element) {
    case Element::f32:
      return call.template operator()<float, float>();
    case Element::bf16:
      return call.template operator()<bf16, bf16>();
    case Element::f16:
      return call.template operator()<f16, f16>();
    case Element::i8:
      return call.template operator()<std::int8_t, std::int8_t>();
    case Element::e4m3:
      return b_is_e4m3 ? call.template operator()<e4m3, e4m3>() : call.template operator()<e4m3, e5m2>();
    case Element::e5m2:
      return b_is_e4m3 ? call.template operator()<e5m2, e4m3>() : call.template operator()<e5m2, e5m2>();
    default:
      throw Error(Error::Kind::internal, "no factors of " + std::string(name_of(p.a.element)));
  }
}

}  // namespace tessera::matmul
