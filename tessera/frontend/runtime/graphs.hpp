// SPDX-License-Identifier: Apache-2.0
// Streams, events and the graphs that streams are captured into.
#pragma once
#include <functional>
#include <memory>
#include <vector>
#include "tessera/frontend/include/graph_calls.h"
#include "tessera/frontend/runtime/runtime.hpp"

using tessera_work = std::function<cudaError_t()>;

struct CUgraphNode_st {
  std::size_t index;
  tessera_work work;
};
struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
  cudaGraphNode_t add(tessera_work work) {
    nodes.push_back(std::make_unique<CUgraphNode_st>(CUgraphNode_st{nodes.size(), std::move(work)}));
    return nodes.back().get();
  }
};
struct CUgraphExec_st {
  std::vector<tessera_work> nodes;
};

namespace tessera_cuda {

// A capture in progress, shared by the streams that take part in it.
struct Capture {
  cudaStream_t origin = nullptr;
  cudaGraph_t graph = nullptr;
  bool valid = true;
};

// True if the stream is being captured; then adds the work as a node of the graph instead of executing it.
bool captured(cudaStream_t stream, const tessera_work& work);
// Fails in a captured stream and invalidates the capture, for operations that cannot be captured.
cudaError_t refuse_in_capture(cudaStream_t stream);
// Fails if the legacy stream would wait for a stream that is being captured.
cudaError_t refuse_legacy_in_capture(cudaStream_t stream);

}  // namespace tessera_cuda

struct CUstream_st {
  unsigned flags = 0;
  int priority = 0;
  cudaStreamAttrValue window = {};
  std::shared_ptr<tessera_cuda::Capture> capture = {};
};
struct CUevent_st {
  bool timed = true, recorded = false;
  double when = 0;
  std::shared_ptr<tessera_cuda::Capture> capture = {};
};
