// SPDX-License-Identifier: Apache-2.0
// GPU yardstick: CUB's reduction over the heights of strips that are counted, not stored.
//
// The library's own tuning and its own order: heights of one thread, then of its block, then of the blocks.
// It runs the same program of the formula as the other rungs, so what is compared is how the sum is
// organised. A kernel of one thread takes off the half strips and scales.
#include <thrust/iterator/counting_iterator.h>
#include <cub/device/device_reduce.cuh>
#include "partials.hpp"
#include "tessera/cuda/check.hpp"
#include "tessera/cuda/device.hpp"
#include "tessera/rung.hpp"

namespace tessera::integration {
namespace {

constexpr std::size_t spare_bytes = std::size_t{4} << 20, sum_bytes = 256;

template <class T>
struct Height {
  Problem<T> p;
  __device__ T operator()(std::int64_t strip) const { return p.term(p.abscissa(strip)); }
};

template <class T>
struct Add {
  __device__ T operator()(T a, T b) const { return a + b; }
};

template <class T>
__global__ void conclude(const __grid_constant__ Problem<T> p, const T* sum) {
  *p.result = p.concluded(Pair<T>{*sum, 0});
}

template <class T>
void add(const Problem<T>& p, const Run& run) {
  const cuda::OnDevice on_device(run.device->index);
  const auto stream = static_cast<cudaStream_t>(run.stream);
  T* const sum = static_cast<T*>(run.workspace);
  const thrust::counting_iterator<std::int64_t> strips(0);
  std::size_t bytes = 0;
  cuda::check(cub::DeviceReduce::TransformReduce(nullptr, bytes, strips, sum, p.strips, Add<T>{},
                                                 Height<T>{p}, T(0), stream));
  if (bytes > spare_bytes)
    throw Error(Error::Kind::internal, "CUB needs " + std::to_string(bytes) + " bytes of spare memory");
  cuda::check(cub::DeviceReduce::TransformReduce(static_cast<char*>(run.workspace) + sum_bytes, bytes, strips,
                                                 sum, p.strips, Add<T>{}, Height<T>{p}, T(0), stream));
  conclude<<<1, 1, 0, stream>>>(p, sum);
  cuda::check(cudaGetLastError());
}

Variant cub_reduction() {
  Variant out;
  out.idea = "CUB's reduction over counted strips, with its own tuning and order; the formula is interpreted";
  out.where = Where::cuda;
  out.yardstick = true;
  Choice choice =
      choice_of<Problem>([]<class T>(const Problem<T>& p, const Tuning&, Run& run) { add(p, run); });
  choice.workspace_bytes = [](const Arguments&, const Tuning&) { return sum_bytes + spare_bytes; };
  choice.refuses = [](const Arguments& arguments, const Tuning&, const Device&) -> Reason {
    const Setting setting = setting_of(arguments);
    if (setting.accumulated) return "CUB deals strips as it likes: no abscissa follows from the one before";
    if (setting.sum == Sum::plain || setting.sum == Sum::pairwise) return std::nullopt;
    return "CUB adds plainly, in a tree of its own";
  };
  out.choices.push_back(std::move(choice));
  return out;
}

const Rung rung(cub_reduction());

}  // namespace
}  // namespace tessera::integration
