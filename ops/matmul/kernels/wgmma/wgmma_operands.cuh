// SPDX-License-Identifier: Apache-2.0
// A, B and C as the wgmma kernels access them: by the TMA in place or, if it cannot read an operand, from a
// packed copy.
#pragma once
#include <numeric>
#include <optional>
#include <utility>
#include "ops/matmul/kernels/wgmma/wgmma_args.cuh"
#include "ops/matmul/kernels/pack/pack_operands.cuh"
#include "tessera/core/device/device.hpp"
#include "tessera/core/array/rounding.hpp"
#include "tessera/cuda/tensor_map.hpp"

namespace tessera::matmul {

// An operand for the TMA: K-major (contiguous along k) or MN-major (contiguous along M or N).
struct TmaOperand {
  cuda::Matrix2D matrix;
  bool mn_major = false;
};

inline TmaOperand k_major_operand(const MatrixRef& f) { return {{f.data, f.rows, f.k, f.row_stride}, false}; }
inline TmaOperand mn_major_operand(const MatrixRef& f) { return {{f.data, f.k, f.rows, f.k_stride}, true}; }

// Returns the operand in place if the TMA can read it, MN-major only if there are kernels for that.
inline std::optional<TmaOperand> tma_operand(const MatrixRef& f, bool supports_mn_major) {
  if ((f.k_stride == 1 || f.k == 1) && cuda::has_tensor_map(k_major_operand(f).matrix, f.bytes))
    return k_major_operand(f);
  if (supports_mn_major && (f.row_stride == 1 || f.rows == 1) &&
      cuda::has_tensor_map(mn_major_operand(f).matrix, f.bytes))
    return mn_major_operand(f);
  return std::nullopt;
}

// Returns the alignment of all rows in bytes, at most 128. The stride of a single row does not count.
inline int alignment_of(const TmaOperand& x, int bytes) {
  const auto stride = static_cast<std::uintptr_t>(x.matrix.rows == 1 ? 0 : x.matrix.stride * bytes);
  return static_cast<int>(
      std::gcd(std::gcd(reinterpret_cast<std::uintptr_t>(x.matrix.data), stride), std::uintptr_t{128}));
}

// Returns `count` rows of A, or columns of B, from `first` on. Precondition: their byte offset is a multiple
// of 16, the alignment that the TMA requires.
inline TmaOperand sub_operand(const TmaOperand& whole, int bytes, std::int64_t first, std::int64_t count) {
  TmaOperand out = whole;
  const std::int64_t offset = whole.mn_major ? first : first * whole.matrix.stride;
  out.matrix.data = static_cast<const char*>(whole.matrix.data) + offset * bytes;
  (whole.mn_major ? out.matrix.cols : out.matrix.rows) = count;
  return out;
}

// Returns the rows of one alignment class: those with the same address modulo 16. The tensor map starts
// `lead` bytes before each row, at the 16-byte boundary; those bytes are arbitrary (zero_leading_elements()).
inline cuda::Matrix2D rows_of_class(const MatrixRef& f, const RowAlignment& alignment, int row_class) {
  const char* const from = static_cast<const char*>(f.data) + row_class * f.row_stride * f.bytes;
  const int lead = alignment.misalignment_bytes(row_class);
  return {from - lead, ceil_div(f.rows - row_class, std::int64_t{alignment.classes()}), f.k + lead / f.bytes,
          f.row_stride << alignment.class_bits};
}

// True if the TMA can read an operand with misaligned rows: it is K-major and has a row of each class.
inline bool supports_misaligned_rows(const MatrixRef& f) {
  if (f.k_stride != 1 || f.k == 0) return false;
  const RowAlignment alignment = row_alignment(f);
  const std::int64_t count = alignment.classes();
  if (count > RowAlignment::max_classes || f.rows < count) return false;
  const cuda::Matrix2D longest{nullptr, ceil_div(f.rows, count), f.k + 16 / f.bytes - 1,
                               f.row_stride << alignment.class_bits};
  return cuda::has_tensor_map(longest, f.bytes);
}

// The workspace: counters and partial sums of split-K, if there are any, then packed operands.
struct WorkspaceLayout {
  std::size_t split_k = 0, packed_a = 0, packed_b = 0;

  std::size_t bytes() const { return split_k + packed_a + packed_b; }
  std::size_t zeroed_bytes() const { return split_k == 0 ? 0 : counter_bytes; }
};

inline void pack_of(int bytes, std::initializer_list<Packing> all, cudaStream_t stream) {
  if (bytes == 1) pack<1>(all, stream);
  else if (bytes == 2) pack<2>(all, stream);
  else pack<4>(all, stream);
}

// Returns both operands, in place if the TMA can read them, else packed to the workspace. An operand for
// which the plan has a packed copy is packed even if the TMA could read it at this address: the tile was
// chosen for a packed operand.
inline std::pair<TmaOperand, TmaOperand> tma_operands(const MatrixRef& ref_a, const MatrixRef& ref_b,
                                                      bool supports_mn_major, const WorkspaceLayout& layout,
                                                      Run& run) {
  char* const to_a = static_cast<char*>(run.workspace) + layout.split_k;
  char* const to_b = to_a + layout.packed_a;
  const auto stream = static_cast<cudaStream_t>(run.stream);
  const auto packed = [](const MatrixRef& f, const void* data) -> TmaOperand {
    return {{data, f.rows, f.k, packed_step(f)}, false};
  };
  const auto direct = [&](const MatrixRef& f, std::size_t packed_bytes) {
    return packed_bytes != 0 ? std::nullopt : tma_operand(f, supports_mn_major);
  };
  const std::optional<TmaOperand> a = direct(ref_a, layout.packed_a), b = direct(ref_b, layout.packed_b);
  if (!a && !b) pack_of(ref_a.bytes, {{ref_a, to_a}, {ref_b, to_b}}, stream);
  else if (!a) pack_of(ref_a.bytes, {{ref_a, to_a}}, stream);
  else if (!b) pack_of(ref_b.bytes, {{ref_b, to_b}}, stream);
  return {a ? *a : packed(ref_a, to_a), b ? *b : packed(ref_b, to_b)};
}

inline cuda::Matrix2D output_matrix(const WgmmaArgs& args) {
  return {args.c_data, args.m, args.n, args.c_stride};
}

inline bool use_staged_scalar_epilogue(const WgmmaArgs& args) {
  return args.epilogue.is_scalar_only() && size_of(args.c_element) > 1;
}

// True if the TMA may store C. Rows must be multiples of 16 bytes: see ptx::tma_store().
inline bool can_tma_store(const WgmmaArgs& args) {
  const auto bytes = static_cast<int>(size_of(args.c_element));
  return use_staged_scalar_epilogue(args) && cuda::has_tensor_map(output_matrix(args), bytes) &&
         args.n * bytes % 16 == 0;
}

}  // namespace tessera::matmul
