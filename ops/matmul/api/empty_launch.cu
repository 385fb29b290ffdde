// SPDX-License-Identifier: Apache-2.0
// Launches an empty kernel in the way of rung 16: in clusters, with programmatic dependent launch and as many
// bytes of arguments. `bench --call` compares the host time of a call with it.
#include <cuda_runtime_api.h>
#include "tessera/cuda/gpus.hpp"
#include "tessera/cuda/ptx/control.cuh"
#include "tessera/cuda/resources.hpp"
#include "tessera/run/public_call.hpp"

namespace tessera::matmul {
namespace {

struct SomeArguments {
  char bytes[768];
};

__global__ void do_nothing(const __grid_constant__ SomeArguments) { cuda::ptx::griddepcontrol_wait(); }

void launch(const Device& device, void* stream) {
  const cuda::OnDevice on_device(device.index);
  cudaLaunchAttribute attributes[2]{};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {1, 1, 1};
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = static_cast<unsigned>(device.multiprocessors);
  config.blockDim = 384;
  config.stream = static_cast<cudaStream_t>(stream);
  config.attrs = attributes;
  config.numAttrs = device.compute_capability >= 90 ? 2 : 0;
  cuda::check(cudaLaunchKernelEx(&config, do_nothing, SomeArguments{}));
}

[[maybe_unused]] const bool registered = (register_empty_launch(launch), true);

}  // namespace
}  // namespace tessera::matmul
