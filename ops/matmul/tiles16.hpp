// SPDX-License-Identifier: Apache-2.0
// Tiles in shared memory that are filled and read 16 bytes at a time, from operands with any strides.
//
// A tile holds, for each k of a step, a run of rows of A or of columns of B: both are alike, an
// operand that extends "along" its tile and "deep" into k. Whichever of the two is contiguous in
// memory is the direction of the loads, so a transposed operand is as fast; where neither is, or the
// address is odd, the same elements come one by one.
#pragma once
#include "tessera/kernel.hpp"
#include "matmul.hpp"

namespace tessera::matmul {
inline namespace TESSERA_UNIT {

// As many elements as 16 bytes hold.
template <class T>
struct Lot {
  static constexpr int count = 16 / int(sizeof(T));
  T element[count];

  SIMT void copy_to(T* to) const {
    SIMT_UNROLL
    for (int e = 0; e < count; ++e) to[e] = element[e];
  }
};

// Whether 16-byte accesses along `stride` reach the elements at `data`, whatever line one is in.
template <class T>
SIMT bool lies_in_lots(const T* data, std::int64_t stride, std::int64_t line_stride) {
  return stride == 1 && line_stride % Lot<T>::count == 0 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}

template <class T, int along, int threads>
struct Tile16 {
  static constexpr int lot = Lot<T>::count;
  static constexpr int deep_lots = 4;                       // two whole sectors of a row of A
  static constexpr int depth = deep_lots * lot;             // of a step along k
  static constexpr int each = along * deep_lots / threads;  // lots that a thread brings
  static_assert(each * threads == along * deep_lots && along % (8 * lot) == 0);

  alignas(16) T element[depth][along];

  // Exchanges lots within groups of eight, in another way for each of the four depths to which the
  // lanes of a warp write when the tile is turned: they then meet every bank once.
  SIMT static int swizzled(int l, int i) { return i ^ (l / lot * 2 * lot); }

  SIMT Lot<T> lot_at(Thread thread, int l, int i, int further) const {
    return __builtin_bit_cast(Lot<T>, thread.load16(&element[l][swizzled(l, i) + further]));
  }

  // One thread's share of filling tile after tile along k.
  class Filler {
   public:
    SIMT Filler(const T* data, std::int64_t first, std::int64_t extent, std::int64_t stride,
                std::int64_t k_stride, int rank)
        : data_(data),
          stride_(stride),
          k_stride_(k_stride),
          along_first_(stride == 1),
          rank_(rank),
          room_(extent - first < along ? int(extent - first) : along) {
      wide_ = along_first_ ? lies_in_lots(data, stride, k_stride) : lies_in_lots(data, k_stride, stride);
      offset_ = first * stride;
    }

    // Loads the next tile's share, of which `left` of k are there; beyond the operand lie zeros.
    SIMT void fetch(Thread thread, std::int64_t left) {
      const int deep = left < depth ? int(left) : depth;
      SIMT_UNROLL
      for (int v = 0; v < each; ++v) {
        const int i = along_of(v), l = deep_of(v);
        const std::int64_t at = offset_ + i * stride_ + l * k_stride_;
        if (wide_ && i + (along_first_ ? lot : 1) <= room_ && l + (along_first_ ? 1 : lot) <= deep)
          value_[v] = __builtin_bit_cast(Lot<T>, thread.load16(data_ + at));
        else value_[v] = one_by_one(i, l, deep, at);
      }
      offset_ += depth * k_stride_;
    }

    SIMT void put(Thread thread, Tile16& tile) const {
      SIMT_UNROLL
      for (int v = 0; v < each; ++v) {
        const int i = along_of(v), l = deep_of(v);
        T* const to = &tile.element[l][swizzled(l, i)];
        if (along_first_) {
          thread.store16(to, __builtin_bit_cast(Bytes16, value_[v]));
        } else {
          SIMT_UNROLL
          for (int e = 0; e < lot; ++e) to[e * along] = value_[v].element[e];
        }
      }
    }

   private:
    SIMT int along_of(int v) const {
      const int lot_number = rank_ + v * threads;
      return along_first_ ? lot_number % (along / lot) * lot : lot_number / deep_lots;
    }
    SIMT int deep_of(int v) const {
      const int lot_number = rank_ + v * threads;
      return along_first_ ? lot_number / (along / lot) : lot_number % deep_lots * lot;
    }
    SIMT Lot<T> one_by_one(int i, int l, int deep, std::int64_t at) const {
      Lot<T> out;
      SIMT_UNROLL
      for (int e = 0; e < lot; ++e) {
        const bool inside = i + (along_first_ ? e : 0) < room_ && l + (along_first_ ? 0 : e) < deep;
        out.element[e] = inside ? data_[at + e * (along_first_ ? stride_ : k_stride_)] : T{0};
      }
      return out;
    }

    const T* data_;
    std::int64_t offset_, stride_, k_stride_;
    bool along_first_, wide_;
    int rank_, room_;
    Lot<T> value_[each];
  };
};

// Writes a lot of C's row i from column j on, as far as C reaches.
template <class T>
SIMT void store_lot(Thread thread, const Problem<T>& p, bool wide, std::int64_t i, std::int64_t j,
                    const T* sum) {
  constexpr int lot = Lot<T>::count;
  if (wide && i < p.m() && j + lot <= p.n()) {
    Lot<T> out;
    SIMT_UNROLL
    for (int e = 0; e < lot; ++e) out.element[e] = p.scaled(i, j + e, sum[e]);
    thread.store16(&p.c(i, j), __builtin_bit_cast(Bytes16, out));
  } else {
    SIMT_UNROLL
    for (int e = 0; e < lot; ++e) p.store(i, j + e, sum[e]);
  }
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::matmul
