// SPDX-License-Identifier: Apache-2.0
// Many integrals of one formula that differ by their parameters. Each has its own cells, tolerance, cap on
// evaluations and reason for its end.
#pragma once
#include "batch_options.hpp"
#include "ops/integrate/kernels/program_evaluation.hpp"
#include "rule.hpp"
#include "tessera/core/operation/arguments.hpp"
#include "tessera/core/operation/operation.hpp"

namespace tessera::integrate_batch {

const Nodes& kronrod_nodes();

// Checks a batch: compares each integral, within its own tolerance, with the double exponential sum in long
// double of every stretch between the breakpoints. Integrals that have not converged by either rule are not
// checked.
void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data data, Expected& out);

inline namespace TESSERA_UNIT {

// A formula of one number and the parameters of one integral.
struct Formula {
  const formula::Program<double>* program;
  double inputs[1 + max_parameters];

  SIMT double operator()(double first) {
    inputs[0] = first;
    return integration::evaluate(*program, static_cast<const double*>(inputs));
  }
};

// Returns an upper bound on the cells of an integral: each stretch begins with two, and a split adds one.
inline int max_cells(const BatchOptions& options) { return options.most / pair_cost + options.breaks() + 2; }

template <class T>
struct Problem {
  using Elements = Types<double>;

  Work work{};
  formula::Program<double> integrand, end;
  int cells = 0;  // upper bound per integral
  void* workspace = nullptr;

  SIMT Formula formula_of(const formula::Program<double>& program, std::int64_t index) const {
    Formula out;
    out.program = &program;
    for (int i = 0; i < work.parameters; ++i)
      out.inputs[1 + i] = parameter_of(work.columns[i], index, work.count);
    return out;
  }

  SIMT Formula ends_of(std::int64_t index) const { return formula_of(end, index); }

  static Problem of(const Arguments& arguments) {
    const BatchOptions& options = batch_options_of(arguments);
    for (const char* name : {"integrals", "errors", "evaluations", "reasons", "T"})
      if (arguments.has(name) && !arguments.array(name).row_major())
        throw Error(std::string(name) + " must be contiguous");
    Problem out;
    out.integrand = options.integrand;
    out.end = options.end;
    out.work.count = arguments.array("integrals").extents[0];
    out.work.parameters = static_cast<int>(options.parameters.size());
    out.work.breaks = options.breaks();
    out.work.tolerance = {options.relative, options.absolute, options.most, options.caution};
    out.work.nodes = kronrod_nodes();
    out.work.values = static_cast<double*>(arguments.array("integrals").data);
    out.work.errors = static_cast<double*>(arguments.array("errors").data);
    out.work.spent = static_cast<int*>(arguments.array("evaluations").data);
    out.work.whys = static_cast<int*>(arguments.array("reasons").data);
    if (arguments.has("T")) out.work.relative = static_cast<const double*>(arguments.array("T").data);
    out.set_columns(arguments, options);
    out.cells = max_cells(options);
    return out;
  }

 private:
  void set_columns(const Arguments& arguments, const BatchOptions& options) {
    std::int64_t next = 0;
    for (std::size_t i = 0; i < options.parameters.size(); ++i) {
      const NamedParameter& parameter = options.parameters[i];
      Column& column = work.columns[i];
      column = {nullptr, 0, parameter.from, parameter.to, parameter.spread, options.first, options.of};
      if (parameter.spread != given) continue;
      const ArrayView& array = arguments.array("P");
      column.data = static_cast<const double*>(array.data) + next++ * array.strides[1];
      column.stride = array.strides[0];
    }
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::integrate_batch
