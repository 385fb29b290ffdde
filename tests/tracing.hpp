// SPDX-License-Identifier: Apache-2.0
// Launches a test's own kernels traced.
#pragma once
#include <memory>
#include <string>
#include "tessera/kernel.hpp"
#include "tessera/simt/tracer/symbols.hpp"
#include "tessera/simt/tracer/tracer.hpp"

namespace tessera::tracing {

// An array between red zones, aligned as a GPU's.
template <class T>
class Zoned {
 public:
  Zoned(std::string name, std::size_t count, bool input, T value = T{})
      : memory_(std::make_unique<Block[]>((count * sizeof(T) + 2 * zone) / sizeof(Block) + 2)) {
    array.name = std::move(name);
    array.data = memory_.get()->bytes + zone;
    array.bytes = count * sizeof(T);
    array.red_zone_bytes = zone;
    array.extents = {static_cast<std::int64_t>(count)};
    array.element_bytes = sizeof(T);
    array.input = input;
    std::fill_n(data(), count, value);
  }
  T* data() { return reinterpret_cast<T*>(array.data); }

  simt::TracedArray array;

 private:
  static constexpr std::size_t zone = 4096;
  struct alignas(256) Block {
    char bytes[256];
  };
  std::unique_ptr<Block[]> memory_;
};

template <class Kernel, class Problem>
void launch(simt::Tracer& tracer, const Launch& grid, const Problem& problem, int threads = 2) {
  Device device;
  device.threads = threads;
  Run run;
  run.device = &device;
  run.tracer = &tracer;
  launch_kernel<Kernel>(grid, problem, run);
}

}  // namespace tessera::tracing
