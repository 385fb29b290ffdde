// SPDX-License-Identifier: Apache-2.0
// The sums of segments of a trapezoid sum's strips, as they are before they are added up: whole subtrees of
// the order in which an integral adds, so that whoever joins them has its bits.
#pragma once
#include "ops/integrate/integrate.hpp"
#include "ops/integrate/partials.hpp"
#include "ops/integrate/strips_words.hpp"
#include "tessera/core/error.hpp"

namespace tessera::strip_sums {

using integration::Sum;

// Consecutive segments of so many strips; the last one may have fewer.
struct Segments {
  std::int64_t count = 0, strips = 0;
};

// How the strips of a sum in a fixed order are cut, whoever computes which segments. Throws Error for the
// sums that have none.
Segments segments_of(Sum sum, std::int64_t strips, bool accumulated);

// Numbers that tell a segment's sum: high and low; of an exact one, whole words of 64 bits, each as two of
// 32, the lower bits first.
constexpr std::int64_t numbers_of(Sum sum) {
  return sum == Sum::exact ? 2 * integration::Exact<double>::words : 2;
}

inline namespace TESSERA_UNIT {

template <class T>
struct Problem : integration::Problem<T> {
  using Elements = Types<double, float>;
  using Exact = integration::Exact<T>;

  std::int64_t each = 1;  // strips of a segment
  std::int64_t first = 0, segments = 0;
  void* sums = nullptr;      // [segments,numbers] of T, of exact sums of 32 bits
  std::int64_t numbers = 2;  // of a segment
  std::int64_t stride[2] = {};

  SIMT void store(std::int64_t segment, integration::Pair<T> found) const {
    T* const to = static_cast<T*>(sums) + (segment - first) * stride[0];
    to[0] = found.high;
    to[stride[1]] = found.low;
  }
  SIMT void store(std::int64_t segment, const Exact& found) const {
    std::int64_t word[Exact::words];
    found.store(word);
    std::int32_t* const to = static_cast<std::int32_t*>(sums) + (segment - first) * stride[0];
    for (int i = 0; i < numbers / 2; ++i) {
      const std::int64_t value = i < Exact::words ? word[i] : 0;
      to[2 * i * stride[1]] = static_cast<std::int32_t>(value & 0xffffffff);
      to[(2 * i + 1) * stride[1]] = static_cast<std::int32_t>(value >> 32);
    }
  }

  // A segment by whoever calls.
  SIMT void compute(std::int64_t segment) const {
    const std::int64_t begin = std::min(segment * each, this->strips),
                       end = std::min(begin + each, this->strips);
    if (this->sum == Sum::exact) {
      Exact found;
      this->add_exactly(found, begin, end);
      return store(segment, found);
    }
    const std::int64_t run = this->runs(1).strips;
    integration::Tree<T> tree(this->sum);
    for (std::int64_t i = begin; i < end; i += run) tree.add(this->add_run(i, std::min(i + run, end)));
    store(segment, tree.sum());
  }

  static Problem of(const Arguments& arguments) {
    Problem p;
    const integration::Setting setting = integration::strips_of(arguments);
    p.integrand = integration::program_of<T>(setting);
    p.set_range(static_cast<T>(setting.a), static_cast<T>(setting.b), setting.strips);
    p.sum = setting.sum;
    p.accumulated = setting.accumulated;
    p.scale_terms = setting.scale_terms;
    const Segments all = segments_of(p.sum, p.strips, p.accumulated);
    const ArrayView& sums = arguments.array("sums");
    p.each = all.strips;
    p.first = arguments.integer("first");
    p.segments = sums.extents[0];
    p.numbers = sums.extents[1];
    if (p.first + p.segments > all.count)
      throw Error("there are " + std::to_string(all.count) + " segments, not " +
                  std::to_string(p.first + p.segments));
    if (p.numbers != numbers_of(p.sum))
      throw Error("--numbers " + std::to_string(p.numbers) + ": a sum is told by " +
                  std::to_string(numbers_of(p.sum)));
    p.sums = sums.data;
    p.stride[0] = sums.strides[0];
    p.stride[1] = sums.strides[1];
    return p;
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::strip_sums
