// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul/problem/small_call.hpp"
#include <chrono>
#include <cmath>
#include <limits>
#include "ops/matmul/kernels/cpu/small.hpp"
#include "tessera/run/choose.hpp"

namespace tessera::matmul {
namespace {

using detail::AnyMatrix;

bool is_plain_call(const Options& o) {
  return !o.check && o.scale_a.data == nullptr && o.scale_b.data == nullptr && o.bias.data == nullptr &&
         o.activation == Activation::none && o.compute == Compute::strict &&
         std::holds_alternative<std::monostate>(o.accuracy) && o.accumulate == Accumulate::promoted &&
         (o.beta == 0 || o.c0.data == nullptr) && !o.request.variant && !o.request.tuning;
}

// From an array's first byte to its last.
struct MemoryReach {
  std::uintptr_t first, end;
  bool is_apart(const MemoryReach& other) const { return end <= other.first || other.end <= first; }
};

// The elements of a view as Problem sees them. False: it is no such view, or not for certain.
template <class T>
bool place_view(const AnyMatrix& x, bool transposed, Strided<T>& at, MemoryReach& reach) {
  constexpr std::int64_t most = std::int64_t{1} << 26, most_step = std::int64_t{1} << 32;
  const bool by_rows = x.order == Order::rows;
  const std::int64_t lines = by_rows ? x.rows : x.cols, line = by_rows ? x.cols : x.rows,
                     step = x.leading_dimension == 0 ? line : x.leading_dimension;
  const auto address = reinterpret_cast<std::uintptr_t>(x.data);
  if (x.order > Order::columns || address == 0 || address % sizeof(T) != 0) return false;
  if (lines <= 0 || line <= 0 || lines > most || step < line || step > most_step) return false;
  at.data = static_cast<T*>(const_cast<void*>(x.data));
  at.row = by_rows != transposed ? step : 1;
  at.col = by_rows != transposed ? 1 : step;
  reach = {address, address + static_cast<std::uintptr_t>((lines - 1) * step + line) * sizeof(T)};
  return true;
}

template <class T>
bool holds(double value) {
  return std::fabs(value) <= static_cast<double>(std::numeric_limits<T>::max()) &&
         (value == 0 || static_cast<T>(value) != T{0});
}

// The processors, and the variant that serves plain products on them, as choose() finds it.
struct Processors {
  Device cpu = find_device("cpu");
  const Variant* variant = nullptr;  // null: it is not the one whose loops are called here
  bool has_gpu = false;              // that may be faster
  std::size_t seen = 0;              // variants that there were
};

const Variant* highest_on_cpu() {
  const Variant* out = nullptr;
  for (const Variant* v : ladder_of("matmul"))
    if (v->where == Where::cpu && !v->baseline && (out == nullptr || v->place >= out->place)) out = v;
  return out;
}

const Processors* find_processors() {
  static const Processors here = [] {
    Processors out;
    out.seen = all_variants().size();
    const Variant* const highest = highest_on_cpu();
    if (highest == nullptr || highest->name != "simd") return out;
    out.variant = highest;
    Backend* const gpus = find_backend(Where::cuda);
    out.has_gpu = gpus != nullptr && !gpus->devices().empty();
    return out;
  }();
  // Variants that came later may serve such products, too: choose() knows.
  const bool same = here.variant != nullptr && all_variants().size() == here.seen;
  return same ? &here : nullptr;
}

// What a GPU's start takes. A product that takes less here stays here, whatever the GPU.
bool ends_before_a_gpu_starts(double work, double bytes, int threads) {
  constexpr double start_seconds = 50e-6, cpu_flops = 16 * 2 * 2.5e9, cpu_bytes = 20e9;  // as choose_device's
  return 2 * work / (cpu_flops * threads) < start_seconds && bytes / cpu_bytes < start_seconds;
}

// The call as a product. False: it is none, or not for certain. (Fields are filled one by one: to copy a
// struct that has just been written takes longer than a product of a few elements.)
template <class T>
bool fill_product(const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c, const Options& o,
                  Product<T>& p) {
  p.m = c.rows;
  p.n = c.cols;
  p.k = o.transpose_a ? a.rows : a.cols;
  if ((o.transpose_a ? a.cols : a.rows) != p.m || (o.transpose_b ? b.cols : b.rows) != p.k ||
      (o.transpose_b ? b.rows : b.cols) != p.n)
    return false;
  MemoryReach of_a, of_b, of_c;
  if (!place_view(a, o.transpose_a, p.a, of_a) || !place_view(b, o.transpose_b, p.b, of_b) ||
      !place_view(c, false, p.c, of_c))
    return false;
  if (!of_c.is_apart(of_a) || !of_c.is_apart(of_b)) return false;  // perhaps between each other's lines
  if (!holds<T>(o.alpha) || !holds<T>(o.beta)) return false;
  if (o.alpha == 0) p.k = 0;
  p.alpha = static_cast<T>(o.alpha);
  p.beta = static_cast<T>(o.beta);
  p.c0.data = nullptr;
  if (o.beta != 0) {
    p.c0.data = p.c.data;
    p.c0.row = p.c.row;
    p.c0.col = p.c.col;
  }
  return true;
}

template <class T>
bool multiply_here(const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c, const Options& o,
                   Outcome& outcome) {
  Product<T> p;
  if (!fill_product(a, b, c, o, p)) return false;
  const Processors* const here = find_processors();
  if (here == nullptr) return false;
  const std::string& device = o.request.device;
  const bool is_single = device == "cpu:threads=1";
  if (!is_single && device != "auto" && device != "cpu") return false;
  const int threads = is_single ? 1 : here->cpu.threads;
  const double m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k),
               work = m * n * k, elements = m * k + k * n + (p.beta == 0 ? 1 : 2) * m * n;
  if (here->has_gpu && device == "auto" && !ends_before_a_gpu_starts(work, elements * sizeof(T), threads))
    return false;
  // Reading the clock takes as long as a product of a few elements.
  constexpr double worth_timing = 96.0 * 96 * 96;
  if (work < worth_timing) {
    if (!multiply_small(p, threads)) return false;
  } else {
    const auto start = std::chrono::steady_clock::now();
    if (!multiply_small(p, threads)) return false;
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    outcome.kernel_seconds = outcome.round_trip_seconds = spent.count();
  }
  outcome.plan.variant = here->variant;
  outcome.plan.choice = &here->variant->choices.front();
  Device& device_used = outcome.plan.device;  // without its maker's name, which would take memory
  device_used.threads = threads;
  device_used.processors = here->cpu.processors;
  device_used.memory_bytes = here->cpu.memory_bytes;
  device_used.cache_bytes = here->cpu.cache_bytes;
  return true;
}

}  // namespace

bool multiply_at_once(const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c, const Options& options,
                      Outcome& outcome) {
  if (a.element != b.element || a.element != c.element || !is_plain_call(options)) return false;
  if (a.element == Element::f32) return multiply_here<float>(a, b, c, options, outcome);
  if (a.element == Element::f64) return multiply_here<double>(a, b, c, options, outcome);
  return false;
}

std::optional<SmallCall> SmallCall::of(const AnyMatrix& a, const AnyMatrix& b, const AnyMatrix& c,
                                       const Options& options, const Plan& plan) {
  if (plan.variant == nullptr || plan.variant->where != Where::cpu || plan.variant->name != "simd") return {};
  Options plain = options;
  plain.request.variant.reset();
  if (a.element != b.element || a.element != c.element || !is_plain_call(plain)) return {};
  SmallCall out;
  out.element_ = a.element;
  out.threads_ = plan.device.threads;
  if (a.element == Element::f32 && fill_product(a, b, c, options, out.f32_)) return out;
  if (a.element == Element::f64 && fill_product(a, b, c, options, out.f64_)) return out;
  return {};
}

namespace {

template <class T>
bool multiply_again(Product<T> p, const void* a, const void* b, void* c, int threads) {
  p.a.data = static_cast<const T*>(a);
  p.b.data = static_cast<const T*>(b);
  p.c.data = static_cast<T*>(c);
  if (p.c0.data != nullptr) p.c0.data = p.c.data;
  return multiply_small(p, threads);
}

}  // namespace

bool SmallCall::multiply(const void* a, const void* b, void* c) const {
  return element_ == Element::f32 ? multiply_again(f32_, a, b, c, threads_)
                                  : multiply_again(f64_, a, b, c, threads_);
}

}  // namespace tessera::matmul
