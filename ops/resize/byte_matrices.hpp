// SPDX-License-Identifier: Apache-2.0
// Products of matrices of bytes, spread over a warp as tensor cores want them. Lane 4·g + t has of
//   a    rows g and g + 8, columns 4·t to 4·t + 3 of every piece of 16: a word each
//   b    column g, rows 4·t to 4·t + 3 of every piece
//   d    rows g (d[0], d[1]) and g + 8 (d[2], d[3]), columns 2·t and 2·t + 1
// The numbers of one operand are from 0 to 255, those of the other, `signed_first` or not, from -128 to 127.
// Sums are modulo 2^32.
#pragma once
#include "packed_words.hpp"
#if defined(__CUDACC__)
#include "tessera/cuda/ptx/mma_bytes.cuh"
#endif

namespace tessera::resize {
inline namespace TESSERA_UNIT {

// One piece of 16, by what each lane lacks: where there are no tensor cores.
template <bool signed_first>
SIMT void add_piece(Thread thread, std::uint32_t (&d)[4], std::uint32_t upper, std::uint32_t lower,
                    std::uint32_t b) {
  const int row = thread.lane() / 4, column = thread.lane() % 4 * 2;
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t rows[2] = {thread.shuffle(upper, 4 * row + i), thread.shuffle(lower, 4 * row + i)};
    for (int c = 0; c < 2; ++c) {
      const std::uint32_t four = thread.shuffle(b, 4 * (column + c) + i);
      for (int r = 0; r < 2; ++r)
        d[2 * r + c] =
            signed_first ? signed_dot(four, rows[r], d[2 * r + c]) : signed_dot(rows[r], four, d[2 * r + c]);
    }
  }
}

// d += a·b, of so many pieces. All lanes of a warp call.
template <bool signed_first, int pieces>
SIMT void multiply_bytes(Thread thread, std::uint32_t (&d)[4], const std::uint32_t (&a)[pieces][2],
                         const std::uint32_t (&b)[pieces]) {
#if defined(__CUDA_ARCH__)
  (void)thread;
  SIMT_UNROLL
  for (int i = 0; i + 1 < pieces; i += 2)
    cuda::ptx::mma_bytes<signed_first>(d, {a[i][0], a[i][1], a[i + 1][0], a[i + 1][1]}, {b[i], b[i + 1]});
  if constexpr (pieces % 2 == 1)
    cuda::ptx::mma_bytes<signed_first>(d, {a[pieces - 1][0], a[pieces - 1][1]}, {b[pieces - 1]});
#else
  for (int i = 0; i < pieces; ++i) add_piece<signed_first>(thread, d, a[i][0], a[i][1], b[i]);
#endif
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::resize
