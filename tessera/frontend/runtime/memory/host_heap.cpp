// SPDX-License-Identifier: Apache-2.0
// The host's malloc() and new[]: memory gets some room behind it, so that a program that writes beyond it is
// told, and does not damage the runtime, whose heap is the same.
#include <malloc.h>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include "tessera/frontend/runtime/findings/findings.hpp"
#include "tessera/frontend/runtime/memory/heap.hpp"

namespace tessera_cuda {
namespace {

struct HostBlock {
  std::size_t bytes, room, usable;
  std::uint64_t caller;
};
constexpr int room_byte = 0xa7;
std::mutex blocks_mutex;
std::size_t rooms = 0;
std::map<char*, HostBlock>& host_blocks() {
  static auto& all = *new std::map<char*, HostBlock>;
  return all;
}

// Returns the first byte behind the block that the program has written; null: none.
const char* written_beyond(const char* first, const HostBlock& block) {
  const char *const begin = first + block.bytes, *const end = begin + block.room;
  const char* const changed =
      std::find_if(begin, end, [](char byte) { return byte != static_cast<char>(room_byte); });
  return changed == end ? nullptr : changed;
}

void check(char* first, const HostBlock& block) {
  if (malloc_usable_size(first) != block.usable) return;  // a library has released it, as getline() does
  const char* const changed = written_beyond(first, block);
  if (changed == nullptr) return;
  const SourceLine at = line_of(block.caller);
  FindingRecord finding = finding_at("out of bounds", at.file, at.line);
  finding.text = "the host writes beyond this allocation of " + std::to_string(block.bytes) +
                 " bytes: at byte " + std::to_string(changed - first);
  finding.remedy = "allocate count * sizeof(…) bytes, or write fewer elements";
  find(std::move(finding));
}

}  // namespace

void* allocate_on_host(std::size_t bytes, void* caller) {
  constexpr std::size_t most = std::size_t{1} << 20, most_in_all = std::size_t{64} << 20;
  const std::size_t room = std::clamp<std::size_t>(7 * std::min(bytes, most), 4096, most);
  const std::lock_guard lock(blocks_mutex);
  if (bytes > PTRDIFF_MAX || rooms + room > most_in_all) return std::malloc(bytes);
  auto* const out = static_cast<char*>(std::malloc(bytes + room));
  if (out == nullptr) return out;
  std::memset(out + bytes, room_byte, room);
  rooms += room;
  host_blocks()[out] = {bytes, room, malloc_usable_size(out), reinterpret_cast<std::uint64_t>(caller)};
  return out;
}

void forget_on_host(void* pointer) {
  const std::lock_guard lock(blocks_mutex);
  const auto found = host_blocks().find(static_cast<char*>(pointer));
  if (found == host_blocks().end()) return;
  check(found->first, found->second);
  rooms -= found->second.room;
  host_blocks().erase(found);
}

std::optional<HostAllocation> host_allocation(const void* address) {
  const std::lock_guard lock(blocks_mutex);
  const auto* const at = static_cast<const char*>(address);
  auto block = host_blocks().upper_bound(const_cast<char*>(at));
  if (block == host_blocks().begin() || at >= (--block)->first + block->second.bytes ||
      malloc_usable_size(block->first) != block->second.usable ||
      written_beyond(block->first, block->second) != nullptr)
    return std::nullopt;
  const auto offset = static_cast<std::size_t>(at - block->first);
  return HostAllocation{block->second.bytes - offset, line_of(block->second.caller).line};
}

void check_host_heap() {
  for (const auto& [first, block] : host_blocks()) check(first, block);
}

}  // namespace tessera_cuda
