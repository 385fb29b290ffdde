// SPDX-License-Identifier: Apache-2.0
// A formula's heights at the samples of a table: what an integral of samples is made of, wherever they are
// computed. In f64, whatever type the samples have.
#pragma once
#include <span>
#include "ops/integrate/evaluate.hpp"
#include "ops/integrate/integrate.hpp"
#include "ops/integrate/samples.hpp"
#include "tessera/core/operation.hpp"

namespace tessera::sample_heights {

void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data data, Expected& out);

inline namespace TESSERA_UNIT {

template <class T>
struct Problem {
  using Elements = Types<double, float>;

  formula::Program<double> program;  // of x and y
  View<const T, 1> x, y;
  View<double, 1> heights;

  SIMT std::int64_t count() const { return heights.extent[0]; }
  SIMT void compute(std::int64_t i) const {
    const double at[2] = {x.data[i * x.stride[0]], y.data[i * y.stride[0]]};
    heights.data[i * heights.stride[0]] = integration::evaluate(program, at);
  }

  static Problem of(const Arguments& arguments) {
    return {integration::program_of_samples(arguments.text("FORMULA"), arguments.text("LIMITS")),
            arguments.view<const T, 1>("X"), arguments.view<const T, 1>("Y"),
            arguments.view<double, 1>("heights")};
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::sample_heights
