// SPDX-License-Identifier: Apache-2.0
// Products of 8-bit integer matrices in the tensor cores' fragment layout. Lane 4·g + t holds
//   a    rows g and g + 8, columns 4·t to 4·t + 3 of every k-slice of 16: a word each
//   b    column g, rows 4·t to 4·t + 3 of every k-slice
//   d    rows g (d[0], d[1]) and g + 8 (d[2], d[3]), columns 2·t and 2·t + 1
// Values are from 0 to 255, those of a signed operand from -128 to 127. Sums are modulo 2^32. Without tensor
// cores, lanes exchange operands by shuffles.
#pragma once
#include "tessera/kernel.hpp"
#if defined(__CUDACC__)
#include "tessera/cuda/ptx/mma_int8.cuh"
#endif

namespace tessera {
inline namespace TESSERA_UNIT {

#if !defined(__CUDA_ARCH__)
template <bool is_signed>
std::uint32_t byte_number(std::uint32_t word, int b) {
  const std::uint32_t byte = word >> 8 * b & 0xffu;
  return is_signed && byte > 127 ? byte - 256 : byte;
}

// d += a·b for one k-slice of 16.
template <bool signed_a, bool signed_b>
void add_piece(Thread thread, std::uint32_t (&d)[4], const std::uint32_t (&a)[2], std::uint32_t b) {
  const int row = thread.lane() / 4, column = thread.lane() % 4 * 2;
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t rows[2] = {thread.shuffle(a[0], 4 * row + i), thread.shuffle(a[1], 4 * row + i)};
    for (int c = 0; c < 2; ++c) {
      const std::uint32_t four = thread.shuffle(b, 4 * (column + c) + i);
      for (int r = 0; r < 2; ++r)
        for (int k = 0; k < 4; ++k)
          d[2 * r + c] += byte_number<signed_a>(rows[r], k) * byte_number<signed_b>(four, k);
    }
  }
}
#endif

// d += a·b for k-slice `first` and the next one, if it exists. Called by all lanes of a warp.
template <bool signed_a, bool signed_b, std::size_t pieces>
SIMT void multiply_bytes(Thread thread, std::uint32_t (&d)[4], const std::uint32_t (&a)[pieces][2],
                         const std::uint32_t (&b)[pieces], int first = 0) {
#if defined(__CUDA_ARCH__)
  (void)thread;
  const int i = first, j = first + 1;
  if (j < static_cast<int>(pieces))
    cuda::ptx::mma_int8<signed_a, signed_b>(d, {a[i][0], a[i][1], a[j][0], a[j][1]}, {b[i], b[j]});
  else cuda::ptx::mma_int8<signed_a, signed_b>(d, {a[i][0], a[i][1]}, {b[i]});
#else
  for (int i = first; i < static_cast<int>(pieces) && i < first + 2; ++i)
    add_piece<signed_a, signed_b>(thread, d, a[i], b[i]);
#endif
}

// Transposes an 8 × 8 matrix of 16-bit elements: lane 4·r + c holds columns 2·c and 2·c + 1 of row r.
SIMT std::uint32_t movmatrix_trans(Thread thread, std::uint32_t pair) {
#if defined(__CUDA_ARCH__)
  (void)thread;
  return cuda::ptx::movmatrix_trans(pair);
#else
  const int row = thread.lane() / 4, column = thread.lane() % 4 * 2, by = row % 2 * 16;
  const std::uint32_t first = thread.shuffle(pair, 4 * column + row / 2),
                      second = thread.shuffle(pair, 4 * column + 4 + row / 2);
  return (first >> by & 0xffffu) | (second >> by & 0xffffu) << 16;
#endif
}

}  // namespace TESSERA_UNIT
}  // namespace tessera
