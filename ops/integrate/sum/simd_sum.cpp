// SPDX-License-Identifier: Apache-2.0
#include "simd_sum.hpp"
#include <cmath>
#include <limits>
#include "partials.hpp"
#include "tessera/integrate.hpp"
#include "tessera/core/device/parallel.hpp"
#include "tessera/formula/evaluate.hpp"

namespace tessera::integration {
namespace {

constexpr std::int64_t block = kLanes * kRows;

// A thread's chains, lanes and buffers.
template <class T>
class Piece {
 public:
  Piece(const Problem<T>& p, formula::Roots roots)
      : p_(p),
        on_lanes_(on_lanes(T())),
        as_they_are_(p.step != 0 && steps_are_exact(p.a, p.step, p.strips)),
        sum_(p.integrand, roots, head(), {on_lanes_.accumulate[static_cast<int>(p.sum)], &lanes_}),
        samples_(p.integrand, roots, head(),
                 {formula::chains<T>().links[static_cast<int>(formula::LinkKind::leave)], y_}) {
    lanes_.a = p.a;
    lanes_.step = p.step;
  }
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;

  // Adds strips first … last - 1 of plain and Kahan sums, assigned to the lanes round-robin.
  Pair<T> in_turn(std::int64_t first, std::int64_t last) {
    start(first, 1, kLanes);
    for (; last - first >= block; first += block) add_block(further_);
    for (std::int64_t i = first; i < last; ++i) {
      const auto lane = static_cast<int>((i - first) % kLanes);
      const Pair<T> sum = plus(p_.sum, {lanes_.high[lane], lanes_.low[lane]}, p_.term(p_.abscissa(i)));
      lanes_.high[lane] = sum.high;
      lanes_.low[lane] = sum.low;
    }
    return joined();
  }

  // Adds kLanes full runs of `each` strips and joins their sums pairwise, repeatedly, as long as there are
  // strips for all of them. Returns the first strip that is left.
  std::int64_t runs(std::int64_t first, std::int64_t last, std::int64_t each, Tree<T>& tree) {
    const std::int64_t together = each * kLanes;
    if (last - first < together) return first;
    start(first, each, 1);
    const T over = index_of(together - each, 0);  // to the start of the next runs
    for (; last - first >= together; first += together) {
      for (std::int64_t done = kRows; done < each; done += kRows) add_block(further_);
      add_block(further_ + over);
      tree.add(joined());
      on_lanes_.clear(lanes_);
    }
    return first;
  }

  void exactly(Exact<T>& sum, std::int64_t first, std::int64_t last) {
    start(first, 1, kLanes);
    for (; last - first >= block; first += block) {
      compute_samples();
      for (const T y : y_) sum.add(y);
      sum.carry();
      on_lanes_.advance(lanes_, further_);
    }
    p_.add_exactly(sum, first, last);
  }

 private:
  formula::Link head() { return {as_they_are_ ? on_lanes_.as_they_are : on_lanes_.abscissae, &lanes_}; }

  T index_of(std::int64_t index, T from) const {
    return as_they_are_ ? from + static_cast<T>(index) * p_.step : static_cast<T>(index);
  }

  void start(std::int64_t first, std::int64_t apart, std::int64_t stride) {
    for (int j = 0; j < kLanes; ++j) lanes_.first[j] = index_of(first + j * apart, p_.a);
    on_lanes_.clear(lanes_);
    for (int k = 0; k < kRows; ++k) lanes_.row[k] = index_of(k * stride, 0);
    further_ = index_of(kRows * stride, 0);
  }

  // Computes samples through memory if the formula has no chain, or each sample is multiplied.
  void compute_samples() {
    if (samples_) {
      samples_.run(block);
    } else {
      on_lanes_.write(lanes_, as_they_are_, x_);
      const formula::Input<T> x{x_};
      formula::evaluate_many(p_.integrand, std::span(&x, 1), static_cast<std::size_t>(block), y_);
    }
    if (!p_.scale_terms) return;
    for (T& y : y_) y *= p_.width;
  }

  void add_block(T by) {
    if (sum_ && !p_.scale_terms) {
      sum_.run(block);
    } else {
      compute_samples();
      on_lanes_.add(p_.sum, y_, lanes_);
    }
    on_lanes_.advance(lanes_, by);
  }

  Pair<T> joined() const {
    if (p_.sum == Sum::plain || p_.sum == Sum::pairwise) return {on_lanes_.joined(lanes_), 0};
    Tree<T> tree(p_.sum);
    for (int j = 0; j < kLanes; ++j) tree.add({lanes_.high[j], lanes_.low[j]});
    return tree.sum();
  }

  const Problem<T>& p_;
  OnLanes<T> on_lanes_;
  bool as_they_are_;
  Lanes<T> lanes_;
  T further_ = 0;
  alignas(64) T x_[block], y_[block];
  formula::Chain<T> sum_, samples_;
};

// The cut of the strips into pieces, entire subtrees of the fixed orders; it does not depend on the threads.
template <class T>
struct Cut {
  std::int64_t each, count;

  explicit Cut(const Problem<T>& p) : each(1 << 15) {
    constexpr std::int64_t most = 1 << 13;
    // Starting a piece costs as much as some hundred strips.
    if (has_fixed_order(p.sum) && p.strips >= std::int64_t{1} << 22) each = 1 << 17;
    while (each < (p.strips + most - 1) / most) each *= 2;
    count = (p.strips + each - 1) / each;
  }
};

template <class T>
Pair<T> piece_of(const Problem<T>& p, Piece<T>& piece, std::int64_t first, std::int64_t last) {
  if (!has_fixed_order(p.sum)) return piece.in_turn(first, last);
  const std::int64_t run = p.sum == Sum::pairwise ? Problem<T>::leaf : p.runs(1).strips;
  Tree<T> tree(p.sum), rest(p.sum);
  first = piece.runs(first, last, run, tree);
  for (; first < last; first += run) rest.add(p.add_run(first, std::min(first + run, last)));
  tree.add(rest.sum());
  return tree.sum();
}

// True unless T cannot represent the indices or abscissae are accumulated, which is left to scalar code.
template <class T>
bool suits_vectors(const Problem<T>& p) {
  return !p.accumulated && p.strips <= (std::int64_t{1} << std::numeric_limits<T>::digits);
}

template <class T>
T add_pieces(const Problem<T>& p, int threads, formula::Roots roots) {
  const Cut<T> cut(p);
  std::vector<Pair<T>> sums(static_cast<std::size_t>(cut.count));
  const auto parts = static_cast<int>(std::min<std::int64_t>(threads, cut.count));
  std::vector<Exact<T>> exact(p.sum == Sum::exact ? static_cast<std::size_t>(parts) : 0);
  parallel(parts, [&](int part) {
    Piece<T> piece(p, roots);
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

}  // namespace

template <class T>
T add_by_simd(const Problem<T>& p, int threads, formula::Roots roots) {
  return suits_vectors(p) ? add_pieces(p, threads, roots) : add_on_processors(p, threads);
}
template float add_by_simd(const Problem<float>&, int, formula::Roots);
template double add_by_simd(const Problem<double>&, int, formula::Roots);

}  // namespace tessera::integration
