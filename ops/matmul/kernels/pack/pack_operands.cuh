// SPDX-License-Identifier: Apache-2.0
// Operands that the TMA cannot read in place, packed to K-major copies that it can.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <initializer_list>
#include "ops/matmul/kernels/pack/matrix_ref.hpp"

namespace tessera::matmul {

// Returns the packed operand's row stride in elements, and its bytes. Rows begin at multiples of 16 bytes, as
// the TMA requires; long rows at multiples of 128, so that the 128 bytes of each row in a box are one cache
// line.
std::int64_t packed_step(const MatrixRef& f);
std::size_t packed_bytes(const MatrixRef& f);

struct Packing {
  MatrixRef from;
  void* to;
  std::int64_t from_layer =
      0;  // elements from one operand of a batch to the next; packed copies are packed_bytes apart
};

// For elements of 1, 2 or 4 bytes; packed lines are 0 beyond k.
template <int bytes>
void pack(std::initializer_list<Packing> all, cudaStream_t stream, std::int64_t layers = 1);

// Returns the copies of a small operand, one for each class of rows, stored consecutively as one operand; k
// includes the longest run of leading zeros.
MatrixRef copies_of(const MatrixRef& f, const RowAlignment& alignment);
// Requires f.k_stride = 1. `to`: packed_bytes(copies_of(f, zeros)).
void pack_copies(const MatrixRef& f, const RowAlignment& alignment, void* to, cudaStream_t stream);

}  // namespace tessera::matmul
