// SPDX-License-Identifier: Apache-2.0
#include "tessera/lab/occupancy.hpp"
#include <algorithm>

namespace tessera::lab {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

Multiprocessor multiprocessor_of(int compute_capability) {
  Multiprocessor out;
  if (compute_capability >= 120) {
    out.warps = 48, out.blocks = 24, out.shared_bytes = 100 * 1024;
  } else if (compute_capability >= 90) {
    out.warps = 64, out.blocks = 32, out.shared_bytes = 228 * 1024;
  } else if (compute_capability >= 89) {
    out.warps = 48, out.blocks = 24, out.shared_bytes = 100 * 1024;
  } else if (compute_capability >= 86) {
    out.warps = 48, out.blocks = 16, out.shared_bytes = 100 * 1024;
  } else if (compute_capability >= 80) {
    out.warps = 64, out.blocks = 32, out.shared_bytes = 164 * 1024;
  } else {  // Turing
    out.warps = 32, out.blocks = 16, out.shared_bytes = 64 * 1024;
    out.shared_reserved = 0, out.shared_unit = 256;
  }
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
    at_most(on.registers / each / warps, "registers");
  }
  out.blocks = static_cast<int>(most);
  out.warps = static_cast<int>(most * warps);
  out.fraction = static_cast<double>(out.warps) / on.warps;
  return out;
}

}  // namespace tessera::lab
