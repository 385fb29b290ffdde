// SPDX-License-Identifier: Apache-2.0
// Integrals of tables, in the steps that several devices need: what is asked, the heights, the rule.
#pragma once
#include <span>
#include <string>
#include "asked.hpp"
#include "tessera/formula/program.hpp"

namespace tessera::integration {

// The formula of x and y; `limits` may fix parameters. Throws Error where it brings limits of its own.
formula::Program<double> program_of_samples(const std::string& formula, const std::string& limits);

// Throws Error for what samples cannot be asked.
void check_samples(const Arguments& arguments);

// By the rule asked for, from the formula's heights at every sample.
quadrature::Answer answer_from_heights(const Arguments& arguments, std::span<const double> heights);

}  // namespace tessera::integration
