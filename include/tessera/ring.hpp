// SPDX-License-Identifier: Apache-2.0
// Prefetches global memory into a ring of stages in a block's shared memory. From compute capability 9.0, one
// warp issues bulk copies (TMA), which take no registers and few instructions. Before 9.0, every thread
// copies 16 bytes at a time, asynchronously from 8.0; the executor copies synchronously.
#pragma once
#include "tessera/kernel.hpp"
#if defined(__CUDACC__)
#include "tessera/cuda/ptx/tma.cuh"
#include "tessera/cuda/ptx/cp_async.cuh"
#endif

namespace tessera {
inline namespace TESSERA_UNIT {

// Must be in shared memory.
template <int stages>
struct RingState {
  std::uint64_t arrived[static_cast<unsigned>(stages)];
};

// Steps count from 0; step s uses stage s mod `stages`. A block asks for steps 0 to `ahead` − 1, and then at
// each step s: await(s), a barrier, ask for step s + ahead, use step s. After that barrier no thread uses
// step s − 1, so its stage is free.
template <int stages>
class Ring {
 public:
  static constexpr int ahead = stages - 1;

  // Called by all threads of the block, which synchronize after the mbarriers are initialized.
  SIMT Ring(Thread thread, RingState<stages>& state) : thread_(thread), state_(state) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (thread.rank() == 0) {
      SIMT_UNROLL
      for (int s = 0; s < stages; ++s) cuda::ptx::mbarrier_init(barrier(s), 1);
      cuda::ptx::fence_mbarrier_init();
    }
    thread.sync();
#endif
  }

  // Issues the copies of a step, if it is `exists`: up to 32 pieces. name(i, copy) calls copy(to, from,
  // bytes) for piece i, all three multiples of 16, or omits it. Called by all threads, at each step.
  template <class Name>
  SIMT void issue(int step, bool exists, int pieces, const Name& name) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (!exists || thread_.warp() != 0) return;
    cuda::ptx::Mbarrier& all = barrier(step % stages);
    if (thread_.lane() < pieces)
      name(thread_.lane(), [&](void* to, const void* from, int bytes) {
        cuda::ptx::cp_async_bulk(to, from, static_cast<std::uint32_t>(bytes), all);
      });
    thread_.sync_warp();  // after every lane's expect_tx on the barrier
    if (thread_.lane() == 0) cuda::ptx::mbarrier_arrive(all);
#else
    (void)step;
    SIMT_NO_UNROLL
    for (int i = 0; i < pieces && exists; ++i)
      name(i, [&](void* to, const void* from, int bytes) {
        for (int at = 16 * thread_.rank(); at < bytes; at += 16 * thread_.size().x)
          copy16(static_cast<char*>(to) + at, static_cast<const char*>(from) + at);
      });
#if defined(__CUDA_ARCH__)
    cuda::ptx::cp_async_commit_group();
#endif
#endif
  }

  // For a step that the block's threads write themselves, with ordinary stores, before the next barrier.
  SIMT void issue_nothing(int step) const {
    let_engine_write();
    issue(step, true, 0, [](int, const auto&) {});
  }

  // Orders ordinary stores to a stage before later bulk copies to it; called by each thread that stored.
  SIMT void let_engine_write() const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cuda::ptx::fence_proxy_async();
#endif
  }

  // Waits until this thread's copies of a step have arrived; after a barrier of the block, all have.
  SIMT void await(int step) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cuda::ptx::mbarrier_wait(barrier(step % stages), static_cast<std::uint32_t>(step / stages & 1));
#elif defined(__CUDA_ARCH__)
    (void)step;
    cuda::ptx::cp_async_wait_group<stages - 2>();
#else
    (void)step;
#endif
  }

 private:
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  SIMT cuda::ptx::Mbarrier& barrier(int stage) const {
    return reinterpret_cast<cuda::ptx::Mbarrier&>(state_.arrived[stage]);
  }
#else
  SIMT void copy16(void* to, const void* from) const {
#if defined(__CUDA_ARCH__)
    cuda::ptx::cp_async<16>(to, from);
#else
    thread_.store16(to, thread_.load16(from));
#endif
  }
#endif

  Thread thread_;
  RingState<stages>& state_;
};

}  // namespace TESSERA_UNIT
}  // namespace tessera
