// SPDX-License-Identifier: Apache-2.0
// Tensor maps for the TMA: the layout of a matrix in device memory, and its boxes.
#pragma once
#include <cuda.h>
#include <cstdint>
#include "tessera/core/operation/variant.hpp"

namespace tessera::cuda {

// Returns the reason why no map can be made on this machine; std::nullopt: it can.
Reason no_tensor_maps();

// Rows of contiguous elements, `stride` elements apart.
struct Matrix2D {
  const void* data = nullptr;
  std::int64_t rows = 0, cols = 0, stride = 0;
};

// True if the TMA can copy from and to this matrix: addresses and strides are multiples of 16 bytes.
bool has_tensor_map(const Matrix2D& matrix, int element_bytes);

// Returns a map whose box has `box_rows` rows (256 at most) and 128 bytes of each, swizzled. Throws Error for
// a matrix that has no map.
CUtensorMap tensor_map(const Matrix2D& matrix, CUtensorMapDataType type, int element_bytes, int box_rows);

// Matrices of the same shape, `stride` elements apart.
struct Layers {
  Matrix2D matrix;
  std::int64_t count = 1, stride = 0;
};
bool has_tensor_map(const Layers& layers, int element_bytes);
CUtensorMap tensor_map(const Layers& layers, CUtensorMapDataType type, int element_bytes, int box_rows);

}  // namespace tessera::cuda
