// SPDX-License-Identifier: Apache-2.0
#include "tessera/simt/executor/diagnosis.hpp"
#include "tessera/simt/executor/executor.hpp"
#include <algorithm>
#include <cstdio>
#include <set>
#include <string_view>
#include <tuple>
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
std::string place_of(const Wait& wait, bool with_column = false) {
  std::string what = name_of(wait.what), column;
  if (wait.what != Meeting::sync) what += " of lanes " + hexadecimal(wait.lanes);
  if (with_column) column = ":" + std::to_string(wait.here.column);
  return "at " + to_string(wait.here) + column + " (" + what + ")";
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

// Two barriers on one line are told apart by their columns, which are shown only then.
bool share_a_line(std::span<const ThreadState> threads) {
  std::set<std::tuple<std::string_view, int, int>> places;
  std::set<std::pair<std::string_view, int>> lines;
  for (const ThreadState& t : threads) {
    if (t.state == ThreadState::State::returned) continue;
    places.emplace(t.wait.here.file, t.wait.here.line, t.wait.here.column);
    lines.emplace(t.wait.here.file, t.wait.here.line);
  }
  return places.size() > lines.size();
}

// "threads 0-15 wait at x.simt.cu:40 (sync), thread 16 returned"
std::string standing(std::span<const ThreadState> threads) {
  const bool with_column = share_a_line(threads);
  std::vector<std::pair<std::string, std::vector<int>>> groups;
  for (const ThreadState& t : threads) {
    const bool gone = t.state == ThreadState::State::returned;
    const std::string where = gone ? "returned" : "wait " + place_of(t.wait, with_column);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == where; });
    if (group == groups.end()) group = groups.insert(groups.end(), {where, {}});
    group->second.push_back(t.rank);
  }
  std::string text;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::string where = groups[i].first;
    if (groups[i].second.size() == 1 && where.starts_with("wait ")) where.insert(4, "s");
    text += (i == 0 ? "" : ", ") + ranges(groups[i].second) + " " + where;
  }
  return text;
}

}  // namespace

std::string waits_in_vain(std::span<const ThreadState> threads) {
  return "threads wait for each other in vain: " + standing(threads);
}

std::string leaves_out(std::span<const ThreadState> threads) {
  return "threads returned before a barrier of the others: " + standing(threads) +
         " (a GPU lets the others pass; a kernel that means it declares may_return_early)";
}

std::string misses_lane(const ThreadState& waiting, const ThreadState& gone) {
  return "thread " + std::to_string(waiting.rank) + " waits " + place_of(waiting.wait) + " for lane " +
         std::to_string(gone.rank % 32) + " (thread " + std::to_string(gone.rank) + "), which has returned";
}

std::string misses_itself(const ThreadState& thread) {
  return "thread " + std::to_string(thread.rank) + " is lane " + std::to_string(thread.rank % 32) +
         " and does not name itself " + place_of(thread.wait);
}

std::string describe(const Stop& stop) {
  char address[32];
  std::snprintf(address, sizeof address, "%p", stop.address);
  switch (stop.why) {
    case Stop::Why::overflow:
      return "stack overflow";
    case Stop::Why::division:
      return "an integer division by zero";
    case Stop::Why::spinning:
      return "no progress";
    case Stop::Why::late:
      return "the end of the time allowed";
    case Stop::Why::no_memory:
      break;
  }
  if (stop.address == nullptr) return "an access to a null or impossible address";
  return std::string("an access to the address ") + address + ", where there is no memory,";
}

std::exception_ptr out_of_time(const Task& task, double seconds_allowed) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", seconds_allowed);
  return std::make_exception_ptr(
      OutOfTime("kernel " + kernel_name(task) + " was stopped after " + seconds + " s, the time allowed"));
}

std::string hint(const Stop& stop) {
  if (stop.why == Stop::Why::overflow) return ": more than " + std::to_string(stack_bytes >> 10) + " KiB";
  if (stop.why != Stop::Why::spinning) return "";
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", most_seconds_without_progress());
  return std::string(": it ran for ") + seconds +
         " s without a barrier or a return. Waiting for another block needs a cooperative launch, waiting "
         "for a "
         "thread of the block a barrier (TESSERA_SIMT_TIMEOUT=SECONDS allows more time, 0 any)";
}

}  // namespace tessera::simt
