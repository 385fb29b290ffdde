// SPDX-License-Identifier: Apache-2.0
// A LowProblem's factors as typed views, for what runs on the processors.
#pragma once
#include "low_precision.hpp"
#include "tessera/core/view.hpp"

namespace tessera::matmul {

template <class T>
Matrix<const T> view_of(const Operand& x, std::int64_t rows, std::int64_t cols) {
  return {static_cast<const T*>(x.data), {rows, cols}, {x.row, x.col}};
}

// Calls f(a, b) with views of the factors' types: equal, but for 8-bit floats.
template <class F>
void with_factors(const LowProblem& p, const F& f) {
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
