// SPDX-License-Identifier: Apache-2.0
// Takes times on one device with what surrounds them: launches hidden behind a kernel that waits, and
// the clock at which the multiprocessors really ran, read by a kernel before and one behind.
#pragma once
#include <functional>
#include "tessera/core/device.hpp"
#include "tessera/cuda/resources.hpp"
#include "tessera/cuda/nvml.hpp"

namespace tessera::cuda {

class Probe {  // of the device that is current when it is made, and in its calls
 public:
  explicit Probe(const Device& device);

  Reading read(cudaStream_t stream, const std::function<void()>& work, bool hide_launches);
  const Nvml& nvml() const { return nvml_; }

 private:
  std::optional<double> clock_between_notes(cudaStream_t stream);

  int processors_;
  DeviceBuffer notes_;  // of every multiprocessor, before and behind the work
  PinnedBuffer gate_;
  Event begin_, end_;
  Nvml nvml_;
};

// What a GPU does at most: a copy between two places of its memory, and multiply-adds from registers
// to registers, for each element that it computes with.
Ceilings measure_ceilings(const Device& device);

}  // namespace tessera::cuda
