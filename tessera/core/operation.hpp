// SPDX-License-Identifier: Apache-2.0
// An operation: what is computed. One per folder of ops/. Its variants say how.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>
#include "tessera/core/variant.hpp"

namespace tessera {

// What a check may presume of the inputs, and so demand of an output.
enum class Data {
  any,     // nothing: they are somebody's own
  random,  // independent draws of mean zero, as those of a Case: errors then cancel as chance has it
};

// What rows of an output should be, and how far rounding may take each element. Row-major. A row is an
// index of the output's first dimension, or of its first Operation::row_dimensions.
struct Expected {
  // What else, besides a number within the bound, an element may be where partial sums overflow.
  // `unproven`: the value is only what another run of the same computation gives.
  enum AllowedNonFinite : std::uint8_t {
    nothing,
    infinity = 1,
    minus_infinity = 2,
    not_a_number = 4,
    unproven = 8
  };

  std::vector<double> value;  // an infinity or NaN where no number is right
  std::vector<double> bound;
  std::vector<std::uint8_t> beyond;  // sums of Beyond; empty: nothing anywhere
};

// Inputs to try.
enum class Distribution {
  normal,   // standard normal, full mantissas; integers: every bit random
  exact,    // whole numbers whose sums any rung must give exactly, and no lower precision can
  special,  // normal, with infinities and NaN strewn in
};

struct Case {
  Dims dims;
  Arguments::Words words = {};
  Distribution distribution = Distribution::normal;
  std::vector<std::string> optional_inputs = {};  // those to give
  std::vector<Element> elements = {};             // for these only; none: for all
};

struct Operation {
  std::string name, summary;
  Signature signature;
  std::vector<Element> elements;   // the first is the default
  std::string output;              // the one that verification looks at
  std::size_t row_dimensions = 1;  // of it: how many count its rows
  // What the problem needs, however a variant computes it; 0: nobody knows before.
  std::function<double(const Arguments&)> flops;
  // Fills an input for a distribution; without it, normal.
  std::function<void(const Arguments&, const std::string& input, Distribution, std::uint64_t seed, ArrayView)>
      fill;
  // Appends these rows, in higher precision than any variant, for arguments in host memory.
  std::function<void(const Arguments&, std::span<const std::int64_t> rows, Data, Expected&)> reference;
  // Optional: rows of the output that a randomised check, cheaper than the product itself, finds wrong.
  std::function<std::vector<std::int64_t>(const Arguments&, Data, std::uint64_t seed)> suspect_rows;
  // Optional: those rows are no more than a sample with these arguments.
  std::function<bool(const Arguments&)> sampled_only;
  // Optional: what the arrays hold, where the element alone does not tell: "e4m3>f16".
  std::function<std::string(const Arguments&)> element_text;
  // Optional: adds what can be told of a result whatever variant computed it; outputs are in host memory.
  std::function<void(const Arguments&, Values&)> report_values;
  double largest_norm_error = 0;  // relative L2 norm demanded of random data, 0: none …
  std::function<bool(const Arguments&)> norm_demanded;  // … with these arguments
  std::vector<Case> cases;                              // what `verify` tries

  double bytes(const Arguments& arguments) const;  // inputs once, outputs once
  std::string element_name(const Arguments& arguments) const;
};

using OperationInterface = InterfaceOf<Operation, Signature, Case, Expected, Arguments>;
template <>
const OperationInterface OperationInterface::current;

void register_operation(Operation operation, const OperationInterface& = OperationInterface::current);
const std::vector<Operation>& operations();                            // sorted by name
[[nodiscard]] const Operation* find_operation(std::string_view name);  // null: none

}  // namespace tessera
