// SPDX-License-Identifier: Apache-2.0
// The operands of a product: which elements may meet and what follows from the words that ask for them, what
// rungs state of the layouts they read, and typed views for what runs on the CPU.
#pragma once
#include <array>
#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include "tessera/core/arguments.hpp"
#include "ops/matmul/matmul.hpp"
#include "ops/matmul/gemm/mixed_problem.hpp"
#include "tessera/core/element.hpp"
#include "tessera/core/view.hpp"
#include "tessera/core/variant.hpp"

namespace tessera::matmul {

inline bool is_fp8(Element element) { return element == Element::e4m3 || element == Element::e5m2; }

// Of A and of B, which differ only among the 8-bit floats; of C, and of what is added to it.
Element element_of_b(Element a, const Arguments::Words& words);
Element element_of_c(Element a, const Arguments::Words& words);  // throws Error where A's does not lead there
Element element_of_bias(Element a, const Arguments::Words& words);  // C's, but f32 beside an i8

// Throws Error where no product of A's and B's elements is of C's.
void check_elements(Element a, Element b, Element c);

// "bf16", "bf16>f32", "e4m3*e5m2>f16", "tf32", "e4m3 fast": what keeps one kind of product from another.
std::string element_text(const Arguments& arguments);

// C = α·op(A)·op(B) + β·C0 with one element for all, summed in its own arithmetic or a better one.
bool is_plain(const Arguments& arguments);

// Why kernels that keep their counts in 32 bits cannot compute a product of this size.
std::optional<std::string> counts_beyond(std::int64_t m, std::int64_t n, std::int64_t k);
std::optional<std::string> counts_beyond(const Arguments& arguments);

// A MixedProblem, and no plain one, says what is to be computed and how exactly.
bool is_mixed(const Arguments& arguments);

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

// The product's arrays, in the order of its signature and so of Addresses.
enum ProductArray : std::size_t { in_a, in_b, in_c0, in_scale_a, in_scale_b, in_bias, out_c, product_arrays };

// The same product in other arrays.
MixedProblem with_addresses(MixedProblem p, std::span<void* const> arrays);
template <class T>
Problem<T> with_addresses(Problem<T> p, std::span<void* const> arrays) {
  p.a.data = static_cast<const T*>(arrays[in_a]);
  p.b.data = static_cast<const T*>(arrays[in_b]);
  p.c.data = static_cast<T*>(arrays[out_c]);
  if (p.c0.data != nullptr) p.c0.data = static_cast<const T*>(arrays[in_c0]);
  return p;
}

// Neighbours in memory are neighbours along k.
inline bool lies_along_k(const OperandLayout& order) { return (order.input == "A") != order.transposed; }

// Panels of B are copied, an element at a time, while they are needed.
inline LayoutHandling b_in_panels(Element, const OperandLayout& order) {
  return order.input == "B" ? LayoutHandling::transposed_on_load : LayoutHandling::direct;
}

// Hopper's TMA: lines along k as they lie; across k where the tensor cores take that; nothing at odd
// addresses.
inline LayoutHandling by_tma(const OperandLayout& order, bool supports_mn_major) {
  if (order.unaligned) return LayoutHandling::packed_first;
  if (lies_along_k(order)) return LayoutHandling::direct;
  return supports_mn_major ? LayoutHandling::transposed_on_load : LayoutHandling::packed_first;
}

// Whoever multiplies lines across k: what lies along k is transposed on its way to shared memory. Of f32, a B
// along k is taken as it lies where A has few rows (`takes_lines`).
inline LayoutHandling across_k(Element element, const OperandLayout& order) {
  if (!lies_along_k(order)) return LayoutHandling::direct;
  return element == Element::f32 && order.input == "B" ? LayoutHandling::mixed
                                                       : LayoutHandling::transposed_on_load;
}

}  // namespace tessera::matmul
