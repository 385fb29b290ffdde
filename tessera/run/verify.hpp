// SPDX-License-Identifier: Apache-2.0
// Whether an output is right: against the operation's reference and its derived bound, element by
// element where that is cheap; else a randomised check finds the rows to look at.
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
  std::optional<Owner> owner;  // who computed it, where the variant tells
};

struct Verdict {
  bool passed = false;
  std::string method;        // "every element", or "randomised, 12 of 700 rows in full"
  double largest_ratio = 0;  // of an element's error to its bound; infinite where one had to be exact
  std::optional<double>
      norm_error;               // relative, L2, over the finite elements looked at; nothing where none is
  bool norm_failed = false;     // it was demanded, and missed
  double norm_demanded = 0;     // 0: it was not
  std::int64_t wrong = 0;       // elements found wrong
  std::vector<Mismatch> first;  // of these, at most 10
};

struct VerifyOptions {
  Data data = Data::any;         // what the inputs are
  double reference_flops = 1e8;  // up to here every element is compared
  std::uint64_t seed = 1;
};

// The expected values of one set of inputs, for as many results as there are to check.
class Verifier {
 public:
  // `host`: the inputs, in host memory, which must stay.
  Verifier(const Operation& operation, const Arguments& host, VerifyOptions options = {});

  // `host`: the same inputs, and the outputs to check. `plan` adds who computed what is wrong.
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

// "wrong result: …" with the first differing elements, or "verified: …".
[[nodiscard]] std::string describe(const Verdict& verdict);

}  // namespace tessera
