// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <limits>
#include "by_vectors.hpp"
#include "checking.hpp"
#include "ops/integrate/bounded.hpp"
#include "ops/integrate/strips_answer.hpp"
#include "tessera/core/parallel.hpp"

namespace tessera::strip_sums {
namespace {

using Real = long double;

// What an abscissa may be off: nothing when it comes from the index; when steps are added, each may round.
template <class T>
integration::Bounded abscissa(const Problem<T>& p, std::int64_t strip) {
  if (!p.accumulated) return {p.abscissa(strip), 0};
  constexpr Real u = std::numeric_limits<T>::epsilon() / 2;
  const Real largest = std::max(std::fabs(Real(p.a)), std::fabs(Real(p.b)));
  return {Real(p.a) + Real(strip) * Real(p.step), (Real(strip) + 2) * u * 2 * largest};
}

// High and low of a segment, with the bounds of ops/integrate/strips_answer.hpp. Of two numbers that share no
// digit the lower is at most half a unit of the upper's last place.
template <class T>
void add_pair(const Problem<T>& p, std::int64_t segment, Expected& out) {
  constexpr Real u = std::numeric_limits<T>::epsilon() / 2, least = std::numeric_limits<T>::denorm_min();
  const std::int64_t first = segment * p.each, last = std::min(first + p.each, p.strips);
  const Real factor = p.scale_terms ? Real(p.width) : 1, n = Real(last - first);
  Real sum = 0, sizes = 0, errors = 0;
  bool infinite = false;
  for (std::int64_t i = first; i < last; ++i) {
    const integration::Bounded y = bounded(p.integrand, abscissa(p, i));
    sum += y.value * factor;
    sizes += (std::fabs(y.value) + y.error) * std::fabs(factor);
    errors += y.error * std::fabs(factor);
    infinite |= !(sizes <= std::numeric_limits<T>::max() / 2);
  }
  const Real lost = integration::lost_by(p.sum, n, u) + (p.scale_terms ? u : 0);
  // The sum of so many values in long double is rounded itself.
  const Real error = (errors + (lost + n * std::numeric_limits<Real>::epsilon()) * sizes) * 1.001L +
                     u * std::fabs(sum) + n * least;
  const bool low = p.sum == Sum::double_float;
  out.value.insert(out.value.end(), {static_cast<double>(sum), 0});
  out.bound.insert(out.bound.end(), {static_cast<double>(error),
                                     low ? static_cast<double>(2 * u * (std::fabs(sum) + error)) : 0});
  const auto anything = static_cast<std::uint8_t>(
      infinite ? Expected::infinity | Expected::minus_infinity | Expected::not_a_number : Expected::nothing);
  out.beyond.insert(out.beyond.end(), {anything, anything});
}

// The one way to write a whole number in these digits.
template <class T>
void add_digits(const Problem<T>& p, std::int64_t segment, Expected& out) {
  using Exact = integration::Exact<T>;
  const std::int64_t first = segment * p.each, last = std::min(first + p.each, p.strips);
  Exact sum;
  // Added abscissae depend on where they begin; others on nothing, so that any order will do.
  if (p.accumulated) p.add_exactly(sum, first, last);
  else
    for (std::int64_t i = last; i-- > first;) p.add_exactly(sum, i, i + 1);
  std::int64_t word[Exact::words];
  sum.store(word);
  for (std::int64_t i = 0; i < p.numbers / 2; ++i) {
    const std::int64_t value = i < Exact::words ? word[i] : 0;
    out.value.push_back(static_cast<std::int32_t>(value & 0xffffffff));
    out.value.push_back(static_cast<std::int32_t>(value >> 32));
    out.bound.insert(out.bound.end(), {0, 0});
    out.beyond.insert(out.beyond.end(), {Expected::nothing, Expected::nothing});
  }
}

template <class T>
void add(const Arguments& arguments, std::span<const std::int64_t> rows, Expected& out) {
  const auto p = Problem<T>::of(arguments);
  for (const std::int64_t row : rows) {
    if (p.sum == Sum::exact) add_digits(p, p.first + row, out);
    else add_pair(p, p.first + row, out);
  }
}

}  // namespace

std::vector<std::int64_t> suspect_rows(const Arguments& arguments, Data, std::uint64_t) {
  Arguments again = arguments;
  const ArrayView& sums = arguments.array("sums");
  const Array memory(sums.element, sums.extents);
  again.set_array("sums", memory.view());
  if (again.element() == Element::f32) add_by_vectors(Problem<float>::of(again), host_threads());
  else add_by_vectors(Problem<double>::of(again), host_threads());
  const Array given = packed_copy(sums);
  const auto row_bytes = size_of(sums.element) * static_cast<std::size_t>(sums.extents[1]);
  std::vector<std::int64_t> out;
  for (std::int64_t row = 0; row < sums.extents[0]; ++row) {
    const std::size_t at = static_cast<std::size_t>(row) * row_bytes;
    if (std::memcmp(given.as<char>() + at, memory.as<char>() + at, row_bytes) != 0) out.push_back(row);
  }
  return out;
}

void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data, Expected& out) {
  if (arguments.element() == Element::f32) add<float>(arguments, rows, out);
  else add<double>(arguments, rows, out);
}

}  // namespace tessera::strip_sums
