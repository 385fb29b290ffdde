// SPDX-License-Identifier: Apache-2.0
// Functions of kernels for barriers, the exchange of values within a warp, and atomic updates of memory.
#pragma once
#include <time.h>
#include "cuda_runtime_api.h"

#define TESSERA_DEVICE [[gnu::always_inline]] inline
#define TESSERA_AT tessera_cuda::CallSite at = tessera_cuda::CallSite::current()

inline constexpr int warpSize = 32;

#if defined(TESSERA_TRACED)
// The tracer records one atomic access; during this object's lifetime it records nothing else.
namespace tessera {
namespace simt {
void result_is_unused();  // marks this lane's last atomic access
class AtomicAccess {
 public:
  AtomicAccess(const void* address, unsigned width);
  ~AtomicAccess();

 private:
  void* paused_;
};
}  // namespace simt
}  // namespace tessera
#endif

namespace tessera_cuda {

void barrier(CallSite at);
// Reductions over all threads of the block: the count of true predicates, all, or any.
enum class Count { count, all, any };
int barrier_count(Count what, bool holds, CallSite at);
void sync_warp(unsigned lanes, CallSite at);
// The way in which a shuffle selects the source lane.
enum class Shuffle { index, up, down, exclusive_or };
std::uint64_t shuffle(Shuffle how, unsigned lanes, std::uint64_t word, int operand, int width, CallSite at);
enum class Vote { any, all, ballot, unanimous };
unsigned vote(Vote what, unsigned lanes, bool holds, CallSite at);
unsigned match_any(unsigned lanes, std::uint64_t word, CallSite at);
unsigned match_all(unsigned lanes, std::uint64_t word, CallSite at);
// Returns the lanes of the warp that came to this place together.
unsigned active_lanes(CallSite at);
[[noreturn]] void trap(CallSite at);
void sleep(unsigned nanoseconds);
long long ticks();
bool on_device() noexcept;

#if defined(TESSERA_TRACED)
using Atomically = tessera::simt::AtomicAccess;
#else
struct Atomically {
  constexpr Atomically(const void*, unsigned) {}
};
#endif

// Follows an atomic whose result the program ignores, so that it does not count as a read.
TESSERA_DEVICE void result_is_unused() {
#if defined(TESSERA_TRACED)
  tessera::simt::result_is_unused();
#endif
}

// Updates for which there is no instruction: next(old) replaces old, repeated if another thread was faster.
template <class T, class Next>
TESSERA_DEVICE T atomic_update(T* address, Next next) {
  [[maybe_unused]] const Atomically access(address, sizeof(T));
  T old;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  for (;;) {
    T replacement = next(old);
    if (__atomic_compare_exchange(address, &old, &replacement, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return old;
  }
}

template <class To, class From>
TESSERA_DEVICE To bits_of(From value) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, value);
}
template <class T>
TESSERA_DEVICE std::uint64_t to_word(T value) {
  static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8,
                "lanes exchange values of 1, 2, 4 or 8 bytes");
  if constexpr (sizeof(T) == 8) return bits_of<std::uint64_t>(value);
  else if constexpr (sizeof(T) == 4) return bits_of<std::uint32_t>(value);
  else if constexpr (sizeof(T) == 2) return bits_of<std::uint16_t>(value);
  else return bits_of<std::uint8_t>(value);
}
template <class T>
TESSERA_DEVICE T from_word(std::uint64_t word) {
  if constexpr (sizeof(T) == 8) return bits_of<T>(word);
  else if constexpr (sizeof(T) == 4) return bits_of<T>(static_cast<std::uint32_t>(word));
  else if constexpr (sizeof(T) == 2) return bits_of<T>(static_cast<std::uint16_t>(word));
  else return bits_of<T>(static_cast<std::uint8_t>(word));
}

}  // namespace tessera_cuda

// Waiting
TESSERA_DEVICE void __syncthreads(TESSERA_AT) { tessera_cuda::barrier(at); }
TESSERA_DEVICE int __syncthreads_count(int holds, TESSERA_AT) {
  return tessera_cuda::barrier_count(tessera_cuda::Count::count, holds != 0, at);
}
TESSERA_DEVICE int __syncthreads_and(int holds, TESSERA_AT) {
  return tessera_cuda::barrier_count(tessera_cuda::Count::all, holds != 0, at);
}
TESSERA_DEVICE int __syncthreads_or(int holds, TESSERA_AT) {
  return tessera_cuda::barrier_count(tessera_cuda::Count::any, holds != 0, at);
}
TESSERA_DEVICE void __syncwarp(unsigned lanes = 0xffffffffu, TESSERA_AT) {
  tessera_cuda::sync_warp(lanes, at);
}
TESSERA_DEVICE void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
TESSERA_DEVICE void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
// A block runs on one core, which sees its own stores in order.
TESSERA_DEVICE void __threadfence_block() { __asm__ volatile("" ::: "memory"); }
TESSERA_DEVICE void __nanosleep(unsigned nanoseconds) { tessera_cuda::sleep(nanoseconds); }
TESSERA_DEVICE void __trap(TESSERA_AT) { tessera_cuda::trap(at); }
TESSERA_DEVICE void __brkpt(TESSERA_AT) { tessera_cuda::trap(at); }
// Returns the ticks of this machine's CPU.
TESSERA_DEVICE long long clock64() { return tessera_cuda::ticks(); }
namespace tessera_cuda {
// The replacement of clock() in device code.
inline clock_t clock() { return on_device() ? static_cast<clock_t>(ticks()) : ::clock(); }
}  // namespace tessera_cuda

// Within a warp
template <class T>
TESSERA_DEVICE T __shfl_sync(unsigned lanes, T value, int lane, int width = 32, TESSERA_AT) {
  return tessera_cuda::from_word<T>(tessera_cuda::shuffle(tessera_cuda::Shuffle::index, lanes,
                                                          tessera_cuda::to_word(value), lane, width, at));
}
template <class T>
TESSERA_DEVICE T __shfl_up_sync(unsigned lanes, T value, unsigned by, int width = 32, TESSERA_AT) {
  return tessera_cuda::from_word<T>(tessera_cuda::shuffle(
      tessera_cuda::Shuffle::up, lanes, tessera_cuda::to_word(value), static_cast<int>(by), width, at));
}
template <class T>
TESSERA_DEVICE T __shfl_down_sync(unsigned lanes, T value, unsigned by, int width = 32, TESSERA_AT) {
  return tessera_cuda::from_word<T>(tessera_cuda::shuffle(
      tessera_cuda::Shuffle::down, lanes, tessera_cuda::to_word(value), static_cast<int>(by), width, at));
}
template <class T>
TESSERA_DEVICE T __shfl_xor_sync(unsigned lanes, T value, int mask, int width = 32, TESSERA_AT) {
  return tessera_cuda::from_word<T>(tessera_cuda::shuffle(tessera_cuda::Shuffle::exclusive_or, lanes,
                                                          tessera_cuda::to_word(value), mask, width, at));
}
TESSERA_DEVICE int __any_sync(unsigned lanes, int holds, TESSERA_AT) {
  return static_cast<int>(tessera_cuda::vote(tessera_cuda::Vote::any, lanes, holds != 0, at));
}
TESSERA_DEVICE int __all_sync(unsigned lanes, int holds, TESSERA_AT) {
  return static_cast<int>(tessera_cuda::vote(tessera_cuda::Vote::all, lanes, holds != 0, at));
}
TESSERA_DEVICE int __uni_sync(unsigned lanes, int holds, TESSERA_AT) {
  return static_cast<int>(tessera_cuda::vote(tessera_cuda::Vote::unanimous, lanes, holds != 0, at));
}
TESSERA_DEVICE unsigned __ballot_sync(unsigned lanes, int holds, TESSERA_AT) {
  return tessera_cuda::vote(tessera_cuda::Vote::ballot, lanes, holds != 0, at);
}
TESSERA_DEVICE unsigned __activemask(TESSERA_AT) { return tessera_cuda::active_lanes(at); }
template <class T>
TESSERA_DEVICE unsigned __match_any_sync(unsigned lanes, T value, TESSERA_AT) {
  return tessera_cuda::match_any(lanes, tessera_cuda::to_word(value), at);
}
template <class T>
TESSERA_DEVICE unsigned __match_all_sync(unsigned lanes, T value, int* same, TESSERA_AT) {
  const unsigned all = tessera_cuda::match_all(lanes, tessera_cuda::to_word(value), at);
  *same = all != 0;
  return all;
}

namespace tessera_cuda {
// Reduces the values of all named lanes, reading each lane's own.
template <class T, class Join>
TESSERA_DEVICE T reduce_lanes(unsigned lanes, T value, Join join, CallSite at) {
  T sum{};
  bool first = true;
  for (unsigned left = lanes; left != 0; left &= left - 1) {
    const T other = __shfl_sync(lanes, value, __builtin_ctz(left), 32, at);
    sum = first ? other : join(sum, other);
    first = false;
  }
  return sum;
}
}  // namespace tessera_cuda
#define TESSERA_REDUCE(name, type, result)                                             \
  TESSERA_DEVICE type __reduce_##name##_sync(unsigned lanes, type value, TESSERA_AT) { \
    return tessera_cuda::reduce_lanes(                                                 \
        lanes, value, [](type a, type b) -> type { return result; }, at);              \
  }
TESSERA_REDUCE(add, unsigned, a + b)
TESSERA_REDUCE(add, int, a + b)
TESSERA_REDUCE(min, unsigned, a < b ? a : b)
TESSERA_REDUCE(min, int, a < b ? a : b)
TESSERA_REDUCE(max, unsigned, a < b ? b : a)
TESSERA_REDUCE(max, int, a < b ? b : a)
TESSERA_REDUCE(and, unsigned, a& b)
TESSERA_REDUCE(or, unsigned, a | b)
TESSERA_REDUCE(xor, unsigned, a ^ b)
#undef TESSERA_REDUCE

// Atomics, for the types that CUDA has them for. Each returns the value before. Relaxed, as CUDA's are.
#define TESSERA_ATOMIC_SCOPES(name, type)                                                      \
  TESSERA_DEVICE type name##_block(type* address, type value) { return name(address, value); } \
  TESSERA_DEVICE type name##_system(type* address, type value) { return name(address, value); }
#define TESSERA_ATOMIC_BUILTIN(name, builtin, type)                                \
  TESSERA_DEVICE type name(type* address, type value) {                            \
    [[maybe_unused]] const tessera_cuda::Atomically access(address, sizeof(type)); \
    return builtin(address, value, __ATOMIC_RELAXED);                              \
  }                                                                                \
  TESSERA_ATOMIC_SCOPES(name, type)
#define TESSERA_ATOMIC_UPDATE(name, type, result)                                              \
  TESSERA_DEVICE type name(type* address, type value) {                                        \
    return tessera_cuda::atomic_update(address, [value](type old) -> type { return result; }); \
  }                                                                                            \
  TESSERA_ATOMIC_SCOPES(name, type)

TESSERA_ATOMIC_BUILTIN(atomicAdd, __atomic_fetch_add, int)
TESSERA_ATOMIC_BUILTIN(atomicAdd, __atomic_fetch_add, unsigned int)
TESSERA_ATOMIC_BUILTIN(atomicAdd, __atomic_fetch_add, unsigned long long int)
TESSERA_ATOMIC_UPDATE(atomicAdd, float, old + value)
TESSERA_ATOMIC_UPDATE(atomicAdd, double, old + value)
TESSERA_ATOMIC_BUILTIN(atomicSub, __atomic_fetch_sub, int)
TESSERA_ATOMIC_BUILTIN(atomicSub, __atomic_fetch_sub, unsigned int)
TESSERA_ATOMIC_UPDATE(atomicMin, int, value < old ? value : old)
TESSERA_ATOMIC_UPDATE(atomicMin, unsigned int, value < old ? value : old)
TESSERA_ATOMIC_UPDATE(atomicMin, long long int, value < old ? value : old)
TESSERA_ATOMIC_UPDATE(atomicMin, unsigned long long int, value < old ? value : old)
TESSERA_ATOMIC_UPDATE(atomicMax, int, old < value ? value : old)
TESSERA_ATOMIC_UPDATE(atomicMax, unsigned int, old < value ? value : old)
TESSERA_ATOMIC_UPDATE(atomicMax, long long int, old < value ? value : old)
TESSERA_ATOMIC_UPDATE(atomicMax, unsigned long long int, old < value ? value : old)
TESSERA_ATOMIC_UPDATE(atomicInc, unsigned int, old >= value ? 0u : old + 1u)
TESSERA_ATOMIC_UPDATE(atomicDec, unsigned int, old == 0 || old > value ? value : old - 1u)
TESSERA_ATOMIC_BUILTIN(atomicAnd, __atomic_fetch_and, int)
TESSERA_ATOMIC_BUILTIN(atomicAnd, __atomic_fetch_and, unsigned int)
TESSERA_ATOMIC_BUILTIN(atomicAnd, __atomic_fetch_and, unsigned long long int)
TESSERA_ATOMIC_BUILTIN(atomicOr, __atomic_fetch_or, int)
TESSERA_ATOMIC_BUILTIN(atomicOr, __atomic_fetch_or, unsigned int)
TESSERA_ATOMIC_BUILTIN(atomicOr, __atomic_fetch_or, unsigned long long int)
TESSERA_ATOMIC_BUILTIN(atomicXor, __atomic_fetch_xor, int)
TESSERA_ATOMIC_BUILTIN(atomicXor, __atomic_fetch_xor, unsigned int)
TESSERA_ATOMIC_BUILTIN(atomicXor, __atomic_fetch_xor, unsigned long long int)
TESSERA_ATOMIC_BUILTIN(atomicExch, __atomic_exchange_n, int)
TESSERA_ATOMIC_BUILTIN(atomicExch, __atomic_exchange_n, unsigned int)
TESSERA_ATOMIC_BUILTIN(atomicExch, __atomic_exchange_n, unsigned long long int)
TESSERA_ATOMIC_UPDATE(atomicExch, float, (static_cast<void>(old), value))
#define TESSERA_ATOMIC_CAS(type)                                                                       \
  TESSERA_DEVICE type atomicCAS(type* address, type expected, type value) {                            \
    [[maybe_unused]] const tessera_cuda::Atomically access(address, sizeof(type));                     \
    __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED); \
    return expected;                                                                                   \
  }                                                                                                    \
  TESSERA_DEVICE type atomicCAS_block(type* address, type expected, type value) {                      \
    return atomicCAS(address, expected, value);                                                        \
  }                                                                                                    \
  TESSERA_DEVICE type atomicCAS_system(type* address, type expected, type value) {                     \
    return atomicCAS(address, expected, value);                                                        \
  }
TESSERA_ATOMIC_CAS(int)
TESSERA_ATOMIC_CAS(unsigned int)
TESSERA_ATOMIC_CAS(unsigned short int)
TESSERA_ATOMIC_CAS(unsigned long long int)
#undef TESSERA_ATOMIC_CAS
#undef TESSERA_ATOMIC_UPDATE
#undef TESSERA_ATOMIC_BUILTIN
#undef TESSERA_ATOMIC_SCOPES

// Loads and stores with a hint to the cache.
#define TESSERA_LOAD(name)                  \
  template <class T>                        \
  TESSERA_DEVICE T name(const T* address) { \
    return *address;                        \
  }
TESSERA_LOAD(__ldg)
TESSERA_LOAD(__ldcg)
TESSERA_LOAD(__ldca)
TESSERA_LOAD(__ldcs)
TESSERA_LOAD(__ldlu)
TESSERA_LOAD(__ldcv)
#undef TESSERA_LOAD
#define TESSERA_STORE(name)                       \
  template <class T>                              \
  TESSERA_DEVICE void name(T* address, T value) { \
    *address = value;                             \
  }
TESSERA_STORE(__stwb)
TESSERA_STORE(__stcg)
TESSERA_STORE(__stcs)
TESSERA_STORE(__stwt)
#undef TESSERA_STORE
TESSERA_DEVICE unsigned __isGlobal(const void*) { return 1; }

// Bits
TESSERA_DEVICE int __clz(int v) { return v == 0 ? 32 : __builtin_clz(static_cast<unsigned>(v)); }
TESSERA_DEVICE int __clzll(long long v) {
  return v == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(v));
}
TESSERA_DEVICE int __ffs(int v) { return __builtin_ffs(v); }
TESSERA_DEVICE int __ffsll(long long v) { return __builtin_ffsll(v); }
TESSERA_DEVICE int __popc(unsigned v) { return __builtin_popcount(v); }
TESSERA_DEVICE int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
TESSERA_DEVICE unsigned __brev(unsigned v) {
  unsigned out = 0;
  for (int i = 0; i < 32; ++i) out |= (v >> i & 1u) << (31 - i);
  return out;
}
TESSERA_DEVICE unsigned long long __brevll(unsigned long long v) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(v))) << 32 |
         __brev(static_cast<unsigned>(v >> 32));
}
TESSERA_DEVICE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
  unsigned out = 0;
  for (unsigned i = 0; i < 4; ++i)
    out |= static_cast<unsigned>(bytes >> 8 * (selector >> 4 * i & 7u) & 0xffu) << 8 * i;
  return out;
}
TESSERA_DEVICE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) << (by & 31u) >> 32);
}
TESSERA_DEVICE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (by & 31u));
}
TESSERA_DEVICE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned by) {
  return by >= 32 ? low : __funnelshift_l(low, high, by);
}
TESSERA_DEVICE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned by) {
  return by >= 32 ? high : __funnelshift_r(low, high, by);
}
TESSERA_DEVICE int __float_as_int(float v) { return tessera_cuda::bits_of<int>(v); }
TESSERA_DEVICE unsigned __float_as_uint(float v) { return tessera_cuda::bits_of<unsigned>(v); }
TESSERA_DEVICE float __int_as_float(int v) { return tessera_cuda::bits_of<float>(v); }
TESSERA_DEVICE float __uint_as_float(unsigned v) { return tessera_cuda::bits_of<float>(v); }
TESSERA_DEVICE long long __double_as_longlong(double v) { return tessera_cuda::bits_of<long long>(v); }
TESSERA_DEVICE double __longlong_as_double(long long v) { return tessera_cuda::bits_of<double>(v); }
TESSERA_DEVICE int __double2hiint(double v) {
  return static_cast<int>(tessera_cuda::bits_of<unsigned long long>(v) >> 32);
}
TESSERA_DEVICE int __double2loint(double v) {
  return static_cast<int>(tessera_cuda::bits_of<unsigned long long>(v));
}
TESSERA_DEVICE double __hiloint2double(int high, int low) {
  return tessera_cuda::bits_of<double>(static_cast<unsigned long long>(static_cast<unsigned>(high)) << 32 |
                                       static_cast<unsigned>(low));
}

TESSERA_DEVICE int __mul24(int a, int b) {
  return static_cast<int>(static_cast<unsigned>((a << 8 >> 8)) * static_cast<unsigned>((b << 8 >> 8)));
}
TESSERA_DEVICE unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
TESSERA_DEVICE int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
TESSERA_DEVICE unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
TESSERA_DEVICE long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
TESSERA_DEVICE unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
TESSERA_DEVICE unsigned __sad(int a, int b, unsigned c) {
  return (a < b ? static_cast<unsigned>(b) - static_cast<unsigned>(a)
                : static_cast<unsigned>(a) - static_cast<unsigned>(b)) +
         c;
}
TESSERA_DEVICE unsigned __usad(unsigned a, unsigned b, unsigned c) { return (a < b ? b - a : a - b) + c; }
TESSERA_DEVICE int __hadd(int a, int b) { return static_cast<int>((static_cast<long long>(a) + b) >> 1); }
TESSERA_DEVICE int __rhadd(int a, int b) {
  return static_cast<int>((static_cast<long long>(a) + b + 1) >> 1);
}
TESSERA_DEVICE unsigned __uhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b) >> 1);
}
TESSERA_DEVICE unsigned __urhadd(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) + b + 1) >> 1);
}
TESSERA_DEVICE int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; ++i)
    c += static_cast<signed char>(a >> 8 * i) * static_cast<signed char>(b >> 8 * i);
  return c;
}
TESSERA_DEVICE unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; ++i) c += (a >> 8 * i & 0xffu) * (b >> 8 * i & 0xffu);
  return c;
}
// Dot product of two 16-bit numbers with two of the bytes, the lower or the upper, plus c.
#define TESSERA_DP2A(name, type, half, byte, shift)                            \
  TESSERA_DEVICE type name(type a, type b, type c) {                           \
    return c + static_cast<half>(a) * static_cast<byte>(b >> (shift)) +        \
           static_cast<half>(a >> 16) * static_cast<byte>(b >> ((shift) + 8)); \
  }
TESSERA_DP2A(__dp2a_lo, int, short, signed char, 0)
TESSERA_DP2A(__dp2a_hi, int, short, signed char, 16)
TESSERA_DP2A(__dp2a_lo, unsigned, unsigned short, unsigned char, 0)
TESSERA_DP2A(__dp2a_hi, unsigned, unsigned short, unsigned char, 16)
#undef TESSERA_DP2A
// Returns the position of the offset-th set bit, counted from `base` up or, if negative, down.
TESSERA_DEVICE unsigned __fns(unsigned mask, unsigned base, int offset) {
  const int step = offset < 0 ? -1 : 1;
  int left = offset < 0 ? -offset : offset;
  if (left == 0) return (mask >> base & 1u) != 0 ? base : 0xffffffffu;
  for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step)
    if ((mask >> at & 1u) != 0 && --left == 0) return static_cast<unsigned>(at);
  return 0xffffffffu;
}
