// SPDX-License-Identifier: Apache-2.0
// Instructions that control execution: barriers and shared memory of thread block clusters, named barriers,
// setmaxnreg, elect, programmatic dependent launch; also load_acquire() and opaque().
#pragma once
#include <cstdint>

namespace tessera::cuda::ptx {

__device__ __forceinline__ std::uint32_t block_rank_in_cluster() {
  std::uint32_t out;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(out));
  return out;
}
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}

// Loads 16 bytes of block `block`'s shared memory, from the address that corresponds to `address` (mapa).
__device__ __forceinline__ uint4 ld_shared_cluster(std::uint32_t address, std::uint32_t block) {
  uint4 out;
  asm volatile(
      "{\n .reg .b32 remote;\n"
      " mapa.shared::cluster.u32 remote, %4, %5;\n"
      " ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [remote];\n}"
      : "=r"(out.x), "=r"(out.y), "=r"(out.z), "=r"(out.w)
      : "r"(address), "r"(block)
      : "memory");
  return out;
}

// setmaxnreg sets the maximum number of registers per thread, for all warps of a warpgroup: dec releases
// registers to the pool of the block, inc requests them from it and blocks until there are enough.
template <int registers>
__device__ __forceinline__ void warpgroup_reg_dealloc() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}
template <int registers>
__device__ __forceinline__ void warpgroup_reg_alloc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

// Programmatic dependent launch (PDL). griddepcontrol.wait blocks until the kernels that this one depends on
// have completed and their writes are visible; griddepcontrol.launch_dependents: once every block has
// executed it or exited, the next kernel in the stream may be scheduled, if it was launched with programmatic
// stream serialization. Below compute capability 9.0 there is no PDL: kernels run one after the other.
__device__ __forceinline__ void griddepcontrol_wait() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
__device__ __forceinline__ void griddepcontrol_launch_dependents() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// If the load observes a value stored by a release (or by an atomic after __threadfence()), writes that
// precede the release are visible to this thread.
__device__ __forceinline__ std::uint32_t load_acquire(const std::uint32_t* from) {
  std::uint32_t out;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(out) : "l"(from) : "memory");
  return out;
}

// True in one thread of the warp. All lanes must be active.
__device__ __forceinline__ bool elect_one() {
  std::uint32_t out;
  asm volatile("{\n .reg .pred one;\n elect.sync _|one, 0xffffffff;\n selp.u32 %0, 1, 0, one;\n}"
               : "=r"(out));
  return out != 0;
}

// Returns `number`. The compiler does not see how the result was computed: it neither keeps values live
// because they could be derived from `number`, nor recomputes the result.
template <class Number>
__device__ __forceinline__ Number opaque(Number number) {
  static_assert(sizeof(Number) == 4);
  asm volatile("" : "+r"(number));
  return number;
}

// Named barriers. `threads`: the number of participating threads, a multiple of 32. sync waits for all of
// them; arrive counts this warp without waiting.
__device__ __forceinline__ void named_barrier_sync(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ __forceinline__ void named_barrier_arrive(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

}  // namespace tessera::cuda::ptx
