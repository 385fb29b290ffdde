// SPDX-License-Identifier: Apache-2.0
// CUB's reduction over samples that are computed from the strip's index: code shared by its baselines.
#pragma once
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_output_iterator.h>
#include <cub/device/device_reduce.cuh>
#include "ops/integrate/integrate.hpp"
#include "tessera/cuda/resources.hpp"
#include "tessera/cuda/gpus.hpp"
#include "tessera/baseline.hpp"

namespace tessera::integration {

inline constexpr std::size_t cub_spare_bytes = std::size_t{4} << 20;

template <class T>
struct Add {
  __device__ T operator()(T a, T b) const { return a + b; }
};

// Applied to the sum when CUB writes it: corrects the end samples and scales, which saves a launch.
template <class T>
struct Finish {
  Problem<T> p;
  __device__ T operator()(T sum) const { return p.finished(Pair<T>{sum, 0}); }
};

// `sample`: the sample of a strip's number, of type Index.
template <class Index, class T, class Sample>
void add_with_cub(const Problem<T>& p, const Sample& sample, const Run& run) {
  const cuda::OnDevice on_device(run.device->index);
  const auto stream = static_cast<cudaStream_t>(run.stream);
  const thrust::counting_iterator<Index> strips(0);
  const auto result = thrust::make_transform_output_iterator(p.result, Finish<T>{p});
  const auto count = static_cast<Index>(p.strips);
  std::size_t bytes = 0;
  cuda::check(cub::DeviceReduce::TransformReduce(nullptr, bytes, strips, result, count, Add<T>{}, sample,
                                                 T(0), stream));
  if (bytes > cub_spare_bytes)
    throw Error(Error::Kind::internal, "CUB needs " + std::to_string(bytes) + " bytes of spare memory");
  cuda::check(cub::DeviceReduce::TransformReduce(run.workspace, bytes, strips, result, count, Add<T>{},
                                                 sample, T(0), stream));
}

inline Reason cub_refuses(const Arguments& arguments) {
  const TrapezoidOptions options = trapezoid_options_of(arguments);
  if (options.accumulated) return "CUB distributes the strips itself: abscissae cannot be accumulated";
  if (options.sum == Sum::plain || options.sum == Sum::pairwise) return std::nullopt;
  return "CUB computes plain sums in an order of its own";
}

}  // namespace tessera::integration
