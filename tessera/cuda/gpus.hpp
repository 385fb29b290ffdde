// SPDX-License-Identifier: Apache-2.0
// The GPUs of this machine, and the choice of the calling thread's current device.
#pragma once
#include <string>
#include <vector>
#include "tessera/core/device/device.hpp"
#include "tessera/cuda/resources.hpp"

namespace tessera::cuda {

// Makes a device current for the calling thread, and restores the previous one at the end of its scope.
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

// The devices that the driver offers. If there is none, `devices` is empty and `unusable` gives the reason.
struct Found {
  std::vector<Device> devices;
  std::string unusable;
};
Found find_devices();

// Queries a device that a failed kernel may have left unusable for this process; returns `otherwise` if the
// query fails. The error is cleared and does not reach the next check.
template <class T, class Ask>
T ask_device(int index, T otherwise, const Ask& ask) try {
  const OnDevice on_device(index);
  return ask();
} catch (const Error&) {
  return otherwise;
}

// Makes a stream of a GPU, or of a part of its multiprocessors (a green context): kernels run on no others,
// but memory, kernels' code and copy engines are shared. The GPU must be the current device. Throws Error.
Stream stream_on(const Device& device);

}  // namespace tessera::cuda
