// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/picture_division.hpp"
#include <algorithm>

namespace tessera {

PictureCut::PictureCut(std::int64_t images, std::int64_t height, std::int64_t halo)
    : images_(images), height_(height), halo_(halo) {}

bool PictureCut::between() const {
  constexpr std::int64_t many = 16;  // so that several devices finish together
  return images_ >= many;
}

Division PictureCut::division(double flops) const {
  Division out;
  out.rows = between() ? images_ : height_;
  // A tile is at least eight times as high as what it reads beside itself.
  if (!between()) out.row_granule = std::max<std::int64_t>(16, 8 * halo_);
  out.same_bits = [](Where) { return true; };
  out.same_everywhere = true;
  const double row = out.rows == 0 ? 0 : flops / static_cast<double>(out.rows);
  out.flops = [row](const Tile& tile) { return row * static_cast<double>(tile.rows.size()); };
  return out;
}

Interval PictureCut::images(const Tile& tile) const { return between() ? tile.rows : Interval{0, images_}; }
Interval PictureCut::rows(const Tile& tile) const { return between() ? Interval{0, height_} : tile.rows; }

}  // namespace tessera
