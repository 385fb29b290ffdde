// SPDX-License-Identifier: Apache-2.0
#include "tessera/cuda/probe.hpp"
#include <algorithm>
#include <vector>
#include "tessera/core/device/device.hpp"
#include "tessera/cuda/resources.hpp"
#include "tessera/cuda/gpus.hpp"
#include "tessera/cuda/ptx/mma.cuh"
#include "tessera/cuda/ptx/scalar.cuh"

namespace tessera::cuda {

namespace {

// Longer than any launch takes, but tolerable as a single delay.
constexpr std::uint64_t gate_limit_ns = 2'000'000'000;

struct Gate {  // in host memory, visible to both sides
  int open, expired;
};

// A reading of a multiprocessor's two clocks.
struct Note {
  unsigned taken, unused;
  std::uint64_t nanoseconds;
  std::int64_t cycles;
};

__global__ void hold(volatile Gate* gate) {
  const std::uint64_t start = ptx::globaltimer();
  while (gate->open == 0)
    if (ptx::globaltimer() - start > gate_limit_ns) {
      gate->expired = 1;
      __threadfence_system();
      return;
    }
}

// The global timer may advance in steps of a microsecond: two readings this far apart give a frequency.
constexpr std::uint64_t shortest_ns = 200'000;

// More blocks than multiprocessors, so that most of these get one; the first block on each takes the reading.
// `earlier`: the readings to keep the distance from, or null.
__global__ void note(Note* notes, const Note* earlier, unsigned multiprocessors) {
  const unsigned smid = ptx::smid();
  if (smid >= multiprocessors || atomicExch(&notes[smid].taken, 1u) != 0) return;
  if (earlier != nullptr && earlier[smid].taken != 0)
    while (ptx::globaltimer() - earlier[smid].nanoseconds < shortest_ns) continue;
  notes[smid].nanoseconds = ptx::globaltimer();
  notes[smid].cycles = clock64();
}

constexpr int blocks_per_sm = 4;

void take_notes(cudaStream_t stream, Note* notes, const Note* earlier, int multiprocessors) {
  note<<<static_cast<unsigned>(blocks_per_sm * multiprocessors), 1, 0, stream>>>(
      notes, earlier, static_cast<unsigned>(multiprocessors));
  check(cudaGetLastError());
}

// The destructor opens the gate too, so that an exception leaves no kernel waiting.
class Hold {
 public:
  Hold(cudaStream_t stream, volatile Gate* gate, bool wanted) : gate_(gate) {
    gate_->open = 0;
    gate_->expired = 0;
    if (!wanted) return;
    hold<<<1, 1, 0, stream>>>(gate_);
    check(cudaGetLastError());
  }
  ~Hold() { release(); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  void release() { gate_->open = 1; }

 private:
  volatile Gate* gate_;
};

}  // namespace

Probe::Probe(const Device& device)
    : multiprocessors_(part_of(device) ? part_of(device)->all : device.multiprocessors),
      notes_(2 * static_cast<std::size_t>(multiprocessors_) * sizeof(Note)),
      gate_(sizeof(Gate)),
      nvml_(pci_bus_of(device.index)) {}

Reading Probe::read(cudaStream_t stream, const std::function<void()>& work, bool hide_launches) {
  auto* const notes = static_cast<Note*>(notes_.get());
  auto* const gate = static_cast<volatile Gate*>(gate_.get());
  Reading out;
  check(cudaMemsetAsync(notes, 0, notes_.bytes(), stream));
  {
    Hold held(stream, gate, hide_launches);
    take_notes(stream, notes, nullptr, multiprocessors_);
    begin_.record(stream);
    work();
    end_.record(stream);
    take_notes(stream, notes + multiprocessors_, notes, multiprocessors_);
    held.release();
    check(cudaStreamSynchronize(stream));
    out.power_w = nvml_.power_w();  // the averaging window may begin before the work
  }
  out.gave_up = gate->expired != 0;
  out.seconds = end_.seconds_since(begin_);
  out.clock_mhz = clock_between_notes(stream);
  return out;
}

// Returns the mean over the multiprocessors with both readings.
std::optional<double> Probe::clock_between_notes(cudaStream_t stream) {
  const auto count = static_cast<std::size_t>(multiprocessors_);
  std::vector<Note> notes(2 * count);
  check(cudaMemcpyAsync(notes.data(), notes_.get(), notes_.bytes(), cudaMemcpyDeviceToHost, stream));
  check(cudaStreamSynchronize(stream));
  double sum = 0;
  int seen = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Note &before = notes[i], &behind = notes[count + i];
    if (before.taken == 0 || behind.taken == 0) continue;
    const std::uint64_t nanoseconds = behind.nanoseconds - before.nanoseconds;
    if (nanoseconds < shortest_ns) continue;
    sum += static_cast<double>(behind.cycles - before.cycles) / static_cast<double>(nanoseconds) * 1e3;
    ++seen;
  }
  return seen == 0 ? std::nullopt : std::optional(sum / seen);
}

namespace {

constexpr int threads = 256, rounds = 8;  // the best of these rounds counts

__global__ void __launch_bounds__(threads) copy(const float4* from, float4* to, std::size_t count) {
  const std::size_t step = std::size_t{gridDim.x} * threads;
  for (std::size_t i = std::size_t{blockIdx.x} * threads + threadIdx.x; i < count; i += step) to[i] = from[i];
}

__device__ __forceinline__ float multiply_add(float x, float a, float b) { return fmaf(x, a, b); }
__device__ __forceinline__ double multiply_add(double x, double a, double b) { return fma(x, a, b); }
__device__ __forceinline__ int multiply_add(int x, int a, int b) {
  return static_cast<int>(static_cast<unsigned>(x) * static_cast<unsigned>(a) + static_cast<unsigned>(b));
}

constexpr int chains = 8, steps = 4096;

// Runs chains of multiply-adds. No thread ever stores, but the compiler cannot know.
template <class T>
__global__ void __launch_bounds__(threads) chain(T factor, T term, T never, T* sink) {
  T x[chains];
#pragma unroll
  for (int c = 0; c < chains; ++c) x[c] = static_cast<T>(threadIdx.x + c);
#pragma unroll 8
  for (int s = 0; s < steps; ++s)
#pragma unroll
    for (int c = 0; c < chains; ++c) x[c] = multiply_add(x[c], factor, term);
  T sum = x[0];
#pragma unroll
  for (int c = 1; c < chains; ++c) sum += x[c];
  if (sum == never) *sink = sum;
}

constexpr int tiles = 4, products = 512;
constexpr double flops_of_a_product = 2.0 * 16 * 8 * 16;

__global__ void __launch_bounds__(threads) chain_products(double factor, double never, double* sink) {
  double d[tiles][4] = {}, a[8], b[4];
#pragma unroll
  for (int i = 0; i < 8; ++i) a[i] = factor + i;
#pragma unroll
  for (int i = 0; i < 4; ++i) b[i] = factor - i;
    // Unrolling would spill registers.
#pragma unroll 1
  for (int s = 0; s < products; ++s)
#pragma unroll
    for (int t = 0; t < tiles; ++t) ptx::mma_f64(d[t], a, b);
  double sum = 0;
#pragma unroll
  for (int t = 0; t < tiles; ++t)
#pragma unroll
    for (int i = 0; i < 4; ++i) sum += d[t][i];
  if (sum == never) *sink = sum;
}

template <class F>
double best_seconds(const Stream& stream, const F& launch) {
  Event begin, end;
  double best = 1e300;
  for (int i = 0; i < rounds; ++i) {
    begin.record(stream.get());
    launch();
    check(cudaGetLastError());
    end.record(stream.get());
    end.synchronize();
    best = std::min(best, end.seconds_since(begin));
  }
  return best;
}

double copy_bytes_per_second(const Stream& stream, const Device& device) {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total));
  // Much larger than the cache, but leaves memory for others.
  const std::size_t wanted =
      std::max<std::size_t>(std::size_t{1} << 30, 8 * static_cast<std::size_t>(device.cache_bytes));
  const std::size_t bytes = std::min(wanted, free / 4) / sizeof(float4) * sizeof(float4);
  const DeviceBuffer from(bytes), to(bytes);
  check(cudaMemsetAsync(from.get(), 1, bytes, stream.get()));
  const auto blocks = static_cast<unsigned>(16 * device.multiprocessors);
  const double by_kernel = best_seconds(stream, [&] {
    copy<<<blocks, threads, 0, stream.get()>>>(static_cast<const float4*>(from.get()),
                                               static_cast<float4*>(to.get()), bytes / sizeof(float4));
  });
  const double by_engine = best_seconds(stream, [&] {
    check(cudaMemcpyAsync(to.get(), from.get(), bytes, cudaMemcpyDeviceToDevice, stream.get()));
  });
  return 2 * static_cast<double>(bytes) / std::min(by_kernel, by_engine);
}

template <class T>
double flops_per_second(const Stream& stream, const Device& device) {
  const DeviceBuffer sink(sizeof(T));
  const auto blocks = static_cast<unsigned>(8 * device.multiprocessors);
  const double seconds = best_seconds(stream, [&] {
    chain<T><<<blocks, threads, 0, stream.get()>>>(T(3), T(1), T(-1), static_cast<T*>(sink.get()));
  });
  return 2.0 * blocks * threads * chains * steps / seconds;
}

double tensor_flops_per_second(const Stream& stream, const Device& device) {
  const DeviceBuffer sink(sizeof(double));
  const auto blocks = static_cast<unsigned>(8 * device.multiprocessors);
  const double seconds = best_seconds(stream, [&] {
    chain_products<<<blocks, threads, 0, stream.get()>>>(0.5, -1.25, static_cast<double*>(sink.get()));
  });
  return flops_of_a_product * blocks * (threads / 32) * tiles * products / seconds;
}

}  // namespace

Ceilings measure_ceilings(const Device& device) {
  const OnDevice on_device(device.index);
  const Stream stream = stream_on(device);
  Ceilings out;
  out.bytes_per_second = copy_bytes_per_second(stream, device);
  out.flops_per_second[Element::f32] = flops_per_second<float>(stream, device);
  out.flops_per_second[Element::i32] = flops_per_second<int>(stream, device);
  double f64 = flops_per_second<double>(stream, device);
  // Libraries multiply doubles on the tensor cores, whose peak is higher.
  if (device.compute_capability >= 90) f64 = std::max(f64, tensor_flops_per_second(stream, device));
  out.flops_per_second[Element::f64] = f64;
  return out;
}

}  // namespace tessera::cuda
