// SPDX-License-Identifier: Apache-2.0
// Shared by tests of calls on a GPU's memory.
#pragma once
#include <gtest/gtest.h>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>
#include "ops/matmul/gemm/drawn_testing.hpp"
#include "tessera/cuda/resources.hpp"
#include "tessera/run/enqueue.hpp"

namespace tessera::on_gpu {

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    Backend* const backend = find_backend(Where::cuda);
    ASSERT_NE(backend, nullptr);
    if (backend->devices().empty()) GTEST_SKIP() << backend->unusable();
    stream_.emplace();
  }

  cudaStream_t stream() const { return stream_->get(); }
  void wait() const { stream_->synchronize(); }

 private:
  std::optional<cuda::Stream> stream_;
};

class OnHopper : public OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (!IsSkipped() && find_device("cuda").compute_capability != 90) GTEST_SKIP() << "no Hopper GPU";
  }
};

// A request for the GPU, planned by sizes, without results of `tune`.
inline Request on_gpu() {
  Request out;
  out.device = "cuda";
  out.cached = false;
  return out;
}

using matmul::drawn;

// GPU memory between two guard zones of known bytes.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t bytes, int filled = 0xff) : bytes_(bytes), memory_(bytes + 2 * zone) {
    cuda::check(cudaMemset(memory_.get(), 0xa5, bytes + 2 * zone));
    if (bytes != 0) cuda::check(cudaMemset(get(), filled, bytes));
  }

  void* get() const { return static_cast<char*>(memory_.get()) + zone; }
  std::size_t bytes() const { return bytes_; }

  void expect_guards_intact() const {
    std::vector<unsigned char> all(bytes_ + 2 * zone);
    cuda::check(cudaMemcpy(all.data(), memory_.get(), all.size(), cudaMemcpyDeviceToHost));
    std::size_t changed = 0;
    for (std::size_t i = 0; i < zone; ++i) changed += (all[i] != 0xa5) + (all[zone + bytes_ + i] != 0xa5);
    EXPECT_EQ(changed, 0u) << "bytes written outside of " << bytes_;
  }

 private:
  static constexpr std::size_t zone = 4096;
  std::size_t bytes_;
  cuda::DeviceBuffer memory_;
};

template <class T>
class DeviceCopy {
 public:
  explicit DeviceCopy(const std::vector<T>& host) : memory_(host.size() * sizeof(T)), count_(host.size()) {
    set(host);
  }

  T* get() const { return static_cast<T*>(memory_.get()); }
  const T* read() const { return get(); }
  // After whatever a stream still does with it.
  void set(const std::vector<T>& host) {
    cuda::check(cudaDeviceSynchronize());
    if (count_ != 0) cuda::check(cudaMemcpy(get(), host.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
    cuda::check(cudaDeviceSynchronize());
  }
  std::vector<T> fetched() const {
    std::vector<T> out(count_);
    cuda::check(cudaDeviceSynchronize());
    if (count_ != 0) cuda::check(cudaMemcpy(out.data(), get(), count_ * sizeof(T), cudaMemcpyDeviceToHost));
    memory_.expect_guards_intact();
    return out;
  }

 private:
  GuardedMemory memory_;
  std::size_t count_;
};

template <class T>
void expect_same_bits(const std::vector<T>& got, const std::vector<T>& wanted, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  std::size_t different = 0;
  for (std::size_t i = 0; i < got.size(); ++i) different += std::memcmp(&got[i], &wanted[i], sizeof(T)) != 0;
  EXPECT_EQ(different, 0u) << what << ": of " << got.size() << " elements";
}

// True if `work` returns while the stream is blocked, so that it does not wait for the stream.
inline bool comes_back_at_once(cudaStream_t stream, const std::function<void()>& work) {
  struct Gate {
    std::atomic<bool> open = false, forced = false;
  } gate;
  cuda::check(cudaLaunchHostFunc(
      stream,
      [](void* data) {
        auto& held = *static_cast<Gate*>(data);
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (!held.open && std::chrono::steady_clock::now() < end) std::this_thread::yield();
        held.forced = !held.open;
      },
      &gate));
  work();
  gate.open = true;
  cuda::check(cudaStreamSynchronize(stream));
  return !gate.forced;
}

inline std::size_t free_bytes() {
  std::size_t free = 0, total = 0;
  cuda::check(cudaMemGetInfo(&free, &total));
  return free;
}

template <class F>
std::string complaint_of(const F& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::user) << error.what();
    return error.what();
  }
  return "none";
}

}  // namespace tessera::on_gpu
