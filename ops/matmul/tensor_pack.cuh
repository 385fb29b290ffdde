// SPDX-License-Identifier: Apache-2.0
// Operands that the copy engine cannot read as they lie, copied to lines along k that it can.
#pragma once
#include <algorithm>
#include <cstdint>
#include "tessera/cuda/check.hpp"

namespace tessera::matmul {

// An operand by its lines along k: rows of A, columns of B.
struct Factor {
  const void* data;
  int bytes;  // of an element
  std::int64_t lines, k, line_step, k_step;
};

// To where: lines of whole 16-byte pieces.
inline std::int64_t packed_step(const Factor& f) {
  const std::int64_t piece = 16 / f.bytes;
  return (f.k + piece - 1) / piece * piece;
}
inline std::size_t packed_bytes(const Factor& f) {
  return (static_cast<std::size_t>(f.lines) * static_cast<std::size_t>(packed_step(f) * f.bytes) + 255) / 256 * 256;
}

struct PackArgs {
  const unsigned char* from;
  std::int64_t lines, k, line_step, k_step;  // steps in elements
  std::uint32_t* to;
  std::int64_t to_step;  // in words of 4 bytes
};

template <int bytes> struct Bits;
template <> struct Bits<1> { using Type = std::uint8_t; };
template <> struct Bits<2> { using Type = std::uint16_t; };
template <> struct Bits<4> { using Type = std::uint32_t; };

// A word of elements that are `step` apart; `there` of them exist, the others are 0.
template <int bytes>
__device__ __forceinline__ std::uint32_t gather(const unsigned char* from, std::int64_t step, std::int64_t there) {
  using Element = typename Bits<bytes>::Type;
  std::uint32_t out = 0;
#pragma unroll
  for (int i = 0; i < 4 / bytes; ++i)
    if (i < there)
      out |= std::uint32_t{*reinterpret_cast<const Element*>(from + i * step * bytes)} << (8 * bytes * i);
  return out;
}

// Where k is contiguous: lines that only begin at wrong addresses. A word is cut from the two that hold its bytes.
struct ShiftShape {
  static constexpr int threads = 256, words = 8;                // of each lane
  static constexpr int words_of_warp = 32 * words, lines = 8;   // of a block: a line for each warp
};
template <int bytes>
__global__ void __launch_bounds__(ShiftShape::threads) shift_lines(const __grid_constant__ PackArgs args) {
  constexpr int each = 4 / bytes;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t line = std::int64_t{blockIdx.y} * ShiftShape::lines + warp;
  if (line >= args.lines) return;
  const unsigned char* const from = args.from + line * args.line_step * bytes;
  const auto off = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(from) % 4);
  const auto* const words = reinterpret_cast<const std::uint32_t*>(from - off);
  std::uint32_t* const to = args.to + line * args.to_step;
  const std::int64_t first = std::int64_t{blockIdx.x} * ShiftShape::words_of_warp + lane;
  std::uint32_t low[ShiftShape::words], high[ShiftShape::words];
#pragma unroll
  for (int i = 0; i < ShiftShape::words; ++i) {
    const std::int64_t word = first + 32 * i;
    // Neither word reaches beyond the line.
    const bool whole = (word + 2) * each <= args.k;
    low[i] = whole ? __ldg(words + word) : gather<bytes>(from + word * 4, 1, args.k - word * each);
    high[i] = whole && off != 0 ? __ldg(words + word + 1) : 0;
  }
#pragma unroll
  for (int i = 0; i < ShiftShape::words; ++i) {
    const std::int64_t word = first + 32 * i;
    if (word >= args.to_step) return;
    const bool whole = (word + 2) * each <= args.k;
    to[word] = whole ? __funnelshift_r(low[i], high[i], 8 * off) : low[i];
  }
}

// Where lines are contiguous, or nothing is: a tile of 128 bytes of lines by 128 bytes of k, turned word by word in
// registers and as a whole by way of shared memory, whose words are moved so that nobody meets on a bank.
struct TurnShape {
  static constexpr int threads = 256, warps = threads / 32;
  template <int bytes>
  static constexpr int side = 128 / bytes;
};

// `word[i]` holds element 0 … of step i of k; afterwards word[i] holds steps 0 … of element i.
template <int bytes>
__device__ __forceinline__ void turn(std::uint32_t (&word)[4 / bytes]) {
  if constexpr (bytes == 2) {
    const std::uint32_t a = word[0], b = word[1];
    word[0] = __byte_perm(a, b, 0x5410);
    word[1] = __byte_perm(a, b, 0x7632);
  } else if constexpr (bytes == 1) {
    const std::uint32_t low01 = __byte_perm(word[0], word[1], 0x5140), high01 = __byte_perm(word[0], word[1], 0x7362),
                        low23 = __byte_perm(word[2], word[3], 0x5140), high23 = __byte_perm(word[2], word[3], 0x7362);
    word[0] = __byte_perm(low01, low23, 0x5410);
    word[1] = __byte_perm(low01, low23, 0x7632);
    word[2] = __byte_perm(high01, high23, 0x5410);
    word[3] = __byte_perm(high01, high23, 0x7632);
  }
}

template <int bytes>
__global__ void __launch_bounds__(TurnShape::threads) turn_lines(const __grid_constant__ PackArgs args) {
  constexpr int each = 4 / bytes, side = TurnShape::side<bytes>, quads = side / each;  // words of a line: 32
  static_assert(quads == 32);
  __shared__ std::uint32_t tile[side * quads];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t first_line = std::int64_t{blockIdx.y} * side, first_k = std::int64_t{blockIdx.x} * side;
  const std::int64_t line = first_line + lane * each;
  const bool words = args.line_step == 1 && (args.k_step * bytes) % 4 == 0 &&
                     reinterpret_cast<std::uintptr_t>(args.from) % 4 == 0 && line + each <= args.lines;
  const unsigned char* const from = args.from + line * args.line_step * bytes;
#pragma unroll
  for (int quad = warp; quad < quads; quad += TurnShape::warps) {
    std::uint32_t word[each];
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const std::int64_t at = first_k + quad * each + i;
      const unsigned char* const here = from + at * args.k_step * bytes;
      word[i] = at >= args.k ? 0
                : words      ? __ldg(reinterpret_cast<const std::uint32_t*>(here))
                             : gather<bytes>(here, args.line_step, args.lines - line);
    }
    turn<bytes>(word);
#pragma unroll
    for (int i = 0; i < each; ++i) tile[(lane * each + i) * quads + (quad ^ lane)] = word[i];
  }
  __syncthreads();
  const std::int64_t to_word = first_k / each + lane;
  if (to_word >= args.to_step) return;
#pragma unroll
  for (int i = warp; i < side; i += TurnShape::warps)
    if (first_line + i < args.lines)
      args.to[(first_line + i) * args.to_step + to_word] = tile[i * quads + (lane ^ (i / each))];
}

// Grids are short along y: as many launches as it takes.
template <class Kernel>
void launch_packing(Kernel kernel, PackArgs args, int bytes, std::int64_t wide, std::int64_t high, int threads,
                    cudaStream_t stream) {
  const auto parts = [](std::int64_t n, std::int64_t part) { return static_cast<unsigned>((n + part - 1) / part); };
  const std::int64_t most = 65535 * high;
  for (std::int64_t left = args.lines; left > 0; left -= most) {
    PackArgs part = args;
    part.lines = std::min(most, left);
    const dim3 grid(parts(args.to_step, wide), parts(part.lines, high));
    kernel<<<grid, static_cast<unsigned>(threads), 0, stream>>>(part);
    cuda::check(cudaGetLastError());
    args.from += most * args.line_step * bytes;
    args.to += most * args.to_step;
  }
}

template <int bytes>
void pack(const Factor& f, void* to, cudaStream_t stream) {
  if (f.lines == 0 || f.k == 0) return;
  const PackArgs args{static_cast<const unsigned char*>(f.data), f.lines,
                      f.k,                                       f.line_step,
                      f.k_step,                                  static_cast<std::uint32_t*>(to),
                      packed_step(f) * bytes / 4};
  if (f.k_step == 1 && f.line_step != 1)
    launch_packing(shift_lines<bytes>, args, bytes, ShiftShape::words_of_warp, ShiftShape::lines, ShiftShape::threads,
                   stream);
  else
    launch_packing(turn_lines<bytes>, args, bytes, 32, TurnShape::side<bytes>, TurnShape::threads, stream);
}

}  // namespace tessera::matmul
