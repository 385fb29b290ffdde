// SPDX-License-Identifier: Apache-2.0
// The operands of a product: the supported combinations of elements, the layouts that rungs read, and typed
// views for the CPU.
#pragma once
#include <array>
#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include "tessera/core/operation/arguments.hpp"
#include "ops/matmul/matmul.hpp"
#include "ops/matmul/gemm/mixed_problem.hpp"
#include "tessera/core/array/element.hpp"
#include "tessera/core/device/view.hpp"
#include "tessera/core/operation/variant.hpp"

namespace tessera::matmul {

inline bool is_fp8(Element element) { return element == Element::e4m3 || element == Element::e5m2; }

// Returns the elements of the operands, given A's and the options; A's and B's differ only among the 8-bit
// floats.
Element element_of_b(Element a, const Arguments::Words& words);
Element element_of_c(Element a, const Arguments::Words& words);     // throws Error if A's cannot yield it
Element element_of_bias(Element a, const Arguments::Words& words);  // C's, but f32 if C is i8

// Throws Error if a product of these elements of A and B cannot have this element of C.
void check_elements(Element a, Element b, Element c);

// Returns "bf16", "bf16>f32", "e4m3*e5m2>f16", "tf32", "e4m3 fast": distinguishes the kinds of products.
std::string element_text(const Arguments& arguments);

// True for C = α·op(A)·op(B) + β·C0 with one element for all, summed in its own arithmetic or a better one.
bool is_plain(const Arguments& arguments);

// Returns the reason why kernels with 32-bit indices cannot compute a product of this size.
std::optional<std::string> exceeds_index_range(std::int64_t m, std::int64_t n, std::int64_t k);
std::optional<std::string> exceeds_index_range(const Arguments& arguments);

// True if the product has to be described by a MixedProblem, not by a Problem.
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

// Returns an operand of a MixedProblem as a typed view, for the CPU.

template <class T>
Matrix<const T> view_of(const Operand& x, std::int64_t rows, std::int64_t cols) {
  return {static_cast<const T*>(x.data), {rows, cols}, {x.row_stride, x.col_stride}};
}

// Calls f(a, b) with typed views of both operands. Their types are equal, except for 8-bit floats.
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
      throw Error(Error::Kind::internal, "no operands of " + std::string(name_of(p.a.element)));
  }
}

// The product's arrays, in the order of its signature and of Addresses.
enum ProductArray : std::size_t { in_a, in_b, in_c0, in_scale_a, in_scale_b, in_bias, out_c, product_arrays };

// Returns the product with its pointers replaced by `arrays`.
MixedProblem with_addresses(MixedProblem p, std::span<void* const> arrays);
template <class T>
Problem<T> with_addresses(Problem<T> p, std::span<void* const> arrays) {
  p.a.data = static_cast<const T*>(arrays[in_a]);
  p.b.data = static_cast<const T*>(arrays[in_b]);
  p.c.data = static_cast<T*>(arrays[out_c]);
  if (p.c0.data != nullptr) p.c0.data = static_cast<const T*>(arrays[in_c0]);
  return p;
}

// True if elements along k are contiguous in memory.
inline bool lies_along_k(const OperandLayout& order) { return (order.input == "A") != order.transposed; }

// For rungs that copy B to panels element by element during the product.
inline LayoutHandling b_in_panels(Element, const OperandLayout& order) {
  return order.input == "B" ? LayoutHandling::transposed_on_load : LayoutHandling::direct;
}

// Hopper's TMA loads K-major operands directly, MN-major ones if the tensor cores support them, and no
// misaligned ones.
inline LayoutHandling by_tma(const OperandLayout& order, bool supports_mn_major) {
  if (order.unaligned) return LayoutHandling::packed_first;
  if (lies_along_k(order)) return LayoutHandling::direct;
  return supports_mn_major ? LayoutHandling::transposed_on_load : LayoutHandling::packed_first;
}

// Kernels that multiply lines across k transpose an operand along k on its way to shared memory. A B of f32
// along k is read directly if A has few rows (`takes_lines`).
inline LayoutHandling across_k(Element element, const OperandLayout& order) {
  if (!lies_along_k(order)) return LayoutHandling::direct;
  return element == Element::f32 && order.input == "B" ? LayoutHandling::mixed
                                                       : LayoutHandling::transposed_on_load;
}

}  // namespace tessera::matmul
