// SPDX-License-Identifier: Apache-2.0
// How threads bring operands whose lines along k begin at any address, which the TMA cannot read. One
// warpgroup asks for the aligned pieces of 16 bytes that hold a stage, without waiting, into a ring of their
// own; another shifts each line from there to where the tensor cores read it. Each warp has four of sixteen
// lines.
#pragma once
#include <cstdint>
#include <type_traits>
#include "ops/matmul/kernels/hopper/wgmma_args.cuh"
#include "tessera/cuda/ptx/cp_async.cuh"
#include "tessera/cuda/ptx/tma.cuh"
#include "tessera/cuda/ptx/wgmma.cuh"

namespace tessera::matmul {

struct ShiftedLines {
  static constexpr int round = 16, own = 4;  // lines that the warps have at once, and one of them
  static constexpr int pieces = 8;           // of 128 bytes: a line that is shifted needs part of a ninth
  static_assert(raw_line_bytes == (pieces + 1) * 16);

  __device__ static __forceinline__ int first_line() {
    return static_cast<int>(threadIdx.x) % 128 / 32 * own;
  }
  __device__ static __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % 32; }
  // Bytes from an aligned address.
  __device__ static __forceinline__ int offset(const unsigned char* from) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(from) & 15);
  }
  // Where a tile's line `line` is, from a stage on; how many of `lines` there are.
  __device__ static __forceinline__ const unsigned char* begin(const LooseLines& x, int line, int stage) {
    return x.data + line * x.step + std::int64_t{stage} * 128;
  }
  __device__ static __forceinline__ int valid(const LooseLines& x, int line, int lines) {
    return static_cast<int>(min(x.lines - line, std::int64_t{lines}));
  }
};

// An operand's lines in a tile of so many, from line `line` on. A copy may touch all 16 bytes of a piece,
// whatever it leaves out: those that reach beyond the operand are read element by element.
template <class Kind, int lines>
class LineCopier : ShiftedLines {
 public:
  // `stage`: the first that is brought; `bytes`: of a line.
  __device__ __forceinline__ LineCopier(const LooseLines& x, std::int64_t bytes, int line, int stage)
      : step_(x.step * round),
        left_(bytes - std::int64_t{stage} * 128),
        valid_(valid(x, line, lines)),
        last_(x.lines - line <= lines ? valid_ - 1 : -1) {
    from_ = begin(x, line, stage) + own_line() * x.step;
    off_ = offset(from_);
    from_ += piece() * 16 - off_;
    ninth_from_ = begin(x, line, stage) + ninth_line() * x.step;
    ninth_off_ = offset(ninth_from_);
    ninth_from_ += 128 - ninth_off_;
    before_ = line == 0 && stage == 0 && own_line() == 0 && piece() == 0 ? off_ : 0;
  }

  // Asks for the next stage's pieces. What lies behind the end of a line becomes 0.
  __device__ __forceinline__ void copy(unsigned char* raw) {
    const int left = static_cast<int>(min(left_, std::int64_t{256}));
    copy_pieces<lines>(raw + own_line() * raw_line_bytes + piece() * 16, from_, off_ + left - piece() * 16,
                       own_line(), before_);
    if (ninth_off_ != 0)
      copy_pieces<1>(raw + ninth_line() * raw_line_bytes + 128, ninth_from_, ninth_off_ + left - 128,
                     ninth_line(), 0);
    from_ += 128;
    ninth_from_ += 128;
    left_ -= 128;
    before_ = 0;
  }

 private:
  // Of a line, and of those below it. `there`: bytes of the line from there on; where there are none, an
  // address is given that may be read. `before`: bytes of the first piece that lie before the operand.
  template <int high>
  __device__ __forceinline__ void copy_pieces(unsigned char* to, const unsigned char* from, int there,
                                              int line, int before) const {
    const int count = max(0, min(16, there));
    from += min(0, (there - 1) & ~15);
    // Which pieces are read by elements: the first line's, and the operand's last line's.
    const bool first = before > 0, last = count < 16 && last_ >= line && (last_ - line) % round == 0;
    const int at = last ? last_ - line : -1;
    const unsigned char* below = from;
#pragma unroll
    for (int i = 0; i < high; i += round, below += step_)
      if (line + i < valid_ && i != at && !(i == 0 && first))
        ptx::copy_async<16>(to + i * raw_line_bytes, below, count);
    if (first) copy_elements(to, from, before, count);
    if (last && at < high && !(at == 0 && first))
      copy_elements(to + at * raw_line_bytes, from + at / round * step_, 0, count);
  }
  __device__ static __forceinline__ void copy_elements(unsigned char* to, const unsigned char* from,
                                                       int first, int end) {
    using Word = std::conditional_t<Kind::bytes == 2, std::uint16_t, std::uint32_t>;
#pragma unroll 1
    for (int i = 0; i < 16; i += Kind::bytes)
      *reinterpret_cast<Word*>(to + i) =
          i >= first && i < end ? *reinterpret_cast<const Word*>(from + i) : Word{0};
    __threadfence_block();  // who is told that the copies have come shall see this, too
  }
  __device__ static __forceinline__ int piece() { return lane() % pieces; }
  // The first line of which this lane brings a piece, and the one of which it brings the ninth.
  __device__ static __forceinline__ int own_line() { return first_line() + lane() / pieces; }
  __device__ static __forceinline__ int ninth_line() {
    return lane() / own * round + first_line() + lane() % own;
  }

  const unsigned char *from_, *ninth_from_;
  std::int64_t step_, left_;  // bytes: to the line that comes next, and of a line from the next stage on
  int valid_, last_;          // lines that exist, and the operand's last one; -1: it is in another tile
  int off_, ninth_off_, before_;
};

// From raw lines to the panel that the tensor cores read, in its order.
template <class Kind, int lines>
class LineShifter : ShiftedLines {
  static constexpr int batch = 4;  // of each of a warp's four lines: as much at once as registers hold
  static_assert(lines % (round * batch) == 0);

 public:
  __device__ __forceinline__ LineShifter(const LooseLines& x, int line, int stage)
      : valid_(valid(x, line, lines)) {
#pragma unroll
    for (int j = 0; j < own; ++j) {
      const int off = offset(begin(x, line + first_line() + j, stage));
      word_[j] = (first_line() + j) * raw_line_bytes + (off / 4 + lane()) * 4;
      bits_[j] = off % 4 * 8;
    }
  }

  __device__ __forceinline__ void shift(const unsigned char* raw, unsigned char* panel) const {
#pragma unroll
    for (int i = 0; i < lines; i += round * batch)
      if (i < valid_) shift_some(raw + i * raw_line_bytes, panel + i * 128);
  }

 private:
  __device__ __forceinline__ void shift_some(const unsigned char* raw, unsigned char* panel) const {
    std::uint32_t word[own][batch], next[own][batch] = {};
#pragma unroll
    for (int j = 0; j < own; ++j)
#pragma unroll
      for (int q = 0; q < batch; ++q) {
        const auto* const from =
            reinterpret_cast<const std::uint32_t*>(raw + word_[j] + q * round * raw_line_bytes);
        word[j][q] = from[0];
        if (Kind::bytes < 4) next[j][q] = from[1];
      }
#pragma unroll
    for (int j = 0; j < own; ++j) {
      const int line = first_line() + j;
      unsigned char* const to = panel + line * 128 + (lane() / 4 ^ line % 8) * 16 + lane() % 4 * 4;
#pragma unroll
      for (int q = 0; q < batch; ++q)
        *reinterpret_cast<std::uint32_t*>(to + q * round * 128) =
            Kind::bytes == 4 ? ptx::rounded_to_tf32(word[j][q])
                             : __funnelshift_r(word[j][q], next[j][q], bits_[j]);
    }
  }

  int valid_;                  // lines that exist
  int word_[own], bits_[own];  // of this lane in its warp's first lines: where, and what is before it there
};

}  // namespace tessera::matmul
