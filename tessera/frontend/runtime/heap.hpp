// SPDX-License-Identifier: Apache-2.0
// Memory of malloc() and new in kernels: an array of the device, of which kernels are given blocks.
#pragma once
#include <cstddef>
#include <cstdint>
#include "tessera/frontend/runtime/launch_record.hpp"
#include "tessera/simt/tracer/tracer.hpp"

namespace tessera_cuda {

struct Array;

// Before a launch and after it. What kernels free is given again after it, so that an address means one
// block.
void open_heap();
void close_heap(const LaunchRecord& launch);
// How the tracer tells the blocks of this array apart.
void describe_heap(tessera::simt::TracedArray& traced);
std::size_t heap_extent();  // of its array, as far as blocks ever lay
void find_heap_leaks();
std::size_t heap_limit();
bool set_heap_limit(std::size_t bytes);  // false: kernels use the heap already

}  // namespace tessera_cuda
