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

// Rows beyond the bound, and, since honest errors are far below theirs, those that stand out most.
template <class T>
std::vector<std::int64_t> suspects_among_reals(const Arguments& arguments, Data data, std::uint64_t seed) {
  const Residuals<T> residuals(arguments, data, seed);
  const auto& ratios = residuals.ratios();
  const std::size_t always_looked_at = std::clamp<std::size_t>(ratios.size() / 128, 1, 8);
  std::vector<std::int64_t> rows;
  for (std::size_t i = 0; i < ratios.size(); ++i)
    if (ratios[i] > 0) rows.push_back(static_cast<std::int64_t>(i));
  std::ranges::stable_sort(rows, std::ranges::greater{},
                           [&](std::int64_t i) { return ratios[static_cast<std::size_t>(i)]; });
  std::size_t kept = 0;
  while (kept < rows.size() &&
         (kept < always_looked_at || !(ratios[static_cast<std::size_t>(rows[kept])] <= 1)))
    ++kept;
  rows.resize(kept);
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

}  // namespace

std::vector<std::int64_t> suspect_rows(const Arguments& arguments, Data data, std::uint64_t seed) {
  if (is_mixed(arguments) || !is_plain(arguments)) return mixed_suspect_rows(arguments, data, seed);
  switch (arguments.element()) {
    case Element::f32:
      return suspects_among_reals<float>(arguments, data, seed);
    case Element::f64:
      return suspects_among_reals<double>(arguments, data, seed);
    case Element::i32:
      return suspects_among_integers(arguments, seed);
    default:
      throw Error(Error::Kind::internal, "no check for this element");
  }
}

}  // namespace tessera::matmul
