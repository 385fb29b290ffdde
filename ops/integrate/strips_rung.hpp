// SPDX-License-Identifier: Apache-2.0
// Enlists a kernel that adds strips. On the executor its launches end when their time is over, and the sum
// has no value then; a GPU's launch cannot be stopped.
#pragma once
#include "integrate.hpp"
#include "tessera/kernel.hpp"
#if !defined(__CUDACC__)
#include "tessera/simt/executor/executor.hpp"
#endif

namespace tessera::integration {
inline namespace TESSERA_UNIT {

// Local: one of the kernel's types, as KernelRung has it.
template <class Local, class Config, template <class, Config> class Kernel, Config... configs>
struct StripsRung {
  explicit StripsRung(std::string idea, Here here = Here::current()) {
    Variant variant;
    variant.idea = std::move(idea);
    variant.where = kernels_run_on;
    (variant.choices.push_back(choice<configs>()), ...);
#if defined(TESSERA_TRACED)
    register_traced(std::move(variant), here);
#else
    register_variant(std::move(variant), here);
#endif
  }

 private:
  template <Config config>
  static Choice choice() {
    Choice out;
    out.tuning = config.tuning();
    tessera::TESSERA_UNIT::detail::bind_kernel<
        Problem, tessera::TESSERA_UNIT::detail::With<Local, Config, Kernel, config>>(
        out, typename Problem<float>::Elements{});
#if !defined(__CUDACC__) && !defined(TESSERA_TRACED)
    for (auto& [element, run_it] : out.run)
      run_it = [plain = run_it](const Arguments& arguments, const Tuning& tuning, Run& run) {
        run.values = {};
        const simt::TimeLimit allowed(seconds_allowed(arguments));
        try {
          plain(arguments, tuning, run);
        } catch (const simt::OutOfTime&) {
          tell_unfinished(arguments, run);
        }
      };
#endif
    return out;
  }
};

}  // namespace TESSERA_UNIT
}  // namespace tessera::integration
