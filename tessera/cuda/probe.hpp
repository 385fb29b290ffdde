// SPDX-License-Identifier: Apache-2.0
// Times work on one device, optionally hiding its launches behind a kernel that waits, and measures the
// actual clock of the multiprocessors by a kernel before and one after the work.
#pragma once
#include <functional>
#include "tessera/core/device/device.hpp"
#include "tessera/cuda/resources.hpp"
#include "tessera/cuda/nvml.hpp"

namespace tessera::cuda {

class Probe {  // for the device that is current at construction and in all calls
 public:
  explicit Probe(const Device& device);

  Reading read(cudaStream_t stream, const std::function<void()>& work, bool hide_launches);
  const Nvml& nvml() const { return nvml_; }

 private:
  std::optional<double> clock_between_notes(cudaStream_t stream);

  int multiprocessors_;
  DeviceBuffer notes_;  // for every multiprocessor, before and after the work
  PinnedBuffer gate_;
  Event begin_, end_;
  Nvml nvml_;
};

// Measures the peak rates of a GPU: a copy within its memory, and multiply-adds in registers for each element
// type that it computes with.
Ceilings measure_ceilings(const Device& device);

}  // namespace tessera::cuda
