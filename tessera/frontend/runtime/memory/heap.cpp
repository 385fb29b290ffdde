// SPDX-License-Identifier: Apache-2.0
#include "tessera/frontend/runtime/memory/heap.hpp"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>
#include <unordered_map>
#include <utility>
#include <vector>
#include "tessera/core/device/thread.hpp"
#include "tessera/frontend/runtime/findings/findings.hpp"
#include "tessera/frontend/runtime/runtime.hpp"

namespace tessera_cuda {
namespace {

using tessera::simt::ArrayPart;
using tessera::simt::current_thread;

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

struct Block {
  enum class State : std::uint8_t { given, freed_now, freed };  // now: in this launch
  std::size_t bytes, room;                                      // room: with the gap to the next block
  const char* call;                                             // malloc or new
  std::uint64_t caller;                                         // the return address of the call
  State state;
};

// Returns the caller's source line. Runs on a separate stack, because a GPU thread's stack is small.
SourceLine line_of_caller(const Block& block) {
  static auto& known = *new std::map<std::uint64_t, SourceLine>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = known.try_emplace(block.caller);
  if (is_new) at->second = std::async(std::launch::async, line_of, block.caller).get();
  return at->second;
}

// Returns "malloc(24 bytes, list.cu:12)"
std::string name_of(const Block& block) {
  const SourceLine at = line_of_caller(block);
  const std::string file = std::filesystem::path(at.file).filename().string();
  return block.call + ("(" + std::to_string(block.bytes)) + " bytes, " + file + ":" +
         std::to_string(at.line) + ")";
}

class Heap {
 public:
  static Heap& get() {
    static auto* const only = new Heap;  // never destroyed, like the runtime
    return *only;
  }

  void open() {
    if (array_ != nullptr) return;
    array_ = make_heap(arena_bytes());
    if (array_ != nullptr) spare_[array_->data] = array_->bytes;
  }

  void close(const LaunchRecord& launch) {
    give_back();
    for (char* const first : std::exchange(gone_, {}))
      if (const auto block = blocks_.find(first);
          block != blocks_.end() && block->second.state == Block::State::freed_now)
        block->second.state = Block::State::freed;
    for (const Mistake& mistake : std::exchange(mistakes_, {})) {
      const SourceLine at = line_of(mistake.caller);
      FindingRecord finding = finding_at("free", at.file, at.line);
      finding.text =
          std::string(mistake.call) + (mistake.of ? ": " + name_of(*mistake.of) + " is free already"
                                                  : " in a kernel of what no kernel allocated");
      finding.kernel = launch.kernel;
      finding.launch = launch.number;
      find(std::move(finding));
    }
  }

  bool holds(const void* pointer) const {
    return array_ != nullptr && static_cast<const char*>(pointer) - array_->data >= 0 &&
           static_cast<const char*>(pointer) < array_->data + array_->bytes;
  }

  // Returns null if the heap is full.
  void* allocate(std::size_t bytes, std::size_t alignment, const char* call, void* caller) {
    constexpr std::size_t gap = 32;  // a sector of its own, and an unused one
    bytes = std::max<std::size_t>(1, bytes);
    const std::unique_lock lock(mutex_);
    if (array_ == nullptr || bytes > limit_ || live_ > limit_ - bytes) return nullptr;
    const std::size_t room = round_up(bytes, gap) + gap, unit = std::max(gap, alignment);
    // Each thread block has its own chunks, so that the layout of a warp's allocations is reproducible. If no
    // further chunk fits, a thread block uses any space left.
    Chunk* chunk = &chunks_[block_of_threads()];
    if (!chunk->holds(room, unit)) {
      tails_.push_back(*chunk);
      *chunk = take(round_up(room + alignment, chunk_bytes), chunk_bytes);
      if (chunk->at == nullptr) {
        give_back();
        chunk = &(chunks_[block_of_threads()] = take(room + alignment, gap));
        if (chunk->at == nullptr) return nullptr;
      }
    }
    char* const first = chunk->first(unit);
    chunk->at = first + room;
    // Forgets earlier blocks that lay in this range.
    auto old = blocks_.lower_bound(first);
    if (old != blocks_.begin() && std::prev(old)->first + std::prev(old)->second.room > first) --old;
    while (old != blocks_.end() && old->first < first + room) old = blocks_.erase(old);
    if (array_->written != nullptr) std::memset(array_->written + (first - array_->data), 0, bytes);
    blocks_[first] = {bytes, room, call, reinterpret_cast<std::uint64_t>(caller), Block::State::given};
    live_ += bytes;
    extent_ = std::max(extent_, static_cast<std::size_t>(first + room - array_->data));
    return first;
  }

  // Releases a block in a kernel.
  void release(void* pointer, const char* call, void* caller) {
    if (pointer == nullptr) return;
    const std::unique_lock lock(mutex_);
    const auto found = blocks_.find(static_cast<char*>(pointer));
    if (found != blocks_.end() && found->second.state == Block::State::given) {
      found->second.state = Block::State::freed_now;
      live_ -= found->second.bytes;
      freed_.push_back(found->first);
      return;
    }
    mistakes_.push_back({call, reinterpret_cast<std::uint64_t>(caller),
                         found == blocks_.end() ? std::nullopt : std::optional(found->second)});
  }

  // Returns the block that holds an address, or the nearest one.
  std::optional<std::pair<char*, Block>> near(std::uint64_t address) const {
    const std::shared_lock lock(mutex_);
    if (blocks_.empty()) return std::nullopt;
    char* const at = reinterpret_cast<char*>(address);
    auto block = blocks_.upper_bound(at);
    if (block == blocks_.end()) --block;
    else if (block != blocks_.begin()) {
      const auto before = std::prev(block);
      const auto past = at - (before->first + before->second.bytes);
      if (past < block->first - at) block = before;
    }
    return *block;
  }

  std::size_t extent() const { return extent_; }

  void find_leaks() const {
    struct Leak {
      std::size_t blocks = 0, bytes = 0;
      const char* call = "";
    };
    std::map<std::pair<std::string, int>, Leak> leaks;  // by line
    for (const auto& [first, block] : blocks_) {
      if (block.state != Block::State::given) continue;
      const SourceLine at = line_of_caller(block);
      Leak& leak = leaks[{at.file, at.line}];
      ++leak.blocks;
      leak.bytes += block.bytes;
      leak.call = block.call;
    }
    for (const auto& [at, leak] : leaks) {
      FindingRecord finding = finding_at("leak", at.first, at.second);
      finding.serious = false;
      finding.array = heap_name;
      finding.text = std::to_string(leak.blocks) + (leak.blocks == 1 ? " block of " : " blocks of ") +
                     leak.call + " (" + std::to_string(leak.bytes) + " bytes) in a kernel " +
                     (leak.blocks == 1 ? "is" : "are") + " never freed";
      find(finding);
    }
  }

  std::size_t limit() const { return limit_; }
  bool set_limit(std::size_t bytes) {
    if (!blocks_.empty()) return false;
    limit_ = bytes;
    if (array_ != nullptr && array_->bytes < arena_bytes()) {
      drop_heap(array_);
      array_ = nullptr;
      spare_.clear();
    }
    return true;
  }

 private:
  struct Chunk {
    char *at = nullptr, *end = nullptr;
    char* first(std::size_t unit) const {
      const auto number = reinterpret_cast<std::size_t>(at);
      return at + (round_up(number, unit) - number);
    }
    bool holds(std::size_t bytes, std::size_t unit) const {
      return at != nullptr && first(unit) + bytes <= end;
    }
  };
  struct Mistake {  // an invalid release
    const char* call;
    std::uint64_t caller;
    std::optional<Block> of;
  };
  static constexpr std::size_t chunk_bytes = 4096;
  // Larger than the limit, because small blocks have gaps, and an address is not reused within a launch while
  // there are others.
  std::size_t arena_bytes() const { return 8 * std::max(limit_, std::size_t{8} << 20); }

  static std::int64_t block_of_threads() {
    const tessera::Index3 &block = current_thread->of->block, &grid = current_thread->of->grid;
    return block.x + std::int64_t{grid.x} * (block.y + std::int64_t{grid.y} * block.z);
  }

  // Returns the next spare range of that size that begins at a multiple of `unit`, searched cyclically so
  // that freed memory is reused late.
  Chunk take(std::size_t bytes, std::size_t unit) {
    auto range = spare_.lower_bound(next_);
    for (std::size_t left = spare_.size() + 1; left != 0 && !spare_.empty(); --left, ++range) {
      if (range == spare_.end()) range = spare_.begin();
      const auto [first, size] = *range;
      const auto offset = static_cast<std::size_t>(first - array_->data);
      const std::size_t skipped = round_up(offset, unit) - offset;
      if (size < skipped + bytes) continue;
      spare_.erase(range);
      spare(first, skipped);
      next_ = first + skipped + bytes;
      spare(next_, size - skipped - bytes);
      return {first + skipped, next_};
    }
    return {};
  }

  void spare(char* first, std::size_t bytes) {
    if (bytes == 0) return;
    auto after = spare_.upper_bound(first);
    if (after != spare_.end() && first + bytes == after->first) {
      bytes += after->second;
      after = spare_.erase(after);
    }
    if (after != spare_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == first) {
        before->second += bytes;
        return;
      }
    }
    spare_[first] = bytes;
  }

  void give_back() {
    for (const auto& [block, chunk] : chunks_) tails_.push_back(chunk);
    chunks_.clear();
    for (const Chunk& tail : std::exchange(tails_, {}))
      spare(tail.at, static_cast<std::size_t>(tail.end - tail.at));
    for (char* const first : std::exchange(freed_, {})) {
      spare(first, blocks_.at(first).room);
      gone_.push_back(first);
    }
  }

  mutable std::shared_mutex mutex_;
  Array* array_ = nullptr;
  std::size_t limit_ = std::size_t{8} << 20, live_ = 0, extent_ = 0;
  std::map<char*, Block> blocks_;       // including freed ones until their memory is reused
  std::map<char*, std::size_t> spare_;  // disjoint ranges
  char* next_ = nullptr;
  std::unordered_map<std::int64_t, Chunk> chunks_;  // this launch's, by thread block
  std::vector<Chunk> tails_;                        // unused ends of full chunks
  std::vector<char*> freed_, gone_;                 // in this launch; gone_: those whose memory may be reused
  std::vector<Mistake> mistakes_;  // this launch's: the stack of a GPU thread is too small to report them
};

void* allocate_here(std::size_t bytes, std::size_t alignment, const char* call, void* caller) {
  return Heap::get().allocate(bytes, alignment, call, caller);
}

// True if the memory belongs to the heap or the caller is a kernel; then releases it, or reports an error.
bool release_here(void* pointer, const char* call, void* caller) {
  if (current_thread != nullptr) {
    Heap::get().release(pointer, call, caller);
    return true;
  }
  forget_on_host(pointer);
  if (!Heap::get().holds(pointer)) return false;
  const Lock lock(Runtime::get().mutex);
  const SourceLine at = line_of(reinterpret_cast<std::uint64_t>(caller));
  find_copy(cudaErrorInvalidValue, std::string("the host's ") + call + " of memory that a kernel allocated",
            nullptr, {at.file.c_str(), at.line}, "free it in a kernel", "free");
  return true;
}

}  // namespace

void open_heap() { Heap::get().open(); }
void close_heap(const LaunchRecord& launch) { Heap::get().close(launch); }
std::size_t heap_extent() { return Heap::get().extent(); }
void find_heap_leaks() { Heap::get().find_leaks(); }
std::size_t heap_limit() { return Heap::get().limit(); }
bool set_heap_limit(std::size_t bytes) { return Heap::get().set_limit(bytes); }

void describe_heap(tessera::simt::TracedArray& traced) {
  traced.part_at = [](std::uint64_t address) -> std::optional<ArrayPart> {
    const auto block = Heap::get().near(address);
    if (!block) return std::nullopt;
    return ArrayPart{block->first, block->second.bytes, block->second.state == Block::State::freed};
  };
  traced.name_of_part = [](std::uint64_t address) {
    const auto block = Heap::get().near(address);
    return block ? name_of(block->second) : heap_name;
  };
}

}  // namespace tessera_cuda

// The linker redirects a program's calls of malloc(), free(), new and delete to these functions (--wrap).

#define TESSERA_CALLER __builtin_return_address(0)

extern "C" {
// NOLINTBEGIN: the linker's names
void* __wrap_malloc(std::size_t bytes) {
  if (tessera::simt::current_thread == nullptr) return tessera_cuda::allocate_on_host(bytes, TESSERA_CALLER);
  return tessera_cuda::allocate_here(bytes, 16, "malloc", TESSERA_CALLER);
}
void __wrap_free(void* pointer) {
  if (!tessera_cuda::release_here(pointer, "free", TESSERA_CALLER)) std::free(pointer);
}
// operator new and delete of C++, by their mangled names: with [], with a size, with an alignment.
void* __wrap__Znwm(std::size_t bytes) {
  if (tessera::simt::current_thread == nullptr) return ::operator new(bytes);
  return tessera_cuda::allocate_here(bytes, 16, "new", TESSERA_CALLER);
}
void* __wrap__Znam(std::size_t bytes) {
  if (tessera::simt::current_thread != nullptr)
    return tessera_cuda::allocate_here(bytes, 16, "new", TESSERA_CALLER);
  void* const out = tessera_cuda::allocate_on_host(bytes, TESSERA_CALLER);
  return out == nullptr ? ::operator new[](bytes) : out;
}
void* __wrap_realloc(void* pointer, std::size_t bytes) {
  tessera_cuda::forget_on_host(pointer);
  return std::realloc(pointer, bytes);
}
void* __wrap__ZnwmSt11align_val_t(std::size_t bytes, std::align_val_t alignment) {
  if (tessera::simt::current_thread == nullptr) return ::operator new(bytes, alignment);
  return tessera_cuda::allocate_here(bytes, static_cast<std::size_t>(alignment), "new", TESSERA_CALLER);
}
void* __wrap__ZnamSt11align_val_t(std::size_t bytes, std::align_val_t alignment) {
  if (tessera::simt::current_thread == nullptr) return ::operator new[](bytes, alignment);
  return tessera_cuda::allocate_here(bytes, static_cast<std::size_t>(alignment), "new", TESSERA_CALLER);
}
#define TESSERA_DELETE(symbol, type, ...)                                            \
  void __wrap_##symbol(void* pointer TESSERA_PARAMETERS_##type) {                    \
    if (!tessera_cuda::release_here(pointer, "delete", TESSERA_CALLER)) __VA_ARGS__; \
  }
#define TESSERA_PARAMETERS_plain
#define TESSERA_PARAMETERS_sized , std::size_t bytes
#define TESSERA_PARAMETERS_aligned , std::align_val_t alignment
#define TESSERA_PARAMETERS_both , std::size_t bytes, std::align_val_t alignment
TESSERA_DELETE(_ZdlPv, plain, ::operator delete(pointer))
TESSERA_DELETE(_ZdaPv, plain, ::operator delete[](pointer))
TESSERA_DELETE(_ZdlPvm, sized, ::operator delete(pointer, bytes))
TESSERA_DELETE(_ZdaPvm, sized, ::operator delete[](pointer, bytes))
TESSERA_DELETE(_ZdlPvSt11align_val_t, aligned, ::operator delete(pointer, alignment))
TESSERA_DELETE(_ZdaPvSt11align_val_t, aligned, ::operator delete[](pointer, alignment))
TESSERA_DELETE(_ZdlPvmSt11align_val_t, both, ::operator delete(pointer, bytes, alignment))
TESSERA_DELETE(_ZdaPvmSt11align_val_t, both, ::operator delete[](pointer, bytes, alignment))
// NOLINTEND
}
