// SPDX-License-Identifier: Apache-2.0
// Takes times on one device with what surrounds them: launches hidden behind a kernel that waits, and
// the clock at which the multiprocessors really ran, read by a kernel before and one behind.
#pragma once
#include <functional>
#include "tessera/cuda/buffer.hpp"
#include "tessera/cuda/event.hpp"
#include "tessera/cuda/nvml.hpp"
#include "tessera/core/device.hpp"

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

}  // namespace tessera::cuda
