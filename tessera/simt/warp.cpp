// SPDX-License-Identifier: Apache-2.0
#include "tessera/simt/warp.hpp"

namespace tessera::simt {
namespace {

template <class F>
void for_each_named(std::span<ThreadState> lanes, std::uint32_t named, F f) {
  for (; named != 0; named &= named - 1) f(lanes[static_cast<std::size_t>(__builtin_ctz(named))]);
}

// A lane whose source takes no part keeps its own value.
void shuffle(std::span<ThreadState> lanes, std::uint32_t named) {
  for_each_named(lanes, named, [&](ThreadState& lane) {
    const int source = lane.wait.source;
    const bool there = source >= 0 && source < 32 && (named >> source & 1) != 0;
    lane.result = there ? lanes[static_cast<std::size_t>(source)].wait.value : lane.wait.value;
  });
}

std::uint32_t holders_of(std::span<ThreadState> lanes, std::uint32_t named, std::uint64_t value) {
  std::uint32_t holders = 0;
  for_each_named(lanes, named, [&](const ThreadState& lane) {
    if (lane.wait.value == value) holders |= 1u << lane.rank % 32;
  });
  return holders;
}

std::uint64_t same_for_all(std::span<ThreadState> lanes, std::uint32_t named, Meeting what) {
  const std::uint32_t yes = named & ~holders_of(lanes, named, 0);
  const auto first = static_cast<std::size_t>(__builtin_ctz(named));
  switch (what) {
    case Meeting::any:
      return yes != 0;
    case Meeting::all:
      return yes == named;
    case Meeting::ballot:
      return yes;
    case Meeting::match_all:
      return holders_of(lanes, named, lanes[first].wait.value) == named ? named : 0;
    default:
      return 0;
  }
}

}  // namespace

void give_results(std::span<ThreadState> lanes, std::uint32_t named, Meeting what) {
  switch (what) {
    case Meeting::shuffle:
    case Meeting::shuffle_up:
    case Meeting::shuffle_down:
    case Meeting::shuffle_xor:
      return shuffle(lanes, named);
    case Meeting::match_any:
      return for_each_named(
          lanes, named, [&](ThreadState& lane) { lane.result = holders_of(lanes, named, lane.wait.value); });
    default:
      break;
  }
  const std::uint64_t result = same_for_all(lanes, named, what);
  for_each_named(lanes, named, [&](ThreadState& lane) { lane.result = result; });
}

}  // namespace tessera::simt
