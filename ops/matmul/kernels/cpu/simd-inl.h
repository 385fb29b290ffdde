// SPDX-License-Identifier: Apache-2.0
// The register tile of the vectorized product: up to kTileRows rows × three vectors of C are summed in
// registers while A is read an element and B a vector at a time. Included once for each instruction set.
#if defined(TESSERA_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_SIMD_INL_H
#undef TESSERA_SIMD_INL_H
#else
#define TESSERA_SIMD_INL_H
#endif

#include <hwy/highway.h>
#include <utility>
#include <vector>
#include "ops/matmul/epilogue/epilogue_simd-inl.h"
#include "ops/matmul/kernels/cpu/simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::matmul {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sums, a row of B and one element of A must fit in the registers, of which there are 32 or 16.
inline constexpr int kTileRows = HWY_MAX_BYTES >= 64 || HWY_ARCH_ARM_A64 ? 8 : 4;
inline constexpr int kTileVectors = 3;

// The destination of a tile's sums, and their scaling.
template <class T>
struct Destination {
  Strided<T> c;         // at the tile's first element
  Strided<const T> c0;  // likewise; null if β = 0 or this is not the first block along k
  T alpha, beta;
  bool add;            // true: adds to C, which holds the sums of earlier blocks along k
  bool whole_vectors;  // elements of C and C0 are contiguous, and may be stored as vectors
};

// Returns the destination from row i and column j on; `first`: this is the first block along k.
template <class T>
Destination<T> DestinationOf(const Product<T>& p, std::int64_t i, std::int64_t j, bool first) {
  const bool reads_c0 = first && p.beta != T{0};
  Destination<T> out;
  out.c = {p.c.at(i, j), p.c.row, p.c.col};
  out.c0 = {reads_c0 ? p.c0.at(i, j) : nullptr, p.c0.row, p.c0.col};
  out.alpha = p.alpha;
  out.beta = p.beta;
  out.add = !first;
  out.whole_vectors = p.c.col == 1 && (!reads_c0 || p.c0.col == 1);
  return out;
}

template <class T>
struct TileInput {
  const T* a;
  std::int64_t a_row;  // from a row of A to the next; its columns are adjacent
  const T* b;
  std::int64_t b_row;
  std::int64_t depth;
  const T* next_a;  // rows of the next strip, to be prefetched into L2
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

// For a tile that extends beyond the edge, or whose elements of C are not contiguous. Rounds as the vectors
// do, one lane at a time, so that an element's bits do not depend on where a tile ends.
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

// A step of a tile's sums, for elements that are summed in their own type. Steps of short elements
// (packed.cpp) have several elements along k in a word.
template <class T>
struct OneElement {
  using Word = T;  // an element of A or B
  using Sum = T;

  template <class V>
  static HWY_INLINE V Add(V a, V b, V sum) {
    return PlusProduct(a, b, sum);
  }
};

template <class Step>
using WordTag = hn::ScalableTag<typename Step::Word>;
template <class Step>
using SumTag = hn::ScalableTag<typename Step::Sum>;

template <class Step, int kRows, int kVectors, class Word = typename Step::Word>
HWY_INLINE void MultiplyStep(const Word* HWY_RESTRICT a, std::int64_t a_row, const Word* HWY_RESTRICT b,
                             hn::Vec<SumTag<Step>> (&sums)[kRows][kVectors]) {
  const WordTag<Step> d;
  hn::Vec<decltype(d)> row[kVectors];
  SIMT_UNROLL
  for (int v = 0; v < kVectors; ++v) row[v] = hn::LoadU(d, b + static_cast<std::size_t>(v) * hn::Lanes(d));
  SIMT_UNROLL
  for (int i = 0; i < kRows; ++i) {
    const auto element = hn::Set(d, a[i * a_row]);
    SIMT_UNROLL
    for (int v = 0; v < kVectors; ++v) sums[i][v] = Step::Add(element, row[v], sums[i][v]);
  }
}

// Prefetches data that is needed later, a little at each step: many requests to memory at once would delay
// the loads of B.
template <int kRows, int kVectors, class Word, class Sum>
HWY_INLINE void FetchStep(const TileInput<Word>& in, const Destination<Sum>& out, std::int64_t step) {
  constexpr std::int64_t line = 64 / sizeof(Word);  // words in a cache line
  const Word* next = in.next_a + step * line;
  if (in.next_rows == kRows) {
    SIMT_UNROLL
    for (int i = 0; i < kRows; ++i) __builtin_prefetch(next + i * in.a_row, 0, 2);
  } else {
    for (int i = 0; i < in.next_rows; ++i) __builtin_prefetch(next + i * in.a_row, 0, 2);
  }
  if (!out.whole_vectors) return;
  const std::int64_t rows = in.depth >= kRows * line ? 1 : kRows;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<Sum>()));
  for (std::int64_t i = step * rows; i < std::min<std::int64_t>((step + 1) * rows, kRows); ++i) SIMT_UNROLL
  for (int v = 0; v < kVectors; ++v) __builtin_prefetch(out.c.at(i, v * lanes), 1);
}

template <class Step, int kRows, int kVectors, class Word = typename Step::Word,
          class Sum = typename Step::Sum>
HWY_NOINLINE void Tile(const TileInput<Word>& in, const Destination<Sum>& out, std::int64_t cols) {
  const SumTag<Step> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  constexpr std::int64_t line = 64 / sizeof(Word);
  hn::Vec<decltype(d)> sums[kRows][kVectors];
  SIMT_UNROLL
  for (int i = 0; i < kRows; ++i) SIMT_UNROLL
  for (int v = 0; v < kVectors; ++v) sums[i][v] = hn::Zero(d);
  const Word* HWY_RESTRICT a = in.a;
  const Word* HWY_RESTRICT b = in.b;
  std::int64_t l = 0;
  for (; l + line <= in.depth; l += line) {
    FetchStep<kRows, kVectors>(in, out, l / line);
    _Pragma("GCC unroll 4") for (std::int64_t s = 0; s < line; ++s, ++a, b += in.b_row)
        MultiplyStep<Step, kRows, kVectors>(a, in.a_row, b, sums);
  }
  for (; l < in.depth; ++l, ++a, b += in.b_row) MultiplyStep<Step, kRows, kVectors>(a, in.a_row, b, sums);
  if (out.whole_vectors && cols == kVectors * lanes) {
    SIMT_UNROLL
    for (int i = 0; i < kRows; ++i) SIMT_UNROLL
    for (int v = 0; v < kVectors; ++v) StoreVector(d, sums[i][v], out, i, v * lanes);
    return;
  }
  HWY_ALIGN Sum buffer[kRows * kVectors * HWY_MAX_BYTES / sizeof(Sum)];
  SIMT_UNROLL
  for (int i = 0; i < kRows; ++i) SIMT_UNROLL
  for (int v = 0; v < kVectors; ++v) hn::Store(sums[i][v], d, buffer + (i * kVectors + v) * lanes);
  StoreElements(buffer, kVectors * lanes, kRows, cols, out);
}

template <class Step>
using TileFunction = void (*)(const TileInput<typename Step::Word>&, const Destination<typename Step::Sum>&,
                              std::int64_t cols);

template <class Step, int kVectors, int... kLess>
TileFunction<Step> TileOfRows(std::int64_t rows, std::integer_sequence<int, kLess...>) {
  static constexpr TileFunction<Step> tiles[] = {Tile<Step, kLess + 1, kVectors>...};
  return tiles[rows - 1];
}

template <class Step>
TileFunction<Step> TileOf(std::int64_t rows, std::int64_t vectors) {
  constexpr std::make_integer_sequence<int, kTileRows> all;
  switch (vectors) {
    case 1:
      return TileOfRows<Step, 1>(rows, all);
    case 2:
      return TileOfRows<Step, 2>(rows, all);
    default:
      return TileOfRows<Step, kTileVectors>(rows, all);
  }
}

// Vectors from a matrix with contiguous columns: `kBlock` rows of as many columns as a vector has lanes. Each
// 16 bytes of a vector are loaded at once, and transposed in registers.
template <class T>
inline constexpr int kBlock = HWY_TARGET == HWY_SCALAR ? 1 : 16 / sizeof(T);

template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadBlocks(D d, const T* from, std::int64_t step) {
#if HWY_TARGET == HWY_SCALAR
  (void)step;
  return hn::LoadU(d, from);
#else
  if constexpr (hn::MaxLanes(D()) == kBlock<T>) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    const auto ahead = static_cast<std::int64_t>(hn::MaxLanes(half)) / kBlock<T> * step;
    return hn::Combine(d, LoadBlocks(half, from + ahead, step), LoadBlocks(half, from, step));
  }
#endif
}

#if HWY_TARGET != HWY_SCALAR
// Transposes each 16 bytes of four vectors, a matrix of 4 × 4.
template <class D>
HWY_INLINE void TransposeBlocks(D d, hn::Vec<D> a, hn::Vec<D> b, hn::Vec<D> c, hn::Vec<D> e,
                                hn::Vec<D> (&out)[4]) {
  const hn::Repartition<std::uint64_t, D> pairs;
  const auto lower = hn::BitCast(pairs, hn::InterleaveLower(d, a, b)),
             lower2 = hn::BitCast(pairs, hn::InterleaveLower(d, c, e)),
             upper = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b)),
             upper2 = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
  out[0] = hn::BitCast(d, hn::InterleaveLower(pairs, lower, lower2));
  out[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, lower, lower2));
  out[2] = hn::BitCast(d, hn::InterleaveLower(pairs, upper, upper2));
  out[3] = hn::BitCast(d, hn::InterleaveUpper(pairs, upper, upper2));
}
#endif

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void LoadTransposed(D d, const T* from, std::int64_t step, hn::Vec<D> (&out)[kBlock<T>]) {
  hn::Vec<D> rows[kBlock<T>];
  SIMT_UNROLL
  for (int r = 0; r < kBlock<T>; ++r) rows[r] = LoadBlocks(d, from + r * step, kBlock<T> * step);
#if HWY_TARGET == HWY_SCALAR
  out[0] = rows[0];
#else
  if constexpr (sizeof(T) == 8) {
    out[0] = hn::InterleaveLower(d, rows[0], rows[1]);
    out[1] = hn::InterleaveUpper(d, rows[0], rows[1]);
  } else {
    TransposeBlocks(d, rows[0], rows[1], rows[2], rows[3], out);
  }
#endif
}

// Copies `rows` × `cols` elements to `cols` × `rows`.
template <class T>
void Transpose(const T* from, std::int64_t from_row, std::int64_t rows, std::int64_t cols, T* to,
               std::int64_t to_row) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t r = 0; r < rows; r += lanes) {
    std::int64_t c = 0;
    if (r + lanes <= rows)
      for (; c + kBlock<T> <= cols; c += kBlock<T>) {
        hn::Vec<decltype(d)> block[kBlock<T>];
        LoadTransposed(d, from + r * from_row + c, from_row, block);
        for (int y = 0; y < kBlock<T>; ++y) hn::StoreU(block[y], d, to + (c + y) * to_row + r);
      }
    for (; c < cols; ++c)
      for (std::int64_t x = r; x < std::min(r + lanes, rows); ++x)
        to[c * to_row + x] = from[x * from_row + c];
  }
}

// One thread's block of C.

// A packed block is read a panel at a time, so that its rows are a panel apart.
template <class T>
struct Panel {
  const T* data;
  T* copy;                 // the packed copy, equal to data; null: B is read in place
  std::int64_t row;        // from one of its rows to the next
  std::int64_t col, cols;  // its first column and their number
};

template <class T>
class BlockProduct {
 public:
  BlockProduct(const Product<T>& product, const Block& block, Scratch& scratch)
      : p_(product),
        block_(block),
        scratch_(scratch),
        lanes_(static_cast<std::int64_t>(hn::Lanes(d_))),
        panel_(lanes_ * kTileVectors) {}

  void run() {
    if (block_.first_row >= block_.last_row) return;
    const CacheSizes cache = cache_sizes();
    const std::int64_t depth = near_part(p_.k, wanted_depth(cache, sizeof(T), kTileRows), 16),
                       most = panels_limit(cache, sizeof(T), depth, panel_),
                       panels = (block_.last_col - block_.first_col + panel_ - 1) / panel_,
                       parts = (panels + most - 1) / most;
    // Equal parts: all of A passes along each of them, which a narrow part would not repay.
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t j = block_.first_col + part * panels / parts * panel_,
                         end = block_.first_col + (part + 1) * panels / parts * panel_;
      for (std::int64_t l = 0; l == 0 || l < p_.k; l += depth) {
        run_depth(l, std::min(depth, p_.k - l), j, std::min(end, block_.last_col) - j);
      }
    }
  }

 private:
  static constexpr std::int64_t kRowsCopied =
      64;  // rows of A copied at a time, if its columns are not contiguous

  bool few_rows() const { return block_.last_row - block_.first_row <= 2 * kTileRows; }

  // Computes all rows of C, columns [j, j + width), over k in [l, l + depth).
  void run_depth(std::int64_t l, std::int64_t depth, std::int64_t j, std::int64_t width) {
    T* to = scratch_.get<T>(static_cast<std::size_t>(depth * (width + panel_) + kRowsCopied * depth));
    to = place_panels(l, depth, j, width, to);
    copy_panels(l, depth);
    if (p_.a.col == 1)
      return run_rows(block_.first_row, block_.last_row, p_.a.at(block_.first_row, l), p_.a.row, l, depth);
    for (std::int64_t i = block_.first_row; i < block_.last_row; i += kRowsCopied) {
      const std::int64_t end = std::min(i + kRowsCopied, block_.last_row);
      copy_rows(i, end, l, depth, to);
      run_rows(i, end, to, depth, l, depth);
    }
  }

  // Leaves a panel of B in place if few rows of A would not repay a copy, else assigns it memory at `to`.
  T* place_panels(std::int64_t l, std::int64_t depth, std::int64_t j, std::int64_t width, T* to) {
    panels_.clear();
    for (std::int64_t done = 0; done < width; done += panel_) {
      const std::int64_t cols = std::min(panel_, width - done);
      const std::int64_t padded = (cols + lanes_ - 1) / lanes_ * lanes_;
      if (p_.b.col == 1 && cols == padded && (few_rows() || p_.b.row == cols)) {
        panels_.push_back({p_.b.at(l, j + done), nullptr, p_.b.row, j + done, cols});
        continue;
      }
      panels_.push_back({to, to, padded, j + done, cols});
      to += depth * padded;
    }
    return to;
  }

  // Copies row by row along all panels if B is row-major, else panel by panel.
  void copy_panels(std::int64_t l, std::int64_t depth) const {
    if (p_.b.col == 1) {
      for (std::int64_t r = 0; r < depth; ++r)
        for (const Panel<T>& panel : panels_) copy_row(panel, r, l, depth);
      return;
    }
    for (const Panel<T>& panel : panels_) {
      const std::int64_t transposed = p_.b.row == 1 ? panel.cols : 0;
      Transpose(p_.b.at(l, panel.col), p_.b.col, transposed, depth, panel.copy, panel.row);
      for (std::int64_t r = 0; r < depth; ++r)
        for (std::int64_t c = transposed; c < panel.row; ++c)
          panel.copy[r * panel.row + c] = c < panel.cols ? *p_.b.at(l + r, panel.col + c) : T{0};
    }
  }

  // Rows may be too far apart for the hardware prefetcher, so the next ones are prefetched.
  void copy_row(const Panel<T>& panel, std::int64_t r, std::int64_t l, std::int64_t depth) const {
    constexpr std::int64_t rows_ahead = 4, line = 64 / sizeof(T);
    if (panel.copy == nullptr) return;
    const T* from = p_.b.at(l + r, panel.col);
    const T* ahead = p_.b.at(l + std::min(r + rows_ahead, depth - 1), panel.col);
    T* to = panel.copy + r * panel.row;
    std::int64_t c = 0;
    for (; c < panel.cols; c += line) __builtin_prefetch(ahead + c);
    for (c = 0; c + lanes_ <= panel.cols; c += lanes_) hn::StoreU(hn::LoadU(d_, from + c), d_, to + c);
    for (; c < panel.row; ++c) to[c] = c < panel.cols ? from[c] : T{0};
  }

  // Copies rows [i, end) of A to row-major order, square by square, so that both sides stay in L1.
  void copy_rows(std::int64_t i, std::int64_t end, std::int64_t l, std::int64_t depth, T* to) const {
    constexpr std::int64_t side = 16;
    if (p_.a.row == 1) return Transpose(p_.a.at(i, l), p_.a.col, depth, end - i, to, depth);
    for (std::int64_t i0 = i; i0 < end; i0 += side)
      for (std::int64_t l0 = 0; l0 < depth; l0 += side)
        for (std::int64_t r = i0; r < std::min(i0 + side, end); ++r)
          for (std::int64_t s = l0; s < std::min(l0 + side, depth); ++s)
            to[(r - i) * depth + s] = *p_.a.at(r, l + s);
  }

  // Multiplies strips of A at `a`, whose columns are contiguous, by all panels. Each panel's tile prefetches
  // its share of the next strip.
  void run_rows(std::int64_t first, std::int64_t last, const T* a, std::int64_t a_row, std::int64_t l,
                std::int64_t depth) {
    const int panels = static_cast<int>(panels_.size());
    for (std::int64_t i = first; i < last; i += kTileRows) {
      const std::int64_t rows = std::min<std::int64_t>(kTileRows, last - i);
      const T* strip = a + (i - first) * a_row;
      const bool has_next = i + 2 * kTileRows <= last;
      for (int n = 0; n < panels; ++n) {
        const Panel<T>& panel = panels_[static_cast<std::size_t>(n)];
        const int from = kTileRows * n / panels, to = kTileRows * (n + 1) / panels;
        TileInput<T> in{strip, a_row, panel.data, panel.row, depth, nullptr, 0};
        if (has_next) {
          in.next_a = strip + (kTileRows + from) * a_row;
          in.next_rows = to - from;
        }
        TileOf<OneElement<T>>(rows, (panel.cols + lanes_ - 1) / lanes_)(
            in, DestinationOf(p_, i, panel.col, l == 0 && !p_.adds), panel.cols);
      }
      if (p_.after != nullptr && l + depth >= p_.k) run_epilogue(i, rows);
    }
  }

  // Returns the thread's panels, which it keeps so that repeated calls allocate nothing.
  static std::vector<Panel<T>>& kept_panels() {
    thread_local std::vector<Panel<T>> panels;
    return panels;
  }

  // Applies the epilogue to strips with complete sums, along all panels.
  void run_epilogue(std::int64_t first, std::int64_t rows) const {
    const std::int64_t col = panels_.front().col, end = panels_.back().col + panels_.back().cols;
    for (std::int64_t i = first; i < first + rows; ++i) EpilogueRow(*p_.after, 0, i, col, end);
  }

  const hn::ScalableTag<T> d_;
  const Product<T>& p_;
  const Block block_;
  Scratch& scratch_;
  const std::int64_t lanes_, panel_;
  std::vector<Panel<T>>& panels_ = kept_panels();
};

}  // namespace HWY_NAMESPACE
}  // namespace tessera::matmul
HWY_AFTER_NAMESPACE();

#endif
