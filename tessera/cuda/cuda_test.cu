// SPDX-License-Identifier: Apache-2.0
// The CUDA backend on a real device; skipped, with the backend's own reason, where there is none.
#include <gtest/gtest.h>
#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <vector>
#include "tessera/core/device/device.hpp"
#include "tessera/cuda/resources.hpp"
#include "tessera/cuda/gpus.hpp"
#include "tessera/cuda/ptx/scalar.cuh"
#include "tessera/cuda/staging.hpp"

namespace tessera {
namespace {

class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    backend_ = find_backend(Where::cuda);
    ASSERT_NE(backend_, nullptr);
    if (backend_->devices().empty()) {
      ASSERT_FALSE(backend_->unusable().empty());
      GTEST_SKIP() << backend_->unusable();
    }
    device_ = &backend_->devices().front();
    run_.device = device_;
    run_.stream = backend_->make_stream(*device_);
  }
  void TearDown() override {
    if (device_ != nullptr) backend_->release_stream(*device_, run_.stream);
  }

  Backend* backend_ = nullptr;
  const Device* device_ = nullptr;
  tessera::Run run_;
};

std::vector<unsigned char> pattern(std::size_t bytes) {
  std::vector<unsigned char> out(bytes);
  std::uint32_t state = 12345;
  for (unsigned char& byte : out) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<unsigned char>(state >> 24);
  }
  return out;
}

TEST(CudaBackend, SaysWhyItIsUnusableExactlyWhenItHasNoDevice) {
  Backend* const backend = find_backend(Where::cuda);
  ASSERT_NE(backend, nullptr);
  EXPECT_EQ(backend->devices().empty(), !backend->unusable().empty());
}

TEST_F(OnGpu, DescribesItself) {
  EXPECT_EQ(device_->where, Where::cuda);
  EXPECT_FALSE(device_->name.empty());
  EXPECT_GE(device_->compute_capability, 70);
  EXPECT_GE(device_->multiprocessors, 1);
  EXPECT_GE(device_->max_shared_bytes, 48 * 1024);
  EXPECT_GT(device_->cache_bytes, 0);
  EXPECT_NE(device_->driver.find("CUDA"), std::string::npos);
}

// Sizes about every border: the driver's own staging, one chunk, both chunks, and a chunk used again.
TEST_F(OnGpu, CopiesOfAnySizeComeBackUnchanged) {
  constexpr std::size_t chunk = cuda::Staging::chunk_bytes;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{3}, std::size_t{262144}, std::size_t{262145},
                                  chunk - 1, chunk, chunk + 1, 2 * chunk + 5, 3 * chunk + 4097}) {
    const std::vector<unsigned char> from = pattern(bytes);
    std::vector<unsigned char> to(bytes + 1, 0xa5);
    const Array device_array(Element::u8, {static_cast<std::int64_t>(bytes)}, backend_->memory(*device_));
    backend_->copy(run_, device_array.view().data, from.data(), bytes);
    backend_->copy(run_, to.data(), device_array.view().data, bytes);
    backend_->synchronize(run_);
    EXPECT_EQ(std::memcmp(from.data(), to.data(), bytes), 0) << bytes << " bytes";
    EXPECT_EQ(to[bytes], 0xa5) << "wrote past " << bytes << " bytes";
  }
}

TEST_F(OnGpu, TheSourceOfAnUploadMayBeReusedAtOnce) {
  const std::size_t bytes = 2 * cuda::Staging::chunk_bytes + 77;
  const std::vector<unsigned char> kept = pattern(bytes);
  std::vector<unsigned char> from = kept, to(bytes);
  const Array device_array(Element::u8, {static_cast<std::int64_t>(bytes)}, backend_->memory(*device_));
  backend_->copy(run_, device_array.view().data, from.data(), bytes);
  std::fill(from.begin(), from.end(), static_cast<unsigned char>(0));
  backend_->copy(run_, to.data(), device_array.view().data, bytes);
  EXPECT_EQ(to, kept);
}

TEST_F(OnGpu, CopiesWithinTheDeviceAndFills) {
  constexpr std::size_t bytes = 1000003;
  const Array one(Element::u8, {bytes}, backend_->memory(*device_)),
      two(Element::u8, {bytes}, backend_->memory(*device_));
  std::vector<unsigned char> to(bytes);
  backend_->fill(run_, one.view().data, 0x5a, bytes);
  backend_->copy(run_, two.view().data, one.view().data, bytes);
  backend_->copy(run_, to.data(), two.view().data, bytes);
  EXPECT_EQ(to, std::vector<unsigned char>(bytes, 0x5a));
}

TEST_F(OnGpu, OutOfMemoryNamesBothSizesAndLeavesTheDeviceUsable) {
  constexpr std::size_t wanted = std::size_t{1} << 50;
  try {
    (void)backend_->memory(*device_).allocate(wanted);
    FAIL() << "allocated a petabyte";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::user);
    EXPECT_NE(std::string(error.what()).find(std::to_string(wanted) + " bytes wanted"), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find(" free"), std::string::npos) << error.what();
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  void* const small = backend_->memory(*device_).allocate(256);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(small) % 256, 0u);
  backend_->memory(*device_).release(small);
}

TEST_F(OnGpu, TimesWhatIsEnqueued) {
  const std::int64_t bytes = std::int64_t{1} << 30;
  const Array device_array(Element::u8, {bytes}, backend_->memory(*device_));
  const auto filling = [&](int times) {
    return backend_->seconds(run_, [&] {
      for (int i = 0; i < times; ++i)
        backend_->fill(run_, device_array.view().data, 1, static_cast<std::size_t>(bytes));
    });
  };
  (void)filling(1);
  const double once = filling(1), often = filling(16);
  EXPECT_GT(once, 0);
  EXPECT_GT(often, 4 * once);
  backend_->flush_caches(run_);
  backend_->synchronize(run_);
}

TEST_F(OnGpu, AnUnrecordedEventIsComplete) {
  cuda::Event event;
  event.synchronize();
  cuda::Stream stream;
  cuda::Stream moved = std::move(stream);
  EXPECT_EQ(stream.get(), nullptr);
  event.record(moved.get());
  moved.synchronize();
  event.synchronize();
}

TEST_F(OnGpu, AFailedCallThrowsOnceAndDoesNotLinger) {
  EXPECT_THROW(cuda::check(cudaMemsetAsync(nullptr, 0, std::numeric_limits<std::size_t>::max(), nullptr)),
               Error);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

// Each block stays for a while, so that they spread.
__global__ void tell_processor(unsigned* where) {
  where[blockIdx.x] = cuda::ptx::smid();
  const std::uint64_t start = cuda::ptx::globaltimer();
  while (cuda::ptx::globaltimer() - start < 20'000) continue;
}

std::set<unsigned> multiprocessors_of(const Device& device) {
  const auto blocks = static_cast<unsigned>(64 * device.multiprocessors);
  const cuda::PinnedBuffer where(blocks * sizeof(unsigned));
  const auto* const first = static_cast<const unsigned*>(where.get());
  const cuda::Stream stream = cuda::stream_on(device);
  tell_processor<<<blocks, 1, 0, stream.get()>>>(static_cast<unsigned*>(where.get()));
  cuda::check(cudaGetLastError());
  stream.synchronize();
  return {first, first + blocks};
}

TEST_F(OnGpu, PartsShareNoMultiprocessor) {
  const int all = device_->multiprocessors;
  EXPECT_EQ(multiprocessors_of(*device_).size(), static_cast<std::size_t>(all));
  const Device first = as_part(*device_, 0, 4), second = as_part(*device_, 4, all / 2 * 2 - 4);
  check_part(first);
  const auto of_first = multiprocessors_of(first), of_second = multiprocessors_of(second);
  EXPECT_EQ(of_first.size(), 4u);
  EXPECT_EQ(of_second.size(), static_cast<std::size_t>(second.multiprocessors));
  for (const unsigned one : of_first) EXPECT_FALSE(of_second.contains(one)) << one;
  EXPECT_THROW(check_part(as_part(*device_, 1, 4)), Error);
  // Times and clocks are reported for a part of a device, too.
  tessera::Run run{&first, backend_->make_stream(first)};
  const Reading reading = backend_->read(
      run, [&] { backend_->flush_caches(run); }, true);
  EXPECT_GT(reading.seconds, 0);
  backend_->release_stream(first, run.stream);
}

}  // namespace
}  // namespace tessera
