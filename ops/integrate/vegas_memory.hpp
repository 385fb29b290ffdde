// SPDX-License-Identifier: Apache-2.0
// Where the arrays of VEGAS lie on a device.
#pragma once
#include <algorithm>
#include <cstddef>
#include "ops/integrate/rules/vegas_plan.hpp"
#include "vegas_kernels.hpp"

namespace tessera::integration {
inline namespace TESSERA_UNIT {

// Memory of the run's device: a part of its workspace, or where that is too small its own.
class DeviceArray {
 public:
  explicit DeviceArray(Run& run) : run_(run) {}
  ~DeviceArray() { release(); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  void lend(void* data, std::size_t bytes) {
    data_ = data;
    bytes_ = bytes;
  }
  // What it held is lost where it grows.
  void* at_least(std::size_t bytes) {
    if (bytes <= bytes_) return data_;
    release();
    data_ = own_ = backend_of(*run_.device).memory(*run_.device).allocate(2 * bytes);
    bytes_ = 2 * bytes;
    return data_;
  }

 private:
  void release() {
    if (own_ != nullptr) backend_of(*run_.device).memory(*run_.device).release(own_);
    own_ = nullptr;
  }

  Run& run_;
  void *data_ = nullptr, *own_ = nullptr;
  std::size_t bytes_ = 0;
};

// Arrays one behind the other in one piece of memory: first asked how much, then where.
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

// Where the parts of a frame lie.
inline std::size_t left_bytes(int dimensions) {
  return sizeof(VegasLeft) + static_cast<std::size_t>(dimensions) * vegas_bins * sizeof(u64);
}

inline void lay_out_fixed(VegasFrame& f, int dimensions, Pieces& pieces) {
  char* left = nullptr;
  double* edges = nullptr;
  VegasAxis* axes = nullptr;
  pieces.take(left, left_bytes(dimensions));
  pieces.take(edges, static_cast<std::size_t>(dimensions) * (vegas_bins + 1));
  pieces.take(axes, static_cast<std::size_t>(dimensions));
  if (left == nullptr) return;
  f.left = reinterpret_cast<VegasLeft*>(left);
  f.weights = reinterpret_cast<u64*>(f.left + 1);
  f.edges = edges;
  f.axes = axes;
}

inline void lay_out_cubes(VegasFrame& f, Pieces& pieces) {
  VegasTasks& t = f.tasks;
  t.groups = (t.cubes + vegas_group - 1) / vegas_group;
  t.supers = (t.groups + vegas_super - 1) / vegas_super;
  pieces.take(f.points, t.cubes);
  pieces.take(f.first, t.cubes);
  pieces.take(f.group_first, t.groups);
  pieces.take(f.super_first, t.supers + 1);
  pieces.take(f.of_cubes, t.cubes);
  pieces.take(f.of_groups, t.groups);
  pieces.take(f.of_supers, t.supers);
  t.points = f.points;
  t.first = f.first;
  t.group_first = f.group_first;
  t.super_first = f.super_first;
}

// Each cube's last task may have few points.
inline std::int64_t most_tasks(std::int64_t points, u32 cubes) {
  return std::max<std::int64_t>(points, 2 * std::int64_t{cubes}) / vegas_task_points + cubes + 1;
}

inline void lay_out_tasks(VegasFrame& f, std::int64_t most, Pieces& pieces) {
  pieces.take(f.cube_of_task, static_cast<std::size_t>(most));
  pieces.take(f.sums, static_cast<std::size_t>(most));
}

// What iterations of so many points take at most.
struct VegasMemory {
  std::size_t fixed, cubes, tasks, wanted;

  VegasMemory(int dimensions, std::int64_t points) {
    VegasFrame f{};
    f.tasks.cubes = static_cast<u32>(std::clamp<std::int64_t>(points / 4, 1, quadrature::most_vegas_cubes));
    const auto bytes = [](const auto& lay_out) {
      Pieces pieces;
      lay_out(pieces);
      return pieces.bytes();
    };
    fixed = bytes([&](Pieces& p) { lay_out_fixed(f, dimensions, p); });
    cubes = bytes([&](Pieces& p) { lay_out_cubes(f, p); });
    tasks = bytes([&](Pieces& p) { lay_out_tasks(f, most_tasks(points, f.tasks.cubes), p); });
    wanted = bytes([&](Pieces& p) { p.take(f.wanted, f.tasks.cubes); });
  }
  std::size_t bytes() const { return fixed + cubes + tasks + 2 * wanted; }
  // Of a run with these caps; larger iterations bring their own.
  static VegasMemory of(int dimensions, const quadrature::Limits& limits) {
    const std::int64_t usual = kernels_run_on == Where::cuda ? quadrature::most_vegas_points : 1 << 18;
    return {dimensions, std::clamp<std::int64_t>(limits.evaluations, 16, usual)};
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::integration
