// SPDX-License-Identifier: Apache-2.0
// Copies of a product's matrices that together exceed the L2, for whoever compares algorithms on inputs that
// it does not hold.
#pragma once
#include "lt_product.cuh"
#include "tessera/core/device.hpp"
#include "tessera/cuda/buffer.hpp"
#include "tessera/cuda/check.hpp"

namespace tessera::matmul::lt {

class CopiesInTurn {
 public:
  // 2.5 times the L2 together, one where the product alone is as large; filled in the order of the run's
  // stream.
  CopiesInTurn(const Product& p, const Run& run)
      : product_(p),
        a_(span_bytes(p.a, p.batch, p.a_step)),
        b_(span_bytes(p.b, p.batch, p.b_step)),
        set_(a_ + b_ + span_bytes(p.c, p.batch, p.c_step)) {
    const std::size_t wanted =
        static_cast<std::size_t>(std::max<std::int64_t>(run.device->cache_bytes, 0)) / 2 * 5;
    count_ = std::max<std::size_t>(1, (wanted + set_ - 1) / set_);
    memory_ = cuda::DeviceBuffer(count_ * set_);
    const auto stream = static_cast<cudaStream_t>(run.stream);
    const auto copy = [stream](void* to, const void* from, std::size_t bytes) {
      cuda::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
    };
    copy(at(0), p.a.data, used_bytes(p.a, p.batch, p.a_step));
    copy(at(0) + a_, p.b.data, used_bytes(p.b, p.batch, p.b_step));
    for (std::size_t there = 1; there < count_; there *= 2)
      copy(at(there), at(0), std::min(there, count_ - there) * set_);
  }

  std::size_t count() const { return count_; }

  // The product on the next copy. A separate C0 stays where it is.
  Product next() {
    Product out = product_;
    char* const set = at(next_);
    next_ = (next_ + 1) % count_;
    out.a.data = set;
    out.b.data = set + a_;
    out.c.data = set + a_ + b_;
    if (!out.reads_c0) out.c0.data = out.c.data;
    return out;
  }

 private:
  static std::size_t used_bytes(const Described& x, std::int64_t batch, std::int64_t step) {
    const Stored s = *stored(x);
    const std::int64_t elements = (s.cols - 1) * s.leading + s.rows + (batch - 1) * step;
    return static_cast<std::size_t>(elements) * size_of(x.element);
  }
  // As aligned as memory of the device is.
  static std::size_t span_bytes(const Described& x, std::int64_t batch, std::int64_t step) {
    return (used_bytes(x, batch, step) + 255) / 256 * 256;
  }
  char* at(std::size_t set) const { return static_cast<char*>(memory_.get()) + set * set_; }

  Product product_;
  std::size_t a_, b_, set_, count_ = 1, next_ = 0;
  cuda::DeviceBuffer memory_;
};

}  // namespace tessera::matmul::lt
