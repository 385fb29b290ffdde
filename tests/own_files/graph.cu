// SPDX-License-Identifier: Apache-2.0
// A graph that two streams are captured into, and one of nodes: done when launched, with the values of then.
#include <cstdio>

__global__ void add(int* p, int value) { *p += value; }
__global__ void twice(int* p) { *p *= 2; }

int main() {
  int *d, h = -1;
  cudaMalloc(&d, sizeof h);
  cudaMemset(d, 0, sizeof h);
  cudaStream_t first, second;
  cudaStreamCreate(&first);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cudaEvent_t fork, join;
  cudaEventCreate(&fork);
  cudaEventCreate(&join);

  cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal);
  int value = 3;
  add<<<1, 1, 0, first>>>(d, value);
  value = 1000;
  cudaEventRecord(fork, first);
  cudaStreamWaitEvent(second, fork);
  twice<<<1, 1, 0, second>>>(d);
  cudaEventRecord(join, second);
  cudaStreamWaitEvent(first, join);
  cudaMemcpyAsync(&h, d, sizeof h, cudaMemcpyDeviceToHost, first);
  add<<<1, 1>>>(d, value);  // the legacy stream would wait for the capture
  printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  cudaGraph_t graph;
  cudaStreamEndCapture(first, &graph);
  size_t nodes = 0;
  cudaGraphGetNodes(graph, nullptr, &nodes);
  printf("%d %zu\n", h, nodes);
  cudaGraphExec_t exec;
  cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0);
  for (int i = 0; i < 3; ++i) cudaGraphLaunch(exec, first);
  printf("%d\n", h);  // ((3 · 2 + 3) · 2 + 3) · 2
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);

  cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal);
  const cudaError_t waits = cudaStreamSynchronize(first);
  printf("%s %s\n", cudaGetErrorName(waits), cudaGetErrorName(cudaStreamEndCapture(first, &graph)));

  cudaGraphCreate(&graph, 0);
  cudaGraphNode_t set, kernel, copy;
  cudaMemsetParams zeros = {};
  zeros.dst = d;
  zeros.value = 5;
  zeros.elementSize = 4;
  zeros.width = zeros.height = 1;
  cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &zeros);
  void* arguments[] = {&d, &value};
  cudaKernelNodeParams of = {};
  of.func = (void*)add;
  of.gridDim = of.blockDim = dim3(1);
  of.kernelParams = arguments;
  value = 7;
  cudaGraphAddKernelNode(&kernel, graph, &set, 1, &of);
  value = 1000;
  cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, &h, d, sizeof h, cudaMemcpyDeviceToHost);
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, second);
  printf("%d\n", h);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaFree(d);
}
