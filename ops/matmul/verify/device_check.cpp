// SPDX-License-Identifier: Apache-2.0
// The check of a large product where its arrays lie: kernels sum, the host judges a few rows. All that is not
// certainly right is left to the check in host memory.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include "ops/matmul/gemm/operands.hpp"
#include "ops/matmul/verify/bounds.hpp"
#include "ops/matmul/verify/examine.hpp"
#include "ops/matmul/verify/judge.hpp"
#include "tessera/core/device/parallel.hpp"
#include "tessera/run/enqueue.hpp"

namespace tessera::matmul {

ArrayView copied_to_host(const ArrayView& view, const Run& run, std::vector<Array>& kept) {
  if (view.count() == 0) return view;
  const auto [first, last] = view.span();
  const auto size = static_cast<std::int64_t>(size_of(view.element));
  void* const to = kept.emplace_back(Element::u8, Extents{(last - first) * size}).view().data;
  backend_of(*run.device)
      .copy(run, to, static_cast<const char*>(view.data) + first * size,
            static_cast<std::size_t>((last - first) * size));
  ArrayView out = view;
  out.data = static_cast<char*>(to) - first * size;
  return out;
}

namespace {

constexpr std::uint64_t check_seed = 1;

// Appends the values that an element of row i may have, and returns |α| times its scales.
using Append = std::function<double(std::int64_t j, const SumPair& sum, bool whole, Expected& expected)>;

template <class T>
Append plain_bound(const Arguments& arguments, std::int64_t i, const Slack& slack) {
  return [i, bound = Bound<T>(arguments, Problem<T>::of(arguments), Data::any, slack),
          after = EpilogueBound<double>(arguments), factor = std::fabs(arguments.real("alpha"))](
             std::int64_t j, const SumPair& sum, bool whole, Expected& expected) {
    bound.append(i, j, sum.sum, sum.size, whole, expected);
    after.apply(i, j, expected);
    return factor;
  };
}

Append bound_of(const Arguments& arguments, std::int64_t i, const Slack& slack) {
  if (!is_mixed(arguments))
    return arguments.element() == Element::f64 ? plain_bound<double>(arguments, i, slack)
                                               : plain_bound<float>(arguments, i, slack);
  return [i, bound = MixedBound(MixedProblem::of(arguments), arguments, Data::any, slack)](
             std::int64_t j, const SumPair& sum, bool whole, Expected& expected) {
    bound.append(i, j, sum.sum, sum.size, whole, expected);
    return std::fabs(bound.after(i, j).factor);
  };
}

// Errors of elements beside their bounds.
struct Errors {
  bool right = true;
  double ratio = 0, sum = 0, roundings = 0;
  long double squares = 0, of_values = 0;

  void add(const Errors& other) {
    right = right && other.right;
    ratio = std::max(ratio, other.ratio);
    sum += other.sum;
    roundings += other.roundings;
    squares += other.squares;
    of_values += other.of_values;
  }
};

class DeviceCheck {
 public:
  DeviceCheck(const Device& device, const Arithmetic& arithmetic, const Examined& examined)
      : given_(arithmetic.arguments),
        slack_(arithmetic.slack),
        examined_(examined),
        sums_(*find_device_sums(device.where)),
        m_(given_.dim("m")),
        n_(given_.dim("n")),
        k_(given_.real("alpha") == 0 ? 0 : given_.dim("k")),
        adds_(given_.has("C0") && given_.real("beta") != 0),
        precise_(demands_precision(arithmetic)),
        signs_(Signs::in_even_groups(n_, sum_vectors, check_seed)),
        run_{&device},
        host_(given_),
        numbers_(2 * n_ + 4 * signs_.groups + 4 * m_ + 2 * sum_vectors * (2 * k_ + 3 * m_ + 2 * n_) + 32),
        workspace_(device, nullptr, {}, static_cast<std::size_t>(numbers_) * sizeof(double), {}) {
    // In host memory the check has scales and bias. Of a matrix, whose bounds refer to it only if a sum may
    // overflow, a zero stands for all elements: there a right element appears to be wrong.
    static std::uint64_t zero = 0;
    for (const char* name : {"A", "B", "C", "C0", "scale-a", "scale-b", "bias"}) {
      if (name != std::string("C") && !given_.has(name)) continue;
      ArrayView view = given_.array(name);
      const bool is_matrix = std::isupper(name[0]) != 0;
      if (!is_matrix) view = copied_to_host(view, run_, kept_);
      else view.data = &zero, view.strides = {0, 0};
      host_.set_array(name, view);
    }
    next_ = static_cast<double*>(workspace_.run().workspace);
    backend().fill(run_, next_, 0, static_cast<std::size_t>(numbers_) * sizeof(double));
    full_ = take_pairs(n_);  // from here to the flags: what is copied for rows in full
    row_c_ = take(n_ * sum_vectors);
    row_c0_ = take(adds_ ? n_ * sum_vectors : 0);
    fractional_ = reinterpret_cast<std::int32_t*>(take(sum_vectors));
    picked_ = take_pairs(k_);
  }

  std::optional<Verdict> verdict(std::vector<double>& seen) {
    const bool sampled = sampled_only(given_);
    std::vector<std::int64_t> rows =
        sampled ? suspect_rows(host_, Data::any, check_seed) : rows_that_stand_out(ratios(seen), &seen);
    constexpr std::size_t most = 64;  // of a product that may be right
    if (!sampled && rows.size() > most) return std::nullopt;
    if (rows.empty()) rows.push_back(0);
    for (std::size_t at = 0; at < rows.size(); at += sum_vectors)
      if (!look_at(std::span(rows).subspan(at, std::min<std::size_t>(sum_vectors, rows.size() - at))))
        return std::nullopt;
    if (precise_ && errors_.sum > 8 * errors_.roundings) return std::nullopt;
    Verdict out;
    out.passed = true;
    out.method = (sampled ? "a sample of the rows, " : "a randomised check of all rows, ") +
                 std::to_string(rows.size()) + " of " + std::to_string(m_) + " in full";
    out.largest_ratio = errors_.ratio;
    out.norm_error =
        errors_.squares == 0 ? 0 : static_cast<double>(std::sqrt(errors_.squares / errors_.of_values));
    return out;
  }

 private:
  Backend& backend() { return backend_of(*run_.device); }
  double* take(std::int64_t count) { return std::exchange(next_, next_ + (count + 1) / 2 * 2); }
  SumPair* take_pairs(std::int64_t lines) {
    return reinterpret_cast<SumPair*>(take(2 * sum_vectors * lines));
  }
  SumsArgs lines_of(const ArrayView& view, SumPair* out) const {
    SumsArgs args;
    args.data = view.data;
    args.element = view.element;
    args.lines = view.extents[0];
    args.length = view.extents[1];
    args.line_stride = view.strides[0];
    args.stride = view.strides[1];
    args.out = out;
    return args;
  }
  ArrayView operand(const char* name) const { return given_.oriented(name, given_.array(name).element, 2); }

  // Returns the largest ratio of each row.
  std::vector<double> ratios(std::vector<double>& bounds) {
    const JudgedGroups terms(host_, Data::any, slack_, signs_);
    std::vector<double> numbers = terms.scaled_signs;
    const auto add = [&](const double* from, std::int64_t count) {
      numbers.resize((numbers.size() + 1) / 2 * 2);
      numbers.insert(numbers.end(), from, from + count);
      return std::ssize(numbers) - count;
    };
    const bool scales = terms.scaled_signs != signs_.values;
    const std::int64_t signs = scales ? add(signs_.values.data(), n_) : 0,
                       groups = add(&terms.groups[0].signs, 4 * signs_.groups),
                       factors = add(terms.factors.data(), std::ssize(terms.factors)),
                       biases = add(terms.biases.data(), std::ssize(terms.biases));
    double* const there = take(std::ssize(numbers));
    backend().copy(run_, there, numbers.data(), numbers.size() * sizeof(double));
    JudgeArgs args{.judge = terms.judge, .rows = m_, .groups = signs_.groups};
    args.judge.groups = reinterpret_cast<const GroupTerms*>(there + groups);
    if (!terms.factors.empty()) args.judge.factors = there + factors;
    if (!terms.biases.empty()) args.judge.biases = there + biases;
    const auto fold = [&](const ArrayView& view, const double* x, double scale) {
      SumsArgs sums = lines_of(view, take_pairs(view.extents[0]));
      sums.signs = x;
      sums.scale = scale;
      sums.parts = signs_.groups;
      sums_.fold(sums, run_);
      return sums.out;
    };
    SumsArgs product = lines_of(operand("A"), take_pairs(m_));
    product.length = k_;
    if (k_ != 0) product.x = fold(operand("B"), there, terms.largest_scale);
    sums_.multiply(product, run_);
    args.products = product.out;
    args.c = fold(given_.array("C"), there + signs, 1);
    if (adds_) args.c0 = fold(given_.array("C0"), there + signs, 1);
    args.ratios = take(2 * m_);
    args.bounds = args.ratios + m_;
    sums_.judge(args, run_);
    std::vector<double> out(static_cast<std::size_t>(2 * m_));
    backend().copy(run_, out.data(), args.ratios, out.size() * sizeof(double));
    bounds.assign(out.begin() + m_, out.end());
    out.resize(static_cast<std::size_t>(m_));
    return out;
  }

  void gather(const ArrayView& view, std::span<const std::int64_t> rows, SumPair* pairs, double* plain) {
    GatherArgs args{lines_of(view, nullptr), {}, pairs, plain, pairs == nullptr ? nullptr : fractional_};
    for (std::size_t v = 0; v < sum_vectors; ++v) args.lines[v] = rows[std::min(v, rows.size() - 1)];
    sums_.gather(args, run_);
  }

  // Computes up to four rows. False: an element is not certainly right.
  bool look_at(std::span<const std::int64_t> rows) {
    const auto bytes = static_cast<std::size_t>(reinterpret_cast<char*>(fractional_ + sum_vectors) -
                                                reinterpret_cast<char*>(full_));
    backend().fill(run_, full_, 0, bytes);
    gather(given_.array("C"), rows, nullptr, row_c_);
    if (adds_) gather(given_.array("C0"), rows, nullptr, row_c0_);
    SumsArgs columns = lines_of(operand("B").transposed(), full_);
    columns.length = k_;
    columns.x = picked_;
    if (k_ != 0) gather(operand("A"), rows, picked_, nullptr);
    sums_.multiply(columns, run_);
    const auto there = [&](const auto* address) {  // in the copy
      return reinterpret_cast<decltype(address)>(
          copy_.data() + (reinterpret_cast<const double*>(address) - reinterpret_cast<const double*>(full_)));
    };
    copy_.resize(bytes / sizeof(double));
    backend().copy(run_, copy_.data(), full_, bytes);
    std::vector<SumPair> fractions;  // of B's columns; empty: no row of A has integers only
    const std::int32_t* const fractional = there(fractional_);
    if (std::any_of(fractional, fractional + rows.size(), [](std::int32_t flag) { return flag == 0; })) {
      columns.fractions = true;
      fractions.resize(static_cast<std::size_t>(n_ * sum_vectors));
      backend().fill(run_, full_, 0, fractions.size() * sizeof(SumPair));
      sums_.multiply(columns, run_);
      backend().copy(run_, fractions.data(), full_, fractions.size() * sizeof(SumPair));
    }
    std::vector<Append> bounds;
    std::vector<Array> added;
    for (std::size_t v = 0; v < rows.size(); ++v) {
      Arguments own = host_;
      if (adds_) {  // strides of 0: the row of all indices
        const ArrayView c0 = given_.array("C0");
        const Array& row = added.emplace_back(c0.element, Extents{n_});
        for (std::int64_t j = 0; j < n_; ++j)
          store_from_double(
              c0.element,
              static_cast<char*>(row.view().data) + j * static_cast<std::int64_t>(size_of(c0.element)),
              there(row_c0_)[j * sum_vectors + static_cast<std::int64_t>(v)]);
        own.set_array("C0", {row.view().data, c0.element, c0.extents, {0, 1}});
      }
      bounds.push_back(bound_of(own, rows[v], slack_));
    }
    constexpr std::int64_t piece = 1024;
    const std::int64_t pieces = (n_ + piece - 1) / piece, tasks = pieces * std::ssize(rows);
    const auto threads = static_cast<int>(std::clamp<std::int64_t>(tasks, 1, host_threads()));
    std::mutex mutex;
    parallel(threads, [&](int thread) {
      for (std::int64_t task = thread; task < tasks; task += threads) {
        const auto v = static_cast<std::size_t>(task / pieces);
        const std::int64_t first = task % pieces * piece, last = std::min(n_, first + piece);
        Expected expected;
        Errors errors;
        for (std::int64_t j = first; j < last && errors.right; ++j) {
          const std::int64_t at = j * sum_vectors + static_cast<std::int64_t>(v);
          const bool whole = fractional[v] == 0 && fractions[static_cast<std::size_t>(at)].size == 0;
          const SumPair& sum = there(full_)[at];
          const double factor = bounds[v](j, sum, whole, expected);
          add_error(there(row_c_)[at], factor * sum.size, expected, errors);
        }
        const std::scoped_lock lock(mutex);
        errors_.add(errors);
        if (errors.right) examined_(rows[v], expected);
      }
    });
    return errors_.right;
  }

  // `size`: Σ|a·b|, scaled. The sums of f64 are rounded to f64.
  void add_error(double got, double size, const Expected& expected, Errors& errors) const {
    const double value = expected.value.back(), bound = expected.bound.back();
    const double own = given_.element() == Element::f64 && bound != 0
                           ? (544 + static_cast<double>(k_) / 128) * 0x1p-53 * size
                           : 0;
    const double error = std::fabs(got - value);
    errors.right = std::isfinite(got) && error <= bound + own;
    if (error != 0) errors.ratio = std::max(errors.ratio, error / (bound + own));
    errors.sum += error;
    if (precise_) errors.roundings += roundings_of(given_, value, size);
    errors.squares += static_cast<long double>(error) * error;
    errors.of_values += static_cast<long double>(value) * value;
  }

  const Arguments& given_;
  const Slack& slack_;
  const Examined& examined_;
  const DeviceSums& sums_;
  const std::int64_t m_, n_, k_;
  const bool adds_, precise_;
  const Signs signs_;
  Run run_;
  Arguments host_;
  std::vector<Array> kept_;
  std::int64_t numbers_;
  ScopedWorkspace workspace_;
  double *next_, *row_c_, *row_c0_;
  SumPair *full_, *picked_;
  std::int32_t* fractional_;
  std::vector<double> copy_;
  Errors errors_;
};

}  // namespace

std::optional<Verdict> right_on_device(const Device& device, const Arithmetic& arithmetic,
                                       std::vector<double>& seen, const Examined& examined) {
  const Arguments& given = arithmetic.arguments;
  if (find_device_sums(device.where) == nullptr || given.element() == Element::i32) return std::nullopt;
  return DeviceCheck(device, arithmetic, examined).verdict(seen);
}

}  // namespace tessera::matmul
