// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/mpi/device_sum.hpp"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <unistd.h>
#include "tessera/core/array/shared_array.hpp"

namespace tessera {

int threads_of_rank(const Device& device, const std::string& words, int ranks_on_host) {
  if (words.find("threads=") != std::string::npos) return device.threads;
  const bool bound = device.threads < sysconf(_SC_NPROCESSORS_ONLN);
  return bound ? device.threads : std::max(1, device.threads / ranks_on_host);
}

std::vector<Device> devices_of_rank(const std::vector<Device>& list, const std::string& words,
                                    const HostRank& host_rank) {
  std::vector<Device> gpus, out;
  std::ranges::copy_if(list, std::back_inserter(gpus),
                       [](const Device& d) { return d.where == Where::cuda; });
  const auto ranks = static_cast<std::size_t>(host_rank.ranks),
             rank = static_cast<std::size_t>(host_rank.rank);
  for (std::size_t i = 0; i < gpus.size(); ++i)
    if (i % ranks == rank || (gpus.size() <= rank && i == rank % gpus.size())) out.push_back(gpus[i]);
  for (Device device : list) {
    if (device.where == Where::cuda) continue;
    device.threads = threads_of_rank(device, words, host_rank.ranks);
    out.push_back(std::move(device));
  }
  return out;
}

std::int64_t device_panel_depth(const Contraction& contraction, const Arguments& whole) {
  constexpr std::int64_t deep = 4096;
  return contraction.no_panels(whole) ? std::max<std::int64_t>(1, contraction.extent(whole)) : deep;
}

DeviceSum::DeviceSum(const Operation& operation, const Contraction& contraction, const Arguments& part,
                     const MultiDeviceOptions& options)
    : operation_(operation),
      contraction_(contraction),
      part_(part),
      options_(options),
      pool_(options.devices.size()),
      latest_(part.array(contraction.result)) {
  check_faults(options_);
  for (const Device& device : options_.devices) reports_.emplace_back().plan.device = device;
}

ArrayView DeviceSum::next_result() {
  const ArrayView& result = part_.array(contraction_.result);
  const bool shared = options_.in_processes(), begun = panels_ > 0;
  if (!shared && !(begun && latest_.data == result.data)) return result;
  Array& out = spare_[shared && begun && latest_.data == spare_[0].view().data ? 1 : 0];
  if (out.view().data == nullptr)
    out = shared ? shared_array(result.element, result.extents) : Array(result.element, result.extents);
  return out.view();
}

void DeviceSum::add(const ArrayView& left, const ArrayView& right) {
  const ArrayView to = next_result();
  Arguments panel = contraction_.panel(part_, left, right, to, panels_ == 0);
  if (panels_ > 0) panel.set_array(contraction_.begins_as, latest_);
  else if (part_.has(contraction_.begins_as))
    panel.set_array(contraction_.begins_as, part_.array(contraction_.begins_as));
  const Partition partition = partition_of(operation_, panel);
  note(Scheduler(operation_, panel, partition, options_, pool_).run());
  latest_ = to;
}

void DeviceSum::note(const MultiDeviceOutcome& panel) {
  ++panels_;
  for (std::size_t d = 0; d < reports_.size(); ++d) {
    DeviceReport& all = reports_[d];
    const DeviceReport& one = panel.devices[d];
    all.plan = one.plan;
    all.tiles += one.tiles;
    all.begun = one.begun;
    all.flops += one.flops;
    all.checked += one.checked;
    all.wrong += one.wrong;
    all.check_seconds += one.check_seconds;
    all.failed = one.failed;
  }
}

void DeviceSum::finish() {
  pool_.clear();
  const ArrayView& result = part_.array(contraction_.result);
  if (latest_.data != result.data) std::memcpy(result.data, latest_.data, result.bytes());
  for (Array& one : spare_) one = {};
}

std::vector<std::string> DeviceSum::notes() const {
  std::vector<std::string> out = missed_faults(options_.faults, reports_);
  for (std::size_t d = 0; d < reports_.size(); ++d) {
    const DeviceReport& one = reports_[d];
    const std::string name = one.plan.device.label() + " (device " + std::to_string(d) + ")";
    if (one.wrong > 0)
      out.push_back(name + ": " + std::to_string(one.wrong) + " parts found wrong, and computed again");
    if (!one.failed.empty()) out.push_back(name + " failed, and others did its parts: " + one.failed);
  }
  return out;
}

std::string DeviceSum::label() const {
  double all = 0;
  for (const DeviceReport& one : reports_) all += one.flops;
  std::string out;
  for (const DeviceReport& one : reports_) {
    out += (out.empty() ? "" : " + ") + one.plan.device.label();
    if (all > 0 && reports_.size() > 1)
      out += " " + std::to_string(std::lround(100 * one.flops / all)) + " %";
  }
  return out;
}

}  // namespace tessera
