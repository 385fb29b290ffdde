// SPDX-License-Identifier: Apache-2.0
// CPU rung 2: vectors, rows kept in a buffer, all cores. The fastest CPU rung.
//
// A strip of the picture is processed from top to bottom: each row is read once, extended beyond its edges in
// a copy, and kept for as many rows as the kernel has. Four vectors of sums stay in registers for all taps;
// if 16 bits hold every sum of bytes, rows are kept as bytes, and even and odd bytes are summed apart without
// shuffles. A separable kernel sums a row when it is read; one of bytes sums down the columns first, where 16
// bits are enough, and then pairs of taps along the row. Highway compiles the strip for each instruction
// set and selects one at run time. Sums are in the order of the definition, so results are bitwise identical
// to those of the previous rung. Memory limits small kernels; products limit large ones.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/filter/cpu_02_simd.cpp"
#include "tessera/core/device/vector_targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/cache_control.h>
#include <hwy/highway.h>
#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <tuple>
#include <vector>
#include "filter.hpp"
#include "tessera/core/array/fused-inl.h"

#ifndef TESSERA_FILTER_STRIP
#define TESSERA_FILTER_STRIP
namespace tessera::filtering {

// Columns first … last − 1, rows begin … end − 1 of picture n's result. `past_caches`: non-temporal stores,
// for a result that the caches would not hold.
struct Piece {
  std::int64_t n;
  int first, last, begin, end;
  bool past_caches = false;
};

// The functions of one instruction set.
template <class T>
using OnPiece = void (*)(const Problem<T>&, const Piece&);
using OnPieces = std::tuple<OnPiece<std::uint8_t>, OnPiece<std::uint16_t>, OnPiece<std::int16_t>,
                            OnPiece<f16>, OnPiece<float>>;

// A weight and the row of samples that it multiplies.
template <class A>
struct Tap {
  const A* from;
  A weight;
};

template <class A>
struct WideTaps : std::vector<Tap<A>> {
  void add(const A* from, A weight) { this->push_back({from, weight}); }
};

// A weight and the row of bytes that it multiplies.
struct ByteTap {
  const std::uint8_t* from;
  std::int16_t weight;
};

// The taps of a row of results: those of weight 1 need no product.
struct ByteTaps {
  std::vector<const std::uint8_t*> ones;
  std::vector<ByteTap> others;

  void clear() {
    ones.clear();
    others.clear();
  }
  void add(const std::uint8_t* from, std::int16_t weight) {
    if (weight == 1) ones.push_back(from);
    else others.push_back({from, weight});
  }
};

// A strip of a picture, some of its rows: reads each row once, keeps as many as the kernel has. A: the type
// of sums. R: the type of kept rows, which is A, or bytes, whose sums take 16 bits.
template <class A, class R = A>
class Strip {
 public:
  static constexpr bool bytes = !std::is_same_v<A, R>;
  using Taken = std::conditional_t<bytes, ByteTaps, WideTaps<A>>;
  template <class T>
  using Convert = void (*)(const T* from, std::int64_t count, R* to);

  template <class T>
  Strip(const Problem<T>& p, const Piece& piece, Convert<T> convert)
      : Strip(p.taps, p.filtered, p.channels(), p.roi_y, p.to, piece) {
    extend_ = [this, &p, convert](int y, R* to) { extend(p, convert, y, to); };
  }

  // along(taps, to) computes the sums along a row, store(taps, scratch, to) a row of results.
  template <class Along, class Store>
  void run(const Along& along, const Store& store) {
    for (int i = 0; i + 1 < taps_.rows; ++i) take(piece_.begin + i, along);
    for (int y = piece_.begin; y < piece_.end; ++y) {
      take(y + taps_.rows - 1, along);
      taken_.clear();
      for (int i = 0; i < taps_.rows; ++i) add_row(i, kept(y + i));
      store(taken_, line_.data(), result_ + y * stride_);
    }
  }

  std::int64_t samples() const { return out_; }  // per row of results

 private:
  static constexpr std::int64_t spare = 1024;  // samples after a row that vectors may read and overwrite

  Strip(const Taps& taps, const View<unsigned char, 4>& result, int channels, int roi_y, Element to,
        const Piece& piece)
      : taps_(taps),
        piece_(piece),
        channels_(channels),
        top_(roi_y - taps.above),
        out_(std::int64_t{piece.last - piece.first} * channels),
        stride_(result.stride[1] * static_cast<std::int64_t>(size_of(to))),
        result_(result.data + (piece.n * result.stride[0] + piece.first * result.stride[2]) *
                                  static_cast<std::int64_t>(size_of(to))) {
    const std::int64_t extended = out_ + std::int64_t{taps.cols - 1} * channels;
    const auto room = static_cast<std::size_t>((sums_rows() ? out_ : extended) + spare);
    rows_.assign(static_cast<std::size_t>(taps.rows), std::vector<R>(room));
    line_.resize(static_cast<std::size_t>(extended + spare));
  }

  // True if rows are summed when they are read.
  bool sums_rows() const { return taps_.separable && !bytes; }

  std::vector<R>& kept(int line) { return rows_[static_cast<std::size_t>(line % taps_.rows)]; }

  static A weight(std::int32_t stored) {
    if constexpr (std::is_same_v<A, float>) return weight_as<float>(stored);
    else return static_cast<A>(stored);
  }

  void add_row(int i, const std::vector<R>& row) {
    if (taps_.separable) {
      if (taps_.column[i] != 0) taken_.add(row.data(), weight(taps_.column[i]));
      return;
    }
    for (int j = 0; j < taps_.cols; ++j)
      if (const std::int32_t w = taps_.weight[i * taps_.cols + j]; w != 0)
        taken_.add(row.data() + std::int64_t{j} * channels_, weight(w));
  }

  // Reads and keeps the line of the first tap row of row `line` of the result.
  template <class Along>
  void take(int line, const Along& along) {
    R* const to = sums_rows() ? line_.data() : kept(line).data();
    extend_(line + top_, to);
    if constexpr (!bytes) {
      if (!taps_.separable) return;
      taken_.clear();
      for (int j = 0; j < taps_.cols; ++j)
        if (taps_.row[j] != 0) taken_.add(to + std::int64_t{j} * channels_, weight(taps_.row[j]));
      along(taken_, kept(line).data());
    }
  }

  // Writes line y of the picture, extended beyond its edges, from the first tap's column on.
  template <class T>
  void extend(const Problem<T>& p, Convert<T> convert, int y, R* to) const {
    const int row = border_index(y, p.height(), p.border), start = p.roi_x + piece_.first - taps_.left,
              count = piece_.last - piece_.first + taps_.cols - 1;
    const bool packed = p.image.stride[2] == channels_ && (channels_ == 1 || p.image.stride[3] == 1);
    const int inside = std::clamp(-start, 0, count),
              outside =
                  packed && row != from_constant ? std::clamp(p.width() - start, inside, count) : inside;
    if (inside < outside)
      convert(&p.image(piece_.n, row, start + inside, 0), std::int64_t{outside - inside} * channels_,
              to + std::int64_t{inside} * channels_);
    for (int i = 0; i < count; ++i) {
      if (i == inside) i = outside;
      if (i == count) break;
      const int col = border_index(start + i, p.width(), p.border);
      for (int c = 0; c < channels_; ++c) {
        const T sample =
            row == from_constant || col == from_constant ? p.outside : p.image(piece_.n, row, col, c);
        convert(&sample, 1, to + std::int64_t{i} * channels_ + c);
      }
    }
  }

  const Taps& taps_;
  const Piece piece_;
  std::function<void(int y, R* to)> extend_;  // for the picture's samples
  int channels_, top_;
  std::int64_t out_, stride_;  // the stride of the result's rows is in bytes
  unsigned char* result_;
  std::vector<std::vector<R>> rows_;
  std::vector<R> line_;
  Taken taken_;
};

}  // namespace tessera::filtering
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::filtering {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

// Without vectors: sample by sample.
template <class T>
void run_strip(const Problem<T>& p, const Piece& piece) {
  filter_naive(p, piece.n, piece.first, piece.last, piece.begin, piece.end);
}

#else

// Returns the number of bytes from an address to the next multiple of `bytes`.
inline std::int64_t before_vector(const void* address, std::int64_t bytes) {
  const auto off = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address) %
                                             static_cast<std::uintptr_t>(bytes));
  return off == 0 ? 0 : bytes - off;
}

// Sums of the even and of the odd bytes of a load, 16 bits each: neither loads nor stores need shuffles.
class ByteSums {
 public:
  using D = hn::ScalableTag<std::int16_t>;
  using Bytes = hn::Repartition<std::uint8_t, D>;
  using V = hn::Vec<D>;

  HWY_INLINE ByteSums() : even_(hn::Zero(D())), odd_(even_) {}

  HWY_INLINE void add(const std::uint8_t* from) {
    even_ = hn::Add(even_, even(from));
    odd_ = hn::Add(odd_, odd(from));
  }
  HWY_INLINE void add(const std::uint8_t* from, V weight) {
    even_ = hn::Add(even_, hn::Mul(even(from), weight));
    odd_ = hn::Add(odd_, hn::Mul(odd(from), weight));
  }

  // `Past`: true for a non-temporal store, to an aligned address.
  template <bool Past>
  HWY_INLINE void store(bool absolute, V offset, std::uint8_t* to) const {
    const auto high = hn::ShiftLeft<8>(byte(odd_, absolute, offset));
    const auto bytes = hn::BitCast(Bytes(), hn::Or(byte(even_, absolute, offset), high));
    if constexpr (Past) hn::Stream(bytes, Bytes(), to);
    else hn::StoreU(bytes, Bytes(), to);
  }

 private:
  static HWY_INLINE V even(const std::uint8_t* from) {
    return hn::And(hn::BitCast(D(), hn::LoadU(Bytes(), from)), hn::Set(D(), std::int16_t{255}));
  }
  static HWY_INLINE V odd(const std::uint8_t* from) {
    const hn::RebindToUnsigned<D> d;
    return hn::BitCast(D(), hn::ShiftRight<8>(hn::BitCast(d, hn::LoadU(Bytes(), from))));
  }
  static HWY_INLINE V byte(V sum, bool absolute, V offset) {
    const V value = hn::Add(absolute ? hn::Abs(sum) : sum, offset);
    return hn::Min(hn::Max(value, hn::Zero(D())), hn::Set(D(), std::int16_t{255}));
  }

  V even_, odd_;
};

inline constexpr std::int64_t byte_step() {
  return 2 * static_cast<std::int64_t>(hn::MaxLanes(ByteSums::Bytes()));
}

// ones() and others() return the number of taps of weight 1 and of other taps.
template <bool Past, class Ones, class Others>
HWY_INLINE void filter_blocks(const OutputConversion& f, const ByteTaps& taps, Ones ones, Others others,
                              std::int64_t begin, std::int64_t end, std::uint8_t* HWY_RESTRICT to) {
  const ByteSums::D d;
  constexpr std::int64_t lanes = byte_step() / 2;
  const auto offset = hn::Set(d, static_cast<std::int16_t>(f.whole_offset));
  const bool absolute = f.absolute;
  const std::uint8_t* const* const one = taps.ones.data();
  const ByteTap* const other = taps.others.data();
  for (std::int64_t x = begin; x < end; x += 2 * lanes) {
    ByteSums first, second;
    for (std::size_t t = 0; t < ones(); ++t) {
      first.add(one[t] + x);
      second.add(one[t] + x + lanes);
    }
    for (std::size_t t = 0; t < others(); ++t) {
      const auto weight = hn::Set(d, other[t].weight);
      first.add(other[t].from + x, weight);
      second.add(other[t].from + x + lanes, weight);
    }
    first.store<Past>(absolute, offset, to + x - begin);
    second.store<Past>(absolute, offset, to + x + lanes - begin);
  }
}

// Filters bytes. If the numbers of taps are known at compile time, the taps' addresses stay in registers.
template <bool Past>
void filter_bytes(const OutputConversion& f, const ByteTaps& taps, std::int64_t begin, std::int64_t end,
                  std::uint8_t* HWY_RESTRICT to) {
  const auto four = [] { return std::size_t{4}; };
  const auto eight = [] { return std::size_t{8}; };
  const auto one = [] { return std::size_t{1}; };
  const std::size_t ones = taps.ones.size(), others = taps.others.size();
  if (ones == 4 && others == 1) filter_blocks<Past>(f, taps, four, one, begin, end, to);
  else if (ones == 8 && others == 1) filter_blocks<Past>(f, taps, eight, one, begin, end, to);
  else
    filter_blocks<Past>(
        f, taps, [=] { return ones; }, [=] { return others; }, begin, end, to);
}

// Computes a row of results. Full vectors are stored directly, the others through `part`, byte_step() bytes.
// Non-temporal stores overlap with sums and need aligned addresses.
inline void filter_byte_row(const OutputConversion& f, const ByteTaps& taps, std::int64_t count,
                            bool past_caches, std::uint8_t* part, std::uint8_t* HWY_RESTRICT to) {
  const auto by_part = [&](std::int64_t begin, std::int64_t end) {
    if (begin == end) return;
    filter_bytes<false>(f, taps, begin, end, part);
    std::memcpy(to + begin, part, static_cast<std::size_t>(end - begin));
  };
  const std::int64_t first = past_caches ? std::min(before_vector(to, byte_step() / 2), count) : 0,
                     last = count - (count - first) % byte_step();
  by_part(0, first);
  if (past_caches) filter_bytes<true>(f, taps, first, last, to + first);
  else filter_bytes<false>(f, taps, first, last, to + first);
  by_part(last, count);
}

using tessera::HWY_NAMESPACE::add_products;

// Computes Σ weight·from[x], in the order of the taps, for x in [begin, end) rounded up to four vectors,
// which are summed at once. store(vector, to) stores the sums.
template <class A, class To, class Store>
HWY_INLINE void sum_taps(const std::vector<Tap<A>>& taps, std::int64_t begin, std::int64_t end,
                         To* HWY_RESTRICT to, const Store& store) {
  const hn::ScalableTag<A> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const Tap<A>* const first = taps.data();
  const std::size_t count = taps.size();
  for (std::int64_t x = begin; x < end; x += 4 * lanes, to += 4 * lanes) {
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    for (std::size_t t = 0; t < count; ++t) {
      const A* const from = first[t].from + x;
      const auto v0 = hn::LoadU(d, from), v1 = hn::LoadU(d, from + lanes),
                 v2 = hn::LoadU(d, from + 2 * lanes), v3 = hn::LoadU(d, from + 3 * lanes);
      if (std::is_integral_v<A> && first[t].weight == A{1}) {
        s0 = hn::Add(s0, v0), s1 = hn::Add(s1, v1), s2 = hn::Add(s2, v2), s3 = hn::Add(s3, v3);
      } else {
        const auto w = hn::Set(d, first[t].weight);
        s0 = add_products(d, w, v0, s0), s1 = add_products(d, w, v1, s1);
        s2 = add_products(d, w, v2, s2), s3 = add_products(d, w, v3, s3);
      }
    }
    store(s0, to);
    store(s1, to + lanes);
    store(s2, to + 2 * lanes);
    store(s3, to + 3 * lanes);
  }
}

template <class A>
HWY_NOINLINE void sum_taps(const std::vector<Tap<A>>& taps, std::int64_t begin, std::int64_t end, A* to) {
  sum_taps(taps, begin, end, to, [](auto sum, A* at) HWY_ATTR { hn::StoreU(sum, hn::ScalableTag<A>(), at); });
}

// Returns what is stored for a sum: for integers, within the range of To.
template <class To, class D, class V>
HWY_INLINE V float_result(D d, const OutputConversion& f, V sum) {
  auto value = f.absolute ? hn::Abs(sum) : sum;
  if (f.scaled) value = add_products(d, value, hn::Set(d, f.scale), hn::Set(d, f.offset));
  if constexpr (std::is_integral_v<To>) {
    const auto least = hn::Set(d, static_cast<float>(min_value<To>)),
               most = hn::Set(d, static_cast<float>(max_value<To>));
    value = hn::IfThenElse(hn::Gt(value, least), value, least);
    value = hn::IfThenElse(hn::Lt(value, most), value, most);
  }
  return value;
}

// Stores floats as integers of a narrower type, or unchanged.
template <class To, class D, class V>
HWY_INLINE void store_float(D d, const OutputConversion& f, V sum, To* to) {
  const auto value = float_result<To>(d, f, sum);
  if constexpr (std::is_same_v<To, float>) hn::StoreU(value, d, to);
  else hn::StoreU(hn::DemoteTo(hn::Rebind<To, D>(), hn::NearestInt(value)), hn::Rebind<To, D>(), to);
}

// Converts sums to samples in registers: a buffer in the cache would cost a tenth.
inline HWY_NOINLINE void sum_taps(const OutputConversion& f, const std::vector<Tap<float>>& taps,
                                  std::int64_t begin, std::int64_t end, std::uint16_t* to) {
  sum_taps(taps, begin, end, to,
           [&f](auto sum, std::uint16_t* at) HWY_ATTR { store_float(hn::ScalableTag<float>(), f, sum, at); });
}

template <class To, class D, class V>
HWY_INLINE void store_whole(D d, const OutputConversion& f, V sum, To* to) {
  const hn::Rebind<float, D> df;
  if (!f.whole) return store_float(df, f, hn::ConvertTo(df, sum), to);
  auto value = f.absolute ? hn::Abs(sum) : sum;
  value =
      hn::Add(hn::ShiftRightSame(hn::Add(value, hn::Set(d, f.half)), f.shift), hn::Set(d, f.whole_offset));
  if constexpr (std::is_same_v<To, float>) {
    hn::StoreU(hn::ConvertTo(df, value), df, to);
  } else {  // some instruction sets saturate to 8 bits only values of 15 bits
    value = hn::Min(hn::Max(value, hn::Set(d, min_value<To>)), hn::Set(d, max_value<To>));
    hn::StoreU(hn::DemoteTo(hn::Rebind<To, D>(), value), hn::Rebind<To, D>(), to);
  }
}

template <class To, class D, class V>
HWY_INLINE void store_narrow(D d, const OutputConversion& f, V sum, To* to) {
  auto value = f.absolute ? hn::Abs(sum) : sum;
  value = hn::Add(value, hn::Set(d, static_cast<std::int16_t>(f.whole_offset)));
  if constexpr (std::is_same_v<To, std::uint8_t>) {
    hn::StoreU(hn::DemoteTo(hn::Rebind<To, D>(), value), hn::Rebind<To, D>(), to);
  } else if constexpr (std::is_same_v<To, std::uint16_t>) {
    hn::StoreU(hn::BitCast(hn::RebindToUnsigned<D>(), hn::Max(value, hn::Zero(d))), hn::RebindToUnsigned<D>(),
               to);
  } else {
    hn::StoreU(value, d, to);
  }
}

// Converts sums to samples; `to` may be the address of the sums. Sums after the last one may be read.
template <class To, class A>
HWY_NOINLINE void finish_sums(const OutputConversion& f, const A* sums, std::int64_t count, To* to) {
  const hn::ScalableTag<A> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto store = [&](std::int64_t x, To* at) HWY_ATTR {
    const auto sum = hn::LoadU(d, sums + x);
    if constexpr (std::is_same_v<A, float>) store_float(d, f, sum, at);
    else if constexpr (std::is_same_v<A, std::int32_t>) store_whole(d, f, sum, at);
    else store_narrow(d, f, sum, at);
  };
  std::int64_t x = 0;
  for (; x + lanes <= count; x += lanes) store(x, to + x);
  if (x == count) return;
  To last[hn::MaxLanes(hn::ScalableTag<A>())];
  store(x, last);
  std::memcpy(to + x, last, static_cast<std::size_t>(count - x) * sizeof(To));
}

// Halves are stored without vectors.
template <class A>
HWY_NOINLINE void finish_sums(const OutputConversion& f, const A* sums, std::int64_t count, f16* to) {
  for (std::int64_t x = 0; x < count; ++x) to[x] = finished<f16>(f, sums[x]);
}

template <class A>
void finish_sums(const OutputConversion& f, const A* sums, std::int64_t count, Element element,
                 unsigned char* to) {
  switch (element) {
    case Element::u8:
      return finish_sums(f, sums, count, to);
    case Element::u16:
      return finish_sums(f, sums, count, reinterpret_cast<std::uint16_t*>(to));
    case Element::i16:
      return finish_sums(f, sums, count, reinterpret_cast<std::int16_t*>(to));
    default:
      break;
  }
  if constexpr (!std::is_same_v<A, std::int16_t>) {
    if (element == Element::f16) return finish_sums(f, sums, count, reinterpret_cast<f16*>(to));
    finish_sums(f, sums, count, reinterpret_cast<float*>(to));
  }
}

// Copies bytes by non-temporal stores.
inline void stream_bytes(const unsigned char* HWY_RESTRICT from, std::int64_t count,
                         unsigned char* HWY_RESTRICT to) {
  const hn::ScalableTag<std::uint8_t> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t at = std::min(before_vector(to, lanes), count);
  std::memcpy(to, from, static_cast<std::size_t>(at));
  for (; at + lanes <= count; at += lanes) hn::Stream(hn::LoadU(d, from + at), d, to + at);
  std::memcpy(to + at, from + at, static_cast<std::size_t>(count - at));
}

#if HWY_ARCH_X86
// A separable kernel of bytes. Sums down the columns are less `bias`, so that 16 bits hold them; sums along
// the row take 32 bits, or 16 where those hold them (`narrow`).
class SeparableBytes {
 public:
  // Returns the kernel, if it can be summed so.
  static std::optional<SeparableBytes> of(const Taps& taps, const OutputConversion& f, int channels) {
    SeparableBytes out;
    std::int64_t least = 0, most = 0, size = 0;
    for (int i = 0; i < taps.rows; ++i)
      (taps.column[i] < 0 ? least : most) += 255 * std::int64_t{taps.column[i]};
    if (most - least > 65535) return std::nullopt;
    if (least < -32768 || most > 32767) out.bias_ = static_cast<std::int32_t>(least + 32768);
    for (int j = 0; j < taps.cols; ++j) {
      const std::int32_t weight = taps.row[j];
      if (weight == 0) continue;
      if (weight != static_cast<std::int16_t>(weight)) return std::nullopt;
      out.taps_.push_back({std::int64_t{j} * channels, static_cast<std::int16_t>(weight)});
      out.start_ += static_cast<std::uint32_t>(weight) * static_cast<std::uint32_t>(out.bias_);
      size += std::abs(weight);
    }
    out.narrow_ = f.shift == 0 && (most - least) * size + std::abs(std::int64_t{f.whole_offset}) < 32768;
    out.line_.resize(static_cast<std::size_t>(max_row + std::int64_t{taps.cols - 1} * channels + 8 * lanes));
    return out;
  }

  // Computes a row of results from the rows of samples above each other.
  template <class To>
  void run(const OutputConversion& f, const ByteTaps& column, std::int64_t count, std::int64_t extra,
           bool past_caches, To* to) {
    alignas(64) To samples[max_row];
    for (std::int64_t x = 0; x < count; x += max_row, to += max_row) {
      const std::int64_t piece = std::min(max_row, count - x),
                         whole = past_caches ? 0 : piece / (2 * lanes) * (2 * lanes);
      sum_columns(column, x, piece + extra);
      const auto along = narrow_ ? &SeparableBytes::sum_row<true, To> : &SeparableBytes::sum_row<false, To>;
      (this->*along)(f, 0, whole, to);
      (this->*along)(f, whole, piece, samples);
      if (past_caches)
        stream_bytes(reinterpret_cast<unsigned char*>(samples), piece * static_cast<std::int64_t>(sizeof(To)),
                     reinterpret_cast<unsigned char*>(to));
      else std::copy_n(samples, piece - whole, to + whole);
    }
  }

 private:
  using D = hn::ScalableTag<std::int16_t>;
  using D32 = hn::Repartition<std::int32_t, D>;
  using V = hn::Vec<D>;
  using V32 = hn::Vec<D32>;
  static constexpr auto lanes = static_cast<std::int64_t>(hn::MaxLanes(D()));
  static constexpr std::int64_t max_row = 1024;

  struct RowTap {
    std::int64_t at;
    std::int16_t weight;
  };

  HWY_NOINLINE void sum_columns(const ByteTaps& taps, std::int64_t begin, std::int64_t count) {
    const D d;
    const hn::Rebind<std::uint8_t, D> bytes;
    const auto start = hn::Set(d, static_cast<std::int16_t>(-bias_));
    const auto load = [=](const std::uint8_t* from)
                          HWY_ATTR { return hn::PromoteTo(d, hn::LoadU(bytes, from)); };
    for (std::int64_t x = 0; x < count; x += 4 * lanes) {
      V s0 = start, s1 = start, s2 = start, s3 = start;
      for (const std::uint8_t* row : taps.ones) {
        const std::uint8_t* const from = row + begin + x;
        s0 = hn::Add(s0, load(from)), s1 = hn::Add(s1, load(from + lanes));
        s2 = hn::Add(s2, load(from + 2 * lanes)), s3 = hn::Add(s3, load(from + 3 * lanes));
      }
      for (const ByteTap& tap : taps.others) {
        const std::uint8_t* const from = tap.from + begin + x;
        const auto w = hn::Set(d, tap.weight);
        s0 = hn::Add(s0, hn::Mul(load(from), w)), s1 = hn::Add(s1, hn::Mul(load(from + lanes), w));
        s2 = hn::Add(s2, hn::Mul(load(from + 2 * lanes), w));
        s3 = hn::Add(s3, hn::Mul(load(from + 3 * lanes), w));
      }
      std::int16_t* const to = line_.data() + x;
      hn::StoreU(s0, d, to), hn::StoreU(s1, d, to + lanes);
      hn::StoreU(s2, d, to + 2 * lanes), hn::StoreU(s3, d, to + 3 * lanes);
    }
  }

  // Writes results [begin, end), rounded up to two vectors.
  template <bool Narrow, class To>
  HWY_NOINLINE void sum_row(const OutputConversion& f, std::int64_t begin, std::int64_t end, To* to) const {
    const D d;
    const D32 d32;
    for (std::int64_t x = begin; x < end; x += 2 * lanes, to += 2 * lanes) {
      const std::int16_t* const line = line_.data() + x;
      if constexpr (Narrow) {
        V s0 = hn::Zero(d), s1 = s0;
        for (const RowTap& tap : taps_) {
          const V v0 = hn::LoadU(d, line + tap.at), v1 = hn::LoadU(d, line + lanes + tap.at);
          if (tap.weight == 1) {
            s0 = hn::Add(s0, v0), s1 = hn::Add(s1, v1);
          } else {
            const V w = hn::Set(d, tap.weight);
            s0 = hn::Add(s0, hn::Mul(v0, w)), s1 = hn::Add(s1, hn::Mul(v1, w));
          }
        }
        if (f.whole) {
          store_narrow(d, f, s0, to);
          store_narrow(d, f, s1, to + lanes);
        } else {
          store_sums(f, wide<false>(s0), wide<true>(s0), to);
          store_sums(f, wide<false>(s1), wide<true>(s1), to + lanes);
        }
      } else {
        const V32 start = hn::Set(d32, static_cast<std::int32_t>(start_));
        V32 s0 = start, s1 = start, s2 = start, s3 = start;
        for (std::size_t t = 0; t < taps_.size(); t += 2) {
          const bool single = t + 1 == taps_.size();
          const RowTap a = taps_[t], b = single ? RowTap{a.at, 0} : taps_[t + 1];
          const V w = hn::BitCast(
              d, hn::Set(d32, static_cast<std::int32_t>(static_cast<std::uint32_t>(b.weight) << 16 |
                                                        static_cast<std::uint16_t>(a.weight))));
          add_pairs(hn::LoadU(d, line + a.at), hn::LoadU(d, line + b.at), w, s0, s1);
          add_pairs(hn::LoadU(d, line + lanes + a.at), hn::LoadU(d, line + lanes + b.at), w, s2, s3);
        }
        store_sums(f, s0, s1, to);
        store_sums(f, s2, s3, to + lanes);
      }
    }
  }

  static HWY_INLINE void add_pairs(V a, V b, V weights, V32& lower, V32& upper) {
    const D d;
    V32 unused = hn::Zero(D32());
    lower = hn::ReorderWidenMulAccumulate(D32(), hn::InterleaveLower(d, a, b), weights, lower, unused);
    upper = hn::ReorderWidenMulAccumulate(D32(), hn::InterleaveUpper(d, a, b), weights, upper, unused);
  }

  // Returns the lower or upper half of each 16 bytes.
  template <bool Upper>
  static HWY_INLINE V32 wide(V sums) {
    const V zero = hn::Zero(D());
    const V pairs = Upper ? hn::InterleaveUpper(D(), zero, sums) : hn::InterleaveLower(D(), zero, sums);
    return hn::ShiftRight<16>(hn::BitCast(D32(), pairs));
  }

  template <class To>
  static HWY_INLINE V32 finished(const OutputConversion& f, V32 sum) {
    const D32 d;
    if (!f.whole) {
      const hn::RebindToFloat<D32> df;
      return hn::NearestInt(float_result<To>(df, f, hn::ConvertTo(df, sum)));
    }
    const V32 value = f.absolute ? hn::Abs(sum) : sum;
    return hn::Add(hn::ShiftRightSame(hn::Add(value, hn::Set(d, f.half)), f.shift),
                   hn::Set(d, f.whole_offset));
  }

  // The halves of each 16 bytes are joined again.
  template <class To>
  static HWY_INLINE void store_sums(const OutputConversion& f, V32 lower, V32 upper, To* to) {
    const V value = hn::ReorderDemote2To(D(), finished<To>(f, lower), finished<To>(f, upper));
    if constexpr (std::is_same_v<To, std::uint8_t>)
      hn::StoreU(hn::DemoteTo(hn::Rebind<To, D>(), value), hn::Rebind<To, D>(), to);
    else hn::StoreU(value, D(), to);
  }

  std::int32_t bias_ = 0;
  std::uint32_t start_ = 0;
  bool narrow_ = false;
  std::vector<RowTap> taps_;
  std::vector<std::int16_t> line_;
};
#endif

// Computes a row of results in pieces whose sums fit in the L1 cache.
template <class A>
void filter_row(const OutputConversion& f, const std::vector<Tap<A>>& taps, std::int64_t count,
                Element element, bool past_caches, unsigned char* to) {
  constexpr std::int64_t most = 1024;
  const auto size = static_cast<std::int64_t>(size_of(element)),
             fours = 4 * static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<A>()));
  alignas(64) A sums[most];
  alignas(64) unsigned char samples[4 * most];
  for (std::int64_t x = 0; x < count; x += most, to += most * size) {
    const std::int64_t piece = std::min(most, count - x);
    unsigned char* const out = past_caches ? samples : to;
    // Sums of floats are written directly to float results and to 16-bit results.
    const bool fits = past_caches || piece % fours == 0;
    bool done = false;
    if constexpr (std::is_same_v<A, float>)
      if (fits && element == Element::u16) {
        sum_taps(f, taps, x, x + piece, reinterpret_cast<std::uint16_t*>(out));
        done = true;
      }
    if (!done) {
      A* const at = fits && element == element_of<A> ? reinterpret_cast<A*>(out) : sums;
      sum_taps(taps, x, x + piece, at);
      done = std::is_same_v<A, float> && at != sums && !f.absolute && !f.scaled;
      if (!done) finish_sums(f, at, piece, element, out);
    }
    if (past_caches) stream_bytes(samples, piece * size, to);
  }
}

template <class T, class R>
void convert(const T* HWY_RESTRICT from, std::int64_t count, R* HWY_RESTRICT to) {
  for (std::int64_t i = 0; i < count; ++i)
    if constexpr (std::is_same_v<R, float>) to[i] = number<float>(from[i]);
    else to[i] = static_cast<R>(from[i]);
}

// store(taps, scratch, to) stores a row of results.
template <class A, class R, class T, class Store>
HWY_NOINLINE void run_strip_as(const Problem<T>& p, const Piece& piece, const Store& store) {
  Strip<A, R> strip(p, piece, convert<T, R>);
  const std::int64_t samples = strip.samples();
  strip.run([&](const auto& taps, A* sums) { sum_taps(taps, 0, samples, sums); }, store);
  if (piece.past_caches) hwy::FlushStream();
}

template <class A, class T>
void run_wide_strip(const Problem<T>& p, const Piece& piece) {
  const std::int64_t samples = std::int64_t{piece.last - piece.first} * p.channels();
  run_strip_as<A, A>(p, piece, [&](const auto& taps, A*, unsigned char* at) {
    filter_row(p.conversion, taps, samples, p.to, piece.past_caches, at);
  });
}

// Returns false if sums of bytes in 16 bits are not enough.
inline bool run_byte_strip(const Problem<std::uint8_t>& p, const Piece& piece) {
  const std::int64_t samples = std::int64_t{piece.last - piece.first} * p.channels();
  if (!p.taps.separable) {
    if (!p.taps.narrow || p.to != Element::u8) return false;
    run_strip_as<std::int16_t, std::uint8_t>(
        p, piece, [&](const ByteTaps& taps, std::uint8_t* scratch, unsigned char* at) {
          filter_byte_row(p.conversion, taps, samples, piece.past_caches, scratch, at);
        });
    return true;
  }
#if HWY_ARCH_X86
  if (!p.taps.whole || (p.to != Element::u8 && p.to != Element::i16)) return false;
  auto kernel = SeparableBytes::of(p.taps, p.conversion, p.channels());
  if (!kernel) return false;
  const std::int64_t extra = std::int64_t{p.taps.cols - 1} * p.channels();
  run_strip_as<std::int16_t, std::uint8_t>(
      p, piece, [&](const ByteTaps& taps, std::uint8_t*, unsigned char* at) {
        if (p.to == Element::u8) kernel->run(p.conversion, taps, samples, extra, piece.past_caches, at);
        else
          kernel->run(p.conversion, taps, samples, extra, piece.past_caches,
                      reinterpret_cast<std::int16_t*>(at));
      });
  return true;
#else
  return false;
#endif
}

template <class T>
void run_strip(const Problem<T>& p, const Piece& piece) {
  if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_same_v<T, std::uint8_t>) {
      if (run_byte_strip(p, piece)) return;
      if (p.taps.narrow && is_integer(p.to)) return run_wide_strip<std::int16_t>(p, piece);
    }
    if (p.taps.whole) return run_wide_strip<std::int32_t>(p, piece);
  }
  run_wide_strip<float>(p, piece);
}

#endif

OnPieces on_pieces() {
  return {run_strip<std::uint8_t>, run_strip<std::uint16_t>, run_strip<std::int16_t>, run_strip<f16>,
          run_strip<float>};
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::filtering
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "ops/imaging/image_operation.hpp"
#include "ops/imaging/share_rows.hpp"
#include "tessera/rung.hpp"

namespace tessera::filtering {
namespace {

HWY_EXPORT(on_pieces);

// A strip's kept rows fit in the L2 cache.
template <class T>
void run_simd(const Problem<T>& p, int threads) {
  constexpr int row_bytes = 32 << 10, kept_bytes = 512 << 10;
  const int samples = std::min(row_bytes, kept_bytes / p.taps.rows) / static_cast<int>(sizeof(T));
  const int width = std::max(1, samples / std::max(1, p.channels()));
  // A result larger than a share of the last-level cache is evicted before it is read.
  constexpr std::int64_t large = std::int64_t{16} << 20;
  const std::int64_t bytes =
      p.images() * p.rows() * p.row_samples() * static_cast<std::int64_t>(size_of(p.to));
  const auto run_piece = std::get<OnPiece<T>>(HWY_DYNAMIC_DISPATCH(on_pieces)());
  share_rows(p.images(), p.rows(), p.row_samples(), threads, [&](std::int64_t n, int first, int last) {
    for (int x = 0; x < p.cols(); x += width)
      run_piece(p, {n, x, std::min(x + width, p.cols()), first, last, bytes >= large});
  });
}

Choice choice() {
  Choice out =
      choice_of<Problem>([](const auto& p, const Tuning&, Run& run) { run_simd(p, run.device->threads); });
  out.refuses = [](const Arguments& arguments, const Tuning&, const Device&) {
    return refuses_scattered(arguments.array("filtered"));
  };
  return out;
}

}  // namespace

void filter_simd(const Arguments& arguments, int threads) {
  with_problem<Problem>(arguments, [threads](const auto& p) { run_simd(p, threads); });
}

namespace {
const Rung rung{"vectors, each row read once and kept, all cores", Where::cpu, {choice()}};
}  // namespace

}  // namespace tessera::filtering
#endif
