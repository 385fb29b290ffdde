// SPDX-License-Identifier: Apache-2.0
// What the executor counts of the calibration kernels, as JSON in the form of a trace's rows.
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include "calibration_list.hpp"
#include "tessera/bench/code.hpp"
#include "tessera/bench/trace.hpp"
#include "tracing.hpp"

namespace tessera::calibration {
namespace {

using simt::Act;
using simt::Space;
using Json = nlohmann::ordered_json;

template <class Kernel>
Json row_of(const std::string& name, const Launch& grid) {
  tracing::Zoned<float> a("a", a_count, true), b("b", b_count, true), c("c", c_count, false);
  simt::Tracer tracer;
  tracer.arrays = {a.array, b.array, c.array};
  tracing::launch<Kernel>(tracer, grid, Arrays{a.data(), b.data(), c.data(), side});
  Json counters = Json::object();
  std::uint64_t divergent = 0;
  for (const Space space : {Space::global, Space::shared})
    for (const Act act : {Act::read, Act::write}) {
      const simt::AccessCounts counts = tracer.total(space, act);
      divergent += counts.divergent;
      for (const auto& [key, value] : bench::counters_of(counts, space))
        counters[bench::name_of(space, act) + "." + key] =
            value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
    }
  counters["divergent_requests"] = divergent;
  counters["warps"] = tracer.warps;
  counters["threads_per_block"] = tracer.threads_per_block;
  counters["shared_bytes"] = tracer.shared_bytes;
  return {{"variant", name},
          {"kernel", bench::readable(typeid(Kernel).name())},
          {"counters", counters},
          {"findings", tracer.findings.size()}};
}

}  // namespace
}  // namespace tessera::calibration

int main() {
  tessera::calibration::Json rows = tessera::calibration::Json::array();
  tessera::calibration::each([&]<class Kernel>(const std::string& name, const tessera::Launch& grid) {
    rows.push_back(tessera::calibration::row_of<Kernel>(name, grid));
  });
  std::cout << rows.dump(1) << '\n';
}
