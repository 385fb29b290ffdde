// SPDX-License-Identifier: Apache-2.0
// One operator on a block of points, the basis of evaluate_many. A table for each instruction set.
#pragma once
#include <cstddef>
#include "tessera/formula/operators.hpp"

namespace tessera::formula {

// A block's arrays hold a multiple of so many bytes, however few points it has.
inline constexpr std::size_t block_bytes = 64;

// to[i] = OP(a[i], b[i], c[i]) for `count` elements, a multiple of block_bytes; `to` may be any of the
// operands.
template <class T>
using OnBlock = void (*)(const T* a, const T* b, const T* c, T* to, std::size_t count);

// Indexed by Op, for the best instructions of this CPU; no entry for a number and a variable.
const OnBlock<float>* on_blocks_f32();
const OnBlock<double>* on_blocks_f64();

// Applies the scalar function to one element after another, for operators without a vector version.
template <class T>
void library_on_block(Op op, const T* a, const T* b, T* to, std::size_t count);
template <class T>
void huge_angles_on_block(const T* x, T* turns, T* hi, T* lo, std::size_t count);
template <class T>
void fused_on_block(const T* a, const T* b, const T* c, T* to, std::size_t count);

}  // namespace tessera::formula
