// SPDX-License-Identifier: Apache-2.0
// The GPUs of this machine, and which of them this thread's CUDA calls go to.
#pragma once
#include <string>
#include <vector>
#include "tessera/core/device.hpp"
#include "tessera/cuda/resources.hpp"

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

// What a device answers that a failed kernel may have left unusable for this process; `otherwise` where it
// answers nobody any more. The error is cleared: it does not reach the next check.
template <class T, class Ask>
T ask_device(int index, T otherwise, const Ask& ask) try {
  const OnDevice on_device(index);
  return ask();
} catch (const Error&) {
  return otherwise;
}

// A stream of a GPU, or of a part of its multiprocessors (a green context): its kernels run on no others,
// while memory, kernels' code and copy engines are shared. The GPU is the current device. Throws Error.
Stream stream_on(const Device& device);

}  // namespace tessera::cuda
