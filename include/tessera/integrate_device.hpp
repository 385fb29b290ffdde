// SPDX-License-Identifier: Apache-2.0
// Included by programs: integrate(device, f, a, b, options), a trapezoid sum of a callable on a CPU or on the
// device for which this file is compiled: a GPU with nvcc, else the executor.
#pragma once
#include <cstddef>
#include <type_traits>
#include "tessera/integrate.hpp"
#include "tessera/kernel.hpp"
#include "ops/integrate/sum/partials.hpp"
#include "tessera/run/choose.hpp"

namespace tessera {
namespace integration {
inline namespace TESSERA_UNIT {

template <class T>
struct SumOfCallable {
  static constexpr int threads = 256;
  using Shared = ReductionScratch<T>;

  template <class F>
  SIMT void operator()(Thread thread, Shared& shared, const CallableTrapezoid<T, F>& p) const {
    leave_partials(thread, shared, p);
  }
};

// Owns a stream and memory for partial sums while one sum is computed.
class Launching {
 public:
  Launching(const Device& device, std::size_t bytes) : backend_(backend_of(device)) {
    run_.device = &device;
    run_.workspace = backend_.memory(device).allocate(bytes);
    run_.workspace_bytes = bytes;
    try {
      run_.stream = backend_.make_stream(device);
    } catch (...) {
      backend_.memory(device).release(run_.workspace);
      throw;
    }
  }
  ~Launching() {
    backend_.release_stream(*run_.device, run_.stream);
    backend_.memory(*run_.device).release(run_.workspace);
  }
  Launching(const Launching&) = delete;
  Launching& operator=(const Launching&) = delete;

  Run& run() { return run_; }

 private:
  Backend& backend_;
  Run run_;
};

template <class T, class F>
T add_on_device(const Device& device, const CallableTrapezoid<T, F>& given) {
  static_assert(std::is_trivially_copyable_v<F>, "a device is handed the bytes of the integrand");
  const std::int64_t blocks = 2 * std::int64_t{device.multiprocessors}, threads = SumOfCallable<T>::threads;
  const std::int64_t count = joined_count(given, blocks, blocks * threads);
  Launching launching(device, partial_bytes<T>(given.sum, count));
  CallableTrapezoid<T, F> p = given;
  p.workspace = launching.run().workspace;
  launch_kernel<SumOfCallable<T>>({.grid = {blocks}, .block = {threads}}, p, launching.run());
  return fetched_total(p, count, launching.run());
}

}  // namespace TESSERA_UNIT
}  // namespace integration

inline namespace TESSERA_UNIT {

// Returns a trapezoid sum on a device: find_device("cuda") if nvcc compiles this, else find_device("simt");
// find_device("cpu") with either. f is a trivially copyable __host__ __device__ callable.
template <class T = double, class F>
quadrature::Answer integrate(const Device& device, const F& f, double a, double b,
                             const integration::Options& options) {
  if (device.where == Where::cpu) {
    integration::Options here = options;
    if (here.threads == 0) here.threads = device.threads;
    return integrate<T>(f, a, b, here);
  }
  if (device.where != kernels_run_on)
    throw Error(Error::Kind::no_device, "this call was not compiled for " +
                                            std::string(name_of(device.where)) + ", but for " +
                                            std::string(name_of(kernels_run_on)));
  if (options.strips == 0) throw Error("a device computes trapezoid sums: set options.strips");
  return integration::by_trapezoid<T>(f, a, b, options,
                                      [&](const auto& p) { return integration::add_on_device(device, p); });
}

}  // namespace TESSERA_UNIT
}  // namespace tessera
