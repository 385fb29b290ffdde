// SPDX-License-Identifier: Apache-2.0
// Host code over device memory, for libraries that run on the host here.
#pragma once
#include <stddef.h>

namespace tessera_cuda {

// As long as one lives, the host may use device memory.
class HostUse {
 public:
  HostUse();
  ~HostUse();
  HostUse(const HostUse&) = delete;
  HostUse& operator=(const HostUse&) = delete;
};
// What it reads or writes there.
void note_host_use(const void* first, size_t bytes, bool writes);

}  // namespace tessera_cuda
