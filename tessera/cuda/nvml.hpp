// SPDX-License-Identifier: Apache-2.0
// NVML's power, energy, clock and driver version of a GPU. The library is loaded on first use, through our
// own declarations, so that neither the build nor the start of the program needs it.
#pragma once
#include <optional>
#include <string>

namespace tessera::cuda {

// One GPU, named by its PCI bus ID, which is the same in NVML and the runtime.
class Nvml {
 public:
  explicit Nvml(const std::string& pci_bus);

  std::string driver_version() const;  // "": the library was not found
  const std::string& unavailable_reason() const {
    return unavailable_reason_;
  }                                         // the reason why readings are missing; "": available
  std::optional<double> clock_mhz() const;  // current clock of the multiprocessors
  // Returns the mean over a window, updated some ten times a second; with an old driver over a second.
  std::optional<double> power_w() const;
  std::optional<double> joules() const;  // since the driver was loaded; the latest update may be 0.1 s old

 private:
  void* device_ = nullptr;
  std::string unavailable_reason_;
};

}  // namespace tessera::cuda
