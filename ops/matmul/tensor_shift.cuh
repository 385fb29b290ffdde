// SPDX-License-Identifier: Apache-2.0
// Packing where k is contiguous: lines that only begin at wrong addresses. 16 bytes are cut from the 32 that
// hold them.
#pragma once
#include "tensor_packing.cuh"

namespace tessera::matmul {

struct ShiftShape {
  static constexpr int threads = 256, pieces = 4;                // of each lane
  static constexpr int pieces_of_warp = 32 * pieces, lines = 8;  // of a block: a line for each warp
};

// Bytes `words`·4 + `bits`/8 … of two pieces beside each other.
__device__ __forceinline__ uint4 cut(const uint4& low, const uint4& high, std::uint32_t words,
                                     std::uint32_t bits) {
  std::uint32_t w[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  if ((words & 2) != 0)
#pragma unroll
    for (int i = 0; i < 6; ++i) w[i] = w[i + 2];
  if ((words & 1) != 0)
#pragma unroll
    for (int i = 0; i < 5; ++i) w[i] = w[i + 1];
  return {__funnelshift_r(w[0], w[1], bits), __funnelshift_r(w[1], w[2], bits),
          __funnelshift_r(w[2], w[3], bits), __funnelshift_r(w[3], w[4], bits)};
}

// The first `there` bytes of a piece, then zeros.
__device__ __forceinline__ uint4 first_bytes(const uint4& piece, std::int64_t there) {
  const auto kept = [&](std::uint32_t word, std::int64_t left) {
    return left >= 4 ? word : left <= 0 ? 0 : word & ((1u << (8 * left)) - 1);
  };
  return {kept(piece.x, there), kept(piece.y, there - 4), kept(piece.z, there - 8),
          kept(piece.w, there - 12)};
}

// A line as aligned pieces of 16 bytes. Those that hold bytes before the operand's first or behind its last
// one are not read; all others of its lines are, whatever lies between lines.
template <int bytes>
struct ShiftedLine {
  const unsigned char* from;
  std::uint32_t off;        // bytes from an aligned address to `from`
  std::int64_t length;      // in bytes
  int first, last, needed;  // pieces that may be read; the last one that holds a byte of the line

  __device__ ShiftedLine(const PackArgs& args, std::int64_t layer, std::int64_t line)
      : from(args.from + (layer * args.from_layer + line * args.line_step) * bytes),
        off(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(from) % 16)),
        length(args.k * bytes) {
    const std::int64_t before = line * args.line_step * bytes,
                       behind = (args.lines - 1 - line) * args.line_step * bytes;
    needed = static_cast<int>((off + length - 1) / 16);
    first = before >= off ? 0 : 1;
    last = min(needed, static_cast<int>(min((off + length + behind) / 16 - 1, std::int64_t{needed})));
  }
  __device__ __forceinline__ uint4 piece(int at) const {
    return __ldg(reinterpret_cast<const uint4*>(from - off) + max(first, min(at, last)));
  }
  __device__ __forceinline__ bool has(int at) const { return at >= first && min(at + 1, needed) <= last; }
  __device__ __forceinline__ uint4 element_by_element(int at) const {
    const auto word = [&](int w) {
      const std::int64_t offset = std::int64_t{at} * 16 + 4 * w;
      return gather<bytes>(from + offset, (length - offset) / bytes);
    };
    return {word(0), word(1), word(2), word(3)};
  }
};

template <int bytes>
__device__ __forceinline__ void shift_line(const PackPair& pair) {
  constexpr int count = ShiftShape::pieces;
  const PackArgs& args = pair.here();
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t at = std::int64_t{blockIdx.y} * ShiftShape::lines + warp;
  const int begin = static_cast<int>(blockIdx.x) * ShiftShape::pieces_of_warp,
            pieces = static_cast<int>(args.to_step / 4);
  if (at >= args.lines || begin >= pieces) return;
  const ShiftedLine<bytes> line(args, pair.layer(), at);
  auto* const to = reinterpret_cast<uint4*>(args.to + pair.layer() * args.to_layer + at * args.to_step);
  // No load waits for another, nor for a condition.
  uint4 low[count] = {}, high[count] = {};
  if (line.first <= line.last) {
#pragma unroll
    for (int i = 0; i < count; ++i)
      low[i] = line.piece(begin + lane + 32 * i), high[i] = line.piece(begin + lane + 32 * i + 1);
  }
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const int piece = begin + lane + 32 * i;
    if (piece >= pieces) return;
    uint4 out = cut(low[i], high[i], line.off / 4, line.off % 4 * 8);
    const std::int64_t there = line.length - std::int64_t{piece} * 16;
    if (there < 16) out = first_bytes(out, there);
    if (there > 0 && !line.has(piece)) out = line.element_by_element(piece);
    to[piece] = out;
  }
}

template <int bytes>
__global__ void __launch_bounds__(ShiftShape::threads) shift_lines(const __grid_constant__ PackPair pair) {
  beside_kernel_before([&] { shift_line<bytes>(pair); });
}

}  // namespace tessera::matmul
