// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/verify.hpp"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <set>
#include <span>
#include "tessera/core/device/parallel.hpp"
#include "tessera/core/array/random.hpp"

namespace tessera {
namespace {

// Compares rows of an output with expected values, and accumulates the results.
class Comparison {
 public:
  Comparison(const Operation& operation, const Arguments& host, const Plan* plan, std::size_t shown)
      : host_(host), output_(host.array(operation.output)), plan_(plan), shown_(shown) {
    rows_ = output_.count() == 0 ? 0 : 1;  // in an empty output, the other extents may exceed any number
    for (std::size_t d = 0; rows_ != 0 && d < std::min(operation.row_dimensions, output_.extents.size()); ++d)
      rows_ *= output_.extents[d];
    row_length_ = rows_ == 0 ? 0 : output_.count() / rows_;
  }

  std::int64_t rows() const { return rows_; }
  bool nothing_proven() const { return seen_ > 0 && unproven_ == seen_; }
  std::string unproven() const {
    if (unproven_ == 0) return "";
    return "; " + std::to_string(unproven_) + " of " + std::to_string(seen_) +
           " elements not checked: no value is certain for them";
  }

  // `expected` holds these rows only.
  void add_rows(std::span<const std::int64_t> rows, const Expected& expected) {
    std::size_t at = 0;
    for (const std::int64_t row : rows)
      for (std::int64_t j = 0; j < row_length_; ++j, ++at)
        add(row * row_length_ + j, expected.value[at], expected.bound[at],
            expected.beyond.empty() ? std::uint8_t{Expected::nothing} : expected.beyond[at]);
  }

  Verdict verdict() const {
    Verdict out = verdict_;
    const double error = static_cast<double>(std::sqrt(error_squares_));
    if (finite_ > 0 || seen_ == 0)
      out.norm_error = error == 0 ? 0 : error / static_cast<double>(std::sqrt(squares_));
    out.passed = out.wrong == 0;
    return out;
  }

 private:
  void add(std::int64_t element, double expected, double bound, std::uint8_t beyond) {
    const double got = load_as_double(output_.element, address_of(element));
    const double error = std::fabs(got - expected);
    ++seen_;
    unproven_ += (beyond & Expected::unproven) != 0;
    if (std::isfinite(got) && std::isfinite(expected)) {
      ++finite_;
      squares_ += static_cast<long double>(expected) * expected;
      error_squares_ += static_cast<long double>(error) * error;
    }
    if (std::isnan(expected) ? std::isnan(got) : got == expected) return;
    if (!std::isfinite(got) && (beyond & kind_of(got)) != 0) return;
    const bool within = std::isfinite(got) && std::isfinite(expected) && error <= bound;
    if (const double ratio = error / bound; within)
      verdict_.largest_ratio = std::max(verdict_.largest_ratio, ratio);
    if (within) return;
    verdict_.largest_ratio =
        std::max(verdict_.largest_ratio, std::isfinite(error / bound) ? error / bound : infinity_);
    ++verdict_.wrong;
    if (verdict_.first.size() < shown_) {
      const Extents index = index_of(element);
      verdict_.first.push_back({index, got, expected, bound, beyond, owner_of(index)});
    }
  }

  static std::uint8_t kind_of(double value) {
    if (std::isnan(value)) return Expected::not_a_number;
    return value > 0 ? Expected::infinity : Expected::minus_infinity;
  }

  Extents index_of(std::int64_t element) const {
    Extents index(output_.extents.size());
    for (std::size_t d = index.size(); d-- > 0;) {
      index[d] = element % output_.extents[d];
      element /= output_.extents[d];
    }
    return index;
  }

  const char* address_of(std::int64_t element) const {
    std::int64_t offset = 0;
    for (std::size_t d = output_.extents.size(); d-- > 0; element /= output_.extents[d])
      offset += element % output_.extents[d] * output_.strides[d];
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
  std::size_t shown_;
  std::int64_t rows_ = 0, row_length_ = 0;
  long double squares_ = 0, error_squares_ = 0;  // the range of long double holds the square of any double
  std::int64_t seen_ = 0, finite_ = 0, unproven_ = 0;
  Verdict verdict_;
};

std::string format(double value) {
  if (std::isnan(value)) return "nan";  // regardless of its sign
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
  if ((m.beyond & Expected::infinity) != 0) out += " or inf";
  if ((m.beyond & Expected::minus_infinity) != 0) out += " or -inf";
  if ((m.beyond & Expected::not_a_number) != 0) out += " or nan";
  if (m.owner) out += ", by thread " + to_string(m.owner->thread) + " of block " + to_string(m.owner->block);
  return out + "\n";
}

}  // namespace

Verifier::Verifier(const Operation& operation, const Arguments& host, VerifyOptions options)
    : operation_(&operation), inputs_(host), options_(options) {}

Verdict Verifier::operator()(const Arguments& host, const Plan* plan) {
  constexpr std::int64_t max_elements = 1 << 22;  // limit for keeping the expected values
  const bool all = !operation_->suspect_rows || (operation_->flops(host) <= options_.reference_flops &&
                                                 host.array(operation_->output).count() <= max_elements);
  Verdict out = all ? check_all(host, plan) : check_rows(host, plan);
  if (options_.data == Data::random && out.norm_error && operation_->norm_demanded &&
      operation_->norm_demanded(host)) {
    out.norm_demanded = operation_->largest_norm_error;
    out.norm_failed = !(*out.norm_error <= out.norm_demanded);
    out.passed = out.passed && !out.norm_failed;
  }
  return out;
}

// Returns the reference of some rows, computed by at most `parts` threads, a piece each.
std::vector<Expected> Verifier::reference(const Arguments& host, std::span<const std::int64_t> rows,
                                          int parts) {
  std::vector<Expected> pieces(static_cast<std::size_t>(parts));
  parallel(parts, [&](int part) {
    const auto p = static_cast<std::size_t>(part), all = pieces.size();
    const std::size_t first = rows.size() * p / all, last = rows.size() * (p + 1) / all;
    operation_->reference(host, rows.subspan(first, last - first), options_.data, pieces[p]);
  });
  return pieces;
}

// Returns the reference of all rows, computed once for all results.
const Expected& Verifier::everything(std::span<const std::int64_t> rows) {
  if (expected_) return *expected_;
  constexpr double worth_a_thread = 1e6;
  const double most = std::max(1.0, std::min<double>(host_threads(), static_cast<double>(rows.size())));
  const double flops = operation_->flops ? operation_->flops(inputs_) : worth_a_thread;
  expected_.emplace();
  for (const Expected& piece :
       reference(inputs_, rows, static_cast<int>(std::clamp(flops / worth_a_thread, 1.0, most)))) {
    const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    append(expected_->value, piece.value);
    append(expected_->bound, piece.bound);
    append(expected_->beyond, piece.beyond);
    expected_->how = piece.how;
  }
  return *expected_;
}

Verdict Verifier::check_all(const Arguments& host, const Plan* plan) {
  Comparison comparison(*operation_, host, plan, options_.shown);
  std::vector<std::int64_t> rows(static_cast<std::size_t>(comparison.rows()));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  const Expected& expected = everything(rows);
  comparison.add_rows(rows, expected);
  Verdict out = comparison.verdict();
  const std::string unproven = comparison.unproven();
  out.method = comparison.nothing_proven() ? "no element"
               : !expected.how.empty()     ? expected.how
               : unproven.empty()          ? "every element against the reference"
                                           : "elements against the reference";
  out.method += unproven;
  return out;
}

Verdict Verifier::check_rows(const Arguments& host, const Plan* plan) {
  Comparison comparison(*operation_, host, plan, options_.shown);
  std::set<std::int64_t> chosen;
  for (const std::int64_t row : operation_->suspect_rows(host, options_.data, options_.seed))
    chosen.insert(row);
  Random random(options_.seed);
  const std::int64_t rows = comparison.rows(),
                     sampled = rows == 0 ? 0 : std::clamp<std::int64_t>(rows / 256, 1, 4);
  for (std::int64_t i = 0; i < sampled; ++i)
    chosen.insert(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(rows))));
  const std::vector<std::int64_t> list(chosen.begin(), chosen.end());
  const auto threads = static_cast<std::size_t>(host_threads());
  std::size_t looked_at = 0;
  while (looked_at < list.size() && static_cast<std::size_t>(comparison.verdict().wrong) < options_.shown) {
    constexpr std::size_t rows_a_thread = 16;
    const auto some =
        std::span(list).subspan(looked_at, std::min(rows_a_thread * threads, list.size() - looked_at));
    const std::size_t parts = std::min(threads, some.size());
    const auto pieces = reference(host, some, static_cast<int>(parts));
    for (std::size_t p = 0; p < parts; ++p) {
      const std::size_t first = some.size() * p / parts, last = some.size() * (p + 1) / parts;
      comparison.add_rows(some.subspan(first, last - first), pieces[p]);
    }
    looked_at += some.size();
  }
  Verdict out = comparison.verdict();
  const bool only_sampled = operation_->sampled_only && operation_->sampled_only(host);
  out.method = (only_sampled ? "a sample of the rows, " : "a randomised check of all rows, ") +
               std::to_string(looked_at) + " of " + std::to_string(rows) + " in full" + comparison.unproven();
  return out;
}

Verdict verify(const Operation& operation, const Arguments& host, const Plan* plan, VerifyOptions options) {
  return Verifier(operation, host, options)(host, plan);
}

std::string describe(const Verdict& verdict) {
  const std::string norm =
      "relative L2 error " + (verdict.norm_error ? format(*verdict.norm_error) : "n/a: no element is finite");
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
