// SPDX-License-Identifier: Apache-2.0
// Questions to a device that a failed kernel may have left unusable for this process.
#pragma once
#include "tessera/cuda/device.hpp"

namespace tessera::cuda {

// What the device answers; `otherwise` where it answers nobody any more. An error is asked and answered: it
// does not reach the next check.
template <class T, class Ask>
T ask_device(int index, T otherwise, const Ask& ask) try {
  const OnDevice on_device(index);
  return ask();
} catch (const Error&) {
  return otherwise;
}

}  // namespace tessera::cuda
