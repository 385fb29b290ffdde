// SPDX-License-Identifier: Apache-2.0
// What a series of swings hides: terms that alternate, and besides drift to one side. The epsilon algorithm
// takes the limit of the swings, and no look at the terms that follow tells it what the drift adds up to.
// Installed: for programs.
#pragma once
#include <span>

namespace tessera::quadrature {

// How much the drift of the terms behind these may add up to; infinite where it has no limit.
double drift_behind(std::span<const double> terms);

}  // namespace tessera::quadrature
