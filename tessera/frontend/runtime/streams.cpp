// SPDX-License-Identifier: Apache-2.0
// Streams and events. Work is complete when its call returns, so streams never wait. An event is a time by
// this machine's clock.
#include "tessera/frontend/runtime/launch/launch_record.hpp"
#include "tessera/frontend/runtime/runtime.hpp"
#include "tessera/frontend/runtime/graphs.hpp"

using tessera_cuda::Lock;
using tessera_cuda::Runtime;

namespace {

cudaError_t state() {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  return r.state() == cudaSuccess ? cudaSuccess : r.fail(r.state());
}

bool is_special(cudaStream_t stream) {
  return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

}  // namespace

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  if (const cudaError_t error = state(); error != cudaSuccess) return error;
  *stream = new CUstream_st{flags, priority, {}, {}};
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (is_special(stream)) return Runtime::get().fail(cudaErrorInvalidResourceHandle);
  delete stream;
  return state();
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const cudaError_t error = tessera_cuda::refuse_in_capture(stream);
  return error == cudaSuccess ? state() : error;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  *priority = is_special(stream) ? 0 : stream->priority;
  return cudaSuccess;
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags) {
  *flags = is_special(stream) ? 0 : stream->flags;
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  if (event == nullptr) return r.fail(cudaErrorInvalidResourceHandle);
  // The stream joins the capture that the event belongs to.
  const bool joins = event->capture && event->capture->graph != nullptr;
  if (joins && is_special(stream)) return r.fail(cudaErrorStreamCaptureImplicit);
  if (joins) stream->capture = event->capture;
  return state();
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                  unsigned int) {
  if (const cudaError_t error = tessera_cuda::refuse_in_capture(stream); error != cudaSuccess) return error;
  callback(stream, state(), data);
  return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  const auto call = [=] {
    function(data);
    return cudaSuccess;
  };
  if (!tessera_cuda::captured(stream, call)) call();
  return state();
}
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID, const cudaStreamAttrValue* value) {
  if (value == nullptr) return Runtime::get().fail(cudaErrorInvalidValue);
  if (!is_special(stream)) stream->window = *value;
  return state();
}
cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID, cudaStreamAttrValue* value) {
  if (value == nullptr) return Runtime::get().fail(cudaErrorInvalidValue);
  *value = is_special(stream) ? cudaStreamAttrValue{} : stream->window;
  return state();
}
cudaError_t tessera_cudaStreamAttach(cudaStream_t, void*) { return state(); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  if (const cudaError_t error = state(); error != cudaSuccess) return error;
  *event = new CUevent_st{(flags & cudaEventDisableTiming) == 0, false, 0, {}};
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned int flags) {
  return cudaEventCreateWithFlags(event, flags);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  if (event == nullptr) return r.fail(cudaErrorInvalidResourceHandle);
  event->capture.reset();
  cudaStreamCaptureStatus captured = cudaStreamCaptureStatusNone;
  cudaStreamIsCapturing(stream, &captured);
  if (captured != cudaStreamCaptureStatusNone) {
    event->capture = stream->capture;
    return cudaSuccess;
  }
  event->recorded = true;
  event->when = tessera_cuda::now() + r.time_credit;
  return r.state() == cudaSuccess ? cudaSuccess : r.fail(r.state());
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return event == nullptr ? Runtime::get().fail(cudaErrorInvalidResourceHandle) : state();
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  Runtime& r = Runtime::get();
  const Lock lock(r.mutex);
  if (r.state() != cudaSuccess) return r.fail(r.state());
  if (start == nullptr || end == nullptr || !start->timed || !end->timed || !start->recorded ||
      !end->recorded)
    return r.fail(cudaErrorInvalidResourceHandle);
  *milliseconds = static_cast<float>((end->when - start->when) * 1e3);
  static bool once = false;
  if (!once)
    tessera_cuda::record_note(
        "events measure this machine's time, which says nothing about what is faster on a GPU: "
        "`tessera trace --why KERNEL KERNEL` does");
  once = true;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (event == nullptr) return Runtime::get().fail(cudaErrorInvalidResourceHandle);
  delete event;
  return state();
}
