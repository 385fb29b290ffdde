// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/emulated_fp32/packed_operands.hpp"
#include <atomic>
#include <map>
#include <mutex>

namespace tessera::matmul {
namespace {

struct KeptOperands {
  std::atomic<std::size_t> count = 0;  // read without the lock for each product; most programs keep none
  std::atomic<std::uint32_t> changes = 0;
  std::mutex mutex;
  std::multimap<PackedKey, void*> all;
};

KeptOperands& kept_operands() {
  static KeptOperands all;
  return all;
}

const Packer*& the_packer() {
  static const Packer* packer = nullptr;
  return packer;
}

}  // namespace

void* find_packed(const PackedKey& key) {
  KeptOperands& kept = kept_operands();
  if (kept.count == 0) return nullptr;
  const std::lock_guard lock(kept.mutex);
  const auto found = kept.all.find(key);
  return found == kept.all.end() ? nullptr : found->second;
}

void keep_packed(const PackedKey& key, void* data) {
  KeptOperands& kept = kept_operands();
  const std::lock_guard lock(kept.mutex);
  kept.all.emplace(key, data);
  kept.count = kept.all.size();
  ++kept.changes;
}

void forget_packed(const PackedKey& key, const void* data) {
  KeptOperands& kept = kept_operands();
  const std::lock_guard lock(kept.mutex);
  const auto [first, last] = kept.all.equal_range(key);
  for (auto at = first; at != last; ++at) {
    if (at->second != data) continue;
    kept.all.erase(at);
    break;
  }
  kept.count = kept.all.size();
  ++kept.changes;
}

std::uint32_t packed_changes() { return kept_operands().changes; }

void register_packer(const Packer& packer) { the_packer() = &packer; }
const Packer* find_packer() { return the_packer(); }

}  // namespace tessera::matmul
