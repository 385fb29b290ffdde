// SPDX-License-Identifier: Apache-2.0
// Reads from GPU code what the compiler made of each kernel: registers, spills, shared memory, and the number
// of instructions of each kind. Each instruction counts once, however often it runs.
//
// The encoding of instructions is not documented. It was found by compiling known kernels, and tests hold it
// to that.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::bench {

// Memory instructions by what a lane moves: less than 4 bytes, or 4, 8, 16.
struct Widths {
  std::int64_t narrow = 0, of32 = 0, of64 = 0, of128 = 0;
  std::int64_t all() const { return narrow + of32 + of64 + of128; }
  std::int64_t wide() const { return of64 + of128; }
};

struct KernelCode {
  std::string symbol;                       // as the linker knows it
  std::string name;                         // readable, the same whichever compiler wrote it
  int architecture = 0;                     // 90: code for compute capability 9.0
  std::optional<std::int64_t> registers;    // of a thread
  std::optional<std::int64_t> stack_bytes;  // of a thread: arrays that have no registers, and spills
  std::int64_t shared_bytes = 0;            // of a block, without what a launch adds
  std::int64_t spill_load_bytes = 0, spill_store_bytes = 0;  // moved by the instructions below, each once
  Widths global_load, global_store, shared_load, shared_store, local_load, local_store;
  std::int64_t matrix_load = 0, barriers = 0, instructions = 0;
  // The rung that it belongs to, where a registered variant is made from it: "gpu/coarsened",
  // "tile=16,outputs=4", "f32".
  std::string operation, variant, tuning, element;
  std::int64_t fma32 = 0, add32 = 0, mul32 = 0, fma64 = 0, add64 = 0, mul64 = 0;

  std::optional<double> instructions_per_fma() const;
};

// Every kernel of every architecture that `file` carries. Throws Error "PATH: reason", also where there is
// none: with why.
std::vector<KernelCode> read_code(const std::string& path);
std::vector<KernelCode> code_of(std::string_view file);  // without a name in its messages

// "void f<(anonymous namespace)::K<float> >(…)" of "_Z…": one spelling for all compilers.
std::string readable(const std::string& symbol);

// The code of the kernel that is made from this type, for a device of this capability (90): that of the
// nearest architecture which runs there. Null: there is none.
const KernelCode* find_code(const std::vector<KernelCode>& all, const std::string& kernel_type,
                            int capability);

// The type that a kernel of the library is made from, "matmul::Coarsened<float, …>"; "": it is another's
// kernel.
std::string made_from(const std::string& kernel_name);

nlohmann::ordered_json to_json(const KernelCode& code);

// How many warps of a kernel fit on a GPU's multiprocessor at once, and what keeps more from it.

// What one multiprocessor has for the blocks on it.
struct Multiprocessor {
  int warps = 64, blocks = 32;
  std::int64_t registers = 65536, registers_per_warp_unit = 256;
  int parts = 4;  // each with a share of the registers, which no warp of another part can use
  std::int64_t shared_bytes = 228 * 1024, shared_unit = 128;
  std::int64_t shared_reserved = 1024;  // of every block, for the driver
};

// Of a compute capability such as 90; the nearest one known below it.
Multiprocessor multiprocessor_of(int compute_capability);

struct Occupancy {
  int blocks = 0;  // on one multiprocessor
  int warps = 0;
  double fraction = 0;  // of the warps that it can hold
  std::string limit;    // "warps", "blocks", "registers", "shared memory"
};

// Without `registers` of a thread they are taken not to be the limit.
Occupancy occupancy(const Multiprocessor& on, std::int64_t threads_per_block, std::int64_t shared_bytes,
                    std::optional<std::int64_t> registers = std::nullopt);

}  // namespace tessera::bench
