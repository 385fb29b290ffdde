// SPDX-License-Identifier: Apache-2.0
// Rows of bytes summed along, by tables that tell which bytes meet in a vector. Compiled once for each
// instruction set (Highway).
#if defined(TESSERA_RESIZE_ALONG_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_RESIZE_ALONG_INL_H
#undef TESSERA_RESIZE_ALONG_INL_H
#else
#define TESSERA_RESIZE_ALONG_INL_H
#endif
#include <hwy/cache_control.h>
#include <hwy/highway.h>
#include <utility>
#include "ops/resize/lookup.hpp"
#include "tessera/core/fused-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::resize {
namespace HWY_NAMESPACE {
#if HWY_TARGET != HWY_SCALAR
namespace hn = hwy::HWY_NAMESPACE;

// A number that the compiler knows, or 0: then it is known in the run.
template <int number>
struct Known {
  static HWY_INLINE int or_else(int in_run) { return number != 0 ? number : in_run; }
};

// Vectors of at most two blocks: to gather more costs what it saves.
class AlongRows {
 public:
  using Bytes = hn::CappedTag<std::uint8_t, 32>;
  using Pairs = hn::Repartition<std::int16_t, Bytes>;
  using Sums = hn::Repartition<std::int32_t, Bytes>;
  using Floats = hn::Repartition<float, Bytes>;

  static constexpr int rows = 4;  // at once, for one look at the tables
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

  // In 16 bits, without the last `shift`.
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

  // Weights of two digits; sums rounded off to bytes.
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

  // Tap after tap, each product and each sum rounded.
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

  // `together` vectors at a time. A number of steps that the compiler knows saves their loop.
  template <class Body>
  HWY_INLINE void each_vector(std::size_t together, const Body& body) const {
    const auto with = [&](auto steps) HWY_ATTR {
      Cursor at(table_);
      for (std::size_t i = 0; i < samples(); i += together * lanes()) body(steps, at, i);
    };
    if (table_.steps == 1) with(Known<1>());
    else if (table_.steps == 2) with(Known<2>());
    else with(Known<0>());
  }

  // The rows after these: a row is too short for the processor to foresee the next.
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

  // w·x, rounded once. 2^23 + x, a float's bits, are those of 2^23 or those of x: nothing is converted, and
  // one instruction takes away w·2^23.
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
#endif
}  // namespace HWY_NAMESPACE
}  // namespace tessera::resize
HWY_AFTER_NAMESPACE();
#endif
