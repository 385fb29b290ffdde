// SPDX-License-Identifier: Apache-2.0
// How filtering is cut: a tile is a region of interest of its own, in the rows of the picture that its taps
// reach.
#include <algorithm>
#include <memory>
#include "setting.hpp"
#include "tessera/core/operation.hpp"
#include "tessera/core/picture_division.hpp"

namespace tessera::filter {
namespace {

// Taps beyond an edge of the picture are found where the border has them, perhaps at the other edge.
Interval rows_read(const Setting& setting, std::int64_t height, Interval rows) {
  if (rows.empty()) return {0, height};
  const Interval own{rows.first + setting.roi_y, rows.last + setting.roi_y};
  const Interval reached{own.first - setting.taps.above,
                         own.last + setting.taps.rows - 1 - setting.taps.above};
  Interval out{std::clamp<std::int64_t>(reached.first, 0, own.first),
               std::clamp(reached.last, own.last, height)};
  const auto fold = [&](std::int64_t row) {
    const int at = border_index(static_cast<int>(row), static_cast<int>(height), setting.border);
    if (at == from_constant) return;
    out.first = std::min<std::int64_t>(out.first, at);
    out.last = std::max<std::int64_t>(out.last, at + 1);
  };
  for (std::int64_t row = reached.first; row < 0; ++row) fold(row);
  for (std::int64_t row = height; row < reached.last; ++row) fold(row);
  return out;
}

struct Whole {
  Arguments arguments;
  std::shared_ptr<const Setting> setting;
  PictureCut cut;

  Slice read(const Tile& tile) const {
    const Extents& image = arguments.array("image").extents;
    return {"image",
            {cut.images(tile), rows_read(*setting, image[1], cut.rows(tile)), {0, image[2]}, {0, image[3]}}};
  }
  Slice written(const Tile& tile) const {
    const Extents& filtered = arguments.array("filtered").extents;
    return {"filtered", {cut.images(tile), cut.rows(tile), {0, filtered[2]}, {0, filtered[3]}}};
  }
  Arguments part(const Tile& tile) const {
    const Slice from = read(tile), to = written(tile);
    Arguments::Words words = arguments.words();
    words["roi_y"] = std::to_string(setting->roi_y + cut.rows(tile).first - from.box[1].first);
    words["roi_height"] = std::to_string(cut.rows(tile).size());
    Arguments out(arguments.signature(), arguments.element(),
                  {{"image", part_of(arguments.array("image"), from.box)}}, words);
    out.set_array("filtered", part_of(arguments.array("filtered"), to.box));
    return out;
  }
};

Division divide(const Arguments& arguments) {
  const auto setting = setting_of(arguments);
  const Extents& result = arguments.array("filtered").extents;
  const auto whole = std::make_shared<const Whole>(
      Whole{arguments, setting, PictureCut(result[0], result[1], setting->taps.rows - 1)});
  Division out = whole->cut.division(find_operation("filter")->flops(arguments));
  out.reads = [whole](const Tile& tile) { return std::vector<Slice>{whole->read(tile)}; };
  out.writes = [whole](const Tile& tile) { return std::vector<Slice>{whole->written(tile)}; };
  out.part = [whole](const Tile& tile) { return whole->part(tile); };
  return out;
}

[[maybe_unused]] const bool division_registered = (register_division("filter", divide), true);

}  // namespace
}  // namespace tessera::filter
