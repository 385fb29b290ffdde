// SPDX-License-Identifier: Apache-2.0
// The steps around the search, common to all CPU rungs: computing a picture's grey values, and assembling the
// result.
#pragma once
#include <span>
#include <vector>
#include "seamcarve.hpp"
#include "tessera/core/device/parallel.hpp"

namespace tessera::seamcarve {

struct Greys {
  std::vector<Pixel> pixels;  // [length,across], row-major
  Direction direction;
  Energy energy = Energy::gradient;
  bool masked = false;
};

// [seams,length]: columns as they were when each seam was found.
using Seams = std::vector<std::int32_t>;

// Divides rows among threads if there are enough pixels.
template <class F>
void for_rows(int threads, const Direction& d, const F& f) {
  constexpr std::int64_t worth_a_thread = 1 << 16;
  const std::int64_t pixels = std::int64_t{d.length} * d.across;
  const auto parts =
      static_cast<int>(std::min<std::int64_t>({threads, d.length, pixels / worth_a_thread + 1}));
  parallel(parts, [&](int part) {
    const std::int64_t rows = d.length;
    for (std::int64_t y = rows * part / parts; y < rows * (part + 1) / parts; ++y) f(y);
  });
}

template <class T>
struct HostPass {
  Source<T> from;
  View<T, 3> to;
  View<std::uint8_t, 2> marks_to;
  Direction direction;

  void gather_row(const Seams& seams, std::int64_t y, std::vector<char>& taken) const {
    const Direction& d = direction;
    taken.assign(static_cast<std::size_t>(d.across), 0);
    const auto seam = [&](std::int64_t n) { return seams[static_cast<std::size_t>(n * d.length + y)]; };
    for (std::int32_t n = 0; n < d.seams; ++n) {
      std::int32_t x = seam(n);
      for (std::int32_t i = n - 1; i >= 0; --i) x += x >= seam(i) ? 1 : 0;
      taken[static_cast<std::size_t>(x)] = 1;
    }
    std::int64_t at = 0;
    const auto put = [&](std::int64_t x, std::int64_t next) {
      for (std::int64_t c = 0; c < to.extent[2]; ++c)
        to(y, at, c) = between(from.pixels(y, x, c), from.pixels(y, next, c));
      if (marks_to.data != nullptr) marks_to(y, at) = static_cast<std::uint8_t>(from.mark_at(y, x));
      ++at;
    };
    for (std::int64_t x = 0; x < d.across; ++x) {
      const bool here = taken[static_cast<std::size_t>(x)] != 0;
      if (d.enlarges || !here) put(x, x);
      if (d.enlarges && here) put(x, std::min<std::int64_t>(x + 1, d.across - 1));
    }
  }
};

template <class T>
Greys greys_of(const Source<T>& from, const Direction& d, Energy energy, bool masked, int threads) {
  Greys out{std::vector<Pixel>(static_cast<std::size_t>(d.length) * static_cast<std::size_t>(d.across)), d,
            energy, masked};
  for_rows(threads, d, [&](std::int64_t y) {
    for (std::int64_t x = 0; x < d.across; ++x)
      out.pixels[static_cast<std::size_t>(y * d.across + x)] = from.pixel_at(y, x, d.unwanted_count);
  });
  return out;
}

// find(greys) returns the seams.
template <class T, class Find>
void carve_on_host(const Problem<T>& p, int threads, const Find& find) {
  const std::int64_t rows = p.image.extent[1], width = p.carved.extent[2], channels = p.channels();
  const bool twice = p.options.directions == 2;
  std::vector<T> samples(twice ? static_cast<std::size_t>(rows * width * channels) : 0);
  std::vector<std::uint8_t> marks(twice && p.masked() ? static_cast<std::size_t>(rows * width) : 0);
  const View<T, 3> between = packed<T, 3>(samples.data(), {rows, width, channels});
  const View<std::uint8_t, 2> marks_between =
      packed<std::uint8_t, 2>(marks.empty() ? nullptr : marks.data(), {rows, width});
  for (std::int64_t n = 0; n < p.images(); ++n)
    for (int i = 0; i < p.options.directions; ++i) {
      const Direction& d = p.options.direction[i];
      const bool first = i == 0, last = i + 1 == p.options.directions;
      Source<T> from = first ? p.source(n) : Source<T>{constant(between), {}, {}, constant(marks_between)};
      from = transposed(from, d.transposed);
      const HostPass<T> pass{from, transposed(last ? one_of(p.carved, n) : between, d.transposed),
                             last ? View<std::uint8_t, 2>{} : marks_between, d};
      const Seams seams =
          d.seams == 0 ? Seams{} : find(greys_of(from, d, p.options.energy, p.masked(), threads));
      for_rows(threads, d, [&](std::int64_t y) {
        thread_local std::vector<char> taken;
        pass.gather_row(seams, y, taken);
      });
    }
}

}  // namespace tessera::seamcarve
