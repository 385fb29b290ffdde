// SPDX-License-Identifier: Apache-2.0
// The definition of docs/lightfield.md, word by word: what every rung of both operations is held against.
#pragma once
#include <span>
#include "plan.hpp"
#include "tessera/core/operation.hpp"

namespace tessera::lightfield {

// Appends rows of the result, which count over planes and their rows. Every bound is 0.
void reference(const Arguments& arguments, const Plan& plan, std::span<const std::int64_t> rows,
               Expected& expected);

// Two products for each sample that is read.
double flops(const Arguments& arguments, const Plan& plan, const std::string& output);

// As anywhere; special: infinities and NaN here and there.
void fill(const Arguments& arguments, const std::string& input, Distribution distribution, std::uint64_t seed,
          ArrayView to);

}  // namespace tessera::lightfield
