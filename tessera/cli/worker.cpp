// SPDX-License-Identifier: Apache-2.0
// The program tessera-worker: one device of a call that several share, see
// tessera/run/multi_device/process_worker.hpp.
#include <sys/prctl.h>
#include <csignal>
#include <cstdio>
#include "tessera/run/multi_device/process_worker.hpp"

int main() {
  // The parent decides when this process ends: an interrupt from the keyboard reaches both.
  (void)std::signal(SIGINT, SIG_IGN);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    tessera::serve_worker();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tessera-worker: %s\n", error.what());
    return 1;
  }
}
