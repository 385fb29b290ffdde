// SPDX-License-Identifier: Apache-2.0
// A large product checked in O(n²) operations: C·x must be α·A·(B·x) + β·C0·x for every x.
//
// Each matrix is read once. What this finds are rows to look at, so a row suspected in vain costs
// little, and every doubt is resolved that way.
#include <algorithm>
#include <cmath>
#include <limits>
#include "ops/matmul/problem/elements.hpp"
#include "ops/matmul/problem/matmul_operation.hpp"
#include "ops/matmul/problem/typed_operands.hpp"
#include "ops/matmul/verify/bounds.hpp"
#include "ops/matmul/verify/check_vectors.hpp"
#include "tessera/core/parallel.hpp"
#include "tessera/core/random.hpp"

namespace tessera::matmul {
namespace {

// Calls work(first, last) for ranges of rows that are multiples of rows_at_once apart, on all processors.
void for_rows(std::int64_t rows, std::int64_t work_per_row,
              const std::function<void(std::int64_t, std::int64_t)>& work) {
  constexpr std::int64_t worth_a_thread = 1 << 15;
  const std::int64_t lots = (rows + rows_at_once - 1) / rows_at_once;
  const std::int64_t useful = std::max<std::int64_t>(1, rows * work_per_row / worth_a_thread);
  const auto parts = std::clamp<std::int64_t>(std::min(lots, useful), 1, host_threads());
  parallel(static_cast<int>(parts), [&](int part) {
    work(lots * part / parts * rows_at_once, std::min(rows, lots * (part + 1) / parts * rows_at_once));
  });
}

// Four rows of a matrix as adjacent elements: where they lie, or copied. Beyond the last row it repeats.
template <class T>
class Rows {
 public:
  explicit Rows(const Matrix<const T>& matrix) : matrix_(matrix) {
    if (matrix.stride[1] != 1) copy_.resize(static_cast<std::size_t>(rows_at_once * matrix.cols()));
  }

  FourRows<T> at(std::int64_t first) {
    for (int r = 0; r < rows_at_once; ++r) row_[r] = &matrix_(std::min(first + r, matrix_.rows() - 1), 0);
    if (copy_.empty()) return row_;
    for (std::int64_t l = 0; l < matrix_.cols(); ++l)
      for (int r = 0; r < rows_at_once; ++r)
        copy_[static_cast<std::size_t>(r * matrix_.cols() + l)] = row_[r][l * matrix_.stride[1]];
    for (int r = 0; r < rows_at_once; ++r) row_[r] = copy_.data() + r * matrix_.cols();
    return row_;
  }

 private:
  Matrix<const T> matrix_;
  std::vector<T> copy_;
  const T* row_[rows_at_once] = {};
};

// Neighbouring columns form a group, and each group has a vector of its own: fewer honest errors then add
// up to hide a wrong element. A group costs as much as a column, so narrow matrices have few.
std::int64_t groups_for(std::int64_t columns) { return std::clamp<std::int64_t>(columns / 64, 1, 16); }

struct Signs {
  Signs(std::int64_t columns, std::uint64_t seed)
      : groups(groups_for(columns)), values(static_cast<std::size_t>(columns)) {
    Random random(seed);
    for (double& sign : values) sign = (random.next() & 1) != 0 ? 1 : -1;
  }
  std::int64_t first(std::int64_t group) const { return std::ssize(values) * group / groups; }

  template <class T>
  Fold fold(const T* row, std::int64_t group) const {
    return matmul::fold(row + first(group), values.data() + first(group), first(group + 1) - first(group));
  }

  std::int64_t groups;
  std::vector<double> values;
};

// Of B, for each group of columns: each row's sum with random signs, and its L2 norm.
struct Folded {
  Folded(std::int64_t row_count, std::int64_t groups)
      : rows(row_count),
        sums(static_cast<std::size_t>(row_count * groups)),
        norms(static_cast<std::size_t>(row_count * groups)) {}
  std::int64_t rows;
  std::vector<double> sums, norms;  // group after group
};

template <class T>
Folded fold_rows(const Matrix<const T>& matrix, const Signs& signs) {
  Folded out(matrix.rows(), signs.groups);
  for_rows(matrix.rows(), matrix.cols(), [&](std::int64_t first, std::int64_t last) {
    Rows<T> rows(matrix);
    for (std::int64_t l = first; l < last; l += rows_at_once) {
      const FourRows<T> row = rows.at(l);
      for (std::int64_t r = 0; r < std::min<std::int64_t>(rows_at_once, last - l); ++r)
        for (std::int64_t g = 0; g < signs.groups; ++g) {
          const Fold found = signs.fold(row[r], g);
          out.sums[static_cast<std::size_t>(g * out.rows + l + r)] = found.sum;
          out.norms[static_cast<std::size_t>(g * out.rows + l + r)] = std::sqrt(found.squares);
        }
    }
  });
  return out;
}

// Of each row, the largest ratio of |C·x - α·A·(B·x) - β·C0·x| to the L2 norm of the bounds of what it
// adds up, γ·(|α|·|A|·|B| + |β|·|C0|); the triangle inequality makes that norm an O(n²) matter too.
template <class T>
class Residuals {
 public:
  Residuals(const Arguments& arguments, Data data, std::uint64_t seed)
      : p_(Problem<T>::of(arguments)),
        growth_(rounding_growth(arguments, static_cast<double>(limits::epsilon()) / 2, data)),
        signs_(p_.n(), seed),
        b_(fold_rows(p_.b, signs_)),
        ratios_(static_cast<std::size_t>(p_.m())) {
    for_rows(p_.m(), p_.k() + p_.n(), [this](std::int64_t first, std::int64_t last) { visit(first, last); });
  }

  const std::vector<double>& ratios() const { return ratios_; }

 private:
  using limits = std::numeric_limits<T>;

  void visit(std::int64_t first, std::int64_t last) {
    Rows<T> a(p_.a), c({p_.c.data, {p_.c.extent[0], p_.c.extent[1]}, {p_.c.stride[0], p_.c.stride[1]}}),
        c0(p_.c0);
    for (std::int64_t i = first; i < last; i += rows_at_once) {
      const FourRows<T> row_a = a.at(i), row_c = c.at(i);
      const T* const* row_c0 = p_.beta == T{0} ? nullptr : c0.at(i);
      const auto here = std::min<std::int64_t>(rows_at_once, last - i);
      for (std::int64_t g = 0; g < signs_.groups; ++g) {
        const Dots dot = dots(row_a, b_.sums.data() + g * b_.rows, b_.norms.data() + g * b_.rows, p_.k());
        for (std::int64_t r = 0; r < here; ++r) {
          const Fold added = row_c0 == nullptr ? Fold{} : signs_.fold(row_c0[r], g);
          const double found = ratio(signs_.fold(row_c[r], g).sum, dot.sum[r], dot.magnitude[r], added);
          double& worst = ratios_[static_cast<std::size_t>(i + r)];
          worst = std::max(worst, found);
        }
      }
    }
  }

  double ratio(double got, double product, double magnitude, const Fold& added) const {
    const double alpha = static_cast<double>(p_.alpha), beta = static_cast<double>(p_.beta);
    const double residual = std::fabs(got - (alpha * product + beta * added.sum));
    const double most =
        std::max(magnitude, std::fabs(alpha) * magnitude + std::fabs(beta) * std::sqrt(added.squares));
    // Where a sum might overflow, only the full look at the row tells what it may be.
    if (!(most < static_cast<double>(limits::max()) / 4)) return infinity_;
    const double underflow = static_cast<double>(limits::denorm_min()) * (std::fabs(alpha) + 1) *
                             static_cast<double>(p_.k() + 3) * std::sqrt(static_cast<double>(p_.n()));
    const double bound =
        growth_ * (std::fabs(alpha) * magnitude + std::fabs(beta) * std::sqrt(added.squares)) + underflow;
    const double out = residual == 0 ? 0 : residual / bound;
    return out >= 0 ? out : infinity_;
  }

  static constexpr double infinity_ = std::numeric_limits<double>::infinity();
  Problem<T> p_;
  double growth_;
  Signs signs_;
  Folded b_;
  std::vector<double> ratios_;
};

// Rows beyond the bound and, since honest errors are far below theirs, those that stand out most.
std::vector<std::int64_t> rows_that_stand_out(const std::vector<double>& ratios) {
  const std::size_t always_looked_at = std::clamp<std::size_t>(ratios.size() / 128, 1, 8);
  const auto ratio = [&](std::int64_t i) { return ratios[static_cast<std::size_t>(i)]; };
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < std::ssize(ratios); ++i)
    if (ratio(i) > 0) rows.push_back(i);
  std::ranges::stable_sort(rows, std::ranges::greater{}, ratio);
  const auto honest = std::ranges::find_if(rows, [&](std::int64_t i) { return ratio(i) <= 1; });
  rows.resize(
      std::max(static_cast<std::size_t>(honest - rows.begin()), std::min(always_looked_at, rows.size())));
  return rows;
}

using Columns = std::vector<std::uint32_t>;  // `vectors` of them, row after row

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

// Modulo 2^32 nothing is rounded. An error that is an odd multiple of 2^s vanishes against a random
// number with a chance of 2^(s-32), at most a half: 32 vectors leave 2^-32. As many columns as that have
// a vector each, and nothing is left to chance.
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

// Mixed-precision products: C·x must be α·s_a·A·(B·s_b·x) + β·C0·x + bias·x for random signs x. C's own
// rounding hides more here, so the columns form more groups, each with a vector of its own.

// Four rows of a matrix as adjacent doubles; beyond the last row it repeats.
template <class T>
class WideRows {
 public:
  explicit WideRows(const Matrix<const T>& matrix)
      : matrix_(matrix), values_(static_cast<std::size_t>(rows_at_once * matrix.cols())) {}

  FourRows<double> at(std::int64_t first) {
    for (int r = 0; r < rows_at_once; ++r) {
      row_[r] = values_.data() + r * matrix_.cols();
      const T* from = matrix_.data + std::min(first + r, matrix_.rows() - 1) * matrix_.stride[0];
      double* to = values_.data() + r * matrix_.cols();
      for (std::int64_t l = 0; l < matrix_.cols(); ++l) to[l] = widened(from[l * matrix_.stride[1]]);
    }
    return row_;
  }

 private:
  Matrix<const T> matrix_;
  std::vector<double> values_;
  const double* row_[rows_at_once] = {};
};

struct Groups {
  explicit Groups(std::int64_t columns)
      : columns_(columns), count(std::clamp<std::int64_t>(columns / 64, 1, 32)) {}
  std::int64_t first(std::int64_t group) const { return columns_ * group / count; }
  std::int64_t length(std::int64_t group) const { return first(group + 1) - first(group); }

 private:
  std::int64_t columns_;

 public:
  std::int64_t count;
};

template <class A, class B, class C>
class MixedResiduals {
 public:
  MixedResiduals(const MixedProblem& p, const Arguments& arguments, Data data, std::uint64_t seed,
                 const Matrix<const A>& a, const Matrix<const B>& b)
      : p_(p),
        after_(p, arguments, data),
        growth_(sum_growth(p, arguments, data)),
        groups_(p.n),
        signs_(static_cast<std::size_t>(p.n)),
        scaled_signs_(signs_.size()),
        sums_(static_cast<std::size_t>(p.k * groups_.count)),
        norms_(sums_.size()),
        ratios_(static_cast<std::size_t>(p.m)) {
    Random random(seed);
    for (std::int64_t j = 0; j < p.n; ++j) {
      const auto at = static_cast<std::size_t>(j);
      signs_[at] = (random.next() & 1) != 0 ? 1 : -1;
      const double scale = p.scale_b != nullptr && p.k != 0 ? p.scale_b[j * p.scale_b_step] : 1.0;
      scaled_signs_[at] = signs_[at] * scale;
      bias_.push_back(p.bias_col != 0 ? signs_[at] * after_.after(0, j).bias : 0);
      scale_most_ = std::max(scale_most_, std::fabs(scale));
    }
    for_rows(p.k, p.n, [&](std::int64_t first, std::int64_t last) { fold_b(b, first, last); });
    for_rows(p.m, p.k + p.n, [&](std::int64_t first, std::int64_t last) { visit(a, first, last); });
  }

  const std::vector<double>& ratios() const { return ratios_; }

 private:
  void fold_b(const Matrix<const B>& b, std::int64_t first, std::int64_t last) {
    WideRows<B> rows(b);
    for (std::int64_t l = first; l < last; l += rows_at_once) {
      const FourRows<double> row = rows.at(l);
      for (std::int64_t r = 0; r < std::min<std::int64_t>(rows_at_once, last - l); ++r)
        for (std::int64_t g = 0; g < groups_.count; ++g) {
          const Fold found =
              fold(row[r] + groups_.first(g), scaled_signs_.data() + groups_.first(g), groups_.length(g));
          const auto at = static_cast<std::size_t>(g * p_.k + l + r);
          sums_[at] = found.sum;
          norms_[at] = scale_most_ * std::sqrt(found.squares);
        }
    }
  }

  void visit(const Matrix<const A>& a, std::int64_t first, std::int64_t last) {
    WideRows<A> a_rows(a);
    WideRows<C> c_rows({static_cast<const C*>(p_.c), {p_.m, p_.n}, {p_.c_row, p_.c_col}});
    const Operand& c0 = p_.beta != 0 ? p_.c0 : Operand{p_.c, p_.c_element, p_.c_row, p_.c_col};
    WideRows<C> c0_rows(view_of<C>(c0, p_.m, p_.n));
    for (std::int64_t i = first; i < last; i += rows_at_once) {
      const FourRows<double> row_a = a_rows.at(i), row_c = c_rows.at(i);
      const double* const* row_c0 = p_.beta == 0 ? nullptr : c0_rows.at(i);
      const auto here = std::min<std::int64_t>(rows_at_once, last - i);
      for (std::int64_t g = 0; g < groups_.count; ++g) {
        const Dots dot = dots(row_a, sums_.data() + g * p_.k, norms_.data() + g * p_.k, p_.k);
        for (std::int64_t r = 0; r < here; ++r) {
          double& worst = ratios_[static_cast<std::size_t>(i + r)];
          const double found = ratio(i + r, g, row_c[r], row_c0 == nullptr ? nullptr : row_c0[r], dot.sum[r],
                                     dot.magnitude[r]);
          worst = std::max(worst, found);
        }
      }
    }
  }

  double ratio(std::int64_t i, std::int64_t g, const double* c, const double* c0, double product,
               double magnitude) const {
    constexpr double infinity = std::numeric_limits<double>::infinity(), u = 0x1p-24;
    const std::int64_t first = groups_.first(g), length = groups_.length(g);
    const double* signs = signs_.data() + first;
    const Fold got = fold(c + first, signs, length),
               added = c0 == nullptr ? Fold{} : fold(c0 + first, signs, length);
    double factor = p_.alpha;
    if (p_.scale_a != nullptr && p_.k != 0) factor *= p_.scale_a[i * p_.scale_a_step];
    double bias = 0, bias_size = 0;
    for (std::int64_t j = first; p_.bias != nullptr && j < first + length; ++j) {
      const double here = p_.bias_col != 0 ? bias_[static_cast<std::size_t>(j)]
                                           : signs_[static_cast<std::size_t>(j)] * after_.after(i, j).bias;
      bias += here;
      bias_size += here * here;
    }
    const double residual = std::fabs(got.sum - (factor * product + p_.beta * added.sum + bias));
    if (residual == 0) return 0;
    // Rounding errors of C are as if independent: three times their norm is more than any that are honest.
    const double rounding = p_.c_element == Element::i32 ? 0 : 3 * half_unit() * std::sqrt(got.squares);
    const double sums = std::fabs(factor) * magnitude;
    const double terms = sums + std::fabs(p_.beta) * std::sqrt(added.squares) + std::sqrt(bias_size);
    const double own = static_cast<double>(p_.k + p_.n) * 0x1p-52 * terms;
    const bool whole = p_.c_element == Element::i32;
    const double bound = whole ? 0
                               : growth_ * sums + 8 * u * terms + own + rounding +
                                     0x1p-24 * std::sqrt(static_cast<double>(length));
    const double out = residual / bound;
    return out >= 0 ? out : infinity;
  }

  double half_unit() const {
    return p_.c_element == Element::bf16 ? 0x1p-8 : p_.c_element == Element::f16 ? 0x1p-11 : 0x1p-24;
  }

  MixedProblem p_;
  MixedBound after_;
  double growth_, scale_most_ = 0;
  Groups groups_;
  std::vector<double> signs_, scaled_signs_, sums_, norms_, bias_, ratios_;
};

template <class C>
std::vector<double> ratios_of(const MixedProblem& p, const Arguments& arguments, Data data,
                              std::uint64_t seed) {
  std::vector<double> out;
  with_factors(p, [&](const auto& a, const auto& b) {
    using A = std::remove_cvref_t<decltype(*a.data)>;
    using B = std::remove_cvref_t<decltype(*b.data)>;
    out = MixedResiduals<A, B, C>(p, arguments, data, seed, a, b).ratios();
  });
  return out;
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

std::vector<std::int64_t> suspects_among_mixed(const Arguments& arguments, Data data, std::uint64_t seed) {
  const auto p = MixedProblem::of(arguments);
  return rows_that_stand_out(p.c_element == Element::bf16  ? ratios_of<bf16>(p, arguments, data, seed)
                             : p.c_element == Element::f16 ? ratios_of<f16>(p, arguments, data, seed)
                             : p.c_element == Element::f32
                                 ? ratios_of<float>(p, arguments, data, seed)
                                 : ratios_of<std::int32_t>(p, arguments, data, seed));
}

}  // namespace

std::vector<std::int64_t> suspect_rows(const Arguments& arguments, Data data, std::uint64_t seed) {
  if (sampled_only(arguments)) return rows_at_distances(arguments.dim("m"), seed);
  if (is_mixed(arguments)) return suspects_among_mixed(arguments, data, seed);
  switch (arguments.element()) {
    case Element::f32:
      return rows_that_stand_out(Residuals<float>(arguments, data, seed).ratios());
    case Element::f64:
      return rows_that_stand_out(Residuals<double>(arguments, data, seed).ratios());
    case Element::i32:
      return suspects_among_integers(arguments, seed);
    default:
      throw Error(Error::Kind::internal, "no check for this element");
  }
}

}  // namespace tessera::matmul
