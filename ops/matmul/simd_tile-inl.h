// SPDX-License-Identifier: Apache-2.0
// The register tile of the vectorized product: up to kTileRows rows × three vectors of C are summed in
// registers while A is read an element and B a vector at a time. Included once for each instruction set.
#if defined(TESSERA_SIMD_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_SIMD_TILE_INL_H
#undef TESSERA_SIMD_TILE_INL_H
#else
#define TESSERA_SIMD_TILE_INL_H
#endif

#include <hwy/highway.h>
#include <utility>
#include "simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::matmul {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sums, a row of B and one element of A must fit the registers: 32 of them, or 16.
inline constexpr int kTileRows = HWY_MAX_BYTES >= 64 || HWY_ARCH_ARM_A64 ? 8 : 4;
inline constexpr int kTileVectors = 3;

// Where a tile's sums go, and how they are scaled.
template <class T>
struct Destination {
  Strided<T> c;         // at the tile's first element
  Strided<const T> c0;  // likewise; no data where β = 0 or this is not the first block along k
  T alpha, beta;
  bool add;            // to what an earlier block along k left in C
  bool whole_vectors;  // of adjacent elements of C and C0, so that they may be stored as such
};

template <class T>
struct TileInput {
  const T* a;
  std::int64_t a_row;  // from a row of A to the next; its columns are adjacent
  const T* b;
  std::int64_t b_row;
  std::int64_t depth;
  const T* next_a;  // rows of the strip that comes next, to be fetched into the second cache
  int next_rows;    // their number, or 0
};

template <class V>
HWY_INLINE V PlusProduct(V a, V b, V sum) {
  if constexpr (std::is_floating_point_v<hn::TFromV<V>>) return hn::MulAdd(a, b, sum);
  else return hn::Add(hn::Mul(a, b), sum);
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void StoreVector(D d, hn::Vec<D> sum, const Destination<T>& out, std::int64_t i, std::int64_t j) {
  T* c = out.c.at(i, j);
  const auto alpha = hn::Set(d, out.alpha);
  if (out.add) return hn::StoreU(PlusProduct(alpha, sum, hn::LoadU(d, c)), d, c);
  const auto product = hn::Mul(alpha, sum);
  if (out.c0.data == nullptr) return hn::StoreU(product, d, c);
  hn::StoreU(PlusProduct(hn::Set(d, out.beta), hn::LoadU(d, out.c0.at(i, j)), product), d, c);
}

// A tile that hangs over the edge, or whose elements of C are not adjacent. With the vectors' own roundings,
// one lane at a time: the bits of an element do not tell where a tile ends.
template <class T>
HWY_NOINLINE void StoreElements(const T* sums, std::int64_t width, std::int64_t rows, std::int64_t cols,
                                const Destination<T>& out) {
  const hn::CappedTag<T, 1> d;
  const auto alpha = hn::Set(d, out.alpha), beta = hn::Set(d, out.beta);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < cols; ++j) {
      T& c = *out.c.at(i, j);
      const auto sum = hn::Set(d, sums[i * width + j]), product = hn::Mul(alpha, sum);
      if (out.add) c = hn::GetLane(PlusProduct(alpha, sum, hn::Set(d, c)));
      else if (out.c0.data == nullptr) c = hn::GetLane(product);
      else c = hn::GetLane(PlusProduct(beta, hn::Set(d, *out.c0.at(i, j)), product));
    }
}

template <int kRows, int kVectors, class D, class T = hn::TFromD<D>>
HWY_INLINE void MultiplyStep(D d, const T* HWY_RESTRICT a, std::int64_t a_row, const T* HWY_RESTRICT b,
                             hn::Vec<D> (&sums)[kRows][kVectors]) {
  hn::Vec<D> row[kVectors];
  SIMT_UNROLL
  for (int v = 0; v < kVectors; ++v) row[v] = hn::LoadU(d, b + static_cast<std::size_t>(v) * hn::Lanes(d));
  SIMT_UNROLL
  for (int i = 0; i < kRows; ++i) {
    const auto element = hn::Set(d, a[i * a_row]);
    SIMT_UNROLL
    for (int v = 0; v < kVectors; ++v) sums[i][v] = PlusProduct(element, row[v], sums[i][v]);
  }
}

// Fetches what is needed after line `step` of the sums, a little at each step: the loads of B would have
// to wait behind many that go to memory at once.
template <int kRows, int kVectors, class D, class T = hn::TFromD<D>>
HWY_INLINE void FetchStep(D d, const TileInput<T>& in, const Destination<T>& out, std::int64_t step) {
  constexpr std::int64_t line = 64 / sizeof(T);  // elements in a cache line
  const T* next = in.next_a + step * line;
  if (in.next_rows == kRows) {
    SIMT_UNROLL
    for (int i = 0; i < kRows; ++i) __builtin_prefetch(next + i * in.a_row, 0, 2);
  } else {
    for (int i = 0; i < in.next_rows; ++i) __builtin_prefetch(next + i * in.a_row, 0, 2);
  }
  if (!out.whole_vectors) return;
  const std::int64_t rows = in.depth >= kRows * line ? 1 : kRows;
  for (std::int64_t i = step * rows; i < std::min<std::int64_t>((step + 1) * rows, kRows); ++i) SIMT_UNROLL
  for (int v = 0; v < kVectors; ++v)
    __builtin_prefetch(out.c.at(i, v * static_cast<std::int64_t>(hn::Lanes(d))), 1);
}

template <int kRows, int kVectors, class T>
HWY_NOINLINE void Tile(const TileInput<T>& in, const Destination<T>& out, std::int64_t cols) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  constexpr std::int64_t line = 64 / sizeof(T);
  hn::Vec<decltype(d)> sums[kRows][kVectors];
  SIMT_UNROLL
  for (int i = 0; i < kRows; ++i) SIMT_UNROLL
  for (int v = 0; v < kVectors; ++v) sums[i][v] = hn::Zero(d);
  const T* HWY_RESTRICT a = in.a;
  const T* HWY_RESTRICT b = in.b;
  std::int64_t l = 0;
  for (; l + line <= in.depth; l += line) {
    FetchStep<kRows, kVectors>(d, in, out, l / line);
    _Pragma("GCC unroll 4") for (std::int64_t s = 0; s < line; ++s, ++a, b += in.b_row)
        MultiplyStep<kRows, kVectors>(d, a, in.a_row, b, sums);
  }
  for (; l < in.depth; ++l, ++a, b += in.b_row) MultiplyStep<kRows, kVectors>(d, a, in.a_row, b, sums);
  if (out.whole_vectors && cols == kVectors * lanes) {
    SIMT_UNROLL
    for (int i = 0; i < kRows; ++i) SIMT_UNROLL
    for (int v = 0; v < kVectors; ++v) StoreVector(d, sums[i][v], out, i, v * lanes);
    return;
  }
  HWY_ALIGN T buffer[kRows * kVectors * HWY_MAX_BYTES / sizeof(T)];
  SIMT_UNROLL
  for (int i = 0; i < kRows; ++i) SIMT_UNROLL
  for (int v = 0; v < kVectors; ++v) hn::Store(sums[i][v], d, buffer + (i * kVectors + v) * lanes);
  StoreElements(buffer, kVectors * lanes, kRows, cols, out);
}

template <class T>
using TileFunction = void (*)(const TileInput<T>&, const Destination<T>&, std::int64_t cols);

template <int kVectors, class T, int... kLess>
TileFunction<T> TileOfRows(std::int64_t rows, std::integer_sequence<int, kLess...>) {
  static constexpr TileFunction<T> tiles[] = {Tile<kLess + 1, kVectors, T>...};
  return tiles[rows - 1];
}

template <class T>
TileFunction<T> TileOf(std::int64_t rows, std::int64_t vectors) {
  constexpr std::make_integer_sequence<int, kTileRows> all;
  switch (vectors) {
    case 1:
      return TileOfRows<1, T>(rows, all);
    case 2:
      return TileOfRows<2, T>(rows, all);
    default:
      return TileOfRows<kTileVectors, T>(rows, all);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::matmul
HWY_AFTER_NAMESPACE();

#endif
