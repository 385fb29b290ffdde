// SPDX-License-Identifier: Apache-2.0
// The process: its settings at the start, its errors, and its end.
#include "tessera/frontend/runtime/runtime.hpp"
#include <unistd.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include "tessera/frontend/runtime/findings/findings.hpp"
#include "tessera/frontend/runtime/memory/heap.hpp"

namespace tessera_cuda {

thread_local LastError last_error;

namespace {

bool is_set(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr && *text != '\0' && std::strcmp(text, "0") != 0;
}

int threads_to_use() {
  const char* const text = std::getenv("TESSERA_CUDA_THREADS");
  const int number = text == nullptr ? 0 : std::atoi(text);
  return number > 0 ? number : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

// Runs before the program's static constructors, so that the runtime ends after the program's static objects.
[[gnu::constructor(101)]] void begin() {
  if (Runtime::get().traced) handle_interrupts();
}

}  // namespace

Runtime::Runtime() : traced(is_set("TESSERA_CUDA_TRACE")), os_threads(threads_to_use()) {}

Runtime& Runtime::get() {
  static Runtime* const only = [] {
    auto* const made = new Runtime;  // never destroyed, because static objects also free device memory
    handle_faults();
    record_start(gpu().name, made->traced);
    on_exit([](int status, void*) { Runtime::get().at_exit(0, status); }, nullptr);
    return made;
  }();
  return *only;
}

void Runtime::at_exit(int signal, int status) {
  static bool once = false;
  if (once) return;
  once = true;
  finish_repeats();
  check_host_heap();
  if (signal == 0) find_at_exit(status == 0);
  record_end(launches, signal);
}

cudaError_t Runtime::fail(cudaError_t error) {
  if (error != cudaSuccess) last_error = {error, 0};
  call_failed = call_failed || error != cudaSuccess;
  return error;
}

void note_queried(cudaError_t error) {
  if (error == cudaSuccess || last_error.launch == 0) return;
  std::erase_if(Runtime::get().failed, [](const auto& f) { return f.number == last_error.launch; });
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void say_once(const std::string& text) {
  static std::mutex mutex;
  static auto& said = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  if (!said.insert(text).second) return;
  const std::string line = "tessera: " + text + "\n";
  if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

}  // namespace tessera_cuda

using tessera_cuda::last_error;
using tessera_cuda::Lock;
using tessera_cuda::Runtime;

cudaError_t cudaGetLastError() {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  const cudaError_t error = r.sticky != cudaSuccess ? r.sticky : last_error.error;
  tessera_cuda::note_queried(error);
  last_error = {};
  return error;
}

cudaError_t cudaPeekAtLastError() {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  const cudaError_t error = r.sticky != cudaSuccess ? r.sticky : last_error.error;
  tessera_cuda::note_queried(error);
  return error;
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
#define TESSERA_CASE(name, value, text) \
  case name:                            \
    return text;
    TESSERA_CUDA_ERRORS(TESSERA_CASE)
#undef TESSERA_CASE
  }
  return "unrecognized error code";
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
#define TESSERA_CASE(name, value, text) \
  case name:                            \
    return #name;
    TESSERA_CUDA_ERRORS(TESSERA_CASE)
#undef TESSERA_CASE
  }
  return "unrecognized error code";
}
