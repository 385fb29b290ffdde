// SPDX-License-Identifier: Apache-2.0
// GPU baseline: CUB's reduction over samples that are computed from the strip's index, not stored.
//
// It uses the library's own tuning and order: a thread's samples, then its block's, then the blocks. It
// interprets the same program of the formula as the interpreting rungs, so the comparison with them is of the
// reduction alone.
#include "sum/cub_sum.cuh"

namespace tessera::integration {
namespace {

template <class T>
struct Sample {
  Problem<T> p;
  __device__ T operator()(std::int64_t strip) const { return p.term(p.abscissa(strip)); }
};

Choice cub_reduction() {
  Choice choice =
      choice_of<Problem>([]<class T>(const Problem<T>& p, const Tuning&,
                                     Run& run) { add_with_cub<std::int64_t>(p, Sample<T>{p}, run); },
                         {}, {}, [](const Arguments&, const Tuning&) { return cub_spare_bytes; });
  choice.refuses = [](const Arguments& arguments, const Tuning&, const Device&) {
    return cub_refuses(arguments);
  };
  return choice;
}

const Rung rung(
    baseline("CUB's reduction over counted strips, with its own tuning and order; the formula is interpreted",
             Where::cuda, {cub_reduction()}));

}  // namespace
}  // namespace tessera::integration
