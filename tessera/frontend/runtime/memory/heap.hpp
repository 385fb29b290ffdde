// SPDX-License-Identifier: Apache-2.0
// Memory for malloc() and new in kernels: a device array from which kernels allocate blocks.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include "tessera/frontend/runtime/launch/launch_record.hpp"
#include "tessera/simt/tracer/tracer.hpp"

namespace tessera_cuda {

struct Array;

// Called before and after a launch. Unless the heap is full, memory that kernels free is reused only after
// the launch, so that during a launch an address identifies one block.
void open_heap();
void close_heap(const LaunchRecord& launch);
// Sets how the tracer distinguishes the blocks of this array.
void describe_heap(tessera::simt::TracedArray& traced);
std::size_t heap_extent();  // bytes from the array's start to the end of the farthest block ever
void find_heap_leaks();
std::size_t heap_limit();
bool set_heap_limit(std::size_t bytes);  // false: kernels use the heap already

// --- host_heap.cpp: malloc() and new[] of host code ---
void* allocate_on_host(std::size_t bytes, void* caller);  // may return null
void forget_on_host(void* pointer);                       // before it is released
struct HostAllocation {
  std::size_t bytes;  // from the address to its end
  int line;
};
std::optional<HostAllocation> host_allocation(const void* address);  // nullopt: not known, or written beyond
void check_host_heap();  // reports writes beyond memory that is not released

}  // namespace tessera_cuda
