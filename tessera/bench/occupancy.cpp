// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/occupancy.hpp"
#include <algorithm>

namespace tessera::bench {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

struct Capability {
  int number, warps, blocks;
  std::int64_t shared_kilobytes;
};

// CUDA C++ Programming Guide 13, "Compute Capabilities", tables of technical specifications and of memory;
// the toolkit's cuda_occupancy.h says the same.
constexpr Capability capabilities[] = {
    {75, 32, 16, 64},  {80, 64, 32, 164},  {86, 48, 16, 100},  {87, 48, 16, 164},  {89, 48, 24, 100},
    {90, 64, 32, 228}, {100, 64, 32, 228}, {110, 48, 24, 228}, {120, 48, 24, 100},
};

}  // namespace

Multiprocessor multiprocessor_of(int compute_capability) {
  const Capability* nearest = &capabilities[0];
  for (const Capability& known : capabilities)
    if (known.number <= compute_capability) nearest = &known;
  Multiprocessor out;
  out.warps = nearest->warps;
  out.blocks = nearest->blocks;
  out.shared_bytes = nearest->shared_kilobytes * 1024;
  if (nearest->number < 80) out.shared_reserved = 0, out.shared_unit = 256;
  return out;
}

Occupancy occupancy(const Multiprocessor& on, std::int64_t threads_per_block, std::int64_t shared_bytes,
                    std::optional<std::int64_t> registers) {
  Occupancy out;
  if (threads_per_block <= 0) return out;
  const std::int64_t warps = (threads_per_block + 31) / 32;
  std::int64_t most = on.blocks;
  out.limit = "blocks";
  const auto at_most = [&](std::int64_t blocks, const char* what) {
    if (blocks >= most) return;
    most = blocks;
    out.limit = what;
  };
  at_most(on.warps / warps, "warps");
  if (shared_bytes > 0)
    at_most(on.shared_bytes / round_up(shared_bytes + on.shared_reserved, on.shared_unit), "shared memory");
  if (registers && *registers > 0) {
    const std::int64_t each = round_up(*registers * 32, on.registers_per_warp_unit);
    at_most(on.registers / on.parts / each * on.parts / warps, "registers");
  }
  out.blocks = static_cast<int>(most);
  out.warps = static_cast<int>(most * warps);
  out.fraction = static_cast<double>(out.warps) / on.warps;
  return out;
}

}  // namespace tessera::bench
