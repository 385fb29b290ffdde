// SPDX-License-Identifier: Apache-2.0
// A mark in a stream of the current device: to wait for, and to take the time between two.
#pragma once
#include <memory>
#include "tessera/cuda/check.hpp"

namespace tessera::cuda {

class Event {
 public:
  Event() {
    cudaEvent_t event = nullptr;
    check(cudaEventCreate(&event));
    event_.reset(event);
  }
  void record(cudaStream_t stream) { check(cudaEventRecord(event_.get(), stream)); }
  // What is enqueued next to the stream, which may be another device's, waits for the mark.
  void hold(cudaStream_t stream) const { check(cudaStreamWaitEvent(stream, event_.get(), 0)); }
  void synchronize() const { check(cudaEventSynchronize(event_.get())); }  // at once if never recorded

  // Both have been recorded, and this one has been reached.
  double seconds_since(const Event& earlier) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, earlier.event_.get(), event_.get()));
    return milliseconds * 1e-3;
  }

 private:
  struct Destroy {
    void operator()(cudaEvent_t event) const noexcept { (void)cudaEventDestroy(event); }
  };
  std::unique_ptr<CUevent_st, Destroy> event_;
};

}  // namespace tessera::cuda
