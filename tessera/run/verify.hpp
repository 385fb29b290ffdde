// SPDX-License-Identifier: Apache-2.0
// Verifies an output against the operation's reference and its derived error bound, element by element where
// that is cheap; otherwise a randomised check finds the rows to examine.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>
#include "tessera/run/choose.hpp"

namespace tessera {

struct Mismatch {
  Extents index;
  double got = 0, expected = 0, bound = 0;
  std::uint8_t beyond = Expected::nothing;
  std::optional<Owner> owner;  // the thread that computed it, if the variant tells
};

struct Verdict {
  bool passed = false;
  std::string method;        // "every element", or "randomised, 12 of 700 rows in full"
  double largest_ratio = 0;  // largest error relative to its bound; infinite if an exact result was required
  std::optional<double>
      norm_error;               // relative, L2, over the finite elements examined; nothing: there are none
  bool norm_failed = false;     // a bound on it was required, and exceeded
  double norm_demanded = 0;     // the required bound; 0: none
  std::int64_t wrong = 0;       // elements found wrong
  std::vector<Mismatch> first;  // at most VerifyOptions::shown of these
};

struct VerifyOptions {
  Data data = Data::any;         // the kind of data in the inputs
  double reference_flops = 1e8;  // limit for comparing every element
  std::uint64_t seed = 1;
  std::size_t shown = 10;  // the most wrong elements in a Verdict; a randomised check ends there
};

// The expected values of one set of inputs, for any number of results to check.
class Verifier {
 public:
  // `host`: the inputs, in host memory, which must outlive the verifier.
  Verifier(const Operation& operation, const Arguments& host, VerifyOptions options = {});

  // `host`: the same inputs, and the outputs to check. `plan`: adds the owners of wrong elements.
  [[nodiscard]] Verdict operator()(const Arguments& host, const Plan* plan = nullptr);

 private:
  Verdict check_all(const Arguments& host, const Plan* plan);
  Verdict check_rows(const Arguments& host, const Plan* plan);
  std::vector<Expected> reference(const Arguments& host, std::span<const std::int64_t> rows, int parts);
  const Expected& everything(std::span<const std::int64_t> rows);

  const Operation* operation_;
  Arguments inputs_;
  VerifyOptions options_;
  std::optional<Expected> expected_;
};

[[nodiscard]] Verdict verify(const Operation& operation, const Arguments& host, const Plan* plan = nullptr,
                             VerifyOptions options = {});

// Returns "wrong result: …" with the first differing elements, or "verified: …".
[[nodiscard]] std::string describe(const Verdict& verdict);

}  // namespace tessera
