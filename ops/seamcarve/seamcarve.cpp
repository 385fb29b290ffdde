// SPDX-License-Identifier: Apache-2.0
// The operation seamcarve: its options, cost, reference and test cases.
#include "seamcarve.hpp"
#include <algorithm>
#include <compare>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include "ops/imaging/image_operation.hpp"
#include "tessera/core/text/error.hpp"
#include "tessera/core/array/random.hpp"
#include "tessera/run/inputs.hpp"

namespace tessera::seamcarve {
using namespace imaging;

namespace {

constexpr std::int64_t longest = 1 << 20, max_channels = 4;

Direction direction(std::int64_t length, std::int64_t from, std::int64_t to, bool transposed) {
  const char* const flag = transposed ? "--height " : "--width ";
  const std::string side = std::to_string(from) + (transposed ? " rows" : " columns");
  if (to > 2 * from) throw Error(flag + std::to_string(to) + " is more than twice the picture's " + side);
  Direction out;
  out.length = static_cast<std::int32_t>(length);
  out.across = static_cast<std::int32_t>(from);
  out.seams = static_cast<std::int32_t>(to > from ? to - from : from - to);
  out.transposed = transposed;
  out.enlarges = to > from;
  out.unwanted_count = !out.enlarges;
  return out;
}

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

// If no size is given, the mask of pixels to remove determines the width.
std::int64_t columns_left(const std::map<std::string, ArrayView>& inputs, const Dims& dims,
                          const Arguments::Words& words) {
  if (dims.contains("height")) return dims.at("columns");
  if (!inputs.contains("remove")) throw Error("--width, --height or --remove is missing");
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
  width.reads_contents = [](const std::string&) { return true; };
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

// Counts, for each seam, the cost of each remaining pixel and the cheapest path to it.
double flops(const Arguments& arguments) {
  constexpr double of_a_pixel = 8;
  const Options options = options_of(arguments);
  double out = 0;
  for (int i = 0; i < options.directions; ++i) {
    const Direction& d = options.direction[i];
    out += d.seams * (d.across - (d.seams - 1) / 2.0) * d.length;
  }
  return of_a_pixel * out * static_cast<double>(arguments.dim("images"));
}

// Makes pictures like a camera's (smooth shades, edges, some noise) and elliptical masks.
void fill(const Arguments&, const std::string& input, Distribution, std::uint64_t seed, const ArrayView& to) {
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

// The reference for every rung: the definition of docs/seamcarve.md, computed in full for each seam.
using Whole = std::int64_t;
using Wholes = std::vector<Whole>;

std::size_t place(Whole i) { return static_cast<std::size_t>(i); }

// The cost of a path: compared in this order, added component by component.
struct Cost {
  Whole kept = 0, spared = 0, energy = 0;  // pixels to keep that it crosses; minus pixels to remove
  auto operator<=>(const Cost&) const = default;
  Cost operator+(const Cost& other) const {
    return {kept + other.kept, spared + other.spared, energy + other.energy};
  }
};

// A picture of any shape with its marks: −1 to remove, 1 to keep.
struct Canvas {
  Whole rows = 0, columns = 0, channels = 0;
  std::vector<std::int32_t> samples, marks;

  Canvas(Whole r, Whole c, Whole n)
      : rows(r), columns(c), channels(n), samples(place(r * c * n)), marks(place(r * c)) {}
  Whole at(Whole y, Whole x) const { return y * columns + x; }
  const std::int32_t* pixel(Whole y, Whole x) const { return &samples[place(at(y, x) * channels)]; }
  std::int32_t* pixel(Whole y, Whole x) { return &samples[place(at(y, x) * channels)]; }
};

Canvas transposed(const Canvas& from) {
  Canvas out(from.columns, from.rows, from.channels);
  for (Whole y = 0; y < from.rows; ++y)
    for (Whole x = 0; x < from.columns; ++x) {
      std::copy_n(from.pixel(y, x), from.channels, out.pixel(x, y));
      out.marks[place(out.at(x, y))] = from.marks[place(from.at(y, x))];
    }
  return out;
}

// Seams of a canvas, one after another, and the columns that they take.
class Definition {
 public:
  Definition(const Canvas& canvas, Energy energy, bool sixteen_bits, bool enlarges)
      : energy_(energy), rows_(canvas.rows), width_(canvas.columns), columns_(canvas.columns) {
    for (Whole i = 0; i < rows_ * columns_; ++i) {
      const auto* first = &canvas.samples[place(i * canvas.channels)];
      const Whole sum = std::accumulate(first, first + canvas.channels, Whole{0});
      grey_.push_back(sixteen_bits ? sum / 16 : sum);
      const Whole mark = canvas.marks[place(i)];
      mark_.push_back(enlarges && mark < 0 ? 0 : mark);
      origin_.push_back(i % columns_);
    }
    cost_.resize(grey_.size());
    from_.resize(grey_.size());
  }

  void take_one(std::vector<char>& taken) {
    for (Whole y = 0; y < rows_; ++y)
      for (Whole x = 0; x < width_; ++x) sum_up(y, x);
    const auto last = cost_.begin() + (rows_ - 1) * columns_;
    Whole x = std::min_element(last, last + width_) - last;
    for (Whole y = rows_ - 1; y >= 0; --y) {
      taken[place(y * columns_ + origin_[at(y, x)])] = 1;
      const Whole up = from_[at(y, x)];
      for (Wholes* values : {&grey_, &mark_, &origin_}) {
        const auto row = values->begin() + y * columns_;
        std::copy(row + x + 1, row + width_, row + x);
      }
      x = up;
    }
    --width_;
  }

 private:
  std::size_t at(Whole y, Whole x) const { return place(y * columns_ + x); }
  // Returns a grey value; beyond an edge, that of the pixel at the edge.
  Whole grey(Whole y, Whole x) const {
    return grey_[at(std::clamp<Whole>(y, 0, rows_ - 1), std::clamp<Whole>(x, 0, width_ - 1))];
  }

  Whole own(Whole y, Whole x) const {
    const Whole across = std::llabs(grey(y, x + 1) - grey(y, x - 1));
    switch (energy_) {
      case Energy::gradient:
        return across + std::llabs(grey(y + 1, x) - grey(y - 1, x));
      case Energy::laplacian:
        return std::llabs(grey(y, x - 1) + grey(y, x + 1) + grey(y - 1, x) + grey(y + 1, x) - 4 * grey(y, x));
      default:
        return across;
    }
  }

  void sum_up(Whole y, Whole x) {
    Cost least;
    Whole from = x;
    for (Whole up = x - 1; y > 0 && up <= x + 1; ++up) {
      if (up < 0 || up >= width_) continue;
      Cost cost = cost_[at(y - 1, up)];
      if (energy_ == Energy::forward && up != x) cost.energy += std::llabs(grey(y - 1, x) - grey(y, up));
      if (up == std::max<Whole>(x - 1, 0) || cost < least) {
        least = cost;
        from = up;
      }
    }
    const Whole mark = mark_[at(y, x)];
    cost_[at(y, x)] = least + Cost{mark > 0 ? 1 : 0, mark < 0 ? -1 : 0, own(y, x)};
    from_[at(y, x)] = from;
  }

  Energy energy_;
  Whole rows_, width_, columns_;
  Wholes grey_, mark_, origin_, from_;
  std::vector<Cost> cost_;
};

Canvas carved(const Canvas& canvas, Whole columns, Energy energy, bool sixteen_bits) {
  const bool enlarges = columns > canvas.columns;
  std::vector<char> taken(place(canvas.rows * canvas.columns));
  if (columns != canvas.columns) {
    Definition definition(canvas, energy, sixteen_bits, enlarges);
    for (Whole n = 0; n < std::llabs(columns - canvas.columns); ++n) definition.take_one(taken);
  }
  Canvas out(canvas.rows, columns, canvas.channels);
  for (Whole y = 0; y < canvas.rows; ++y)
    for (Whole x = 0, to = 0; x < canvas.columns; ++x) {
      const bool here = taken[place(canvas.at(y, x))] != 0;
      for (int copy = enlarges || !here ? 0 : 2; copy < (enlarges && here ? 2 : 1); ++copy, ++to) {
        const auto *mine = canvas.pixel(y, x),
                   *next = canvas.pixel(y, std::min(x + copy, canvas.columns - 1));
        for (Whole c = 0; c < canvas.channels; ++c) out.pixel(y, to)[c] = (mine[c] + next[c] + 1) / 2;
        out.marks[place(out.at(y, to))] = canvas.marks[place(canvas.at(y, x))];
      }
    }
  return out;
}

bool is_marked(const Arguments& arguments, const char* mask, Whole n, Whole y, Whole x) {
  if (!arguments.has(mask)) return false;
  const ArrayView& array = arguments.array(mask);
  for (Whole c = 0; c < array.extents[3]; ++c)
    if (sample_at(array, {n, y, x, c}) >= 128) return true;
  return false;
}

Canvas canvas_of(const Arguments& arguments, Whole n) {
  const ArrayView& image = arguments.array("image");
  Canvas out(image.extents[1], image.extents[2], image.extents[3]);
  for (Whole y = 0; y < out.rows; ++y)
    for (Whole x = 0; x < out.columns; ++x) {
      for (Whole c = 0; c < out.channels; ++c)
        out.pixel(y, x)[c] = static_cast<std::int32_t>(sample_at(image, {n, y, x, c}));
      out.marks[place(out.at(y, x))] = is_marked(arguments, "protect", n, y, x)  ? 1
                                       : is_marked(arguments, "remove", n, y, x) ? -1
                                                                                 : 0;
    }
  return out;
}

std::vector<std::int32_t> result_of(const Arguments& arguments, Whole n) {
  const Energy energy = energy_named(arguments.text("energy"));
  const bool sixteen = arguments.element() == Element::u16;
  const Canvas narrow = carved(canvas_of(arguments, n), arguments.dim("width"), energy, sixteen);
  if (arguments.dim("height") == narrow.rows) return narrow.samples;
  return transposed(carved(transposed(narrow), arguments.dim("height"), energy, sixteen)).samples;
}

std::size_t hash_of(const Arguments& arguments) {
  std::string all(name_of(arguments.element()));
  for (const auto& [name, word] : arguments.words()) all += "\n" + name + "=" + word;
  for (const auto& [name, size] : arguments.dims()) all += "\n" + name + "=" + std::to_string(size);
  std::size_t out = std::hash<std::string>{}(all);
  for (const char* name : {"image", "protect", "remove"})
    if (arguments.has(name)) {
      const Array packed = packed_copy(arguments.array(name));
      out = out * 31 + std::hash<std::string_view>{}({packed.as<char>(), packed.view().bytes()});
    }
  return out;
}

// Keeps the last result, because a row needs the entire picture and several threads request rows.
void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data, Expected& expected) {
  static std::mutex mutex;
  static std::size_t last_key = 0;
  static std::vector<std::vector<std::int32_t>> last;
  if (rows.empty()) return;
  (void)options_of(arguments);
  const std::scoped_lock lock(mutex);
  if (const std::size_t key = hash_of(arguments); key != last_key || last.empty()) {
    last.clear();
    for (Whole n = 0; n < arguments.dim("images"); ++n) last.push_back(result_of(arguments, n));
    last_key = key;
  }
  const Whole height = arguments.dim("height"), length = arguments.dim("width") * arguments.dim("channels");
  for (const Whole row : rows) {
    const auto first = last[place(row / height)].begin() + row % height * length;
    expected.value.insert(expected.value.end(), first, first + length);
    expected.bound.insert(expected.bound.end(), place(length), 0.0);
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
      made(2, 6, 7, 3, {{"width", "7"}}),
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
  out.suspect_rows = [](const Arguments& arguments, Data, std::uint64_t) {
    return differing_rows(arguments, "carved",
                          [](const Arguments& again) { carve_banded(again, host_threads()); });
  };
  out.cases = cases();
  return out;
}

[[maybe_unused]] const bool seamcarve_registered = (register_operation(operation()), true);

}  // namespace
Energy energy_named(const std::string& name) {
  return name == "laplacian" ? Energy::laplacian : name == "forward" ? Energy::forward : Energy::gradient;
}

void check_sums(std::int64_t length, std::int64_t channels, Element element, bool masked) {
  if (channels > max_channels)
    throw Error("image has " + std::to_string(channels) + " channels; seams are found in up to 4");
  const std::int64_t max_grey = channels * (element == Element::u16 ? 4095 : 255);
  std::int64_t most = (std::int64_t{1} << 29) / (4 * max_grey);
  if (masked) most = std::min<std::int64_t>(most, longest_masked);
  if (length > most)
    throw Error("a seam of " + std::to_string(length) + " pixels is too long to be summed; " +
                std::to_string(most) + " are possible here" + (masked ? ", with masks" : ""));
}

Options options_of(const Arguments& arguments) {
  const std::int64_t rows = arguments.dim("rows"), columns = arguments.dim("columns"),
                     height = arguments.dim("height"), width = arguments.dim("width"),
                     channels = arguments.dim("channels");
  const bool masked = arguments.has("protect") || arguments.has("remove");
  Options out;
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
  if (out.directions == 0) {  // a copy: no seams
    check_sums(1, channels, arguments.element(), masked);
    out.direction[out.directions++] = direction(rows, columns, columns, false);
  }
  return out;
}

}  // namespace tessera::seamcarve
