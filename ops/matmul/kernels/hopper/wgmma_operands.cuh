// SPDX-License-Identifier: Apache-2.0
// A, B and C as the wgmma kernels access them: by the TMA in place or, if it cannot read an operand, from a
// packed copy.
#pragma once
#include <optional>
#include <utility>
#include "ops/matmul/kernels/hopper/wgmma_args.cuh"
#include "ops/matmul/kernels/pack_operands.cuh"
#include "tessera/core/device.hpp"
#include "tessera/core/rounding.hpp"
#include "tessera/cuda/tensor_map.hpp"

namespace tessera::matmul {

// An operand for the TMA: K-major (contiguous along k) or MN-major (contiguous along M or N).
struct TmaOperand {
  cuda::Lines lines;
  bool mn_major = false;
};

inline TmaOperand along_k(const MatrixRef& f) { return {{f.data, f.lines, f.k, f.line_step}, false}; }
inline TmaOperand along_lines(const MatrixRef& f) { return {{f.data, f.k, f.lines, f.k_step}, true}; }

// The operand in place, if the TMA can read it. supports_mn_major: there is a kernel for MN-major operands.
inline std::optional<TmaOperand> tma_operand(const MatrixRef& f, bool supports_mn_major) {
  if ((f.k_step == 1 || f.k == 1) && cuda::has_tensor_map(along_k(f).lines, f.bytes)) return along_k(f);
  if (supports_mn_major && (f.line_step == 1 || f.lines == 1) &&
      cuda::has_tensor_map(along_lines(f).lines, f.bytes))
    return along_lines(f);
  return std::nullopt;
}

// The cache lines that 128 bytes of a line touch: 1 if lines begin at multiples of 128 bytes, else 2.
inline int cache_lines(const TmaOperand& x, int bytes) {
  return reinterpret_cast<std::uintptr_t>(x.lines.data) % 128 == 0 && x.lines.stride * bytes % 128 == 0 ? 1
                                                                                                        : 2;
}

// Returns `count` lines from `first` on. Cuts are multiples of 16 bytes, so the TMA can read what it could
// read before.
inline TmaOperand lines_of(const TmaOperand& whole, int bytes, std::int64_t first, std::int64_t count) {
  TmaOperand out = whole;
  const std::int64_t offset = whole.mn_major ? first : first * whole.lines.stride;
  out.lines.data = static_cast<const char*>(whole.lines.data) + offset * bytes;
  (whole.mn_major ? out.lines.length : out.lines.count) = count;
  return out;
}

// The rows of one class. The tensor map starts `lead` bytes before each row, at the 16-byte boundary; those
// bytes are arbitrary (zero_leading_elements()).
inline cuda::Lines lines_of_remainder(const MatrixRef& f, const LeadingZeros& zeros, int remainder) {
  const char* const from = static_cast<const char*>(f.data) + remainder * f.line_step * f.bytes;
  const int lead = zeros.of(remainder);
  return {from - lead, ceil_div(f.lines - remainder, std::int64_t{zeros.count()}), f.k + lead / f.bytes,
          f.line_step << zeros.bits};
}

// True if the TMA can read an operand with misaligned rows: it is K-major and has a row of each class.
inline bool supports_misaligned_rows(const MatrixRef& f) {
  if (f.k_step != 1 || f.k == 0) return false;
  const LeadingZeros zeros = leading_zeros(f);
  const std::int64_t count = zeros.count();
  if (count > LeadingZeros::most || f.lines < count) return false;
  const cuda::Lines longest{nullptr, ceil_div(f.lines, count), f.k + 16 / f.bytes - 1,
                            f.line_step << zeros.bits};
  return cuda::has_tensor_map(longest, f.bytes);
}

// The workspace: counters and partial sums of split-K, if there are any, then packed operands.
struct WorkspaceLayout {
  std::size_t split_k = 0, packed_a = 0, packed_b = 0;

  std::size_t bytes() const { return split_k + packed_a + packed_b; }
  std::size_t zeros() const { return split_k == 0 ? 0 : counter_bytes; }
};

inline void pack_of(int bytes, std::initializer_list<Packing> all, cudaStream_t stream) {
  if (bytes == 1) pack<1>(all, stream);
  else if (bytes == 2) pack<2>(all, stream);
  else pack<4>(all, stream);
}

// Both operands, in place if possible, else packed to the workspace. An operand that was planned to be packed
// is, though another address might not need it: the tile was chosen for that.
inline std::pair<TmaOperand, TmaOperand> tma_operands(const MatrixRef& of_a, const MatrixRef& of_b,
                                                      bool supports_mn_major, const WorkspaceLayout& layout,
                                                      Run& run) {
  char* const to_a = static_cast<char*>(run.workspace) + layout.split_k;
  char* const to_b = to_a + layout.packed_a;
  const auto stream = static_cast<cudaStream_t>(run.stream);
  const auto packed = [](const MatrixRef& f, const void* data) -> TmaOperand {
    return {{data, f.lines, f.k, packed_step(f)}, false};
  };
  const auto direct = [&](const MatrixRef& f, std::size_t packed_bytes) {
    return packed_bytes != 0 ? std::nullopt : tma_operand(f, supports_mn_major);
  };
  const std::optional<TmaOperand> a = direct(of_a, layout.packed_a), b = direct(of_b, layout.packed_b);
  if (!a && !b) pack_of(of_a.bytes, {{of_a, to_a}, {of_b, to_b}}, stream);
  else if (!a) pack_of(of_a.bytes, {{of_a, to_a}}, stream);
  else if (!b) pack_of(of_b.bytes, {{of_b, to_b}}, stream);
  return {a ? *a : packed(of_a, to_a), b ? *b : packed(of_b, to_b)};
}

inline cuda::Lines result_lines(const WgmmaArgs& args) { return {args.out, args.m, args.n, args.out_row}; }

inline bool is_plain(const WgmmaArgs& args) { return args.epilogue.plain() && size_of(args.out_element) > 1; }

// True if the TMA may store C. Rows must be multiples of 16 bytes: see ptx::tma_store().
inline bool can_tma_store(const WgmmaArgs& args) {
  const auto bytes = static_cast<int>(size_of(args.out_element));
  return is_plain(args) && cuda::has_tensor_map(result_lines(args), bytes) && args.n * bytes % 16 == 0;
}

}  // namespace tessera::matmul
