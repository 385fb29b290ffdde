// SPDX-License-Identifier: Apache-2.0
// CPU rung 2: vectors, rows kept, every core. The CPU's summit.
//
// A strip of the picture is walked from above: each row is read once, goes on beyond its edges by a copy, and
// stays for as many rows as the kernel has. Four vectors of sums stay in registers while the taps pass; where
// 16 bits hold every sum of bytes, the bytes are kept, and those of even and of odd places are summed apart:
// no lane moves. A separable kernel sums a row when it is read. Highway compiles the strip for each
// instruction set and picks at run time. Sums are taken in the order of the definition: the bits are those of
// the rung below. What limits it now is memory for small kernels, and multiplying for large ones.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/filter/cpu_02_simd.cpp"
#include "tessera/core/vector_targets.hpp"
#include <hwy/foreach_target.h>
#include <hwy/cache_control.h>
#include <hwy/highway.h>
#include <algorithm>
#include <cstring>
#include <vector>
#include "filter.hpp"
#include "tessera/core/fused-inl.h"

#ifndef TESSERA_FILTER_PIECE
#define TESSERA_FILTER_PIECE
namespace tessera::filter {

// Columns first to last, rows begin to end of the result of picture n. `past_caches`: a result that they
// would not hold anyway goes to memory without being read from there first.
struct Piece {
  std::int64_t n;
  int first, last, begin, end;
  bool past_caches = false;
};

}  // namespace tessera::filter
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::filter {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Where a weight meets a row of bytes.
struct ByteTap {
  const std::uint8_t* from;
  std::int16_t weight;
};

// What a row of results is made from: taps of weight 1 need no product.
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

// Bytes from an address to the next one that a vector of `bytes` begins at.
inline std::int64_t before_vector(const void* address, std::int64_t bytes) {
  const auto off = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address) %
                                             static_cast<std::uintptr_t>(bytes));
  return off == 0 ? 0 : bytes - off;
}

#if HWY_TARGET != HWY_SCALAR

// A load's bytes of even and of odd places, each a number of 16 bits: no lane moves, neither here nor on the
// way back.
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

  // `Past`: to memory past the caches, where a vector's place begins.
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

// `ones` and `others`: how many there are.
template <bool Past, class Ones, class Others>
HWY_INLINE void filter_blocks(const Finish& f, const ByteTaps& taps, Ones ones, Others others,
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

// Numbers of taps that the compiler knows leave their places in registers.
template <bool Past>
void filter_bytes(const Finish& f, const ByteTaps& taps, std::int64_t begin, std::int64_t end,
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

// A row of results: whole vectors go where they belong, the others by way of `part`, byte_step() bytes. Past
// the caches they go while others are summed, and only to places that begin a vector.
inline void filter_byte_row(const Finish& f, const ByteTaps& taps, std::int64_t count, bool past_caches,
                            std::uint8_t* part, std::uint8_t* HWY_RESTRICT to) {
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

#endif

using tessera::HWY_NAMESPACE::add_products;

// Where a weight meets a row of samples.
template <class A>
struct Tap {
  const A* from;
  A weight;
};

template <class A>
struct WideTaps : std::vector<Tap<A>> {
  void add(const A* from, A weight) { this->push_back({from, weight}); }
};

inline constexpr std::int64_t spare = 1024;  // samples behind a row that may be read and written in vain

// Σ weight·from[x], tap after tap, four vectors at once, from `begin` to `end` and beyond to whole fours.
template <class A, class Store>
HWY_INLINE void sum_blocks(const std::vector<Tap<A>>& taps, std::int64_t begin, std::int64_t end,
                           const Store& store) {
  const hn::ScalableTag<A> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const Tap<A>* const first = taps.data();
  const std::size_t count = taps.size();
  for (std::int64_t x = begin; x < end; x += 4 * lanes) {
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
    store(x, s0, s1, s2, s3);
  }
}

template <class A>
void sum_taps(const std::vector<Tap<A>>& taps, std::int64_t begin, std::int64_t end, A* HWY_RESTRICT to) {
  const hn::ScalableTag<A> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  sum_blocks(taps, begin, end, [&](std::int64_t x, auto s0, auto s1, auto s2, auto s3) {
    hn::StoreU(s0, d, to + x);
    hn::StoreU(s1, d, to + x + lanes);
    hn::StoreU(s2, d, to + x + 2 * lanes);
    hn::StoreU(s3, d, to + x + 3 * lanes);
  });
}

template <class D, class V>
HWY_INLINE V finished_vector(D d, const Finish& f, V sum) {
  const auto value = f.absolute ? hn::Abs(sum) : sum;
  return f.scaled ? add_products(d, value, hn::Set(d, f.scale), hn::Set(d, f.offset)) : value;
}

// Floats to whole numbers of a narrower type, or as they are.
template <class To, class D, class V>
HWY_INLINE void store_float(D d, const Finish& f, V sum, To* to) {
  auto value = finished_vector(d, f, sum);
  if constexpr (std::is_same_v<To, float>) {
    hn::StoreU(value, d, to);
  } else {
    const auto least = hn::Set(d, static_cast<float>(least_of<To>)),
               most = hn::Set(d, static_cast<float>(most_of<To>));
    value = hn::IfThenElse(hn::Gt(value, least), value, least);
    value = hn::IfThenElse(hn::Lt(value, most), value, most);
    hn::StoreU(hn::DemoteTo(hn::Rebind<To, D>(), hn::NearestInt(value)), hn::Rebind<To, D>(), to);
  }
}

template <class To, class D, class V>
HWY_INLINE void store_whole(D d, const Finish& f, V sum, To* to) {
  const hn::Rebind<float, D> df;
  if (!f.whole) return store_float(df, f, hn::ConvertTo(df, sum), to);
  auto value = f.absolute ? hn::Abs(sum) : sum;
  value =
      hn::Add(hn::ShiftRightSame(hn::Add(value, hn::Set(d, f.half)), f.shift), hn::Set(d, f.whole_offset));
  if constexpr (std::is_same_v<To, float>) {
    hn::StoreU(hn::ConvertTo(df, value), df, to);
  } else {  // some instruction sets saturate to 8 bits only what 15 bits hold
    value = hn::Min(hn::Max(value, hn::Set(d, least_of<To>)), hn::Set(d, most_of<To>));
    hn::StoreU(hn::DemoteTo(hn::Rebind<To, D>(), value), hn::Rebind<To, D>(), to);
  }
}

template <class To, class D, class V>
HWY_INLINE void store_narrow(D d, const Finish& f, V sum, To* to) {
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

// What no vector is stored as here.
template <class To, class A>
inline constexpr bool one_by_one = std::is_same_v<To, f16> ||
                                   (std::is_same_v<A, std::int16_t> && std::is_same_v<To, float>);

template <class To, class A, class D, class V>
HWY_INLINE void store_vector(D d, const Finish& f, V sum, To* to) {
  if constexpr (std::is_same_v<A, float>) store_float(d, f, sum, to);
  else if constexpr (std::is_same_v<A, std::int32_t>) store_whole(d, f, sum, to);
  else store_narrow(d, f, sum, to);
}

// A row of floats past the caches, while others are summed: vectors to the places that begin one, the rest by
// way of `sums`.
inline void stream_row(const Finish& f, const std::vector<Tap<float>>& taps, std::int64_t count,
                       float* HWY_RESTRICT sums, float* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  constexpr auto size = static_cast<std::int64_t>(sizeof(float));
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t first = std::min(before_vector(to, lanes * size) / size, count),
                     last = count - (count - first) % (4 * lanes);
  const auto by_sums = [&](std::int64_t begin, std::int64_t end) {
    sum_taps(taps, begin, end, sums);
    for (std::int64_t x = begin; x < end; ++x) to[x] = finished<float>(f, sums[x]);
  };
  const auto put = [&](auto sum, float* at) { hn::Stream(finished_vector(d, f, sum), d, at); };
  by_sums(0, first);
  sum_blocks(taps, first, last, [&](std::int64_t at, auto s0, auto s1, auto s2, auto s3) {
    put(s0, to + at);
    put(s1, to + at + lanes);
    put(s2, to + at + 2 * lanes);
    put(s3, to + at + 3 * lanes);
  });
  by_sums(last, count);
}

// A row of results: fours of vectors go where they belong, the rest by way of `sums`.
template <class To, class A>
void filter_row(const Finish& f, const std::vector<Tap<A>>& taps, std::int64_t count, A* HWY_RESTRICT sums,
                To* HWY_RESTRICT to) {
  const hn::ScalableTag<A> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t x = 0;
  if constexpr (!one_by_one<To, A>) {
    x = count - count % (4 * lanes);
    sum_blocks(taps, 0, x, [&](std::int64_t at, auto s0, auto s1, auto s2, auto s3) {
      store_vector<To, A>(d, f, s0, to + at);
      store_vector<To, A>(d, f, s1, to + at + lanes);
      store_vector<To, A>(d, f, s2, to + at + 2 * lanes);
      store_vector<To, A>(d, f, s3, to + at + 3 * lanes);
    });
  }
  sum_taps(taps, x, count, sums);
  for (; x < count; ++x) {
    if constexpr (std::is_same_v<A, float>) to[x] = finished<To>(f, sums[x]);
    else to[x] = finished<To>(f, std::int32_t{sums[x]});
  }
}

// Bytes to memory past the caches.
inline void stream_bytes(const std::uint8_t* HWY_RESTRICT from, std::int64_t count,
                         std::uint8_t* HWY_RESTRICT to) {
  const hn::ScalableTag<std::uint8_t> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t at = std::min(before_vector(to, lanes), count);
  std::memcpy(to, from, static_cast<std::size_t>(at));
  for (; at + lanes <= count; at += lanes) hn::Stream(hn::LoadU(d, from + at), d, to + at);
  std::memcpy(to + at, from + at, static_cast<std::size_t>(count - at));
}

// A strip of a picture, some of its rows: reads each row once, keeps as many as the kernel has. A: sums'
// type. R: that of the rows kept, which is A, or a byte's, whose sums take 16 bits.
template <class A, class T, class R = A>
class Strip {
 public:
  Strip(const Problem<T>& p, int first, int last, bool past_caches)
      : p_(p),
        past_caches_(past_caches),
        first_(first),
        channels_(p.channels()),
        out_(std::int64_t{last - first} * channels_),
        extended_(out_ + std::int64_t{p.taps.cols - 1} * channels_),
        kept_(p.taps.separable ? out_ : extended_),
        rows_(static_cast<std::size_t>(p.taps.rows), std::vector<R>(static_cast<std::size_t>(kept_ + spare))),
        line_(static_cast<std::size_t>(extended_ + spare)),
        sums_(static_cast<std::size_t>(out_ + spare)) {}

  void run(std::int64_t n, int begin, int end) {
    const Taps& taps = p_.taps;
    const int above = p_.roi_y - taps.above;
    for (int i = 0; i + 1 < taps.rows; ++i) take(n, begin + above + i, begin + i);
    for (int y = begin; y < end; ++y) {
      take(n, y + above + taps.rows - 1, y + taps.rows - 1);
      taps_.clear();
      for (int i = 0; i < taps.rows; ++i) add_row(taps, i, kept(y + i));
      write(n, y);
    }
    if (past_caches_) hwy::FlushStream();
  }

 private:
  static constexpr bool bytes = !std::is_same_v<A, R>;
  using Taken = std::conditional_t<bytes, ByteTaps, WideTaps<A>>;

  std::vector<R>& kept(int line) { return rows_[static_cast<std::size_t>(line % p_.taps.rows)]; }

  static A weight(std::int32_t stored) {
    if constexpr (std::is_same_v<A, float>) return weight_as<float>(stored);
    else return static_cast<A>(stored);
  }

  void add_row(const Taps& taps, int i, const std::vector<R>& row) {
    if (taps.separable) {
      if (taps.column[i] != 0) taps_.add(row.data(), weight(taps.column[i]));
      return;
    }
    for (int j = 0; j < taps.cols; ++j)
      if (const std::int32_t w = taps.weight[i * taps.cols + j]; w != 0)
        taps_.add(row.data() + std::int64_t{j} * channels_, weight(w));
  }

  // Line `y` of the picture as it goes on beyond its edges.
  void take(std::int64_t n, int y, int line) {
    std::vector<R>& to = p_.taps.separable ? line_ : kept(line);
    const int row = border_index(y, p_.height(), p_.border);
    if (row == from_constant) std::fill_n(to.begin(), extended_, convert(p_.outside));
    else extend(n, row, to.data());
    if constexpr (!bytes) {
      if (!p_.taps.separable) return;
      taps_.clear();
      for (int j = 0; j < p_.taps.cols; ++j)
        if (p_.taps.row[j] != 0) taps_.add(to.data() + std::int64_t{j} * channels_, weight(p_.taps.row[j]));
      sum_taps(taps_, 0, out_, kept(line).data());
    }
  }

  static R convert(T sample) {
    if constexpr (std::is_same_v<R, float>) return number<float>(sample);
    else return static_cast<R>(sample);
  }

  void extend(std::int64_t n, int row, R* to) const {
    const int width = p_.width(), start = p_.roi_x + first_ - p_.taps.left;
    const int count = static_cast<int>(extended_ / channels_), inside = std::clamp(-start, 0, count),
              outside = std::clamp(width - start, inside, count);
    const auto pixel = [&](int i) {
      const int col = border_index(start + i, width, p_.border);
      for (int c = 0; c < channels_; ++c)
        to[std::int64_t{i} * channels_ + c] =
            convert(col == from_constant ? p_.outside : p_.image(n, row, col, c));
    };
    for (int i = 0; i < inside; ++i) pixel(i);
    if (inside < outside && p_.image.stride[2] == channels_ && (channels_ == 1 || p_.image.stride[3] == 1)) {
      const T* HWY_RESTRICT from = &p_.image(n, row, start + inside, 0);
      R* HWY_RESTRICT at = to + std::int64_t{inside} * channels_;
      const std::int64_t samples = std::int64_t{outside - inside} * channels_;
      for (std::int64_t i = 0; i < samples; ++i) at[i] = convert(from[i]);
    } else {
      for (int i = inside; i < outside; ++i) pixel(i);
    }
    for (int i = outside; i < count; ++i) pixel(i);
  }

  void write(std::int64_t n, int y) {
    const std::int64_t at =
        n * p_.filtered.stride[0] + y * p_.filtered.stride[1] + first_ * p_.filtered.stride[2];
    const auto put = [&](auto* data) {
      using To = std::remove_pointer_t<decltype(data)>;
      if (!past_caches_ || goes_by_itself<To>) return filter(data + at);
      row_.resize(static_cast<std::size_t>(out_) * sizeof(To));
      filter(reinterpret_cast<To*>(row_.data()));
      stream_bytes(row_.data(), static_cast<std::int64_t>(row_.size()),
                   reinterpret_cast<std::uint8_t*>(data + at));
    };
    if constexpr (bytes) {
      put(p_.filtered.data);
    } else {
      switch (p_.to) {
        case Element::u8:
          return put(p_.filtered.data);
        case Element::u16:
          return put(reinterpret_cast<std::uint16_t*>(p_.filtered.data));
        case Element::i16:
          return put(reinterpret_cast<std::int16_t*>(p_.filtered.data));
        case Element::f16:
          return put(reinterpret_cast<f16*>(p_.filtered.data));
        default:
          return put(reinterpret_cast<float*>(p_.filtered.data));
      }
    }
  }

  // Whether rows of such results go past the caches while they are summed; others are kept for that.
  template <class To>
  static constexpr bool goes_by_itself = bytes || (std::is_same_v<A, float> && std::is_same_v<To, float>);

  // What the taps make of a row.
  template <class To>
  void filter(To* to) {
    if constexpr (bytes) {
      filter_byte_row(p_.finish, taps_, out_, past_caches_, line_.data(), to);
    } else {
      if constexpr (goes_by_itself<To>)
        if (past_caches_) return stream_row(p_.finish, taps_, out_, sums_.data(), to);
      filter_row(p_.finish, taps_, out_, sums_.data(), to);
    }
  }

  const Problem<T>& p_;
  bool past_caches_;
  int first_, channels_;
  std::int64_t out_, extended_, kept_;
  std::vector<std::vector<R>> rows_;
  std::vector<R> line_;
  std::vector<A> sums_;
  std::vector<std::uint8_t> row_;  // of results on their way past the caches
  Taken taps_;
};

template <class T>
void run_strip(const Problem<T>& p, const Piece& piece) {
  const auto [n, first, last, begin, end, past_caches] = piece;
  if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_same_v<T, std::uint8_t>) {
#if HWY_TARGET != HWY_SCALAR
      if (p.taps.narrow && !p.taps.separable && p.to == Element::u8)
        return Strip<std::int16_t, T, std::uint8_t>(p, first, last, past_caches).run(n, begin, end);
#endif
      if (p.taps.narrow) return Strip<std::int16_t, T>(p, first, last, past_caches).run(n, begin, end);
    }
    if (p.taps.whole) return Strip<std::int32_t, T>(p, first, last, past_caches).run(n, begin, end);
  }
  Strip<float, T>(p, first, last, past_caches).run(n, begin, end);
}

void strip_u8(const Problem<std::uint8_t>& p, const Piece& piece) { run_strip(p, piece); }
void strip_u16(const Problem<std::uint16_t>& p, const Piece& piece) { run_strip(p, piece); }
void strip_i16(const Problem<std::int16_t>& p, const Piece& piece) { run_strip(p, piece); }
void strip_f16(const Problem<f16>& p, const Piece& piece) { run_strip(p, piece); }
void strip_f32(const Problem<float>& p, const Piece& piece) { run_strip(p, piece); }

}  // namespace HWY_NAMESPACE
}  // namespace tessera::filter
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "ops/imaging/image_operation.hpp"
#include "tessera/core/parallel.hpp"
#include "tessera/rung.hpp"

namespace tessera::filter {
namespace {

HWY_EXPORT(strip_u8);
HWY_EXPORT(strip_u16);
HWY_EXPORT(strip_i16);
HWY_EXPORT(strip_f16);
HWY_EXPORT(strip_f32);

template <class T>
void run_piece(const Problem<T>& p, const Piece& piece) {
  if constexpr (std::is_same_v<T, std::uint8_t>) HWY_DYNAMIC_DISPATCH(strip_u8)(p, piece);
  else if constexpr (std::is_same_v<T, std::uint16_t>) HWY_DYNAMIC_DISPATCH(strip_u16)(p, piece);
  else if constexpr (std::is_same_v<T, std::int16_t>) HWY_DYNAMIC_DISPATCH(strip_i16)(p, piece);
  else if constexpr (std::is_same_v<T, f16>) HWY_DYNAMIC_DISPATCH(strip_f16)(p, piece);
  else HWY_DYNAMIC_DISPATCH(strip_f32)(p, piece);
}

// A part of all rows of all pictures, in strips that the caches hold.
template <class T>
void run_rows(const Problem<T>& p, std::int64_t begin, std::int64_t end, bool past_caches) {
  constexpr int samples = 16384 / sizeof(T);
  const int width = std::max(1, samples / p.channels());
  for (std::int64_t row = begin; row < end;) {
    const std::int64_t n = row / p.rows(), top = row % p.rows(), count = std::min(end - row, p.rows() - top);
    for (int x = 0; x < p.cols(); x += width)
      run_piece(p, {n, x, std::min(x + width, p.cols()), static_cast<int>(top), static_cast<int>(top + count),
                    past_caches});
    row += count;
  }
}

template <class T>
void run_simd(const Problem<T>& p, int threads) {
  constexpr std::int64_t least_samples = 1 << 14;  // worth another thread
  const std::int64_t rows = p.images() * p.rows(), samples = rows * p.row_samples();
  if (samples == 0) return;
  const auto parts = static_cast<int>(
      std::clamp<std::int64_t>(samples / least_samples, 1, std::min<std::int64_t>(threads, rows)));
  // What is larger than a share of the last cache is not in it when somebody reads it.
  constexpr std::int64_t large = std::int64_t{16} << 20;
  const bool past_caches = samples * static_cast<std::int64_t>(size_of(p.to)) >= large;
  parallel(parts,
           [&](int part) { run_rows(p, rows * part / parts, rows * (part + 1) / parts, past_caches); });
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

}  // namespace tessera::filter
#endif
