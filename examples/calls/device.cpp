// SPDX-License-Identifier: Apache-2.0
// Products in a stream of the program's own, of matrices that lie in the GPU's memory: once by itself, then
// within a CUDA graph that is launched again and again.
#include <cuda_runtime_api.h>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include "tessera/matmul.hpp"

namespace {

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::printf("CUDA: %s\n", cudaGetErrorString(status));
  std::exit(1);
}

template <class T>
T* on_gpu(const std::vector<T>& host) {
  void* device_data = nullptr;
  check(cudaMalloc(&device_data, host.size() * sizeof(T)));
  check(cudaMemcpy(device_data, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return static_cast<T*>(device_data);
}

}  // namespace

int main() {
  using namespace tessera;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::puts("no GPU is usable here");
    return 77;  // a test that is skipped
  }

  const std::int64_t m = 512, n = 256, k = 1024;
  const matmul::ConstMatrixView<bf16> a{on_gpu(std::vector<bf16>(m * k, bf16::from(1.0f))), m, k};
  const matmul::ConstMatrixView<bf16> b{on_gpu(std::vector<bf16>(k * n, bf16::from(0.5f))), k, n};
  // Column after column, with room for more rows.
  const matmul::MatrixView<float> c{on_gpu(std::vector<float>(600 * n)), m, n, 600, matmul::Order::columns};
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

  // Spare memory of the program's own; without it the stream keeps some.
  Workspace workspace;
  workspace.bytes = matmul::workspace_bytes(a, b, c);
  if (workspace.bytes != 0) check(cudaMalloc(&workspace.data, workspace.bytes));
  const Plan plan = matmul::enqueue(stream, a, b, c, {}, workspace);
  check(cudaStreamSynchronize(stream));

  // C = A·B + C, ten times: the graph holds the call, not its results.
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  matmul::enqueue(stream, a, b, c, {.beta = 1}, workspace);
  cudaGraph_t captured = nullptr;
  check(cudaStreamEndCapture(stream, &captured));
  cudaGraphExec_t graph = nullptr;
  check(cudaGraphInstantiate(&graph, captured, 0));
  for (int i = 0; i < 10; ++i) check(cudaGraphLaunch(graph, stream));
  check(cudaStreamSynchronize(stream));

  std::vector<float> first(1);
  check(cudaMemcpy(first.data(), c.data, sizeof(float), cudaMemcpyDeviceToHost));
  std::printf("%g by %s on %s\n", static_cast<double>(first[0]), plan.variant->name.c_str(),
              plan.device.name.c_str());
  return first[0] == 11 * 512.0f ? 0 : 1;
}
