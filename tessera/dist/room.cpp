// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/room.hpp"
#include <algorithm>

namespace tessera::dist {

Room::Room(const Plan& plan, Part& part, const Device& device, std::int64_t tile_bytes)
    : plan_(&plan),
      part_(&part),
      device_(&device),
      limit_(part.held || device.memory_bytes == 0 ? std::numeric_limits<std::int64_t>::max()
                                                   : device.memory_for(plan.manner.tile, plan.manner.panel)),
      tile_bytes_(tile_bytes),
      uses_(plan.pieces.size()),
      last_use_(plan.pieces.size(), never) {
  for (std::size_t s = 0; s < part.steps.size(); ++s)
    for (const std::size_t piece : part.steps[s].reads) uses_[piece].push_back(s);
}

std::size_t Room::next_use(std::size_t piece, std::size_t after) {
  const auto next = std::ranges::upper_bound(uses_[piece], after);
  return next == uses_[piece].end() ? never : *next;
}

// Only what the steps that may still be running, or be waited for, do not read.
void Room::push_out(std::size_t step) {
  std::size_t furthest = never, at = here_.size();
  for (std::size_t i = 0; i < here_.size(); ++i) {
    const std::size_t piece = here_[i];
    if (last_use_[piece] + Plan::ahead > step) continue;
    const std::size_t next = next_use(piece, step - 1);
    if (next == step) continue;
    if (at == here_.size() || next > furthest) furthest = next, at = i;
    if (next == never) break;
  }
  if (at == here_.size())
    throw Error(device_->name + ": " + std::to_string(limit_) +
                " bytes do not hold what one step reads and writes");
  const std::size_t piece = here_[at];
  part_->steps[step - Plan::ahead].drops.push_back(piece);
  held_ -= plan_->pieces[piece].bytes;
  here_.erase(here_.begin() + static_cast<std::ptrdiff_t>(at));
  last_use_[piece] = never;
}

std::vector<std::size_t> Room::missing(std::size_t step) {
  std::vector<std::size_t> out;
  for (const std::size_t piece : part_->steps[step].reads) {
    if (last_use_[piece] == never) {
      out.push_back(piece);
      while (held_ + plan_->pieces[piece].bytes + tile_bytes_ > limit_) push_out(step);
      held_ += plan_->pieces[piece].bytes;
      here_.push_back(piece);
      most_ = std::max(most_, held_ + tile_bytes_);
    }
    last_use_[piece] = step;
  }
  return out;
}

}  // namespace tessera::dist
