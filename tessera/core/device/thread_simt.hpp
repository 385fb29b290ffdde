// SPDX-License-Identifier: Apache-2.0
// The bodies of Thread on the CPU executor. A thread's indices are read through a thread-local pointer; calls
// that may wait go to tessera/simt.
#pragma once
#include "tessera/core/device/thread.hpp"
#include <cstddef>
#include <type_traits>

namespace tessera {

namespace simt {

struct BlockContext {
  Index3 block, size, grid;
};

struct ThreadContext {
  Index3 index;
  int rank = 0;
  const BlockContext* of = nullptr;
};

// The GPU thread that this OS thread is running; null outside a kernel. A fiber never changes its OS thread,
// so the compiler may keep this variable's address across a wait.
extern constinit thread_local ThreadContext* current_thread __attribute__((tls_model("initial-exec")));

enum class WarpCollective : std::uint8_t {
  sync,
  sync_warp,
  shuffle,
  shuffle_up,
  shuffle_down,
  shuffle_xor,
  any,
  all,
  ballot,
  match_any,
  match_all
};

void sync(SourceLocation location);
// Waits for the named lanes and returns to each lane its result of the collective `what`. `source` is the
// lane that a shuffle reads.
std::uint64_t collective(WarpCollective what, std::uint32_t lanes, std::uint64_t value, int source,
                         SourceLocation location);
[[noreturn]] void refuse_address(const void* address, std::size_t alignment, SourceLocation location);

// In a traced kernel these replace accesses that the compiler's own hooks would see in pieces: 16 bytes as
// four words, an atomic sum as a load and an exchange.
Bytes16 traced_load16(const void* address);
void traced_store16(void* address, const Bytes16& value);

// Records one atomic access, and suppresses all other records during its lifetime.
class AtomicAccess {
 public:
  AtomicAccess(const void* address, unsigned width);
  ~AtomicAccess();
  AtomicAccess(const AtomicAccess&) = delete;
  AtomicAccess& operator=(const AtomicAccess&) = delete;

 private:
  void* paused_;
};

}  // namespace simt

inline namespace TESSERA_UNIT {

namespace detail {

#if defined(TESSERA_TRACED)
using Atomically = simt::AtomicAccess;
#else
struct Atomically {
  constexpr Atomically(const void*, unsigned) {}
};
#endif

// Returns the word exchanged between lanes: 8 bytes, the upper half 0 for 4-byte types.
template <class T>
std::uint64_t to_word(T value) {
  static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  std::uint64_t word = 0;
  __builtin_memcpy(&word, &value, sizeof value);
  return word;
}

template <class T>
T from_word(std::uint64_t word) {
  T value;
  __builtin_memcpy(&value, &word, sizeof value);
  return value;
}

template <class T>
T collective_for(simt::WarpCollective what, std::uint32_t lanes, T value, int source,
                 SourceLocation location) {
  return from_word<T>(simt::collective(what, lanes, to_word(value), source, location));
}

inline void require_aligned(const void* address, std::size_t alignment, SourceLocation location) {
  if (reinterpret_cast<std::uintptr_t>(address) % alignment != 0)
    simt::refuse_address(address, alignment, location);
}

// For operations without an atomic instruction: compare-and-swap until next(old) replaces old.
template <class T, class Next>
T atomic_update(T* address, Next next) {
  T old;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  for (;;) {
    T replacement = next(old);
    if (__atomic_compare_exchange(address, &old, &replacement, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return old;
  }
}

}  // namespace detail

inline Index3 Thread::index() const { return simt::current_thread->index; }
inline Index3 Thread::block() const { return simt::current_thread->of->block; }
inline Index3 Thread::size() const { return simt::current_thread->of->size; }
inline Index3 Thread::grid() const { return simt::current_thread->of->grid; }
inline int Thread::rank() const { return simt::current_thread->rank; }
inline int Thread::lane() const { return simt::current_thread->rank % warp_size; }
inline int Thread::warp() const { return simt::current_thread->rank / warp_size; }

inline void Thread::sync(SourceLocation location) const { simt::sync(location); }
inline void Thread::sync_warp(std::uint32_t lanes, SourceLocation location) const {
  simt::collective(simt::WarpCollective::sync_warp, lanes, 0, 0, location);
}

// Like the hardware, takes lanes and distances modulo the warp size; a lane whose source is outside the warp
// keeps its own value.
template <class T>
T Thread::shuffle(T value, int lane, std::uint32_t lanes, SourceLocation location) const {
  return detail::collective_for(simt::WarpCollective::shuffle, lanes, value, lane & 31, location);
}
template <class T>
T Thread::shuffle_up(T value, int by, std::uint32_t lanes, SourceLocation location) const {
  return detail::collective_for(simt::WarpCollective::shuffle_up, lanes, value, lane() - (by & 31), location);
}
template <class T>
T Thread::shuffle_down(T value, int by, std::uint32_t lanes, SourceLocation location) const {
  return detail::collective_for(simt::WarpCollective::shuffle_down, lanes, value, lane() + (by & 31),
                                location);
}
template <class T>
T Thread::shuffle_xor(T value, int mask, std::uint32_t lanes, SourceLocation location) const {
  return detail::collective_for(simt::WarpCollective::shuffle_xor, lanes, value, lane() ^ (mask & 31),
                                location);
}
inline bool Thread::any(bool predicate, std::uint32_t lanes, SourceLocation location) const {
  return simt::collective(simt::WarpCollective::any, lanes, predicate, 0, location) != 0;
}
inline bool Thread::all(bool predicate, std::uint32_t lanes, SourceLocation location) const {
  return simt::collective(simt::WarpCollective::all, lanes, predicate, 0, location) != 0;
}
inline std::uint32_t Thread::ballot(bool predicate, std::uint32_t lanes, SourceLocation location) const {
  return static_cast<std::uint32_t>(
      simt::collective(simt::WarpCollective::ballot, lanes, predicate, 0, location));
}
template <class T>
std::uint32_t Thread::match_any(T value, std::uint32_t lanes, SourceLocation location) const {
  return static_cast<std::uint32_t>(
      simt::collective(simt::WarpCollective::match_any, lanes, detail::to_word(value), 0, location));
}
template <class T>
std::uint32_t Thread::match_all(T value, std::uint32_t lanes, SourceLocation location) const {
  return static_cast<std::uint32_t>(
      simt::collective(simt::WarpCollective::match_all, lanes, detail::to_word(value), 0, location));
}

// Relaxed, as in CUDA: only fence() orders them.
template <class T>
T Thread::atomic_add(T* address, T value) const {
  [[maybe_unused]] const detail::Atomically access(address, sizeof(T));
  if constexpr (std::is_integral_v<T>) return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
  else return detail::atomic_update(address, [value](T old) { return old + value; });
}
template <class T>
T Thread::atomic_min(T* address, T value) const {
  [[maybe_unused]] const detail::Atomically access(address, sizeof(T));
  static_assert(std::is_integral_v<T>);
  return detail::atomic_update(address, [value](T old) { return value < old ? value : old; });
}
template <class T>
T Thread::atomic_max(T* address, T value) const {
  [[maybe_unused]] const detail::Atomically access(address, sizeof(T));
  static_assert(std::is_integral_v<T>);
  return detail::atomic_update(address, [value](T old) { return old < value ? value : old; });
}
template <class T>
T Thread::atomic_exchange(T* address, T value) const {
  [[maybe_unused]] const detail::Atomically access(address, sizeof(T));
  T old;
  __atomic_exchange(address, &value, &old, __ATOMIC_RELAXED);
  return old;
}
template <class T>
T Thread::atomic_cas(T* address, T expected, T value) const {
  [[maybe_unused]] const detail::Atomically access(address, sizeof(T));
  __atomic_compare_exchange(address, &expected, &value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
inline void Thread::fence() const { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

inline Bytes16 Thread::load16(const void* address, SourceLocation location) const {
#if defined(TESSERA_TRACED)
  (void)location;
  return simt::traced_load16(address);
#else
  detail::require_aligned(address, sizeof(Bytes16), location);
  Bytes16 value;
  __builtin_memcpy(&value, address, sizeof value);
  return value;
#endif
}
inline void Thread::store16(void* address, const Bytes16& value, SourceLocation location) const {
#if defined(TESSERA_TRACED)
  (void)location;
  simt::traced_store16(address, value);
#else
  detail::require_aligned(address, sizeof(Bytes16), location);
  __builtin_memcpy(address, &value, sizeof value);
#endif
}

}  // namespace TESSERA_UNIT
}  // namespace tessera
