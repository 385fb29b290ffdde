// SPDX-License-Identifier: Apache-2.0
// The owner of a graph that can be launched: what was enqueued while a stream was watched.
#pragma once
#include <functional>
#include <memory>
#include "tessera/cuda/check.hpp"

namespace tessera::cuda {

class Graph {
 public:
  // Runs `work` while everything that it enqueues to the stream is noted, not done. Throws Error where it
  // waits for the stream or does else what cannot be noted; the stream can be used as before.
  Graph(cudaStream_t stream, const std::function<void()>& work) {
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    cudaGraph_t noted = nullptr;
    try {
      work();
    } catch (...) {
      (void)cudaStreamEndCapture(stream, &noted);
      if (noted != nullptr) (void)cudaGraphDestroy(noted);
      (void)cudaGetLastError();
      throw;
    }
    check(cudaStreamEndCapture(stream, &noted));
    cudaGraphExec_t graph = nullptr;
    const cudaError_t status = cudaGraphInstantiate(&graph, noted, 0);
    (void)cudaGraphDestroy(noted);
    check(status);
    graph_.reset(graph);
    check(cudaGraphUpload(graph, stream));
  }

  void launch(cudaStream_t stream) const { check(cudaGraphLaunch(graph_.get(), stream)); }

 private:
  struct Destroy {
    void operator()(cudaGraphExec_t graph) const noexcept { (void)cudaGraphExecDestroy(graph); }
  };
  std::unique_ptr<CUgraphExec_st, Destroy> graph_;
};

}  // namespace tessera::cuda
