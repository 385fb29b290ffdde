// SPDX-License-Identifier: Apache-2.0
// Strips of bytes, from above: rows of the picture are summed along, a few at a time, their sums kept for as
// many rows as a result is made from. Compiled once for each instruction set (Highway).
#if defined(TESSERA_RESIZE_BYTES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_RESIZE_BYTES_INL_H
#undef TESSERA_RESIZE_BYTES_INL_H
#else
#define TESSERA_RESIZE_BYTES_INL_H
#endif
#include <hwy/highway.h>
#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>
#include "ops/resize/simd_across-inl.h"
#include "ops/resize/simd_along-inl.h"
#include "ops/resize/strip.hpp"
#include "tessera/core/interrupt.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::resize {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR

// All channels of a strip. K: what a row's sums wait as.
template <class K>
class ByteRows {
 public:
  ByteRows(const Problem<std::uint8_t>& p, const Strip& strip)
      : p_(p),
        s_(strip),
        along_(lookup_of(p, strip.first, strip.last, shape()), AlongRows::rows * p.image.stride[1]),
        room_(along_.samples() + AcrossRows::lanes()),
        kept_rows_(p.plan.across.most + AlongRows::rows),
        kept_(static_cast<std::size_t>(kept_rows_) * room_),
        from_(static_cast<std::size_t>(p.plan.across.most)),
        out_(room_) {
    const std::int64_t channels = p.channels(), bytes = p.from_cols() * channels;
    const bool packed = p.image.stride[2] == channels && (p.image.stride[3] == 1 || channels == 1);
    if (packed && bytes >= step_bytes) return;
    copied_room_ = static_cast<std::size_t>(std::max<std::int64_t>(bytes, step_bytes));
    copied_.resize(copied_room_ * AlongRows::rows);
  }

  void run() {
    for (int y = s_.begin; y < s_.end; ++y) {
      leave_if_interrupted();
      const int from = p_.start(p_.plan.across, y), taps = p_.count(p_.plan.across, y);
      next_ = std::max(next_, from);
      for (; next_ < from + taps; next_ += AlongRows::rows) sum_along();
      for (int k = 0; k < taps; ++k) from_[static_cast<std::size_t>(k)] = kept(from + k);
      sum_across(y, taps);
    }
  }

 private:
  static LookupShape shape() {
    const int paired = std::is_same_v<K, std::int16_t> ? AlongRows::blocks() : AcrossRows::blocks();
    return {.vector_blocks = AlongRows::blocks(), .paired_blocks = paired};
  }

  K* kept(int row) { return kept_.data() + static_cast<std::size_t>(row % kept_rows_) * room_; }

  // Row `row`, or the last, as one piece of at least 16 bytes.
  const std::uint8_t* bytes_of(int row, std::size_t copy) {
    const std::uint8_t* const from = &p_.image(s_.n, std::min(row, p_.from_rows() - 1), 0, 0);
    if (copied_.empty()) return from;
    std::uint8_t* const to = copied_.data() + copy * copied_room_;
    const std::int64_t channels = p_.channels();
    for (std::int64_t x = 0; x < p_.from_cols(); ++x)
      for (std::int64_t c = 0; c < channels; ++c)
        to[x * channels + c] = from[x * p_.image.stride[2] + c * p_.image.stride[3]];
    return to;
  }

  HWY_NOINLINE void sum_along() {
    const std::uint8_t* const from[] = {bytes_of(next_, 0), bytes_of(next_ + 1, 1), bytes_of(next_ + 2, 2),
                                        bytes_of(next_ + 3, 3)};
    K* const to[] = {kept(next_), kept(next_ + 1), kept(next_ + 2), kept(next_ + 3)};
    static_assert(std::size(from) == AlongRows::rows);
    if constexpr (std::is_same_v<K, std::int16_t>) {
      constexpr int linear = 4;
      if (p_.plan.recipe == Recipe::linear) along_.sum_narrow<linear>(from, to);
      else if (p_.plan.recipe == Recipe::mean) along_.sum_narrow<0>(from, to);
      else along_.sum_digits(from, to, p_.plan.along_shift);
    } else {
      along_.sum(from, to);
    }
  }

  void sum_across(int y, int taps) {
    const AcrossRows across(p_.plan, p_.weights(p_.plan.across, y), taps);
    switch (taps) {
      case 2:
        return store(y, across, Known<2>());
      case 3:
        return store(y, across, Known<3>());
      case 4:
        return store(y, across, Known<4>());
      case 8:
        return store(y, across, Known<8>());
      default:
        return store(y, across, Known<0>());
    }
  }

  // Whole vectors go where they belong, the last by way of out_.
  template <class Taps>
  HWY_NOINLINE void store(int y, const AcrossRows& across, Taps taps) {
    const std::size_t channels = static_cast<std::size_t>(p_.channels()),
                      samples = static_cast<std::size_t>(s_.last - s_.first) * channels;
    const K* const* const from = from_.data();
    const bool packed = p_.resized.stride[2] == p_.channels();
    std::uint8_t* const to = &p_.resized(s_.n, y, s_.first, 0);
    std::size_t i = 0;
    if (packed)
      for (; i + AcrossRows::lanes() <= samples; i += AcrossRows::lanes())
        across.store(from, i, to + i, taps);
    const std::size_t stored = i;
    for (; i < samples; i += AcrossRows::lanes()) across.store(from, i, out_.data() + i, taps);
    if (packed) return void(std::memcpy(to + stored, out_.data() + stored, samples - stored));
    for (std::size_t x = 0; x < samples / channels; ++x)
      std::memcpy(to + static_cast<std::int64_t>(x) * p_.resized.stride[2], out_.data() + x * channels,
                  channels);
  }

  const Problem<std::uint8_t>& p_;
  const Strip& s_;
  AlongRows along_;
  std::size_t room_, copied_room_ = 0;
  int kept_rows_, next_ = 0;
  std::vector<K> kept_;
  std::vector<const K*> from_;  // the rows that a row of the result is made from
  std::vector<std::uint8_t> out_, copied_;
};

// Sums along rows take 16 bits where they fit: bytes, OpenCV's linear ones without their last 4 bits, and
// means of a few.
inline void run_byte_strip(const Problem<std::uint8_t>& p, const Strip& strip) {
  constexpr int most = 32767 / 255;
  const Plan& plan = p.plan;
  if (plan.recipe == Recipe::real) return ByteRows<float>(p, strip).run();
  const bool narrow = plan.recipe == Recipe::linear || plan.along_shift != 0 ||
                      (plan.recipe == Recipe::mean && plan.along.most * plan.across.most <= most);
  if (narrow) ByteRows<std::int16_t>(p, strip).run();
  else ByteRows<std::int32_t>(p, strip).run();
}
#endif
}  // namespace HWY_NAMESPACE
}  // namespace tessera::resize
HWY_AFTER_NAMESPACE();
#endif
