// SPDX-License-Identifier: Apache-2.0
// Host code shared by the operations on pictures: test inputs, references, checks, and the partition of
// results over several devices.
#pragma once
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>
#include "ops/imaging/samples.hpp"
#include "tessera/core/operation/partition.hpp"
#include "tessera/core/operation/operation.hpp"

namespace tessera::imaging {

// Fills `to` with standard normal numbers; `special`: with scattered infinities and NaN.
void fill_samples(Distribution distribution, std::uint64_t seed, const ArrayView& to);

// Returns the index of the sample at position i of an axis of n samples, folded one step at a time: the
// definition of the borders, for references. -1: none.
std::int64_t folded(std::int64_t i, std::int64_t n, Border border);
// The least and the greatest value of an integer element that pictures have.
std::pair<double, double> limits_of(Element element);
double sample_at(const ArrayView& array, std::initializer_list<std::int64_t> place);
// Rounds to the nearest value of the element type, ties to even. Integers saturate; NaN gives the minimum.
double nearest_value(Element element, double value);

// Appends result(n, y, x, c) for each of `rows`, which are numbered across all pictures of the output. Every
// bound is 0.
template <class Result>
void expect_rows(const ArrayView& output, std::span<const std::int64_t> rows, Expected& expected,
                 const Result& result) {
  const Extents& extents = output.extents;
  for (const std::int64_t row : rows)
    for (std::int64_t x = 0; x < extents[2]; ++x)
      for (std::int64_t c = 0; c < extents[3]; ++c) {
        expected.value.push_back(result(row / extents[1], row % extents[1], x, c));
        expected.bound.push_back(0);
      }
}

// Returns the rows of `output`, [pictures,rows,columns,channels], that differ in a byte from the result of
// `compute`. Variants are bitwise identical, so only these rows need a check. Returns all rows if samples are
// not contiguous.
std::vector<std::int64_t> differing_rows(const Arguments& arguments, const std::string& output,
                                         const std::function<void(const Arguments&)>& compute);

// Sets the reference of an operation and the check of its large results; operation.output must be set before,
// and is [pictures,rows,columns,channels]. definition_of(arguments).result(n, y, x, c) is the reference;
// `compute` is the fastest CPU rung.
template <class DefinitionOf>
void set_checks(Operation& operation, const DefinitionOf& definition_of,
                const std::function<void(const Arguments&)>& compute) {
  const std::string output = operation.output;
  operation.row_dimensions = 2;
  operation.reference = [=](const Arguments& arguments, std::span<const std::int64_t> rows, Data,
                            Expected& expected) {
    const auto definition = definition_of(arguments);
    expect_rows(arguments.array(output), rows, expected,
                [&](auto... place) { return definition.result(place...); });
  };
  operation.suspect_rows = [=](const Arguments& arguments, Data, std::uint64_t) {
    return differing_rows(arguments, output, compute);
  };
}

// Calls run() with the Problem<T> of the arguments' element type.
template <template <class> class Problem, class Run, class... T>
void with_problem(const Arguments& arguments, const Run& run, Types<T...>) {
  (void)((arguments.element() == element_of<T> ? (run(Problem<T>::of(arguments)), true) : false) || ...);
}
template <template <class> class Problem, class Run>
void with_problem(const Arguments& arguments, const Run& run) {
  with_problem<Problem>(arguments, run, typename Problem<float>::Elements());
}

// Returns "the result's pixels do not lie side by side", or nothing.
Reason refuses_scattered(const ArrayView& result);

// The partition of a result [images,height,width,channels]: between pictures if there are many, else between
// rows.
struct PicturePartition {
  std::string input, output;
  std::int64_t halo = 0;  // rows that a tile reads above and below its own, both sides together
  std::function<Interval(Interval rows)> rows_read;
  // Adapts the options of a call to these rows of the result, which depend on the rows `read` of the picture.
  std::function<void(Arguments::Words&, Interval read, Interval rows)> set_options;
};

Partition partition_pictures(const Arguments& arguments, double flops, PicturePartition pictures);

}  // namespace tessera::imaging
