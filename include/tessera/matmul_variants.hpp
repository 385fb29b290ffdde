// SPDX-License-Identifier: Apache-2.0
// Included by authors of variants of matmul: Problem<T> and MixedProblem, which a variant receives, and
// PostOp, the options that follow the sum.
#pragma once
#include "ops/matmul/gemm/mixed_problem.hpp"
#include "ops/matmul/gemm/post_op.hpp"
#include "ops/matmul/matmul.hpp"
