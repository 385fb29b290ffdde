// SPDX-License-Identifier: Apache-2.0
// What a program does that it must not, beyond what the tracer finds in a kernel.
#pragma once
#include <string>
#include "tessera/frontend/runtime/launch_record.hpp"
#include "tessera/frontend/runtime/runtime.hpp"

namespace tessera_cuda {

FindingRecord finding_at(std::string what, std::string file, int line);
// At the launch's line, of its kernel.
FindingRecord finding_of(std::string what, const LaunchRecord& launch);
// Written down once for each place and text, and counted.
void find(FindingRecord finding);
// A copy, fill or release that the runtime refuses; gives the error back.
cudaError_t find_copy(cudaError_t error, const std::string& text, const Array* array, Place at);
// The host copies [from, from + bytes) of an array: does it copy what nobody wrote?
void find_never_written(const Array& array, const void* from, std::size_t bytes, Place at);
// The array goes: did a kernel write it for nobody?
void find_never_read(const Array& array);
// What is still allocated, what was never queried.
void find_at_exit();
// A signal outside of kernels: was it device memory that the host touched?
void handle_faults();

// "d_A[17]", or "d_A[17] to d_A[20]".
std::string place_in(const Array& array, std::size_t first_byte, std::size_t last_byte);

// Forbidden bytes beside an array, in memory.cpp
bool zones_are_whole(const Array& array, std::ptrdiff_t& byte);
void mend_zones(const Array& array);
// Of an array, who wrote what: not known any more.
void release_marks(Array& array);

}  // namespace tessera_cuda
