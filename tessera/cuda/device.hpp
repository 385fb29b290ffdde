// SPDX-License-Identifier: Apache-2.0
// The GPUs of this machine, and which of them this thread's CUDA calls go to.
#pragma once
#include <string>
#include <vector>
#include "tessera/core/device.hpp"
#include "tessera/cuda/check.hpp"

namespace tessera::cuda {

// While it lives, this thread's CUDA calls go to one device; then to the caller's again.
class OnDevice {
 public:
  explicit OnDevice(int index) : index_(index) {
    check(cudaGetDevice(&before_));
    if (index_ != before_) check(cudaSetDevice(index_));
  }
  ~OnDevice() {
    if (index_ != before_) (void)cudaSetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int index_, before_ = 0;
};

std::string pci_bus_of(int index);

// What the driver offers. Where that is nothing, `devices` is empty and `unusable` says why.
struct Found {
  std::vector<Device> devices;
  std::string unusable;
};
Found find_devices();

}  // namespace tessera::cuda
