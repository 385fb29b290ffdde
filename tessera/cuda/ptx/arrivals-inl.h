// SPDX-License-Identifier: Apache-2.0
// Blocks that count each other, as text for NVRTC: it includes nothing.

// How many came before this one; after `last` + 1 arrivals the counter is 0 again. What this thread wrote
// before is seen by those that come later, and what those before wrote by this one and its block after a
// barrier.
static __device__ __forceinline__ unsigned arrive(unsigned* counter, unsigned last) {
  unsigned before;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(counter), "r"(last)
               : "memory");
  return before;
}
