// SPDX-License-Identifier: Apache-2.0
// What tests of batches share: a batch from a few words, and whether what it tells is true.
#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <bit>
#include <cmath>
#include <functional>
#include "integrate_batch.hpp"
#include "tessera/core/operation.hpp"
#include "tessera/run/run.hpp"
#include "tessera/run/verify.hpp"

namespace tessera::integrate_batch {

inline const Operation& operation() { return *find_operation("integrate_batch"); }

struct Batch {
  std::vector<double> value, error;
  std::vector<int> spent, why;
  Values told;

  std::size_t size() const { return value.size(); }
  bool operator==(const Batch& other) const {
    const auto bits = [](const std::vector<double>& v) {
      std::vector<std::uint64_t> out;
      for (const double x : v) out.push_back(std::isnan(x) ? 0 : std::bit_cast<std::uint64_t>(x));
      return out;
    };
    return bits(value) == bits(other.value) && bits(error) == bits(other.error) && spent == other.spent &&
           why == other.why;
  }
};

inline Arguments arguments_of(const std::string& formula, const std::string& limits,
                              const std::string& parameters, int n, Arguments::Words words = {},
                              std::map<std::string, ArrayView> arrays = {}) {
  words["FORMULA"] = formula;
  words["LIMITS"] = limits;
  words["parameters"] = parameters;
  if (n > 0) words["n"] = std::to_string(n);
  return {operation().signature, Element::f64, std::move(arrays), words};
}

inline Batch ran(Arguments arguments,
                 const Request& request = {.device = "cpu", .variant = "simd", .cached = false}) {
  const Outcome outcome = run(operation(), arguments, request);
  Batch out;
  const auto take = [&](const char* name, auto& to) {
    const ArrayView& view = arguments.array(name);
    for (std::int64_t i = 0; i < view.count(); ++i)
      to.push_back(static_cast<typename std::remove_reference_t<decltype(to)>::value_type>(load_as_double(
          view.element,
          static_cast<const char*>(view.data) + i * static_cast<std::int64_t>(size_of(view.element)))));
  };
  take("integrals", out.value);
  take("errors", out.error);
  take("evaluations", out.spent);
  take("reasons", out.why);
  out.told = outcome.values;
  return out;
}

// What the program's check says of it.
inline Verdict verdict_of(Arguments arguments, Batch& batch) {
  arguments.set_array("integrals", batch.value.data());
  arguments.set_array("errors", batch.error.data());
  arguments.set_array("evaluations", batch.spent.data());
  arguments.set_array("reasons", batch.why.data());
  return verify(operation(), arguments);
}

inline std::string number(double x) {
  return std::isinf(x) ? (x < 0 ? "-inf" : "inf") : fmt::format("{:.17g}", x);
}

// The tolerance is met or another reason is told; and what was told is true.
inline void expect_honest(const Batch& batch, std::size_t i, double exact, double relative,
                          const std::string& what) {
  const double off = std::fabs(batch.value[i] - exact);
  if (batch.why[i] != converged) return;
  EXPECT_LE(off, batch.error[i] + 4e-16 * std::fabs(exact)) << what;
  EXPECT_LE(off, relative * std::fabs(exact) * 1.0001) << what;
}

// Where x³+x is a: a place that no text is solved for.
inline double where_cubic_is(double a) {
  double x = a / 2;
  for (int i = 0; i < 60; ++i) x -= (x * x * x + x - a) / (3 * x * x + 1);
  return x;
}

struct Family {
  const char *formula, *limits, *parameters;
  std::function<double(double)> exact;
  double from, to;
  double share = 1;  // of the integrals that must converge
};

}  // namespace tessera::integrate_batch
