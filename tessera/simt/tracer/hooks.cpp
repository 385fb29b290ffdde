// SPDX-License-Identifier: Apache-2.0
// Hooks that g++ -fsanitize=thread calls before each access of a kernel; the names are ThreadSanitizer's
// interface. Outside of a traced GPU thread they record nothing.
#include "tessera/core/device/thread.hpp"
#include <cstring>
#include <mutex>
#include <set>
#include <unordered_set>
#include "tessera/simt/tracer/recorder.hpp"
#include "tessera/simt/tracer/traced_copies.hpp"
#include "tessera/simt/tracer/tracer.hpp"

namespace tessera::simt {

void diverge(WarpLog& log) {
  if (!log.own_site) log.own_site = std::make_unique<std::array<LaneAddresses, WarpLog::rows>>();
  for (std::uint32_t lane = 0; lane < lanes_per_warp; ++lane)
    for (std::uint32_t row = 0; row < log.count[lane]; ++row) (*log.own_site)[row][lane] = log.site[row];
  log.site.fill(0);  // from here on every access records its own site
  log.diverged = true;
}

void note_site(LaneLog& lane, std::uint32_t row, std::uint64_t site) {
  WarpLog& log = *lane.warp;
  if (!log.diverged) {
    if (log.site[row] == 0) {
      log.site[row] = site;
      return;
    }
    diverge(log);
  }
  (*log.own_site)[row][lane.lane] = site;
}

void flush_pending_write(LaneLog& lane) {
  std::uint64_t words[2] = {};
  std::memcpy(words, const_cast<const void*>(lane.pending_write), lane.pending_width);
  const std::uint64_t mixed = (words[0] * 0x9e3779b97f4a7c15u) ^ (words[1] * 0xc2b2ae3d27d4eb4fu);
  const auto folded = static_cast<std::uint32_t>(mixed >> 32) ^ static_cast<std::uint32_t>(mixed);
  (*lane.warp->value)[lane.pending_row][lane.lane] = folded == WarpLog::unknown ? 1 : folded;
  lane.pending_write = nullptr;
}

namespace {

// `several`: one of the accesses of a copy, which executes after all of them are recorded.
[[gnu::always_inline]] inline void note(const volatile void* at, Act act, unsigned width, void* site,
                                        bool several = false) {
  LaneLog* const lane = recording;
  const auto address = reinterpret_cast<std::uint64_t>(at);
  if (lane == nullptr) {
    last_host_access = {address, reinterpret_cast<std::uint64_t>(site)};
    return;
  }
  if (address - lane->stack_low < lane->stack_bytes) return;
  record(*lane, address, SiteKey::of(site, act, width));
  if (act != Act::write) return;
  const std::uint32_t row = lane->warp->count[lane->lane] - 1;
  if (several) {
    (*lane->warp->value)[row][lane->lane] = WarpLog::unknown;
  } else {
    lane->pending_write = at;
    lane->pending_row = row;
    lane->pending_width = width;
  }
}

// Splits a range like a GPU: into the widest accesses that its alignment allows.
void note_range(const void* at, std::size_t bytes, Act act, void* site) {
  const char* p = static_cast<const char*>(at);
  while (bytes != 0) {
    unsigned width = 16;
    while (width > bytes || reinterpret_cast<std::uint64_t>(p) % width != 0) width /= 2;
    note(p, act, width, site, true);
    p += width;
    bytes -= width;
  }
}

void note_copy(void* to, const void* from, std::size_t bytes, void* site) {
  note_range(from, bytes, Act::read, site);
  note_range(to, bytes, Act::write, site);
}

}  // namespace

Bytes16 traced_load16(const void* address) {
  note(address, Act::read, 16, __builtin_return_address(0));
  Bytes16 value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

void traced_store16(void* address, const Bytes16& value) {
  note(address, Act::write, 16, __builtin_return_address(0));
  std::memcpy(address, &value, sizeof value);
}

AtomicAccess::AtomicAccess(const void* address, unsigned width) {
  note(address, Act::atomic, width, __builtin_return_address(0));
  paused_ = recording;
  recording = nullptr;
}

namespace {

std::mutex unused_mutex;
std::set<std::uint64_t> unused_results;  // sites in the program, valid for all launches

}  // namespace

void result_is_unused() {
  const LaneLog* const lane = recording;
  if (lane == nullptr || lane->warp->count[lane->lane] == 0) return;
  const WarpLog& log = *lane->warp;
  const std::uint32_t row = log.count[lane->lane] - 1;
  const SiteKey site{log.diverged ? (*log.own_site)[row][lane->lane] : log.site[row]};
  thread_local std::unordered_set<std::uint64_t> reported;
  if (site.act() != Act::atomic || !reported.insert(site.bits).second) return;
  const std::lock_guard lock(unused_mutex);
  unused_results.insert(site.bits);
}

bool is_result_unused(SiteKey site) {
  const std::lock_guard lock(unused_mutex);
  return unused_results.contains(site.bits);
}

AtomicAccess::~AtomicAccess() { recording = static_cast<LaneLog*>(paused_); }

}  // namespace tessera::simt

// std::memcpy etc. are the C library's here: this file is not compiled for tracing.
void* tessera_traced_memcpy(void* to, const void* from, std::size_t bytes) {
  tessera::simt::note_copy(to, from, bytes, __builtin_return_address(0));
  return std::memcpy(to, from, bytes);
}
void* tessera_traced_memmove(void* to, const void* from, std::size_t bytes) {
  tessera::simt::note_copy(to, from, bytes, __builtin_return_address(0));
  return std::memmove(to, from, bytes);
}
void* tessera_traced_memset(void* to, int byte, std::size_t bytes) {
  tessera::simt::note_range(to, bytes, tessera::simt::Act::write, __builtin_return_address(0));
  return std::memset(to, byte, bytes);
}

// In a sanitizer build the compiler reserves these names, and nothing calls these functions.
#if !defined(TESSERA_TRACING_ABSENT)
using tessera::simt::Act;
using tessera::simt::note;
using tessera::simt::note_range;

// NOLINTBEGIN: the compiler's names, and as many of them as there are widths
#define HERE __builtin_return_address(0)
#define ACCESSES(width)                                                             \
  void __tsan_read##width(void* p) { note(p, Act::read, width, HERE); }             \
  void __tsan_write##width(void* p) { note(p, Act::write, width, HERE); }           \
  void __tsan_unaligned_read##width(void* p) { note(p, Act::read, width, HERE); }   \
  void __tsan_unaligned_write##width(void* p) { note(p, Act::write, width, HERE); } \
  void __tsan_volatile_read##width(void* p) { note(p, Act::read, width, HERE); }    \
  void __tsan_volatile_write##width(void* p) { note(p, Act::write, width, HERE); }
#define UPDATE(bits, type, name)                                         \
  type __tsan_atomic##bits##_##name(volatile type* p, type value, int) { \
    note(p, Act::atomic, bits / 8, HERE);                                \
    return __atomic_##name(p, value, __ATOMIC_SEQ_CST);                  \
  }
#define EXCHANGE(bits, type, name)                                                                     \
  int __tsan_atomic##bits##_compare_exchange_##name(volatile type* p, type* expected, type value, int, \
                                                    int) {                                             \
    note(p, Act::atomic, bits / 8, HERE);                                                              \
    return __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }
#define ATOMICS(bits, type)                                                \
  type __tsan_atomic##bits##_load(const volatile type* p, int) {           \
    note(p, Act::atomic, bits / 8, HERE);                                  \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                           \
  }                                                                        \
  void __tsan_atomic##bits##_store(volatile type* p, type value, int) {    \
    note(p, Act::atomic, bits / 8, HERE);                                  \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                          \
  }                                                                        \
  type __tsan_atomic##bits##_exchange(volatile type* p, type value, int) { \
    note(p, Act::atomic, bits / 8, HERE);                                  \
    return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);                \
  }                                                                        \
  UPDATE(bits, type, fetch_add)                                            \
  UPDATE(bits, type, fetch_sub)                                            \
  UPDATE(bits, type, fetch_and)                                            \
  UPDATE(bits, type, fetch_or)                                             \
  UPDATE(bits, type, fetch_xor)                                            \
  UPDATE(bits, type, fetch_nand)                                           \
  EXCHANGE(bits, type, strong)                                             \
  EXCHANGE(bits, type, weak)

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void** p, void*) { note(p, Act::write, sizeof *p, HERE); }
void __tsan_vptr_read(void** p) { note(p, Act::read, sizeof *p, HERE); }
void __tsan_read_range(void* p, unsigned long bytes) { note_range(p, bytes, Act::read, HERE); }
void __tsan_write_range(void* p, unsigned long bytes) { note_range(p, bytes, Act::write, HERE); }
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
ATOMICS(8, unsigned char)
ATOMICS(16, unsigned short)
ATOMICS(32, unsigned int)
ATOMICS(64, unsigned long)
void __tsan_atomic_signal_fence(int) {}
void __tsan_atomic_thread_fence(int) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (auto* const lane = tessera::simt::recording)
    record(*lane, 0, tessera::simt::SiteKey::of(nullptr, Act::fence, 0));
}
}
// NOLINTEND
#endif
