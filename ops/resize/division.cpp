// SPDX-License-Identifier: Apache-2.0
// How resizing is cut: a tile is a band of rows of the result, from the rows of the picture that they need.
#include <algorithm>
#include <memory>
#include "band.hpp"
#include "setting.hpp"
#include "tessera/core/operation.hpp"
#include "tessera/core/picture_division.hpp"

namespace tessera::resize {
namespace {

struct Whole {
  Arguments arguments;
  std::shared_ptr<const Setting> setting;
  PictureCut cut;

  Interval rows_read(Interval rows) const {
    const std::int64_t height = arguments.dim("from_height");
    if (rows.empty() || setting->table.empty()) return {0, height};
    Interval out{height, 0};
    const AxisAt& axis = setting->plan.across;
    for (std::int64_t row = rows.first; row < rows.last; ++row) {
      const std::int64_t first = setting->table[static_cast<std::size_t>(axis.start + row)],
                         count = setting->table[static_cast<std::size_t>(axis.count + row)];
      out = {std::min(out.first, first), std::max(out.last, first + count)};
    }
    return out.empty() ? Interval{0, height} : out;
  }
  Slice read(const Tile& tile) const {
    const Extents& image = arguments.array("image").extents;
    return {"image", {cut.images(tile), rows_read(cut.rows(tile)), {0, image[2]}, {0, image[3]}}};
  }
  Slice written(const Tile& tile) const {
    const Extents& resized = arguments.array("resized").extents;
    return {"resized", {cut.images(tile), cut.rows(tile), {0, resized[2]}, {0, resized[3]}}};
  }
  Arguments part(const Tile& tile) const {
    const Slice from = read(tile), to = written(tile);
    const Band band = band_of(arguments);
    Arguments::Words words = arguments.words();
    words["height"] = std::to_string(to.box[1].size());
    words["band"] = std::to_string(band.from_first + from.box[1].first) + "," +
                    std::to_string(band.from_height) + "," + std::to_string(band.first + to.box[1].first) +
                    "," + std::to_string(band.height);
    Arguments out(arguments.signature(), arguments.element(),
                  {{"image", part_of(arguments.array("image"), from.box)}}, words);
    out.set_array("resized", part_of(arguments.array("resized"), to.box));
    return out;
  }
};

Division divide(const Arguments& arguments) {
  const auto setting = setting_of(arguments);
  const Extents& result = arguments.array("resized").extents;
  // So many rows of the result lie over what it reads beside its own.
  const std::int64_t halo =
      setting->plan.across.most * result[1] / std::max<std::int64_t>(1, arguments.dim("from_height"));
  const auto whole =
      std::make_shared<const Whole>(Whole{arguments, setting, PictureCut(result[0], result[1], halo)});
  Division out = whole->cut.division(find_operation("resize")->flops(arguments));
  out.reads = [whole](const Tile& tile) { return std::vector<Slice>{whole->read(tile)}; };
  out.writes = [whole](const Tile& tile) { return std::vector<Slice>{whole->written(tile)}; };
  out.part = [whole](const Tile& tile) { return whole->part(tile); };
  return out;
}

[[maybe_unused]] const bool division_registered = (register_division("resize", divide), true);

}  // namespace
}  // namespace tessera::resize
