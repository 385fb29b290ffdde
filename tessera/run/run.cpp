// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/run.hpp"
#include <chrono>
#include "tessera/run/overlap.hpp"

namespace tessera {
namespace {

void give_memory_to_outputs(Arguments& host, Outcome& outcome) {
  for (const Parameter* p : host.signature().of(Parameter::Kind::output)) {
    const ArrayView& view = host.array(p->name);
    if (view.data != nullptr) continue;
    const auto& array = outcome.outputs[p->name] = Array(view.element, view.extents);
    host.set_array(p->name, array.view());
  }
}

}  // namespace

Outcome run(const Operation& operation, Arguments& host, const Request& request, bool check) {
  Outcome outcome;
  refuse_overlaps(host);
  outcome.plan = choose(operation, host, request);
  give_memory_to_outputs(host, outcome);
  Placed placed(outcome.plan, host);
  if (check) placed.poison();
  const auto start = std::chrono::steady_clock::now();
  placed.upload();
  outcome.kernel_seconds = placed.launch_and_measure();
  placed.fetch();
  outcome.round_trip_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  outcome.values = placed.run().values;
  if (operation.tell) operation.tell(host, outcome.values);
  if (check) outcome.verdict = verify(operation, host, &outcome.plan);
  return outcome;
}

}  // namespace tessera
