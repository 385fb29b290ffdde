// SPDX-License-Identifier: Apache-2.0
// Many integrals of one formula that differ by their parameters: each has its own cells, tolerance, cap and
// reason why it ended.
#pragma once
#include "ops/integrate/evaluate.hpp"
#include "rule.hpp"
#include "setting.hpp"
#include "tessera/core/arguments.hpp"

namespace tessera::integrate_batch {

const Nodes& kronrod_nodes();

inline namespace TESSERA_UNIT {

// A formula of one number and the parameters of one integral.
struct Formula {
  const formula::Program<double>* program;
  double inputs[1 + most_parameters];

  SIMT double operator()(double first) {
    inputs[0] = first;
    return integration::evaluate(*program, static_cast<const double*>(inputs));
  }
};

using Ends = SearchedEnds<Formula, Formula>;

// That an integral may come to have: stretches begin with two each, or with more where something narrow may
// be; a split brings one more.
inline int most_cells(const Setting& setting) {
  const int pairs = setting.most / pair_cost, stretches = setting.breaks() + 2,
            deeper = setting.measured ? deepest * stretches : 0;
  return pairs + stretches + std::min(pairs, deeper);
}

template <class T>
struct Problem {
  using Elements = Types<double>;

  Work work{};
  formula::Program<double> integrand, signs, end;
  int searched = 0;  // breaks that `signs` is asked for
  int cells = 0;     // that an integral may come to have
  void* workspace = nullptr;

  SIMT Formula formula_of(const formula::Program<double>& program, std::int64_t index) const {
    Formula out;
    out.program = &program;
    for (int i = 0; i < work.parameters; ++i)
      out.inputs[1 + i] = parameter_of(work.columns[i], index, work.count);
    return out;
  }

  SIMT Ends ends_of(std::int64_t index) const {
    Ends out{formula_of(end, index), formula_of(signs, index), work.breaks - searched, searched, false, {}};
    out.search();
    return out;
  }

  static Problem of(const Arguments& arguments) {
    const Setting& setting = setting_of(arguments);
    Problem out;
    out.integrand = setting.integrand;
    out.signs = setting.signs;
    out.searched = setting.searched;
    out.end = setting.end;
    out.work.count = arguments.array("integrals").extents[0];
    out.work.parameters = static_cast<int>(setting.parameters.size());
    out.work.breaks = setting.breaks();
    out.work.demand = {setting.relative, setting.absolute, setting.most,
                       setting.measured, setting.doubted,  setting.caution};
    out.work.nodes = kronrod_nodes();
    out.work.values = static_cast<double*>(arguments.array("integrals").data);
    out.work.errors = static_cast<double*>(arguments.array("errors").data);
    out.work.spent = static_cast<int*>(arguments.array("evaluations").data);
    out.work.whys = static_cast<int*>(arguments.array("reasons").data);
    if (arguments.has("T")) out.work.relative = static_cast<const double*>(arguments.array("T").data);
    out.set_columns(arguments, setting);
    out.cells = most_cells(setting);
    return out;
  }

 private:
  void set_columns(const Arguments& arguments, const Setting& setting) {
    std::int64_t next = 0;
    for (std::size_t i = 0; i < setting.parameters.size(); ++i) {
      const Parameter1& parameter = setting.parameters[i];
      Column& column = work.columns[i];
      column = {nullptr, 0, parameter.from, parameter.to, parameter.spread, setting.first, setting.of};
      if (parameter.spread != given) continue;
      const ArrayView& array = arguments.array("P");
      column.data = static_cast<const double*>(array.data) + next++ * array.strides[1];
      column.stride = array.strides[0];
    }
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::integrate_batch
