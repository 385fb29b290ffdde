// SPDX-License-Identifier: Apache-2.0
// The order of tiles: blocks that run at the same time share rows of A and columns of B in the L2
// cache. No CUDA calls; host and device code, unit-tested on the host.
#pragma once
#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define TESSERA_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define TESSERA_HOST_DEVICE inline
#endif

namespace tessera::matmul {

// Split-K kernels count the splits of each tile that have arrived, at the front of their workspace. A run
// finds zeros there and leaves zeros.
inline constexpr std::int64_t max_split_tiles = std::int64_t{1} << 14;
inline constexpr std::size_t counter_bytes = max_split_tiles * sizeof(std::uint32_t);

struct TileOrder {
  std::int32_t rows = 1, cols = 1;  // in tiles (of a cluster)
  std::int32_t raster_rows = 8;     // rows that are traversed together, column by column (rasterisation)
  std::int32_t splits = 1;          // split-K; each split is a unit of work

  struct Tile {
    std::int32_t row, col, split;
  };

  TESSERA_HOST_DEVICE std::int64_t count() const { return std::int64_t{rows} * cols * splits; }

  // unit < count(), which is below 2^31 for all matrices that fit into memory.
  TESSERA_HOST_DEVICE Tile at(std::int32_t unit) const {
    const std::int32_t tile = unit / splits, band = raster_rows * cols, before = tile / band * raster_rows;
    const std::int32_t height = rows - before < raster_rows ? rows - before : raster_rows,
                       within = tile % band;
    return {before + within % height, within / height, unit % splits};
  }
};

// Division by an invariant divisor, as a product and a shift: an integer division takes a multiprocessor more
// than a hundred clocks. (Granlund, Montgomery: Division by Invariant Integers using Multiplication, 1994.)
class FastDivmod {
 public:
  FastDivmod() : FastDivmod(1) {}
  // by ≥ 1
  explicit FastDivmod(std::int32_t by) {
    while ((std::int64_t{1} << shift_) < by) ++shift_;
    // Less than 2^32; its relative error is less than 2^shift / 2^(31 + shift), which adds less than 1 to the
    // quotient of any n < 2^31.
    multiplier_ = static_cast<std::uint32_t>(
        ((std::uint64_t{1} << (31 + shift_)) + static_cast<std::uint64_t>(by) - 1) /
        static_cast<std::uint64_t>(by));
  }
  // Returns n / by for n ≥ 0
  TESSERA_HOST_DEVICE std::int32_t quotient(std::int32_t n) const {
    return static_cast<std::int32_t>((std::uint64_t{static_cast<std::uint32_t>(n)} * multiplier_) >>
                                     (31 + shift_));
  }

 private:
  std::uint32_t multiplier_ = 0, shift_ = 0;
};

// TileOrder for kernels: its divisions are on the critical path of a block's first loads and its last stores.
class TileScheduler : public TileOrder {
 public:
  TileScheduler() : TileScheduler(TileOrder{}) {}
  TileScheduler(const TileOrder& order)
      : TileOrder(order),
        splits_divmod_(order.splits),
        band_divmod_(order.raster_rows * order.cols),
        raster_divmod_(order.raster_rows),
        last_band_divmod_(order.rows % order.raster_rows == 0 ? order.raster_rows
                                                              : order.rows % order.raster_rows) {}

  TESSERA_HOST_DEVICE Tile at(std::int32_t unit) const {
    const std::int32_t tile = splits_divmod_.quotient(unit),
                       before = band_divmod_.quotient(tile) * raster_rows, within = tile - before * cols;
    const bool is_full_band = rows - before >= raster_rows;
    const std::int32_t col =
        is_full_band ? raster_divmod_.quotient(within) : last_band_divmod_.quotient(within);
    return {before + within - col * (is_full_band ? raster_rows : rows - before), col, unit - tile * splits};
  }

 private:
  FastDivmod splits_divmod_, band_divmod_, raster_divmod_, last_band_divmod_;
};

}  // namespace tessera::matmul
