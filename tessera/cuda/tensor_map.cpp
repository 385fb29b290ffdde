// SPDX-License-Identifier: Apache-2.0
#include "tessera/cuda/tensor_map.hpp"
#include <algorithm>
#include <string>
#include "tessera/core/text/error.hpp"
#include "tessera/cuda/resources.hpp"

namespace tessera::cuda {
namespace {

using Encode = decltype(&cuTensorMapEncodeTiled);

struct Driver {
  Encode encode = nullptr;
  std::string absent;

  Driver() {
    constexpr unsigned since = 12000;
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    const cudaError_t status = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, since,
                                                                cudaEnableDefault, &found);
    if (status == cudaSuccess && found == cudaDriverEntryPointSuccess)
      encode = reinterpret_cast<Encode>(function);
    else absent = "the driver has no cuTensorMapEncodeTiled";
    (void)cudaGetLastError();
  }
};

const Driver& driver() {
  static const Driver known;
  return known;
}

}  // namespace

Reason no_tensor_maps() { return driver().absent.empty() ? Reason() : driver().absent; }

bool has_tensor_map(const Matrix2D& matrix, int element_bytes) {
  constexpr std::int64_t max_stride = std::int64_t{1} << 40, max_extent = std::int64_t{1} << 31;
  const std::int64_t bytes = matrix.stride * element_bytes;
  return reinterpret_cast<std::uintptr_t>(matrix.data) % 16 == 0 && matrix.rows > 0 && matrix.cols > 0 &&
         matrix.rows < max_extent && matrix.cols < max_extent &&
         (matrix.rows == 1 ||
          (bytes % 16 == 0 && bytes >= matrix.cols * element_bytes && bytes < max_stride));
}

bool has_tensor_map(const Layers& layers, int element_bytes) {
  constexpr std::int64_t max_layer_stride = std::int64_t{1} << 40, max_extent = std::int64_t{1} << 31;
  const std::int64_t bytes = layers.stride * element_bytes;
  return has_tensor_map(layers.matrix, element_bytes) && layers.count > 0 && layers.count < max_extent &&
         (layers.count == 1 || (bytes % 16 == 0 && bytes > 0 && bytes < max_layer_stride));
}

namespace {

CUtensorMap encoded(const Layers& layers, cuuint32_t rank, CUtensorMapDataType type, int element_bytes,
                    int box_rows) {
  const Matrix2D& matrix = layers.matrix;
  const auto wide = [](std::int64_t n) { return static_cast<cuuint64_t>(n); };
  const cuuint64_t extent[] = {wide(matrix.cols), wide(matrix.rows), wide(layers.count)};
  // A single row or layer needs no stride, but the stride must be valid all the same.
  const std::int64_t least = (matrix.cols * element_bytes + 15) / 16 * 16;
  const std::int64_t line = matrix.rows == 1 ? least : matrix.stride * element_bytes;
  const cuuint64_t stride[] = {wide(line),
                               wide(layers.count == 1 ? line * matrix.rows : layers.stride * element_bytes)};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(128 / element_bytes), static_cast<cuuint32_t>(box_rows),
                            1};
  const cuuint32_t step[] = {1, 1, 1};
  CUtensorMap out;
  // With promotion to 256 bytes, rows that begin within an L2 line take up to a seventh longer.
  const CUresult status =
      driver().encode(&out, type, rank, const_cast<void*>(matrix.data), extent, stride, box, step,
                      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS)
    throw Error(Error::Kind::internal, "the driver refuses a tensor map: error " + std::to_string(status));
  return out;
}

void check_reach(bool reached) {
  if (!reached) throw Error(Error::Kind::internal, "the TMA does not support this matrix");
}

}  // namespace

CUtensorMap tensor_map(const Matrix2D& matrix, CUtensorMapDataType type, int element_bytes, int box_rows) {
  check_reach(has_tensor_map(matrix, element_bytes));
  return encoded({matrix}, 2, type, element_bytes, box_rows);
}

CUtensorMap tensor_map(const Layers& layers, CUtensorMapDataType type, int element_bytes, int box_rows) {
  check_reach(has_tensor_map(layers, element_bytes));
  return encoded(layers, 3, type, element_bytes, box_rows);
}

}  // namespace tessera::cuda
