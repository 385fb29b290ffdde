// SPDX-License-Identifier: Apache-2.0
// An operation: the result to compute. Each has a folder in ops/. Its variants are ways to compute it.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>
#include "tessera/core/operation/variant.hpp"

namespace tessera {

// The assumption about the inputs, on which the check of an output may rely.
enum class Data {
  any,     // none: the user's own data
  random,  // independent draws of mean zero, like those of a Case: rounding errors then partly cancel
};

// Expected rows of an output, with a rounding error bound for each element. Row-major. A row is an index of
// the output's first dimension, or of its first Operation::row_dimensions.
struct Expected {
  // Values besides a number within the bound that an element may have if partial sums overflow. `unproven`:
  // the value is only that of another run of the same computation.
  enum AllowedNonFinite : std::uint8_t {
    nothing,
    infinity = 1,
    minus_infinity = 2,
    not_a_number = 4,
    unproven = 8
  };

  std::vector<double> value;  // an infinity or NaN if no number is right
  std::vector<double> bound;
  std::vector<std::uint8_t> beyond;  // sums of AllowedNonFinite; empty: none anywhere
  std::string how;                   // for messages: what the values come from; empty: the reference
};

// The kinds of test inputs.
enum class Distribution {
  normal,   // standard normal, full mantissas; integers: every bit random
  exact,    // integers whose sums are exact in any rung, but not in a lower precision
  special,  // normal, with some infinities and NaN
};

struct Case {
  Dims dims;
  Arguments::Words words = {};
  Distribution distribution = Distribution::normal;
  std::vector<std::string> optional_inputs = {};  // the ones to give
  std::vector<Element> elements = {};             // restricted to these; empty: all elements
};

// The answer to the question if a result of any origin is right.
struct Finding {
  bool right = false;
  std::string arithmetic;    // "bf16 products, sums in f32": what its bounds are derived from
  std::string cause;         // "bias forgotten"; empty: no hypothesis explains the wrong elements
  std::string text;          // the whole answer, in lines
  std::int64_t wrong = 0;    // elements found wrong
  Extents first;             // the index of the first of them
  double largest_ratio = 0;  // largest error relative to its bound
  double sees = 0;           // errors of one element above so many of its bounds are certain to be seen
};

struct Operation {
  std::string name, summary;
  Signature signature;
  std::vector<Element> elements;   // the first is the default
  std::string output;              // the output that is verified
  std::size_t row_dimensions = 1;  // leading dimensions of the output that number its rows
  // Optional: throws Error if no variant may compute the arguments. Called before a variant is chosen.
  std::function<void(const Arguments&)> check;
  // The operations that the problem needs, independent of the variant; 0: not known in advance.
  std::function<double(const Arguments&)> flops;
  // Fills an input for a distribution; without this function, normal.
  std::function<void(const Arguments&, const std::string& input, Distribution, std::uint64_t seed, ArrayView)>
      fill;
  // Appends these rows, in higher precision than any variant, for arguments in host memory.
  std::function<void(const Arguments&, std::span<const std::int64_t> rows, Data, Expected&)> reference;
  // Optional: rows of the output that a randomised check, cheaper than the product itself, finds wrong.
  std::function<std::vector<std::int64_t>(const Arguments&, Data, std::uint64_t seed)> suspect_rows;
  // Optional: true if suspect_rows only samples rows with these arguments.
  std::function<bool(const Arguments&)> sampled_only;
  // Optional: a text for the arrays' elements if the element alone is ambiguous: "e4m3>f16".
  std::function<std::string(const Arguments&)> element_text;
  // Optional: adds values that follow from any variant's result; outputs are in host memory.
  std::function<void(const Arguments&, Values&)> report_values;
  // Optional: checks outputs that anyone computed. `arithmetic`: in words of the operation's. `device`: holds
  // the arrays; null: host memory.
  std::function<Finding(const Arguments&, const std::string& arithmetic, const Device* device)> examine;
  double largest_norm_error = 0;  // relative L2 norm of the error allowed for random data, 0: not checked …
  std::function<bool(const Arguments&)> norm_demanded;  // … with these arguments
  std::vector<Case> cases;                              // tried by `verify`

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
