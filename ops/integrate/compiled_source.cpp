// SPDX-License-Identifier: Apache-2.0
#include "compiled_source.hpp"
#include "tessera/formula/emit.hpp"

namespace tessera::integration {
namespace {

// From the instruction that gives a reciprocal root, one product: within 5 units of the last place (f64: 3),
// where the root itself would be within half of one.
constexpr std::string_view roots = R"(
static __device__ __forceinline__ float fast_root(float a) {
  return a == 0.0f || a == formula::infinity<float>() ? a : a * rsqrtf(a);
}
static __device__ __forceinline__ double fast_root(double a) {
  return a == 0.0 || a == formula::infinity<double>() ? a : a * rsqrt(a);
}
)";

constexpr std::string_view sums = R"(
struct Pair {
  R high, low;
};

static __device__ __forceinline__ Pair plus(Pair sum, R value) {
  if (way == kahan) {
    const R corrected = value + sum.low, next = sum.high + corrected;
    return {next, corrected - (next - sum.high)};
  }
  if (way == double_float) {
    const R high = sum.high + value, of_value = high - sum.high, of_sum = high - of_value;
    const R low = ((sum.high - of_sum) + (value - of_value)) + sum.low, out = high + low;
    return {out, low - (out - high)};
  }
  return {sum.high + value, R(0)};
}

static __device__ __forceinline__ Pair join(Pair a, Pair b) {
  if (way == kahan) return plus(plus(a, b.high), b.low);
  if (way == double_float) {
    const R high = a.high + b.high, of_b = high - a.high, of_a = high - of_b;
    const R low = ((a.high - of_a) + (b.high - of_b)) + (a.low + b.low), out = high + low;
    return {out, low - (out - high)};
  }
  return {a.high + b.high, R(0)};
}

struct Tree {
  Pair level[48];
  unsigned long long count = 0;
  int depth = 0;

  __device__ void add(Pair leaf) {
    for (unsigned long long bit = count; bit & 1; bit >>= 1) leaf = join(level[--depth], leaf);
    level[depth++] = leaf;
    ++count;
  }
  __device__ Pair sum() const {
    if (depth == 0) return {R(0), R(0)};
    Pair out = level[depth - 1];
    for (int i = depth - 2; i >= 0; --i) out = join(level[i], out);
    return out;
  }
};
)";

constexpr std::string_view strips = R"(
struct Work {
  R a, b, step, width, scale;
  long long strips, runs, each;
  R* result;
  unsigned* counter;
  Pair* partials;
};

static __device__ __forceinline__ R term(const Work& w, R x) {
  return scale_terms ? integrand(x) * w.width : integrand(x);
}

// Indices are whole numbers that R holds, so counting up is as good as converting each.
static __device__ __forceinline__ Pair add_range(const Work& w, long long first, long long last, long long stride) {
  Pair sum = {R(0), R(0)};
  R at = R(first);
  const R by = R(stride);
#pragma unroll 4
  for (long long i = first; i < last; i += stride) {
    sum = plus(sum, term(w, w.a + at * w.step));
    at += by;
  }
  return sum;
}

static __device__ __forceinline__ Pair add_leaf(const Work& w, long long first) {
  if (first + 32 > w.strips) return add_range(w, first, w.strips, 1);
  Pair sum = {R(0), R(0)};
  R at = R(first);
#pragma unroll 8
  for (int i = 0; i < 32; ++i) {
    sum = plus(sum, term(w, w.a + at * w.step));
    at += R(1);
  }
  return sum;
}

template <int count>
static __device__ __forceinline__ Pair add_leaves(const Work& w, long long first) {
  if constexpr (count == 1) return add_leaf(w, first);
  else return join(add_leaves<count / 2>(w, first), add_leaves<count / 2>(w, first + 16 * count));
}

static __device__ __forceinline__ Pair add_run(const Work& w, long long first) {
  const long long end = first + w.each < w.strips ? first + w.each : w.strips;
  if (way == double_float) return add_range(w, first, end, 1);
  if (w.each == 32 * leaves) return add_leaves<leaves>(w, first);
  Tree tree;
  for (; first < end; first += 32 * leaves) tree.add(add_leaves<leaves>(w, first));
  return tree.sum();
}

static __device__ __forceinline__ Pair join_lanes(Pair mine, int lane) {
#pragma unroll
  for (int apart = 1; apart < 32; apart *= 2) {
    const Pair other = {__shfl_xor_sync(0xffffffffu, mine.high, apart), __shfl_xor_sync(0xffffffffu, mine.low, apart)};
    mine = (lane & apart) == 0 ? join(mine, other) : join(other, mine);
  }
  return mine;
}
)";

constexpr std::string_view kernel = R"(
static __device__ __forceinline__ void finish(const Work& w, Pair* value, long long count, int me) {
  int width = 1;
  while (width * 2 <= threads) width *= 2;
  long long each = 1;
  while (each * width < count) each *= 2;
  if (me < width) {
    Tree tree;
    for (long long i = me * each; i < (me + 1) * each && i < count; ++i) tree.add(w.partials[i]);
    value[me] = tree.sum();
  }
  for (int apart = 1; apart < width; apart *= 2) {
    __syncthreads();
    if (me < width && me % (2 * apart) == 0) value[me] = join(value[me], value[me + apart]);
  }
  if (me != 0) return;
  const Pair total = plus(plus(value[0], R(0.5) * term(w, w.b)), R(-0.5) * term(w, w.a));
  *w.result = (scale_terms ? total.high : total.high * w.width) * w.scale;
}

extern "C" __global__ void __launch_bounds__(threads) add_strips(const Work w) {
  __shared__ Pair value[threads];
  __shared__ int last;
  const int me = int(threadIdx.x), lane = me % 32;
  const long long all = (long long)(gridDim.x) * threads, mine = (long long)(blockIdx.x) * threads + me;
  long long count = gridDim.x;
  if (way == pairwise || way == double_float) {
    count = (w.runs + 31) / 32;
    for (long long node = mine / 32; node < count; node += all / 32) {
      const long long run = node * 32 + lane;
      Pair sum = {R(0), R(0)};
      if (run < w.runs) sum = add_run(w, run * w.each);
      sum = join_lanes(sum, lane);
      if (lane == 0) w.partials[node] = sum;
    }
  } else {
    const Pair sum = join_lanes(add_range(w, mine, w.strips, all), lane);
    if (lane == 0) value[me / 32] = sum;
    __syncthreads();
    if (me == 0) {
      Pair total = value[0];
      for (int i = 1; i < threads / 32; ++i) total = join(total, value[i]);
      w.partials[blockIdx.x] = total;
    }
  }
  __threadfence();
  __syncthreads();
  if (me == 0) {
    last = atomicAdd(w.counter, 1u) == gridDim.x - 1;
    if (last) atomicExch(w.counter, 0u);
    __threadfence();
  }
  __syncthreads();
  if (last) finish(w, value, count, me);
}
)";

}  // namespace

template <class T>
std::string source_of(const formula::Program<T>& program, const Compiled& how) {
  std::string out(formula::elementary_source());
  const auto constant = [&out](const char* type, const char* name, int value) {
    out += std::string("constexpr ") + type + " " + name + " = " + std::to_string(value) + ";\n";
  };
  out += std::string("\nusing R = ") + (sizeof(T) == 4 ? "float" : "double") + ";\n";
  constant("int", "plain", static_cast<int>(Sum::plain));
  constant("int", "pairwise", static_cast<int>(Sum::pairwise));
  constant("int", "kahan", static_cast<int>(Sum::kahan));
  constant("int", "double_float", static_cast<int>(Sum::double_float));
  constant("int", "way", static_cast<int>(how.sum));
  constant("bool", "scale_terms", how.scale_terms ? 1 : 0);
  constant("int", "threads", how.threads);
  constant("int", "leaves", how.leaves);
  out += roots;
  out += formula::source_of(program, "integrand", how.root);
  out += sums;
  out += strips;
  out += kernel;
  return out;
}

template std::string source_of(const formula::Program<float>&, const Compiled&);
template std::string source_of(const formula::Program<double>&, const Compiled&);

}  // namespace tessera::integration
