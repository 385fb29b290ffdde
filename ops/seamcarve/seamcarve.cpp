// SPDX-License-Identifier: Apache-2.0
// Seam carving as an operation: its arguments, what it costs, how it is checked, what to try.
#include "seamcarve.hpp"
#include "banded.hpp"
#include "reference.hpp"
#include "tessera/core/operation.hpp"
#include "tessera/core/random.hpp"
#include "tessera/run/inputs.hpp"

namespace tessera::seamcarve {
namespace {

template <class T>
View<const T, 3> picture_of(const std::map<std::string, ArrayView>& inputs, const char* name,
                            std::int64_t n) {
  View<const T, 4> all;
  const auto found = inputs.find(name);
  if (found == inputs.end()) return {};
  all.data = static_cast<const T*>(found->second.data);
  for (std::size_t d = 0; d < 4; ++d) {
    all.extent[d] = found->second.extents[d];
    all.stride[d] = found->second.strides[d];
  }
  return one_of(all, n);
}

template <class T>
std::int64_t cleared_width(const std::map<std::string, ArrayView>& inputs, Energy energy) {
  const Extents& size = inputs.at("image").extents;
  check_sums(size[1], size[3], element_of<T>, true);
  std::int64_t most = 0;
  for (std::int64_t n = 0; n < size[0]; ++n)
    most = std::max(most, seams_to_clear({picture_of<T>(inputs, "image", n),
                                          picture_of<std::uint8_t>(inputs, "protect", n),
                                          picture_of<std::uint8_t>(inputs, "remove", n),
                                          {}},
                                         energy, host_threads()));
  return size[2] - most;
}

// Without sizes, a mask of what is to go says how much goes.
std::int64_t columns_left(const std::map<std::string, ArrayView>& inputs, const Dims& dims,
                          const Arguments::Words& words) {
  if (!inputs.contains("remove") || dims.contains("height")) return dims.at("columns");
  const Energy energy = energy_named(words.at("energy"));
  return inputs.at("image").element == Element::u16 ? cleared_width<std::uint16_t>(inputs, energy)
                                                    : cleared_width<std::uint8_t>(inputs, energy);
}

Signature signature() {
  using namespace parameter;
  Parameter image =
      input("image", {"images", "rows", "columns", "channels"}, "a picture, or several of one size");
  Parameter protect = optional_input(
      "protect", {"images", "rows", "columns", "protect_channels"},
      "a mask of the picture's size: what is 128 or more is kept wherever a seam can avoid it");
  Parameter remove =
      optional_input("remove", {"images", "rows", "columns", "remove_channels"},
                     "a mask of what is to go; without --width and --height, until it is gone");
  Parameter carved =
      output("carved", {"images", "height", "width", "channels"}, "without its seams, or with more");
  protect.element = remove.element = Element::u8;
  image.picture = protect.picture = remove.picture = carved.picture = Picture::whole;
  Parameter width = dimension("width", "columns_left", 1, "columns of the result, up to twice the picture's");
  width.size_from = columns_left;
  Signature out;
  out.parameters = {
      image,
      width,
      dimension("height", "rows", 1, "rows of the result, up to twice the picture's"),
      choice("energy", {"gradient", "laplacian", "forward"},
             "what a pixel costs; forward: what its going makes of its neighbours"),
      protect,
      remove,
      carved,
  };
  return out;
}

// Of each seam: what each pixel that is still there costs, and the cheapest way to it.
double flops(const Arguments& arguments) {
  constexpr double of_a_pixel = 8;
  const Setting setting = setting_of(arguments);
  double out = 0;
  for (int i = 0; i < setting.directions; ++i) {
    const Direction& d = setting.direction[i];
    out += d.seams * (d.across - (d.seams - 1) / 2.0) * d.length;
  }
  return of_a_pixel * out * static_cast<double>(arguments.dim("images"));
}

// What cameras give: shades that change slowly, edges, some noise. Masks: an ellipse.
void fill(const Arguments&, const std::string& input, Distribution, std::uint64_t seed, ArrayView to) {
  const Extents &e = to.extents, &s = to.strides;
  const double most = to.element == Element::u16 ? 65535 : 255;
  const auto places = static_cast<std::size_t>(e[3]);
  for (std::int64_t n = 0; n < e[0]; ++n)
    for (std::int64_t y = 0; y < e[1]; ++y) {
      Random random(seed, static_cast<std::uint64_t>(n * e[1] + y));
      for (std::int64_t x = 0; x < e[2]; ++x) {
        const double u = static_cast<double>(x) / static_cast<double>(e[2]) - 0.5,
                     v = static_cast<double>(y) / static_cast<double>(e[1]) - 0.5;
        const bool inside = u * u * 9 + v * v * 6 < 0.3;
        const double shade =
            0.5 + 0.3 * u + 0.2 * v * v + (inside ? 0.15 : 0) + ((x / 23 + y / 17) % 2 == 0 ? 0.05 : 0);
        for (std::size_t c = 0; c < places; ++c) {
          const double noise = static_cast<double>(random.below(1 << 10)) / (1 << 14);
          const double value = input == "image" ? shade * (1 - 0.1 * static_cast<double>(c)) + noise
                               : inside         ? 1
                                                : 0;
          const std::int64_t at = n * s[0] + y * s[1] + x * s[2] + static_cast<std::int64_t>(c) * s[3];
          store_from_double(to.element,
                            static_cast<char*>(to.data) + at * static_cast<std::int64_t>(size_of(to.element)),
                            std::floor(most * std::min(1.0, std::max(0.0, value))));
        }
      }
    }
}

Case made(std::int64_t images, std::int64_t rows, std::int64_t columns, std::int64_t channels,
          Arguments::Words words, std::vector<std::string> masks = {}) {
  Case out{.dims = {{"images", images}, {"rows", rows}, {"columns", columns}, {"channels", channels}},
           .words = std::move(words),
           .optional_inputs = std::move(masks)};
  for (const std::string& mask : out.optional_inputs) out.dims[mask + "_channels"] = 1;
  return out;
}

std::vector<Case> cases() {
  return {
      made(1, 20, 300, 1, {{"width", "297"}}),
      made(1, 70, 61, 3, {{"width", "55"}}),
      made(1, 133, 40, 1, {{"width", "37"}, {"energy", "forward"}}),
      made(1, 33, 47, 3, {{"width", "52"}, {"energy", "laplacian"}}),
      made(1, 24, 30, 4, {{"width", "27"}, {"height", "21"}}),
      made(2, 17, 19, 1, {{"height", "20"}, {"width", "16"}, {"energy", "forward"}}),
      made(1, 40, 36, 3, {{"width", "30"}}, {"protect"}),
      made(1, 36, 40, 1, {{"width", "31"}, {"height", "33"}, {"energy", "forward"}}, {"remove"}),
      made(1, 30, 34, 1, {{"width", "38"}, {"height", "26"}}, {"protect", "remove"}),
      made(1, 5, 6, 1, {{"width", "1"}}),
      made(1, 4, 5, 2, {{"width", "10"}, {"height", "8"}}),
      made(1, 1, 9, 1, {{"width", "4"}}),
      made(1, 9, 1, 3, {{"height", "5"}, {"width", "2"}}),
      made(2, 6, 7, 3, {}),
      made(0, 6, 7, 1, {{"width", "5"}}),
  };
}

Operation operation() {
  Operation out;
  out.name = "seamcarve";
  out.summary = "a picture narrowed, lowered or enlarged along the paths that are missed least";
  out.signature = signature();
  out.elements = {Element::u8, Element::u16};
  out.output = "carved";
  out.row_dimensions = 2;
  out.flops = flops;
  out.fill = fill;
  out.reference = reference;
  out.suspect_rows = suspect_rows;
  out.cases = cases();
  return out;
}

[[maybe_unused]] const bool seamcarve_registered = (register_operation(operation()), true);

}  // namespace
}  // namespace tessera::seamcarve
