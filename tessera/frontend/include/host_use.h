// SPDX-License-Identifier: Apache-2.0
// Host code over device memory, for libraries that run on the host here.
#pragma once
#include <stddef.h>

namespace tessera_cuda {

// The host may use device memory during the lifetime of an instance.
class HostUse {
 public:
  HostUse();
  ~HostUse();
  HostUse(const HostUse&) = delete;
  HostUse& operator=(const HostUse&) = delete;
};
// Notes a read or write of device memory by the host.
void note_host_use(const void* first, size_t bytes, bool writes);

}  // namespace tessera_cuda
