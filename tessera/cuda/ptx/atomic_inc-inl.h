// SPDX-License-Identifier: Apache-2.0
// An acquire-release atomic increment in global memory. The file is embedded as a string in runtime-compiled
// kernels, so it has no #include.

// atomicInc with acquire and release semantics: returns the old value, and wraps to 0 after `last`. Writes of
// this thread are visible to later callers; writes of earlier callers are visible to this thread and, after
// __syncthreads(), to its block.
static __device__ __forceinline__ unsigned atomic_inc_acq_rel(unsigned* counter, unsigned last) {
  unsigned before;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(counter), "r"(last)
               : "memory");
  return before;
}
