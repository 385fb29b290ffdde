// SPDX-License-Identifier: Apache-2.0
// Rows of bytes filtered in sums of 16 bits, compiled for each instruction set (foreach_target).
#if defined(TESSERA_FILTER_SIMD_BYTES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_FILTER_SIMD_BYTES_INL_H
#undef TESSERA_FILTER_SIMD_BYTES_INL_H
#else
#define TESSERA_FILTER_SIMD_BYTES_INL_H
#endif

#include <hwy/highway.h>
#include <algorithm>
#include <cstring>
#include <vector>
#include "ops/filter/filter.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::filter {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Where a weight meets a row of bytes.
struct ByteTap {
  const std::uint8_t* from;
  std::int16_t weight;
};

// What a row of results is made from: taps of weight 1 need no product.
struct ByteTaps {
  std::vector<const std::uint8_t*> ones;
  std::vector<ByteTap> others;

  void clear() {
    ones.clear();
    others.clear();
  }
  void add(const std::uint8_t* from, std::int16_t weight) {
    if (weight == 1) ones.push_back(from);
    else others.push_back({from, weight});
  }
};

// Bytes from an address to the next one that a vector of `bytes` begins at.
inline std::int64_t before_vector(const void* address, std::int64_t bytes) {
  const auto off = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address) %
                                             static_cast<std::uintptr_t>(bytes));
  return off == 0 ? 0 : bytes - off;
}

#if HWY_TARGET != HWY_SCALAR

// A load's bytes of even and of odd places, each a number of 16 bits: no lane moves, neither here nor on the
// way back.
class ByteSums {
 public:
  using D = hn::ScalableTag<std::int16_t>;
  using Bytes = hn::Repartition<std::uint8_t, D>;
  using V = hn::Vec<D>;

  HWY_INLINE ByteSums() : even_(hn::Zero(D())), odd_(even_) {}

  HWY_INLINE void add(const std::uint8_t* from) {
    even_ = hn::Add(even_, even(from));
    odd_ = hn::Add(odd_, odd(from));
  }
  HWY_INLINE void add(const std::uint8_t* from, V weight) {
    even_ = hn::Add(even_, hn::Mul(even(from), weight));
    odd_ = hn::Add(odd_, hn::Mul(odd(from), weight));
  }

  // `Past`: to memory past the caches, where a vector's place begins.
  template <bool Past>
  HWY_INLINE void store(bool absolute, V offset, std::uint8_t* to) const {
    const auto high = hn::ShiftLeft<8>(byte(odd_, absolute, offset));
    const auto bytes = hn::BitCast(Bytes(), hn::Or(byte(even_, absolute, offset), high));
    if constexpr (Past) hn::Stream(bytes, Bytes(), to);
    else hn::StoreU(bytes, Bytes(), to);
  }

 private:
  static HWY_INLINE V even(const std::uint8_t* from) {
    return hn::And(hn::BitCast(D(), hn::LoadU(Bytes(), from)), hn::Set(D(), std::int16_t{255}));
  }
  static HWY_INLINE V odd(const std::uint8_t* from) {
    const hn::RebindToUnsigned<D> d;
    return hn::BitCast(D(), hn::ShiftRight<8>(hn::BitCast(d, hn::LoadU(Bytes(), from))));
  }
  static HWY_INLINE V byte(V sum, bool absolute, V offset) {
    const V value = hn::Add(absolute ? hn::Abs(sum) : sum, offset);
    return hn::Min(hn::Max(value, hn::Zero(D())), hn::Set(D(), std::int16_t{255}));
  }

  V even_, odd_;
};

inline constexpr std::int64_t byte_step() {
  return 2 * static_cast<std::int64_t>(hn::MaxLanes(ByteSums::Bytes()));
}

// `ones` and `others`: how many there are.
template <bool Past, class Ones, class Others>
HWY_INLINE void filter_blocks(const Finish& f, const ByteTaps& taps, Ones ones, Others others,
                              std::int64_t begin, std::int64_t end, std::uint8_t* HWY_RESTRICT to) {
  const ByteSums::D d;
  constexpr std::int64_t lanes = byte_step() / 2;
  const auto offset = hn::Set(d, static_cast<std::int16_t>(f.whole_offset));
  const bool absolute = f.absolute;
  const std::uint8_t* const* const one = taps.ones.data();
  const ByteTap* const other = taps.others.data();
  for (std::int64_t x = begin; x < end; x += 2 * lanes) {
    ByteSums first, second;
    for (std::size_t t = 0; t < ones(); ++t) {
      first.add(one[t] + x);
      second.add(one[t] + x + lanes);
    }
    for (std::size_t t = 0; t < others(); ++t) {
      const auto weight = hn::Set(d, other[t].weight);
      first.add(other[t].from + x, weight);
      second.add(other[t].from + x + lanes, weight);
    }
    first.store<Past>(absolute, offset, to + x - begin);
    second.store<Past>(absolute, offset, to + x + lanes - begin);
  }
}

// Numbers of taps that the compiler knows leave their places in registers.
template <bool Past>
void filter_bytes(const Finish& f, const ByteTaps& taps, std::int64_t begin, std::int64_t end,
                  std::uint8_t* HWY_RESTRICT to) {
  const auto four = [] { return std::size_t{4}; };
  const auto eight = [] { return std::size_t{8}; };
  const auto one = [] { return std::size_t{1}; };
  const std::size_t ones = taps.ones.size(), others = taps.others.size();
  if (ones == 4 && others == 1) filter_blocks<Past>(f, taps, four, one, begin, end, to);
  else if (ones == 8 && others == 1) filter_blocks<Past>(f, taps, eight, one, begin, end, to);
  else
    filter_blocks<Past>(
        f, taps, [=] { return ones; }, [=] { return others; }, begin, end, to);
}

// A row of results: whole vectors go where they belong, the others by way of `part`, byte_step() bytes. Past
// the caches they go while others are summed, and only to places that begin a vector.
inline void filter_byte_row(const Finish& f, const ByteTaps& taps, std::int64_t count, bool past_caches,
                            std::uint8_t* part, std::uint8_t* HWY_RESTRICT to) {
  const auto by_part = [&](std::int64_t begin, std::int64_t end) {
    if (begin == end) return;
    filter_bytes<false>(f, taps, begin, end, part);
    std::memcpy(to + begin, part, static_cast<std::size_t>(end - begin));
  };
  const std::int64_t first = past_caches ? std::min(before_vector(to, byte_step() / 2), count) : 0,
                     last = count - (count - first) % byte_step();
  by_part(0, first);
  if (past_caches) filter_bytes<true>(f, taps, first, last, to + first);
  else filter_bytes<false>(f, taps, first, last, to + first);
  by_part(last, count);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tessera::filter
HWY_AFTER_NAMESPACE();

#endif
