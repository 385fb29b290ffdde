// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/distributed.hpp"
#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>

namespace tessera::dist {
namespace {

using Clock = std::chrono::steady_clock;

double between(Clock::time_point start, Clock::time_point end) {
  return std::chrono::duration<double>(end - start).count();
}
double since(Clock::time_point start) { return between(start, Clock::now()); }

// A panel of both inputs on its way. It is moved on by whoever asks, for most implementations of MPI do
// nothing between calls: while this rank computes, a thread asks.
class Arrival {
 public:
  Arrival(Communicator& row, Communicator& col, Operand& left, Operand& right, std::int64_t index)
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
  void post(Communicator& ranks, Operand& operand, std::int64_t index) {
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

// Asks while it lives. It sleeps in between: the cores are for computing.
class Mover {
 public:
  Mover(Arrival* arrival, bool any_thread) {
    if (arrival == nullptr || arrival->done() || !any_thread) return;
    try {
      thread_ = std::thread([this, arrival] {
        while (!stop_ && !arrival->done()) std::this_thread::sleep_for(std::chrono::microseconds(50));
      });
    } catch (const std::system_error&) {  // without one the panel comes after the sum
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

// Whether any rank has failed, asked of all without waiting for the slowest: the answer of one panel is read
// two panels later, by all at the same place.
class Warnings {
 public:
  explicit Warnings(Communicator& grid) : grid_(grid) {}

  void tell(std::int64_t index, bool failed) {
    Warning& warning = slots_[index % 2];
    warning.value = failed ? 1 : 0;
    warning.pending = grid_.start_largest(warning.value);
  }
  bool read(std::int64_t index) {
    Warning& warning = slots_[index % 2];
    warning.pending->wait();
    warning.pending.reset();
    return warning.value != 0;
  }

 private:
  struct Warning {
    std::int64_t value = 0;
    std::unique_ptr<Pending> pending;
  };
  Communicator& grid_;
  Warning slots_[2];
};

}  // namespace

PanelTimes add_panels(Communicator& grid, Communicator& row, Communicator& col, Operand& left, Operand& right,
                      PanelSum& sum, const std::function<void(std::exception_ptr)>& failed) {
  PanelTimes times;
  const auto beginning = times.started = Clock::now();
  Warnings warnings(grid);
  bool fails = false, stop = false;
  const auto attempt = [&](const auto& work) {
    const auto start = Clock::now();
    try {
      if (!fails) work();
    } catch (...) {
      fails = true;
      failed(std::current_exception());
    }
    times.compute_seconds += since(start);
  };
  const auto timed_agree = [&](const auto& work) {
    const auto start = Clock::now();
    work();
    times.agree_seconds += since(start);
  };
  const std::int64_t count = left.panels().count();
  auto arrival = std::make_unique<Arrival>(row, col, left, right, 0);
  for (std::int64_t index = 0; index < count && !stop; ++index) {
    const auto start = Clock::now();
    arrival->wait();
    times.wait_seconds += since(start);
    if (index >= 2) timed_agree([&] { stop = warnings.read(index - 2); });
    times.transfer_seconds += arrival->seconds();
    times.received_bytes += arrival->received_bytes();
    const auto panel = static_cast<std::size_t>(index);
    if (const double first = between(beginning, arrival->start()); arrival->travels())
      times.spans.push_back({0, Deed::copy_peer, panel, first, first + arrival->seconds()});
    arrival.reset();
    if (index + 1 < count && !stop) arrival = std::make_unique<Arrival>(row, col, left, right, index + 1);
    if (!stop) {
      const Mover mover(arrival.get(), grid.any_thread());
      const double first = since(beginning);
      attempt([&] { sum.add(left.panel(index), right.panel(index).transposed()); });
      times.spans.push_back({0, Deed::compute, panel, first, since(beginning)});
    }
    warnings.tell(index, fails);
    if (stop || index + 1 == count) {
      timed_agree([&] {
        if (index >= 1) stop = warnings.read(index - 1) || stop;
        stop = warnings.read(index) || stop;
      });
    }
  }
  if (!stop) attempt([&] { sum.finish(); });
  return times;
}

}  // namespace tessera::dist
