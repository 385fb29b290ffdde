// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/clock.hpp"
#include <algorithm>
#include <cmath>
#include <map>

namespace tessera::dist {
namespace {

constexpr double unknown = -1;

// One device's engines, each with its next piece of work and the moment from which it is free.
struct Engines {
  std::size_t step_in = 0, copy_in = 0, step_peer = 0, copy_peer = 0, step = 0;
  double free_in = 0, free_peer = 0, free_compute = 0, free_out = 0;
  std::vector<double> arrived;   // each piece
  std::vector<double> computed;  // each step
  std::vector<double> left;      // the tiles, in the order in which they end
};

class PlanClock {
 public:
  PlanClock(const Plan& plan, const Division& division, const Arguments& arguments)
      : plan_(&plan), division_(&division), arguments_(&arguments), engines_(plan.devices.size()) {
    for (std::size_t d = 0; d < engines_.size(); ++d) {
      engines_[d].arrived.assign(plan.pieces.size(), unknown);
      engines_[d].computed.assign(plan.parts[d].steps.size(), unknown);
    }
  }

  Timeline run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t d = 0; d < engines_.size(); ++d) {
        while (copy(d, false)) moved = true;
        while (copy(d, true)) moved = true;
        while (compute(d)) moved = true;
      }
    }
    for (std::size_t d = 0; d < engines_.size(); ++d)
      if (engines_[d].step != plan_->parts[d].steps.size())
        throw Error(Error::Kind::internal, "a plan whose devices wait for each other");
    return std::move(timeline_);
  }

 private:
  const Part& part(std::size_t d) const { return plan_->parts[d]; }

  void note(std::size_t d, Deed deed, std::size_t tile, double first, double last) {
    timeline_.spans.push_back({d, deed, tile, first, last});
  }

  // When a step's copies may begin; unknown: not yet.
  double room_at(std::size_t d, std::size_t step) const {
    if (part(d).held || step < Plan::ahead) return 0;
    return engines_[d].computed[step - Plan::ahead];
  }

  // The next copy from the host, or from a peer; false: none is left, or what it waits for is not known yet.
  bool copy(std::size_t d, bool peer) {
    Engines& e = engines_[d];
    std::size_t &step = peer ? e.step_peer : e.step_in, &at = peer ? e.copy_peer : e.copy_in;
    double& free = peer ? e.free_peer : e.free_in;
    for (; step < part(d).steps.size(); ++step, at = 0)
      for (const auto& copies = part(d).steps[step].copies; at < copies.size(); ++at) {
        const Copy& copy = copies[at];
        if (copy.from.has_value() != peer) continue;
        const double room = room_at(d, step);
        const double source = peer ? engines_[*copy.from].arrived[copy.piece] : 0;
        if (room == unknown || source == unknown) return false;
        const Device& device = plan_->devices[d];
        const double first = std::max({free, room, source});
        const Piece& piece = plan_->pieces[copy.piece];
        free = first + static_cast<double>(piece.bytes) /
                           (peer ? device.peer_bytes_per_second : device.bytes_in_of(piece.row_bytes));
        e.arrived[copy.piece] = free;
        note(d, peer ? Deed::copy_peer : Deed::copy_in, part(d).steps[step].number, first, free);
        ++at;
        return true;
      }
    return false;
  }

  bool compute(std::size_t d) {
    Engines& e = engines_[d];
    if (e.step == part(d).steps.size()) return false;
    // Copies of this step must have been made: a piece may have arrived before, and been dropped since.
    if (plan_->devices[d].copies() && (copies_left(d, e.step_in, e.copy_in, false, e.step) ||
                                       copies_left(d, e.step_peer, e.copy_peer, true, e.step)))
      return false;
    const Step& step = part(d).steps[e.step];
    double first = e.free_compute;
    if (plan_->devices[d].copies())
      for (const std::size_t piece : step.reads) first = std::max(first, e.arrived[piece]);
    if (step.begins && !part(d).held && e.left.size() >= 2)
      first = std::max(first, e.left[e.left.size() - 2]);
    e.free_compute = first + step_seconds(plan_->devices[d], step);
    e.computed[e.step] = e.free_compute;
    note(d, Deed::compute, step.number, first, e.free_compute);
    if (step.ends) leave(d, step);
    ++e.step;
    return true;
  }

  double step_seconds(const Device& device, const Step& step) const {
    double out = device.step_seconds +
                 division_->flops(step.tile) / device.flops_of(step.tile.rows.size() * step.tile.cols.size());
    if (!step.begins && device.sum_bytes_per_second > 0)
      out += 2 * bytes_of_result(step) / device.sum_bytes_per_second;
    return out;
  }

  double bytes_of_result(const Step& step) const {
    double bytes = 0;
    for (const Slice& slice : division_->writes(plan_->tiles[step.number]))
      bytes += static_cast<double>(bytes_of(slice, arguments_->array(slice.array)));
    return bytes;
  }

  // Whether an engine that has come to `at` still has a copy of its kind to make for steps up to `step`.
  bool copies_left(std::size_t d, std::size_t at_step, std::size_t at, bool peer, std::size_t step) const {
    for (; at_step <= step; ++at_step, at = 0)
      for (const auto& copies = part(d).steps[at_step].copies; at < copies.size(); ++at)
        if (copies[at].from.has_value() == peer) return true;
    return false;
  }

  void leave(std::size_t d, const Step& step) {
    Engines& e = engines_[d];
    if (!plan_->devices[d].copies()) return e.left.push_back(e.free_compute);
    const double first = std::max(e.free_out, e.free_compute);
    e.free_out = first + bytes_of_result(step) / plan_->devices[d].bytes_out_per_second;
    note(d, Deed::copy_out, step.number, first, e.free_out);
    e.left.push_back(e.free_out);
  }

  const Plan* plan_;
  const Division* division_;
  const Arguments* arguments_;
  std::vector<Engines> engines_;
  Timeline timeline_;
};

}  // namespace

Timeline run_virtually(const Plan& plan, const Division& division, const Arguments& arguments) {
  return PlanClock(plan, division, arguments).run();
}

}  // namespace tessera::dist
