// SPDX-License-Identifier: Apache-2.0
// The kernels known to the runtime, and the state of an OS thread that runs one of their threads.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>
#include "tessera/frontend/runtime/launch/launch_record.hpp"
#include "tessera/frontend/runtime/runtime.hpp"

namespace tessera_cuda {

struct Kernel;

// A variable in shared memory, as findings name it.
struct SharedName {
  std::string name;
  std::size_t offset;  // in its struct
  const ElementsOf* type;
};

// The shared variables of one declaration. A kernel's own variables have a fixed offset in its blocks; those
// of device functions get one in each kernel at their first use.
struct SharedDeclaration {
  SharedStruct* of = nullptr;
  std::string type;
  const Kernel* owner = nullptr;
  std::size_t owner_offset = 0;
  std::atomic<int> names_known{0};
  std::vector<SharedName> names;
};

struct SharedPlacement {
  const SharedDeclaration* declaration;
  std::size_t offset;
};

struct Kernel {
  KernelCode* code = nullptr;
  std::string name;                       // with template arguments: "scale<32>"
  std::string type;                       // the closure's
  std::size_t own_end = 0, capacity = 0;  // static shared memory in bytes, without and with device functions'
  std::atomic<int> placed{0};
  std::vector<SharedPlacement> placements;  // never reallocated
  std::size_t largest_dynamic = 48 << 10;   // cudaFuncAttributeMaxDynamicSharedMemorySize
  std::string dynamic_name;
  std::atomic<std::size_t> dynamic_element{0};

  std::size_t static_bytes() const;
  int max_threads() const { return code->max_threads > 0 ? code->max_threads : 1024; }
  std::size_t offset_of(const SharedDeclaration& declaration);  // places it, if it has no place yet
};

Kernel& kernel_of(KernelCode& code);
Kernel* kernel_at(const void* address);  // null: not known
// Stores a launch in `work`, with the present values of its arguments, to be executed later.
cudaError_t keep_launch(std::function<cudaError_t()>& work, const void* kernel, dim3 grid, dim3 block,
                        void** arguments, std::size_t shared_bytes, CallSite at);

// Unused bytes between and after shared variables.
inline constexpr std::size_t shared_gap = 256;
// Counters for __syncthreads_count and its relatives, at the end of a block's shared memory.
struct BlockCounters {
  static constexpr std::uint64_t fresh = 0x7e55e7ac0117e75a;
  std::uint64_t mark;
  unsigned calls;
  unsigned held[2], arrived[2];
};

// The launch of which this OS thread runs a block.
struct Running {
  Kernel* kernel = nullptr;
  const void* closure = nullptr;
  char* shared = nullptr;
  std::size_t dynamic_offset = 0, counters_offset = 0;
  bool cooperative = false;
  struct Output* output = nullptr;
};
extern thread_local Running running __attribute__((tls_model("initial-exec")));

// The output of a launch.
struct Output {
  struct Line {
    int lane;
    const void* call;  // the return address
    const char* format;
    std::string text;
  };
  std::mutex mutex;
  std::map<std::tuple<std::int64_t, std::uint64_t, int>, std::vector<Line>> lines;  // block, barriers, warp
  std::atomic<bool> printed{false};
  std::string assertion;  // the first one that failed
  bool trapped = false;
};

// Returns the output of a warp in an order that a GPU may show: its lanes make each call together.
std::string text_of_warp(const std::vector<Output::Line>& lines);

}  // namespace tessera_cuda
