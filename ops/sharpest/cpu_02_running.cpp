// SPDX-License-Identifier: Apache-2.0
// CPU rung 2: running sums, every core.
//
// A window differs from the one before it by two column sums, so it takes two additions, whatever its size. A
// column's sum moves down a row in the same way. The bottleneck is computing the edges.
#include <algorithm>
#include "sharpest.hpp"
#include "tessera/core/device/device.hpp"
#include "tessera/core/device/parallel.hpp"
#include "tessera/rung.hpp"

namespace tessera::sharpest {
namespace {

using Row = std::vector<std::uint64_t>;

// A band of rows of the result.
template <class T>
class Band {
 public:
  Band(const Problem<T>& p, int begin, int end)
      : p_(p), begin_(begin), end_(end), width_(static_cast<std::size_t>(p.width())), column_(width_) {
    const std::size_t pixels = width_ * static_cast<std::size_t>(end - begin);
    most_.resize(pixels);
    best_.resize(pixels);
  }

  void run() {
    for (int plane = 0; plane < p_.planes(); ++plane) take(plane);
    for (int y = begin_; y < end_; ++y)
      for (int x = 0; x < p_.width(); ++x) p_.store(y, x, best_[at(y, x)]);
  }

 private:
  std::size_t at(int y, int x) const {
    return static_cast<std::size_t>(y - begin_) * width_ + static_cast<std::size_t>(x);
  }

  // Adds a row's edges to the column sums, and keeps them for the later subtraction.
  void add_edges(int plane, int y) {
    Row row(width_);
    for (int x = 0; x < p_.width(); ++x)
      column_[static_cast<std::size_t>(x)] += row[static_cast<std::size_t>(x)] = p_.edge(plane, y, x);
    kept_.push_back(std::move(row));
  }

  void take(int plane) {
    std::ranges::fill(column_, 0);
    kept_.clear();
    const int first = std::max(0, begin_ - p_.radius);
    for (int y = first; y < std::min(begin_ + p_.radius, p_.height()); ++y) add_edges(plane, y);
    for (int y = begin_; y < end_; ++y) {
      if (y + p_.radius < p_.height()) add_edges(plane, y + p_.radius);
      if (const int above = y - p_.radius - 1; above >= first)
        for (std::size_t x = 0; x < width_; ++x)
          column_[x] -= kept_[static_cast<std::size_t>(above - first)][x];
      compare(plane, y);
    }
  }

  void compare(int plane, int y) {
    std::uint64_t sum = 0;
    for (int x = 0; x < std::min(p_.radius, p_.width()); ++x) sum += column_[static_cast<std::size_t>(x)];
    for (int x = 0; x < p_.width(); ++x) {
      if (x + p_.radius < p_.width()) sum += column_[static_cast<std::size_t>(x + p_.radius)];
      if (x > p_.radius) sum -= column_[static_cast<std::size_t>(x - p_.radius - 1)];
      if (sum > most_[at(y, x)]) most_[at(y, x)] = sum, best_[at(y, x)] = plane;
    }
  }

  const Problem<T>& p_;
  int begin_, end_;
  std::size_t width_;
  Row column_, most_;
  std::vector<Row> kept_;
  std::vector<int> best_;
};

template <class T>
void run_running(const Problem<T>& p, int threads) {
  constexpr int min_rows = 64;  // with fewer, bands mostly compute rows that their neighbours compute too
  const int parts = std::clamp(p.height() / min_rows, 1, threads);
  parallel(parts, [&](int part) {
    Band<T>(p, static_cast<int>(std::int64_t{p.height()} * part / parts),
            static_cast<int>(std::int64_t{p.height()} * (part + 1) / parts))
        .run();
  });
}

const Rung rung{"windows as running sums, all cores",
                Where::cpu,
                {choice_of<Problem>(
                    [](const auto& p, const Tuning&, Run& run) { run_running(p, run.device->threads); })}};

}  // namespace
}  // namespace tessera::sharpest
