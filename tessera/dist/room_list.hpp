// SPDX-License-Identifier: Apache-2.0
// Offsets in a block of memory that is taken and given back in pieces: the smallest gap that fits, else the
// end.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>

namespace tessera::dist {

class RoomList {
 public:
  std::int64_t take(std::int64_t bytes) {
    auto best = gaps_.end();
    for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap)
      if (gap->second >= bytes && (best == gaps_.end() || gap->second < best->second)) best = gap;
    if (best == gaps_.end()) return at_the_end(bytes);
    const auto [offset, size] = *best;
    gaps_.erase(best);
    if (size > bytes) gaps_[offset + bytes] = size - bytes;
    return offset;
  }

  void give_back(std::int64_t offset, std::int64_t bytes) {
    if (bytes == 0) return;
    auto gap = gaps_.emplace(offset, bytes).first;
    if (const auto next = std::next(gap); next != gaps_.end() && gap->first + gap->second == next->first) {
      gap->second += next->second;
      gaps_.erase(next);
    }
    if (gap == gaps_.begin()) return;
    const auto before = std::prev(gap);
    if (before->first + before->second != gap->first) return;
    before->second += gap->second;
    gaps_.erase(gap);
  }

  std::int64_t end() const { return end_; }  // the most that was ever taken

 private:
  // A gap that reaches to the end is made larger.
  std::int64_t at_the_end(std::int64_t bytes) {
    std::int64_t offset = end_;
    if (!gaps_.empty())
      if (const auto last = std::prev(gaps_.end()); last->first + last->second == end_) {
        offset = last->first;
        gaps_.erase(last);
      }
    end_ = offset + bytes;
    return offset;
  }

  std::map<std::int64_t, std::int64_t> gaps_;  // offset → bytes
  std::int64_t end_ = 0;
};

}  // namespace tessera::dist
