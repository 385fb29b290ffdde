// SPDX-License-Identifier: Apache-2.0
// The state of the runtime API: one device, its memory, its errors. Every call holds the lock.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>
#include "tessera/frontend/include/tessera_calls.h"
#include "tessera/core/device/thread.hpp"

namespace tessera_cuda {

// Memory that kernels may use.
struct Array {
  enum class Kind : std::uint8_t { device, heap, pinned, managed, registered, variable, constant };
  std::string name;
  char* data = nullptr;
  std::size_t bytes = 0;
  Kind kind = Kind::device;
  CallSite at{"", 0}, freed_at{"", 0};  // its allocation and release
  std::size_t element_bytes = 0;        // 0: unknown
  std::vector<std::size_t> extents;     // row-major; empty: one of all elements
  char* mapping = nullptr;              // null: not mapped by the runtime
  std::size_t mapping_bytes = 0, zone_bytes = 0;
  std::size_t untouched_bytes = 0;       // the rest of its last page, if that must not be written
  std::size_t pitch = 0, row_bytes = 0;  // set by cudaMallocPitch
  std::uint8_t* written = nullptr;       // traced: tessera::simt::Mark of each byte
  struct HostWrite {                     // the last copy or fill by the host
    const char* call = "";
    CallSite at{"", 0};
    std::size_t bytes = 0, width = 0, pitch = 0;  // the rows'
  } host_write;
  struct Writer {
    std::string kernel;
    CallSite at;
    std::int64_t launch;
    std::size_t copied = 0;  // bytes of the one copy to the host that took as many as there are elements
    CallSite copied_at{"", 0}, overwritten_at{"", 0};
  };
  std::optional<Writer> unread_since;  // traced: the launch that wrote it, if nothing has read it since

  bool on_device() const { return is_protected() || is_variable(); }
  int written_at = 0;            // traced: the line of the last launch that wrote and did not read it
  bool never_set = false;        // a __device__ variable without a first value, so far
  std::optional<Writer> reader;  // the first launch that read it
  bool address_taken = false;    // a variable's, by cudaGetSymbolAddress
  bool is_variable() const { return kind == Kind::variable || kind == Kind::constant; }
  bool host_writes_unseen() const { return kind == Kind::managed || kind == Kind::pinned; }
  bool is_protected() const { return kind == Kind::device || kind == Kind::heap; }
};

// A GPU that the runtime can report.
struct Gpu {
  const char *word, *name;
  int major, minor, multiprocessors, clock_khz, memory_clock_khz, bus_bits;
  std::size_t memory_bytes, l2_bytes;
  int threads_per_multiprocessor, blocks_per_multiprocessor;
  std::size_t shared_per_multiprocessor, max_shared_per_block;
};
const Gpu& gpu();  // selected by TESSERA_CUDA_GPU

struct Kernel;

class Runtime {
 public:
  static Runtime& get();

  std::recursive_mutex mutex;
  bool traced = false;
  int os_threads = 1;

  // --- Memory ---
  std::map<std::uintptr_t, Array> arrays;  // by address
  std::map<std::uintptr_t, Array> freed;   // freed device memory, until its addresses are reused
  Array* array_at(const void* address);    // the one that holds this byte, or ends there
  Array* array_near(const void* address);  // the one that the address misses by little
  void let_kernels(bool in);               // true: makes device memory accessible
  std::size_t device_bytes() const;
  std::uint64_t version = 1;  // grows when memory changes

  cudaError_t fail(cudaError_t error);  // records and returns a call's error
  cudaError_t sticky = cudaSuccess;     // the error of a kernel that failed
  // Called at the start of every call. Returns the error of a failed kernel, if any.
  cudaError_t state() { return sticky; }

  std::int64_t launches = 0;
  double time_credit = 0;  // seconds of launches that were not repeated
  void finish_repeats();
  std::atomic<bool> launch_runs = false;  // traced: an interrupt waits for its findings
  bool call_failed = false;
  bool results_used = false;         // traced: something has read what a kernel wrote, besides kernels
  std::optional<Array> last_result;  // traced: an array that the last writing launch wrote, in unread_since
  void at_exit(int signal, int status = 0);

  // The last allocation that failed, until it is reported.
  struct FailedAllocation {
    std::string name;
    std::size_t bytes;
    CallSite at;
  };
  std::optional<FailedAllocation> failed_allocation;

  // Launches whose error has not been queried.
  struct FailedLaunch {
    std::int64_t number;
    cudaError_t error;
    std::string kernel, text;
    CallSite at;
  };
  std::vector<FailedLaunch> failed;

 private:
  Runtime();
};

using Lock = std::lock_guard<std::recursive_mutex>;

// This host thread's last error, for cudaGetLastError.
struct LastError {
  cudaError_t error = cudaSuccess;
  std::int64_t launch = 0;  // the launch that failed; 0: a call
};
extern thread_local LastError last_error;
void note_queried(cudaError_t error);

// Copies rows of `width` bytes, with checks; `call` is the name in messages.
cudaError_t copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                 std::size_t rows, cudaMemcpyKind kind, const char* call, CallSite at);
// Marks pages of managed or pinned memory that the host has touched as written.
void mark_host_writes(Array& array);
// Makes the array that malloc() and new in kernels allocate from.
Array* make_heap(std::size_t bytes);  // null: there is no room for it
void drop_heap(Array* heap);
// Marks arrays of textures as read, because the launch that ends may have read them.
void forget_unread_textures();

// Returns "d_A" of "(void**)&d_A".
std::string name_in(const char* text);
double now();  // seconds
// Prints to stderr, each text once.
void say_once(const std::string& text);

}  // namespace tessera_cuda
