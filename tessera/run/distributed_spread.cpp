// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/distributed_spread.hpp"
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include "tessera/core/shared_array.hpp"

namespace tessera {

int threads_of_rank(const Device& device, const std::string& words, int ranks_on_host) {
  if (words.find("threads=") != std::string::npos) return device.threads;
  const bool bound = device.threads < sysconf(_SC_NPROCESSORS_ONLN);
  return bound ? device.threads : std::max(1, device.threads / ranks_on_host);
}

std::vector<Device> devices_of_rank(const std::vector<Device>& list, const std::string& words,
                                    const dist::HostPlace& here) {
  std::vector<Device> gpus, out;
  std::ranges::copy_if(list, std::back_inserter(gpus),
                       [](const Device& d) { return d.where == Where::cuda; });
  const auto ranks = static_cast<std::size_t>(here.ranks), rank = static_cast<std::size_t>(here.rank);
  for (std::size_t i = 0; i < gpus.size(); ++i)
    if (i % ranks == rank || (gpus.size() <= rank && i == rank % gpus.size())) out.push_back(gpus[i]);
  for (Device device : list) {
    if (device.where == Where::cuda) continue;
    device.threads = threads_of_rank(device, words, here.ranks);
    out.push_back(std::move(device));
  }
  return out;
}

std::int64_t spread_depth(const Contraction& contraction, const Arguments& whole) {
  constexpr std::int64_t deep = 4096;
  return contraction.no_panels(whole) ? std::max<std::int64_t>(1, contraction.extent(whole)) : deep;
}

SpreadSum::SpreadSum(const Operation& operation, const Contraction& contraction, const Arguments& part,
                     const Spread& spread)
    : operation_(operation),
      contraction_(contraction),
      part_(part),
      spread_(spread),
      faults_(spread.faults),
      latest_(part.array(contraction.result)),
      flops_(spread.devices.size()),
      places_(spread.devices.size()),
      parts_begun_(spread.devices.size()) {
  for (const Device& device : spread_.devices) told_.push_back({device.label(), {}});
  std::iota(places_.begin(), places_.end(), std::size_t{0});
  spread_.places = places_;
}

ArrayView SpreadSum::next_result() {
  const ArrayView& result = part_.array(contraction_.result);
  const bool shared = spread_.in_workers();
  if (!shared && !(begun_ && latest_.data == result.data)) return result;
  Array& out = spare_[shared && begun_ && latest_.data == spare_[0].view().data ? 1 : 0];
  if (out.view().data == nullptr)
    out = shared ? shared_array(result.element, result.extents) : Array(result.element, result.extents);
  return out.view();
}

void SpreadSum::add(const ArrayView& left, const ArrayView& right) {
  const ArrayView to = next_result();
  Arguments panel = contraction_.panel(part_, left, right, to, !begun_);
  if (begun_) panel.set_array(contraction_.begins_as, latest_);
  else if (part_.has(contraction_.begins_as))
    panel.set_array(contraction_.begins_as, part_.array(contraction_.begins_as));
  note(work(panel));
  latest_ = to;
  begun_ = true;
}

Together SpreadSum::work(const Arguments& panel) {
  if (devices_at_work_) {
    devices_at_work_->go_on_with(panel);
  } else {
    check_faults(spread_, panel);
    devices_at_work_.emplace(operation_, panel, spread_);
    devices_at_work_->keep_workers();
  }
  return devices_at_work_->work();
}

void SpreadSum::note(const Together& together) {
  add_checks(checks_, spread_, together, ++panels_, [](const Device& device) { return device.label(); });
  add_spans(together);
  std::vector<std::size_t> lost;
  for (std::size_t d = 0; d < together.shares.size(); ++d) {
    const Share& share = together.shares[d];
    const std::size_t place = places_[d];
    flops_[place] += share.flops;
    told_[place].parts += share.tiles;
    parts_begun_[place] += share.begun;
    const std::string name = told_[place].label + " (device " + std::to_string(place) + ")";
    if (share.wrong > 0)
      notes_.push_back(name + ": " + std::to_string(share.wrong) + " parts found wrong, and computed again");
    if (share.lost.empty()) continue;
    told_[place].lost = share.lost;
    notes_.push_back(name + " was given up, and its parts were done by the others: " + share.lost);
    lost.push_back(d);
  }
  leave_out(lost);
}

void SpreadSum::add_spans(const Together& together) {
  if (panels_ == 1) origin_ = together.started;
  const double late = std::chrono::duration<double>(together.started - origin_).count();
  for (dist::Span span : together.timeline.spans) {
    span.device = places_[span.device];
    span.first += late;
    span.last += late;
    span.panel = panels_;
    spans_.push_back(span);
  }
}

std::vector<dist::Span> SpreadSum::spans(std::chrono::steady_clock::time_point since) const {
  const double late = std::chrono::duration<double>(origin_ - since).count();
  std::vector<dist::Span> out = spans_;
  for (dist::Span& span : out) {
    span.first += late;
    span.last += late;
  }
  return out;
}

// From the next panel on, for which the others are started anew: a failed one may have left marks on them.
void SpreadSum::leave_out(const std::vector<std::size_t>& lost) {
  if (lost.empty()) return;
  devices_at_work_.reset();
  for (auto d = lost.rbegin(); d != lost.rend(); ++d) {
    const auto at = static_cast<std::ptrdiff_t>(*d);
    spread_.devices.erase(spread_.devices.begin() + at);
    places_.erase(places_.begin() + at);
    spread_.places = places_;
    if (spread_.split.how == Split::How::shares)
      spread_.split.shares.erase(spread_.split.shares.begin() + at);
  }
  spread_.faults.clear();
  for (Fault fault : faults_) {
    const auto place = std::ranges::find(places_, fault.device);
    if (place == places_.end() || fault.tile <= parts_begun_[fault.device]) continue;
    fault.tile -= parts_begun_[fault.device];
    fault.device = static_cast<std::size_t>(place - places_.begin());
    spread_.faults.push_back(fault);
  }
}

void SpreadSum::finish() {
  devices_at_work_.reset();
  const ArrayView& result = part_.array(contraction_.result);
  if (latest_.data != result.data) std::memcpy(result.data, latest_.data, result.bytes());
  for (Array& one : spare_) one = {};
  Spread asked{.devices = {}, .faults = faults_};
  Together all;
  for (const std::size_t begun : parts_begun_) all.shares.push_back({.plan = {}, .begun = begun, .lost = {}});
  for (const std::string& text : faults_left(asked, all)) notes_.push_back(text);
}

std::vector<RankDevice> SpreadSum::devices() const {
  const double all = std::accumulate(flops_.begin(), flops_.end(), 0.0);
  std::vector<RankDevice> out = told_;
  for (std::size_t d = 0; d < out.size(); ++d) out[d].share = all > 0 ? flops_[d] / all : 0;
  return out;
}

std::string SpreadSum::told() const {
  const bool any = std::ranges::any_of(flops_, [](double flops) { return flops > 0; });
  std::string out;
  for (const RankDevice& device : devices()) {
    out += (out.empty() ? "" : " + ") + device.label;
    if (any) out += " " + std::to_string(std::lround(100 * device.share)) + " %";
  }
  return out;
}

}  // namespace tessera
