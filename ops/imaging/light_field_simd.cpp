// SPDX-License-Identifier: Apache-2.0
// The vectorized CPU rung of light fields. It computes bands of rows: each line of a grid row is summed over
// its views once, and added to the rows of the result that it touches; Highway compiles the loops over lines
// for each instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/imaging/light_field_simd.cpp"
#include "tessera/core/device/vector_targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "ops/imaging/light_field.hpp"
#include "tessera/core/array/fused-inl.h"

#ifndef TESSERA_LIGHT_FIELD_LINE
#define TESSERA_LIGHT_FIELD_LINE
namespace tessera::lightfield {

// Adds Σ weight(j) · from[i + j·apart] to sample i.
template <class T>
struct Line {
  const T* from = nullptr;
  std::int64_t samples = 0;
  int count = 1, apart = 1;
  std::int32_t tap[4] = {}, view_weight = 1;  // integers: weight = tap · view_weight
  Sum<T> weight[4] = {};
};

}  // namespace tessera::lightfield
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::lightfield {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sums in 16 bits, with twice as many lanes, because one or two taps weigh at most 128 together.
void add_line_u8(const Line<std::uint8_t>& line, std::int32_t* HWY_RESTRICT to) {
  std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR  // HWY_SCALAR has a single lane
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

// Vectorized by the compiler: a line's own sum takes 32 bits, the sum that it is added to 64.
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
void add_line_u8_wide(const Line<std::uint8_t>& line, std::int64_t* to) { add_wide(line, to); }
void add_line_u16(const Line<std::uint16_t>& line, std::int64_t* to) { add_wide(line, to); }

void add_line_f32(const Line<float>& line, float* HWY_RESTRICT to) {
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

void add_weighted_i32(std::int32_t weight, const std::int32_t* HWY_RESTRICT from, std::int64_t count,
                      std::int32_t* HWY_RESTRICT to) {
  const hn::ScalableTag<std::int32_t> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto w = hn::Set(d, weight);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::Add(hn::LoadU(d, to + i), hn::Mul(w, hn::LoadU(d, from + i))), d, to + i);
  for (; i < count; ++i) to[i] += weight * from[i];
}

void add_weighted_i64(std::int64_t weight, const std::int64_t* HWY_RESTRICT from, std::int64_t count,
                      std::int64_t* HWY_RESTRICT to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += weight * from[i];
}

void add_weighted_f32(float weight, const float* HWY_RESTRICT from, std::int64_t count,
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

#if HWY_ONCE
#include <algorithm>
#include <atomic>
#include <vector>
#include "tessera/core/device/parallel.hpp"

namespace tessera::lightfield {
namespace {

HWY_EXPORT(add_line_u8);
HWY_EXPORT(add_line_u8_wide);
HWY_EXPORT(add_line_u16);
HWY_EXPORT(add_line_f32);
HWY_EXPORT(add_weighted_i32);
HWY_EXPORT(add_weighted_i64);
HWY_EXPORT(add_weighted_f32);

void add_line(const Line<std::uint8_t>& from, std::int32_t* to) {
  HWY_DYNAMIC_DISPATCH(add_line_u8)(from, to);
}
void add_line(const Line<std::uint8_t>& from, std::int64_t* to) {
  HWY_DYNAMIC_DISPATCH(add_line_u8_wide)(from, to);
}
void add_line(const Line<std::uint16_t>& from, std::int64_t* to) {
  HWY_DYNAMIC_DISPATCH(add_line_u16)(from, to);
}
void add_line(const Line<float>& from, float* to) { HWY_DYNAMIC_DISPATCH(add_line_f32)(from, to); }

void add_weighted(std::int32_t weight, const std::int32_t* from, std::int64_t count, std::int32_t* to) {
  HWY_DYNAMIC_DISPATCH(add_weighted_i32)(weight, from, count, to);
}
void add_weighted(std::int64_t weight, const std::int64_t* from, std::int64_t count, std::int64_t* to) {
  HWY_DYNAMIC_DISPATCH(add_weighted_i64)(weight, from, count, to);
}
void add_weighted(float weight, const float* from, std::int64_t count, float* to) {
  HWY_DYNAMIC_DISPATCH(add_weighted_f32)(weight, from, count, to);
}

// A band of rows of a plane; A: a type that holds every sum.
template <class T, class A>
class Band {
 public:
  explicit Band(const Gather<T>& p)
      : p_(p),
        samples_(p.row_samples()),
        rows_(rows_of(p)),
        line_(size(samples_)),
        sums_(size(samples_ * rows_)) {}

  static std::int64_t rows_of(const Gather<T>& p) {
    constexpr std::int64_t max_samples = 1 << 16;  // fits in a core's cache
    return std::clamp<std::int64_t>(max_samples / std::max(1, p.row_samples()), 4, 64);
  }

  void run(int plane, int begin) {
    const int end = static_cast<int>(std::min<std::int64_t>(begin + rows_, p_.height()));
    std::ranges::fill(sums_, A{0});
    for (int first = 0; first < p_.plan.count;) {
      const int behind = p_.row_end(first);
      add_grid_row(plane, begin, end, first, behind);
      first = behind;
    }
    for (int y = begin; y < end; ++y) {
      T* const to = &p_.result(plane, y, 0, 0);
      const A* const from = sums_.data() + (y - begin) * samples_;
      for (std::int64_t i = 0; i < samples_; ++i) to[i] = finish(from[i]);
    }
  }

 private:
  static std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

  T finish(A sum) const {
    if constexpr (std::is_same_v<A, std::int32_t>) {
      const auto whole = static_cast<std::uint32_t>(p_.plan.all_weights) << (2 * fraction_bits<T>);
      const auto positive = static_cast<std::uint32_t>(std::max(sum, 0));
      return static_cast<T>(std::min<std::uint32_t>((positive + whole / 2) / whole, 255));
    } else {
      return finished<T>(sum, p_.plan.all_weights);
    }
  }

  static A weight_of(std::int32_t weight) { return static_cast<A>(weight_as<T>(weight)); }

  void add_grid_row(int plane, int begin, int end, int first, int behind) {
    const Taps up = p_.row_taps(p_.plan.view[first].row, plane);
    for (int line = begin + up.first; line < end + up.first + up.count - 1; ++line) {
      const int row = border_index(line, p_.height(), p_.plan.border);
      if (row == from_constant) continue;
      std::ranges::fill(line_, A{0});
      for (int v = first; v < behind; ++v) add_view(plane, p_.plan.view[v], row);
      for (int i = 0; i < up.count; ++i)
        if (const int y = line - up.first - i; y >= begin && y < end && up.weight[i] != 0)
          add_weighted(weight_of(up.weight[i]), line_.data(), samples_,
                       sums_.data() + (y - begin) * samples_);
    }
  }

  void add_view(int plane, const WeightedView& view, int row) {
    const int channels = p_.channels(), width = p_.width();
    const Taps right = p_.col_taps(view.col, plane);
    Line<T> line;
    line.count = right.count;
    for (int j = 0; j < right.count; ++j) {
      line.tap[j] = right.weight[j];
      line.weight[j] = weight_as<T>(right.weight[j]) * static_cast<Sum<T>>(view.weight);
    }
    const bool packed = p_.packed();
    const int inside = packed ? std::clamp(-right.first, 0, width) : width,
              outside = std::clamp(width - right.first - right.count + 1, inside, width);
    edge(line, right, view, row, 0, inside);
    edge(line, right, view, row, outside, width);
    if (inside >= outside) return;
    line.from = &p_.views(view.row, view.col, row, inside + right.first, 0);
    line.apart = channels;
    line.view_weight = view.weight;
    line.samples = std::int64_t{outside - inside} * channels;
    add_line(line, line_.data() + std::int64_t{inside} * channels);
  }

  void edge(const Line<T>& line, const Taps& right, const WeightedView& view, int row, int begin, int end) {
    for (int x = begin; x < end; ++x)
      for (int j = 0; j < right.count; ++j) {
        const int col = border_index(x + right.first + j, p_.width(), p_.plan.border);
        if (col == from_constant || right.weight[j] == 0) continue;
        for (int c = 0; c < p_.channels(); ++c) {
          A& to = line_[size(std::int64_t{x} * p_.channels() + c)];
          to = static_cast<A>(add_product(line.weight[j],
                                          static_cast<Sum<T>>(p_.views(view.row, view.col, row, col, c)),
                                          static_cast<Sum<T>>(to)));
        }
      }
  }

  const Gather<T>& p_;
  std::int64_t samples_, rows_;
  std::vector<A> line_, sums_;
};

template <class A, class T>
void run_bands(const Gather<T>& p, int threads) {
  if (p.row_samples() == 0 || p.height() == 0) return;
  const std::int64_t rows = Band<T, A>::rows_of(p), bands = (p.height() + rows - 1) / rows,
                     all = bands * p.planes();
  const auto parts = static_cast<int>(std::min<std::int64_t>(threads, all));
  std::atomic<std::int64_t> next = 0;
  parallel(parts, [&](int) {
    Band<T, A> band(p);
    for (std::int64_t i = next++; i < all; i = next++)
      band.run(static_cast<int>(i / bands), static_cast<int>(i % bands * rows));
  });
}

}  // namespace

void sum_views(const Gather<std::uint8_t>& p, int threads) {
  // The magnitudes of a cubic's weights sum to at most 25/16, a little more after rounding.
  const double factor = p.plan.between == Interpolation::cubic ? 1.6 : 1;
  const double largest = factor * 255 * (1 << (2 * fraction_bits<std::uint8_t>)) * (p.plan.all_weights + 1.0);
  if (largest < 0x1p31) run_bands<std::int32_t>(p, threads);
  else run_bands<std::int64_t>(p, threads);
}
void sum_views(const Gather<std::uint16_t>& p, int threads) { run_bands<std::int64_t>(p, threads); }
void sum_views(const Gather<float>& p, int threads) { run_bands<float>(p, threads); }

}  // namespace tessera::lightfield
#endif
