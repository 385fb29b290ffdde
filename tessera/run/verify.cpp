// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/verify.hpp"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>
#include "tessera/core/parallel.hpp"
#include "tessera/core/random.hpp"

namespace tessera {
namespace {

constexpr std::size_t most_shown = 10;

// Compares rows of an output with what they should be, and adds up what it finds.
class Comparison {
 public:
  Comparison(const Operation& operation, const Arguments& host, const Plan* plan)
      : host_(host), output_(host.array(operation.output)), plan_(plan) {
    rows_ = output_.extents.empty() ? 1 : output_.extents[0];
    row_length_ = rows_ == 0 ? 0 : output_.count() / rows_;
  }

  std::int64_t rows() const { return rows_; }

  // `expected` holds these rows only.
  void add_rows(std::int64_t first, std::int64_t last, const Expected& expected) {
    std::size_t at = 0;
    for (std::int64_t row = first; row < last; ++row)
      for (std::int64_t j = 0; j < row_length_; ++j, ++at)
        add(row * row_length_ + j, expected.value[at], expected.bound[at]);
  }

  Verdict verdict() const {
    Verdict out = verdict_;
    if (std::isfinite(squares_)) {
      const double error = std::sqrt(error_squares_);
      out.norm_error = error == 0 ? 0 : error / std::sqrt(squares_);
    }
    out.passed = out.wrong == 0;
    return out;
  }

 private:
  void add(std::int64_t element, double expected, double bound) {
    const Extents index = index_of(element);
    const double got = load_as_double(output_.element, address_of(index));
    const double error = std::fabs(got - expected);
    squares_ += expected * expected;
    error_squares_ += error * error;
    if (std::isnan(expected) ? std::isnan(got) : got == expected) return;
    const bool within = std::isfinite(expected) && error <= bound;
    if (const double ratio = error / bound; within)
      verdict_.largest_ratio = std::max(verdict_.largest_ratio, ratio);
    if (within) return;
    verdict_.largest_ratio =
        std::max(verdict_.largest_ratio, std::isfinite(error / bound) ? error / bound : infinity_);
    ++verdict_.wrong;
    if (verdict_.first.size() < most_shown)
      verdict_.first.push_back({index, got, expected, bound, owner_of(index)});
  }

  Extents index_of(std::int64_t element) const {
    Extents index(output_.extents.size());
    for (std::size_t d = index.size(); d-- > 0;) {
      index[d] = element % output_.extents[d];
      element /= output_.extents[d];
    }
    return index;
  }

  const char* address_of(const Extents& index) const {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < index.size(); ++d) offset += index[d] * output_.strides[d];
    return static_cast<const char*>(output_.data) +
           offset * static_cast<std::int64_t>(size_of(output_.element));
  }

  std::optional<Owner> owner_of(const Extents& index) const {
    if (plan_ == nullptr || plan_->choice == nullptr || !plan_->choice->owner) return std::nullopt;
    return plan_->choice->owner(host_, plan_->tuning, index);
  }

  static constexpr double infinity_ = std::numeric_limits<double>::infinity();
  const Arguments& host_;
  const ArrayView output_;
  const Plan* plan_;
  std::int64_t rows_ = 0, row_length_ = 0;
  double squares_ = 0, error_squares_ = 0;
  Verdict verdict_;
};

std::string format(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string to_string(const Index3& index) {
  return "(" + std::to_string(index.x) + "," + std::to_string(index.y) + "," + std::to_string(index.z) + ")";
}

std::string describe(const Mismatch& m) {
  std::string out = "  [";
  for (std::size_t d = 0; d < m.index.size(); ++d) out += (d == 0 ? "" : ",") + std::to_string(m.index[d]);
  out += "] is " + format(m.got) + ", should be " + format(m.expected) + " ± " + format(m.bound);
  if (m.owner) out += ", by thread " + to_string(m.owner->thread) + " of block " + to_string(m.owner->block);
  return out + "\n";
}

}  // namespace

Verifier::Verifier(const Operation& operation, const Arguments& host, VerifyOptions options)
    : operation_(&operation), inputs_(host), options_(options) {}

Verdict Verifier::operator()(const Arguments& host, const Plan* plan) {
  const bool all = !operation_->suspect_rows || operation_->flops(host) <= options_.reference_flops;
  Verdict out = all ? check_all(host, plan) : check_rows(host, plan);
  if (out.norm_error && operation_->largest_norm_error > 0 && operation_->norm_demanded &&
      operation_->norm_demanded(host)) {
    out.norm_demanded = operation_->largest_norm_error;
    out.norm_failed = !(*out.norm_error <= out.norm_demanded);
    out.passed = out.passed && !out.norm_failed;
  }
  return out;
}

// The reference, once for all results, its rows shared among the processors.
const Expected& Verifier::everything() {
  if (expected_) return *expected_;
  const ArrayView& output = inputs_.array(operation_->output);
  const std::int64_t rows = output.extents.empty() ? 1 : output.extents[0];
  constexpr double worth_a_thread = 1e6;
  const double most = std::min<double>(host_threads(), static_cast<double>(rows));
  const int parts =
      static_cast<int>(std::clamp(operation_->flops(inputs_) / worth_a_thread, 1.0, std::max(1.0, most)));
  std::vector<Expected> pieces(static_cast<std::size_t>(parts));
  parallel(parts, [&](int part) {
    operation_->reference(inputs_, rows * part / parts, rows * (part + 1) / parts,
                          pieces[static_cast<std::size_t>(part)]);
  });
  expected_.emplace();
  for (const Expected& piece : pieces) {
    expected_->value.insert(expected_->value.end(), piece.value.begin(), piece.value.end());
    expected_->bound.insert(expected_->bound.end(), piece.bound.begin(), piece.bound.end());
  }
  return *expected_;
}

Verdict Verifier::check_all(const Arguments& host, const Plan* plan) {
  Comparison comparison(*operation_, host, plan);
  comparison.add_rows(0, comparison.rows(), everything());
  Verdict out = comparison.verdict();
  out.method = "every element against the reference";
  return out;
}

Verdict Verifier::check_rows(const Arguments& host, const Plan* plan) {
  constexpr int sampled = 4;
  Comparison comparison(*operation_, host, plan);
  std::set<std::int64_t> rows;
  for (const std::int64_t row : operation_->suspect_rows(host, options_.seed)) rows.insert(row);
  Random random(options_.seed);
  for (int i = 0; i < sampled && comparison.rows() > 0; ++i)
    rows.insert(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(comparison.rows()))));
  const std::vector<std::int64_t> list(rows.begin(), rows.end());
  const auto at_a_time = static_cast<std::size_t>(host_threads());
  std::size_t looked_at = 0;
  while (looked_at < list.size() && static_cast<std::size_t>(comparison.verdict().wrong) < most_shown) {
    std::vector<Expected> expected(std::min(at_a_time, list.size() - looked_at));
    parallel(static_cast<int>(expected.size()), [&](int part) {
      const auto p = static_cast<std::size_t>(part);
      operation_->reference(host, list[looked_at + p], list[looked_at + p] + 1, expected[p]);
    });
    for (const Expected& row : expected) {
      comparison.add_rows(list[looked_at], list[looked_at] + 1, row);
      ++looked_at;
    }
  }
  Verdict out = comparison.verdict();
  out.method = "a randomised check of all rows, " + std::to_string(looked_at) + " of " +
               std::to_string(comparison.rows()) + " in full";
  return out;
}

Verdict verify(const Operation& operation, const Arguments& host, const Plan* plan, VerifyOptions options) {
  return Verifier(operation, host, options)(host, plan);
}

std::string describe(const Verdict& verdict) {
  const std::string norm = "relative L2 error " + (verdict.norm_error ? format(*verdict.norm_error)
                                                                      : "n/a: not every element is finite");
  if (verdict.passed)
    return "verified: " + verdict.method + "; largest error " + format(verdict.largest_ratio) +
           " of its bound; " + norm;
  std::string out = "wrong result: ";
  if (verdict.wrong > 0)
    out += std::to_string(verdict.wrong) + " wrong element" + (verdict.wrong == 1 ? "" : "s") + " found, " +
           verdict.method + "\n";
  if (verdict.norm_failed) out += norm + ", at most " + format(verdict.norm_demanded) + " is allowed\n";
  for (const Mismatch& mismatch : verdict.first) out += describe(mismatch);
  out.pop_back();
  return out;
}

}  // namespace tessera
