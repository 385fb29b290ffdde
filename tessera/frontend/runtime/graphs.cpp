// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include "tessera/frontend/include/texture_calls.h"
#include "tessera/frontend/runtime/launch/kernels.hpp"
#include "tessera/frontend/runtime/graphs.hpp"

using tessera_cuda::CallSite;
using tessera_cuda::Capture;
using tessera_cuda::Lock;
using tessera_cuda::Runtime;

namespace tessera_cuda {
namespace {

Capture* capture_of(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread) return nullptr;
  // A capture ends for all its streams when it ends on its origin stream, which sets its graph to null.
  if (stream->capture && stream->capture->graph == nullptr) stream->capture.reset();
  return stream->capture.get();
}

int active_captures_of_blocking_streams = 0;

}  // namespace

bool captured(cudaStream_t stream, const tessera_work& work) {
  const Lock lock(Runtime::get().mutex);
  if (Capture* const capture = capture_of(stream)) {
    capture->graph->add(work);
    return true;
  }
  return false;
}

cudaError_t refuse_in_capture(cudaStream_t stream) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  Capture* const capture = capture_of(stream);
  if (capture == nullptr) return cudaSuccess;
  capture->valid = false;
  return r.fail(cudaErrorStreamCaptureUnsupported);
}

cudaError_t refuse_legacy_in_capture(cudaStream_t stream) {
  Runtime& r = Runtime::get();
  const bool legacy = stream == nullptr || stream == cudaStreamLegacy;
  return legacy && active_captures_of_blocking_streams > 0 ? r.fail(cudaErrorStreamCaptureImplicit)
                                                           : cudaSuccess;
}

}  // namespace tessera_cuda

using tessera_cuda::capture_of;

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  const bool special = stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
  if (special) return r.fail(cudaErrorStreamCaptureUnsupported);
  if (capture_of(stream) != nullptr) return r.fail(cudaErrorIllegalState);
  stream->capture = std::make_shared<Capture>(Capture{stream, new CUgraph_st});
  if ((stream->flags & cudaStreamNonBlocking) == 0) ++tessera_cuda::active_captures_of_blocking_streams;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  Capture* const capture = capture_of(stream);
  if (capture == nullptr || graph == nullptr) return r.fail(cudaErrorIllegalState);
  if (capture->origin != stream) return r.fail(cudaErrorStreamCaptureUnjoined);
  if ((stream->flags & cudaStreamNonBlocking) == 0) --tessera_cuda::active_captures_of_blocking_streams;
  *graph = capture->graph;
  capture->graph = nullptr;
  const bool valid = capture->valid;
  stream->capture.reset();
  if (valid) return cudaSuccess;
  delete *graph;
  *graph = nullptr;
  return r.fail(cudaErrorStreamCaptureInvalidated);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const Lock lock(Runtime::get().mutex);
  const Capture* const capture = capture_of(stream);
  *status = capture == nullptr ? cudaStreamCaptureStatusNone
            : capture->valid   ? cudaStreamCaptureStatusActive
                               : cudaStreamCaptureStatusInvalidated;
  return cudaSuccess;
}

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int) {
  *graph = new CUgraph_st;
  return cudaSuccess;
}
cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
  if (clone == nullptr || graph == nullptr) return Runtime::get().fail(cudaErrorInvalidValue);
  *clone = new CUgraph_st;
  for (const auto& node : graph->nodes) (*clone)->add(node->work);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  if (graph == nullptr || count == nullptr) return Runtime::get().fail(cudaErrorInvalidValue);
  if (nodes == nullptr) {
    *count = graph->nodes.size();
    return cudaSuccess;
  }
  for (std::size_t i = 0; i < *count; ++i)
    nodes[i] = i < graph->nodes.size() ? graph->nodes[i].get() : nullptr;
  *count = std::min(*count, graph->nodes.size());
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  if (exec == nullptr || graph == nullptr) return Runtime::get().fail(cudaErrorInvalidValue);
  *exec = new CUgraphExec_st;
  for (const auto& node : graph->nodes) (*exec)->nodes.push_back(node->work);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  if (exec == nullptr) return r.fail(cudaErrorInvalidValue);
  if (r.state() != cudaSuccess) return r.fail(r.state());
  for (const auto& work : exec->nodes) {
    if (tessera_cuda::captured(stream, work)) continue;
    if (const cudaError_t error = work(); error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

namespace {

// The dependencies of a new node are in the graph already, so insertion order is a valid execution order.
cudaError_t add(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, std::size_t count,
                tessera_work work) {
  if (node == nullptr || graph == nullptr) return Runtime::get().fail(cudaErrorInvalidValue);
  for (std::size_t i = 0; i < count; ++i)
    if (after == nullptr || after[i] == nullptr) return Runtime::get().fail(cudaErrorInvalidValue);
  *node = graph->add(std::move(work));
  return cudaSuccess;
}

cudaError_t fill(const cudaMemsetParams& of, CallSite at) {
  if (of.elementSize == 1)
    return cudaMemset2D(of.dst, of.height > 1 ? of.pitch : of.width, static_cast<int>(of.value), of.width,
                        of.height, at);
  std::vector<char> row(of.width * of.elementSize);
  for (std::size_t i = 0; i < of.width; ++i) std::memcpy(&row[i * of.elementSize], &of.value, of.elementSize);
  for (std::size_t y = 0; y < of.height; ++y) {
    const cudaError_t error =
        tessera_cuda::copy(static_cast<char*>(of.dst) + y * of.pitch, row.size(), row.data(), row.size(),
                           row.size(), 1, cudaMemcpyHostToDevice, "cudaGraphAddMemsetNode", at);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                   size_t count, const cudaKernelNodeParams* kernel, CallSite at) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  if (graph == nullptr || kernel == nullptr || kernel->extra != nullptr) return r.fail(cudaErrorInvalidValue);
  tessera_work work;
  const cudaError_t error = tessera_cuda::keep_launch(work, kernel->func, kernel->gridDim, kernel->blockDim,
                                                      kernel->kernelParams, kernel->sharedMemBytes, at);
  return error == cudaSuccess ? add(node, graph, after, count, std::move(work)) : error;
}
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                   size_t count, const cudaMemcpy3DParms* copy, CallSite at) {
  if (copy == nullptr) return Runtime::get().fail(cudaErrorInvalidValue);
  return add(node, graph, after, count, [of = *copy, at] { return cudaMemcpy3D(&of, at); });
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                     size_t count, void* to, const void* from, size_t bytes,
                                     cudaMemcpyKind kind, CallSite at) {
  return add(node, graph, after, count, [=] { return cudaMemcpy(to, from, bytes, kind, at); });
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                   size_t count, const cudaMemsetParams* set, CallSite at) {
  const bool right =
      set != nullptr && (set->elementSize == 1 || set->elementSize == 2 || set->elementSize == 4);
  if (!right) return Runtime::get().fail(cudaErrorInvalidValue);
  return add(node, graph, after, count, [of = *set, at] { return fill(of, at); });
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                 size_t count, const cudaHostNodeParams* host) {
  if (host == nullptr) return Runtime::get().fail(cudaErrorInvalidValue);
  return add(node, graph, after, count, [of = *host] {
    of.fn(of.userData);
    return cudaSuccess;
  });
}
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                  size_t count) {
  return add(node, graph, after, count, [] { return cudaSuccess; });
}
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                       size_t count, cudaGraph_t child) {
  if (child == nullptr) return Runtime::get().fail(cudaErrorInvalidValue);
  std::vector<tessera_work> all;
  for (const auto& of : child->nodes) all.push_back(of->work);
  return add(node, graph, after, count, [all = std::move(all)] {
    for (const auto& work : all)
      if (const cudaError_t error = work(); error != cudaSuccess) return error;
    return cudaSuccess;
  });
}
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, size_t count) {
  // An edge to a node that was added earlier would invalidate the insertion order.
  for (std::size_t i = 0; i < count; ++i)
    if (graph == nullptr || from[i]->index >= to[i]->index) return Runtime::get().fail(cudaErrorNotSupported);
  return cudaSuccess;
}
