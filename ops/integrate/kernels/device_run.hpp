// SPDX-License-Identifier: Apache-2.0
// Code that runs of regions and of VEGAS share on a device: memory, the layout of arrays in it, launches, the
// result.
#pragma once
#include <algorithm>
#include <cstddef>
#include "ops/integrate/integrate_rules.hpp"
#include "tessera/core/array/array.hpp"
#include "tessera/kernel.hpp"

namespace tessera::integration {
inline namespace TESSERA_UNIT {

inline Array device_bytes(const Run& run, std::size_t bytes) {
  return {Element::u8, {static_cast<std::int64_t>(bytes)}, backend_of(*run.device).memory(*run.device)};
}

// Places arrays one after another in one piece of memory; without a base it only counts bytes.
class Pieces {
 public:
  explicit Pieces(void* base = nullptr) : base_(static_cast<char*>(base)) {}
  template <class T>
  void take(T*& to, std::size_t count) {
    if (base_ != nullptr) to = reinterpret_cast<T*>(base_ + bytes_);
    bytes_ += (count * sizeof(T) + 255) / 256 * 256;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  char* base_;
  std::size_t bytes_ = 0;
};

// lay_out(Pieces&) takes all arrays.
template <class LayOut>
std::size_t bytes_of(const LayOut& lay_out) {
  Pieces pieces;
  lay_out(pieces);
  return pieces.bytes();
}

// The launch with a thread per task, or fewer threads that stride over the tasks.
inline Launch launch_for(std::int64_t tasks, int threads, const Device& device) {
  const std::int64_t most = 16 * std::int64_t{device.multiprocessors};
  return {.grid = {std::clamp<std::int64_t>((tasks + threads - 1) / threads, 1, most)}, .block = {threads}};
}

// Stores the scaled answer in the device's memory and reports it.
inline void give_on_device(quadrature::Answer answer, const RuleOptions& options, const Arguments& arguments,
                           Run& run) {
  add_fallback_note(answer, run);
  const double given = rounded_value<double>(answer, options.scale);
  backend_of(*run.device).copy(run, arguments.array("integral").data, &given, sizeof given);
  run.values = values_of(answer, options.scale);
}

}  // namespace TESSERA_UNIT
}  // namespace tessera::integration
