// SPDX-License-Identifier: Apache-2.0
#include "tessera/simt/report.hpp"
#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

namespace tessera::simt {
namespace {

const char* name_of(Meeting what) {
  switch (what) {
    case Meeting::sync:
      return "sync";
    case Meeting::sync_warp:
      return "sync_warp";
    case Meeting::shuffle:
      return "shuffle";
    case Meeting::shuffle_up:
      return "shuffle_up";
    case Meeting::shuffle_down:
      return "shuffle_down";
    case Meeting::shuffle_xor:
      return "shuffle_xor";
    case Meeting::any:
      return "any";
    case Meeting::all:
      return "all";
    case Meeting::ballot:
      return "ballot";
    case Meeting::match_any:
      return "match_any";
    case Meeting::match_all:
      return "match_all";
  }
  return "?";
}

std::string hexadecimal(std::uint32_t lanes) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", lanes);
  return text;
}

// "at x.simt.cu:40 (shuffle of lanes 0x0000ffff)"
std::string place_of(const Wait& wait) {
  std::string what = name_of(wait.what);
  if (wait.what != Meeting::sync) what += " of lanes " + hexadecimal(wait.lanes);
  return "at " + to_string(wait.here) + " (" + what + ")";
}

// "thread 3" or "threads 0-15, 20": of as many ranges as one can read.
std::string ranges(const std::vector<int>& ranks) {
  constexpr int most = 8;
  std::string text = ranks.size() == 1 ? "thread " : "threads ";
  int count = 0;
  for (std::size_t i = 0, end = 0; i < ranks.size(); i = end) {
    for (end = i + 1; end < ranks.size() && ranks[end] == ranks[end - 1] + 1;) ++end;
    if (count == most) return text + ", … (" + std::to_string(ranks.size()) + " threads)";
    text += (count++ == 0 ? "" : ", ") + std::to_string(ranks[i]);
    if (end - i > 1) text += "-" + std::to_string(ranks[end - 1]);
  }
  return text;
}

}  // namespace

std::string waits_in_vain(std::span<const ThreadState> threads) {
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (const ThreadState& t : threads) {
    const bool gone = t.state == ThreadState::State::returned;
    const std::string where = gone ? "returned" : "wait " + place_of(t.wait);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == where; });
    if (group == groups.end()) group = groups.insert(groups.end(), {where, {}});
    group->second.push_back(t.rank);
  }
  std::string text = "threads wait for each other in vain: ";
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::string where = groups[i].first;
    if (groups[i].second.size() == 1 && where.starts_with("wait ")) where.insert(4, "s");
    text += (i == 0 ? "" : ", ") + ranges(groups[i].second) + " " + where;
  }
  return text;
}

std::string misses_lane(const ThreadState& waiting, const ThreadState& gone) {
  return "thread " + std::to_string(waiting.rank) + " waits " + place_of(waiting.wait) + " for lane " +
         std::to_string(gone.rank % 32) + " (thread " + std::to_string(gone.rank) + "), which has returned";
}

std::string misses_itself(const ThreadState& thread) {
  return "thread " + std::to_string(thread.rank) + " is lane " + std::to_string(thread.rank % 32) +
         " and does not name itself " + place_of(thread.wait);
}

}  // namespace tessera::simt
