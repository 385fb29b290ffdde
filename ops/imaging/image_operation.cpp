// SPDX-License-Identifier: Apache-2.0
#include "ops/imaging/image_operation.hpp"
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <memory>
#include <string_view>
#include "tessera/core/text/error.hpp"
#include "tessera/core/text/suggest.hpp"
#include "tessera/core/array/random.hpp"
#include "tessera/run/inputs.hpp"

namespace tessera::imaging {
namespace {

struct BorderName {
  const char* name;
  Border border;
};

// Names of this library and of OpenCV, then of SciPy (whose reflect is OpenCV's), NumPy and NPP.
constexpr BorderName border_names[] = {
    {"constant", Border::constant},   {"replicate", Border::replicate},
    {"reflect", Border::reflect},     {"reflect_101", Border::reflect_101},
    {"wrap", Border::wrap},           {"reflect101", Border::reflect_101},
    {"default", Border::reflect_101}, {"nearest", Border::replicate},
    {"mirror", Border::reflect_101},  {"grid-constant", Border::constant},
    {"grid-mirror", Border::reflect}, {"grid-wrap", Border::wrap},
    {"edge", Border::replicate},      {"symmetric", Border::reflect},
    {"mirror_refl", Border::reflect},
};

char* address(const ArrayView& array, std::int64_t offset) {
  return static_cast<char*>(array.data) + offset * static_cast<std::int64_t>(size_of(array.element));
}

struct Tiles {
  Arguments arguments;
  PicturePartition pictures;
  bool between;  // true: a tile is a range of pictures; false: of rows

  Interval images(const Tile& tile) const {
    return between ? tile.rows : Interval{0, arguments.array(pictures.output).extents[0]};
  }
  Interval rows(const Tile& tile) const {
    return between ? Interval{0, arguments.array(pictures.output).extents[1]} : tile.rows;
  }
  Slice slice(const std::string& name, const Tile& tile, Interval lines) const {
    const Extents& e = arguments.array(name).extents;
    return {name, {images(tile), lines, {0, e[2]}, {0, e[3]}}};
  }
  Slice read(const Tile& tile) const { return slice(pictures.input, tile, pictures.rows_read(rows(tile))); }
  Slice written(const Tile& tile) const { return slice(pictures.output, tile, rows(tile)); }

  Arguments part(const Tile& tile) const {
    const Slice from = read(tile), to = written(tile);
    Arguments::Words words = arguments.words();
    pictures.set_options(words, from.box[1], to.box[1]);
    Arguments out(arguments.signature(), arguments.element(),
                  {{pictures.input, part_of(arguments.array(pictures.input), from.box)}}, words);
    out.set_array(pictures.output, part_of(arguments.array(pictures.output), to.box));
    return out;
  }
};

}  // namespace

Border border_named(const std::string& word) {
  std::string name;
  for (const char c : word) name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string_view prefix : {"cv2.", "cv::", "npp_", "border_"})
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
  for (const BorderName& known : border_names)
    if (name == known.name) return known.border;
  throw Error(
      "--border cannot be '" + word + "'" +
      suggestion(name, {"constant", "replicate", "reflect", "reflect_101", "wrap", "nearest", "mirror"}));
}

void fill_samples(Distribution distribution, std::uint64_t seed, const ArrayView& to) {
  constexpr std::uint64_t between = 40;
  fill_normal(seed, to);
  if (distribution != Distribution::special) return;
  Random random(seed + 1);
  const double strewn[] = {INFINITY, -INFINITY, NAN};
  const Extents& e = to.extents;
  for (std::int64_t i = 0; i < to.count(); ++i) {
    if (random.below(between) != 0) continue;
    std::int64_t rest = i, at = 0;
    for (std::size_t d = e.size(); d-- > 0; rest /= e[d]) at += rest % e[d] * to.strides[d];
    store_from_double(to.element, address(to, at), strewn[random.below(3)]);
  }
}

std::int64_t folded(std::int64_t i, std::int64_t n, Border border) {
  while (i < 0 || i >= n) {
    if (border == Border::constant) return -1;
    if (border == Border::replicate) return i < 0 ? 0 : n - 1;
    if (border == Border::wrap) i += i < 0 ? n : -n;
    else if (border == Border::reflect) i = i < 0 ? -1 - i : 2 * n - 1 - i;
    else i = n == 1 ? 0 : i < 0 ? -i : 2 * (n - 1) - i;
  }
  return i;
}

double sample_at(const ArrayView& array, std::initializer_list<std::int64_t> place) {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < place.size(); ++d) offset += place.begin()[d] * array.strides[d];
  return load_as_double(array.element, address(array, offset));
}

std::pair<double, double> limits_of(Element element) {
  if (element == Element::u8) return {0, 255};
  return element == Element::u16 ? std::pair(0.0, 65535.0) : std::pair(-32768.0, 32767.0);
}

double nearest_value(Element element, double value) {
  if (is_integer(element)) {
    const auto [least, most] = limits_of(element);
    return std::isnan(value) ? least : std::clamp(std::nearbyint(value), least, most);
  }
  const auto narrow = static_cast<float>(value);
  return element == Element::f16 ? static_cast<float>(f16::from(narrow)) : narrow;
}

std::vector<std::int64_t> differing_rows(const Arguments& arguments, const std::string& output,
                                         const std::function<void(const Arguments&)>& compute) {
  Arguments again = arguments;
  const ArrayView& given = arguments.array(output);
  const Array computed(given.element, given.extents);
  again.set_array(output, computed.view());
  compute(again);
  std::vector<std::int64_t> out;
  for (std::int64_t row = 0; row < given.extents[0] * given.extents[1]; ++row) {
    const auto at = [&](const ArrayView& view) {
      return address(view,
                     row / given.extents[1] * view.strides[0] + row % given.extents[1] * view.strides[1]);
    };
    const bool packed = given.strides[3] == 1 && given.strides[2] == given.extents[3];
    const auto bytes = static_cast<std::size_t>(given.extents[2] * given.extents[3]) * size_of(given.element);
    if (!packed || std::memcmp(at(given), at(computed.view()), bytes) != 0) out.push_back(row);
  }
  return out;
}

Reason refuses_scattered(const ArrayView& result) {
  if (result.strides[2] == result.extents[3] && (result.strides[3] == 1 || result.extents[3] == 1))
    return std::nullopt;
  return "the result's pixels do not lie side by side";
}

Partition partition_pictures(const Arguments& arguments, double flops, PicturePartition pictures) {
  constexpr std::int64_t many = 16;  // pictures, so that several devices finish together
  const Extents& result = arguments.array(pictures.output).extents;
  const auto tiles = std::make_shared<const Tiles>(Tiles{arguments, std::move(pictures), result[0] >= many});
  Partition out;
  out.rows = tiles->between ? result[0] : result[1];
  // A tile is at least eight times as high as its halo.
  if (!tiles->between) out.row_granule = std::max<std::int64_t>(16, 8 * tiles->pictures.halo);
  out.same_bits = [](Where) { return true; };
  out.same_everywhere = true;
  const double row = out.rows == 0 ? 0 : flops / static_cast<double>(out.rows);
  out.flops = [row](const Tile& tile) { return row * static_cast<double>(tile.rows.size()); };
  out.reads = [tiles](const Tile& tile) { return std::vector<Slice>{tiles->read(tile)}; };
  out.writes = [tiles](const Tile& tile) { return std::vector<Slice>{tiles->written(tile)}; };
  out.part = [tiles](const Tile& tile) { return tiles->part(tile); };
  return out;
}

}  // namespace tessera::imaging
