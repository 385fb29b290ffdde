// SPDX-License-Identifier: Apache-2.0
// Reads the compiled kernels of GPU code: registers, spills, shared memory, and the static number of
// instructions of each kind.
//
// The encoding of instructions is undocumented. It was derived by compiling known kernels; tests check it.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::bench {

// Memory instructions by bytes per lane: less than 4, or 4, 8, 16.
struct Widths {
  std::int64_t narrow = 0, of32 = 0, of64 = 0, of128 = 0;
  std::int64_t all() const { return narrow + of32 + of64 + of128; }
  std::int64_t wide() const { return of64 + of128; }
};

struct KernelCode {
  std::string symbol;                                        // mangled name
  std::string name;                                          // demangled, spelled alike for all compilers
  int architecture = 0;                                      // 90: code for compute capability 9.0
  std::optional<std::int64_t> registers;                     // per thread
  std::optional<std::int64_t> stack_bytes;                   // per thread: arrays in local memory, and spills
  std::int64_t shared_bytes = 0;                             // per block, without dynamic shared memory
  std::int64_t spill_load_bytes = 0, spill_store_bytes = 0;  // moved by one execution of each instruction
  Widths global_load, global_store, shared_load, shared_store, local_load, local_store;
  std::int64_t matrix_load = 0, barriers = 0, instructions = 0;
  // The registered variant that uses the kernel: "gpu/coarsened", "tile=16,outputs=4", "f32".
  std::string operation, variant, tuning, element;
  std::int64_t fma32 = 0, add32 = 0, mul32 = 0, fma64 = 0, add64 = 0, mul64 = 0;

  std::optional<double> instructions_per_fma() const;
};

// Returns every kernel of every architecture in the file. Throws Error "PATH: reason", also if there is none.
std::vector<KernelCode> read_code(const std::string& path);
std::vector<KernelCode> code_of(std::string_view file);  // messages without the path

// Demangles "_Z…" to "void f<(anonymous namespace)::K<float>>(…)", with one spelling for all compilers.
std::string readable(const std::string& symbol);

// Finds the code of the kernel made from this type, for the highest architecture that runs on a device of
// this compute capability (90). Null: there is none.
const KernelCode* find_code(const std::vector<KernelCode>& all, const std::string& kernel_type,
                            int capability);

// Returns the type that a kernel of this library is made from, "matmul::Coarsened<float, …>"; "": it is
// another library's.
std::string made_from(const std::string& kernel_name);

nlohmann::ordered_json to_json(const KernelCode& code);

// --- Occupancy: the number of warps that a multiprocessor holds at once ---

// Resources of one multiprocessor.
struct Multiprocessor {
  int warps = 64, blocks = 32;
  std::int64_t registers = 65536, registers_per_warp_unit = 256;
  int parts = 4;  // each with its own share of the registers
  std::int64_t shared_bytes = 228 * 1024, shared_unit = 128;
  std::int64_t shared_reserved = 1024;  // per block, for the driver
};

// Returns the multiprocessor of a compute capability such as 90, or of the nearest known one below it.
Multiprocessor multiprocessor_of(int compute_capability);

struct Occupancy {
  int blocks = 0;  // on one multiprocessor
  int warps = 0;
  double fraction = 0;  // share of the maximum number of warps
  std::string limit;    // "warps", "blocks", "registers", "shared memory"
};

// `registers`: per thread; nothing: not a limit.
Occupancy occupancy(const Multiprocessor& on, std::int64_t threads_per_block, std::int64_t shared_bytes,
                    std::optional<std::int64_t> registers = std::nullopt);

}  // namespace tessera::bench
