// SPDX-License-Identifier: Apache-2.0
#include "tessera/cuda/staging.hpp"
#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>
#include "tessera/core/device/device.hpp"

namespace tessera::cuda {
namespace {

// Copies with several threads: one processor is several times slower than the link to a GPU.
void copy_on_host(unsigned char* to, const unsigned char* from, std::size_t bytes) {
  constexpr std::size_t min_per_thread = std::size_t{2} << 20, max_threads = 8;
  const auto processors = static_cast<std::size_t>(std::max(1, host_threads()));
  const std::size_t threads =
      std::clamp<std::size_t>(bytes / min_per_thread, 1, std::min(processors, max_threads));
  const std::size_t part = (bytes + threads - 1) / threads;
  std::vector<std::jthread> helpers;
  for (std::size_t begin = part; begin < bytes; begin += part)
    helpers.emplace_back([=] { std::memcpy(to + begin, from + begin, std::min(part, bytes - begin)); });
  std::memcpy(to, from, std::min(part, bytes));
}

}  // namespace

void Staging::upload(cudaStream_t stream, void* to, const void* from, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  auto* const target = static_cast<unsigned char*>(to);
  const auto* const source = static_cast<const unsigned char*>(from);
  for (std::size_t begin = 0, i = 0; begin < bytes; begin += chunk_bytes, ++i) {
    Slot& slot = slots_[i % 2];
    const std::size_t size = std::min(chunk_bytes, bytes - begin);
    slot.idle.synchronize();
    copy_on_host(static_cast<unsigned char*>(slot.memory.get()), source + begin, size);
    check(cudaMemcpyAsync(target + begin, slot.memory.get(), size, cudaMemcpyHostToDevice, stream));
    slot.idle.record(stream);
  }
}

void Staging::download(cudaStream_t stream, void* to, const void* from, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  auto* const target = static_cast<unsigned char*>(to);
  const auto* const source = static_cast<const unsigned char*>(from);
  const std::size_t chunks = (bytes + chunk_bytes - 1) / chunk_bytes;
  const auto size_of_chunk = [&](std::size_t i) { return std::min(chunk_bytes, bytes - i * chunk_bytes); };
  const auto fetch = [&](std::size_t i) {
    Slot& slot = slots_[i % 2];
    slot.idle.synchronize();
    check(cudaMemcpyAsync(slot.memory.get(), source + i * chunk_bytes, size_of_chunk(i),
                          cudaMemcpyDeviceToHost, stream));
    slot.idle.record(stream);
  };
  if (chunks > 0) fetch(0);
  for (std::size_t i = 0; i < chunks; ++i) {
    if (i + 1 < chunks) fetch(i + 1);
    Slot& slot = slots_[i % 2];
    slot.idle.synchronize();
    copy_on_host(target + i * chunk_bytes, static_cast<const unsigned char*>(slot.memory.get()),
                 size_of_chunk(i));
  }
}

}  // namespace tessera::cuda
