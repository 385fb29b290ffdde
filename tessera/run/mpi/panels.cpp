// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/mpi/panels.hpp"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

namespace tessera {

Interval nth_part(std::int64_t extent, std::int64_t parts, std::int64_t index) {
  const std::int64_t each = extent / parts, more = extent % parts;
  const std::int64_t first = index * each + std::min(index, more);
  return {first, first + each + (index < more ? 1 : 0)};
}

double received_bytes(const ProductSize& size, const RankGrid& grid) {
  const auto k = static_cast<double>(size.k);
  return k * ((grid.cols - 1) * static_cast<double>(size.m) * static_cast<double>(size.left_bytes) +
              (grid.rows - 1) * static_cast<double>(size.n) * static_cast<double>(size.right_bytes));
}

double received_by_one(const ProductSize& size, const RankGrid& grid) {
  const auto lacking = [](int parts) { return static_cast<double>(parts - 1) / parts; };
  return static_cast<double>(size.k) *
         (static_cast<double>(nth_part(size.m, grid.rows, 0).size() * size.left_bytes) * lacking(grid.cols) +
          static_cast<double>(nth_part(size.n, grid.cols, 0).size() * size.right_bytes) * lacking(grid.rows));
}

double largest_block(const ProductSize& size, const RankGrid& grid) {
  return static_cast<double>(nth_part(size.m, grid.rows, 0).size()) *
         static_cast<double>(nth_part(size.n, grid.cols, 0).size());
}

RankGrid best_grid(const ProductSize& size, int ranks) {
  constexpr double slack = 9.0 / 8;
  const auto most = [ranks](std::int64_t extent) {
    return static_cast<int>(std::clamp<std::int64_t>(extent, 1, ranks));
  };
  const auto each = [&](const auto& see) {
    for (int p = 1; p <= most(size.m); ++p)
      for (int q = 1; q <= std::min(most(size.n), ranks / p); ++q) see(RankGrid{p, q});
  };
  double smallest = largest_block(size, {1, 1});
  each([&](const RankGrid& grid) { smallest = std::min(smallest, largest_block(size, grid)); });
  RankGrid best{1, 1};
  std::optional<std::pair<double, double>> least;
  each([&](const RankGrid& grid) {
    const double block = largest_block(size, grid);
    if (block > slack * smallest) return;
    const std::pair cost{received_by_one(size, grid), block};
    if (least && cost >= *least) return;
    best = grid;
    least = cost;
  });
  return best;
}

Panels::Panels(std::int64_t extent, std::int64_t depth, int owners)
    : extent_(extent),
      depth_(depth),
      count_(std::max<std::int64_t>(1, (extent + depth - 1) / depth)),
      owners_(owners) {}

Interval Panels::range(std::int64_t panel) const {
  return {std::min(panel * depth_, extent_), std::min((panel + 1) * depth_, extent_)};
}

int Panels::owner(std::int64_t panel) const {
  int owner = 0;
  while (panel >= owned(owner).last) ++owner;
  return owner;
}

Interval Panels::owned(int owner) const { return nth_part(count_, owners_, owner); }

PanelOperand::PanelOperand(const ArrayView& seen, bool over_first, const Panels& panels, int mine)
    : seen_(seen), over_first_(over_first), panels_(panels), mine_(mine) {}

Extents PanelOperand::extents(std::int64_t index) const {
  const std::int64_t depth = panels_.range(index).size(), outer = seen_.extents[0];
  return over_first_ ? Extents{depth, outer} : Extents{outer, depth};
}

void PanelOperand::read() {
  const Interval mine = panels_.owned(mine_);
  for (std::int64_t index = mine.first; index < mine.last; ++index) {
    const ArrayView from = part_of(seen_, {{0, seen_.extents[0]}, panels_.range(index)});
    own_.push_back(packed_copy(over_first_ ? from.transposed() : from));
  }
  // The first panel is the deepest.
  const bool all_mine = mine.size() == panels_.count();
  for (Array& other : others_)
    if (!all_mine) other = Array(seen_.element, extents(0));
}

void* PanelOperand::data(std::int64_t index) {
  Array& held = is_mine(index) ? own_[static_cast<std::size_t>(index - panels_.owned(mine_).first)]
                               : others_[index % 2];
  return held.as<void>();
}

std::size_t PanelOperand::bytes(std::int64_t index) const { return bytes_of(seen_.element, extents(index)); }

ArrayView PanelOperand::panel(std::int64_t index) {
  const Extents packed = extents(index);
  const ArrayView view{data(index), seen_.element, packed, row_major_strides(packed)};
  return over_first_ ? view.transposed() : view;
}

namespace {

using Clock = std::chrono::steady_clock;

double between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}
double since(Clock::time_point start) { return between(start, Clock::now()); }

// A panel of both inputs in transit. It advances only when polled, because most implementations of MPI do
// nothing between calls: a thread polls while this rank computes.
class Arrival {
 public:
  Arrival(Communicator& row, Communicator& col, PanelOperand& left, PanelOperand& right, std::int64_t index)
      : start_(Clock::now()) {
    post(row, left, index);
    post(col, right, index);
  }

  bool done() {
    while (next_ < pending_.size() && pending_[next_]->done()) ++next_;
    if (next_ < pending_.size()) return false;
    if (seconds_ < 0) seconds_ = since(start_);
    return true;
  }
  void wait() {
    for (; next_ < pending_.size(); ++next_) pending_[next_]->wait();
    if (seconds_ < 0) seconds_ = since(start_);
  }

  double seconds() const { return seconds_; }
  Clock::time_point start() const { return start_; }
  bool travels() const { return !pending_.empty(); }
  double received_bytes() const { return received_bytes_; }

 private:
  void post(Communicator& ranks, PanelOperand& operand, std::int64_t index) {
    if (ranks.size() == 1) return;
    pending_.push_back(
        ranks.start_broadcast(operand.data(index), operand.bytes(index), operand.panels().owner(index)));
    if (!operand.is_mine(index)) received_bytes_ += static_cast<double>(operand.bytes(index));
  }

  Clock::time_point start_;
  std::vector<std::unique_ptr<Pending>> pending_;
  std::size_t next_ = 0;
  double seconds_ = -1, received_bytes_ = 0;
};

// Polls during its lifetime. It sleeps in between, to leave the cores to the computation.
class Mover {
 public:
  Mover(Arrival* arrival, bool any_thread) {
    if (arrival == nullptr || arrival->done() || !any_thread) return;
    try {
      thread_ = std::thread([this, arrival] {
        while (!stop_ && !arrival->done()) std::this_thread::sleep_for(std::chrono::microseconds(50));
      });
    } catch (const std::system_error&) {  // without a thread the panel arrives after the sum
    }
  }
  ~Mover() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace

PanelTimes add_panels(Communicator& grid, Communicator& row, Communicator& col, PanelOperand& left,
                      PanelOperand& right, PanelSum& sum,
                      const std::function<void(std::exception_ptr)>& failed) {
  PanelTimes times;
  const auto beginning = Clock::now();
  bool stop = false;
  // Runs `work`; sets `stop` if it failed on any rank.
  const auto attempt = [&](const auto& work) {
    const auto start = Clock::now();
    std::int64_t fails = 0;
    try {
      work();
    } catch (...) {
      fails = 1;
      failed(std::current_exception());
    }
    const auto end = Clock::now();
    times.compute_seconds += between(start, end);
    stop = grid.largest(fails) != 0;
    times.agree_seconds += since(end);
  };
  const std::int64_t count = left.panels().count();
  auto arrival = std::make_unique<Arrival>(row, col, left, right, 0);
  for (std::int64_t index = 0; index < count && !stop; ++index) {
    const auto start = Clock::now();
    arrival->wait();
    times.wait_seconds += since(start);
    times.transfer_seconds += arrival->seconds();
    times.received_bytes += arrival->received_bytes();
    const auto panel = static_cast<std::size_t>(index);
    if (const double first = between(beginning, arrival->start()); arrival->travels())
      times.spans.push_back({0, Activity::message, panel, first, first + arrival->seconds()});
    arrival.reset();
    if (index + 1 < count) arrival = std::make_unique<Arrival>(row, col, left, right, index + 1);
    attempt([&] {
      const Mover mover(arrival.get(), grid.any_thread());
      const double first = since(beginning);
      sum.add(left.panel(index), right.panel(index).transposed());
      times.spans.push_back({0, Activity::compute, panel, first, since(beginning)});
    });
  }
  if (arrival != nullptr) arrival->wait();
  if (!stop) attempt([&] { sum.finish(); });
  return times;
}

}  // namespace tessera
