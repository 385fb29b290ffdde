// SPDX-License-Identifier: Apache-2.0
// Operands that the TMA cannot read as they lie, copied to lines along k that it can.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <initializer_list>
#include "ops/matmul/kernels/matrix_ref.hpp"

namespace tessera::matmul {

// To where: from a line to the next, in elements, and all lines' bytes. Lines begin at multiples of 16 bytes,
// which the TMA asks for; long ones at multiples of 128, so that the 128 bytes that it copies of each
// are one line of the caches.
std::int64_t packed_step(const MatrixRef& f);
std::size_t packed_bytes(const MatrixRef& f);

struct Packing {
  MatrixRef from;
  void* to;
  std::int64_t from_layer =
      0;  // elements from one operand of a batch to the next; packed_bytes apart at the other end
};

// Elements of 1, 2 or 4 bytes; what is beyond k in a packed line is 0.
template <int bytes>
void pack(std::initializer_list<Packing> all, cudaStream_t stream, std::int64_t layers = 1);

// All copies of a small operand, one after another, as one: k is the longest that any large operand asks for.
MatrixRef copies_of(const MatrixRef& f, const RowAlignment& alignment);
// f.k_stride is 1. `to`: packed_bytes(copies_of(f, zeros)).
void pack_copies(const MatrixRef& f, const RowAlignment& alignment, void* to, cudaStream_t stream);

}  // namespace tessera::matmul
