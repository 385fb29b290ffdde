// SPDX-License-Identifier: Apache-2.0
// Errors of a program beyond those that the tracer finds in kernels.
#pragma once
#include <string>
#include "tessera/frontend/runtime/launch/launch_record.hpp"
#include "tessera/frontend/runtime/runtime.hpp"

namespace tessera_cuda {

FindingRecord finding_at(std::string what, std::string file, int line);
// Returns a finding at the launch's line, with the kernel's name.
// Returns the line of the source file; "" if it cannot be read.
std::string text_of_line(CallSite at);
FindingRecord finding_of(std::string what, const LaunchRecord& launch);
// Records a finding, once for each place and text.
void find(FindingRecord finding);
// Records a copy, fill or release that the runtime refuses; returns the error.
cudaError_t find_copy(cudaError_t error, const std::string& text, const Array* array, CallSite at,
                      std::string remedy = {}, const char* what = "copy");
// Reports the allocation that made a pointer null; false: none failed, or it is reported already.
bool find_failed_allocation();
// Reports a host copy of [from, from + bytes) that includes unwritten bytes.
void find_never_written(const Array& array, const void* from, std::size_t bytes, CallSite at);
// Reports an array that is released although nothing has read it since a kernel wrote it.
void find_never_read(const Array& array);
// Returns indices of a launch beyond arrays whose extent the compiler knows.
std::vector<FindingRecord> take_index_findings();
// Reports launch errors never queried and, if the program came to its end, memory still allocated.
void find_at_exit(bool came_to_end);
// Installs signal handlers that report accesses of host code to device memory.
void handle_faults();
// Makes an interrupt stop the traced launch that runs; end_if_interrupted() then ends the program.
void handle_interrupts();
void end_if_interrupted();

// --- remedies.cpp: what to do, by what is known of an array ---
// Returns the remedy for a kernel's access of global memory, launched at a line; "": it follows from the
// kind.
std::string remedy_of(const FindingRecord& finding, std::uint64_t address, int launch_line);
std::string remedy_of_copy(const Array* to, const Array* from);  // its kind is wrong
std::string remedy_of_size(const Array& array, std::size_t bytes);
std::string remedy_of_symbol(const Array& array, bool reads);
std::string remedy_of_release(const void* pointer, bool host);
// Returns "host memory", "a null pointer" or "b, which was freed" for a pointer into no array.
std::string describe(const void* pointer);
std::string remedy_of_pointer(const void* pointer);  // into no array, of a call that needs device memory
std::string remedy_of_freed(const void* pointer);    // "": its array is not freed

// Returns "d_A[17]", or "d_A[17] to d_A[20]".
std::string place_in(const Array& array, std::size_t first_byte, std::size_t last_byte);

// Check and restore the red zones beside an array; defined in memory.cpp.
bool zones_are_whole(const Array& array, std::ptrdiff_t& byte);
void mend_zones(const Array& array);
// Forgets which bytes of an array were written.
void release_marks(Array& array);

}  // namespace tessera_cuda
