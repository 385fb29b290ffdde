// SPDX-License-Identifier: Apache-2.0
// CPU rung 1: all costs are computed again for each seam, on one core.
//
// Removing a seam changes only the costs around it: the next rung keeps the others.
#include "cpu_pass.hpp"
#include "tessera/rung.hpp"

namespace tessera::seamcarve {
namespace {

template <class Sum>
class Naive {
 public:
  explicit Naive(Greys greys)
      : greys_(std::move(greys)), width_(greys_.direction.across), costs_(greys_.pixels.size()) {}

  void next(std::int32_t* seam) {
    const std::int32_t length = greys_.direction.length;
    for (std::int32_t y = 0; y < length; ++y)
      for (std::int32_t x = 0; x < width_; ++x) {
        const Neighbourhood a = around(y, x);
        const Sum own = with_mark<Sum>(own_energy(greys_.energy, a), pixel(y, x));
        costs_[at(y, x)] = y == 0 ? own : own + way(y, x, a).cost;
      }
    std::int32_t x = 0;
    for (std::int32_t other = 1; other < width_; ++other)
      if (costs_[at(length - 1, other)] < costs_[at(length - 1, x)]) x = other;
    for (std::int32_t y = length - 1; y >= 0; --y) {
      seam[y] = x;
      if (y > 0) x += way(y, x, around(y, x)).step;
    }
    close(seam);
  }

 private:
  std::size_t at(std::int32_t y, std::int32_t x) const {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(greys_.direction.across) +
           static_cast<std::size_t>(x);
  }
  Pixel pixel(std::int32_t y, std::int32_t x) const { return greys_.pixels[at(y, x)]; }
  std::int32_t grey(std::int32_t y, std::int32_t x) const { return grey_of(pixel(y, x)); }
  Neighbourhood around(std::int32_t y, std::int32_t x) const {
    const std::int32_t below = std::min(y + 1, greys_.direction.length - 1);
    return {grey(y, std::max(x - 1, 0)), grey(y, x), grey(y, std::min(x + 1, width_ - 1)),
            grey(std::max(y - 1, 0), x), grey(below, x)};
  }
  Sum cost(std::int32_t y, std::int32_t x) const {
    return x < 0 || x >= width_ ? beyond<Sum> : costs_[at(y, x)];
  }
  StepCost<Sum> way(std::int32_t y, std::int32_t x, const Neighbourhood& a) const {
    return cheapest_into(greys_.energy, a, cost(y - 1, x - 1), cost(y - 1, x), cost(y - 1, x + 1));
  }
  void close(const std::int32_t* seam) {
    for (std::int32_t y = 0; y < greys_.direction.length; ++y)
      std::copy(&greys_.pixels[at(y, seam[y])] + 1, &greys_.pixels[at(y, 0)] + width_,
                &greys_.pixels[at(y, seam[y])]);
    --width_;
  }

  Greys greys_;
  std::int32_t width_;
  std::vector<Sum> costs_;
};

template <class Sum>
Seams find_by(Greys greys) {
  const Direction d = greys.direction;
  Seams out(static_cast<std::size_t>(d.seams) * static_cast<std::size_t>(d.length));
  Naive<Sum> search(std::move(greys));
  for (std::int32_t n = 0; n < d.seams; ++n)
    search.next(&out[static_cast<std::size_t>(n) * static_cast<std::size_t>(d.length)]);
  return out;
}

Seams find(Greys greys) {
  return greys.masked ? find_by<Masked>(std::move(greys)) : find_by<Plain>(std::move(greys));
}

const Rung rung{"all costs anew for each seam, on one core",
                Where::cpu,
                {choice_of<Problem>([](const auto& p, const Tuning&, Run&) { carve_on_host(p, 1, find); })}};

}  // namespace
}  // namespace tessera::seamcarve
