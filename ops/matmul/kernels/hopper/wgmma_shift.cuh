// SPDX-License-Identifier: Apache-2.0
// How threads bring operands whose lines along k begin at any address, which the TMA cannot read. The aligned
// pieces of 16 bytes that hold a stage come asynchronously into a ring of their own; from there each line is
// shifted to where the tensor cores read it. A warp brings and shifts its own lines: of each sixteen, four.
#pragma once
#include "ops/matmul/kernels/hopper/wgmma_args.cuh"
#include "tessera/cuda/ptx/cp_async.cuh"
#include "tessera/cuda/ptx/tma.cuh"
#include "tessera/cuda/ptx/wgmma.cuh"

namespace tessera::matmul {

// An operand's lines in a tile of so many. One warp of four instructs a scheduler here: what it waits for it
// asks for early, and much of it at once.
template <class Kind, int lines>
class LineShifter {
  static constexpr int together = 16, own = 4;  // lines that the warps bring at once, and one of them
  static constexpr int pieces = 8;              // of 128 bytes: a line that is shifted needs part of a ninth
  static constexpr int batch = 4;               // shifted at once: of each of its own four lines
  static_assert(lines % (together * batch) == 0 && raw_line_bytes == (pieces + 1) * 16);

 public:
  // `line`: the tile's first; `stage`: the first that is brought; `bytes`: of a line.
  __device__ __forceinline__ LineShifter(const LooseLines& x, std::int64_t bytes, int line, int stage)
      : step_(x.step * together),
        left_(bytes - std::int64_t{stage} * 128),
        valid_(static_cast<int>(min(x.lines - line, std::int64_t{lines}))) {
    const unsigned char* const begin = x.data + line * x.step + std::int64_t{stage} * 128;
#pragma unroll
    for (int j = 0; j < own; ++j) {
      const int off = offset(begin + (own * warp() + j) * x.step);
      word_[j] = (own * warp() + j) * raw_line_bytes + (off / 4 + lane()) * 4;
      bits_[j] = off % 4 * 8;
    }
    from_ = begin + line_of() * x.step;
    off_ = offset(from_);
    from_ += piece_of() * 16 - off_;
    ninth_from_ = begin + ninth_line_of() * x.step;
    ninth_off_ = offset(ninth_from_);
    ninth_from_ += 128 - ninth_off_;
  }

  // Asks for the next stage's pieces. What lies behind the end of a line becomes 0.
  __device__ __forceinline__ void copy(unsigned char* raw) {
    const int left = static_cast<int>(min(left_, std::int64_t{256}));
    // Bytes that exist from this piece on. Where there are none, an address that does.
    const int there = off_ + left - piece_of() * 16, ninth_there = ninth_off_ + left - 128;
    const unsigned char* from = from_ + min(0, (there - 1) & ~15);
    const int count = whole(there);
#pragma unroll
    for (int i = 0; i < lines; i += together, from += step_)
      if (line_of() + i < valid_)
        ptx::copy_async<16>(raw + (line_of() + i) * raw_line_bytes + piece_of() * 16, from, count);
    if (ninth_off_ != 0 && ninth_line_of() < valid_)
      ptx::copy_async<16>(raw + ninth_line_of() * raw_line_bytes + 128,
                          ninth_from_ + min(0, (ninth_there - 1) & ~15), whole(ninth_there));
    from_ += 128;
    ninth_from_ += 128;
    left_ -= 128;
  }

  // From there to the panel that the tensor cores read, in its order.
  __device__ __forceinline__ void shift(const unsigned char* raw, unsigned char* panel) const {
#pragma unroll
    for (int i = 0; i < lines; i += together * batch)
      if (i < valid_) shift_some(raw + i * raw_line_bytes, panel + i * 128);
  }

 private:
  __device__ __forceinline__ void shift_some(const unsigned char* raw, unsigned char* panel) const {
    std::uint32_t low[own][batch], high[own][batch] = {};
#pragma unroll
    for (int j = 0; j < own; ++j)
#pragma unroll
      for (int q = 0; q < batch; ++q) {
        const auto* const from =
            reinterpret_cast<const std::uint32_t*>(raw + word_[j] + q * together * raw_line_bytes);
        low[j][q] = from[0];
        if (Kind::bytes < 4) high[j][q] = from[1];
      }
#pragma unroll
    for (int j = 0; j < own; ++j) {
      const int line = own * warp() + j;
      unsigned char* const to = panel + line * 128 + (lane() / 4 ^ line % 8) * 16 + lane() % 4 * 4;
#pragma unroll
      for (int q = 0; q < batch; ++q)
        *reinterpret_cast<std::uint32_t*>(to + q * together * 128) =
            Kind::bytes == 4 ? ptx::rounded_to_tf32(low[j][q])
                             : __funnelshift_r(low[j][q], high[j][q], bits_[j]);
    }
  }

  __device__ static __forceinline__ int warp() { return static_cast<int>(threadIdx.x) / 32; }
  __device__ static __forceinline__ int lane() { return static_cast<int>(threadIdx.x) % 32; }
  __device__ static __forceinline__ int piece_of() { return lane() % pieces; }
  // The first line of which this lane brings a piece, and the one of which it brings the ninth.
  __device__ static __forceinline__ int line_of() { return own * warp() + lane() / pieces; }
  __device__ static __forceinline__ int ninth_line_of() {
    return lane() / own * together + own * warp() + lane() % own;
  }
  __device__ static __forceinline__ int offset(const unsigned char* from) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(from) & 15);
  }
  __device__ static __forceinline__ int whole(int there) { return max(0, min(16, there)); }

  const unsigned char *from_, *ninth_from_;
  std::int64_t step_, left_;  // bytes: to the line that comes next, and of a line from the next stage on
  int valid_;                 // lines that exist
  int off_, ninth_off_;
  int word_[own], bits_[own];  // of this lane in its warp's first lines: where, and what is before it there
};

}  // namespace tessera::matmul
