// SPDX-License-Identifier: Apache-2.0
#include "reference.hpp"
#include <algorithm>
#include <compare>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include "banded.hpp"
#include "setting.hpp"
#include "tessera/core/differing_rows.hpp"

namespace tessera::seamcarve {
namespace {

using Whole = std::int64_t;
using Wholes = std::vector<Whole>;

std::size_t place(Whole i) { return static_cast<std::size_t>(i); }

// What a way costs: compared in this order, added each for itself.
struct Cost {
  Whole kept = 0, spared = 0, energy = 0;  // pixels to keep that it crosses; less those to go
  auto operator<=>(const Cost&) const = default;
  Cost operator+(const Cost& other) const {
    return {kept + other.kept, spared + other.spared, energy + other.energy};
  }
};

// A picture of any shape with what the masks say: −1 to go, 1 to stay.
struct Canvas {
  Whole rows = 0, columns = 0, channels = 0;
  std::vector<std::int32_t> samples, marks;

  Canvas(Whole r, Whole c, Whole n)
      : rows(r), columns(c), channels(n), samples(place(r * c * n)), marks(place(r * c)) {}
  Whole at(Whole y, Whole x) const { return y * columns + x; }
  const std::int32_t* pixel(Whole y, Whole x) const { return &samples[place(at(y, x) * channels)]; }
  std::int32_t* pixel(Whole y, Whole x) { return &samples[place(at(y, x) * channels)]; }
};

Canvas turned(const Canvas& from) {
  Canvas out(from.columns, from.rows, from.channels);
  for (Whole y = 0; y < from.rows; ++y)
    for (Whole x = 0; x < from.columns; ++x) {
      std::copy_n(from.pixel(y, x), from.channels, out.pixel(x, y));
      out.marks[place(out.at(x, y))] = from.marks[place(from.at(y, x))];
    }
  return out;
}

// Seams of a canvas, one after another, and which columns they take.
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
  // Beyond an edge the pixel at it.
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

double sample(const ArrayView& array, Whole n, Whole y, Whole x, Whole c) {
  const Extents& s = array.strides;
  const Whole offset = n * s[0] + y * s[1] + x * s[2] + c * s[3];
  return load_as_double(array.element, static_cast<const char*>(array.data) +
                                           offset * static_cast<Whole>(size_of(array.element)));
}

bool is_marked(const Arguments& arguments, const char* mask, Whole n, Whole y, Whole x) {
  if (!arguments.has(mask)) return false;
  const ArrayView& array = arguments.array(mask);
  for (Whole c = 0; c < array.extents[3]; ++c)
    if (sample(array, n, y, x, c) >= 128) return true;
  return false;
}

Canvas canvas_of(const Arguments& arguments, Whole n) {
  const ArrayView& image = arguments.array("image");
  Canvas out(image.extents[1], image.extents[2], image.extents[3]);
  for (Whole y = 0; y < out.rows; ++y)
    for (Whole x = 0; x < out.columns; ++x) {
      for (Whole c = 0; c < out.channels; ++c)
        out.pixel(y, x)[c] = static_cast<std::int32_t>(sample(image, n, y, x, c));
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
  return turned(carved(turned(narrow), arguments.dim("height"), energy, sixteen)).samples;
}

// Everything that the results follow from.
std::size_t key_of(const Arguments& arguments) {
  std::string text(name_of(arguments.element()));
  for (const auto& [name, word] : arguments.words()) text += "\n" + name + "=" + word;
  for (const auto& [name, size] : arguments.dims()) text += "\n" + name + "=" + std::to_string(size);
  std::size_t out = std::hash<std::string>{}(text);
  for (const char* name : {"image", "protect", "remove"})
    if (arguments.has(name)) {
      const Array packed = packed_copy(arguments.array(name));
      out = out * 31 + std::hash<std::string_view>{}({packed.as<char>(), packed.view().bytes()});
    }
  return out;
}

}  // namespace

// A row needs its whole picture, and is asked for by several threads, one row after another.
void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data, Expected& expected) {
  static std::mutex mutex;
  static std::size_t last_key = 0;
  static std::vector<std::vector<std::int32_t>> last;
  if (rows.empty()) return;
  (void)setting_of(arguments);
  const std::scoped_lock lock(mutex);
  if (const std::size_t key = key_of(arguments); key != last_key || last.empty()) {
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

std::vector<std::int64_t> suspect_rows(const Arguments& arguments, Data, std::uint64_t) {
  return differing_rows(arguments, "carved",
                        [](const Arguments& again) { carve_banded(again, host_threads()); });
}

}  // namespace tessera::seamcarve
