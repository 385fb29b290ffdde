// SPDX-License-Identifier: Apache-2.0
// Included by authors of variants of integrate: Problem<T>, which a variant receives, the evaluation of
// formulas, sums with compensation, and the rules as functions.
#pragma once
#include "ops/integrate/integrate.hpp"
#include "ops/integrate/integrate_options.hpp"
#include "ops/integrate/kernels/program_evaluation.hpp"
#include "ops/integrate/quadrature/one_variable/auto.hpp"
#include "ops/integrate/quadrature/one_variable/equidistant.hpp"
#include "ops/integrate/quadrature/several_variables/several_variables.hpp"
#include "ops/integrate/sum/partials.hpp"
#include "ops/integrate/sum/sums.hpp"
#include "ops/integrate/sum/trapezoid.hpp"
