// SPDX-License-Identifier: Apache-2.0
// The record of a program, as lines of JSON in the file that TESSERA_CUDA_RECORD names. Each line is written
// and flushed at once, so that a crash loses nothing. Each is an object; "record" names its kind:
//
//   {"record": "start", "version": 1, "gpu": "NVIDIA H200", "traced": true}
//   {"record": "launch", "number": 1, "kernel": "scale<32>", "file", "line",       where it is launched
//    "kernel_file", "kernel_line", "grid": [x, y, z], "block": [x, y, z], "static_shared", "dynamic_shared",
//    "cooperative": false, "seconds": 0.1, "error": "cudaErrorInvalidValue" or null,
//    "traced": "whole" | "sampled" | "no", "blocks", "blocks_traced",
//    "occupancy": {"blocks", "warps", "fraction", "limit"},
//    "sites": [{"file", "line", "space": "global" | "shared" | "constant", "act": "read" | "write" |
//    "atomic", "width",
//               "array": "d_A", "array_bytes" (global), "requests", "divergent", "spaced", "accesses",
//               "bytes", "distinct_bytes", "sectors",
//               "ideal_sectors", "lines", "wavefronts", "ideal_wavefronts",
//               "dearest": {"cost": 8, "block": [x, y, z], "warp", "offsets": [0, 8, …, null],
//                           "start", "element_bytes", "extents", "array_bytes"}}],
//               the most expensive request: its sectors or wavefronts; each lane's offset in the array, in
//               bytes; the array's offset in a 128-byte line. Absent if every request touched several
//               arrays
//    "barriers": [{"file", "line", "times"}]}
//   {"record": "repeated", "launch": 2, "times": 299}    not run again: nothing that it reads had changed
//   {"record": "finding", "what": "race", "serious": true, "text", "file", "line", "other_file",
//    "other_line", "array", "kernel", "launch", "block": [x, y, z], "thread": [x, y, z], "times",
//    "remedy",                             absent if it follows from the other fields
//    "scope": "warp" | "block" | "grid",   a race's threads, in the widest occurrence
//    "is_first", "other_is_first",         true if in some occurrence this access comes first in its program
//    "read_first",                         true if a line reads what another thread then writes in that line
//    "both_write", "together",             occurrences in which both write the word; at the same step
//    "read_line",                          the line of the access that reads
//    "release_line", "lock_line"}          the atomics of a message or a lock that lacks fences
//    Fields that do not apply are absent. "what" is one of
//      race, uninitialised, out of bounds, misaligned, barrier, stopped        in a kernel
//      host pointer, inactive lane                                            in a kernel
//      never written             a kernel reads global memory, or the host copies it, that nothing wrote
//      never read                a kernel writes an array that nothing reads afterwards
//      device pointer            the host reads or writes device memory
//      launch error, call error  an error that a call returned; "queried": true if the program queried it
//      copy, free, leak
//    "serious": races and memory errors, for which trace exits with 4.
//   {"record": "note", "text"}        a remark, written once, such as that events measure this machine's time
//   {"record": "end", "launches", "signal": 11 or absent}
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>
#include "tessera/frontend/include/cuda_runtime_api.h"
#include "tessera/simt/tracer/tracer.hpp"

namespace tessera_cuda {

// The name of the array that malloc() and new in kernels allocate from, in sites and findings.
inline constexpr const char* heap_name = "the device's heap";

struct LaunchRecord {
  std::int64_t number = 0;
  std::string kernel;
  CallSite at{"", 0}, kernel_at{"", 0};
  tessera::Launch shape;
  std::size_t static_shared = 0, dynamic_shared = 0;
  bool cooperative = false;
  double seconds = 0;
  cudaError_t error = cudaSuccess;
  int threads_per_block = 0;
  const char* traced = "no";
  std::int64_t blocks_traced = 0;
  const tessera::simt::Tracer* tracer = nullptr;
};

struct FindingRecord {
  std::string what, text, file, other_file, array, kernel;
  std::string remedy;  // "": it follows from `what`
  int line = 0, other_line = 0;
  bool serious = true;
  std::optional<tessera::simt::RaceScope> scope;  // races only
  bool is_first = false, other_is_first = false, read_first = false;
  std::uint64_t both_write = 0, together = 0;
  int read_line = 0;
  int release_line = 0, lock_line = 0;
  std::int64_t launch = 0;
  std::optional<tessera::Index3> block, thread;
  std::uint64_t times = 1;
  std::optional<bool> queried;
  std::uint64_t array_at = 0;  // the array of an access in global memory; not recorded
  bool writes = false;         // not recorded
  bool damages_stack = false;  // a thread's stack; not recorded
};

void record_start(const char* gpu, bool traced);
void record(const LaunchRecord& launch);
void record(const FindingRecord& finding);
void record_repeats(std::int64_t launch, std::int64_t times);
void record_note(const std::string& text);
void record_end(std::int64_t launches, int signal);

// The user's source line of an access, from the debug information.
struct SourceLine {
  std::string file;
  int line = 0;
};
SourceLine line_of(std::uint64_t return_address);
// True if the file is neither a header of this project nor the system's.
bool is_users(const std::string& file);

}  // namespace tessera_cuda
