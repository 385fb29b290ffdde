// SPDX-License-Identifier: Apache-2.0
#include "tessera/cuda/tensor_map.hpp"
#include <algorithm>
#include <string>
#include "tessera/core/error.hpp"
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
    else absent = "the driver makes no maps for the tensor copy engine";
    (void)cudaGetLastError();
  }
};

const Driver& driver() {
  static const Driver known;
  return known;
}

}  // namespace

Reason no_tensor_maps() { return driver().absent.empty() ? Reason() : driver().absent; }

bool has_tensor_map(const Lines& lines, int element_bytes) {
  constexpr std::int64_t most_stride = std::int64_t{1} << 40, most = std::int64_t{1} << 31;
  const std::int64_t bytes = lines.stride * element_bytes;
  return reinterpret_cast<std::uintptr_t>(lines.data) % 16 == 0 && lines.count > 0 && lines.length > 0 &&
         lines.count < most && lines.length < most &&
         (lines.count == 1 ||
          (bytes % 16 == 0 && bytes >= lines.length * element_bytes && bytes < most_stride));
}

bool has_tensor_map(const Layers& layers, int element_bytes) {
  constexpr std::int64_t most_step = std::int64_t{1} << 40, most = std::int64_t{1} << 31;
  const std::int64_t bytes = layers.step * element_bytes;
  return has_tensor_map(layers.lines, element_bytes) && layers.count > 0 && layers.count < most &&
         (layers.count == 1 || (bytes % 16 == 0 && bytes > 0 && bytes < most_step));
}

namespace {

CUtensorMap encoded(const Layers& layers, cuuint32_t rank, CUtensorMapDataType type, int element_bytes,
                    int box_lines) {
  const Lines& lines = layers.lines;
  const auto wide = [](std::int64_t n) { return static_cast<cuuint64_t>(n); };
  const cuuint64_t extent[] = {wide(lines.length), wide(lines.count), wide(layers.count)};
  // One line has no next one, one layer neither; their strides must be well formed all the same.
  const std::int64_t least = (lines.length * element_bytes + 15) / 16 * 16;
  const std::int64_t line = lines.count == 1 ? least : lines.stride * element_bytes;
  const cuuint64_t stride[] = {wide(line),
                               wide(layers.count == 1 ? line * lines.count : layers.step * element_bytes)};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(128 / element_bytes), static_cast<cuuint32_t>(box_lines),
                            1};
  const cuuint32_t step[] = {1, 1, 1};
  CUtensorMap out;
  // Promoted to 256 bytes, lines that begin within one of the cache's take up to a seventh longer.
  const CUresult status =
      driver().encode(&out, type, rank, const_cast<void*>(lines.data), extent, stride, box, step,
                      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                      CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS)
    throw Error(Error::Kind::internal, "the driver refuses a tensor map: error " + std::to_string(status));
  return out;
}

void check_reach(bool reached) {
  if (!reached)
    throw Error(Error::Kind::internal, "the tensor copy engine was asked for a matrix that it cannot copy");
}

}  // namespace

CUtensorMap tensor_map(const Lines& lines, CUtensorMapDataType type, int element_bytes, int box_lines) {
  check_reach(has_tensor_map(lines, element_bytes));
  return encoded({lines}, 2, type, element_bytes, box_lines);
}

CUtensorMap tensor_map(const Layers& layers, CUtensorMapDataType type, int element_bytes, int box_lines) {
  check_reach(has_tensor_map(layers, element_bytes));
  return encoded(layers, 3, type, element_bytes, box_lines);
}

}  // namespace tessera::cuda
