// SPDX-License-Identifier: Apache-2.0
// Packing where lines are contiguous, or nothing is: 128 bytes of lines by 128 elements of k a block, turned
// word by word in registers and as a whole by way of shared memory, whose words are moved so that nobody
// meets on a bank.
#pragma once
#include "tensor_packing.cuh"

namespace tessera::matmul {

template <int bytes>
struct TurnShape {
  static constexpr int threads = 256, warps = threads / 32;
  static constexpr int each = 4 / bytes;            // elements of a word
  static constexpr int lines = 32 * each, k = 128;  // of a block
  static constexpr int line_words = k / each;       // of a line
  static constexpr int words =
      lines * line_words / threads;  // of a thread, all on their way at the same time
  static_assert(words == 16 && words % each == 0);
};

// `word[i]` holds element 0 … of step i of k; afterwards word[i] holds steps 0 … of element i.
template <int bytes>
__device__ __forceinline__ void turn(std::uint32_t* word) {
  if constexpr (bytes == 2) {
    const std::uint32_t a = word[0], b = word[1];
    word[0] = __byte_perm(a, b, 0x5410);
    word[1] = __byte_perm(a, b, 0x7632);
  } else if constexpr (bytes == 1) {
    const std::uint32_t low01 = __byte_perm(word[0], word[1], 0x5140),
                        high01 = __byte_perm(word[0], word[1], 0x7362),
                        low23 = __byte_perm(word[2], word[3], 0x5140),
                        high23 = __byte_perm(word[2], word[3], 0x7362);
    word[0] = __byte_perm(low01, low23, 0x5410);
    word[1] = __byte_perm(low01, low23, 0x7632);
    word[2] = __byte_perm(high01, high23, 0x5410);
    word[3] = __byte_perm(high01, high23, 0x7632);
  }
}

// A block's part of an operand. What follows has no branch in it: no load waits for another.
template <int bytes>
struct TurnedPart {
  using Shape = TurnShape<bytes>;
  const unsigned char* from;       // the part's first element
  std::int64_t k_step, line_step;  // in bytes
  int lines, k;                    // that are there
  bool ends_operand;               // a word that begins in the part may end behind the operand

  __device__ TurnedPart(const PackArgs& args, std::int64_t layer, std::int64_t first_line,
                        std::int64_t first_k)
      : from(args.from +
             (layer * args.from_layer + first_line * args.line_step + first_k * args.k_step) * bytes),
        k_step(args.k_step * bytes),
        line_step(args.line_step * bytes),
        lines(static_cast<int>(min(args.lines - first_line, std::int64_t{Shape::lines}))),
        k(static_cast<int>(min(max(args.k - first_k, std::int64_t{0}), std::int64_t{Shape::k}))),
        ends_operand(
            ((args.lines - first_line - lines) * args.line_step + (args.k - first_k - k) * args.k_step) *
                bytes <
            3) {}

  __device__ bool whole() const { return lines == Shape::lines && k == Shape::k; }
  __device__ bool aligned() const {
    return (reinterpret_cast<std::uintptr_t>(from) | static_cast<std::uintptr_t>(k_step)) % 4 == 0;
  }

  // Step k of a thread's `i`-th word.
  __device__ static constexpr int step(int warp, int i) {
    return (warp + i / Shape::each * Shape::warps) * Shape::each + i % Shape::each;
  }

  // Of a whole part whose words are aligned.
  __device__ __forceinline__ void load_words(int warp, int lane, std::uint32_t (&word)[Shape::words]) const {
#pragma unroll
    for (int i = 0; i < Shape::words; ++i)
      word[i] = __ldg(reinterpret_cast<const std::uint32_t*>(from + step(warp, i) * k_step) + lane);
  }

  // Each word is cut from the two aligned ones that hold its bytes, or the one: none is read that holds no
  // byte of the part. Steps beyond the last are the last one's, words beyond a step's last one that one.
  template <bool is_whole>
  __device__ __forceinline__ void load_halves(int warp, int lane, std::uint32_t (&word)[Shape::words]) const {
    const auto first = reinterpret_cast<std::uintptr_t>(from);
    const auto address = [&](int i) {
      if constexpr (is_whole) return first + 4 * lane + step(warp, i) * k_step;
      else return first + min(4 * lane, lines * bytes - 1) + min(step(warp, i), k - 1) * k_step;
    };
    std::uint32_t high[Shape::words];
#pragma unroll
    for (int i = 0; i < Shape::words; ++i) {
      const std::uintptr_t here = address(i),
                           row = here - (is_whole ? 4 * lane : min(4 * lane, lines * bytes - 1));
      const std::uintptr_t low_word = here & ~std::uintptr_t{3}, next_word = (here + 3) & ~std::uintptr_t{3};
      word[i] = __ldg(reinterpret_cast<const std::uint32_t*>(low_word));
      high[i] = __ldg(reinterpret_cast<const std::uint32_t*>(
          is_whole ? next_word : min(next_word, (row + lines * bytes - 1) & ~std::uintptr_t{3})));
    }
#pragma unroll
    for (int i = 0; i < Shape::words; ++i)
      word[i] = __funnelshift_r(word[i], high[i], static_cast<std::uint32_t>(address(i)) * 8 % 32);
  }

  // Of anything: lines beyond the last are the last one's, too.
  __device__ __forceinline__ void load_elements(int warp, int lane,
                                                std::uint32_t (&word)[Shape::words]) const {
    using Element = typename Bits<bytes>::Type;
#pragma unroll
    for (int i = 0; i < Shape::words; ++i) {
      const unsigned char* const row = from + min(step(warp, i), k - 1) * k_step;
      word[i] = 0;
#pragma unroll
      for (int j = 0; j < Shape::each; ++j)
        word[i] |= std::uint32_t{__ldg(reinterpret_cast<const Element*>(
                       row + min(lane * Shape::each + j, lines - 1) * line_step))}
                   << (8 * bytes * j);
    }
  }

  __device__ __forceinline__ void load(int warp, int lane, std::uint32_t (&word)[Shape::words]) const {
    if (line_step == bytes && whole() && aligned()) return load_words(warp, lane, word);
    if (k == 0) {  // all of it lies between the operand's end and a packed line's
#pragma unroll
      for (int i = 0; i < Shape::words; ++i) word[i] = 0;
      return;
    }
    if (line_step != bytes || ends_operand) load_elements(warp, lane, word);
    else if (whole()) return load_halves<true>(warp, lane, word);
    else load_halves<false>(warp, lane, word);
#pragma unroll
    for (int i = 0; i < Shape::words; ++i)
      if (step(warp, i) >= k) word[i] = 0;
  }
};

template <int bytes>
__device__ __forceinline__ void turn_part(const PackPair& pair) {
  using Shape = TurnShape<bytes>;
  constexpr int each = Shape::each, line_words = Shape::line_words;
  __shared__ std::uint32_t tile[Shape::lines * line_words];
  const PackArgs& args = pair.here();
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t first_line = std::int64_t{blockIdx.y} * Shape::lines,
                     first_word = std::int64_t{blockIdx.x} * line_words;
  if (first_line >= args.lines || first_word >= args.to_step) return;
  const TurnedPart<bytes> part(args, pair.layer(), first_line, first_word * each);
  std::uint32_t word[Shape::words];
  part.load(warp, lane, word);
#pragma unroll
  for (int i = 0; i < Shape::words; i += each) {
    turn<bytes>(word + i);
#pragma unroll
    for (int j = 0; j < each; ++j)
      tile[(lane * each + j) * line_words + ((warp + i / each * Shape::warps) ^ lane)] = word[i + j];
  }
  __syncthreads();
  std::uint32_t* const to = args.to + pair.layer() * args.to_layer + first_line * args.to_step + first_word;
  const int there = static_cast<int>(min(args.to_step - first_word, std::int64_t{line_words}));
#pragma unroll
  for (int i = 0; i < Shape::lines / Shape::warps; ++i) {
    const int line = warp + i * Shape::warps;
#pragma unroll
    for (int j = lane; j < line_words; j += 32)
      if (line < part.lines && j < there)
        to[line * args.to_step + j] = tile[line * line_words + (j ^ (line / each))];
  }
}

// Registers for all words of a thread: the compiler would do with half of them, and have half as many loads
// on their way.
template <int bytes>
__global__ void __launch_bounds__(TurnShape<bytes>::threads, 4)
    turn_lines(const __grid_constant__ PackPair pair) {
  beside_kernel_before([&] { turn_part<bytes>(pair); });
}

}  // namespace tessera::matmul
