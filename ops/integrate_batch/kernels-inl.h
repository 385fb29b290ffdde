// SPDX-License-Identifier: Apache-2.0
// The kernels of the rung that compiles a formula. For NVRTC only; follows the other texts and the formula's
// code.

// The warp functions of core/device/thread.hpp.
struct Lanes {
  __device__ int lane() const { return static_cast<int>(threadIdx.x % 32); }
  __device__ void sync_warp() const { __syncwarp(); }
  template <class T>
  __device__ T shuffle(T value, int from) const {
    return __shfl_sync(0xffffffffu, value, from);
  }
  template <class T>
  __device__ T shuffle_up(T value, int by) const {
    return __shfl_up_sync(0xffffffffu, value, by);
  }
  template <class T>
  __device__ T shuffle_xor(T value, int mask) const {
    return __shfl_xor_sync(0xffffffffu, value, mask);
  }
  __device__ unsigned ballot(bool which) const { return __ballot_sync(0xffffffffu, which); }
};

// Few cells, in a thread's local memory.
struct FewCells {
  double number[fields][own_cells], base[own_pieces], reach[own_pieces];
  int whole[links][own_cells], tail[own_pieces], tops[own_pieces];

  __device__ int capacity() const { return own_cells; }
  __device__ static constexpr int lanes() { return 1; }
  __device__ static constexpr int lane() { return 0; }
  __device__ void settle() const {}
  __device__ double get(Field field, int i) const { return number[field][i]; }
  __device__ void set(Field field, int i, double value) { number[field][i] = value; }
  __device__ void charge(int i, double error) { number[error_of][i] = error; }
  __device__ int link(Link link, int i) const { return whole[link][i]; }
  __device__ void set_link(Link link, int i, int to) { whole[link][i] = to; }
  __device__ Piece piece(int i) const { return {base[i], reach[i], tail[i]}; }
  __device__ void set_piece(int i, const Piece& piece) {
    base[i] = piece.base;
    reach[i] = piece.reach;
    tail[i] = piece.tail;
  }
  __device__ int top(int i) const { return tops[i]; }
  __device__ void set_top(int i, int cell) { tops[i] = cell; }
  __device__ WorstCell worst(int count) const {
    WorstCell out = {0, number[error_of][0]};
    for (int i = 1; i < count; ++i)
      if (number[error_of][i] > out.error) out = {i, number[error_of][i]};
    return out;
  }
  __device__ void add_in_order(DoubleDouble& sum, double value) const {
    if (value != 0) add(sum, value);
  }
};

// Takes the integrals that need more cells: a queue, and cells for the warps that empty it.
struct Spare {
  unsigned* counters;  // integrals queued, integrals taken, blocks done; 0 before and after
  unsigned* waiting;
  char* memory;  // list_bytes(cells) for each warp
  int cells;
};

extern "C" __global__ void __launch_bounds__(own_threads, resident)
    each_alone(const Work work, const Spare spare) {
  const long long index = static_cast<long long>(blockIdx.x) * own_threads + threadIdx.x;
  if (index >= work.count) return;
  FewCells cells;
  Integrand f(work, index);
  Ends ends(work, index);
  const IntegralResult ended =
      integrate_alone(cells, work.nodes, tolerance_of_row(work, index), f, ends, work.breaks);
  if (ended.why == memory) spare.waiting[atomicAdd(spare.counters, 1u)] = static_cast<unsigned>(index);
  else store(work, index, ended);
}

extern "C" __global__ void __launch_bounds__(32 * warps) together(const Work work, const Spare spare) {
  __shared__ WarpExchange exchange[warps];
  const Lanes lanes;
  const int warp = static_cast<int>(threadIdx.x / 32);
  const OwnCells cells = OwnCells::of(
      spare.memory + (blockIdx.x * static_cast<long long>(warps) + warp) * list_bytes(spare.cells),
      spare.cells, 1, 0);
  const unsigned all = own_cells > 0 ? spare.counters[0] : static_cast<unsigned>(work.count);
  for (;;) {
    unsigned mine = 0;
    if (lanes.lane() == 0) mine = atomicAdd(spare.counters + 1, 1u);
    mine = lanes.shuffle(mine, 0);
    if (mine >= all) break;
    const long long index = own_cells > 0 ? spare.waiting[mine] : mine;
    Integrand f(work, index);
    Ends ends(work, index);
    const IntegralResult ended = integrate_together(lanes, exchange[warp], cells, work.nodes,
                                                    tolerance_of_row(work, index), f, ends, work.breaks);
    if (lanes.lane() == 0) store(work, index, ended);
    lanes.sync_warp();
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence();
  if (atomicAdd(spare.counters + 2, 1u) + 1 == gridDim.x)
    spare.counters[0] = spare.counters[1] = spare.counters[2] = 0;
}
