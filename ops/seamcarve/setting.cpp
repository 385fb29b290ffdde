// SPDX-License-Identifier: Apache-2.0
#include "setting.hpp"
#include <algorithm>
#include <string>
#include "tessera/core/error.hpp"

namespace tessera::seamcarve {
namespace {

constexpr std::int64_t longest = 1 << 20, most_channels = 4;

Direction direction(std::int64_t length, std::int64_t from, std::int64_t to, bool turned) {
  const char* const flag = turned ? "--height " : "--width ";
  const std::string side = std::to_string(from) + (turned ? " rows" : " columns");
  if (to > 2 * from) throw Error(flag + std::to_string(to) + " is more than twice the picture's " + side);
  Direction out;
  out.length = static_cast<std::int32_t>(length);
  out.across = static_cast<std::int32_t>(from);
  out.seams = static_cast<std::int32_t>(to > from ? to - from : from - to);
  out.turned = turned;
  out.enlarges = to > from;
  out.unwanted_count = !out.enlarges;
  return out;
}

}  // namespace

Energy energy_named(const std::string& word) {
  return word == "laplacian" ? Energy::laplacian : word == "forward" ? Energy::forward : Energy::gradient;
}

void check_sums(std::int64_t length, std::int64_t channels, Element element, bool masked) {
  if (channels > most_channels)
    throw Error("image has " + std::to_string(channels) + " channels; seams are found in up to 4");
  const std::int64_t most_grey = channels * (element == Element::u16 ? 4095 : 255);
  std::int64_t most = (std::int64_t{1} << 29) / (4 * most_grey);
  if (masked) most = std::min<std::int64_t>(most, longest_masked);
  if (length > most)
    throw Error("a seam of " + std::to_string(length) + " pixels is too long to be summed; " +
                std::to_string(most) + " are possible here" + (masked ? ", with masks" : ""));
}

Setting setting_of(const Arguments& arguments) {
  const std::int64_t rows = arguments.dim("rows"), columns = arguments.dim("columns"),
                     height = arguments.dim("height"), width = arguments.dim("width"),
                     channels = arguments.dim("channels");
  const bool masked = arguments.has("protect") || arguments.has("remove");
  Setting out;
  out.energy = energy_named(arguments.text("energy"));
  if (rows > longest || columns > longest) throw Error("image has a side of more than 2^20 pixels");
  if (channels < 1) throw Error("image has no channels");
  if (width != columns) {
    check_sums(rows, channels, arguments.element(), masked);
    out.direction[out.directions++] = direction(rows, columns, width, false);
  }
  if (height != rows) {
    check_sums(width, channels, arguments.element(), masked);
    out.direction[out.directions++] = direction(width, rows, height, true);
  }
  if (out.directions == 0) {  // a copy, by no seams
    check_sums(1, channels, arguments.element(), masked);
    out.direction[out.directions++] = direction(rows, columns, columns, false);
  }
  return out;
}

}  // namespace tessera::seamcarve
