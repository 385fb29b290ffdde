// SPDX-License-Identifier: Apache-2.0
// Abscissae and sums of thirty-two lanes, for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/integrate/sum/simd_lanes.cpp"
#include "tessera/core/device/vector_targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <algorithm>
#include "simd_sum.hpp"
#include "tessera/formula/chain-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::integration {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using formula::Link;
using formula::HWY_NAMESPACE::Run;
using formula::HWY_NAMESPACE::V;
using formula::HWY_NAMESPACE::Wide;

template <class T>
inline constexpr int kWidth = static_cast<int>(hn::MaxLanes(Wide<T>()));

// Returns the abscissae of vector `vector` of a group that begins with strip `offset` of the block.
template <class T, bool as_they_are>
HWY_INLINE V<T> Abscissa(const Lanes<T>& lanes, std::size_t offset, int vector) {
  const Wide<T> d;
  const std::size_t from = static_cast<std::size_t>(vector) * kWidth<T>;
  // Groups that are full rows begin with lane 0.
  const std::size_t lane = 8 * kWidth<T> >= kLanes ? from % kLanes : (offset + from) % kLanes;
  const std::size_t row = 8 * kWidth<T> >= kLanes ? offset / kLanes + from / kLanes : offset / kLanes;
  const V<T> index = hn::Add(hn::Load(d, lanes.first + lane), hn::Set(d, lanes.row[row]));
  return as_they_are ? index : hn::Add(hn::Set(d, lanes.a), hn::Mul(index, hn::Set(d, lanes.step)));
}

template <class T>
struct Sums {
  V<T> high, low;
};

template <class T, Sum way>
HWY_INLINE void AddTo(Sums<T>& sums, V<T> v) {
  if constexpr (way == Sum::kahan) {
    const auto corrected = hn::Add(v, sums.low), next = hn::Add(sums.high, corrected);
    sums.low = hn::Sub(corrected, hn::Sub(next, sums.high));
    sums.high = next;
  } else if constexpr (way == Sum::double_float) {
    const auto sum = hn::Add(sums.high, v), of_v = hn::Sub(sum, sums.high), of_high = hn::Sub(sum, of_v);
    const auto lost = hn::Add(hn::Add(hn::Sub(sums.high, of_high), hn::Sub(v, of_v)), sums.low);
    sums.high = hn::Add(sum, lost);
    sums.low = hn::Sub(lost, hn::Sub(sums.high, sum));
  } else {
    sums.high = hn::Add(sums.high, v);
  }
}

template <class T, bool as_they_are>
void head_link(const Link* link, std::size_t offset, TESSERA_VALUES) {
  const Lanes<T>& lanes = *static_cast<const Lanes<T>*>(link->operand);
#define TESSERA_ABSCISSA(i) v##i = Abscissa<T, as_they_are>(lanes, offset, i);
  TESSERA_EACH(TESSERA_ABSCISSA)
#undef TESSERA_ABSCISSA
  TESSERA_NEXT;
}

// Ends a chain: calls no other link.
template <class T, Sum way>
void tail_link(const Link* link, std::size_t offset, TESSERA_VALUES) {
  Lanes<T>& lanes = *static_cast<Lanes<T>*>(link->operand);
  const Wide<T> d;
  constexpr bool compensated = way == Sum::kahan || way == Sum::double_float;
  const auto add = [&](std::size_t strip, auto... values) HWY_ATTR {
    T* const high = lanes.high + strip % kLanes;
    T* const low = lanes.low + strip % kLanes;
    Sums<T> sums{hn::Load(d, high), compensated ? hn::Load(d, low) : hn::Zero(d)};
    (AddTo<T, way>(sums, values), ...);
    hn::Store(sums.high, d, high);
    if (compensated) hn::Store(sums.low, d, low);
  };
  constexpr std::size_t width = kWidth<T>;
  if constexpr (8 * width <= kLanes) {
    add(offset, v0), add(offset + width, v1), add(offset + 2 * width, v2), add(offset + 3 * width, v3);
    add(offset + 4 * width, v4), add(offset + 5 * width, v5), add(offset + 6 * width, v6),
        add(offset + 7 * width, v7);
  } else if constexpr (4 * width == kLanes) {
    add(0, v0, v4), add(width, v1, v5), add(2 * width, v2, v6), add(3 * width, v3, v7);
  } else {
    static_assert(2 * width == kLanes);
    add(0, v0, v2, v4, v6), add(width, v1, v3, v5, v7);
  }
}

template <class T>
void Write(const Lanes<T>& lanes, bool as_they_are, T* x) {
  for (std::size_t group = 0; group < kLanes * kRows; group += 8 * kWidth<T>)
    for (int i = 0; i < 8; ++i)
      hn::StoreU(as_they_are ? Abscissa<T, true>(lanes, group, i) : Abscissa<T, false>(lanes, group, i),
                 Wide<T>(), x + group + static_cast<std::size_t>(i) * kWidth<T>);
}

template <class T>
void Advance(Lanes<T>& lanes, T by) {
  const Wide<T> d;
  for (int j = 0; j < kLanes; j += kWidth<T>)
    hn::Store(hn::Add(hn::Load(d, lanes.first + j), hn::Set(d, by)), d, lanes.first + j);
}

template <class T>
void Clear(Lanes<T>& lanes) {
  const Wide<T> d;
  for (int j = 0; j < kLanes; j += kWidth<T>) {
    hn::Store(hn::Zero(d), d, lanes.high + j);
    hn::Store(hn::Zero(d), d, lanes.low + j);
  }
}

// Adds neighbours, then neighbouring pairs, and so on.
template <class T>
T Joined(const Lanes<T>& lanes) {
  HWY_ALIGN T sums[kLanes];
  for (int j = 0; j < kLanes; j += kWidth<T>)
    hn::Store(hn::Load(Wide<T>(), lanes.high + j), Wide<T>(), sums + j);
#if HWY_TARGET != HWY_SCALAR
  const Wide<T> d;
  constexpr int width = kWidth<T>;
  for (int left = kLanes; left > width; left /= 2)
    for (int j = 0; j < left; j += 2 * width) {
      const V<T> low = hn::Load(d, sums + j), high = hn::Load(d, sums + j + width);
      hn::Store(hn::Add(hn::ConcatEven(d, high, low), hn::ConcatOdd(d, high, low)), d, sums + j / 2);
    }
  V<T> rest = hn::Load(d, sums);
  for (int left = width; left > 1; left /= 2)
    rest = hn::Add(hn::ConcatEven(d, rest, rest), hn::ConcatOdd(d, rest, rest));
  return hn::GetLane(rest);
#else
  for (int left = kLanes / 2; left > 0; left /= 2)
    for (int j = 0; j < left; ++j) sums[j] = sums[2 * j] + sums[2 * j + 1];
  return sums[0];
#endif
}

template <class T, Sum way>
void AddBlock(const T* y, Lanes<T>& lanes) {
  const Wide<T> d;
  for (int j = 0; j < kLanes; j += kWidth<T>) {
    Sums<T> sums{hn::Load(d, lanes.high + j), hn::Load(d, lanes.low + j)};
    for (int k = 0; k < kRows; ++k) AddTo<T, way>(sums, hn::LoadU(d, y + k * kLanes + j));
    hn::Store(sums.high, d, lanes.high + j);
    hn::Store(sums.low, d, lanes.low + j);
  }
}

template <class T>
void Add(Sum way, const T* y, Lanes<T>& lanes) {
  if (way == Sum::kahan) AddBlock<T, Sum::kahan>(y, lanes);
  else if (way == Sum::double_float) AddBlock<T, Sum::double_float>(y, lanes);
  else AddBlock<T, Sum::plain>(y, lanes);
}

template <class T>
OnLanes<T> OnLanesOf() {
  const auto erased = [](Run<T> run) { return reinterpret_cast<void (*)()>(run); };
  OnLanes<T> out;
  out.abscissae = erased(head_link<T, false>);
  out.as_they_are = erased(head_link<T, true>);
  out.accumulate[static_cast<int>(Sum::plain)] = out.accumulate[static_cast<int>(Sum::pairwise)] =
      erased(tail_link<T, Sum::plain>);
  out.accumulate[static_cast<int>(Sum::kahan)] = erased(tail_link<T, Sum::kahan>);
  out.accumulate[static_cast<int>(Sum::double_float)] = erased(tail_link<T, Sum::double_float>);
  out.write = Write<T>;
  out.add = Add<T>;
  out.advance = Advance<T>;
  out.clear = Clear<T>;
  out.joined = Joined<T>;
  return out;
}

OnLanes<float> on_lanes_f32() { return OnLanesOf<float>(); }
OnLanes<double> on_lanes_f64() { return OnLanesOf<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace tessera::integration
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::integration {

HWY_EXPORT(on_lanes_f32);
HWY_EXPORT(on_lanes_f64);

OnLanes<float> on_lanes(float) { return HWY_DYNAMIC_DISPATCH(on_lanes_f32)(); }
OnLanes<double> on_lanes(double) { return HWY_DYNAMIC_DISPATCH(on_lanes_f64)(); }

}  // namespace tessera::integration
#endif
