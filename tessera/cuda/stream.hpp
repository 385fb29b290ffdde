// SPDX-License-Identifier: Apache-2.0
// The owner of a stream of the current device. Everyone else is handed get().
#pragma once
#include <memory>
#include "tessera/cuda/check.hpp"

namespace tessera::cuda {

class Stream {
 public:
  Stream() {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    stream_.reset(stream);
  }
  explicit Stream(cudaStream_t made) : stream_(made) {}
  cudaStream_t get() const { return stream_.get(); }
  void synchronize() const { check(cudaStreamSynchronize(get())); }
  cudaStream_t release() { return stream_.release(); }  // to an owner that must hold it as void*

 private:
  struct Destroy {
    void operator()(cudaStream_t stream) const noexcept { (void)cudaStreamDestroy(stream); }
  };
  std::unique_ptr<CUstream_st, Destroy> stream_;
};

}  // namespace tessera::cuda
