// SPDX-License-Identifier: Apache-2.0
// Strips of the result, from above, in vectors: rows of the picture are summed along a few at a time, their
// sums kept for as many rows as a result is made from. Compiled once for each instruction set (Highway).
#if defined(TESSERA_RESIZE_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_RESIZE_ROWS_INL_H
#undef TESSERA_RESIZE_ROWS_INL_H
#else
#define TESSERA_RESIZE_ROWS_INL_H
#endif
#include <hwy/highway.h>
#include <algorithm>
#include <vector>
#include "ops/resize/resize.hpp"
#include "ops/resize/simd_bytes-inl.h"
#include "ops/resize/strip.hpp"
#include "tessera/core/interrupt.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::resize {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

// A processor without vectors: pixel after pixel, with all channels.
template <class T>
void run_strip(const Problem<T>& p, const Strip& strip) {
  for (int y = strip.begin; y < strip.end && strip.channel == 0; ++y) {
    leave_if_interrupted();
    for (int x = strip.first; x < strip.last; ++x) p.compute(strip.n, y, x);
  }
}

#else

namespace hn = hwy::HWY_NAMESPACE;

constexpr int lanes_of_pixel = 4;  // a pixel's channels, or four of them
using Floats = hn::CappedTag<float, 16>;
using Ints = hn::CappedTag<std::int32_t, 16>;

template <class T>
class Rows {
 public:
  Rows(const Problem<T>& problem, const Strip& strip)
      : p_(problem),
        s_(strip),
        real_(problem.plan.recipe == Recipe::real),
        together_(static_cast<int>(hn::Lanes(Ints())) / lanes_of_pixel) {
    first_ = p_.start(p_.plan.along, s_.first);
    end_ = first_ + 1;
    for (int x = s_.first; x < s_.last; ++x) {
      first_ = std::min(first_, p_.start(p_.plan.along, x));
      end_ = std::max(end_, p_.start(p_.plan.along, x) + p_.count(p_.plan.along, x));
    }
    const int pixels = end_ - first_, group = together_ * lanes_of_pixel;
    width_ = (s_.last - s_.first) * lanes_of_pixel;
    line_.resize(static_cast<std::size_t>(pixels + 4) * group);
    kept_rows_ = p_.plan.across.most + together_;
    kept_.resize(static_cast<std::size_t>(kept_rows_) * row_room());
    out_.resize(row_room());
  }

  void run() {
    for (int y = s_.begin; y < s_.end; ++y) {
      leave_if_interrupted();
      const int from = p_.start(p_.plan.across, y), to = from + p_.count(p_.plan.across, y);
      next_ = std::max(next_, from);
      while (next_ < to) {
        fill_lines(next_);
        sum_lines(next_);
        next_ += together_;
      }
      sum_rows(y, from, to - from);
      store(y);
    }
  }

 private:
  std::size_t row_room() const { return static_cast<std::size_t>(width_) + 16; }
  std::int32_t* kept(int row) {
    return kept_.data() + static_cast<std::size_t>(row % kept_rows_) * row_room();
  }
  float* floats() { return reinterpret_cast<float*>(line_.data()); }

  // Pixel after pixel, of each the rows, of each the channels.
  void fill_lines(int top) {
    const int group = together_ * lanes_of_pixel;
    for (int r = 0; r < together_; ++r) {
      const int row = std::min(top + r, p_.from_rows() - 1);
      for (int i = 0; i < end_ - first_; ++i)
        for (int c = 0; c < s_.channels; ++c) {
          const std::size_t at = static_cast<std::size_t>(i) * group + r * lanes_of_pixel + c;
          if (!real_) {
            if constexpr (std::is_integral_v<T>)
              line_[at] = p_.template number<std::int32_t>(s_.n, row, first_ + i, s_.channel + c);
          } else floats()[at] = p_.template number<float>(s_.n, row, first_ + i, s_.channel + c);
        }
    }
  }

  template <class V>
  void keep(const V& sums, int x) {
    const hn::FixedTag<std::int32_t, 4> quarter;
    const Ints ints;
    alignas(64) std::int32_t lanes[16];
    if constexpr (HWY_MAX_BYTES >= 32) {
      hn::Store(sums, ints, lanes);
      for (int r = 0; r < together_; ++r)
        hn::StoreU(hn::Load(quarter, lanes + 4 * r), quarter,
                   to_[r] + static_cast<std::size_t>(x) * lanes_of_pixel);
    } else {
      hn::StoreU(sums, ints, to_[0] + static_cast<std::size_t>(x) * lanes_of_pixel);
    }
  }

  void sum_lines(int top) {
    for (int r = 0; r < together_; ++r) to_[r] = kept(top + r);
    if (real_) return sum_real();
    sum_whole();
  }

  std::size_t place_of(int x) const {
    return static_cast<std::size_t>(p_.start(p_.plan.along, x) - first_) * together_ * lanes_of_pixel;
  }

  void sum_real() {
    const Floats d;
    const std::size_t step = hn::Lanes(d);
    for (int x = s_.first; x < s_.last; ++x) {
      const std::int32_t* const weight = p_.weights(p_.plan.along, x);
      const float* from = floats() + place_of(x);
      auto sum = hn::Mul(hn::Set(d, weight_as<float>(weight[0])), hn::LoadU(d, from));
      for (int k = 1, taps = p_.count(p_.plan.along, x); k < taps; ++k)
        sum = hn::Add(sum, hn::Mul(hn::Set(d, weight_as<float>(weight[k])),
                                   hn::LoadU(d, from + static_cast<std::size_t>(k) * step)));
      keep(hn::BitCast(Ints(), sum), x - s_.first);
    }
  }

  void sum_whole() {
    const Ints d;
    const std::size_t step = hn::Lanes(d);
    const bool mean = p_.plan.recipe == Recipe::mean;
    const int shift = p_.plan.along_shift;
    const auto half = hn::Set(d, shift == 0 ? 0 : 1 << (shift - 1));
    for (int x = s_.first; x < s_.last; ++x) {
      const std::int32_t* const weight = mean ? nullptr : p_.weights(p_.plan.along, x);
      const std::int32_t* from = line_.data() + place_of(x);
      auto sum = half;
      for (int k = 0, taps = p_.count(p_.plan.along, x); k < taps; ++k) {
        const auto value = hn::LoadU(d, from + static_cast<std::size_t>(k) * step);
        sum = hn::Add(sum, mean ? value : hn::Mul(hn::Set(d, weight[k]), value));
      }
      if (shift != 0) sum = hn::Min(hn::Max(hn::ShiftRightSame(sum, shift), hn::Zero(d)), hn::Set(d, 255));
      keep(sum, x - s_.first);
    }
  }

  // The row's sums into out_: whole or float, as the recipe has it.
  void sum_rows(int y, int from, int taps) {
    const std::int32_t* const weight = p_.weights(p_.plan.across, y);
    const std::size_t step = hn::Lanes(Ints());
    from_.clear();
    for (int k = 0; k < taps; ++k) from_.push_back(kept(from + k));
    for (std::size_t i = 0; i < static_cast<std::size_t>(width_); i += step) {
      if (real_) sum_real_column(i, weight, taps);
      else sum_whole_column(i, weight, taps);
    }
  }

  void sum_real_column(std::size_t i, const std::int32_t* weight, int taps) {
    const Floats d;
    const auto row = [&](int k) {
      return hn::BitCast(d, hn::LoadU(Ints(), from_[static_cast<std::size_t>(k)] + i));
    };
    auto sum = hn::Mul(hn::Set(d, weight_as<float>(weight[0])), row(0));
    for (int k = 1; k < taps; ++k)
      sum = hn::Add(sum, hn::Mul(hn::Set(d, weight_as<float>(weight[k])), row(k)));
    hn::StoreU(hn::BitCast(Ints(), sum), Ints(), out_.data() + i);
  }

  void sum_whole_column(std::size_t i, const std::int32_t* weight, int taps) {
    const Ints d;
    const auto row = [&](int k) { return hn::LoadU(d, from_[static_cast<std::size_t>(k)] + i); };
    auto sum = hn::Zero(d);
    if (p_.plan.recipe == Recipe::mean) {
      for (int k = 0; k < taps; ++k) sum = hn::Add(sum, row(k));
    } else if (p_.plan.recipe == Recipe::linear) {
      const auto cut = [&](std::int32_t w, auto v) {
        return hn::ShiftRight<16>(hn::Mul(hn::Set(d, w), hn::ShiftRight<4>(v)));
      };
      const auto upper = row(0), lower = taps > 1 ? row(1) : upper;
      sum = hn::ShiftRight<2>(hn::Add(hn::Add(cut(weight[0], upper), cut(weight[1], lower)), hn::Set(d, 2)));
    } else {
      for (int k = 0; k < taps; ++k) sum = hn::Add(sum, hn::Mul(hn::Set(d, weight[k]), row(k)));
    }
    hn::StoreU(sum, d, out_.data() + i);
  }

  void store(int y) {
    T* const to = &p_.resized(s_.n, y, s_.first, s_.channel);
    const std::int64_t step = p_.resized.stride[2];
    for (int x = 0; x < s_.last - s_.first; ++x) {
      const std::int32_t* const sums = out_.data() + static_cast<std::size_t>(x) * lanes_of_pixel;
      // A strip of premultiplied pixels holds all their channels.
      const auto pixel = [&](auto number) {
        using A = decltype(number);
        p_.template store_pixel_to<A>(to + x * step, s_.channels,
                                      [&](int c) { return weight_as<A>(sums[c]); });
      };
      if (real_) pixel(float{});
      else if constexpr (std::is_integral_v<T>) pixel(std::int32_t{});
    }
  }

  const Problem<T>& p_;
  const Strip& s_;
  bool real_;
  int together_, first_ = 0, end_ = 0, width_ = 0, kept_rows_ = 0, next_ = 0;
  std::int32_t* to_[4] = {};               // where the sums of the rows at hand go
  std::vector<const std::int32_t*> from_;  // the rows that a row of the result is made from
  std::vector<std::int32_t> line_, kept_, out_;
};

template <class T>
void run_strip(const Problem<T>& p, const Strip& strip) {
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    if (strip.by_lookup) return run_byte_strip(p, strip);
  }
  Rows<T>(p, strip).run();
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tessera::resize
HWY_AFTER_NAMESPACE();
#endif
