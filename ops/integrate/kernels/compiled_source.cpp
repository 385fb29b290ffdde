// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/kernels/compiled_source.hpp"
#include <fmt/format.h>
#include "tessera/formula/emit.hpp"

namespace tessera::integration {
namespace {

// One product with the reciprocal root, for the few roots that need care.
constexpr std::string_view near_roots = R"(
static __device__ __forceinline__ float near_root(float a) {
  return a == 0.0f || a == formula::infinity<float>() ? a : a * rsqrtf(a);
}
static __device__ __forceinline__ double near_root(double a) {
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
  long long strips, piece, each;
  R* result;
  unsigned* counter;
  Pair* partials;
};

static __device__ __forceinline__ R term(const Work& w, R x) {
  return scale_terms ? integrand(x) * w.width : integrand(x);
}

// Abscissae of `count` runs of strips that are added side by side.
template <int count>
struct Abscissae {
  R x[count], at[count];

  __device__ __forceinline__ Abscissae(const Work& w, long long first, long long apart) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      at[i] = R(first + i * apart);
      x[i] = w.a + at[i] * w.step;
    }
  }
  // Indices are integers that R holds, so counting up is as good as converting each.
  __device__ __forceinline__ void advance(const Work& w, R by, R width) {
#pragma unroll
    for (int i = 0; i < count; ++i)
      if (counted) {
        x[i] += width;
      } else {
        at[i] += by;
        x[i] = w.a + at[i] * w.step;
      }
  }
};

// Returns a sample without waiting for special cases: quick samples accumulate their keys in `max_key`. If
// any root was outside the fast range, all samples of that sum are recomputed, outside this loop.
template <bool quick>
static __device__ __forceinline__ R height(const Work& w, R x, unsigned& max_key) {
  const R y = quick ? quick_integrand(x, max_key) : integrand(x);
  return scale_terms ? y * w.width : y;
}

// Sums `count` entire pieces and joins their sums pairwise.
template <int count, bool quick>
static __device__ __forceinline__ Pair sum_of_pieces(const Work& w, long long first, unsigned& max_key) {
  Abscissae<count> at(w, first, w.piece);
  Pair sum[count];
#pragma unroll
  for (int i = 0; i < count; ++i) sum[i] = {R(0), R(0)};
  const int strips = way == pairwise ? 32 : int(w.piece);
#pragma unroll 2
  for (int strip = 0; strip < strips; ++strip) {
#pragma unroll
    for (int i = 0; i < count; ++i) sum[i] = plus(sum[i], height<quick>(w, at.x[i], max_key));
    at.advance(w, R(1), w.step);
  }
#pragma unroll
  for (int apart = 1; apart < count; apart *= 2)
#pragma unroll
    for (int i = 0; i < count; i += 2 * apart) sum[i] = join(sum[i], sum[i + apart]);
  return sum[0];
}

template <int count>
static __device__ __noinline__ Pair sum_of_pieces_again(const Work& w, long long first) {
  unsigned max_key = 0;
  return sum_of_pieces<count, false>(w, first, max_key);
}

template <int count>
static __device__ __forceinline__ Pair add_pieces(const Work& w, long long first) {
  unsigned max_key = 0;
  const Pair sum = sum_of_pieces<count, true>(w, first, max_key);
  return all_in_fast_range<R>(max_key) ? sum : sum_of_pieces_again<count>(w, first);
}

static __device__ Pair add_last_pieces(const Work& w, long long first, long long end) {
  Tree tree;
  while (first < end) {
    const long long behind = first + w.piece < end ? first + w.piece : end;
    Pair sum = {R(0), R(0)};
    for (; first < behind; ++first) sum = plus(sum, term(w, w.a + R(first) * w.step));
    tree.add(sum);
  }
  return tree.sum();
}

// Sums all pieces of a thread, which are an entire subtree.
static __device__ __forceinline__ Pair add_subtree(const Work& w, long long first) {
  if (first >= w.strips) return {R(0), R(0)};
  const long long end = first + w.each * w.piece;
  if (end > w.strips) return add_last_pieces(w, first, w.strips);
  if (w.each == together) return add_pieces<together>(w, first);
  Tree tree;
  for (; first < end; first += together * w.piece) tree.add(add_pieces<together>(w, first));
  return tree.sum();
}

// Adds strips that are a stride apart, in this order.
template <bool quick>
static __device__ __forceinline__ Pair sum_of_range(const Work& w, long long first, long long stride, unsigned& max_key) {
  constexpr int group = sizeof(R) == 4 ? 8 : 4;
  Pair sum = {R(0), R(0)};
  Abscissae<group> at(w, first, stride);
  const R by = R(group * stride), width = by * w.step;
  long long i = first;
  for (; i + (group - 1) * stride < w.strips; i += group * stride) {
    R y[group];
#pragma unroll
    for (int k = 0; k < group; ++k) y[k] = height<quick>(w, at.x[k], max_key);
#pragma unroll
    for (int k = 0; k < group; ++k) sum = plus(sum, y[k]);
    at.advance(w, by, width);
  }
  for (; i < w.strips; i += stride) sum = plus(sum, height<quick>(w, w.a + R(i) * w.step, max_key));
  return sum;
}

static __device__ __noinline__ Pair sum_of_range_again(const Work& w, long long first, long long stride) {
  unsigned max_key = 0;
  return sum_of_range<false>(w, first, stride, max_key);
}

static __device__ __forceinline__ Pair add_range(const Work& w, long long first, long long stride) {
  unsigned max_key = 0;
  const Pair sum = sum_of_range<true>(w, first, stride, max_key);
  return all_in_fast_range<R>(max_key) ? sum : sum_of_range_again(w, first, stride);
}

static __device__ __forceinline__ Pair join_lanes(Pair mine, int lane, int lanes) {
#pragma unroll
  for (int apart = 1; apart < lanes; apart *= 2) {
    const Pair other = {__shfl_xor_sync(0xffffffffu, mine.high, apart), __shfl_xor_sync(0xffffffffu, mine.low, apart)};
    mine = (lane & apart) == 0 ? join(mine, other) : join(other, mine);
  }
  return mine;
}
)";

constexpr std::string_view kernel = R"(
constexpr int warps = threads / 32;

// Joins the sums of the block's threads pairwise, or of its warps in order. The first thread has the result.
static __device__ __forceinline__ Pair join_block(Pair mine, Pair* value, int me) {
  const int lane = me % 32;
  mine = join_lanes(mine, lane, 32);
  __syncthreads();  // the previous contents have been read
  if (lane == 0) value[me / 32] = mine;
  __syncthreads();
  if (way == pairwise || way == double_float) {
    if (me < 32) mine = join_lanes(me < warps ? value[me] : Pair{R(0), R(0)}, lane, warps);
  } else if (me == 0) {
    for (int i = 1; i < warps; ++i) mine = join(mine, value[i]);
  }
  return mine;
}

static __device__ __forceinline__ Pair partial(const Work& w, long long i) {
  return {__ldcg(&w.partials[i].high), __ldcg(&w.partials[i].low)};
}

static __device__ __forceinline__ void finish(const Work& w, Pair* value, const R (&ends)[2], long long count, int me) {
  Pair sum = {R(0), R(0)};
  if (count <= threads) {
    if (me < count) sum = partial(w, me);
  } else {
    long long each = 2;
    while (each * threads < count) each *= 2;
    Tree tree;
    for (long long i = me * each; i < (me + 1) * each && i < count; ++i) tree.add(partial(w, i));
    sum = tree.sum();
  }
  sum = join_lanes(sum, me % 32, 32);
  __syncthreads();
  if (me % 32 == 0) value[me / 32] = sum;
  __syncthreads();
  if (me >= 32) return;
  sum = join_lanes(me < warps ? value[me] : Pair{R(0), R(0)}, me, warps);
  if (me != 0) return;
  const Pair total = plus(plus(sum, ends[0]), ends[1]);
  *w.result = (scale_terms ? total.high : total.high * w.width) * w.scale;
}

extern "C" __global__ void __launch_bounds__(threads, 1024 / threads) add_strips(const __grid_constant__ Work w) {
  __shared__ Pair value[32];
  __shared__ int last;
  R ends[2];
  const int me = int(threadIdx.x);
  long long count = gridDim.x;
  if (way == pairwise || way == double_float) {
    const long long of_block = threads * w.each * w.piece;
    count = (w.strips + of_block - 1) / of_block;
    for (long long i = blockIdx.x; i < count; i += gridDim.x) {
      const Pair sum = join_block(add_subtree(w, (i * threads + me) * w.each * w.piece), value, me);
      if (me == 0) w.partials[i] = sum;
    }
  } else {
    const long long all = (long long)(gridDim.x) * threads, mine = (long long)(blockIdx.x) * threads + me;
    const Pair sum = join_block(add_range(w, mine, all), value, me);
    if (me == 0) w.partials[blockIdx.x] = sum;
  }
  if (me == 0) {
    const unsigned before = atomic_inc_acq_rel(w.counter, gridDim.x - 1);
    // Half the first height and half the last one, while the counter answers.
    ends[0] = R(0.5) * term(w, w.b);
    ends[1] = R(-0.5) * term(w, w.a);
    last = before == gridDim.x - 1;
  }
  __syncthreads();
  if (last) finish(w, value, ends, count, me);
}
)";

template <class T>
std::string constant(const char* name, T value) {
  return fmt::format("constexpr {} {} = {};\n", std::is_same_v<T, bool> ? "bool" : "int", name,
                     static_cast<int>(value));
}

}  // namespace

template <class T>
std::string source_of(const formula::Program<T>& program, const Compiled& how) {
  std::string out(formula::elementary_source());
  out += fmt::format("\nusing R = {};\n", sizeof(T) == 4 ? "float" : "double");
  out += constant("plain", Sum::plain) + constant("pairwise", Sum::pairwise) + constant("kahan", Sum::kahan) +
         constant("double_float", Sum::double_float) + constant("way", how.sum) +
         constant("scale_terms", how.scale_terms) + constant("threads", how.threads) +
         constant("together", how.together) + constant("counted", how.counted);
  out += near_roots;
  out += formula::kernel_source();
  out += formula::source_of(program, "integrand", how.fast_roots ? "near_root" : "formula::root");
  out += formula::source_of(program, "quick_integrand", how.fast_roots ? "sqrt_approx_fast" : "sqrt_rn_fast",
                            true);
  out += sums;
  out += strips;
  out += kernel;
  return out;
}

template std::string source_of(const formula::Program<float>&, const Compiled&);
template std::string source_of(const formula::Program<double>&, const Compiled&);

namespace {

constexpr std::string_view region_names = R"(
#define REGION_FN __device__ __forceinline__
#define REGION_UNROLL _Pragma("unroll")
#define REGION_NO_UNROLL _Pragma("unroll 1")
)";

constexpr std::string_view region_estimate =
#include "ops/integrate/quadrature/several_variables/region_estimate-inl.h.text"
    ;

constexpr std::string_view region_rule =
#include "ops/integrate/kernels/regions-inl.h.text"
    ;

constexpr std::string_view region_kernel = R"(
struct Integrand {
  static constexpr int most = axes;
  const RegionFrame& frame;

  __device__ static constexpr int d() { return most; }
  __device__ MappedCoordinate spot(int axis, double u) const {
    if (plain) return {u, 1};
    return region_spot(frame.map[axis], u);
  }
  __device__ double per_length(int axis) const { return frame.map[axis].per_length; }
  __device__ __forceinline__ double operator()(const MappedCoordinate (&at)[most]) const {
    if (plain) return of_spots(at);
    double slope = 1;
#pragma unroll
    for (int k = 0; k < most; ++k) slope *= at[k].slope;
    return of_spots(at) * slope;
  }
};

struct Lanes {
  __device__ double other(double mine) const { return __shfl_xor_sync(0xffffffffu, mine, 1); }
  __device__ void add(long long* to, long long by) const {
    atomicAdd(reinterpret_cast<unsigned long long*>(to), (unsigned long long)(by));
  }
};

extern "C" __global__ void __launch_bounds__(threads, residents) estimate_regions(const __grid_constant__ RegionFrame frame) {
  split_regions(Integrand{frame}, frame, (long long)(blockIdx.x) * threads + threadIdx.x,
                (long long)(gridDim.x) * threads, Lanes{});
}
)";

// Replaces the formula's own functions, which are bitwise identical on every device, by CUDA's, which take
// half the operations.
std::string with_native_functions(std::string text) {
  for (const char* name :
       {"exp",  "exp2", "expm1", "log",  "log2", "log10", "log1p", "sin",   "cos",  "tan", "asin",
        "acos", "atan", "sinh",  "cosh", "tanh", "asinh", "acosh", "atanh", "cbrt", "pow"}) {
    const std::string own = std::string("formula::") + name + "(", other = std::string("::") + name + "(";
    for (std::size_t at = text.find(own); at != std::string::npos; at = text.find(own, at + 1))
      text.replace(at, own.size(), other);
  }
  return text;
}

// Emits a function that calls the integrand with its arguments in an array, each written as `one`.
std::string caller_of(int axes, const char* signature, const char* one) {
  std::string arguments;
  for (int k = 0; k < axes; ++k) arguments += (k == 0 ? "" : ", ") + fmt::format(fmt::runtime(one), k);
  return fmt::format("static __device__ __forceinline__ double {} {{\n  return integrand({});\n}}\n",
                     signature, arguments);
}

}  // namespace

std::string region_source_of(const formula::Program<double>& program, const CompiledRegions& how) {
  const int axes = program.input_count;
  std::string out(formula::elementary_source());
  out += region_names;
  out += constant("axes", axes) + constant("threads", compiled_region_threads) +
         constant("residents", how.residents) + constant("region_unrolled", how.unroll) +
         fmt::format("constexpr bool plain = {};\n", how.plain);
  out += region_estimate;
  out += region_rule;
  const std::string integrand = formula::source_of(program, "integrand");
  out += how.native ? with_native_functions(integrand) : integrand;
  out += caller_of(axes, "of_spots(const MappedCoordinate (&at)[axes])", "at[{}].x");
  out += region_kernel;
  return out;
}

namespace {

constexpr std::string_view vegas_names = R"(
#define VEGAS_FN static __device__ __forceinline__
#define VEGAS_UNROLL _Pragma("unroll")
#define VEGAS_FROM_BITS formula::from_bits
)";

constexpr std::string_view vegas_types =
#include "ops/integrate/quadrature/scattered/vegas_types-inl.h.text"
    ;

constexpr std::string_view vegas_points =
#include "ops/integrate/quadrature/scattered/vegas_point-inl.h.text"
    ;

// Each block first accumulates into bins of its own in shared memory: atomics on the grid's bins would
// contend.
constexpr std::string_view vegas_kernel = R"(
extern "C" __global__ void __launch_bounds__(threads) vegas_sample(
    const __grid_constant__ VegasPlan plan, const __grid_constant__ VegasTasks tasks, const double* __restrict__ edges,
    const VegasAxis* __restrict__ limits, VegasSums* __restrict__ sums, u32* __restrict__ cube_of_task,
    u64* __restrict__ weights, u64* __restrict__ holes) {
  __shared__ u64 own[axes * vegas_bins];
  const bool learns = plan.weight != 0.0;
  if (learns) {
    for (int i = threadIdx.x; i < axes * vegas_bins; i += threads) own[i] = 0;
    __syncthreads();
  }
  const u32 all = tasks.super_first[tasks.supers];
  for (u32 me = blockIdx.x * threads + threadIdx.x; me < all; me += gridDim.x * threads) {
    const VegasTask task = vegas_find(tasks, me);
    cube_of_task[me] = task.cube;
    sums[me] = vegas_task<axes>(
        plan, edges, limits, task.cube, tasks.points[task.cube], task.place * vegas_task_points, axes,
        [](const double* x) { return of_point(x); }, [&](u32 bin, u64 share) { atomicAdd(&own[bin], share); },
        [&] { atomicAdd(holes, 1ull); });
  }
  if (!learns) return;
  __syncthreads();
  for (int i = threadIdx.x; i < axes * vegas_bins; i += threads)
    if (own[i] != 0) atomicAdd(&weights[i], own[i]);
}
)";

}  // namespace

std::string vegas_source_of(const formula::Program<double>& program, int threads) {
  std::string out(formula::elementary_source());
  out += vegas_names;
  out += fmt::format("constexpr int axes = {}, threads = {};\n", program.input_count, threads);
  out += vegas_types;
  out += vegas_points;
  out += formula::source_of(program, "integrand");
  out += caller_of(program.input_count, "of_point(const double* x)", "x[{}]");
  out += vegas_kernel;
  return out;
}

}  // namespace tessera::integration
