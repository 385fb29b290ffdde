// SPDX-License-Identifier: Apache-2.0
// CPU rung 2: vectors, rows summed once, every core. The fastest CPU rung.
//
// A strip of the result is computed from top to bottom; sums along rows stay in the cache for as many rows as
// a result needs. Bytes go through tables, built once per strip, that pair bytes of a row with weights: one
// shuffle and one multiply-add serve two taps of four neighbouring samples, whatever the channels and the
// scale, and four rows share each table access. For other sample types, a few rows are interleaved pixel by
// pixel until they fill a vector: one load and one product serve the same tap of all of them. Highway
// compiles the strip for each instruction set and selects one at run time. Reading the picture limits short
// filters of bytes; products limit the others.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/resize/cpu_02_simd.cpp"
#include "tessera/core/device/vector_targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <algorithm>
#include <vector>
#include "resize.hpp"
#include "simd_bytes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::resizing {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

// Without vectors: pixel by pixel, with all channels.
template <class T>
void run_strip(const Problem<T>& p, const Strip& strip) {
  for (int y = strip.begin; y < strip.end && strip.channel == 0; ++y) {
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

  // The layout is pixel, row, channel.
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

  // Sums into out_: integers or floats, by the recipe.
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
  std::int32_t* to_[4] = {};               // destinations of the current row sums
  std::vector<const std::int32_t*> from_;  // row sums that a row of the result needs
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

OnStrips on_strips() {
  return {run_strip<std::uint8_t>, run_strip<std::uint16_t>, run_strip<std::int16_t>, run_strip<f16>,
          run_strip<float>};
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::resizing
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <array>
#include <bit>
#include <cmath>
#include "ops/imaging/image_operation.hpp"
#include "ops/imaging/share_rows.hpp"
#include "tessera/rung.hpp"

namespace tessera::resizing {
namespace {

constexpr std::uint8_t nothing = 0x80;  // the index that gives 0

// The remaining taps of one sample of the result.
struct RemainingTaps {
  std::int64_t byte = 0;  // byte of its next tap
  int left = 0;
  const std::int32_t* weight = nullptr;
};

bool fits(std::int32_t weight) { return weight == static_cast<std::int16_t>(weight); }

struct Step {
  std::int32_t offset = 0;
  std::array<std::uint8_t, step_bytes> place;
  std::array<std::int32_t, 2 * block_samples> weight{};  // first and second tap of each sample
};

class TableBuilder {
 public:
  TableBuilder(const Problem<std::uint8_t>& p, int first, int last)
      : p_(p), first_(first), kind_(weights_of(p.plan)), samples_(std::int64_t{last - first} * p.channels()) {
    const std::int64_t bytes = std::int64_t{p.from_cols()} * p.channels();
    last_offset_ = std::max<std::int64_t>(bytes, step_bytes) - step_bytes;
    for (std::int64_t sample = 0; sample < samples_; sample += block_samples) {
      begin_.push_back(steps_.size());
      add_block(sample);
    }
    begin_.push_back(steps_.size());
  }

  Lookup laid_out(const LookupShape& shape) const {
    const auto width = static_cast<std::size_t>(shape.paired_blocks),
               each = static_cast<std::size_t>(shape.vector_blocks), blocks = begin_.size() - 1,
               rounded = (blocks + 2 * width - 1) / (2 * width) * 2 * width;
    Lookup out;
    for (std::size_t b = 0; b < blocks; ++b)
      out.steps = std::max(out.steps, static_cast<int>(begin_[b + 1] - begin_[b]));
    out.vectors = rounded / each;
    for (std::size_t first = 0; first < rounded; first += each)
      for (int step = 0; step < out.steps; ++step)
        for (std::size_t i = 0; i < each; ++i) {
          const std::size_t at = first + i, pair = at / width / 2,
                            block = 2 * (pair * width + at % width) + at / width % 2;
          put(out, block < blocks ? step_of(block, step) : Step{0, none(), {}}, i, each);
        }
    return out;
  }

 private:
  static std::array<std::uint8_t, step_bytes> none() {
    std::array<std::uint8_t, step_bytes> out;
    out.fill(nothing);
    return out;
  }

  void add_block(std::int64_t sample) {
    std::array<RemainingTaps, block_samples> wanted;
    for (int i = 0; i < block_samples && sample + i < samples_; ++i) {
      const int x = first_ + static_cast<int>((sample + i) / p_.channels());
      const auto channel = (sample + i) % p_.channels();
      wanted[static_cast<std::size_t>(i)] = {
          std::int64_t{p_.start(p_.plan.along, x)} * p_.channels() + channel, p_.count(p_.plan.along, x),
          p_.plan.recipe == Recipe::mean ? nullptr : p_.weights(p_.plan.along, x)};
    }
    const auto left = [](const RemainingTaps& w) { return w.left > 0; };
    while (std::ranges::any_of(wanted, left)) add_step(wanted);
  }

  // Begins at the first byte that is still wanted.
  void add_step(std::array<RemainingTaps, block_samples>& wanted) {
    std::int64_t offset = last_offset_;
    for (const RemainingTaps& w : wanted)
      if (w.left > 0) offset = std::min(offset, w.byte);
    Step step{static_cast<std::int32_t>(offset), none(), {}};
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      RemainingTaps& w = wanted[i];
      for (std::size_t tap = 0; tap < 2 && w.left > 0 && w.byte < offset + step_bytes; ++tap) {
        step.place[4 * i + (kind_ == Weights::floats ? 1 : 2) * tap] =
            static_cast<std::uint8_t>(w.byte - offset);
        step.weight[2 * i + tap] = w.weight == nullptr ? 1 : *w.weight++;
        w.byte += p_.channels();
        --w.left;
      }
    }
    steps_.push_back(step);
  }

  Step step_of(std::size_t block, int step) const {
    const std::size_t at = begin_[block] + static_cast<std::size_t>(step);
    return at < begin_[block + 1] ? steps_[at] : Step{0, none(), {}};
  }

  // Appends block `at` of a vector of `blocks` blocks.
  void put(Lookup& out, const Step& step, std::size_t at, std::size_t blocks) const {
    out.offset.push_back(step.offset);
    out.place.insert(out.place.end(), step.place.begin(), step.place.end());
    const std::size_t lanes = blocks * block_samples;
    if (at == 0) out.weight.resize(out.weight.size() + (kind_ == Weights::whole ? 1 : 2) * lanes);
    std::int32_t* const end = out.weight.data() + out.weight.size();
    for (std::size_t i = 0, lane = at * block_samples; i < block_samples; ++i, ++lane) {
      const std::int32_t first = step.weight[2 * i], second = step.weight[2 * i + 1];
      if (kind_ == Weights::whole) {
        end[lane - lanes] = side_by_side(first, second);
      } else if (kind_ == Weights::digits) {
        end[lane - 2 * lanes] = side_by_side(low_digit(first), low_digit(second));
        end[lane - lanes] = side_by_side(first >> digit_bits, second >> digit_bits);
      } else {
        end[lane - 2 * lanes] = first;
        end[lane - lanes] = std::bit_cast<std::int32_t>(std::bit_cast<float>(second) / 256);
      }
    }
  }

  const Problem<std::uint8_t>& p_;
  int first_;
  Weights kind_;
  std::int64_t samples_, last_offset_;
  std::vector<Step> steps_;
  std::vector<std::size_t> begin_;  // the first step of each block
};

}  // namespace

Weights weights_of(const ResizePlan& plan) {
  if (plan.recipe == Recipe::real) return Weights::floats;
  return plan.along_shift == 0 ? Weights::whole : Weights::digits;
}

bool can_look_up(const Problem<std::uint8_t>& p) {
  const ResizePlan& plan = p.plan;
  if (plan.recipe == Recipe::pick || plan.premultiply || plan.linear_light) return false;
  if (plan.recipe == Recipe::mean) return true;
  const Weights kind = weights_of(plan);
  const auto held = [kind](std::int32_t weight) {
    if (kind != Weights::floats) return fits(kind == Weights::whole ? weight : weight >> digit_bits);
    constexpr float least = 0x1p-100F,
                    most = 0x1p100F;  // 2^23 times as much is exact, and a 256th
    const float magnitude = std::fabs(std::bit_cast<float>(weight));
    return magnitude == 0 || (magnitude >= least && magnitude <= most);
  };
  const auto all_held = [&](const AxisAt& axis, int results) {
    const std::int32_t* const from = p.weights(axis, 0);
    return std::all_of(from, from + static_cast<std::int64_t>(results) * axis.most, held);
  };
  return all_held(plan.along, p.cols()) && all_held(plan.across, p.rows());
}

Lookup lookup_of(const Problem<std::uint8_t>& p, int first, int last, const LookupShape& shape) {
  return TableBuilder(p, first, last).laid_out(shape);
}

namespace {

HWY_EXPORT(on_strips);

template <class T>
bool by_lookup(const Problem<T>& p) {
  if constexpr (std::is_same_v<T, std::uint8_t>) return can_look_up(p);
  else return false;
}

// Strips fit in the caches.
template <class T>
void run_simd(const Problem<T>& p, int threads) {
  constexpr int samples = 8192, max_channels = 4;
  const bool looks_up = by_lookup(p);
  const int together = looks_up ? p.channels() : max_channels,
            width = std::max(1, samples / std::max(1, together));
  // Premultiplied pixels may have more channels than a strip.
  const bool by_pixel = p.plan.recipe == Recipe::pick || (p.plan.premultiply && p.channels() > max_channels);
  const std::int64_t row_samples = std::int64_t{p.cols()} * p.channels();
  const auto run_strip = std::get<OnStrip<T>>(HWY_DYNAMIC_DISPATCH(on_strips)());
  share_rows(p.images(), p.rows(), row_samples, threads, [&](std::int64_t n, int first, int last) {
    if (by_pixel) {
      for (int y = first; y < last; ++y)
        for (int x = 0; x < p.cols(); ++x) p.compute(n, y, x);
      return;
    }
    for (int x = 0; x < p.cols(); x += width)
      for (int c = 0; c < p.channels(); c += together)
        run_strip(p, {n, x, std::min(x + width, p.cols()), first, last, c,
                      std::min(together, p.channels() - c), looks_up});
  });
}

Reason refuses(const Arguments& arguments, const Tuning&, const Device&) {
  const ArrayView& out = arguments.array("resized");
  if (out.strides[3] != 1 && out.extents[3] != 1) return "the result's channels do not lie side by side";
  return std::nullopt;
}

Choice choice() {
  Choice out =
      choice_of<Problem>([](const auto& p, const Tuning&, Run& run) { run_simd(p, run.device->threads); });
  out.refuses = refuses;
  return out;
}

}  // namespace

void resize_simd(const Arguments& arguments, int threads) {
  with_problem<Problem>(arguments, [threads](const auto& p) { run_simd(p, threads); });
}

namespace {
const Rung rung{"vectors, a few rows side by side, each row summed once, all cores", Where::cpu, {choice()}};
}  // namespace

}  // namespace tessera::resizing
#endif
