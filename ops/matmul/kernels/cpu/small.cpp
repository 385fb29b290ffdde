// SPDX-License-Identifier: Apache-2.0
// The loops of small products, and of products with few rows or columns, for each instruction set. All sum
// along k in order, one element of C in one lane, so neither sizes nor layouts affect the bits.
//
// SmallProduct: tiles of C in registers, A and B read in place. A panel of B is copied only if its columns
// are not contiguous, or if it is larger than L1 can serve.
// RowStream: few rows of A, rows of B contiguous. B is read in its order, sums stay in L1.
// ColumnStream: few rows of A, columns of B contiguous. The columns are transposed in registers.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/matmul/kernels/cpu/small.cpp"
#include "tessera/core/device/vector_targets.hpp"
#include <hwy/foreach_target.h>
#include "ops/matmul/kernels/cpu/simd-inl.h"
#include "ops/matmul/kernels/cpu/small.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::matmul {
namespace HWY_NAMESPACE {

// A last vector that extends beyond the edge is loaded and stored under a mask, if the instruction set has
// masks; else it is loaded from a copy and stored element by element.
inline constexpr bool kMasks = !HWY_MEM_OPS_MIGHT_FAULT || HWY_TARGET == HWY_AVX2;

// Fewer vectors leave registers for more rows. (Each row is a dependency chain of its own.)
template <int kVectors>
inline constexpr int kSmallRows = kVectors == 3   ? kTileRows
                                  : kVectors == 2 ? kTileRows * 3 / 2
                                                  : 12;

template <class T>
struct SmallInput {
  const T* a;
  std::int64_t a_row, a_col;
  const T* b;  // its columns are adjacent
  std::int64_t b_row;
  std::int64_t depth;
};

// Stores sums from memory, in rows of `width`.
template <class T>
HWY_NOINLINE void StoreRows(const T* sums, std::int64_t width, std::int64_t rows, std::int64_t cols,
                            const Destination<T>& out) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t whole = out.whole_vectors ? cols / lanes * lanes : 0;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < whole; j += lanes)
      StoreVector(d, hn::LoadU(d, sums + i * width + j), out, i, j);
  if (whole == cols) return;
  Destination<T> rest = out;
  rest.c.data = out.c.at(0, whole);
  if (out.c0.data != nullptr) rest.c0.data = out.c0.at(0, whole);
  StoreElements(sums + whole, width, rows, cols - whole, rest);
}

// Computes `count` tiles below each other, from row `first` of input and destination on.
template <int kRows, int kVectors, class T>
HWY_NOINLINE void SmallTile(const SmallInput<T>& in, const Destination<T>& out, std::int64_t cols,
                            std::int64_t first, std::int64_t count) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t last = (kVectors - 1) * lanes;
  const auto mask = hn::FirstN(d, static_cast<std::size_t>(cols - last));
  const std::int64_t a_row = in.a_row, a_col = in.a_col, b_row = in.b_row, c_row = out.c.row;
  const T* strip = in.a + first * a_row;
  T* c = out.c.at(first, 0);
  const T* c0 = out.c0.data == nullptr ? nullptr : out.c0.at(first, 0);
  for (; count > 0; --count) {
    hn::Vec<decltype(d)> sums[kRows][kVectors];
    SIMT_UNROLL
    for (int i = 0; i < kRows; ++i) SIMT_UNROLL
    for (int v = 0; v < kVectors; ++v) sums[i][v] = hn::Zero(d);
    // An address for every four rows: one for each row would exceed the registers.
    const T* a[(kRows + 3) / 4];
    SIMT_UNROLL
    for (int i = 0; i < kRows; i += 4) a[i / 4] = strip + i * a_row;
    const T* HWY_RESTRICT b = in.b;
    for (std::int64_t l = in.depth; l > 0; --l, b += b_row) {
      hn::Vec<decltype(d)> row[kVectors];
      SIMT_UNROLL
      for (int v = 0; v < kVectors - 1; ++v) row[v] = hn::LoadU(d, b + v * lanes);
      if constexpr (kMasks) row[kVectors - 1] = hn::MaskedLoad(mask, d, b + last);
      else row[kVectors - 1] = hn::LoadU(d, b + last);
      SIMT_UNROLL
      for (int i = 0; i < kRows; ++i) {
        const auto element = hn::Set(d, a[i / 4][i % 4 * a_row]);
        SIMT_UNROLL
        for (int v = 0; v < kVectors; ++v) sums[i][v] = PlusProduct(element, row[v], sums[i][v]);
      }
      SIMT_UNROLL
      for (auto& rows : a) rows += a_col;
    }
    if (out.whole_vectors && !out.add && c0 == nullptr && (kMasks || cols == kVectors * lanes)) {
      if (out.alpha != T{1}) {
        const auto alpha = hn::Set(d, out.alpha);
        SIMT_UNROLL
        for (auto& row : sums) SIMT_UNROLL
        for (auto& sum : row) sum = hn::Mul(alpha, sum);
      }
      SIMT_UNROLL
      for (int i = 0; i < kRows; ++i) {
        T* const to = c + i * c_row;
        SIMT_UNROLL
        for (int v = 0; v < kVectors - 1; ++v) hn::StoreU(sums[i][v], d, to + v * lanes);
        if constexpr (kMasks) hn::BlendedStore(sums[i][kVectors - 1], mask, d, to + last);
        else hn::StoreU(sums[i][kVectors - 1], d, to + last);
      }
    } else {
      HWY_ALIGN T buffer[kRows * kVectors * HWY_MAX_BYTES / sizeof(T)];
      SIMT_UNROLL
      for (int i = 0; i < kRows; ++i) SIMT_UNROLL
      for (int v = 0; v < kVectors; ++v) hn::Store(sums[i][v], d, buffer + (i * kVectors + v) * lanes);
      Destination<T> here = out;
      here.c.data = c;
      here.c0.data = c0;
      StoreRows(buffer, kVectors * lanes, kRows, cols, here);
    }
    strip += kRows * a_row;
    c += kRows * c_row;
    if (c0 != nullptr) c0 += kRows * out.c0.row;
  }
}

template <class T>
using SmallTileFunction = void (*)(const SmallInput<T>&, const Destination<T>&, std::int64_t cols,
                                   std::int64_t first, std::int64_t count);

template <class T>
struct SmallTiles {
  template <int kVectors, int... kLess>
  static SmallTileFunction<T> of_rows(std::int64_t rows, std::integer_sequence<int, kLess...>) {
    static constexpr SmallTileFunction<T> tiles[] = {SmallTile<kLess + 1, kVectors, T>...};
    return tiles[rows - 1];
  }
  static SmallTileFunction<T> of(std::int64_t rows, std::int64_t vectors) {
    if (vectors == 1) return of_rows<1>(rows, std::make_integer_sequence<int, kSmallRows<1>>());
    if (vectors == 2) return of_rows<2>(rows, std::make_integer_sequence<int, kSmallRows<2>>());
    return of_rows<3>(rows, std::make_integer_sequence<int, kSmallRows<3>>());
  }
};

// Blocks along k; at(l): the length of the block that begins at l.
struct Depth {
  std::int64_t k, block;
  std::int64_t at(std::int64_t l) const { return std::min(block, k - l); }
};

template <class T>
Depth DepthOf(std::int64_t k) {
  static const std::int64_t wanted = wanted_depth(cache_sizes(), sizeof(T), kTileRows);
  if (k + wanted / 2 < 2 * wanted) return {k, std::max<std::int64_t>(k, 1)};  // one block
  return {k, near_part(k, wanted, 16)};
}

// Computes a block of C, panel by panel of B, tile by tile.
template <class T>
class SmallProduct {
 public:
  explicit SmallProduct(const Product<T>& p) : p_(p) {}

  void run(const Block& block) {
    const std::int64_t vectors = (block.last_col - block.first_col + lanes_ - 1) / lanes_;
    const Depth depth = DepthOf<T>(p_.k);
    std::int64_t j = block.first_col;
    for (std::int64_t left = vectors; left > 0;) {
      const std::int64_t wide = left > 4 || left == 3 ? 3 : std::min<std::int64_t>(left, 2);  // 4 = 2 + 2
      const std::int64_t cols = std::min(wide * lanes_, block.last_col - j);
      for (std::int64_t l = 0; l == 0 || l < p_.k; l += depth.block)
        run_panel(block, j, cols, wide, l, depth.at(l));
      j += cols;
      left -= wide;
    }
  }

 private:
  static constexpr std::int64_t lanes_ = static_cast<std::int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));

  void run_panel(const Block& block, std::int64_t j, std::int64_t cols, std::int64_t vectors, std::int64_t l,
                 std::int64_t depth) {
    const std::int64_t rows = block.last_row - block.first_row;
    SmallInput<T> in{p_.a.at(block.first_row, l), p_.a.row, p_.a.col, p_.b.at(l, j), p_.b.row, depth};
    if (p_.b.col != 1 || (!kMasks && cols != vectors * lanes_) || worth_copy(rows, depth, vectors)) {
      in.b = copy(l, depth, j, cols, vectors);
      in.b_row = vectors * lanes_;
    }
    const std::int64_t most = vectors == 1 ? kSmallRows<1> : vectors == 2 ? kSmallRows<2> : kSmallRows<3>;
    const Destination<T> out = DestinationOf(p_, block.first_row, j, l == 0);
    if (rows <= most) return SmallTiles<T>::of(rows, vectors)(in, out, cols, 0, 1);
    const std::int64_t strips = (rows + most - 1) / most, shorter = rows / strips,
                       taller = rows - shorter * strips;
    if (taller > 0) SmallTiles<T>::of(shorter + 1, vectors)(in, out, cols, 0, taller);
    SmallTiles<T>::of(shorter, vectors)(in, out, cols, taller * (shorter + 1), strips - taller);
  }

  bool worth_copy(std::int64_t rows, std::int64_t depth, std::int64_t vectors) const {
    // Reading rows of B in place is as good as a copy, until too few of them stay in L1.
    return rows >= 64 &&
           depth * vectors * lanes_ * static_cast<std::int64_t>(sizeof(T)) > 2 * cache_sizes().l1;
  }

  // Copies a panel of B: its rows one after another, zeros after the last column.
  const T* copy(std::int64_t l, std::int64_t depth, std::int64_t j, std::int64_t cols, std::int64_t vectors) {
    const hn::ScalableTag<T> d;
    const std::int64_t width = vectors * lanes_;
    T* const to = small_scratch().get<T>(static_cast<std::size_t>(depth * width) + 1);
    for (std::int64_t c = 0; c < width; c += lanes_) {
      const T* from = p_.b.at(l, j + c);
      T* column = to + c;
      const bool whole = c + lanes_ <= cols;
      std::int64_t r = 0;
      if (whole && p_.b.col == 1) {
        for (; r < depth; ++r) hn::Store(hn::LoadU(d, from + r * p_.b.row), d, column + r * width);
      } else if (whole && p_.b.row == 1) {
        for (; r + kBlock<T> <= depth; r += kBlock<T>) {
          hn::Vec<decltype(d)> block[kBlock<T>];
          LoadTransposed(d, from + r, p_.b.col, block);
          for (int s = 0; s < kBlock<T>; ++s) hn::Store(block[s], d, column + (r + s) * width);
        }
      }
      for (; r < depth; ++r)
        for (std::int64_t x = 0; x < lanes_; ++x)
          column[r * width + x] = c + x < cols ? *p_.b.at(l + r, j + c + x) : T{0};
    }
    return to;
  }

  const Product<T>& p_;
};

// Loads the first `count` lanes, with zeros after them.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadPart(D d, const T* from, std::int64_t count) {
  if constexpr (kMasks) return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(count)), d, from);
  HWY_ALIGN T part[HWY_MAX_BYTES / sizeof(T)] = {};
  std::copy_n(from, count, part);
  return hn::Load(d, part);
}

// Few rows of A times a large B.

inline constexpr int kStreamRows = 16;

// For contiguous rows of B. A group of B's rows is read from left to right as far as the sums stay in L1; the
// next group is prefetched meanwhile.
template <class T>
class RowStream {
 public:
  explicit RowStream(const Product<T>& p) : p_(p) {}

  static constexpr std::int64_t kSumBytes = 16 << 10;
  static std::int64_t columns(std::int64_t m) {
    return kSumBytes / (m * static_cast<std::int64_t>(sizeof(T))) / lanes_ * lanes_;
  }

  void run(std::int64_t first, std::int64_t last) {
    const std::int64_t most = columns(p_.m);
    const Depth depth = DepthOf<T>(p_.k);
    for (std::int64_t j = first; j < last; j += most) {
      const std::int64_t cols = std::min(most, last - j);
      for (std::int64_t l = 0; l == 0 || l < p_.k; l += depth.block) run_block(j, cols, l, depth.at(l));
    }
  }

 private:
  static constexpr std::int64_t lanes_ = static_cast<std::int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));
  static constexpr int kGroup = 8, kChains = 4;

  void run_block(std::int64_t j, std::int64_t cols, std::int64_t l, std::int64_t depth) {
    const std::int64_t width = (cols + lanes_ - 1) / lanes_ * lanes_;
    std::fill_n(sums_, p_.m * width, T{0});
    std::int64_t r = 0;
    for (; r + kGroup <= depth; r += kGroup) add_rows<kGroup>(j, cols, width, l + r);
    for (; r < depth; ++r) add_rows<1>(j, cols, width, l + r);
    StoreRows(sums_, width, p_.m, cols, DestinationOf(p_, 0, j, l == 0));
  }

  // Adds rows of B to several rows' sums in parallel: a single sum would wait for its own latency.
  template <int kSums, int kRows, class D>
  static HWY_INLINE void add_chains(D d, const T (*a)[kRows], const hn::Vec<D> (&rows)[kRows], T* sums,
                                    std::int64_t cols) {
    hn::Vec<D> chains[kSums];
    SIMT_UNROLL
    for (int i = 0; i < kSums; ++i) chains[i] = hn::LoadU(d, sums + i * cols);
    SIMT_UNROLL
    for (int r = 0; r < kRows; ++r) SIMT_UNROLL
    for (int i = 0; i < kSums; ++i) chains[i] = hn::MulAdd(hn::Set(d, a[i][r]), rows[r], chains[i]);
    SIMT_UNROLL
    for (int i = 0; i < kSums; ++i) hn::StoreU(chains[i], d, sums + i * cols);
  }

  template <int kRows>
  HWY_NOINLINE void add_rows(std::int64_t j, std::int64_t cols, std::int64_t width, std::int64_t l) {
    const hn::ScalableTag<T> d;
    HWY_ALIGN T a[kStreamRows][kRows];
    for (std::int64_t i = 0; i < p_.m; ++i)
      for (int r = 0; r < kRows; ++r) a[i][r] = *p_.a.at(i, l + r);
    const T* HWY_RESTRICT b = p_.b.at(l, j);
    // The next group, or this one again at the end.
    const T* next = p_.b.at(l + (l + 2 * kRows <= p_.k ? kRows : 0), j);
    const std::int64_t row = p_.b.row;
    hn::Vec<decltype(d)> rows[kRows];
    std::int64_t c = 0;
    for (; c + lanes_ <= cols; c += lanes_) {
      SIMT_UNROLL
      for (int r = 0; r < kRows; ++r) {
        rows[r] = hn::LoadU(d, b + r * row + c);
        __builtin_prefetch(next + r * row + c, 0, 2);
      }
      add_vectors(d, a, rows, sums_ + c, width);
    }
    if (c == cols) return;
    for (int r = 0; r < kRows; ++r) rows[r] = LoadPart(d, b + r * row + c, cols - c);
    add_vectors(d, a, rows, sums_ + c, width);
  }

  template <int kRows, class D>
  HWY_INLINE void add_vectors(D d, const T (*a)[kRows], const hn::Vec<D> (&rows)[kRows], T* sums,
                              std::int64_t width) const {
    std::int64_t i = 0;
    for (; i + kChains <= p_.m; i += kChains) add_chains<kChains>(d, a + i, rows, sums + i * width, width);
    if (i + 2 <= p_.m) {
      add_chains<2>(d, a + i, rows, sums + i * width, width);
      i += 2;
    }
    if (i < p_.m) add_chains<1>(d, a + i, rows, sums + i * width, width);
  }

  const Product<T>& p_;
  HWY_ALIGN T sums_[kSumBytes / sizeof(T)];
};

// For contiguous columns of B: up to eight of them are read in parallel and transposed in registers, so that
// each column's sum goes along k like any other. (More columns a power of two apart would evict lines from L1
// before they are read.)
template <class T>
class ColumnStream {
 public:
  explicit ColumnStream(const Product<T>& p) : p_(p) {}
  using Tag = hn::CappedTag<T, 8>;
  static constexpr std::int64_t lanes_ = static_cast<std::int64_t>(hn::MaxLanes(Tag()));

  // Needs at least as many columns as a vector has lanes. The last group overlaps the one before it.
  void run(std::int64_t first, std::int64_t last) {
    place_a(last - first);
    for (std::int64_t j = first; j < last; j += lanes_) {
      const std::int64_t from = std::min(j, p_.n - lanes_);
      run_group(from, j - from, std::min(lanes_, last - from));
    }
  }

 private:
  // Rows of A at a time, limited by the registers for their sums.
  static constexpr int kMost = kTileRows == 8 ? 16 : 8;
  static constexpr std::int64_t kAhead = 1024 / sizeof(T);  // prefetch distance, in elements
  static constexpr std::int64_t kMostCopied = (512 << 10) / sizeof(T);

  // Copies several rows of A, with the elements of a column contiguous: lines of both operands that are a
  // power of two apart would evict each other from L1.
  void place_a(std::int64_t columns) {
    a_ = p_.a;
    if (p_.m == 1 || columns < 16 * lanes_ || p_.m * p_.k > kMostCopied) return;
    T* const to = small_scratch().get<T>(static_cast<std::size_t>(p_.m * p_.k));
    for (std::int64_t l = 0; l < p_.k; ++l)
      for (std::int64_t i = 0; i < p_.m; ++i) to[l * p_.m + i] = *p_.a.at(i, l);
    a_ = {to, 1, p_.m};
  }

  // Computes columns [j, j + lanes), of which [begin, end) are stored.
  void run_group(std::int64_t j, std::int64_t begin, std::int64_t end) {
    const Depth depth = DepthOf<T>(p_.k);
    for (std::int64_t l = 0; l == 0 || l < p_.k; l += depth.block) {
      std::int64_t parts = (p_.m + kMost - 1) / kMost;
      for (std::int64_t i = 0; i < p_.m; --parts) {
        const std::int64_t rows = (p_.m - i + parts - 1) / parts;
        (this->*sums_of(rows, std::make_integer_sequence<int, kMost>()))(i, j, l, depth.at(l), begin, end);
        i += rows;
      }
    }
  }

  using Sum = void (ColumnStream::*)(std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                                     std::int64_t);
  template <int... kLess>
  static Sum sums_of(std::int64_t rows, std::integer_sequence<int, kLess...>) {
    static constexpr Sum all[] = {&ColumnStream::template sum<kLess + 1>...};
    return all[rows - 1];
  }

  template <int kRows>
  HWY_NOINLINE void sum(std::int64_t i, std::int64_t j, std::int64_t l, std::int64_t depth,
                        std::int64_t begin, std::int64_t end) {
    const Tag d;
    constexpr std::int64_t line = 64 / sizeof(T);
    using V = hn::Vec<decltype(d)>;
    V sums[kRows];
    SIMT_UNROLL
    for (int r = 0; r < kRows; ++r) sums[r] = hn::Zero(d);
    const T* HWY_RESTRICT a = a_.at(i, l);
    const T* HWY_RESTRICT b = p_.b.at(l, j);
    const std::int64_t step = p_.b.col, a_row = a_.row, a_col = a_.col;
    std::int64_t s = 0;
    for (; s + line <= depth; s += line) {
      if (i == 0)
        for (std::int64_t c = 0; c < lanes_; ++c) __builtin_prefetch(b + c * step + kAhead, 0, 2);
      SIMT_UNROLL
      for (int x = 0; x < line; x += kBlock<T>) {
        V block[kBlock<T>];
        LoadTransposed(d, b, step, block);
        SIMT_UNROLL
        for (int y = 0; y < kBlock<T>; ++y, a += a_col)
          for (int r = 0; r < kRows; ++r) sums[r] = hn::MulAdd(hn::Set(d, a[r * a_row]), block[y], sums[r]);
        b += kBlock<T>;
      }
    }
    for (; s < depth; ++s, ++b, a += a_col) {
      HWY_ALIGN T row[lanes_];
      for (std::int64_t c = 0; c < lanes_; ++c) row[c] = b[c * step];
      for (int r = 0; r < kRows; ++r)
        sums[r] = hn::MulAdd(hn::Set(d, a[r * a_row]), hn::Load(d, row), sums[r]);
    }
    const Destination<T> out = DestinationOf(p_, i, j + begin, l == 0);
    if (out.whole_vectors && end - begin == lanes_) {
      for (int r = 0; r < kRows; ++r) StoreVector(d, sums[r], out, r, 0);
      return;
    }
    HWY_ALIGN T buffer[kRows * lanes_];
    for (int r = 0; r < kRows; ++r) hn::Store(sums[r], d, buffer + r * lanes_);
    StoreElements(buffer + begin, lanes_, kRows, end - begin, out);
  }

  const Product<T>& p_;
  Strided<const T> a_ = {};
};

void small_f32(const Product<float>& p, const Block& block) { SmallProduct<float>(p).run(block); }
void small_f64(const Product<double>& p, const Block& block) { SmallProduct<double>(p).run(block); }

template <class T>
void RunStream(const Product<T>& p, std::int64_t first, std::int64_t last) {
  if (p.b.col == 1) RowStream<T>(p).run(first, last);
  else ColumnStream<T>(p).run(first, last);
}
void stream_f32(const Product<float>& p, std::int64_t first, std::int64_t last) { RunStream(p, first, last); }
void stream_f64(const Product<double>& p, std::int64_t first, std::int64_t last) {
  RunStream(p, first, last);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::matmul
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tessera/core/device/parallel.hpp"

namespace tessera::matmul {

Scratch& small_scratch() {
  thread_local Scratch scratch;
  return scratch;
}

namespace {

HWY_EXPORT(small_f32);
HWY_EXPORT(small_f64);
HWY_EXPORT(stream_f32);
HWY_EXPORT(stream_f64);

template <class T>
void run_small(const Product<T>& p, const Block& block) {
  if constexpr (std::is_same_v<T, float>) HWY_DYNAMIC_DISPATCH(small_f32)(p, block);
  else HWY_DYNAMIC_DISPATCH(small_f64)(p, block);
}

template <class T>
void run_stream(const Product<T>& p, std::int64_t first, std::int64_t last) {
  if constexpr (std::is_same_v<T, float>) HWY_DYNAMIC_DISPATCH(stream_f32)(p, first, last);
  else HWY_DYNAMIC_DISPATCH(stream_f64)(p, first, last);
}

// Sets a stride along a dimension of extent 1, which is arbitrary, to 1 if the other stride is not.
template <class T>
void settle(Strided<T>& x, std::int64_t rows, std::int64_t cols) {
  if (cols == 1 && x.row != 1) x.col = 1;
  if (rows == 1 && x.col != 1) x.row = 1;
}

constexpr std::int64_t small_side = 512, few = 16, vector_elements = 16;

int useful_threads(double work, int threads) {
  constexpr double thread_work = 128.0 * 128 * 64;  // multiply-adds that repay the start of another thread
  if (threads == 1 || work < 2 * thread_work || is_contended()) return 1;
  return static_cast<int>(std::min(work / thread_work, static_cast<double>(threads)));
}

template <class T>
double work_of(const Product<T>& p) {
  return static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k + 1);
}

// True if B is large, is read once, and can be streamed. (Of one row and a long k, few columns are too many
// for the loops of small products.) ColumnStream needs as many columns as its widest vector has lanes.
template <class T>
bool is_streamed(const Product<T>& p) {
  constexpr std::int64_t large = (256 << 10) / sizeof(T), widest = 8;
  return p.m <= few && (p.n >= 4 * vector_elements || (p.m == 1 && p.k > small_side)) && p.k > 0 &&
         (p.b.col == 1 || (p.b.row == 1 && p.n >= widest)) && (p.m == 1 || p.n >= large / p.k);
}

template <class T>
void stream(const Product<T>& p, int threads) {
  // The work is memory-bound: loading an element of B takes as long as eight multiply-adds.
  const int parts = useful_threads(work_of(p) * 8 / static_cast<double>(p.m), threads);
  if (parts == 1) return run_stream(p, 0, p.n);
  const std::int64_t share = even_part(p.n, (p.n + parts - 1) / parts, vector_elements);
  parallel(parts,
           [&](int part) { run_stream(p, std::min(part * share, p.n), std::min((part + 1) * share, p.n)); });
}

// Computes products of few rows or columns, which become rows of A.
template <class T>
bool multiply_few(Product<T>& p, int threads) {
  if (p.m > few || (p.n <= few && p.m > p.n)) p = exchanged(p);
  if (!is_streamed(p)) return false;
  stream(p, threads);
  return true;
}

template <class T>
void multiply_parts(const Product<T>& p, int parts) {
  const ThreadGrid grid = thread_grid(p.m, p.n, parts, 8, 64 / static_cast<std::int64_t>(sizeof(T)));
  parallel(static_cast<int>(grid.down * grid.across),
           [&](int part) { run_small(p, grid.block(part, p.m, p.n)); });
}

}  // namespace

template <class T>
bool multiply_small(Product<T>& p, int threads) {
  const bool is_small = p.m <= small_side && p.n <= small_side && p.k <= small_side;
  const bool has_few = p.m <= few || p.n <= few;
  if ((!is_small && !has_few) || p.adds || p.after != nullptr) return false;
  if (p.m == 0 || p.n == 0) return true;
  settle(p.a, p.m, p.k);
  settle(p.b, p.k, p.n);
  settle(p.c, p.m, p.n);
  if (p.beta != T{0}) settle(p.c0, p.m, p.n);
  if (has_few && (p.m >= 4 * vector_elements || p.n >= 4 * vector_elements || !is_small)) {
    if (multiply_few(p, threads)) return true;
    if (!is_small) return false;
  }
  if (p.c.col != 1 && p.c.row == 1) p = exchanged(p);
  const int parts = useful_threads(work_of(p), threads);
  if (parts == 1) run_small(p, {0, p.m, 0, p.n});
  else multiply_parts(p, parts);
  return true;
}

template bool multiply_small(Product<float>&, int);
template bool multiply_small(Product<double>&, int);

}  // namespace tessera::matmul
#endif
