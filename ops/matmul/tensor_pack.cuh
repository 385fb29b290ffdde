// SPDX-License-Identifier: Apache-2.0
// Operands that the copy engine cannot read as they lie, copied to lines along k that it can.
#pragma once
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include "tessera/cuda/check.hpp"
#include "tessera/cuda/ptx/cluster.cuh"

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
  std::int64_t from_layer = 0, to_layer = 0;  // likewise, from one operand of a batch to the next
};

// Both operands of a product in one launch, if both need it.
struct PackPair {
  PackArgs of[2];
  int count = 0;

  // Layers of the grid are operands of a batch, those of a pair beside each other.
  __device__ const PackArgs& here() const { return of[count == 2 ? blockIdx.z & 1 : 0]; }
  __device__ std::int64_t layer() const { return count == 2 ? blockIdx.z >> 1 : blockIdx.z; }
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

// Where k is contiguous: lines that only begin at wrong addresses. 16 bytes are cut from the 32 that hold them.
struct ShiftShape {
  static constexpr int threads = 256, pieces = 4;                 // of each lane
  static constexpr int pieces_of_warp = 32 * pieces, lines = 8;  // of a block: a line for each warp
};

// Bytes `words`·4 + `bits`/8 … of two pieces beside each other.
__device__ __forceinline__ uint4 cut(const uint4& low, const uint4& high, std::uint32_t words, std::uint32_t bits) {
  std::uint32_t w[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  if ((words & 2) != 0)
#pragma unroll
    for (int i = 0; i < 6; ++i) w[i] = w[i + 2];
  if ((words & 1) != 0)
#pragma unroll
    for (int i = 0; i < 5; ++i) w[i] = w[i + 1];
  return {__funnelshift_r(w[0], w[1], bits), __funnelshift_r(w[1], w[2], bits), __funnelshift_r(w[2], w[3], bits),
          __funnelshift_r(w[3], w[4], bits)};
}

template <int bytes>
__global__ void __launch_bounds__(ShiftShape::threads) shift_lines(const __grid_constant__ PackPair pair) {
  constexpr int each = 16 / bytes;
  cuda::ptx::let_next_kernel_start();
  const PackArgs& args = pair.here();
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t line = std::int64_t{blockIdx.y} * ShiftShape::lines + warp;
  if (line >= args.lines) return;
  const std::int64_t layer = pair.layer();
  const unsigned char* const from = args.from + (layer * args.from_layer + line * args.line_step) * bytes;
  const auto off = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(from) % 16);
  const auto* const pieces = reinterpret_cast<const uint4*>(from - off);
  auto* const to = reinterpret_cast<uint4*>(args.to + layer * args.to_layer + line * args.to_step);
  const std::int64_t first = std::int64_t{blockIdx.x} * ShiftShape::pieces_of_warp + lane;
  uint4 low[ShiftShape::pieces], high[ShiftShape::pieces];
  // Neither piece reaches beyond the line.
  const auto whole = [&](std::int64_t piece) { return (piece > 0 || off == 0) && (piece + 2) * each <= args.k; };
#pragma unroll
  for (int i = 0; i < ShiftShape::pieces; ++i) {
    const std::int64_t piece = first + 32 * i;
    if (!whole(piece)) continue;
    low[i] = __ldg(pieces + piece);
    high[i] = __ldg(pieces + piece + 1);
  }
#pragma unroll
  for (int i = 0; i < ShiftShape::pieces; ++i) {
    const std::int64_t piece = first + 32 * i;
    if (piece * 4 >= args.to_step) return;
    if (whole(piece)) {
      to[piece] = cut(low[i], high[i], off / 4, off % 4 * 8);
      continue;
    }
    const auto word = [&](int w) {
      return gather<bytes>(from + piece * 16 + 4 * w, 1, args.k - piece * each - w * (4 / bytes));
    };
    to[piece] = {word(0), word(1), word(2), word(3)};
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
__global__ void __launch_bounds__(TurnShape::threads) turn_lines(const __grid_constant__ PackPair pair) {
  cuda::ptx::let_next_kernel_start();
  const PackArgs& args = pair.here();
  const std::int64_t layer = pair.layer();
  constexpr int each = 4 / bytes, side = TurnShape::side<bytes>, quads = side / each;  // words of a line: 32
  static_assert(quads == 32);
  __shared__ std::uint32_t tile[side * quads];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t first_line = std::int64_t{blockIdx.y} * side, first_k = std::int64_t{blockIdx.x} * side;
  if (first_line >= args.lines || first_k / each >= args.to_step) return;
  const std::int64_t line = first_line + lane * each;
  const bool words = args.line_step == 1 && (args.k_step * bytes) % 4 == 0 &&
                     (args.from_layer * bytes) % 4 == 0 && reinterpret_cast<std::uintptr_t>(args.from) % 4 == 0 &&
                     line + each <= args.lines;
  const unsigned char* const from = args.from + (layer * args.from_layer + line * args.line_step) * bytes;
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
  std::uint32_t* const to = args.to + layer * args.to_layer + to_word;
#pragma unroll
  for (int i = warp; i < side; i += TurnShape::warps)
    if (first_line + i < args.lines)
      to[(first_line + i) * args.to_step] = tile[i * quads + (lane ^ (i / each))];
}

// Grids are short along y and z: as many launches as it takes. `layers`: operands of each kind.
template <class Kernel>
void launch_packing(Kernel kernel, PackPair pair, int bytes, std::int64_t layers, std::int64_t wide, std::int64_t high, int threads,
                    cudaStream_t stream) {
  const auto parts = [](std::int64_t n, std::int64_t part) { return static_cast<unsigned>((n + part - 1) / part); };
  constexpr std::int64_t most_layers = 32767;
  const std::int64_t most = 65535 * high;
  for (;;) {
    PackPair now = pair;
    std::int64_t lines = 0, words = 0;
    for (int i = 0; i < pair.count; ++i) {
      now.of[i].lines = std::min(most, pair.of[i].lines);
      lines = std::max(lines, now.of[i].lines);
      words = std::max(words, now.of[i].to_step);
      pair.of[i].lines -= now.of[i].lines;
      pair.of[i].from += most * pair.of[i].line_step * bytes;
      pair.of[i].to += most * pair.of[i].to_step;
    }
    if (lines == 0) return;
    for (std::int64_t layer = 0; layer < layers; layer += most_layers) {
      PackPair some = now;
      for (PackArgs& args : some.of) {
        args.from += layer * args.from_layer * bytes;
        args.to += layer * args.to_layer;
      }
      const dim3 grid(parts(words, wide), parts(lines, high),
                      static_cast<unsigned>(std::min(most_layers, layers - layer) * pair.count));
      kernel<<<grid, static_cast<unsigned>(threads), 0, stream>>>(some);
      cuda::check(cudaGetLastError());
    }
  }
}

struct Packing {
  Factor from;
  void* to;
  std::int64_t from_layer = 0;  // elements from one operand of a batch to the next; packed_bytes apart at the other end
};

template <int bytes>
void pack(std::initializer_list<Packing> all, cudaStream_t stream, std::int64_t layers = 1) {
  PackPair shifted, turned;
  for (const auto& [f, to, from_layer] : all) {
    if (f.lines == 0 || f.k == 0) continue;
    PackPair& pair = f.k_step == 1 && f.line_step != 1 ? shifted : turned;
    pair.of[pair.count++] = {static_cast<const unsigned char*>(f.data), f.lines,
                             f.k,                                       f.line_step,
                             f.k_step,                                  static_cast<std::uint32_t*>(to),
                             packed_step(f) * bytes / 4,                from_layer,
                             static_cast<std::int64_t>(packed_bytes(f) / 4)};
  }
  launch_packing(shift_lines<bytes>, shifted, bytes, layers, 4 * ShiftShape::pieces_of_warp, ShiftShape::lines, ShiftShape::threads,
                 stream);
  launch_packing(turn_lines<bytes>, turned, bytes, layers, 32, TurnShape::side<bytes>, TurnShape::threads, stream);
}

}  // namespace tessera::matmul
