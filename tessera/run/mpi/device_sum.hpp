// SPDX-License-Identifier: Apache-2.0
// A rank's part of a contraction on devices: each panel is one call that the rank's devices share. The
// devices are opened for the first panel, and stay open.
#pragma once
#include "tessera/core/operation/partition.hpp"
#include "tessera/run/mpi/communicator.hpp"
#include "tessera/run/mpi/distributed.hpp"
#include "tessera/run/multi_device/scheduler.hpp"

namespace tessera {

// Returns the number of CPU threads of a rank: an equal share of the host's, unless `words` gives a number or
// the launcher has bound each rank to its own cores.
int threads_of_rank(const Device& device, const std::string& words, int ranks_on_host);

// Selects a rank's devices from the list given to all ranks of its host: GPUs are assigned round-robin (and
// shared if there are more ranks than GPUs); every rank gets the CPU.
std::vector<Device> devices_of_rank(const std::vector<Device>& list, const std::string& words,
                                    const HostRank& host_rank);

// Returns the depth of a device's panels. Each is read, copied to devices and added as a unit, so they are
// deeper than the CPU's panels. A sum that devices cannot add to is one panel.
std::int64_t device_panel_depth(const Contraction& contraction, const Arguments& whole);

class DeviceSum final : public PanelSum {
 public:
  // `part`: in host memory, as are its inputs and its result.
  DeviceSum(const Operation& operation, const Contraction& contraction, const Arguments& part,
            const MultiDeviceOptions& options);
  DeviceSum(const DeviceSum&) = delete;
  DeviceSum& operator=(const DeviceSum&) = delete;

  void add(const ArrayView& left, const ArrayView& right) override;
  void finish() override;

  std::string label() const;               // "cuda:0 81 % + cpu 19 %", by work
  std::vector<std::string> notes() const;  // failed devices, wrong tiles, faults that never came
  Plan plan() const { return reports_.front().plan; }

 private:
  ArrayView next_result();
  void note(const MultiDeviceOutcome& panel);

  const Operation& operation_;
  const Contraction& contraction_;
  const Arguments& part_;
  MultiDeviceOptions options_;
  DevicePool pool_;
  // Sums alternate between two arrays: no call reads where it writes, so tiles can be computed again.
  Array spare_[2];
  ArrayView latest_;
  std::vector<DeviceReport> reports_;  // sums over all panels
  std::size_t panels_ = 0;
};

}  // namespace tessera
