// SPDX-License-Identifier: Apache-2.0
// GPU rung 8: adaptive cubature, which splits regions where the integrand needs it (Genz and Malik).
//
// In several variables a fixed rule spends everywhere the points that it needs only somewhere. Here each
// round estimates at once all regions that are not accurate enough, one thread per region, and the device
// decides which regions are split next; the host only polls from time to time. It is limited by the
// interpreter's work per point.
#include "ops/integrate/kernels/program_evaluation.hpp"
#include "ops/integrate/kernels/region_run.hpp"

namespace tessera::integration {
namespace {

struct Interpreted {
  RegionFrame frame;
  formula::Program<double> program;
};

struct InterpretedIntegrand {
  static constexpr int most = quadrature::max_cubature_dimensions;
  const Interpreted& of;

  SIMT int d() const { return of.frame.d; }
  SIMT MappedCoordinate spot(int axis, double u) const { return region_spot(of.frame.map[axis], u); }
  SIMT double per_length(int axis) const { return of.frame.map[axis].per_length; }
  SIMT double operator()(const MappedCoordinate (&at)[most]) const {
    double x[most], slope = 1;
    for (int k = 0; k < d(); ++k) {
      x[k] = at[k].x;
      slope *= at[k].slope;
    }
    return evaluate(of.program, x) * slope;
  }
};

struct ThreadLanes {
  const Thread& thread;
  SIMT double other(double mine) const { return thread.shuffle_xor(mine, 1); }
  SIMT void add(long long* to, long long by) const {
    (void)thread.atomic_add(reinterpret_cast<std::uint64_t*>(to), static_cast<std::uint64_t>(by));
  }
};

template <class T>
struct EstimateRegions {
  static constexpr int threads = 128;
  struct Shared {};

  SIMT void operator()(Thread thread, Shared&, const Interpreted& p) const {
    const long long me = static_cast<long long>(thread.block().x) * threads + thread.rank();
    split_regions(InterpretedIntegrand{p}, p.frame, me, static_cast<long long>(thread.grid().x) * threads,
                  ThreadLanes{thread});
  }
};

struct Make {
  auto operator()(const RuleOptions& options, const Tuning&, Run& run) const {
    return [&run, program = formula::compile<double>(options.formula, options.variables)](
               const RegionFrame& frame, long long tasks) {
      const Launch launch = launch_for(tasks, EstimateRegions<double>::threads, *run.device);
      launch_kernel<EstimateRegions<double>>(launch, Interpreted{frame, program}, run);
    };
  }
};

Variant variant() {
  Variant out;
  out.idea = "several variables: regions cut where it matters, all of a round at once (Genz-Malik)";
  out.where = kernels_run_on;
  out.choices.push_back(choice_by_regions(Make{}, 1 << 17));
  out.parent = "";
  return out;
}

[[maybe_unused]] const bool registered = (register_kernels(variant()), true);

}  // namespace
}  // namespace tessera::integration
