// SPDX-License-Identifier: Apache-2.0
// A GPU made up of the host's memory, whose clock, power, cache and times are what a test says, and an
// operation for it: C = 2·A.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>
#include "tessera/core/device/device.hpp"
#include "tessera/core/operation/operation.hpp"
#include "tessera/core/operation/variant.hpp"

namespace tessera::made_up {

// C = 2·A, of n elements.
inline Operation toy() {
  Operation out;
  out.name = "toy";
  out.signature.parameters = {parameter::input("A", {"n"}, "what is doubled"),
                              parameter::output("C", {"n"}, "the double")};
  out.elements = {Element::f32};
  out.output = "C";
  out.flops = [](const Arguments& a) { return static_cast<double>(a.dim("n")); };
  out.reference = [](const Arguments& a, std::span<const std::int64_t> rows, Data, Expected& expected) {
    const auto* from = static_cast<const float*>(a.array("A").data);
    for (const std::int64_t row : rows) {
      expected.value.push_back(2 * static_cast<double>(from[row]));
      expected.bound.push_back(0);
    }
  };
  return out;
}

struct Buffers {
  float* a;
  float* c;
  std::int64_t n;
  explicit Buffers(const Arguments& arguments)
      : a(static_cast<float*>(arguments.array("A").data)),
        c(static_cast<float*>(arguments.array("C").data)),
        n(arguments.dim("n")) {}
  void compute() const {
    for (std::int64_t i = 0; i < n; ++i) c[i] = 2 * a[i];
  }
};

inline int runs = 0;

using Body = void (*)(const Buffers&);

inline Variant rung(const char* name, Where where, Body body) {
  Variant out;
  out.operation = "toy";
  out.ladder = where == Where::cpu ? "cpu" : "gpu";
  out.name = name;
  out.where = where;
  Choice choice;
  choice.prepare[Element::f32] = without_plan([body](const Arguments& arguments, const Tuning&, Run&) {
    ++runs;
    body(Buffers(arguments));
  });
  out.choices.push_back(choice);
  return out;
}

// A GPU in the host's memory, whose arrays must be copied nevertheless.
class FakeGpu final : public HostBackend {
 public:
  FakeGpu() { devices_[0].memory_bytes = std::int64_t{1} << 30; }
  Where where() const override { return Where::cuda; }
  const std::vector<Device>& devices() override { return devices_; }
  bool shares_host_memory() const override { return false; }
  std::function<void()> capture(const Run&, const std::function<void()>& work) override {
    if (waits) throw Error("it cannot be noted");
    ++graphs;
    return [this, work] {
      work();
      ++graph_launches;
    };
  }
  double seconds(const Run&, const std::function<void()>& work) override {
    const int before = runs;
    work();
    return seconds_of_a_run * (runs - before) + std::exchange(first_seconds, 0);
  }
  Reading read(const Run& run, const std::function<void()>& work, bool hide_launches) override {
    timing = true;
    Reading out{.seconds = seconds(run, work), .clock_mhz = 1980, .power_w = power ? power() : 300};
    timing = false;
    out.gave_up = hide_launches && waits;
    hidden += hide_launches;
    joules_ += 300 * out.seconds;
    if (clock) out.clock_mhz = clock();
    return out;
  }
  std::optional<double> joules(const Device&) override { return joules_; }
  void set_cache(std::int64_t bytes) { devices_[0].cache_bytes = bytes; }
  void set_memory(std::int64_t bytes) { devices_[0].memory_bytes = bytes; }

  double seconds_of_a_run = 1e-3, first_seconds = 0;  // what the next run takes besides: it compiles, say
  bool waits = false, timing = false;
  int hidden = 0, graphs = 0, graph_launches = 0;
  std::function<double()> clock, power;

 private:
  static Device made_up() {
    Device out;
    out.where = Where::cuda;
    out.name = "a made-up GPU";
    return out;
  }
  std::vector<Device> devices_{made_up()};
  double joules_ = 1e6;
};

// The same in all tests of a program: what was registered last is the one that is found.
inline FakeGpu& made_up_gpu() {
  static auto* const made = static_cast<FakeGpu*>(&register_backend(std::make_unique<FakeGpu>()));
  return *made;
}

}  // namespace tessera::made_up
