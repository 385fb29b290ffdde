// SPDX-License-Identifier: Apache-2.0
// The product of elements of 16 and 8 bits for each instruction set: panels of B and strips of A are packed
// into words of 32 bits, the tiles of simd-inl.h sum words, and the epilogue follows strip by strip.
//
//   bf16         pairs by vdpbf16ps if no product or sum can be subnormal, which it flushes; else f32
//   f16, 8 bits  f32
//   i8           quads by vpdpbusd, else pairs of i16 by vpmaddwd, else i32
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/matmul/kernels/cpu/packed.cpp"
#include "tessera/core/device/vector_targets.hpp"
#include <hwy/foreach_target.h>
#include <bit>
#include <cstring>
#include "ops/matmul/gemm/operands.hpp"
#include "ops/matmul/kernels/cpu/packed.hpp"
#include "ops/matmul/kernels/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::matmul {
namespace HWY_NAMESPACE {

// A word of 32 bits holds one or more units along k. Words are read as such, units written into them.
using Unit16 [[gnu::may_alias]] = std::uint16_t;
using Unit32 [[gnu::may_alias]] = std::uint32_t;

struct OfFloats : OneElement<float> {
  using Unit = float;
};
struct OfIntegers : OneElement<std::uint32_t> {
  using Unit = Unit32;
};

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSE2
struct PairsOfI16 {
  using Word = std::uint32_t;
  using Sum = std::uint32_t;
  using Unit = Unit16;

  template <class V>
  static HWY_INLINE V Add(V a, V b, V sum) {
    const hn::ScalableTag<std::int32_t> d;
    const hn::Repartition<std::int16_t, decltype(d)> pairs;
    auto unused = hn::Zero(d);
    return hn::BitCast(hn::ScalableTag<std::uint32_t>(),
                       hn::ReorderWidenMulAccumulate(d, hn::BitCast(pairs, a), hn::BitCast(pairs, b),
                                                     hn::BitCast(d, sum), unused));
  }
};
#endif

#if HWY_TARGET == HWY_AVX3
// Assembler, because the functions of this target are not compiled for these instructions.
struct PairsOfBf16 {
  using Word = std::uint32_t;
  using Sum = float;
  using Unit = Unit16;

  // Adds the product of the upper halves first.
  template <class V, class S>
  static HWY_INLINE S Add(V a, V b, S sum) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
    return sum;
  }
};

// The elements of A are unsigned: 128 is added to each, and 128 times B's sum subtracted in the end.
struct QuadsOfI8 {
  using Word = std::uint32_t;
  using Sum = std::uint32_t;
  using Unit = std::uint8_t;

  template <class V>
  static HWY_INLINE V Add(V a, V b, V sum) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
    return sum;
  }
};
#else
struct QuadsOfI8;
#endif

// Conversion of contiguous elements. (They are copied by memmove, because g++ makes string instructions of
// memcpy, which start late.)

inline constexpr bool kF16 = (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2) || HWY_ARCH_ARM_A64;

template <class T>
void WidenEach(const void* from, std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = static_cast<float>(widened(static_cast<const T*>(from)[i]));
}

void WidenF16(const f16* from, std::int64_t count, float* to) {
  std::int64_t i = 0;
  if constexpr (kF16) {
    const hn::ScalableTag<float> d;
    const hn::Rebind<hwy::float16_t, decltype(d)> d16;
    for (const auto lanes = static_cast<std::int64_t>(hn::Lanes(d)); i + lanes <= count; i += lanes)
      hn::StoreU(hn::PromoteTo(d, hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(from + i))), d,
                 to + i);
  }
  WidenEach<f16>(from + i, count - i, to + i);
}

void Widen(Element element, const void* from, std::int64_t count, float* to) {
  switch (element) {
    case Element::bf16:
      for (std::int64_t i = 0; i < count; ++i)
        to[i] = std::bit_cast<float>(std::uint32_t{static_cast<const bf16*>(from)[i].bits} << 16);
      return;
    case Element::f16:
      return WidenF16(static_cast<const f16*>(from), count, to);
    case Element::e4m3:
      return WidenEach<e4m3>(from, count, to);
    case Element::e5m2:
      return WidenEach<e5m2>(from, count, to);
    case Element::i8:
      for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<const std::int8_t*>(from)[i];
      return;
    default:
      std::copy_n(static_cast<const float*>(from), count, to);
  }
}
void Widen(Element, const void* from, std::int64_t count, Unit32* to) {
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = static_cast<std::uint32_t>(std::int32_t{static_cast<const std::int8_t*>(from)[i]});
}
void Widen(Element element, const void* from, std::int64_t count, Unit16* to) {
  if (element == Element::bf16) {
    std::memmove(to, from, static_cast<std::size_t>(count) * sizeof *to);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = static_cast<std::uint16_t>(std::int16_t{static_cast<const std::int8_t*>(from)[i]});
}
void Widen(Element, const void* from, std::int64_t count, std::uint8_t* to) {
  std::memmove(to, from, static_cast<std::size_t>(count));
}

// Rounds to C's element. Reads and writes whole vectors.
void Narrow(Element element, const float* from, std::int64_t count, void* to) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  switch (element) {
    case Element::bf16:
      for (std::int64_t i = 0; i < count; ++i) {
        const auto bits = std::bit_cast<std::uint32_t>(from[i]);
        const bool nan = (bits & 0x7fffffff) > 0x7f800000;
        const std::uint32_t even = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
        static_cast<std::uint16_t*>(to)[i] = static_cast<std::uint16_t>(nan ? bits >> 16 | 0x40 : even);
      }
      return;
    case Element::f16:
      if constexpr (kF16) {
        const hn::Rebind<hwy::float16_t, decltype(d)> d16;
        for (std::int64_t i = 0; i < count; i += lanes)
          hn::StoreU(hn::DemoteTo(d16, hn::LoadU(d, from + i)), d16, static_cast<hwy::float16_t*>(to) + i);
      } else {
        for (std::int64_t i = 0; i < count; ++i) static_cast<f16*>(to)[i] = f16::from(from[i]);
      }
      return;
    case Element::i8:
      for (std::int64_t i = 0; i < count; i += lanes) {
        const auto x = hn::LoadU(d, from + i), held = hn::IfThenElseZero(hn::Eq(x, x), x),
                   most = hn::Min(hn::Max(held, hn::Set(d, -128.0f)), hn::Set(d, 127.0f));
        const hn::Rebind<std::int8_t, decltype(d)> d8;
        hn::StoreU(hn::DemoteTo(d8, hn::NearestInt(most)), d8, static_cast<std::int8_t*>(to) + i);
      }
      return;
    default:
      std::copy_n(from, count, static_cast<float*>(to));
  }
}

// Calls f with a null pointer to a type of `bytes` bytes, for copies.
template <class F>
void OfSize(std::size_t bytes, const F& f) {
  if (bytes == 1) f(static_cast<std::uint8_t*>(nullptr));
  else if (bytes == 2) f(static_cast<Unit16*>(nullptr));
  else f(static_cast<Unit32*>(nullptr));
}

const char* At(const void* data, Element element, std::int64_t offset) {
  return static_cast<const char*>(data) + offset * static_cast<std::int64_t>(size_of(element));
}

// Returns the address of elements that are `step` apart: their own if they are contiguous, else a copy's.
const void* Contiguous(Element element, const void* from, std::int64_t step, std::int64_t count, void* copy) {
  if (step == 1) return from;
  OfSize(size_of(element), [&]<class T>(T*) {
    for (std::int64_t i = 0; i < count; ++i) static_cast<T*>(copy)[i] = static_cast<const T*>(from)[i * step];
  });
  return copy;
}

// A or B, the same way round.
struct Side {
  Side(const Operand& x, std::int64_t along_k, std::int64_t across_k)
      : data(static_cast<const char*>(x.data)),
        element(x.element),
        size(static_cast<std::int64_t>(size_of(x.element))),
        along(along_k),
        across(across_k) {}

  const char* at(std::int64_t line, std::int64_t l) const {
    return data + (line * across + l * along) * size;
  }

  const char* data;
  Element element;
  std::int64_t size, along, across;  // strides along k and from line to line
};

// One thread's block of C.
template <class Step>
class PackedProduct {
  using Word = typename Step::Word;
  using Sum = typename Step::Sum;
  using Unit = typename Step::Unit;

 public:
  PackedProduct(const PackedProblem& p, const Block& block)
      : p_(p),
        block_(block),
        a_(p.a, p.a.col_stride, p.a.row_stride),
        b_(p.b, p.b.row_stride, p.b.col_stride) {
    const CacheSizes cache = cache_sizes();
    const std::int64_t wanted =
        wanted_depth(cache, sizeof(Word), kTileRows) * (std::is_integral_v<Sum> ? kGroup : 1);
    depth_ = near_part(p.k, wanted, 16);
    const std::int64_t words = std::max<std::int64_t>(1, words_of(std::min(depth_, p.k))),
                       panels = (block.last_col - block.first_col + kPanel - 1) / kPanel,
                       most = std::min(panels, panels_limit(cache, sizeof(Word), words, kPanel));
    parts_ = (panels + most - 1) / most;
    width_ = (panels + parts_ - 1) / parts_ * kPanel;
    rows_ = depth_ < p.k ? std::min<std::int64_t>(block.last_row - block.first_row, kRowsSummed) : 0;
    line_ = words + 64 / sizeof(Word);  // lines a power of two apart would evict each other from L1
    const std::int64_t of_b = words * width_, of_sums = std::max(rows_, kRowsPacked) * width_,
                       of_a = line_ * kRowsPacked;
    thread_local Scratch scratch;
    to_b_ =
        scratch.get<Word>(static_cast<std::size_t>(of_b + of_sums + width_ + of_a + line_ * kLines + depth_));
    sums_ = reinterpret_cast<Sum*>(to_b_ + of_b);
    minus_ = sums_ + of_sums;
    to_a_ = to_b_ + of_b + of_sums + width_;
    transposed_ = to_a_ + of_a;
    raw_ = transposed_ + line_ * kLines;
  }

  void run() {
    if constexpr (kIsPlain)
      if (has_few_elements(p_)) return run_few_elements();
    const std::int64_t chunk = rows_ > 0 ? rows_ : block_.last_row - block_.first_row;
    for (std::int64_t i = block_.first_row; i < block_.last_row; i += chunk)
      for (std::int64_t j = block_.first_col; j < block_.last_col; j += width_)
        for (std::int64_t l = 0; l == 0 || l < p_.k; l += depth_)
          run_depth(i, std::min(i + chunk, block_.last_row), j, std::min(width_, block_.last_col - j), l);
  }

  void store_rows(Sum* sums) {
    const std::int64_t width = block_.last_col - block_.first_col;
    for (std::int64_t i = block_.first_row; i < block_.last_row; ++i)
      for (std::int64_t c = 0; c < width; c += kRow)
        store(i, block_.first_col + c, std::min(kRow, width - c), sums + i * width + c, nullptr);
  }

 private:
  static constexpr std::int64_t kGroup = sizeof(Word) / sizeof(Unit);
  // True if a word holds one element, or elements whose sums are exact in any order.
  static constexpr bool kIsPlain = kGroup == 1 || (kGroup == 2 && std::is_integral_v<Sum>);
  static constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(SumTag<Step>()));
  static constexpr std::int64_t kPanel = kLanes * kTileVectors, kRowsPacked = 16, kRowsSummed = 512,
                                kRow = 256,  // columns whose epilogue is computed at a time
      kLines = std::max(kLanes, kFewElements);

  static std::int64_t words_of(std::int64_t depth) { return (depth + kGroup - 1) / kGroup; }

  // Sums along k from lines of A and B, without panels. Floats are summed in the order of the tiles, four
  // elements of C at a time to hide the latency of an addition; integers by vectors along k, padded with
  // zeros behind A.
  void run_few_elements() {
    constexpr int kAtOnce = std::is_integral_v<Sum> ? 1 : 4;
    using D = std::conditional_t<std::is_integral_v<Sum>, WordTag<Step>, hn::CappedTag<Sum, 1>>;
    const D d;
    const std::int64_t count = p_.m * p_.n;
    for (std::int64_t l = 0; l == 0 || l < p_.k; l += depth_) {
      const std::int64_t depth = std::min(depth_, p_.k - l), words = words_of(depth);
      pack_lines(a_, 0, p_.m, l, depth, to_a_);
      pack_lines(b_, 0, p_.n, l, depth, transposed_);
      for (std::int64_t i = 0; i < p_.m; ++i) std::fill_n(to_a_ + i * line_ + words, kLanes, Word{0});
      for (std::int64_t x = 0; x < count; x += kAtOnce) {
        const Word *a[kAtOnce], *b[kAtOnce];
        hn::Vec<D> sums[kAtOnce];
        for (int q = 0; q < kAtOnce; ++q) {
          const std::int64_t at = std::min(x + q, count - 1);
          a[q] = to_a_ + at / p_.n * line_;
          b[q] = transposed_ + at % p_.n * line_;
          sums[q] = hn::Zero(d);
        }
        for (std::int64_t w = 0; w < words; w += static_cast<std::int64_t>(hn::Lanes(d)))
          for (int q = 0; q < kAtOnce; ++q)
            sums[q] = Step::Add(hn::LoadU(d, a[q] + w), hn::LoadU(d, b[q] + w), sums[q]);
        for (int q = 0; q < kAtOnce; ++q) {
          const Sum sum = hn::GetLane(hn::SumOfLanes(d, sums[q]));
          sums_[x + q] = l == 0 ? sum : sums_[x + q] + sum;
        }
      }
    }
    for (std::int64_t i = 0; i < p_.m; ++i) store(i, 0, p_.n, sums_ + i * p_.n, nullptr);
  }

  void run_depth(std::int64_t first, std::int64_t last, std::int64_t j, std::int64_t width, std::int64_t l) {
    const std::int64_t depth = std::min(depth_, p_.k - l), words = words_of(depth);
    for (std::int64_t c = 0; c < width; c += kPanel)
      pack_panel(j + c, std::min(kPanel, width - c), l, depth, c);
    for (std::int64_t i = first; i < last; i += kRowsPacked) {
      const std::int64_t rows = std::min(kRowsPacked, last - i);
      pack_rows(i, rows, l, depth);
      Sum* const sums = sums_ + (rows_ > 0 ? i - first : 0) * width_;
      for (std::int64_t r = 0; r < rows; r += kTileRows)
        for (std::int64_t c = 0; c < width; c += kPanel) {
          const std::int64_t vectors = (std::min(kPanel, width - c) + kLanes - 1) / kLanes;
          TileOf<Step>(std::min<std::int64_t>(kTileRows, rows - r), vectors)(
              {to_a_ + r * line_, line_, to_b_ + c * words, kPanel, words, nullptr, 0},
              {{sums + r * width_ + c, width_, 1}, {nullptr, 0, 0}, Sum{1}, Sum{0}, l > 0, true},
              vectors * kLanes);
        }
      if (l + depth < p_.k) continue;
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < width; c += kRow)
          store(i + r, j + c, std::min(kRow, width - c), sums + r * width_ + c, minus_ + c);
    }
  }

  // Sums of f32 take the second of two bf16 first, like vdpbf16ps.
  static std::int64_t swapped(Element element, std::int64_t l, std::int64_t depth) {
    return kGroup == 1 && element == Element::bf16 && (l ^ 1) < depth ? l ^ 1 : l;
  }

  // Writes words line by line, from elements of any stride along k.
  void pack_lines(const Side& side, std::int64_t line, std::int64_t count, std::int64_t l, std::int64_t depth,
                  Word* to) {
    for (std::int64_t r = 0; r < count; ++r, to += line_) {
      auto* const units = reinterpret_cast<Unit*>(to);
      Widen(side.element, Contiguous(side.element, side.at(line + r, l), side.along, depth, raw_), depth,
            units);
      if (swapped(side.element, 0, 2) == 1)
        for (std::int64_t s = 0; s + 1 < depth; s += 2) std::swap(units[s], units[s + 1]);
      for (std::int64_t s = depth; s < words_of(depth) * kGroup; ++s) units[s] = Unit{0};
    }
  }

  // Writes a panel of `width` words, from contiguous elements across k; zeros beyond `count` lines.
  void pack_across(const Side& side, std::int64_t line, std::int64_t count, std::int64_t l,
                   std::int64_t depth, Word* to, std::int64_t width) {
    if constexpr (kGroup == 1) {
      for (std::int64_t w = 0; w < depth; ++w, to += width) {
        Widen(side.element, side.at(line, l + swapped(side.element, w, depth)), count, to);
        std::fill(to + count, to + width, Word{0});
      }
    } else {
      HWY_ALIGN Unit copies[kGroup][kPanel] = {};
      const Unit* rows[kGroup];
      const bool in_place = side.element == Element::bf16 || sizeof(Unit) == 1;
      for (std::int64_t w = 0; w < depth; w += kGroup, to += width) {
        for (std::int64_t g = 0; g < kGroup; ++g) {
          rows[g] = copies[g];
          const char* const from = side.at(line, l + std::min(w + g, depth - 1));
          if (w + g >= depth) std::fill_n(copies[g], width, Unit{0});
          else if (in_place && count == width) rows[g] = reinterpret_cast<const Unit*>(from);
          else Widen(side.element, from, count, copies[g]);
        }
        interleave(rows, width, to);
      }
    }
  }

  static void interleave(const Unit* const (&rows)[kGroup], std::int64_t width, Word* to) {
    const hn::ScalableTag<Word> d;
    const hn::Rebind<std::conditional_t<sizeof(Unit) == 1, std::uint8_t, std::uint16_t>, decltype(d)> narrow;
    const auto at = [&](int g, std::int64_t c) { return hn::PromoteTo(d, hn::LoadU(narrow, rows[g] + c)); };
    for (std::int64_t c = 0; c < width; c += kLanes)
      if constexpr (kGroup == 4) {
        const auto lower = hn::Or(at(0, c), hn::ShiftLeft<8>(at(1, c))),
                   upper = hn::Or(hn::ShiftLeft<16>(at(2, c)), hn::ShiftLeft<24>(at(3, c)));
        hn::StoreU(hn::Or(lower, upper), d, to + c);
      } else {
        hn::StoreU(hn::Or(at(0, c), hn::ShiftLeft<16>(at(1, c))), d, to + c);
      }
  }

  void pack_rows(std::int64_t i, std::int64_t rows, std::int64_t l, std::int64_t depth) {
    if (a_.across == 1 && a_.along != 1) {
      for (std::int64_t r = 0; r < rows; r += kLanes) {
        pack_across(a_, i + r, std::min(kLanes, rows - r), l, depth, transposed_, kLanes);
        Transpose(transposed_, kLanes, words_of(depth), kLanes, to_a_ + r * line_, line_);
      }
    } else {
      pack_lines(a_, i, rows, l, depth, to_a_);
    }
    if constexpr (std::is_same_v<Step, QuadsOfI8>)
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t w = 0; w < words_of(depth); ++w) to_a_[r * line_ + w] ^= 0x80808080;
  }

  // `c`: the panel's first column in this part of B.
  void pack_panel(std::int64_t j, std::int64_t cols, std::int64_t l, std::int64_t depth, std::int64_t c) {
    const std::int64_t words = words_of(depth);
    Word* const to = to_b_ + c * words;
    if (b_.across == 1) {
      pack_across(b_, j, cols, l, depth, to, kPanel);
    } else {
      for (std::int64_t x = 0; x < cols; x += kLanes) {
        const std::int64_t lines = std::min(cols - x, kLanes);
        pack_lines(b_, j + x, lines, l, depth, transposed_);
        for (std::int64_t r = lines; r < kLanes; ++r) std::fill_n(transposed_ + r * line_, words, Word{0});
        Transpose(transposed_, line_, kLanes, words, to + x, kPanel);
      }
    }
    if constexpr (std::is_same_v<Step, QuadsOfI8>) {
      const SumTag<Step> d;
      for (std::int64_t x = 0; x < cols; x += kLanes) {
        auto sum = l == 0 ? hn::Zero(d) : hn::LoadU(d, minus_ + c + x);
        for (std::int64_t w = 0; w < words; ++w)
          sum = Step::Add(hn::Set(d, 0x80808080), hn::LoadU(d, to + w * kPanel + x), sum);
        hn::StoreU(sum, d, minus_ + c + x);
      }
    }
  }

  template <class T>
  const T* widened_row(Element element, const void* data, std::int64_t offset, std::int64_t step,
                       std::int64_t count, T* to) {
    const void* from = Contiguous(element, At(data, element, offset), step, count, copied_);
    if constexpr (std::is_same_v<T, float>) Widen(element, from, count, to);
    else std::memmove(to, from, static_cast<std::size_t>(count) * sizeof *to);
    return to;
  }

  // The epilogue of a part of a row. It is kept: one that is made anew for each row is read before its
  // stores have left the store buffer.
  template <class T>
  static EpilogueProblem<T> epilogue_of(const PackedProblem& p) {
    EpilogueProblem<T> e;
    e.batch = e.m = 1;
    e.of_c.col = e.of_sums.col = e.of_bias.col = e.of_c0.col = 1;
    e.post_op = p.post_op;
    if constexpr (std::is_same_v<T, float>) {
      e.scaled = true;
      e.alpha = p.alpha;
      e.beta = p.beta;
      (p.exchanged ? e.of_scale_a : e.of_scale_b).col = p.scale_b_stride;
    }
    return e;
  }

  template <class T>
  void run_epilogue(EpilogueProblem<T>& e, std::int64_t i, std::int64_t j, std::int64_t count, const T* sums,
                    T* to) {
    HWY_ALIGN T bias[kRow];
    e.sums = sums;
    e.c = to;
    if (p_.bias != nullptr)
      e.bias = widened_row(p_.bias_element, p_.bias, i * p_.bias_row_stride + j * p_.bias_col_stride,
                           p_.bias_col_stride, count, bias);
    EpilogueRow(e, 0, 0, 0, count);
  }

  // Stores C, with the roundings of Epilogue.
  void store(std::int64_t i, std::int64_t j, std::int64_t count, Sum* sums, const Sum* minus) {
    if constexpr (std::is_same_v<Step, QuadsOfI8>)
      for (std::int64_t c = 0; c < count; ++c) sums[c] -= minus[c];
    const std::int64_t of_c0 = i * p_.c0.row_stride + j * p_.c0.col_stride;
    HWY_ALIGN float x[kRow], added[kRow];
    if constexpr (std::is_integral_v<Sum>) {
      if (p_.c_element == Element::i32) return store_integers(i, j, count, sums, of_c0);
      for (std::int64_t c = 0; c < count; ++c) x[c] = static_cast<float>(static_cast<std::int32_t>(sums[c]));
    }
    const float* from = x;
    if constexpr (!std::is_integral_v<Sum>) from = sums;
    const float *&of_row = p_.exchanged ? floats_.scale_b : floats_.scale_a,
                *&of_cols = p_.exchanged ? floats_.scale_a : floats_.scale_b;
    if (p_.k != 0 && p_.scale_a != nullptr) of_row = p_.scale_a + i * p_.scale_a_stride;
    if (p_.k != 0 && p_.scale_b != nullptr) of_cols = p_.scale_b + j * p_.scale_b_stride;
    if (p_.beta != 0)
      floats_.c0 = widened_row(p_.c0.element, p_.c0.data, of_c0, p_.c0.col_stride, count, added);
    run_epilogue(floats_, i, j, count, from, x);
    HWY_ALIGN char out[kRow * sizeof(float)];
    Narrow(p_.c_element, x, count, out);
    put(i, j, count, out);
  }

  // Integers modulo 2^32.
  void store_integers(std::int64_t i, std::int64_t j, std::int64_t count, const Sum* sums,
                      std::int64_t of_c0) {
    const auto whole = [](float factor) {
      return static_cast<std::uint32_t>(static_cast<std::int64_t>(factor));
    };
    const std::uint32_t alpha = whole(p_.alpha), beta = whole(p_.beta);
    HWY_ALIGN std::int32_t x[kRow], added[kRow];
    for (std::int64_t c = 0; c < count; ++c)
      x[c] = static_cast<std::int32_t>(alpha * static_cast<std::uint32_t>(sums[c]));
    if (p_.beta != 0) {
      (void)widened_row(p_.c0.element, p_.c0.data, of_c0, p_.c0.col_stride, count, added);
      for (std::int64_t c = 0; c < count; ++c)
        x[c] = static_cast<std::int32_t>(static_cast<std::uint32_t>(x[c]) +
                                         beta * static_cast<std::uint32_t>(added[c]));
    }
    run_epilogue<std::int32_t>(integers_, i, j, count, x, x);
    put(i, j, count, x);
  }

  void put(std::int64_t i, std::int64_t j, std::int64_t count, const void* from) const {
    OfSize(size_of(p_.c_element), [&]<class T>(T*) {
      T* const to = static_cast<T*>(p_.c) + i * p_.c_row_stride + j * p_.c_col_stride;
      if (p_.c_col_stride == 1) std::memmove(to, from, static_cast<std::size_t>(count) * sizeof(T));
      else
        for (std::int64_t c = 0; c < count; ++c) to[c * p_.c_col_stride] = static_cast<const T*>(from)[c];
    });
  }

  const PackedProblem& p_;
  const Block block_;
  const Side a_, b_;
  std::int64_t depth_, parts_, width_, rows_, line_;
  Word *to_b_, *to_a_, *transposed_;
  void* raw_;
  Sum *sums_, *minus_;
  EpilogueProblem<float> floats_ = epilogue_of<float>(p_);
  EpilogueProblem<std::int32_t> integers_ = epilogue_of<std::int32_t>(p_);
  HWY_ALIGN char copied_[kRow * sizeof(float)];
};

template <class Step>
void RunPacked(const PackedProblem& p, const Block& block) {
  if (block.first_row < block.last_row && block.first_col < block.last_col)
    PackedProduct<Step>(p, block).run();
}

void run_packed(const PackedProblem& p, const Block& block, [[maybe_unused]] bool dots) {
  const bool whole = p.a.element == Element::i8;
#if HWY_TARGET == HWY_AVX3
  if (dots) return whole ? RunPacked<QuadsOfI8>(p, block) : RunPacked<PairsOfBf16>(p, block);
#endif
  if (!whole) return RunPacked<OfFloats>(p, block);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSE2
  RunPacked<PairsOfI16>(p, block);
#else
  RunPacked<OfIntegers>(p, block);
#endif
}

void store_floats(const PackedProblem& p, const Block& rows, float* sums) {
  PackedProduct<OfFloats>(p, rows).store_rows(sums);
}
void store_integers(const PackedProblem& p, const Block& rows, std::uint32_t* sums) {
  PackedProduct<OfIntegers>(p, rows).store_rows(sums);
}

// Returns the least magnitude but 0 of lines [first, last), its bits less 1.
std::uint16_t least_magnitude(const std::uint16_t* data, std::int64_t first, std::int64_t last,
                              std::int64_t count, std::int64_t line, std::int64_t step) {
  std::uint16_t least = 0xffff;
  const auto take = [&](std::uint16_t bits) {
    least = std::min(least, static_cast<std::uint16_t>((bits & 0x7fff) - 1));
  };
  for (std::int64_t i = first; i < last; ++i) {
    const std::uint16_t* const from = data + i * line;
    if (step == 1)
      for (std::int64_t j = 0; j < count; ++j) take(from[j]);
    else
      for (std::int64_t j = 0; j < count; ++j) take(from[j * step]);
  }
  return least;
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::matmul
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <atomic>
#include "tessera/core/device/parallel.hpp"

namespace tessera::matmul {
namespace {

HWY_EXPORT(run_packed);
HWY_EXPORT(store_floats);
HWY_EXPORT(store_integers);
HWY_EXPORT(least_magnitude);

// Returns the exponent field of the least magnitude but 0 of an operand of bf16; 0: there are subnormal
// numbers.
int least_exponent(const Operand& x, std::int64_t rows, std::int64_t cols, int threads) {
  constexpr std::int64_t worth_a_thread = 1 << 16;
  std::int64_t line = x.row_stride, step = x.col_stride;
  if (line == 1) {
    std::swap(rows, cols);
    std::swap(line, step);
  }
  const auto parts = static_cast<int>(
      std::clamp<std::int64_t>(rows * cols / worth_a_thread, 1, std::min<std::int64_t>(threads, rows)));
  std::atomic<int> least = 0xffff;
  parallel(parts, [&](int part) {
    const int own =
        HWY_DYNAMIC_DISPATCH(least_magnitude)(static_cast<const std::uint16_t*>(x.data), rows * part / parts,
                                              rows * (part + 1) / parts, cols, line, step);
    for (int seen = least; own < seen && !least.compare_exchange_weak(seen, own);) {
    }
  });
  return (least + 1) >> 7;
}

// True if vdpbf16ps rounds as f32 does. Every sum is a multiple of the product of the last places of the
// smallest elements; if that is no subnormal number, nothing is flushed to 0.
bool never_flushes(const MixedProblem& p, int threads) {
  constexpr int bias = 127, least_sum = 2 * bias - 126 + 2 * 7;
  if (p.k == 0) return true;
  const int a = least_exponent(p.a, p.m, p.k, threads);
  if (a == 0) return false;
  const int b = least_exponent(p.b, p.k, p.n, threads);
  return b > 0 && a + b >= least_sum;
}

}  // namespace

DotInstructions dot_instructions() {
#if HWY_ARCH_X86
  static const DotInstructions found{__builtin_cpu_supports("avx512bf16") != 0,
                                     __builtin_cpu_supports("avx512vnni") != 0};
  return found;
#else
  return {};
#endif
}

void multiply_packed(const MixedProblem& given, int threads, const DotInstructions& may) {
  if (given.m == 0 || given.n == 0) return;
  // Vectors lie along rows of C: a few columns are computed as rows.
  const bool by_columns =
      (given.c_col_stride != 1 && given.c_row_stride == 1) || (given.n < 8 && given.m > given.n);
  const PackedProblem p{by_columns ? given.transposed() : given, by_columns};
  const bool dots =
      !has_few_elements(p) && ((p.a.element == Element::i8 && may.i8) ||
                               (p.a.element == Element::bf16 && may.bf16 && never_flushes(p, threads)));
  constexpr std::int64_t min_work = 32 * 32 * 32;  // products worth another thread
  const double work = static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k + 1);
  const int useful = static_cast<int>(std::clamp(work / min_work, 1.0, static_cast<double>(threads)));
  const ThreadGrid grid = thread_grid(p.m, p.n, useful, 8, 16);
  parallel(static_cast<int>(grid.down * grid.across), [&](int part) {
    HWY_DYNAMIC_DISPATCH(run_packed)(p, grid.block(part, p.m, p.n), dots);
  });
}

template <class Sum>
void store_packed(const MixedProblem& p, Sum* sums, int threads) {
  if (p.m == 0 || p.n == 0) return;
  const auto parts = static_cast<int>(std::min<std::int64_t>(threads, p.m));
  parallel(parts, [&](int part) {
    const Block rows{p.m * part / parts, p.m * (part + 1) / parts, 0, p.n};
    if constexpr (std::is_same_v<Sum, float>) HWY_DYNAMIC_DISPATCH(store_floats)({p}, rows, sums);
    else HWY_DYNAMIC_DISPATCH(store_integers)({p}, rows, reinterpret_cast<std::uint32_t*>(sums));
  });
}

template void store_packed(const MixedProblem&, float*, int);
template void store_packed(const MixedProblem&, std::int32_t*, int);

}  // namespace tessera::matmul
#endif
