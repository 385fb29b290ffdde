// SPDX-License-Identifier: Apache-2.0
// CPU rung 2: 1024 strips at a time, vectors, every core.
//
// The interpreter is asked for a block of points at once, so its own work is shared by all of them, and each
// operator runs in vectors. Thirty-two runs of strips are added side by side, one to a lane: the order within
// a run stays, and with it the bits. Plain and Kahan sums: strips are dealt to the lanes in turn, lanes
// joined two by two, pieces of at least 32768 strips in their order. What limits it now is the square root.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/integrate/cpu_02_simd.cpp"
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace tessera::integration {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void Abscissae(const Lanes<T>& lanes, T a, T step, T* x) {
  const hn::CappedTag<T, kLanes> d;
  const auto from = hn::Set(d, a), by = hn::Set(d, step);
  for (int k = 0; k < kRows; ++k) {
    const auto behind = hn::Set(d, lanes.done + static_cast<T>(k) * lanes.stride);
    for (int j = 0; j < kLanes; j += static_cast<int>(hn::Lanes(d)))
      hn::Store(hn::Add(from, hn::Mul(hn::Add(hn::Load(d, lanes.first + j), behind), by)), d,
                x + k * kLanes + j);
  }
}

template <class T>
void Accumulate(Sum way, const T* y, bool multiply, T factor, Lanes<T>& lanes) {
  const hn::CappedTag<T, kLanes> d;
  const auto width = hn::Set(d, factor);
  for (int j = 0; j < kLanes; j += static_cast<int>(hn::Lanes(d))) {
    auto high = hn::Load(d, lanes.high + j), low = hn::Load(d, lanes.low + j);
    for (int k = 0; k < kRows; ++k) {
      auto v = hn::Load(d, y + k * kLanes + j);
      if (multiply) v = hn::Mul(v, width);
      if (way == Sum::kahan) {
        const auto corrected = hn::Add(v, low), next = hn::Add(high, corrected);
        low = hn::Sub(corrected, hn::Sub(next, high));
        high = next;
      } else if (way == Sum::double_float) {
        const auto sum = hn::Add(high, v), of_v = hn::Sub(sum, high), of_high = hn::Sub(sum, of_v);
        const auto lost = hn::Add(hn::Add(hn::Sub(high, of_high), hn::Sub(v, of_v)), low);
        high = hn::Add(sum, lost);
        low = hn::Sub(lost, hn::Sub(high, sum));
      } else {
        high = hn::Add(high, v);
      }
    }
    hn::Store(high, d, lanes.high + j);
    hn::Store(low, d, lanes.low + j);
  }
}

void abscissae_f32(const Lanes<float>& lanes, float a, float step, float* x) { Abscissae(lanes, a, step, x); }
void abscissae_f64(const Lanes<double>& lanes, double a, double step, double* x) {
  Abscissae(lanes, a, step, x);
}
void accumulate_f32(Sum way, const float* y, bool multiply, float factor, Lanes<float>& lanes) {
  Accumulate(way, y, multiply, factor, lanes);
}
void accumulate_f64(Sum way, const double* y, bool multiply, double factor, Lanes<double>& lanes) {
  Accumulate(way, y, multiply, factor, lanes);
}

}  // namespace HWY_NAMESPACE
}  // namespace tessera::integration
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "partials.hpp"
#include "tessera/core/parallel.hpp"
#include "tessera/formula/evaluate.hpp"
#include "tessera/rung.hpp"

namespace tessera::integration {
namespace {

HWY_EXPORT(abscissae_f32);
HWY_EXPORT(abscissae_f64);
HWY_EXPORT(accumulate_f32);
HWY_EXPORT(accumulate_f64);

constexpr std::int64_t block = kLanes * kRows;

// What one thread works with.
template <class T>
class Piece {
 public:
  explicit Piece(const Problem<T>& p) : p_(p) {}

  // Strips first … last - 1 of plain and Kahan sums.
  Pair<T> in_turn(std::int64_t first, std::int64_t last) {
    start(first, 1, kLanes);
    for (; last - first >= block; first += block) add_block();
    for (std::int64_t i = first; i < last; ++i) {
      const auto lane = static_cast<int>((i - first) % kLanes);
      const Pair<T> sum = plus(p_.sum, {lanes_.high[lane], lanes_.low[lane]}, p_.term(p_.abscissa(i)));
      lanes_.high[lane] = sum.high;
      lanes_.low[lane] = sum.low;
    }
    return joined();
  }

  // Whole runs of `each` strips, as many as there are lanes, whose sums are joined two by two.
  Pair<T> runs(std::int64_t first, std::int64_t each) {
    start(first, each, 1);
    for (std::int64_t done = 0; done < each; done += kRows) add_block();
    return joined();
  }

  void exactly(Exact<T>& sum, std::int64_t first, std::int64_t last) {
    start(first, 1, kLanes);
    for (; last - first >= block; first += block) {
      heights();
      for (const T y : y_) sum.add(p_.scale_terms ? y * p_.width : y);
      sum.carry();
    }
    p_.add_exactly(sum, first, last);
  }

 private:
  void start(std::int64_t first, std::int64_t apart, std::int64_t stride) {
    lanes_ = {};
    for (int j = 0; j < kLanes; ++j) lanes_.first[j] = static_cast<T>(first + j * apart);
    lanes_.stride = static_cast<T>(stride);
  }

  void heights() {
    if constexpr (sizeof(T) == 4) HWY_DYNAMIC_DISPATCH(abscissae_f32)(lanes_, p_.a, p_.step, x_);
    else HWY_DYNAMIC_DISPATCH(abscissae_f64)(lanes_, p_.a, p_.step, x_);
    lanes_.done += kRows * lanes_.stride;
    const formula::Input<T> x{x_};
    formula::evaluate_many(p_.integrand, std::span(&x, 1), static_cast<std::size_t>(block), y_);
  }

  void add_block() {
    heights();
    if constexpr (sizeof(T) == 4)
      HWY_DYNAMIC_DISPATCH(accumulate_f32)(p_.sum, y_, p_.scale_terms, p_.width, lanes_);
    else HWY_DYNAMIC_DISPATCH(accumulate_f64)(p_.sum, y_, p_.scale_terms, p_.width, lanes_);
  }

  Pair<T> joined() const {
    Tree<T> tree(p_.sum);
    for (int j = 0; j < kLanes; ++j) tree.add({lanes_.high[j], lanes_.low[j]});
    return tree.sum();
  }

  const Problem<T>& p_;
  Lanes<T> lanes_;
  alignas(64) T x_[block], y_[block];
};

// How the strips are cut, whoever takes which piece: whole subtrees of the fixed orders.
template <class T>
struct Cut {
  std::int64_t each, count;

  explicit Cut(const Problem<T>& p) : each(1 << 15) {
    constexpr std::int64_t most = 1 << 13;
    while (each < (p.strips + most - 1) / most) each *= 2;
    count = (p.strips + each - 1) / each;
  }
};

template <class T>
Pair<T> piece_of(const Problem<T>& p, Piece<T>& piece, std::int64_t first, std::int64_t last) {
  if (!has_fixed_order(p.sum)) return piece.in_turn(first, last);
  const std::int64_t run = p.sum == Sum::pairwise ? Problem<T>::leaf : p.runs(1).strips,
                     together = run * kLanes;
  Tree<T> tree(p.sum), rest(p.sum);
  for (; last - first >= together; first += together) tree.add(piece.runs(first, run));
  for (; first < last; first += run) rest.add(p.add_run(first, std::min(first + run, last)));
  tree.add(rest.sum());
  return tree.sum();
}

// Abscissae from indices that the type cannot hold, and those that are added up, are left to single numbers.
template <class T>
bool suits_vectors(const Problem<T>& p) {
  return !p.accumulated && p.strips <= (std::int64_t{1} << std::numeric_limits<T>::digits);
}

template <class T>
T add_runs(const Problem<T>& given, int threads) {
  Problem<T> p = given;
  const Runs runs = p.runs(1);
  std::vector<std::int64_t> partials(partial_bytes<T>(p.sum, runs.count) / sizeof(std::int64_t));
  p.workspace = partials.data();
  const auto parts = static_cast<int>(std::min<std::int64_t>(threads, runs.count));
  parallel(parts, [&](int part) {
    for (std::int64_t run = runs.count * part / parts; run < runs.count * (part + 1) / parts; ++run)
      add_run_to_partials(p, runs, run);
  });
  return total_of(p, partials.data() + counter_bytes / sizeof(std::int64_t), runs.count);
}

template <class T>
T add_pieces(const Problem<T>& p, int threads) {
  const Cut<T> cut(p);
  std::vector<Pair<T>> sums(static_cast<std::size_t>(cut.count));
  const auto parts = static_cast<int>(std::min<std::int64_t>(threads, cut.count));
  std::vector<Exact<T>> exact(p.sum == Sum::exact ? static_cast<std::size_t>(parts) : 0);
  parallel(parts, [&](int part) {
    Piece<T> piece(p);
    for (std::int64_t i = cut.count * part / parts; i < cut.count * (part + 1) / parts; ++i) {
      const std::int64_t first = i * cut.each, last = std::min(first + cut.each, p.strips);
      if (p.sum == Sum::exact) piece.exactly(exact[static_cast<std::size_t>(part)], first, last);
      else sums[static_cast<std::size_t>(i)] = piece_of(p, piece, first, last);
    }
  });
  if (p.sum != Sum::exact) return total_of(p, sums.data(), cut.count);
  std::vector<std::int64_t> stored(static_cast<std::size_t>(parts) * Exact<T>::words);
  for (std::size_t i = 0; i < exact.size(); ++i) exact[i].store(stored.data() + i * Exact<T>::words);
  return total_of(p, stored.data(), parts);
}

Choice choice() {
  Choice out = choice_of<Problem>([](const auto& p, const Tuning&, Run& run) {
    const int threads = run.device->threads;
    *p.result = suits_vectors(p) ? add_pieces(p, threads) : add_runs(p, threads);
  });
  out.refuses = [](const Arguments& a, const Tuning&, const Device&) { return not_of_strips(a); };
  return out;
}

const Rung rung{"1024 strips at a time in vectors, 32 runs side by side, all cores", Where::cpu, {choice()}};

}  // namespace
}  // namespace tessera::integration
#endif
