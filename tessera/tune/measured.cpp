// SPDX-License-Identifier: Apache-2.0
#include "tessera/tune/measured.hpp"
#include <algorithm>
#include <exception>

namespace tessera::tune {
namespace {

// After an illegal access a GPU serves this process no more: whatever came next would fail, too.
void demand_answer(const Device& device, const std::string& why) {
  Backend* backend = find_backend(device.where);
  if (backend == nullptr) return;
  Run run;
  run.device = &device;
  try {
    backend->synchronize(run);
  } catch (const std::exception&) {
    throw Error(Error::Kind::memory, device.label() + " answers no more: " + why);
  }
}

}  // namespace

bench::Candidate candidate_of(const Config& config, const Device& device) {
  return {.plan = {config.variant, config.choice, config.tuning, device},
          .serial = false,
          .absent = config.absent};
}

std::vector<bench::Row> measure_each(const std::vector<bench::Candidate>& candidates, const Measure& measure,
                                     const std::function<bool()>& interrupted) {
  std::string why;
  try {
    return measure(candidates);
  } catch (const std::exception& error) {
    why = error.what();
  }
  demand_answer(candidates[0].plan.device, why);
  if (candidates.size() == 1) {
    // Known to fail, it is not run again: what is left of measuring is its row.
    bench::Candidate failed = candidates[0];
    failed.absent = "failed: " + why;
    return measure({failed});
  }
  std::vector<bench::Row> out;
  for (const bench::Candidate& candidate : candidates) {
    if (interrupted && interrupted()) break;
    for (bench::Row& row : measure_each({candidate}, measure, interrupted)) out.push_back(std::move(row));
  }
  return out;
}

std::size_t batch_size(const Operation& operation, const Arguments& arguments, const Device& device,
                       std::size_t most) {
  Backend& backend = backend_of(device);
  if (backend.shares_host_memory()) return most;
  // Half of what is free: the runs need workspaces, and flushing the caches takes its share.
  const double room = static_cast<double>(backend.free_memory(device)) / 2;
  const double each = std::max(operation.bytes(arguments), 1.0);
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::min(room / each, 1e6)), 1, most);
}

bool interrupted_row(const bench::Row& row) { return row.seconds.empty() && row.reason == "interrupted"; }

}  // namespace tessera::tune
