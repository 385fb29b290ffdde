// SPDX-License-Identifier: Apache-2.0
// What the driver's management library tells of a GPU: power, energy, what it is. Loaded when it is first
// asked, through declarations of our own, so that neither the build nor the start of the program needs it.
#pragma once
#include <optional>
#include <string>

namespace tessera::cuda {

// Of one GPU, named by its PCI bus, which the library and the runtime number alike.
class Nvml {
 public:
  explicit Nvml(const std::string& pci_bus);

  std::string driver_version() const;  // of the driver; "" where the library is not there
  const std::string& unavailable_reason() const {
    return unavailable_reason_;
  }                                         // why it tells nothing; "" when it does
  std::optional<double> clock_mhz() const;  // of the multiprocessors, now
  // A mean of a window, renewed some ten times a second; where the driver is old, the window is a second.
  std::optional<double> power_w() const;
  std::optional<double> joules() const;  // since the driver was loaded; its last step may be 0.1 s old

 private:
  void* device_ = nullptr;
  std::string unavailable_reason_;
};

}  // namespace tessera::cuda
