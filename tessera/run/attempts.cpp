// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/attempts.hpp"
#include <algorithm>
#include <utility>
#include "tessera/run/losses.hpp"
#include "tessera/run/place.hpp"
#include "tessera/run/presumed_speed.hpp"
#include "tessera/run/undivided.hpp"

namespace tessera {
namespace {

// By a part that takes no time to speak of, the second time.
double speed_of(const Operation& operation, const Division& division, const Device& device,
                const Request& request) {
  constexpr std::int64_t side = 512;
  const Tile tile{
      {0, std::min(side, division.rows)}, {0, std::min(side, division.cols)}, {0, division.depth}};
  Arguments part = division.part(tile);
  const Array scratch(part.array(operation.output).element, part.array(operation.output).extents);
  part.set_array(operation.output, scratch.view());
  const Plan plan = choose_on(device, operation, part, request);
  Placed placed(plan, part);
  placed.upload();
  double seconds = 0;
  for (int i = 0; i < 2; ++i) seconds = placed.launch_and_measure();
  return division.flops(tile) / std::max(seconds, 1e-9);
}

// But for where in memory their arrays lie.
bool are_alike(const Arguments& a, const Arguments& b) {
  if (&a.signature() != &b.signature() || a.element() != b.element() || a.words() != b.words()) return false;
  return std::ranges::all_of(a.signature().parameters, [&](const Parameter& p) {
    if (!p.is_array() || a.has(p.name) != b.has(p.name)) return !p.is_array();
    if (!a.has(p.name)) return true;
    const ArrayView &x = a.array(p.name), &y = b.array(p.name);
    return x.element == y.element && x.extents == y.extents && x.strides == y.strides;
  });
}

std::string percent(double part) {
  const auto tenths = static_cast<int>(part * 1000 + 0.5);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " %";
}

}  // namespace

// What is made wrong must be there.
void check_faults(const Spread& spread, const Arguments& host) {
  check_faults(spread);
  for (const Fault& fault : spread.faults)
    for (const Parameter* p : host.signature().of(Parameter::Kind::output)) {
      const Element element = host.array(p->name).element;
      if (fault.kind == Fault::Kind::flip && fault.number >= static_cast<int>(8 * size_of(element)))
        throw Error("--fault flip: " + std::string(name_of(element)) + " has no bit " +
                    std::to_string(fault.number));
    }
}

Attempts::Attempts(const Operation& operation, const Arguments& host, const Spread& spread)
    : operation_(&operation),
      host_(host),
      spread_(&spread),
      division_(division_of(operation, host_)),
      on_plan_(spread) {
  const auto has_lanes = [](const Device& device) { return find_lanes(device.where) != nullptr; };
  const bool all = spread.split.how == Split::How::shares || std::ranges::none_of(spread.devices, has_lanes);
  on_plan_.devices.clear();
  for (std::size_t d = 0; d < spread.devices.size(); ++d) {
    if (!all && !has_lanes(spread.devices[d])) continue;
    at_work_.push_back(d);
    on_plan_.devices.push_back(spread.devices[d]);
  }
}

void Attempts::go_on_with(const Arguments& host) {
  ready_ = ready_ && are_alike(host_, host);
  host_ = host;
  division_ = division_of(*operation_, host_);
  pinned_.reset();
}

Together Attempts::work() {
  Together out = once();
  out.flops = division_.flops(division_.whole());
  return out;
}

Together Attempts::once() {
  if (lost_.empty() && !unplanned_ && !Overlapped::refuses(*operation_, host_, division_, on_plan_)) try {
      const bool ready = std::exchange(ready_, true);
      if (!overlapped_) choose_planned();
      else if (!ready) overlapped_->plan_again();
      if (overlapped_) return planned();
    } catch (const LostDevice& lost) {
      overlapped_.reset();
      const std::string why = reason_of(lost.cause);
      if (spread_->devices.size() == 1) {
        std::vector<Share> only(1);
        only[0].plan.device = spread_->devices.front();
        only[0].lost = why;
        fail_without_devices(*spread_, only, lost.cause);
      }
      lost_[at_work_[lost.device]] = why;
    } catch (const Error& error) {
      if (error.kind() != Error::Kind::user) throw;
      unplanned_ = true;  // memory for no plan may do for a tile; what else is wrong will be said again
    }
  pin();
  return lost_.empty() ? Crew(*operation_, host_, division_, *spread_, &kept_).work() : with_those_left();
}

// GPUs do more by a plan than from a queue: those that can follow none are worth one only if they do some of
// the work.
void Attempts::choose_planned() {
  constexpr double least = 0.05, far_below = least / 50;
  overlapped_.emplace(*operation_, host_, division_, on_plan_);
  for (std::size_t d = 0; d < spread_->devices.size(); ++d) {
    if (std::ranges::find(at_work_, d) != at_work_.end()) continue;
    const double others = overlapped_->flops_per_second();
    // The executor's trial would take longer than the call.
    if (presumed_speed(spread_->devices[d]) < far_below * others) {
      left_out_[d] = "it would add less than " + percent(far_below) + " to what the others do";
      continue;
    }
    const double part = speed_of(*operation_, division_, spread_->devices[d], spread_->request) / others;
    if (!(part < least)) {
      overlapped_.reset();
      left_out_.clear();
      unplanned_ = true;
      return;
    }
    left_out_[d] = "it would add " + percent(part) + " to what the others do";
  }
}

Together Attempts::planned() {
  Together out = overlapped_->run();
  for (dist::Span& span : out.timeline.spans) span.device = at_work_[span.device];
  for (const auto& [d, why] : left_out_) {
    Share share;
    share.plan.device = spread_->devices[d];
    share.left_out = why;
    out.shares.insert(out.shares.begin() + static_cast<std::ptrdiff_t>(d), std::move(share));
  }
  return out;
}

// A GPU that a kernel's fault has left unusable may take all others of the process with it: processes of
// their own are out of its reach.
Together Attempts::work_of(Spread rest) const {
  try {
    return Crew(*operation_, host_, division_, rest).work();
  } catch (const Error& error) {
    const auto has_lanes = [](const Device& device) { return find_lanes(device.where) != nullptr; };
    if (error.kind() == Error::Kind::user || !std::ranges::all_of(rest.devices, has_lanes)) throw;
    rest.protect = true;
    return Crew(*operation_, host_, division_, rest).work();
  }
}

// Once for all calls; workers have arrays of their own.
void Attempts::pin() {
  const auto copies = [](const Device& device) { return find_lanes(device.where) != nullptr; };
  if (!pinned_ && spread_->pin && !spread_->in_workers() && std::ranges::any_of(spread_->devices, copies))
    pinned_.emplace(host_);
}

// From the beginning: what a lost device had taken from others, or given them, is not to be trusted.
Together Attempts::with_those_left() const {
  Spread rest = *spread_;
  rest.devices.clear();
  rest.places.clear();
  rest.split.shares.clear();
  for (std::size_t d = 0; d < spread_->devices.size(); ++d) {
    if (lost_.contains(d)) continue;
    rest.devices.push_back(spread_->devices[d]);
    rest.places.push_back(spread_->place_of(d));
    if (d < spread_->split.shares.size()) rest.split.shares.push_back(spread_->split.shares[d]);
  }
  if (std::ranges::all_of(rest.split.shares, [](double share) { return share == 0; })) rest.split = {};
  Together out = work_of(std::move(rest));
  for (const auto& [d, why] : lost_) {
    out.shares.insert(
        out.shares.begin() + static_cast<std::ptrdiff_t>(d),
        {.plan = choose_on(spread_->devices[d], *operation_, host_, spread_->request), .lost = why});
    for (dist::Span& span : out.timeline.spans) span.device += span.device >= d;
  }
  return out;
}

}  // namespace tessera
