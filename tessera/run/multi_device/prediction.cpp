// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/multi_device/prediction.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <deque>
#include <limits>
#include <set>
#include "tessera/run/multi_device/streamed_worker.hpp"

namespace tessera {
namespace {

// Work in a queue. At its head, it proceeds once the slices `after` have arrived on their devices.
struct Work {
  double left = 0;          // bytes, or floating-point operations
  bool short_rows = false;  // a copy's rows are short
  std::vector<std::pair<std::size_t, Slice>> after = {};
  Slice brings = {};                // the slice that it brings; no name: none
  std::vector<Slice> returns = {};  // the computed slices that the link returns
};

struct State {
  std::deque<Work> in, peer, compute, out;
  std::set<Slice> requested, here;
  std::size_t begun = 0, finished = 0;
  double came = 0, left = 0, flops = 0;  // totals
};

class Simulation {
 public:
  Simulation(const Partition& partition, const Arguments& arguments, std::span<const Tile> tiles,
             std::span<const PredictedDevice> devices, const LinkRates& rates)
      : partition_(partition),
        arguments_(arguments),
        tiles_(tiles),
        devices_(devices),
        rates_(rates),
        states_(devices.size()) {}

  Prediction run() {
    for (;;) {
      for (std::size_t d = 0; d < states_.size(); ++d)
        while (states_[d].begun < devices_[d].tiles.size() &&
               states_[d].begun < states_[d].finished + devices_[d].tiles_at_once)
          begin(d);
      if (!proceed()) break;
    }
    std::vector<double> links{static_cast<double>(out_.host_bytes) / rates_.host};
    for (std::size_t d = 0; d < states_.size(); ++d) {
      links.push_back(states_[d].came / rates_.to_device);
      links.push_back(states_[d].left / rates_.from_device);
      out_.arithmetic = std::max(out_.arithmetic, states_[d].flops / devices_[d].flops_per_second);
    }
    out_.links = std::ranges::max(links);
    return out_;
  }

 private:
  void begin(std::size_t d) {
    State& state = states_[d];
    const Tile& tile = tiles_[devices_[d].tiles[state.begun++]];
    Work computation{.left = partition_.flops(tile)};
    state.flops += computation.left;
    for (const Slice& slice : partition_.reads(tile)) {
      computation.after.emplace_back(d, slice);
      if (!state.requested.insert(slice).second) continue;
      Work copy = copy_of(slice);
      copy.brings = slice;
      const auto bytes = static_cast<std::int64_t>(copy.left);
      const auto source = std::ranges::find_if(states_, [&](const State& other) {
        return &other != &state && rates_.between > 0 && other.requested.contains(slice);
      });
      if (source == states_.end()) {
        out_.host_bytes += bytes;
        state.came += copy.left;
        state.in.push_back(std::move(copy));
      } else {
        out_.peer_bytes += bytes;
        copy.after.emplace_back(source - states_.begin(), slice);
        state.peer.push_back(std::move(copy));
      }
    }
    computation.returns = partition_.writes(tile);
    state.compute.push_back(std::move(computation));
  }

  Work copy_of(const Slice& slice) const {
    constexpr std::int64_t long_row = 32 << 10;
    const ArrayView& array = arguments_.array(slice.array);
    const PackedRows rows = PackedRows::of(slice, array);
    const std::int64_t pitch = array.extents.size() < 2 ? 0 : array.strides[rows.transposed ? 1 : 0];
    const bool apart =
        rows.rows > 1 && pitch * static_cast<std::int64_t>(size_of(array.element)) > rows.row_bytes;
    return {.left = static_cast<double>(bytes_of(slice, array)),
            .short_rows = apart && rows.row_bytes < long_row};
  }

  bool ready(const std::deque<Work>& queue) const {
    return !queue.empty() && std::ranges::all_of(queue.front().after, [&](const auto& input) {
      return states_[input.first].here.contains(input.second);
    });
  }

  // Advances to the next end of a copy or a computation. Returns false if there is none.
  bool proceed() {
    struct Active {
      std::size_t device;
      std::deque<Work>* queue;
      double rate;
      bool over_link;
    };
    std::vector<Active> active;
    for (std::size_t d = 0; d < states_.size(); ++d) {
      State& state = states_[d];
      if (ready(state.in)) active.push_back({d, &state.in, rates_.to_device, true});
      if (ready(state.out)) active.push_back({d, &state.out, rates_.from_device, true});
      if (ready(state.peer)) active.push_back({d, &state.peer, rates_.between, false});
      if (ready(state.compute)) active.push_back({d, &state.compute, devices_[d].flops_per_second, false});
    }
    const auto sharing = static_cast<double>(std::ranges::count(active, true, &Active::over_link));
    double step = std::numeric_limits<double>::infinity();
    for (Active& one : active) {
      if (one.over_link && one.queue->front().short_rows) one.rate = std::min(one.rate, rates_.short_rows);
      if (one.over_link) one.rate = std::min(one.rate, rates_.host / sharing);
      step = std::min(step, one.queue->front().left / one.rate);
    }
    if (active.empty()) return false;
    out_.seconds += step;
    constexpr double rounding = 1e-9;
    for (const Active& one : active) {
      Work& work = one.queue->front();
      const double whole = work.left;
      work.left -= step * one.rate;
      if (work.left > rounding * whole) continue;
      State& state = states_[one.device];
      if (one.queue == &state.out) state.finished += !work.brings.array.empty();  // the last of a tile's
      else if (!work.brings.array.empty()) state.here.insert(work.brings);
      for (const Slice& slice : work.returns) {
        Work copy = copy_of(slice);
        out_.host_bytes += static_cast<std::int64_t>(copy.left);
        state.left += copy.left;
        if (&slice == &work.returns.back()) copy.brings = slice;
        state.out.push_back(std::move(copy));
      }
      one.queue->pop_front();
    }
    return true;
  }

  const Partition& partition_;
  const Arguments& arguments_;
  std::span<const Tile> tiles_;
  std::span<const PredictedDevice> devices_;
  LinkRates rates_;
  std::vector<State> states_;
  Prediction out_;
};

}  // namespace

Prediction predict(const Partition& partition, const Arguments& arguments, std::span<const Tile> tiles,
                   std::span<const PredictedDevice> devices, const LinkRates& rates) {
  return Simulation(partition, arguments, tiles, devices, rates).run();
}

std::string Prediction::text() const {
  return fmt::format("{:.3g} ms: the arithmetic takes {:.3g} ms, the host's links {:.3g} ms", seconds * 1e3,
                     arithmetic * 1e3, links * 1e3);
}

}  // namespace tessera
