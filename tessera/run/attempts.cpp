// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/attempts.hpp"
#include <algorithm>
#include "tessera/run/crew.hpp"

namespace tessera {
namespace {

// One tile, which is the call itself.
Division undivided(const Operation& operation, const Arguments& host) {
  Division out;
  out.rows = 1;
  out.same_bits = [](Where) { return true; };
  const double flops = operation.flops ? operation.flops(host) : 0;
  out.flops = [flops](const Tile&) { return flops; };
  out.part = [&host](const Tile&) { return host; };
  return out;
}

Division division_of(const Operation& operation, const Arguments& host) {
  const Divide* const divide = find_division(operation.name);
  return divide != nullptr ? (*divide)(host) : undivided(operation, host);
}

std::string text_of(const std::exception_ptr& cause) {
  try {
    std::rethrow_exception(cause);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an unknown failure";
  }
}

}  // namespace

Attempts::Attempts(const Operation& operation, const Arguments& host, const Spread& spread)
    : operation_(&operation), host_(&host), spread_(&spread), division_(division_of(operation, host)) {}

Together Attempts::work() {
  Together out = once();
  out.flops = division_.flops(division_.whole());
  return out;
}

Together Attempts::once() {
  if (lost_.empty() && !unplanned_ && !Overlapped::refuses(*operation_, *host_, division_, *spread_)) try {
      if (!overlapped_) overlapped_.emplace(*operation_, *host_, division_, *spread_);
      return overlapped_->run();
    } catch (const LostDevice& lost) {
      overlapped_.reset();
      if (spread_->devices.size() == 1) std::rethrow_exception(lost.cause);
      lost_[lost.device] = text_of(lost.cause);
    } catch (const Error& error) {
      if (error.kind() != Error::Kind::user) throw;
      unplanned_ = true;  // memory for no plan may do for a tile; what else is wrong will be said again
    }
  pin();
  return lost_.empty() ? Crew(*operation_, *host_, division_, *spread_).work() : with_those_left();
}

// A GPU that a kernel's fault has left unusable may take all others of the process with it: processes of their own
// are out of its reach.
Together Attempts::work_of(Spread rest) const {
  try {
    return Crew(*operation_, *host_, division_, rest).work();
  } catch (const Error& error) {
    const auto has_lanes = [](const Device& device) { return find_lanes(device.where) != nullptr; };
    if (error.kind() == Error::Kind::user || !std::ranges::all_of(rest.devices, has_lanes)) throw;
    rest.protect = true;
    return Crew(*operation_, *host_, division_, rest).work();
  }
}

// Once for all calls; workers have arrays of their own.
void Attempts::pin() {
  const auto copies = [](const Device& device) { return find_lanes(device.where) != nullptr; };
  if (!pinned_ && spread_->pin && !spread_->in_workers() && std::ranges::any_of(spread_->devices, copies))
    pinned_.emplace(*host_);
}

// From the beginning: what a lost device had taken from others, or given them, is not to be trusted.
Together Attempts::with_those_left() const {
  Spread rest = *spread_;
  rest.devices.clear();
  rest.split.shares.clear();
  for (std::size_t d = 0; d < spread_->devices.size(); ++d) {
    if (lost_.contains(d)) continue;
    rest.devices.push_back(spread_->devices[d]);
    if (d < spread_->split.shares.size()) rest.split.shares.push_back(spread_->split.shares[d]);
  }
  if (std::ranges::all_of(rest.split.shares, [](double share) { return share == 0; })) rest.split = {};
  Together out = work_of(std::move(rest));
  for (const auto& [d, why] : lost_) {
    out.shares.insert(out.shares.begin() + static_cast<std::ptrdiff_t>(d),
                      {.plan = choose_on(spread_->devices[d], *operation_, *host_, spread_->request), .lost = why});
    for (dist::Span& span : out.timeline.spans) span.device += span.device >= d;
  }
  return out;
}

}  // namespace tessera
