// SPDX-License-Identifier: Apache-2.0
// The thread-local variables that kernels and signal handlers read without a call, in a shared library of
// their own: dlopen() gives a library only some hundred bytes of such memory, and gives it to all
// thread-local variables of the library or to none.
#include "tessera/core/device/thread.hpp"
#include "tessera/simt/executor/signals.hpp"
#include "tessera/simt/tracer/recorder.hpp"

namespace tessera::simt {

constinit thread_local ThreadContext* current_thread = nullptr;
constinit thread_local Watch* current_watch = nullptr;
constinit thread_local LaneLog* recording = nullptr;
constinit thread_local HostAccess last_host_access = {};

}  // namespace tessera::simt
