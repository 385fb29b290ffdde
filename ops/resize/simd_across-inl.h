// SPDX-License-Identifier: Apache-2.0
// Sums of rows that wait, across them, as bytes. Compiled once for each instruction set (Highway).
#if defined(TESSERA_RESIZE_ACROSS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_RESIZE_ACROSS_INL_H
#undef TESSERA_RESIZE_ACROSS_INL_H
#else
#define TESSERA_RESIZE_ACROSS_INL_H
#endif
#include <hwy/highway.h>
#include <vector>
#include "ops/resize/lookup.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::resize {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR
namespace hn = hwy::HWY_NAMESPACE;

// For one row of the result. `row[k] + i` has row k's sums of the samples at hand.
class AcrossRows {
 public:
  using Sums = hn::CappedTag<std::int32_t, 16>;
  using Floats = hn::Rebind<float, Sums>;
  using Pairs = hn::Repartition<std::int16_t, Sums>;
  using Bytes = hn::Rebind<std::uint8_t, Pairs>;

  static constexpr std::size_t lanes() { return hn::MaxLanes(Pairs()); }  // that one call stores
  static constexpr int blocks() { return static_cast<int>(hn::MaxLanes(Sums()) / block_samples); }

  AcrossRows(const Plan& plan, const std::int32_t* weight, int taps)
      : plan_(plan), weight_(weight), taps_(taps) {
    if (plan.recipe == Recipe::whole && plan.along_shift != 0) split_weights();
  }

  template <class K, class Taps>
  HWY_INLINE void store(const K* const* row, std::size_t i, std::uint8_t* to, Taps known) const {
    const int taps = known.or_else(taps_);
    [[maybe_unused]] const std::size_t next = i + hn::MaxLanes(Sums());
    if constexpr (std::is_same_v<K, std::int16_t>) {
      put(narrow(row, i, taps), to);
    } else if constexpr (std::is_same_v<K, float>) {
      put(hn::ReorderDemote2To(Pairs(), rounded(real(row, i, taps)), rounded(real(row, next, taps))), to);
    } else if (plan_.recipe == Recipe::mean) {
      put(hn::ReorderDemote2To(Pairs(), mean(total(row, i, taps)), mean(total(row, next, taps))), to);
    } else {
      put(hn::ReorderDemote2To(Pairs(), whole(row, i, taps), whole(row, next, taps)), to);
    }
  }

 private:
  using VSums = hn::Vec<Sums>;
  using VPairs = hn::Vec<Pairs>;
  using VFloats = hn::Vec<Floats>;
  using Line = const std::int16_t* const*;

  void split_weights() {
    const auto pair = [this](int k, auto digit) {
      const std::int32_t second = k + 1 < taps_ ? digit(weight_[k + 1]) : 0;
      return static_cast<std::int32_t>(static_cast<std::uint32_t>(second) << 16 |
                                       (static_cast<std::uint32_t>(digit(weight_[k])) & 0xFFFFu));
    };
    for (int k = 0; k < taps_; k += 2) {
      digits_.push_back(pair(k, [](std::int32_t w) { return w & ((1 << digit_bits) - 1); }));
      digits_.push_back(pair(k, [](std::int32_t w) { return w >> digit_bits; }));
    }
  }

  HWY_INLINE VSums total(const std::int32_t* const* row, std::size_t i, int taps) const {
    VSums sum = hn::LoadU(Sums(), row[0] + i);
    for (int k = 1; k < taps; ++k) sum = hn::Add(sum, hn::LoadU(Sums(), row[k] + i));
    return sum;
  }

  HWY_INLINE VSums whole(const std::int32_t* const* row, std::size_t i, int taps) const {
    const Sums d;
    VSums sum = hn::Set(d, 1 << (plan_.across_shift - 1));
    for (int k = 0; k < taps; ++k)
      sum = hn::Add(sum, hn::Mul(hn::Set(d, weight_[k]), hn::LoadU(d, row[k] + i)));
    return hn::ShiftRightSame(sum, plan_.across_shift);
  }

  HWY_INLINE VFloats real(const float* const* row, std::size_t i, int taps) const {
    const Floats d;
    VFloats sum = hn::Mul(hn::Set(d, weight_as<float>(weight_[0])), hn::LoadU(d, row[0] + i));
    for (int k = 1; k < taps; ++k)
      sum = hn::Add(sum, hn::Mul(hn::Set(d, weight_as<float>(weight_[k])), hn::LoadU(d, row[k] + i)));
    return sum;
  }

  HWY_INLINE VPairs narrow(Line row, std::size_t i, int taps) const {
    const Pairs d;
    if (plan_.recipe == Recipe::whole) return of_digits(row, i, taps);
    if (plan_.recipe == Recipe::linear) {
      const auto cut = [&](int k, int from) HWY_ATTR {
        return hn::MulHigh(hn::Set(d, static_cast<std::int16_t>(weight_[k])), hn::LoadU(d, row[from] + i));
      };
      return quarter(hn::Add(cut(0, 0), cut(1, taps - 1)));
    }
    VPairs sum = hn::LoadU(d, row[0] + i);
    for (int k = 1; k < taps; ++k) sum = hn::Add(sum, hn::LoadU(d, row[k] + i));
    if (plan_.halves_up) return quarter(sum);
    const hn::Half<Pairs> half;
    const auto low = hn::DemoteTo(half, mean(hn::PromoteTo(Sums(), hn::LowerHalf(half, sum)))),
               high = hn::DemoteTo(half, mean(hn::PromoteTo(Sums(), hn::UpperHalf(half, sum))));
    return hn::Combine(d, high, low);
  }

  // Of bytes: a pair of rows a product.
  HWY_INLINE VPairs of_digits(Line row, std::size_t i, int taps) const {
    const Pairs d;
    const Sums wide;
    VSums low[2], low_others[2], high[2], high_others[2];
    for (int h = 0; h < 2; ++h) low[h] = low_others[h] = high[h] = high_others[h] = hn::Zero(wide);
    for (int k = 0; k < taps; k += 2) {
      const auto upper = hn::LoadU(d, row[k] + i), lower = hn::LoadU(d, row[std::min(k + 1, taps - 1)] + i);
      const auto lows = hn::BitCast(d, hn::Set(wide, digits_[static_cast<std::size_t>(k)])),
                 highs = hn::BitCast(d, hn::Set(wide, digits_[static_cast<std::size_t>(k) + 1]));
      const VPairs x[] = {hn::InterleaveLower(d, upper, lower), hn::InterleaveUpper(d, upper, lower)};
      for (int h = 0; h < 2; ++h) {
        low[h] = hn::ReorderWidenMulAccumulate(wide, x[h], lows, low[h], low_others[h]);
        high[h] = hn::ReorderWidenMulAccumulate(wide, x[h], highs, high[h], high_others[h]);
      }
    }
    const auto finished = [&](int h) HWY_ATTR {
      const auto above = hn::ShiftLeft<digit_bits>(hn::RearrangeToOddPlusEven(high[h], high_others[h]));
      const auto sum = hn::Add(above, hn::RearrangeToOddPlusEven(low[h], low_others[h]));
      return hn::ShiftRightSame(hn::Add(sum, hn::Set(wide, 1 << (plan_.across_shift - 1))),
                                plan_.across_shift);
    };
    return hn::ReorderDemote2To(d, finished(0), finished(1));
  }

  static HWY_INLINE VPairs quarter(VPairs sum) {
    return hn::ShiftRight<2>(hn::Add(sum, hn::Set(Pairs(), std::int16_t{2})));
  }

  HWY_INLINE VSums mean(VSums sum) const {
    return rounded(hn::Mul(hn::ConvertTo(Floats(), sum), hn::Set(Floats(), plan_.share)));
  }

  // From 0 to 255, ties to even; NaN gives 0. A float's last place is a whole number as soon as 1.5·2^23 is
  // added.
  static HWY_INLINE VSums rounded(VFloats value) {
    const Floats f;
    const Sums d;
    const auto above = hn::Set(f, 12582912.0F);
    const auto within = hn::Min(hn::IfThenElseZero(hn::Gt(value, hn::Zero(f)), value), hn::Set(f, 255.0F));
    return hn::Sub(hn::BitCast(d, hn::Add(within, above)), hn::BitCast(d, above));
  }

  static HWY_INLINE void put(VPairs value, std::uint8_t* to) {
    hn::StoreU(hn::DemoteTo(Bytes(), value), Bytes(), to);
  }

  const Plan& plan_;
  const std::int32_t* weight_;
  int taps_;
  std::vector<std::int32_t> digits_;  // of each pair of rows: both lower digits, both higher ones
};
#endif
}  // namespace HWY_NAMESPACE
}  // namespace tessera::resize
HWY_AFTER_NAMESPACE();
#endif
