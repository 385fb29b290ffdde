// SPDX-License-Identifier: Apache-2.0
// How many warps of a kernel fit on a GPU's multiprocessor at once, and what keeps more from it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace tessera::bench {

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
