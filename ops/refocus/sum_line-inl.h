// SPDX-License-Identifier: Apache-2.0
// Lines of views summed with vectors, compiled for each instruction set (foreach_target).
#if defined(TESSERA_REFOCUS_SUM_LINE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_REFOCUS_SUM_LINE_INL_H
#undef TESSERA_REFOCUS_SUM_LINE_INL_H
#else
#define TESSERA_REFOCUS_SUM_LINE_INL_H
#endif

#include <hwy/highway.h>
#include "line.hpp"
#include "tessera/core/fused-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::lightfield {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Weights of one or two taps are at most 128 together: 16 bits hold a sum, and twice as many lanes fit.
inline void add_line_u8(const Line<std::uint8_t>& line, std::int32_t* HWY_RESTRICT to) {
  std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR  // which has no two lanes
  const hn::ScalableTag<std::int32_t> d32;
  const hn::Repartition<std::uint16_t, decltype(d32)> d16;
  const hn::Rebind<std::uint8_t, decltype(d16)> d8;
  const hn::Half<decltype(d16)> half;
  const hn::RebindToUnsigned<decltype(d32)> du32;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d16)),
             few = static_cast<std::int64_t>(hn::Lanes(d32));
  const bool narrow = line.view_weight == 1 && line.count <= 2;
  const auto w0 = hn::Set(d16, static_cast<std::uint16_t>(line.tap[0])),
             w1 = hn::Set(d16, static_cast<std::uint16_t>(line.count == 2 ? line.tap[1] : 0));
  const std::int64_t apart = line.count == 2 ? line.apart : 0;
  if (narrow)
    for (; i + lanes <= line.samples; i += lanes) {
      const auto sum = hn::Add(hn::Mul(w0, hn::PromoteTo(d16, hn::LoadU(d8, line.from + i))),
                               hn::Mul(w1, hn::PromoteTo(d16, hn::LoadU(d8, line.from + i + apart))));
      const auto low = hn::BitCast(d32, hn::PromoteTo(du32, hn::LowerHalf(half, sum))),
                 high = hn::BitCast(d32, hn::PromoteTo(du32, hn::UpperHalf(half, sum)));
      hn::StoreU(hn::Add(hn::LoadU(d32, to + i), low), d32, to + i);
      hn::StoreU(hn::Add(hn::LoadU(d32, to + i + few), high), d32, to + i + few);
    }
#endif
  for (; i < line.samples; ++i)
    for (int j = 0; j < line.count; ++j)
      to[i] += line.tap[j] * line.view_weight * std::int32_t{line.from[i + std::int64_t{j} * line.apart]};
}

// As the compiler makes vectors of it: a line's own sum in 32 bits, what is added to in 64.
template <class T>
HWY_INLINE void add_wide(const Line<T>& line, std::int64_t* HWY_RESTRICT to) {
  const T* HWY_RESTRICT const from = line.from;
  const std::int64_t apart = line.apart, weight = line.view_weight;
  if (line.count == 1) {
    for (std::int64_t i = 0; i < line.samples; ++i) to[i] += weight * (line.tap[0] * std::int32_t{from[i]});
  } else if (line.count == 2) {
    for (std::int64_t i = 0; i < line.samples; ++i)
      to[i] += weight * (line.tap[0] * std::int32_t{from[i]} + line.tap[1] * std::int32_t{from[i + apart]});
  } else {
    for (std::int64_t i = 0; i < line.samples; ++i)
      to[i] += weight * (line.tap[0] * std::int32_t{from[i]} + line.tap[1] * std::int32_t{from[i + apart]} +
                         line.tap[2] * std::int32_t{from[i + 2 * apart]} +
                         line.tap[3] * std::int32_t{from[i + 3 * apart]});
  }
}
inline void add_line_u8_wide(const Line<std::uint8_t>& line, std::int64_t* to) { add_wide(line, to); }
inline void add_line_u16(const Line<std::uint16_t>& line, std::int64_t* to) { add_wide(line, to); }

inline void add_line_f32(const Line<float>& line, float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= line.samples; i += lanes) {
    auto sum = hn::LoadU(d, to + i);
    for (int j = 0; j < line.count; ++j)
      if (line.weight[j] != 0)
        sum = tessera::HWY_NAMESPACE::add_products(
            d, hn::Set(d, line.weight[j]), hn::LoadU(d, line.from + i + std::int64_t{j} * line.apart), sum);
    hn::StoreU(sum, d, to + i);
  }
  for (; i < line.samples; ++i)
    for (int j = 0; j < line.count; ++j)
      if (line.weight[j] != 0)
        to[i] = std::fma(line.weight[j], line.from[i + std::int64_t{j} * line.apart], to[i]);
}

inline void add_weighted_i32(std::int32_t weight, const std::int32_t* HWY_RESTRICT from, std::int64_t count,
                             std::int32_t* HWY_RESTRICT to) {
  const hn::ScalableTag<std::int32_t> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto w = hn::Set(d, weight);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::Add(hn::LoadU(d, to + i), hn::Mul(w, hn::LoadU(d, from + i))), d, to + i);
  for (; i < count; ++i) to[i] += weight * from[i];
}

inline void add_weighted_i64(std::int64_t weight, const std::int64_t* HWY_RESTRICT from, std::int64_t count,
                             std::int64_t* HWY_RESTRICT to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += weight * from[i];
}

inline void add_weighted_f32(float weight, const float* HWY_RESTRICT from, std::int64_t count,
                             float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(tessera::HWY_NAMESPACE::add_products(d, hn::Set(d, weight), hn::LoadU(d, from + i),
                                                    hn::LoadU(d, to + i)),
               d, to + i);
  for (; i < count; ++i) to[i] = std::fma(weight, from[i], to[i]);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::lightfield
HWY_AFTER_NAMESPACE();

#endif
