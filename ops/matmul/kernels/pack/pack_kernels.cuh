// SPDX-License-Identifier: Apache-2.0
// The kernels that pack operands: realign_copy, for contiguous k and lines that only begin at misaligned
// addresses, and transpose_copy, for k that is not contiguous.
#pragma once
#include <cstdint>
#include "ops/matmul/kernels/pack/matrix_ref.hpp"
#include "tessera/cuda/ptx/control.cuh"

namespace tessera::matmul {

struct PackArgs {
  const unsigned char* from;
  std::int64_t lines, k, row_stride, k_stride;  // steps in elements
  std::uint32_t* to;
  std::int64_t to_step;                       // in words of 4 bytes
  std::int64_t from_layer = 0, to_layer = 0;  // likewise, from one operand of a batch to the next
};

// Both operands of a product in one launch, if both need it.
struct PackPair {
  PackArgs of[2];
  int count = 0;
  bool is_first = true;  // the first launch of a call

  // Layers of the grid are operands of a batch, those of a pair adjacent.
  __device__ const PackArgs& here() const { return of[count == 2 ? blockIdx.z & 1 : 0]; }
  __device__ std::int64_t layer() const { return count == 2 ? blockIdx.z >> 1 : blockIdx.z; }
};

template <int bytes>
struct Bits;
template <>
struct Bits<1> {
  using Type = std::uint8_t;
};
template <>
struct Bits<2> {
  using Type = std::uint16_t;
};
template <>
struct Bits<4> {
  using Type = std::uint32_t;
};

// Returns a word of contiguous elements; `valid` of them exist, the others are 0.
template <int bytes>
__device__ __forceinline__ std::uint32_t gather(const unsigned char* from, std::int64_t valid) {
  using Element = typename Bits<bytes>::Type;
  std::uint32_t out = 0;
#pragma unroll
  for (int i = 0; i < 4 / bytes; ++i)
    if (i < valid)
      out |= std::uint32_t{*reinterpret_cast<const Element*>(from + i * bytes)} << (8 * bytes * i);
  return out;
}

// The first kernel of a call becomes resident while the previous one runs. The kernels of a product's two
// operands are independent: the second begins beside the first, and ends when both are done.
template <class Work>
__device__ __forceinline__ void with_pdl(bool is_first, const Work& work) {
  if (is_first) cuda::ptx::griddepcontrol_wait();
  cuda::ptx::griddepcontrol_launch_dependents();
  work();
  if (!is_first) cuda::ptx::griddepcontrol_wait();
}

// Realign copy: packs lines along contiguous k that begin at misaligned addresses. Each 16 bytes are shifted
// out of the aligned 32 bytes that hold them.

struct RealignShape {
  static constexpr int threads = 256, pieces = 4;                // pieces per lane
  static constexpr int pieces_of_warp = 32 * pieces, lines = 8;  // lines per block: a line for each warp
};

// Returns 16 bytes of two adjacent pieces, from byte `words`·4 + `bits`/8 on.
__device__ __forceinline__ uint4 cut(const uint4& lo, const uint4& hi, std::uint32_t words,
                                     std::uint32_t bits) {
  std::uint32_t w[8] = {lo.x, lo.y, lo.z, lo.w, hi.x, hi.y, hi.z, hi.w};
  if ((words & 2) != 0)
#pragma unroll
    for (int i = 0; i < 6; ++i) w[i] = w[i + 2];
  if ((words & 1) != 0)
#pragma unroll
    for (int i = 0; i < 5; ++i) w[i] = w[i + 1];
  return {__funnelshift_r(w[0], w[1], bits), __funnelshift_r(w[1], w[2], bits),
          __funnelshift_r(w[2], w[3], bits), __funnelshift_r(w[3], w[4], bits)};
}

// Returns the first `valid` bytes of a piece, then zeros.
__device__ __forceinline__ uint4 first_bytes(const uint4& piece, std::int64_t valid) {
  const auto kept = [&](std::uint32_t word, std::int64_t left) {
    return left >= 4 ? word : left <= 0 ? 0 : word & ((1u << (8 * left)) - 1);
  };
  return {kept(piece.x, valid), kept(piece.y, valid - 4), kept(piece.z, valid - 8),
          kept(piece.w, valid - 12)};
}

// A line as aligned pieces of 16 bytes. Pieces with bytes before the operand's first or after its last byte
// are not read; all other pieces of its lines are, including the gaps between lines.
template <int bytes>
struct MisalignedLine {
  const unsigned char* from;
  std::uint32_t off;        // bytes from an aligned address to `from`
  std::int64_t length;      // in bytes
  int first, last, needed;  // pieces that may be read; the last one that holds a byte of the line

  __device__ MisalignedLine(const PackArgs& args, std::int64_t layer, std::int64_t line)
      : from(args.from + (layer * args.from_layer + line * args.row_stride) * bytes),
        off(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(from) % 16)),
        length(args.k * bytes) {
    const std::int64_t before = line * args.row_stride * bytes,
                       behind = (args.lines - 1 - line) * args.row_stride * bytes;
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
__device__ __forceinline__ void realign_line(const PackPair& pair) {
  constexpr int count = RealignShape::pieces;
  const PackArgs& args = pair.here();
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t at = std::int64_t{blockIdx.y} * RealignShape::lines + warp;
  const int begin = static_cast<int>(blockIdx.x) * RealignShape::pieces_of_warp,
            pieces = static_cast<int>(args.to_step / 4);
  if (at >= args.lines || begin >= pieces) return;
  const MisalignedLine<bytes> line(args, pair.layer(), at);
  auto* const to = reinterpret_cast<uint4*>(args.to + pair.layer() * args.to_layer + at * args.to_step);
  // The loads are independent and unconditional.
  uint4 lo[count] = {}, hi[count] = {};
  if (line.first <= line.last) {
#pragma unroll
    for (int i = 0; i < count; ++i)
      lo[i] = line.piece(begin + lane + 32 * i), hi[i] = line.piece(begin + lane + 32 * i + 1);
  }
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const int piece = begin + lane + 32 * i;
    if (piece >= pieces) return;
    uint4 out = cut(lo[i], hi[i], line.off / 4, line.off % 4 * 8);
    const std::int64_t valid = line.length - std::int64_t{piece} * 16;
    if (valid < 16) out = first_bytes(out, valid);
    if (valid > 0 && !line.has(piece)) out = line.element_by_element(piece);
    to[piece] = out;
  }
}

template <int bytes>
__global__ void __launch_bounds__(RealignShape::threads) realign_copy(const __grid_constant__ PackPair pair) {
  with_pdl(pair.is_first, [&] { realign_line<bytes>(pair); });
}

// Copies with leading zeros: small, so their speed hardly counts. A thread writes 16 bytes.
struct CopyArgs {
  const unsigned char* from;
  std::int64_t k, row_stride;  // in elements
  std::int32_t lines, pieces;  // pieces of 16 bytes, per line of a copy
  uint4* to;
  RowAlignment alignment;
  bool is_first = true;
};

template <int bytes>
__global__ void __launch_bounds__(RealignShape::threads) make_copies(const __grid_constant__ CopyArgs args) {
  with_pdl(args.is_first, [&] {
    const std::int64_t at = std::int64_t{blockIdx.x} * RealignShape::threads + threadIdx.x;
    const auto line = static_cast<std::int32_t>(at / args.pieces);
    if (line >= args.lines) return;
    const auto piece = static_cast<std::int32_t>(at % args.pieces);
    const int copy = static_cast<int>(blockIdx.y);
    const unsigned char* const from = args.from + line * args.row_stride * bytes;
    const std::int64_t first = (std::int64_t{piece} * 16 - args.alignment.misalignment_bytes(copy)) / bytes;
    using Element = typename Bits<bytes>::Type;
    constexpr int each = 16 / bytes;
    Element of[each];
#pragma unroll
    for (int i = 0; i < each; ++i)
      of[i] = first + i >= 0 && first + i < args.k ? __ldg(reinterpret_cast<const Element*>(from) + first + i)
                                                   : Element{0};
    std::uint32_t word[4] = {};
#pragma unroll
    for (int i = 0; i < each; ++i) word[i * bytes / 4] |= std::uint32_t{of[i]} << (i * bytes % 4 * 8);
    args.to[copy * std::int64_t{args.lines} * args.pieces + at] = {word[0], word[1], word[2], word[3]};
  });
}

// Transpose copy: packs an operand whose lines are contiguous, or that has no contiguous dimension: 128 bytes
// of lines by 128 elements of k per block, transposed word by word in registers and as a whole through shared
// memory, whose words are swizzled against bank conflicts.

template <int bytes>
struct TransposeShape {
  static constexpr int threads = 256, warps = threads / 32;
  static constexpr int each = 4 / bytes;                      // elements per word
  static constexpr int lines = 32 * each, k = 128;            // extents of a block
  static constexpr int line_words = k / each;                 // words per line
  static constexpr int words = lines * line_words / threads;  // words per thread, all in flight at once
  static_assert(words == 16 && words % each == 0);
};

// `word[i]` holds element 0 … of step i of k; afterwards word[i] holds steps 0 … of element i.
template <int bytes>
__device__ __forceinline__ void transpose_words(std::uint32_t* word) {
  if constexpr (bytes == 2) {
    const std::uint32_t a = word[0], b = word[1];
    word[0] = __byte_perm(a, b, 0x5410);
    word[1] = __byte_perm(a, b, 0x7632);
  } else if constexpr (bytes == 1) {
    const std::uint32_t lower01 = __byte_perm(word[0], word[1], 0x5140),
                        high01 = __byte_perm(word[0], word[1], 0x7362),
                        lower23 = __byte_perm(word[2], word[3], 0x5140),
                        high23 = __byte_perm(word[2], word[3], 0x7362);
    word[0] = __byte_perm(lower01, lower23, 0x5410);
    word[1] = __byte_perm(lower01, lower23, 0x7632);
    word[2] = __byte_perm(high01, high23, 0x5410);
    word[3] = __byte_perm(high01, high23, 0x7632);
  }
}

// A block's part of an operand. The loads below have no branches, so that none waits for another.
template <int bytes>
struct TransposeTile {
  using Shape = TransposeShape<bytes>;
  const unsigned char* from;          // the part's first element
  std::int64_t k_stride, row_stride;  // in bytes
  int lines, k;                       // extents that exist
  bool ends_operand;                  // a word that begins in the part may end after the operand

  __device__ TransposeTile(const PackArgs& args, std::int64_t layer, std::int64_t first_line,
                           std::int64_t first_k)
      : from(args.from +
             (layer * args.from_layer + first_line * args.row_stride + first_k * args.k_stride) * bytes),
        k_stride(args.k_stride * bytes),
        row_stride(args.row_stride * bytes),
        lines(static_cast<int>(min(args.lines - first_line, std::int64_t{Shape::lines}))),
        k(static_cast<int>(min(max(args.k - first_k, std::int64_t{0}), std::int64_t{Shape::k}))),
        ends_operand(
            ((args.lines - first_line - lines) * args.row_stride + (args.k - first_k - k) * args.k_stride) *
                bytes <
            3) {}

  __device__ bool whole() const { return lines == Shape::lines && k == Shape::k; }
  __device__ bool aligned() const {
    return (reinterpret_cast<std::uintptr_t>(from) | static_cast<std::uintptr_t>(k_stride)) % 4 == 0;
  }

  // Step k of a thread's `i`-th word.
  __device__ static constexpr int step(int warp, int i) {
    return (warp + i / Shape::each * Shape::warps) * Shape::each + i % Shape::each;
  }

  // For a full part with aligned words.
  __device__ __forceinline__ void load_words(int warp, int lane, std::uint32_t (&word)[Shape::words]) const {
#pragma unroll
    for (int i = 0; i < Shape::words; ++i)
      word[i] = __ldg(reinterpret_cast<const std::uint32_t*>(from + step(warp, i) * k_stride) + lane);
  }

  // Extracts each word from the one or two aligned words that hold its bytes: no word is read that holds no
  // byte of the part. Steps beyond the last repeat it, and words beyond a step's last word repeat that one.
  template <bool is_whole>
  __device__ __forceinline__ void load_halves(int warp, int lane, std::uint32_t (&word)[Shape::words]) const {
    const auto first = reinterpret_cast<std::uintptr_t>(from);
    const auto address = [&](int i) {
      if constexpr (is_whole) return first + 4 * lane + step(warp, i) * k_stride;
      else return first + min(4 * lane, lines * bytes - 1) + min(step(warp, i), k - 1) * k_stride;
    };
    std::uint32_t hi[Shape::words];
#pragma unroll
    for (int i = 0; i < Shape::words; ++i) {
      const std::uintptr_t here = address(i),
                           row = here - (is_whole ? 4 * lane : min(4 * lane, lines * bytes - 1));
      const std::uintptr_t lo_word = here & ~std::uintptr_t{3}, next_word = (here + 3) & ~std::uintptr_t{3};
      word[i] = __ldg(reinterpret_cast<const std::uint32_t*>(lo_word));
      hi[i] = __ldg(reinterpret_cast<const std::uint32_t*>(
          is_whole ? next_word : min(next_word, (row + lines * bytes - 1) & ~std::uintptr_t{3})));
    }
#pragma unroll
    for (int i = 0; i < Shape::words; ++i)
      word[i] = __funnelshift_r(word[i], hi[i], static_cast<std::uint32_t>(address(i)) * 8 % 32);
  }

  // For any layout: lines beyond the last repeat it, too.
  __device__ __forceinline__ void load_elements(int warp, int lane,
                                                std::uint32_t (&word)[Shape::words]) const {
    using Element = typename Bits<bytes>::Type;
#pragma unroll
    for (int i = 0; i < Shape::words; ++i) {
      const unsigned char* const row = from + min(step(warp, i), k - 1) * k_stride;
      word[i] = 0;
#pragma unroll
      for (int j = 0; j < Shape::each; ++j)
        word[i] |= std::uint32_t{__ldg(reinterpret_cast<const Element*>(
                       row + min(lane * Shape::each + j, lines - 1) * row_stride))}
                   << (8 * bytes * j);
    }
  }

  __device__ __forceinline__ void load(int warp, int lane, std::uint32_t (&word)[Shape::words]) const {
    if (row_stride == bytes && whole() && aligned()) return load_words(warp, lane, word);
    if (k == 0) {  // the part lies between the operand's end and the end of a packed line
#pragma unroll
      for (int i = 0; i < Shape::words; ++i) word[i] = 0;
      return;
    }
    if (row_stride != bytes || ends_operand) load_elements(warp, lane, word);
    else if (whole()) return load_halves<true>(warp, lane, word);
    else load_halves<false>(warp, lane, word);
#pragma unroll
    for (int i = 0; i < Shape::words; ++i)
      if (step(warp, i) >= k) word[i] = 0;
  }
};

template <int bytes>
__device__ __forceinline__ void transpose_tile(const PackPair& pair) {
  using Shape = TransposeShape<bytes>;
  constexpr int each = Shape::each, line_words = Shape::line_words;
  __shared__ std::uint32_t tile[Shape::lines * line_words];
  const PackArgs& args = pair.here();
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t first_line = std::int64_t{blockIdx.y} * Shape::lines,
                     first_word = std::int64_t{blockIdx.x} * line_words;
  if (first_line >= args.lines || first_word >= args.to_step) return;
  const TransposeTile<bytes> source(args, pair.layer(), first_line, first_word * each);
  std::uint32_t word[Shape::words];
  source.load(warp, lane, word);
#pragma unroll
  for (int i = 0; i < Shape::words; i += each) {
    transpose_words<bytes>(word + i);
#pragma unroll
    for (int j = 0; j < each; ++j)
      tile[(lane * each + j) * line_words + ((warp + i / each * Shape::warps) ^ lane)] = word[i + j];
  }
  __syncthreads();
  std::uint32_t* const to = args.to + pair.layer() * args.to_layer + first_line * args.to_step + first_word;
  const int valid = static_cast<int>(min(args.to_step - first_word, std::int64_t{line_words}));
#pragma unroll
  for (int i = 0; i < Shape::lines / Shape::warps; ++i) {
    const int line = warp + i * Shape::warps;
#pragma unroll
    for (int j = lane; j < line_words; j += 32)
      if (line < source.lines && j < valid)
        to[line * args.to_step + j] = tile[line * line_words + (j ^ (line / each))];
  }
}

// The bounds leave registers for all words of a thread: the compiler would use half of them, and have half as
// many loads in flight.
template <int bytes>
__global__ void __launch_bounds__(TransposeShape<bytes>::threads, 4)
    transpose_copy(const __grid_constant__ PackPair pair) {
  with_pdl(pair.is_first, [&] { transpose_tile<bytes>(pair); });
}

}  // namespace tessera::matmul
