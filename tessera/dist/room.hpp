// SPDX-License-Identifier: Apache-2.0
// What a device holds of the inputs, step by step, where they are more than its memory: what is needed next
// pushes out what is needed last. The steps are known beforehand, so this is the least that must be copied
// again.
#pragma once
#include <limits>
#include <vector>
#include "tessera/dist/plan.hpp"

namespace tessera::dist {

class Room {
 public:
  // A part that is held knows no limit. `tile_bytes` are for results.
  Room(const Plan& plan, Part& part, const Device& device, std::int64_t tile_bytes);

  // Pieces that the step reads and that are not here, called for each step in turn. Marks what had to go for
  // them. Throws Error where there is not room enough.
  std::vector<std::size_t> missing(std::size_t step);
  std::int64_t most() const { return most_; }  // bytes held so far, results included

 private:
  std::size_t next_use(std::size_t piece, std::size_t after);
  void push_out(std::size_t step);

  static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

  const Plan* plan_;
  Part* part_;
  const Device* device_;
  std::int64_t limit_, tile_bytes_, held_ = 0, most_ = 0;
  std::vector<std::vector<std::size_t>> uses_;  // of each piece: steps, in order
  std::vector<std::size_t> here_, last_use_;
};

}  // namespace tessera::dist
