// SPDX-License-Identifier: Apache-2.0
// Checks a large product in O(n²) operations: C·x must be α·A·(B·x) + β·C0·x for every x.
//
// Each matrix is read once. The result is a list of rows to check in full: a false positive costs little, so
// all doubtful rows are reported.
#include <algorithm>
#include <cmath>
#include <future>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include "ops/matmul/gemm/operands.hpp"
#include "ops/matmul/operation/matmul_operation.hpp"
#include "ops/matmul/verify/bounds.hpp"
#include "ops/matmul/verify/check_vectors.hpp"
#include "ops/matmul/verify/judge.hpp"
#include "tessera/core/device/parallel.hpp"
#include "tessera/core/array/random.hpp"

namespace tessera::matmul {
namespace {

// Calls work(first, last) for ranges of rows that start at multiples of rows_at_once, on at most so many
// threads.
void for_rows(std::int64_t rows, std::int64_t work_per_row,
              const std::function<void(std::int64_t, std::int64_t)>& work,
              std::int64_t most = host_threads()) {
  constexpr std::int64_t worth_a_thread = 1 << 15;
  const std::int64_t lots = (rows + rows_at_once - 1) / rows_at_once;
  const std::int64_t useful = std::max<std::int64_t>(1, rows * work_per_row / worth_a_thread);
  const auto parts = std::clamp<std::int64_t>(std::min(lots, useful), 1, most);
  parallel(static_cast<int>(parts), [&](int part) {
    work(lots * part / parts * rows_at_once, std::min(rows, lots * (part + 1) / parts * rows_at_once));
  });
}

// Four rows of a matrix as contiguous numbers: in place, copied, or widened to double. Beyond the end the
// last row is repeated.
template <class T>
class Rows {
 public:
  static constexpr bool as_it_is =
      std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::uint32_t>;
  using Number = std::conditional_t<as_it_is, T, double>;

  explicit Rows(const Matrix<const T>& matrix) : matrix_(matrix) {
    if (!as_it_is || matrix.stride[1] != 1)
      copy_.resize(static_cast<std::size_t>(rows_at_once * matrix.cols()));
  }

  FourRows<Number> at(std::int64_t first) {
    const T* from[rows_at_once];
    for (int r = 0; r < rows_at_once; ++r)
      from[r] = matrix_.data + std::min(first + r, matrix_.rows() - 1) * matrix_.stride[0];
    if constexpr (as_it_is)
      if (copy_.empty()) {
        std::ranges::copy(from, row_);
        return row_;
      }
    for (std::int64_t l = 0; l < matrix_.cols(); ++l)
      for (int r = 0; r < rows_at_once; ++r) {
        const T value = from[r][l * matrix_.stride[1]];
        Number& to = copy_[static_cast<std::size_t>(r * matrix_.cols() + l)];
        if constexpr (as_it_is) to = value;
        else to = widened(value);
      }
    for (int r = 0; r < rows_at_once; ++r) row_[r] = copy_.data() + r * matrix_.cols();
    return row_;
  }

 private:
  Matrix<const T> matrix_;
  std::vector<Number> copy_;
  const Number* row_[rows_at_once] = {};
};

// The ratio, for each row of C and group, of the residual |C·x - factor·A·(B·s·x) - β·C0·x - bias·x| to its
// rounding error bound. The bounds of the terms enter by their L2 norms; the triangle inequality makes these
// O(n²), too.
template <class A, class B, class C>
class Residuals {
 public:
  // `c0`: its data is null if β = 0.
  Residuals(const Matrix<const A>& a, const Matrix<const B>& b, const Matrix<const C>& c,
            const Matrix<const C>& c0, JudgedProduct terms, Signs signs)
      : a_(a),
        b_(b),
        c_(c),
        c0_(c0),
        signs_(std::move(signs)),
        terms_(std::move(terms)),
        scaled_signs_(terms_.scaled(signs_)),
        sums_(static_cast<std::size_t>(b.rows() * signs_.groups)),
        norms_(sums_.size()),
        products_(static_cast<std::size_t>(c.rows() * signs_.groups)) {
    for (std::int64_t g = 0; g < signs_.groups; ++g) groups_.push_back(terms_.group(signs_, g));
    for_rows(b.rows(), b.cols(), [this](std::int64_t first, std::int64_t last) { fold_b(first, last); });
  }

  // Multiplies rows of A with the sums of B, for the ratios of these rows.
  void multiply(Interval rows) {
    for_rows(rows.size(), a_.cols() * signs_.groups, [&](std::int64_t first, std::int64_t last) {
      Rows<A> a(a_);
      for (std::int64_t i = rows.first + first; i < rows.first + last; i += rows_at_once) {
        const auto& row = a.at(i);
        for (std::int64_t g = 0; g < signs_.groups; ++g) {
          const Dots dot = dots(row, sums_.data() + g * b_.rows(), norms_.data() + g * b_.rows(), b_.rows());
          for (std::int64_t r = 0; r < std::min<std::int64_t>(rows_at_once, rows.first + last - i); ++r)
            products_[place(i + r, g)] = {dot.sum[r], dot.magnitude[r]};
        }
      }
    });
  }

  // Returns the largest ratio of each of these rows, in some of the groups. `seen`: gets the largest bound of
  // each row.
  std::vector<double> ratios(Interval rows, Interval groups, std::vector<double>* seen = nullptr,
                             std::int64_t threads = host_threads()) const {
    std::vector<double> out(static_cast<std::size_t>(rows.size()));
    if (seen != nullptr) seen->assign(out.size(), 0);
    const std::int64_t begin = signs_.first(groups.first), width = signs_.first(groups.last) - begin;
    const auto columns = [&](Matrix<const C> matrix) {  // others may be written meanwhile
      matrix.data += begin * matrix.stride[1];
      matrix.extent[1] = width;
      return matrix;
    };
    const auto some_rows = [&](std::int64_t first, std::int64_t last) {
      const bool adds = c0_.data != nullptr;
      Rows<C> c(columns(c_)), c0(columns(adds ? c0_ : c_));
      const auto folded = [&](const auto* row, std::int64_t g) -> SumPair {
        const Fold one =
            fold(row + signs_.first(g) - begin, signs_.values.data() + signs_.first(g), signs_.length(g));
        return {one.sum, std::sqrt(one.squares)};
      };
      for (std::int64_t i = first; i < last; i += rows_at_once) {
        const auto &row_c = c.at(rows.first + i), &row_c0 = c0.at(rows.first + i);
        for (std::int64_t g = groups.first; g < groups.last; ++g)
          for (std::int64_t r = 0; r < std::min<std::int64_t>(rows_at_once, last - i); ++r) {
            const Residual found = residual(
                terms_.judge, rows.first + i + r, groups_[static_cast<std::size_t>(g)], folded(row_c[r], g),
                products_[place(rows.first + i + r, g)], adds ? folded(row_c0[r], g) : SumPair{});
            const auto at = static_cast<std::size_t>(i + r);
            out[at] = std::max(out[at], found.ratio());
            if (seen != nullptr) (*seen)[at] = std::max((*seen)[at], found.bound);
          }
      }
    };
    for_rows(rows.size(), width, some_rows, threads);
    return out;
  }

  std::vector<double> ratios(std::vector<double>* seen) {
    const Interval rows{0, c_.rows()};
    multiply(rows);
    return ratios(rows, {0, signs_.groups}, seen);
  }

 private:
  // Computes each row's signed sum and its L2 norm, group after group.
  void fold_b(std::int64_t first, std::int64_t last) {
    Rows<B> rows(b_);
    for (std::int64_t l = first; l < last; l += rows_at_once) {
      const auto& row = rows.at(l);
      for (std::int64_t r = 0; r < std::min<std::int64_t>(rows_at_once, last - l); ++r)
        for (std::int64_t g = 0; g < signs_.groups; ++g) {
          const Fold found =
              fold(row[r] + signs_.first(g), scaled_signs_.data() + signs_.first(g), signs_.length(g));
          const auto at = static_cast<std::size_t>(g * b_.rows() + l + r);
          sums_[at] = found.sum;
          norms_[at] = terms_.largest_scale * std::sqrt(found.squares);
        }
    }
  }

  std::size_t place(std::int64_t row, std::int64_t group) const {
    return static_cast<std::size_t>(row * signs_.groups + group);
  }

  Matrix<const A> a_;
  Matrix<const B> b_;
  Matrix<const C> c_, c0_;
  Signs signs_;
  JudgedProduct terms_;
  std::vector<GroupTerms> groups_;
  std::vector<double> scaled_signs_, sums_, norms_;
  std::vector<SumPair> products_;
};

template <class T>
using PlainResiduals = Residuals<T, T, T>;

template <class T>
PlainResiduals<T> residuals_of(const Problem<T>& p, JudgedProduct terms, Signs signs) {
  const Matrix<const T> c{p.c.data, {p.c.extent[0], p.c.extent[1]}, {p.c.stride[0], p.c.stride[1]}};
  return {p.a, p.b, c, p.beta == T{0} ? Matrix<const T>{} : p.c0, std::move(terms), std::move(signs)};
}

template <class T>
std::vector<double> plain_ratios(const Arguments& arguments, Data data, std::uint64_t seed,
                                 const Slack& slack, std::vector<double>* seen) {
  const auto p = Problem<T>::of(arguments);
  // With bounds for any data, ratios of correct rows are so small that fewer groups show an error, too.
  const std::int64_t groups = data == Data::any ? 4 : 16;
  const auto signs = Signs::in_even_groups(p.n(), groups, seed);
  return residuals_of(p, {arguments, data, slack}, signs).ratios(seen);
}

// Checks the tiles of a product as they come. Groups of columns end where tiles do, the sums of B are shared
// by all tiles, and the products of rows of A with them by those of these rows. The bound supposes that
// roundings cancel: a tile beyond it is verified, so other data cost time and no false alarm.
template <class T>
class TileChecks {
 public:
  TileChecks(const Arguments& whole, std::span<const Tile> tiles, std::uint64_t seed)
      : p_(Problem<T>::of(whole)), whole_(whole), seed_(seed) {
    for (const Tile& tile : tiles) {
      (void)rows_[tile.rows];
      columns_[tile.cols.last] = 0;
    }
    for (std::int64_t group = 0; auto& [end, place] : columns_) place = group++;
  }

  bool operator()(const Tile& tile) {
    std::call_once(begun_, [this] {
      std::vector<std::int64_t> ends;
      for (const auto& [end, place] : columns_) ends.push_back(end);
      const Signs signs(std::move(ends), seed_);
      residuals_.emplace(residuals_of(p_, {whole_, Data::random, {}}, signs));
    });
    std::call_once(rows_.at(tile.rows), [&] { residuals_->multiply(tile.rows); });
    const Interval groups{columns_.upper_bound(tile.cols.first)->second, columns_.at(tile.cols.last) + 1};
    // Several devices' tiles are checked at once, each by threads of its own: the pool serves one caller at a
    // time.
    constexpr std::int64_t parts = 4;
    const auto is_right = [&](std::int64_t part) {
      const auto cut = [&](std::int64_t at) { return tile.rows.first + tile.rows.size() * at / parts; };
      return std::ranges::all_of(residuals_->ratios({cut(part), cut(part + 1)}, groups, nullptr, 1),
                                 [](double ratio) { return ratio <= 1; });
    };
    std::vector<std::future<bool>> others;
    for (std::int64_t part = 1; part < parts; ++part)
      others.push_back(std::async(std::launch::async, is_right, part));
    const bool right = is_right(0);
    return std::ranges::count_if(others, &std::future<bool>::get) == parts - 1 && right;
  }

 private:
  Problem<T> p_;
  Arguments whole_;
  std::uint64_t seed_;
  std::once_flag begun_;
  std::map<Interval, std::once_flag> rows_;
  std::map<std::int64_t, std::int64_t> columns_;  // the group that ends there
  std::optional<PlainResiduals<T>> residuals_;
};

template <class T>
TileCheck tile_check_of(const Arguments& whole, std::span<const Tile> tiles, std::uint64_t seed) {
  return [checks = std::make_shared<TileChecks<T>>(whole, tiles, seed)](const Tile& tile) {
    return (*checks)(tile);
  };
}

template <class C>
std::vector<double> mixed_ratios(const MixedProblem& p, const Arguments& arguments, Data data,
                                 std::uint64_t seed, const Slack& slack, std::vector<double>* seen) {
  constexpr std::int64_t groups = 32;  // C's own rounding hides more than that of a sum
  const auto signs = Signs::in_even_groups(p.n, groups, seed);
  const Matrix<const C> c{static_cast<const C*>(p.c), {p.m, p.n}, {p.c_row_stride, p.c_col_stride}};
  const Matrix<const C> c0 = p.beta != 0 ? view_of<C>(p.c0, p.m, p.n) : Matrix<const C>{};
  std::vector<double> out;
  with_factors(p, [&](const auto& a, const auto& b) {
    out = Residuals(a, b, c, c0, {arguments, data, slack}, signs).ratios(seen);
  });
  return out;
}

std::vector<double> mixed_ratios(const Arguments& arguments, Data data, std::uint64_t seed,
                                 const Slack& slack, std::vector<double>* seen) {
  const auto p = MixedProblem::of(arguments);
  switch (p.c_element) {
    case Element::bf16:
      return mixed_ratios<bf16>(p, arguments, data, seed, slack, seen);
    case Element::f16:
      return mixed_ratios<f16>(p, arguments, data, seed, slack, seen);
    case Element::f32:
      return mixed_ratios<float>(p, arguments, data, seed, slack, seen);
    default:
      return mixed_ratios<std::int32_t>(p, arguments, data, seed, slack, seen);
  }
}

using Columns = std::vector<std::uint32_t>;  // `vectors` columns, row-major

Columns times(const Matrix<const std::int32_t>& matrix, const Columns& x, std::int64_t count) {
  Columns out(static_cast<std::size_t>(matrix.rows() * vectors));
  // Signed and unsigned integers may name the same memory.
  const Matrix<const std::uint32_t> unsigned_matrix{reinterpret_cast<const std::uint32_t*>(matrix.data),
                                                    {matrix.extent[0], matrix.extent[1]},
                                                    {matrix.stride[0], matrix.stride[1]}};
  for_rows(matrix.rows(), matrix.cols() * count, [&](std::int64_t first, std::int64_t last) {
    Rows<std::uint32_t> rows(unsigned_matrix);
    std::uint32_t found[rows_at_once][vectors] = {};
    for (std::int64_t i = first; i < last; i += rows_at_once) {
      products(rows.at(i), x.data(), matrix.cols(), count, found);
      for (std::int64_t r = 0; r < std::min<std::int64_t>(rows_at_once, last - i); ++r)
        std::ranges::copy(found[r], out.begin() + (i + r) * vectors);
    }
  });
  return out;
}

// Modulo 2^32 nothing is rounded. An error that is an odd multiple of 2^s times a random number vanishes with
// probability 2^(s-32), at most a half: 32 vectors miss it with probability 2^-32. With at most 32 columns,
// each has its own unit vector, and the check is exact.
std::vector<std::int64_t> suspects_among_integers(const Arguments& arguments, std::uint64_t seed) {
  const auto p = Problem<std::int32_t>::of(arguments);
  Random random(seed);
  Columns x(static_cast<std::size_t>(p.n() * vectors));
  if (p.n() > vectors)
    for (auto& value : x) value = static_cast<std::uint32_t>(random.next() >> 32);
  else
    for (std::int64_t j = 0; j < p.n(); ++j) x[static_cast<std::size_t>(j * vectors + j)] = 1;
  const Matrix<const std::int32_t> result{
      p.c.data, {p.c.extent[0], p.c.extent[1]}, {p.c.stride[0], p.c.stride[1]}};
  const std::int64_t count = std::min(p.n(), vectors);
  const Columns z = times(p.a, times(p.b, x, count), count), c = times(result, x, count);
  const Columns c0 = p.beta == 0 ? Columns(c.size()) : times(p.c0, x, count);
  const auto alpha = static_cast<std::uint32_t>(p.alpha), beta = static_cast<std::uint32_t>(p.beta);
  std::vector<std::int64_t> rows;
  for (std::size_t at = 0; at < c.size(); ++at) {
    const auto row = static_cast<std::int64_t>(at) / vectors;
    if (c[at] != alpha * z[at] + beta * c0[at] && (rows.empty() || rows.back() != row)) rows.push_back(row);
  }
  return rows;
}

std::vector<std::int64_t> rows_at_distances(std::int64_t rows, std::uint64_t seed) {
  constexpr std::int64_t apart = 32;
  std::vector<std::int64_t> out;
  Random random(seed);
  for (std::int64_t i = 0; i < rows; i += apart)
    out.push_back(
        i + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(std::min(apart, rows - i)))));
  return out;
}

}  // namespace

std::vector<std::int64_t> suspect_rows(const Arguments& arguments, Data data, std::uint64_t seed,
                                       const Slack& slack, std::vector<double>* seen) {
  if (sampled_only(arguments)) return rows_at_distances(arguments.dim("m"), seed);
  if (is_mixed(arguments)) return rows_that_stand_out(mixed_ratios(arguments, data, seed, slack, seen), seen);
  switch (arguments.element()) {
    case Element::f32:
      return rows_that_stand_out(plain_ratios<float>(arguments, data, seed, slack, seen), seen);
    case Element::f64:
      return rows_that_stand_out(plain_ratios<double>(arguments, data, seed, slack, seen), seen);
    case Element::i32:
      return suspects_among_integers(arguments, seed);
    default:
      throw Error(Error::Kind::internal, "no check for this element");
  }
}

TileCheck tile_check(const Arguments& whole, std::span<const Tile> tiles, std::uint64_t seed) {
  if (tiles.empty() || is_mixed(whole) || sampled_only(whole)) return {};
  if (whole.element() == Element::f32) return tile_check_of<float>(whole, tiles, seed);
  if (whole.element() == Element::f64) return tile_check_of<double>(whole, tiles, seed);
  return {};
}

}  // namespace tessera::matmul
