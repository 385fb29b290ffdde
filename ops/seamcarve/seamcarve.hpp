// SPDX-License-Identifier: Apache-2.0
// Pictures made narrower, lower, wider or higher by the seams that cost least: docs/seamcarve.md.
#pragma once
#include "setting.hpp"
#include "tessera/core/element.hpp"
#include "tessera/core/view.hpp"

namespace tessera::seamcarve {
inline namespace TESSERA_UNIT {

// A picture with what the masks say of it, as one direction sees it: [along a seam, across it, channels].
template <class T>
struct Source {
  View<const T, 3> pixels;
  View<const std::uint8_t, 3> protect, remove;  // no data: no mask
  View<const std::uint8_t, 2> marks;            // or those of a direction before

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

// Rows are columns.
template <class T, int rank>
SIMT View<T, rank> turned(View<T, rank> view, bool turn) {
  if (!turn) return view;
  const std::int64_t extent = view.extent[0], stride = view.stride[0];
  view.extent[0] = view.extent[1];
  view.stride[0] = view.stride[1];
  view.extent[1] = extent;
  view.stride[1] = stride;
  return view;
}

template <class T>
struct Problem {
  using Elements = Types<std::uint8_t, std::uint16_t>;

  View<const T, 4> image;                       // [images,rows,columns,channels]
  View<const std::uint8_t, 4> protect, remove;  // [images,rows,columns,channels], or no data
  View<T, 4> carved;                            // [images,height,width,channels]
  Setting setting;
  void* workspace = nullptr;

  SIMT std::int64_t images() const { return carved.extent[0]; }
  SIMT std::int64_t channels() const { return carved.extent[3]; }
  SIMT bool masked() const { return protect.data != nullptr || remove.data != nullptr; }

  SIMT Source<T> source(std::int64_t n) const {
    return {one_of(image, n), one_of(protect, n), one_of(remove, n), {}};
  }

  static Problem of(const Arguments& arguments) {
    Problem p;
    p.setting = setting_of(arguments);
    p.image = arguments.view<const T, 4>("image");
    p.carved = arguments.view<T, 4>("carved");
    p.protect = arguments.view<const std::uint8_t, 4>("protect");
    p.remove = arguments.view<const std::uint8_t, 4>("remove");
    return p;
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::seamcarve
