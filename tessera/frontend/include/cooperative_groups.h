// SPDX-License-Identifier: Apache-2.0
// Cooperative groups: a thread's view of the threads it works with. Groups of a warp hold their
// lanes as bits.
#pragma once
#include "device_functions.h"
#include "tessera_calls.h"

namespace tessera_cuda {
void grid_barrier(CallSite at);
bool grid_is_cooperative() noexcept;
}  // namespace tessera_cuda

namespace cooperative_groups {

using tessera_cuda::CallSite;

namespace details {
// Exchanges a value wider than an instruction's operand, word by word.
template <class T, class Exchange>
T by_words(const T& value, Exchange exchange) {
  if constexpr (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8) {
    return exchange(value);
  } else {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 4 == 0 && sizeof(T) <= 32);
    struct Words {
      unsigned word[sizeof(T) / 4];
    };
    Words words = __builtin_bit_cast(Words, value);
    for (unsigned& word : words.word) word = exchange(word);
    return __builtin_bit_cast(T, words);
  }
}
TESSERA_DEVICE unsigned lane() { return tessera_cuda::thread_rank() % 32; }
TESSERA_DEVICE unsigned block_threads() {
  const uint3 size = tessera_cuda::block_extent();
  return size.x * size.y * size.z;
}
// Returns the lanes of this thread's warp that exist.
TESSERA_DEVICE unsigned warp_lanes() {
  const unsigned first = tessera_cuda::thread_rank() / 32 * 32, threads = block_threads();
  return threads - first >= 32 ? 0xffffffffu : (1u << (threads - first)) - 1;
}
TESSERA_DEVICE unsigned below(unsigned lanes) {
  return static_cast<unsigned>(__builtin_popcount(lanes & ((1u << lane()) - 1)));
}
// Returns the lane with rank `rank` among these.
TESSERA_DEVICE int lane_of(unsigned lanes, unsigned rank) {
  for (; rank > 0 && lanes != 0; --rank) lanes &= lanes - 1;
  return lanes == 0 ? static_cast<int>(lane()) : __builtin_ctz(lanes);
}
}  // namespace details

class grid_group {
 public:
  void sync(CallSite at = CallSite::current()) const { tessera_cuda::grid_barrier(at); }
  bool is_valid() const { return tessera_cuda::grid_is_cooperative(); }
  static dim3 group_dim() { return tessera_cuda::grid_dim(); }
  static dim3 dim_blocks() { return tessera_cuda::grid_dim(); }
  static unsigned long long num_blocks() {
    const uint3 grid = tessera_cuda::grid_extent();
    return 1ull * grid.x * grid.y * grid.z;
  }
  static dim3 block_index() { return tessera_cuda::block_index(); }
  static unsigned long long block_rank() {
    const uint3 grid = tessera_cuda::grid_extent(), block = tessera_cuda::block_index();
    return block.x + 1ull * grid.x * (block.y + 1ull * grid.y * block.z);
  }
  static unsigned long long num_threads() { return num_blocks() * details::block_threads(); }
  static unsigned long long size() { return num_threads(); }
  static unsigned long long thread_rank() {
    return block_rank() * details::block_threads() + tessera_cuda::thread_rank();
  }
};
inline grid_group this_grid() { return {}; }

// Memory through which the warps of a block exchange values.
template <unsigned Threads = 1024>
struct block_tile_memory {
  unsigned long long of_warp[(Threads + 31) / 32];
};

class thread_block {
 public:
  thread_block() = default;
  explicit thread_block(unsigned long long* memory) : tile_memory(memory) {}
  static void sync(CallSite at = CallSite::current()) { tessera_cuda::barrier(at); }
  static unsigned thread_rank() { return tessera_cuda::thread_rank(); }
  static unsigned size() { return details::block_threads(); }
  static unsigned num_threads() { return details::block_threads(); }
  static dim3 group_index() { return tessera_cuda::block_index(); }
  static dim3 thread_index() { return tessera_cuda::thread_index(); }
  static dim3 group_dim() { return tessera_cuda::block_dim(); }
  static dim3 dim_threads() { return tessera_cuda::block_dim(); }
  unsigned long long* tile_memory = nullptr;
};
inline thread_block this_thread_block() { return {}; }
template <unsigned Threads>
thread_block this_thread_block(block_tile_memory<Threads>& memory) {
  return thread_block(memory.of_warp);
}

// Lanes of one warp. The groups below say which.
class warp_lanes_group {
 public:
  explicit warp_lanes_group(unsigned lanes) : lanes_(lanes) {}
  unsigned size() const { return static_cast<unsigned>(__builtin_popcount(lanes_)); }
  unsigned num_threads() const { return size(); }
  unsigned thread_rank() const { return details::below(lanes_); }
  void sync(CallSite at = CallSite::current()) const { tessera_cuda::sync_warp(lanes_, at); }
  template <class T>
  T shfl(T value, int rank, CallSite at = CallSite::current()) const {
    return __shfl_sync(lanes_, value, details::lane_of(lanes_, static_cast<unsigned>(rank) % size()), 32, at);
  }
  template <class T>
  T shfl_up(T value, unsigned by, CallSite at = CallSite::current()) const {
    const unsigned rank = thread_rank();
    return __shfl_sync(lanes_, value, details::lane_of(lanes_, by > rank ? rank : rank - by), 32, at);
  }
  template <class T>
  T shfl_down(T value, unsigned by, CallSite at = CallSite::current()) const {
    const unsigned rank = thread_rank();
    return __shfl_sync(lanes_, value, details::lane_of(lanes_, rank + by < size() ? rank + by : rank), 32,
                       at);
  }
  template <class T>
  T shfl_xor(T value, unsigned mask, CallSite at = CallSite::current()) const {
    const unsigned rank = thread_rank() ^ mask;
    return __shfl_sync(lanes_, value, details::lane_of(lanes_, rank < size() ? rank : thread_rank()), 32, at);
  }
  int any(int holds, CallSite at = CallSite::current()) const { return __any_sync(lanes_, holds, at); }
  int all(int holds, CallSite at = CallSite::current()) const { return __all_sync(lanes_, holds, at); }
  unsigned ballot(int holds, CallSite at = CallSite::current()) const {
    return packed(__ballot_sync(lanes_, holds, at));
  }
  template <class T>
  unsigned match_any(T value, CallSite at = CallSite::current()) const {
    return packed(__match_any_sync(lanes_, value, at));
  }
  template <class T>
  unsigned match_all(T value, int& same, CallSite at = CallSite::current()) const {
    return packed(__match_all_sync(lanes_, value, &same, at));
  }
  unsigned lanes() const { return lanes_; }

 private:
  // Packs a mask by lane into a mask by rank in the group.
  unsigned packed(unsigned by_lane) const {
    unsigned out = 0, rank = 0;
    for (unsigned left = lanes_; left != 0; left &= left - 1, ++rank)
      out |= (by_lane >> __builtin_ctz(left) & 1u) << rank;
    return out;
  }
  unsigned lanes_;
};

class coalesced_group : public warp_lanes_group {
 public:
  using warp_lanes_group::warp_lanes_group;
  unsigned meta_group_rank() const { return 0; }
  unsigned meta_group_size() const { return 1; }
};
TESSERA_DEVICE coalesced_group coalesced_threads(CallSite at = CallSite::current()) {
  return coalesced_group(tessera_cuda::active_lanes(at));
}

// `Parent` is what it is a part of.
template <unsigned Size, class Parent = void, bool InWarp = (Size <= 32)>
class thread_block_tile : public warp_lanes_group {
  static_assert(Size >= 1 && (Size & (Size - 1)) == 0, "a tile has a power of two threads");

 public:
  thread_block_tile() : warp_lanes_group(own_lanes()) {}
  template <class Other>
  thread_block_tile(const thread_block_tile<Size, Other, true>& other) : warp_lanes_group(other.lanes()) {}
  static unsigned size() { return Size; }
  static unsigned num_threads() { return Size; }
  static unsigned thread_rank() { return tessera_cuda::thread_rank() % Size; }
  static unsigned meta_group_rank() { return tessera_cuda::thread_rank() / Size; }
  static unsigned meta_group_size() { return (details::block_threads() + Size - 1) / Size; }
  template <class T>
  T shfl(T value, int rank, CallSite at = CallSite::current()) const {
    return details::by_words(value, [&](auto word) { return __shfl_sync(lanes(), word, rank, Size, at); });
  }
  template <class T>
  T shfl_up(T value, unsigned by, CallSite at = CallSite::current()) const {
    return details::by_words(value, [&](auto word) { return __shfl_up_sync(lanes(), word, by, Size, at); });
  }
  template <class T>
  T shfl_down(T value, unsigned by, CallSite at = CallSite::current()) const {
    return details::by_words(value, [&](auto word) { return __shfl_down_sync(lanes(), word, by, Size, at); });
  }
  template <class T>
  T shfl_xor(T value, unsigned mask, CallSite at = CallSite::current()) const {
    return details::by_words(
        value, [&](auto word) { return __shfl_xor_sync(lanes(), word, static_cast<int>(mask), Size, at); });
  }

 private:
  static unsigned own_lanes() {
    const unsigned all = Size == 32 ? 0xffffffffu : ((1u << Size) - 1) << (details::lane() & ~(Size - 1));
    return all & details::warp_lanes();
  }
};
// A tile of several warps. It waits for the whole block, so all tiles must make the same calls.
template <unsigned Size, class Parent>
class thread_block_tile<Size, Parent, false> {
  static_assert(Size <= 1024 && (Size & (Size - 1)) == 0, "a tile has a power of two threads");

 public:
  explicit thread_block_tile(const thread_block& parent) : memory(parent.tile_memory) {}
  template <class Other>
  thread_block_tile(const thread_block_tile<Size, Other, false>& other) : memory(other.memory) {}
  static unsigned size() { return Size; }
  static unsigned num_threads() { return Size; }
  static unsigned thread_rank() { return tessera_cuda::thread_rank() % Size; }
  static unsigned meta_group_rank() { return tessera_cuda::thread_rank() / Size; }
  static unsigned meta_group_size() { return (details::block_threads() + Size - 1) / Size; }
  static void sync(CallSite at = CallSite::current()) { tessera_cuda::barrier(at); }
  unsigned long long* memory;
};

template <unsigned Size, class Parent>
TESSERA_DEVICE thread_block_tile<Size, Parent> tiled_partition(const Parent& parent) {
  if constexpr (Size <= 32) return {};
  else return thread_block_tile<Size, Parent>(parent);
}

// A group whose kind is known only at run time.
class thread_group {
 public:
  thread_group(const thread_block&) : size_(thread_block::size()) {}
  thread_group(const coalesced_group& group) : size_(group.size()), lanes_(group.lanes()) {}
  template <unsigned Size, class Parent>
  thread_group(const thread_block_tile<Size, Parent, true>& tile) : size_(Size), lanes_(tile.lanes()) {}
  thread_group(unsigned size, unsigned lanes) : size_(size), lanes_(lanes) {}

  unsigned size() const { return size_; }
  unsigned num_threads() const { return size_; }
  unsigned thread_rank() const { return lanes_ == 0 ? tessera_cuda::thread_rank() : details::below(lanes_); }
  void sync(CallSite at = CallSite::current()) const {
    if (lanes_ == 0) tessera_cuda::barrier(at);
    else tessera_cuda::sync_warp(lanes_, at);
  }
  unsigned lanes() const { return lanes_; }

 private:
  unsigned size_, lanes_ = 0;  // no lanes: the block
};
inline thread_group tiled_partition(const thread_group& parent, unsigned size) {
  const unsigned first = parent.thread_rank() / size * size;
  unsigned lanes = 0;
  if (parent.lanes() == 0) {
    lanes = size >= 32 ? details::warp_lanes() : ((1u << size) - 1) << (first % 32) & details::warp_lanes();
  } else {
    for (unsigned i = 0; i < size && first + i < parent.size(); ++i)
      lanes |= 1u << details::lane_of(parent.lanes(), first + i);
  }
  return {size, lanes};
}

template <class Group>
TESSERA_DEVICE coalesced_group binary_partition(const Group& group, bool holds,
                                                CallSite at = CallSite::current()) {
  const unsigned yes = __ballot_sync(group.lanes(), holds, at);
  return coalesced_group(holds ? yes : group.lanes() & ~yes);
}
template <class T, class Group>
TESSERA_DEVICE coalesced_group labeled_partition(const Group& group, T label,
                                                 CallSite at = CallSite::current()) {
  return coalesced_group(__match_any_sync(group.lanes(), label, at));
}

template <class Group>
TESSERA_DEVICE void sync(const Group& group, CallSite at = CallSite::current()) {
  group.sync(at);
}

}  // namespace cooperative_groups
#include "cooperative_groups/reduce.h"
