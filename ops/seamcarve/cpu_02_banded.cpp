// SPDX-License-Identifier: Apache-2.0
// CPU rung 2: costs are kept, and only those around the removed seam are computed again. The fastest CPU
// rung.
//
// A seam changes the costs beside it; changes in a row can reach one more column on either side of the next
// row, and end where the new costs equal the old ones: the band usually closes soon. A row's stretch is
// computed with vectors, for each instruction set (Highway). A removed pixel's gap is closed from the shorter
// side of its row, on every core. Moving the rows limits it now. Sums are integers, so the seams are those of
// the previous rung.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/seamcarve/cpu_02_banded.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "seamcarve.hpp"

#ifndef TESSERA_SEAMCARVE_STRETCH
#define TESSERA_SEAMCARVE_STRETCH
namespace tessera::seamcarve {

// Columns first … last − 1 of a row of costs.
template <class Sum>
struct Stretch {
  const Pixel *above, *here, *below;
  const Sum* costs_above;  // null: there is no row above
  Sum* to;                 // [0] is column `first`
  std::int32_t width, first, last;
  Energy energy;
};

template <class Sum>
SIMT Sum cost_at(const Stretch<Sum>& s, std::int32_t x) {
  const auto grey = [](const Pixel* row, std::int32_t at) { return grey_of(row[at]); };
  const std::int32_t left = x > 0 ? x - 1 : 0, right = x + 1 < s.width ? x + 1 : x;
  const Neighbourhood a{grey(s.here, left), grey(s.here, x), grey(s.here, right), grey(s.above, x),
                        grey(s.below, x)};
  const Sum own = with_mark<Sum>(own_energy(s.energy, a), s.here[x]);
  if (s.costs_above == nullptr) return own;
  return own + cheapest_into(s.energy, a, x > 0 ? s.costs_above[x - 1] : beyond<Sum>, s.costs_above[x],
                             x + 1 < s.width ? s.costs_above[x + 1] : beyond<Sum>)
                   .cost;
}

}  // namespace tessera::seamcarve
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::seamcarve {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Computes the costs of a vector of columns from x on, none of them at an edge.
template <class D>
HWY_INLINE void whole_vector(D d, const Stretch<Plain>& s, std::int32_t x) {
  const hn::Rebind<Pixel, D> narrow;
  const auto pixels = [&](const Pixel* row, std::int32_t at) {
    return hn::PromoteTo(d, hn::LoadU(narrow, row + at));
  };
  const auto low = hn::Set(d, (1 << grey_bits) - 1);
  const auto grey = [&](const Pixel* row, std::int32_t at) { return hn::And(pixels(row, at), low); };
  const auto apart = [&](auto a, auto b) { return hn::Abs(hn::Sub(a, b)); };
  const auto left = grey(s.here, x - 1), right = grey(s.here, x + 1), above = grey(s.above, x);
  auto own = apart(left, right);
  if (s.energy == Energy::laplacian) {
    const auto around = hn::Add(hn::Add(left, right), hn::Add(above, grey(s.below, x)));
    own = apart(around, hn::ShiftLeft<2>(grey(s.here, x)));
  } else if (s.energy == Energy::gradient) {
    own = hn::Add(own, apart(above, grey(s.below, x)));
  }
  if (s.costs_above != nullptr) {
    auto from_left = hn::LoadU(d, s.costs_above + x - 1), from_right = hn::LoadU(d, s.costs_above + x + 1);
    if (s.energy == Energy::forward) {
      from_left = hn::Add(from_left, apart(above, left));
      from_right = hn::Add(from_right, apart(above, right));
    }
    own = hn::Add(own, hn::Min(hn::LoadU(d, s.costs_above + x), hn::Min(from_left, from_right)));
  }
  hn::StoreU(own, d, s.to + (x - s.first));
}

void costs_of(const Stretch<Plain>& s) {
  const hn::ScalableTag<std::int32_t> d;
  const auto lanes = static_cast<std::int32_t>(hn::Lanes(d));
  std::int32_t x = s.first;
  for (; x < s.last && x == 0; ++x) s.to[x - s.first] = cost_at(s, x);
  for (; x + lanes <= std::min(s.last, s.width - 1); x += lanes) whole_vector(d, s, x);
  for (; x < s.last; ++x) s.to[x - s.first] = cost_at(s, x);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::seamcarve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <cstring>
#include "cpu_pass.hpp"
#include "tessera/rung.hpp"

namespace tessera::seamcarve {
namespace {

HWY_EXPORT(costs_of);

void sum_up(const Stretch<Plain>& s) { HWY_DYNAMIC_DISPATCH(costs_of)(s); }
// Uses no vectors, because costs of 64 bits fill half as many lanes and masks are rare.
void sum_up(const Stretch<Masked>& s) {
  for (std::int32_t x = s.first; x < s.last; ++x) s.to[x - s.first] = cost_at(s, x);
}

template <class Sum>
class Banded {
 public:
  Banded(Greys greys, int threads)
      : greys_(std::move(greys)),
        threads_(threads),
        width_(greys_.direction.across),
        costs_(greys_.pixels.size()),
        start_(rows()),
        seam_(rows()),
        fresh_(place(width_)) {}

  std::int32_t width() const { return width_; }

  // Removes the next seam.
  const std::vector<std::int32_t>& next() {
    if (width_ == greys_.direction.across) sum_up_everything();
    else sum_up_again();
    const std::int32_t last = greys_.direction.length - 1;
    std::int32_t x =
        static_cast<std::int32_t>(std::min_element(costs(last), costs(last) + width_) - costs(last));
    for (std::int32_t y = last; y >= 0; --y) {
      seam_[place(y)] = x;
      x += step(y, x);
    }
    for_rows(threads_, greys_.direction, [this](std::int64_t y) { close(static_cast<std::int32_t>(y)); });
    --width_;
    return seam_;
  }

 private:
  static std::size_t place(std::int32_t i) { return static_cast<std::size_t>(i); }
  std::size_t rows() const { return place(greys_.direction.length); }
  std::size_t at(std::int32_t y) const {
    return place(y) * place(greys_.direction.across) + place(start_[place(y)]);
  }
  Pixel* pixels(std::int32_t y) { return greys_.pixels.data() + at(y); }
  Sum* costs(std::int32_t y) { return costs_.data() + at(y); }

  Stretch<Sum> stretch(std::int32_t y, std::int32_t first, std::int32_t last, Sum* to) {
    return {pixels(std::max(y - 1, 0)),
            pixels(y),
            pixels(std::min(y + 1, greys_.direction.length - 1)),
            y == 0 ? nullptr : costs(y - 1),
            to,
            width_,
            first,
            last,
            greys_.energy};
  }

  void sum_up_everything() {
    for (std::int32_t y = 0; y < greys_.direction.length; ++y) sum_up(stretch(y, 0, width_, costs(y)));
  }

  // A seam affects three columns on either side: by its own greys, those of the rows above and below, and the
  // steps between.
  void sum_up_again() {
    constexpr std::int32_t reach = 3;
    std::int32_t changed_first = 0, changed_last = 0;
    for (std::int32_t y = 0; y < greys_.direction.length; ++y) {
      std::int32_t first = seam_[place(y)] - reach, last = seam_[place(y)] + reach + 1;
      if (changed_first < changed_last) {
        first = std::min(first, changed_first - 1);
        last = std::max(last, changed_last + 1);
      }
      first = std::max(first, 0);
      last = std::min(last, width_);
      sum_up(stretch(y, first, last, fresh_.data()));
      const Sum *const old = costs(y) + first, *const fresh = fresh_.data();
      std::int32_t from = 0, to = last - first;
      while (from < to && old[from] == fresh[from]) ++from;
      while (from < to && old[to - 1] == fresh[to - 1]) --to;
      std::copy(fresh + from, fresh + to, costs(y) + first + from);
      changed_first = first + from;
      changed_last = first + to;
    }
  }

  std::int32_t step(std::int32_t y, std::int32_t x) {
    if (y == 0) return 0;
    const Pixel *const here = pixels(y), *const above = pixels(y - 1);
    const Sum* const c = costs(y - 1);
    const bool leftmost = x == 0, rightmost = x + 1 == width_;
    const Neighbourhood a{grey_of(here[leftmost ? x : x - 1]), 0, grey_of(here[rightmost ? x : x + 1]),
                          grey_of(above[x]), 0};
    return cheapest_into(greys_.energy, a, leftmost ? beyond<Sum> : c[x - 1], c[x],
                         rightmost ? beyond<Sum> : c[x + 1])
        .step;
  }

  void close(std::int32_t y) {
    const std::size_t x = place(seam_[place(y)]), behind = place(width_) - x - 1;
    Pixel* const p = pixels(y);
    Sum* const c = costs(y);
    if (x < behind) {
      std::memmove(p + 1, p, x * sizeof *p);
      std::memmove(c + 1, c, x * sizeof *c);
      ++start_[place(y)];
    } else {
      std::memmove(p + x, p + x + 1, behind * sizeof *p);
      std::memmove(c + x, c + x + 1, behind * sizeof *c);
    }
  }

  Greys greys_;
  int threads_;
  std::int32_t width_;
  std::vector<Sum> costs_;
  std::vector<std::int32_t> start_, seam_;  // starts of rows; the last seam
  std::vector<Sum> fresh_;                  // costs to compare
};

template <class Sum>
Seams find_by(Greys greys, int threads) {
  const std::int32_t seams = greys.direction.seams;
  Banded<Sum> search(std::move(greys), threads);
  Seams out;
  for (std::int32_t n = 0; n < seams; ++n) {
    const auto& seam = search.next();
    out.insert(out.end(), seam.begin(), seam.end());
  }
  return out;
}

template <class T>
void run_banded(const Problem<T>& p, int threads) {
  carve_on_host(p, threads, [threads](Greys greys) {
    return greys.masked ? find_by<Masked>(std::move(greys), threads)
                        : find_by<Plain>(std::move(greys), threads);
  });
}

template <class T>
std::int64_t count_seams(const Source<T>& picture, Energy energy, int threads) {
  Direction d;
  d.length = static_cast<std::int32_t>(picture.pixels.extent[0]);
  d.across = static_cast<std::int32_t>(picture.pixels.extent[1]);
  d.unwanted_count = true;
  std::vector<std::vector<bool>> left(static_cast<std::size_t>(d.length));
  std::int64_t unwanted_left = 0;
  for (std::int32_t y = 0; y < d.length; ++y) {
    auto& row = left[static_cast<std::size_t>(y)];
    for (std::int32_t x = 0; x < d.across; ++x) row.push_back(picture.mark_at(y, x) == unwanted);
    const auto here = std::count(row.begin(), row.end(), true);
    if (here == d.across)
      throw Error("--remove marks all of row " + std::to_string(y) + ": nothing would be left of it");
    unwanted_left += here;
  }
  Banded<Masked> search(greys_of(picture, d, energy, true, threads), threads);
  std::int64_t out = 0;
  for (; unwanted_left != 0 && search.width() > 1; ++out) {
    const auto& seam = search.next();
    for (std::size_t y = 0; y < left.size(); ++y) {
      unwanted_left -= left[y][static_cast<std::size_t>(seam[y])] ? 1 : 0;
      left[y].erase(left[y].begin() + seam[y]);
    }
  }
  if (unwanted_left != 0)
    throw Error("no seams remove all that --remove marks; --width sets the number of seams");
  return out;
}

}  // namespace

void carve_banded(const Arguments& arguments, int threads) {
  if (arguments.element() == Element::u8) run_banded(Problem<std::uint8_t>::of(arguments), threads);
  else run_banded(Problem<std::uint16_t>::of(arguments), threads);
}

std::int64_t seams_to_clear(const Source<std::uint8_t>& picture, Energy energy, int threads) {
  return count_seams(picture, energy, threads);
}
std::int64_t seams_to_clear(const Source<std::uint16_t>& picture, Energy energy, int threads) {
  return count_seams(picture, energy, threads);
}

namespace {
const Rung rung{
    "costs kept, only the band that a seam changes computed again, with vectors; rows moved on all cores",
    Where::cpu,
    {choice_of<Problem>([](const auto& p, const Tuning&, Run& run) { run_banded(p, run.device->threads); })}};
}  // namespace

}  // namespace tessera::seamcarve
#endif
