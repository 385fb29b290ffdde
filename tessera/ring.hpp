// SPDX-License-Identifier: Apache-2.0
// Memory that arrives in a block's shared memory before it is needed, in stages of a ring. From compute
// capability 9.0 one warp asks the copy engine for whole pieces: no register and next to no instruction is
// spent on what is under way. Before, every thread copies 16 bytes at a time, asynchronously from 8.0; the
// executor's copies are done at once.
#pragma once
#include "tessera/kernel.hpp"
#if defined(__CUDACC__)
#include "tessera/cuda/ptx/tma.cuh"
#include "tessera/cuda/ptx/cp_async.cuh"
#endif

namespace tessera {
inline namespace TESSERA_UNIT {

// Lies in shared memory.
template <int stages>
struct RingState {
  std::uint64_t arrived[static_cast<unsigned>(stages)];
};

// Steps count from 0; step s is in stage s mod `stages`. A block asks for steps 0 to `ahead` − 1, and then at
// each step s: await(s), a barrier, ask for step s + ahead, use step s. Behind that barrier nobody uses step
// s − 1 any more, whose place is thus free.
template <int stages>
class Ring {
 public:
  static constexpr int ahead = stages - 1;

  // All threads of the block, which meet where the copy engine's barriers are made.
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

  // Asks for a step, if it is `there`: up to 32 pieces, each named by name(i, copy) through
  // copy(to, from, bytes), all three multiples of 16, or left out. All threads call, at each step.
  template <class Name>
  SIMT void ask(int step, bool there, int pieces, const Name& name) const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (!there || thread_.warp() != 0) return;
    cuda::ptx::Mbarrier& all = barrier(step % stages);
    if (thread_.lane() < pieces)
      name(thread_.lane(), [&](void* to, const void* from, int bytes) {
        cuda::ptx::cp_async_bulk(to, from, static_cast<std::uint32_t>(bytes), all);
      });
    thread_.sync_warp();  // behind what every lane told the barrier to expect
    if (thread_.lane() == 0) cuda::ptx::mbarrier_arrive(all);
#else
    (void)step;
    SIMT_NO_UNROLL
    for (int i = 0; i < pieces && there; ++i)
      name(i, [&](void* to, const void* from, int bytes) {
        for (int at = 16 * thread_.rank(); at < bytes; at += 16 * thread_.size().x)
          copy16(static_cast<char*>(to) + at, static_cast<const char*>(from) + at);
      });
#if defined(__CUDA_ARCH__)
    cuda::ptx::cp_async_commit_group();
#endif
#endif
  }

  // For a step that the block's threads have written themselves, with ordinary stores, before the next
  // barrier.
  SIMT void ask_nothing(int step) const {
    let_engine_write();
    ask(step, true, 0, [](int, const auto&) {});
  }

  // After ordinary stores to a stage, by each thread that made some: later copies to it come later.
  SIMT void let_engine_write() const {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cuda::ptx::fence_proxy_async();
#endif
  }

  // Until what this thread knows of a step has arrived. Behind a barrier of the block, all of it has.
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
