// SPDX-License-Identifier: Apache-2.0
// Seam carving: pictures become narrower, lower, wider or higher by the seams of least cost.
// docs/seamcarve.md has the formulas, in integers, so that every device finds the same seams.
#pragma once
#include <cstdint>
#include <type_traits>
#include "tessera/core/operation/arguments.hpp"
#include "tessera/core/array/element.hpp"
#include "tessera/core/device/thread.hpp"
#include "tessera/core/device/view.hpp"

namespace tessera::seamcarve {

enum class Energy : std::uint8_t { gradient, laplacian, forward };

// A pixel for the search: 14 bits of grey and, above them, its mark from the masks.
using Pixel = std::uint16_t;
inline constexpr int grey_bits = 14;
enum Mark : std::uint8_t { plain = 0, kept = 1, unwanted = 2 };

// Without masks, costs have 32 bits. With masks, a cost is one number of 64 bits: first the pixels to keep
// that a path crosses, then the pixels to remove, then energies; none of the three can outweigh the one
// before it.
using Plain = std::int32_t;
using Masked = std::int64_t;
inline constexpr std::int32_t longest_masked = 65535;
inline constexpr Masked unwanted_weight = Masked{1} << 30, kept_weight = Masked{1} << 46;
static_assert(longest_masked * unwanted_weight + (Masked{1} << 29) < kept_weight);

// Greater than the cost of any seam; additions to it do not overflow.
template <class Sum>
inline constexpr Sum beyond = 2000000000;
template <>
inline constexpr Masked beyond<Masked> = Masked{1} << 62;
static_assert(longest_masked * kept_weight < beyond<Masked>);

inline namespace TESSERA_UNIT {

SIMT std::int32_t grey_of(Pixel pixel) { return pixel & ((1 << grey_bits) - 1); }
SIMT Pixel marked(std::int32_t grey, unsigned mark) { return static_cast<Pixel>(grey | mark << grey_bits); }

// Returns the contribution to the grey value: the upper 12 of 16 bits.
template <class T>
SIMT std::int32_t grey_share(std::int32_t sum) {
  return std::is_same_v<T, std::uint16_t> ? sum >> 4 : sum;
}

SIMT std::int32_t distance(std::int32_t a, std::int32_t b) { return a < b ? b - a : a - b; }

// Grey values of a pixel and its neighbours; beyond an edge, the pixel itself.
struct Neighbourhood {
  std::int32_t left, here, right, above, below;
};

template <Energy energy>
SIMT std::int32_t own_energy(const Neighbourhood& a) {
  if constexpr (energy == Energy::gradient) return distance(a.left, a.right) + distance(a.above, a.below);
  else if constexpr (energy == Energy::laplacian)
    return distance(a.left + a.right + a.above + a.below, 4 * a.here);
  else return distance(a.left, a.right);
}

SIMT std::int32_t own_energy(Energy energy, const Neighbourhood& a) {
  if (energy == Energy::gradient) return own_energy<Energy::gradient>(a);
  if (energy == Energy::laplacian) return own_energy<Energy::laplacian>(a);
  return own_energy<Energy::forward>(a);
}

// Returns the weight that a pixel's mark adds to its energy.
template <class Sum>
SIMT Sum weight_of(int mark) {
  if constexpr (sizeof(Sum) == sizeof(Plain)) return 0;
  else return mark == plain ? 0 : mark == kept ? kept_weight : -unwanted_weight;
}
template <class Sum>
SIMT Sum with_mark(std::int32_t energy, Pixel pixel) {
  return energy + weight_of<Sum>(pixel >> grey_bits);
}

// The cheapest of the three steps from the row above, the leftmost of equal ones.
template <class Sum>
struct StepCost {
  Sum cost;
  std::int32_t step;  // −1, 0 or 1
};

template <class Sum>
SIMT StepCost<Sum> cheapest(Sum left, Sum above, Sum right) {
  StepCost<Sum> out{left, -1};
  if (above < out.cost) out = {above, 0};
  if (right < out.cost) out = {right, 1};
  return out;
}

// Includes the forward energy of the edges that a step creates.
template <class Sum>
SIMT StepCost<Sum> cheapest_into(Energy energy, const Neighbourhood& a, Sum left, Sum above, Sum right) {
  if (energy != Energy::forward) return cheapest(left, above, right);
  return cheapest<Sum>(left + distance(a.above, a.left), above, right + distance(a.above, a.right));
}

// A column of a row and its cost; of equal costs the leftmost one compares as less.
template <class Sum>
struct ColumnCost {
  Sum cost;
  std::int32_t column;
};
template <class Sum>
SIMT ColumnCost<Sum> min_of(const ColumnCost<Sum>& a, const ColumnCost<Sum>& b) {
  return b.cost < a.cost || (b.cost == a.cost && b.column < a.column) ? b : a;
}

// Returns the pixel that doubling a seam inserts after one of the seam's pixels.
template <class T>
SIMT T between(T a, T b) {
  return static_cast<T>((std::int32_t{a} + std::int32_t{b} + 1) >> 1);
}

}  // namespace TESSERA_UNIT

// Seams along one direction. `across` is the side that changes, `length` the other side at that time.
struct Direction {
  std::int32_t length = 0, across = 0, seams = 0;
  bool transposed = false;      // the side that changes is the height
  bool enlarges = false;        // seams are doubled, not removed
  bool unwanted_count = false;  // true: the mask of pixels to remove counts

  std::int32_t result() const { return enlarges ? across + seams : across - seams; }
};

// The directions that change, and their numbers of seams.
struct Options {
  Energy energy = Energy::gradient;
  int directions = 0;  // those that change, the width first; at least one
  Direction direction[2];
};

// Throws Error if a size is out of its range.
Options options_of(const Arguments& arguments);

Energy energy_named(const std::string& name);
// Throws Error if the costs of seams of that length could overflow.
void check_sums(std::int64_t length, std::int64_t channels, Element element, bool masked);

inline namespace TESSERA_UNIT {

// A picture with its masks, as one direction sees it: [along a seam, across it, channels].
template <class T>
struct Source {
  View<const T, 3> pixels;
  View<const std::uint8_t, 3> protect, remove;  // no data: no mask
  View<const std::uint8_t, 2> marks;            // or the marks from the direction before

  SIMT static bool is_marked(const View<const std::uint8_t, 3>& mask, std::int64_t y, std::int64_t x) {
    constexpr int least = 128;
    bool out = false;
    for (std::int64_t c = 0; mask.data != nullptr && c < mask.extent[2]; ++c) out |= mask(y, x, c) >= least;
    return out;
  }

  SIMT unsigned mark_at(std::int64_t y, std::int64_t x) const {
    if (marks.data != nullptr) return marks(y, x);
    if (is_marked(protect, y, x)) return kept;
    return is_marked(remove, y, x) ? unwanted : plain;
  }

  SIMT Pixel pixel_at(std::int64_t y, std::int64_t x, bool unwanted_count) const {
    std::int32_t sum = 0;
    for (std::int64_t c = 0; c < pixels.extent[2]; ++c) sum += pixels(y, x, c);
    const unsigned mark = mark_at(y, x);
    return marked(grey_share<T>(sum), mark == unwanted && !unwanted_count ? unsigned{plain} : mark);
  }
};

template <class T, int rank>
SIMT View<T, rank - 1> one_of(const View<T, rank>& all, std::int64_t n) {
  View<T, rank - 1> out;
  out.data = all.data == nullptr ? nullptr : all.data + n * all.stride[0];
  for (int d = 1; d < rank; ++d) {
    out.extent[d - 1] = all.extent[d];
    out.stride[d - 1] = all.stride[d];
  }
  return out;
}

template <class T, int rank>
SIMT View<T, rank> packed(T* data, const std::int64_t (&extents)[rank]) {
  View<T, rank> out;
  out.data = data;
  std::int64_t stride = 1;
  for (int k = rank - 1; k >= 0; --k) {
    out.extent[k] = extents[k];
    out.stride[k] = stride;
    stride *= extents[k];
  }
  return out;
}

template <class T, int rank>
SIMT View<const T, rank> constant(const View<T, rank>& view) {
  View<const T, rank> out;
  out.data = view.data;
  for (int k = 0; k < rank; ++k) {
    out.extent[k] = view.extent[k];
    out.stride[k] = view.stride[k];
  }
  return out;
}

// Swaps rows and columns.
template <class T, int rank>
SIMT View<T, rank> transposed(View<T, rank> view, bool turn) {
  if (!turn) return view;
  const std::int64_t extent = view.extent[0], stride = view.stride[0];
  view.extent[0] = view.extent[1];
  view.stride[0] = view.stride[1];
  view.extent[1] = extent;
  view.stride[1] = stride;
  return view;
}
template <class T>
SIMT Source<T> transposed(const Source<T>& from, bool turn) {
  return {transposed(from.pixels, turn), transposed(from.protect, turn), transposed(from.remove, turn),
          transposed(from.marks, turn)};
}

template <class T>
struct Problem {
  using Elements = Types<std::uint8_t, std::uint16_t>;

  View<const T, 4> image;                       // [images,rows,columns,channels]
  View<const std::uint8_t, 4> protect, remove;  // [images,rows,columns,channels], or no data
  View<T, 4> carved;                            // [images,height,width,channels]
  Options options;
  void* workspace = nullptr;

  SIMT std::int64_t images() const { return carved.extent[0]; }
  SIMT std::int64_t channels() const { return carved.extent[3]; }
  SIMT bool masked() const { return protect.data != nullptr || remove.data != nullptr; }

  SIMT Source<T> source(std::int64_t n) const {
    return {one_of(image, n), one_of(protect, n), one_of(remove, n), {}};
  }

  static Problem of(const Arguments& arguments) {
    Problem p;
    p.options = options_of(arguments);
    p.image = arguments.view<const T, 4>("image");
    p.carved = arguments.view<T, 4>("carved");
    p.protect = arguments.view<const std::uint8_t, 4>("protect");
    p.remove = arguments.view<const std::uint8_t, 4>("remove");
    return p;
  }
};

}  // namespace TESSERA_UNIT
// Carves by the fastest rung of the CPU ladder; also used to check large results.
void carve_banded(const Arguments& arguments, int threads);

// Returns the number of seams, across rows, that remove all pixels to remove. Throws Error if a row has no
// other pixels.
std::int64_t seams_to_clear(const Source<std::uint8_t>& picture, Energy energy, int threads);
std::int64_t seams_to_clear(const Source<std::uint16_t>& picture, Energy energy, int threads);

}  // namespace tessera::seamcarve
