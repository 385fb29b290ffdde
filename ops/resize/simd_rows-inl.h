// SPDX-License-Identifier: Apache-2.0
// Strips of the result, from above, in vectors: rows of the picture are summed along a few at a time, their
// sums kept for as many rows as a result is made from. Compiled once for each instruction set (Highway).
#if defined(TESSERA_RESIZE_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_RESIZE_ROWS_INL_H
#undef TESSERA_RESIZE_ROWS_INL_H
#else
#define TESSERA_RESIZE_ROWS_INL_H
#endif
#include <hwy/cache_control.h>
#include <hwy/highway.h>
#include <algorithm>
#include <cstring>
#include <vector>
#include "ops/resize/resize.hpp"
#include "ops/resize/strip.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::resize {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

// A processor without vectors: pixel after pixel, with all channels.
template <class T>
void run_strip(const Problem<T>& p, const Strip& strip) {
  for (int y = strip.begin; y < strip.end && strip.channel == 0; ++y)
    for (int x = strip.first; x < strip.last; ++x) p.compute(strip.n, y, x);
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
        with_(with_of(problem)),
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
    bytes_.resize(line_.size() + 64);
    spread_.resize(static_cast<std::size_t>(together_) *
                   (static_cast<std::size_t>(pixels) * lanes_of_pixel + 64));
    kept_rows_ = p_.plan.across.most + together_;
    kept_.resize(static_cast<std::size_t>(kept_rows_) * row_room());
    out_.resize(row_room() + 64);
    if (with_ == Along::exact) put_float_weights();
  }

  void run() {
    for (int y = s_.begin; y < s_.end; ++y) {
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
  // Of weights of 11 bits no sum along a row reaches 2^24.
  static Along with_of(const Problem<T>& p) {
    if (p.plan.recipe == Recipe::real) return Along::real;
    if (p.plan.recipe == Recipe::whole && p.plan.along_shift != 0) return Along::whole;
    return p.plan.recipe == Recipe::mean ? Along::whole : Along::exact;
  }

  std::size_t row_room() const { return static_cast<std::size_t>(width_) + 16; }
  std::int32_t* kept(int row) {
    return kept_.data() + static_cast<std::size_t>(row % kept_rows_) * row_room();
  }
  float* floats() { return reinterpret_cast<float*>(line_.data()); }

  void put_float_weights() {
    weights_.resize(static_cast<std::size_t>(s_.last - s_.first) * p_.plan.along.most);
    const std::int32_t* const from = p_.weights(p_.plan.along, s_.first);
    for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i] = static_cast<float>(from[i]);
  }

  // Pixel after pixel, of each the rows, of each the channels.
  void fill_lines(int top) {
    if constexpr (std::is_same_v<T, std::uint8_t>) {
      if (!p_.plan.premultiply && !p_.plan.linear_light) return fill_bytes(top);
    }
    const int group = together_ * lanes_of_pixel;
    for (int r = 0; r < together_; ++r) {
      const int row = std::min(top + r, p_.from_rows() - 1);
      for (int i = 0; i < end_ - first_; ++i)
        for (int c = 0; c < s_.channels; ++c) {
          const std::size_t at = static_cast<std::size_t>(i) * group + r * lanes_of_pixel + c;
          if (with_ == Along::whole) {
            if constexpr (std::is_integral_v<T>)
              line_[at] = p_.template number<std::int32_t>(s_.n, row, first_ + i, s_.channel + c);
          } else floats()[at] = p_.template number<float>(s_.n, row, first_ + i, s_.channel + c);
        }
    }
  }

  void fill_bytes(int top) {
    const int pixels = end_ - first_;
    const std::size_t room = static_cast<std::size_t>(pixels) * lanes_of_pixel + 64;
    for (int r = 0; r < together_; ++r)
      spread_pixels(std::min(top + r, p_.from_rows() - 1), spread_.data() + r * room, pixels);
    for (int r = 0; r < together_; ++r)
      fetch_ahead(std::min(top + together_ + r, p_.from_rows() - 1), pixels);
    interleave_rows(room, pixels);
    const Ints ints;
    const Floats to_floats;
    const hn::Rebind<std::uint8_t, Ints> few;
    const std::size_t count = static_cast<std::size_t>(pixels) * together_ * lanes_of_pixel,
                      step = hn::Lanes(ints);
    for (std::size_t i = 0; i < count; i += step) {
      const auto wide = hn::PromoteTo(ints, hn::LoadU(few, bytes_.data() + i));
      if (with_ == Along::whole) hn::StoreU(wide, ints, line_.data() + i);
      else hn::StoreU(hn::ConvertTo(to_floats, wide), to_floats, floats() + i);
    }
  }

  // A strip's part of a row is too short for the processor to foresee the next.
  void fetch_ahead(int row, int pixels) const {
    constexpr std::int64_t line = 64;
    const std::int64_t bytes = pixels * p_.image.stride[2];
    const T* const from = &p_.image(s_.n, row, first_, s_.channel);
    for (std::int64_t b = 0; b < bytes; b += line) hwy::Prefetch(from + b);
  }

  // Four bytes for each pixel of a row.
  void spread_pixels(int row, std::uint8_t* to, int pixels) {
    const std::int64_t step = p_.image.stride[2], between = p_.image.stride[3];
    const T* const from = &p_.image(s_.n, row, first_, s_.channel);
    int i = 0;
    if (step == 4 && between == 1 && s_.channels == 4)
      return void(std::memcpy(to, from, static_cast<std::size_t>(pixels) * 4));
    if (step == 3 && between == 1 && s_.channels == 3) {
      const hn::FixedTag<std::uint8_t, 16> d;
      alignas(16) static constexpr std::uint8_t places[16] = {0, 1, 2, 0, 3, 4,  5,  3,
                                                              6, 7, 8, 6, 9, 10, 11, 9};
      const auto shuffle = hn::Load(d, places);
      for (; i + 6 <= pixels; i += 4)  // 16 bytes are read, of 12
        hn::StoreU(hn::TableLookupBytes(hn::LoadU(d, from + 3 * i), shuffle), d, to + 4 * i);
    }
    for (; i < pixels; ++i)
      for (int c = 0; c < s_.channels; ++c)
        to[4 * i + c] = static_cast<std::uint8_t>(from[i * step + c * between]);
  }

  void interleave_rows(std::size_t room, int pixels) {
    const hn::FixedTag<std::uint32_t, 4> d;
    const hn::FixedTag<std::uint64_t, 2> d2;
    const auto load = [&](int r, int i) {
      return hn::BitCast(
          d, hn::LoadU(hn::FixedTag<std::uint8_t, 16>(), spread_.data() + r * room + std::size_t(4) * i));
    };
    const auto store = [&](auto v, std::size_t at) {
      hn::StoreU(hn::BitCast(hn::FixedTag<std::uint8_t, 16>(), v), hn::FixedTag<std::uint8_t, 16>(),
                 bytes_.data() + at);
    };
    if (together_ == 1)
      return void(std::memcpy(bytes_.data(), spread_.data(), static_cast<std::size_t>(pixels) * 4));
    for (int i = 0; i < pixels; i += 4) {
      const std::size_t at = static_cast<std::size_t>(i) * together_ * 4;
      const auto low = hn::InterleaveLower(d, load(0, i), load(1, i)),
                 high = hn::InterleaveUpper(d, load(0, i), load(1, i));
      if (together_ == 2) {
        store(low, at);
        store(high, at + 16);
        continue;
      }
      const auto low2 = hn::InterleaveLower(d, load(2, i), load(3, i)),
                 high2 = hn::InterleaveUpper(d, load(2, i), load(3, i));
      store(hn::InterleaveLower(d2, hn::BitCast(d2, low), hn::BitCast(d2, low2)), at);
      store(hn::InterleaveUpper(d2, hn::BitCast(d2, low), hn::BitCast(d2, low2)), at + 16);
      store(hn::InterleaveLower(d2, hn::BitCast(d2, high), hn::BitCast(d2, high2)), at + 32);
      store(hn::InterleaveUpper(d2, hn::BitCast(d2, high), hn::BitCast(d2, high2)), at + 48);
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
    if (with_ == Along::exact) return sum_exact();
    if (with_ == Along::real) return sum_real();
    sum_whole();
  }

  std::size_t place_of(int x) const {
    return static_cast<std::size_t>(p_.start(p_.plan.along, x) - first_) * together_ * lanes_of_pixel;
  }

  void sum_exact() {
    const Floats d;
    const std::size_t step = hn::Lanes(d);
    const float* weight = weights_.data();
    for (int x = s_.first; x < s_.last; ++x, weight += p_.plan.along.most) {
      const float* from = floats() + place_of(x);
      auto sum = hn::Mul(hn::Set(d, weight[0]), hn::LoadU(d, from));
      for (int k = 1, taps = p_.count(p_.plan.along, x); k < taps; ++k)
        sum = hn::MulAdd(hn::Set(d, weight[k]), hn::LoadU(d, from + static_cast<std::size_t>(k) * step), sum);
      keep(hn::ConvertTo(Ints(), sum), x - s_.first);
    }
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
      if (with_ == Along::real) sum_real_column(i, weight, taps);
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
    if constexpr (std::is_same_v<T, std::uint8_t>) {
      if (!p_.plan.premultiply && !p_.plan.linear_light) return store_bytes(to);
    }
    const std::int64_t step = p_.resized.stride[2];
    for (int x = 0; x < s_.last - s_.first; ++x) {
      const std::int32_t* const sums = out_.data() + static_cast<std::size_t>(x) * lanes_of_pixel;
      // A strip of premultiplied pixels holds all their channels.
      const auto pixel = [&](auto number) {
        using A = decltype(number);
        p_.template store_pixel_to<A>(to + x * step, s_.channels,
                                      [&](int c) { return weight_as<A>(sums[c]); });
      };
      if (with_ == Along::real) pixel(float{});
      else if constexpr (std::is_integral_v<T>) pixel(std::int32_t{});
    }
  }

  // Sums to bytes, in place, then without the lanes that are no channel.
  void store_bytes(std::uint8_t* to) {
    const Ints d;
    const hn::Rebind<std::uint8_t, Ints> few;
    const std::size_t step = hn::Lanes(d);
    for (std::size_t i = 0; i < static_cast<std::size_t>(width_); i += step)
      hn::StoreU(hn::DemoteTo(few, finished_lanes(hn::LoadU(d, out_.data() + i))), few, bytes_of_row() + i);
    const int pixels = s_.last - s_.first;
    const std::uint8_t* const from = bytes_of_row();
    if (s_.channels == 4 && p_.resized.stride[2] == 4)
      return void(std::memcpy(to, from, static_cast<std::size_t>(pixels) * 4));
    int x = 0;
    if (s_.channels == 3 && p_.resized.stride[2] == 3) {
      const hn::FixedTag<std::uint8_t, 16> bytes;
      alignas(16) static constexpr std::uint8_t places[16] = {0,  1,  2,  4,  5, 6, 8, 9,
                                                              10, 12, 13, 14, 0, 0, 0, 0};
      const auto shuffle = hn::Load(bytes, places);
      for (; x + 6 <= pixels; x += 4)  // 16 bytes are written, of 12
        hn::StoreU(hn::TableLookupBytes(hn::LoadU(bytes, from + 4 * x), shuffle), bytes, to + 3 * x);
    }
    for (; x < pixels; ++x)
      for (int c = 0; c < s_.channels; ++c) to[x * p_.resized.stride[2] + c] = from[4 * x + c];
  }

  std::uint8_t* bytes_of_row() { return reinterpret_cast<std::uint8_t*>(out_.data()); }

  template <class V>
  V finished_lanes(V sum) const {
    const Ints d;
    const Floats f;
    const auto rounded = [&](auto value) {  // ties to even; NaN gives 0
      const auto positive = hn::IfThenElse(hn::Gt(value, hn::Zero(f)), value, hn::Zero(f));
      return hn::NearestInt(hn::Min(positive, hn::Set(f, 255.0F)));
    };
    switch (p_.plan.recipe) {
      case Recipe::real:
        return rounded(hn::BitCast(f, sum));
      case Recipe::mean:
        if (p_.plan.halves_up) return hn::ShiftRight<2>(hn::Add(sum, hn::Set(d, 2)));
        return rounded(hn::Mul(hn::ConvertTo(f, sum), hn::Set(f, p_.plan.share)));
      case Recipe::whole:
        return hn::ShiftRightSame(hn::Add(sum, hn::Set(d, 1 << (p_.plan.across_shift - 1))),
                                  p_.plan.across_shift);
      default:
        return sum;
    }
  }

  const Problem<T>& p_;
  const Strip& s_;
  Along with_;
  int together_, first_ = 0, end_ = 0, width_ = 0, kept_rows_ = 0, next_ = 0;
  std::int32_t* to_[4] = {};               // where the sums of the rows at hand go
  std::vector<const std::int32_t*> from_;  // the rows that a row of the result is made from
  std::vector<std::int32_t> line_, kept_, out_;
  std::vector<std::uint8_t> bytes_, spread_;
  std::vector<float> weights_;
};

template <class T>
void run_strip(const Problem<T>& p, const Strip& strip) {
  Rows<T>(p, strip).run();
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tessera::resize
HWY_AFTER_NAMESPACE();
#endif
