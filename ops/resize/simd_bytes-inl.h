// SPDX-License-Identifier: Apache-2.0
// Strips of bytes: sums along rows by table lookup (lookup.hpp), four rows at a time, then sums across rows,
// stored as bytes. Compiled once for each instruction set (Highway).
#if defined(TESSERA_RESIZE_BYTES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_RESIZE_BYTES_INL_H
#undef TESSERA_RESIZE_BYTES_INL_H
#else
#define TESSERA_RESIZE_BYTES_INL_H
#endif
#include <hwy/cache_control.h>
#include <hwy/highway.h>
#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>
#include "ops/resize/lookup.hpp"
#include "tessera/core/array/fused-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::resizing {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR
namespace hn = hwy::HWY_NAMESPACE;

// A number known at compile time; 0: known at run time.
template <int number>
struct StaticCount {
  static HWY_INLINE int or_else(int in_run) { return number != 0 ? number : in_run; }
};

// Vectors of at most two blocks: gathering more costs as much as it saves.
class AlongRows {
 public:
  using Bytes = hn::CappedTag<std::uint8_t, 32>;
  using Pairs = hn::Repartition<std::int16_t, Bytes>;
  using Sums = hn::Repartition<std::int32_t, Bytes>;
  using Floats = hn::Repartition<float, Bytes>;

  static constexpr int rows = 4;  // rows per table access
  static constexpr int blocks() { return static_cast<int>(hn::MaxLanes(Bytes()) / step_bytes); }
  static constexpr std::size_t lanes() { return hn::MaxLanes(Sums()); }
  template <class K>
  using Lines = K* const (&)[rows];

  AlongRows(Lookup lookup, std::int64_t next_rows) : table_(std::move(lookup)), next_rows_(next_rows) {}
  std::size_t samples() const { return table_.vectors * lanes(); }

  void sum(Lines<const std::uint8_t> from, Lines<std::int32_t> to) const {
    each_vector(1, [&](auto steps, Cursor& at, std::size_t i) HWY_ATTR {
      VSums sums[rows];
      whole(from, at, steps, sums);
      for (int r = 0; r < rows; ++r) hn::StoreU(sums[r], Sums(), to[r] + i);
    });
  }

  // Stores 16 bits per sum, without the lowest `shift` bits.
  template <int shift>
  void sum_narrow(Lines<const std::uint8_t> from, Lines<std::int16_t> to) const {
    each_vector(2, [&](auto steps, Cursor& at, std::size_t i) HWY_ATTR {
      fetch_ahead(from, at);
      VSums first[rows], second[rows];
      whole(from, at, steps, first);
      whole(from, at, steps, second);
      for (int r = 0; r < rows; ++r)
        hn::StoreU(narrowed(hn::ShiftRight<shift>(first[r]), hn::ShiftRight<shift>(second[r])), Pairs(),
                   to[r] + i);
    });
  }

  // Sums with weights of two digits and rounds to bytes.
  void sum_digits(Lines<const std::uint8_t> from, Lines<std::int16_t> to, int shift) const {
    const Pairs d;
    each_vector(2, [&](auto steps, Cursor& at, std::size_t i) HWY_ATTR {
      VSums first[rows], second[rows];
      whole_of_digits(from, at, steps, shift, first);
      whole_of_digits(from, at, steps, shift, second);
      for (int r = 0; r < rows; ++r) {
        const auto sums = hn::Max(narrowed(first[r], second[r]), hn::Zero(d));
        hn::StoreU(hn::Min(sums, hn::Set(d, std::int16_t{255})), d, to[r] + i);
      }
    });
  }

  // Sums in the order of the taps, rounding each product and each sum.
  void sum(Lines<const std::uint8_t> from, Lines<float> to) const {
    each_vector(1, [&](auto steps, Cursor& at, std::size_t i) HWY_ATTR {
      VFloats sums[rows];
      real(from, at, steps, sums);
      for (int r = 0; r < rows; ++r) hn::StoreU(sums[r], Floats(), to[r] + i);
    });
  }

 private:
  using VBytes = hn::Vec<Bytes>;
  using VSums = hn::Vec<Sums>;
  using VFloats = hn::Vec<Floats>;

  struct Cursor {
    explicit Cursor(const Lookup& table)
        : offset(table.offset.data()), place(table.place.data()), weight(table.weight.data()) {}
    HWY_INLINE VBytes places() const { return hn::LoadU(Bytes(), place); }
    HWY_INLINE hn::Vec<Pairs> weights(std::size_t part) const {
      return hn::LoadU(Pairs(), reinterpret_cast<const std::int16_t*>(weight + part * lanes()));
    }
    HWY_INLINE VFloats floats(std::size_t part) const { return hn::BitCast(Floats(), weights(part)); }
    HWY_INLINE void next(std::size_t parts) {
      offset += blocks();
      place += hn::MaxLanes(Bytes());
      weight += parts * lanes();
    }
    const std::int32_t* offset;
    const std::uint8_t* place;
    const std::int32_t* weight;
  };

  // Calls `body` for `together` vectors at a time. A step count known at compile time avoids a loop.
  template <class Body>
  HWY_INLINE void each_vector(std::size_t together, const Body& body) const {
    const auto with = [&](auto steps) HWY_ATTR {
      Cursor at(table_);
      for (std::size_t i = 0; i < samples(); i += together * lanes()) body(steps, at, i);
    };
    if (table_.steps == 1) with(StaticCount<1>());
    else if (table_.steps == 2) with(StaticCount<2>());
    else with(StaticCount<0>());
  }

  // Prefetches the next rows: a row is too short for the hardware prefetcher to reach them.
  HWY_INLINE void fetch_ahead(Lines<const std::uint8_t> from, const Cursor& at) const {
    for (int r = 0; r < rows; ++r) hwy::Prefetch(from[r] + at.offset[0] + next_rows_);
  }

  template <class D = Bytes>
  static HWY_INLINE hn::Vec<D> looked_up(const std::uint8_t* from, const std::int32_t* offset,
                                         hn::Vec<D> places) {
    const hn::FixedTag<std::uint8_t, step_bytes> block;
    if constexpr (blocks() == 1) {
      return hn::TableLookupBytesOr0(hn::LoadU(block, from + offset[0]), places);
    } else {
      const auto both =
          hn::Combine(D(), hn::LoadU(block, from + offset[1]), hn::LoadU(block, from + offset[0]));
      return hn::TableLookupBytesOr0(both, places);
    }
  }

  static HWY_INLINE hn::Vec<Pairs> narrowed(VSums first, VSums second) {
    return hn::ReorderDemote2To(Pairs(), first, second);
  }

  template <class S>
  HWY_INLINE void whole(Lines<const std::uint8_t> from, Cursor& at, S steps, VSums (&sums)[rows]) const {
    VSums others[rows];
    for (int r = 0; r < rows; ++r) sums[r] = others[r] = hn::Zero(Sums());
    for (int step = 0; step < steps.or_else(table_.steps); ++step, at.next(1)) {
      const auto places = at.places();
      const auto weights = at.weights(0);
      for (int r = 0; r < rows; ++r) {
        const auto x = hn::BitCast(Pairs(), looked_up(from[r], at.offset, places));
        sums[r] = hn::ReorderWidenMulAccumulate(Sums(), x, weights, sums[r], others[r]);
      }
    }
    for (int r = 0; r < rows; ++r) sums[r] = hn::RearrangeToOddPlusEven(sums[r], others[r]);
  }

  template <class S>
  HWY_INLINE void whole_of_digits(Lines<const std::uint8_t> from, Cursor& at, S steps, int shift,
                                  VSums (&sums)[rows]) const {
    const Sums d;
    VSums low[rows], low_others[rows], high[rows], high_others[rows];
    for (int r = 0; r < rows; ++r) low[r] = low_others[r] = high[r] = high_others[r] = hn::Zero(d);
    for (int step = 0; step < steps.or_else(table_.steps); ++step, at.next(2)) {
      const auto places = at.places();
      const auto lows = at.weights(0), highs = at.weights(1);
      for (int r = 0; r < rows; ++r) {
        const auto x = hn::BitCast(Pairs(), looked_up(from[r], at.offset, places));
        low[r] = hn::ReorderWidenMulAccumulate(d, x, lows, low[r], low_others[r]);
        high[r] = hn::ReorderWidenMulAccumulate(d, x, highs, high[r], high_others[r]);
      }
    }
    const auto half = hn::Set(d, 1 << (shift - 1));
    for (int r = 0; r < rows; ++r) {
      const auto above = hn::ShiftLeft<digit_bits>(hn::RearrangeToOddPlusEven(high[r], high_others[r]));
      const auto below = hn::RearrangeToOddPlusEven(low[r], low_others[r]);
      sums[r] = hn::ShiftRightSame(hn::Add(hn::Add(above, below), half), shift);
    }
  }

  template <class S>
  HWY_INLINE void real(Lines<const std::uint8_t> from, Cursor& at, S steps, VFloats (&sums)[rows]) const {
    const auto first = hn::Set(Sums(), 0xFF), second = hn::Set(Sums(), 0xFF00);
    const auto minus = hn::Set(Floats(), -above);
    for (int r = 0; r < rows; ++r) sums[r] = hn::Zero(Floats());
    for (int step = 0; step < steps.or_else(table_.steps); ++step, at.next(2)) {
      const auto places = at.places();
      const auto w0 = at.floats(0), w1 = at.floats(1), off0 = hn::Mul(w0, minus), off1 = hn::Mul(w1, minus);
      for (int r = 0; r < rows; ++r) {
        const auto x = hn::BitCast(Sums(), looked_up(from[r], at.offset, places));
        sums[r] = hn::Add(sums[r], product(w0, hn::And(x, first), off0));
        sums[r] = hn::Add(sums[r], product(w1, hn::And(x, second), off1));
      }
    }
  }

  // Returns w·x, rounded once. The bits of the float 2^23 + x are those of 2^23 OR x: nothing is converted,
  // and a fused multiply-add subtracts w·2^23.
  static HWY_INLINE VFloats product(VFloats w, VSums x, VFloats off) {
    const Floats d;
    const auto with_above = hn::BitCast(d, hn::Or(x, hn::BitCast(Sums(), hn::Set(d, above))));
    if constexpr (tessera::HWY_NAMESPACE::fuses) return hn::MulAdd(w, with_above, off);
    else return hn::Mul(w, hn::Sub(with_above, hn::Set(d, above)));
  }

  static constexpr float above = 8388608.0F;

  Lookup table_;
  std::int64_t next_rows_;
};

// Sums across rows for one row of the result. `row[k] + i`: row k's sums of the current samples.
class AcrossRows {
 public:
  using Sums = hn::CappedTag<std::int32_t, 16>;
  using Floats = hn::Rebind<float, Sums>;
  using Pairs = hn::Repartition<std::int16_t, Sums>;
  using Bytes = hn::Rebind<std::uint8_t, Pairs>;

  static constexpr std::size_t lanes() { return hn::MaxLanes(Pairs()); }  // samples that one call stores
  static constexpr int blocks() { return static_cast<int>(hn::MaxLanes(Sums()) / block_samples); }

  AcrossRows(const ResizePlan& plan, const std::int32_t* weight, int taps)
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
    for (int k = 0; k < taps_; k += 2) {
      const std::int32_t first = weight_[k], second = k + 1 < taps_ ? weight_[k + 1] : 0;
      digits_.push_back(side_by_side(low_digit(first), low_digit(second)));
      digits_.push_back(side_by_side(first >> digit_bits, second >> digit_bits));
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

  // Sums of bytes: a pair of rows per product.
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

  // Rounds to 0 … 255, ties to even; NaN gives 0. After 1.5·2^23 is added, the last place of a float is 1.
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

  const ResizePlan& plan_;
  const std::int32_t* weight_;
  int taps_;
  std::vector<std::int32_t> digits_;  // per pair of rows: both lower digits, both higher digits
};

// All channels of a strip. K: the type of kept row sums.
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

  // Returns row `row` (at most the last) in contiguous memory of at least 16 bytes.
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
        return store(y, across, StaticCount<2>());
      case 3:
        return store(y, across, StaticCount<3>());
      case 4:
        return store(y, across, StaticCount<4>());
      case 8:
        return store(y, across, StaticCount<8>());
      default:
        return store(y, across, StaticCount<0>());
    }
  }

  // Stores full vectors directly, the last one through out_.
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
  std::vector<const K*> from_;  // row sums that a row of the result needs
  std::vector<std::uint8_t> out_, copied_;
};

// Row sums take 16 bits where they fit: bytes, OpenCV's linear sums without their lowest 4 bits, and means of
// few samples.
inline void run_byte_strip(const Problem<std::uint8_t>& p, const Strip& strip) {
  constexpr int most = 32767 / 255;
  const ResizePlan& plan = p.plan;
  if (plan.recipe == Recipe::real) return ByteRows<float>(p, strip).run();
  const bool narrow = plan.recipe == Recipe::linear || plan.along_shift != 0 ||
                      (plan.recipe == Recipe::mean && plan.along.most * plan.across.most <= most);
  if (narrow) ByteRows<std::int16_t>(p, strip).run();
  else ByteRows<std::int32_t>(p, strip).run();
}
#endif
}  // namespace HWY_NAMESPACE
}  // namespace tessera::resizing
HWY_AFTER_NAMESPACE();
#endif
