// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/run.hpp"
#include <chrono>
#include <limits>
#include <optional>
#include "tessera/run/overlap.hpp"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr double no_end = std::numeric_limits<double>::infinity();

void run_plan(const Arguments& host, bool check, double work_budget, double elapsed_seconds,
              Outcome& outcome) {
  PlacedCall placed(outcome.plan, host);
  placed.state().work_budget = work_budget;
  placed.state().elapsed_seconds = elapsed_seconds;
  if (check) placed.poison();
  const auto start = Clock::now();
  placed.upload();
  outcome.kernel_seconds = placed.launch_and_measure();
  placed.fetch();
  outcome.round_trip_seconds = seconds_since(start);
  outcome.values = placed.state().values;
}

void add_values_and_verdict(const Operation& operation, const Arguments& host, bool check, Outcome& outcome) {
  if (operation.report_values) operation.report_values(host, outcome.values);
  if (check) outcome.verdict = verify(operation, host, &outcome.plan);
}

}  // namespace

Outcome run_by(const Plan& plan, const Operation& operation, const Arguments& given, bool check) {
  Outcome outcome;
  check_data(given);
  refuse_overlaps(given);
  outcome.plan = plan;
  const Arguments host = with_outputs(given, outcome.outputs);
  run_plan(host, check, no_end, 0, outcome);
  add_values_and_verdict(operation, host, check, outcome);
  return outcome;
}

Outcome run(const Operation& operation, const Arguments& given, const Request& request, bool check) {
  Outcome outcome;
  check_data(given);
  refuse_overlaps(given);
  outcome.plan = choose(operation, given, request);
  const Arguments host = with_outputs(given, outcome.outputs);
  const auto start = Clock::now();
  const std::optional<Fallback> fallback = choose_fallback(outcome.plan, operation, host, request);
  const Plan begun = outcome.plan;
  try {
    run_plan(host, check, fallback ? fallback->work_budget : no_end, 0, outcome);
  } catch (const OutOfBudget&) {
    outcome.plan = fallback->plan;
    try {
      run_plan(host, check, no_end, seconds_since(start), outcome);
    } catch (const Error&) {  // the caller has not asked for that device
      outcome.plan = begun;
      run_plan(host, check, no_end, 0, outcome);
    }
  }
  add_values_and_verdict(operation, host, check, outcome);
  return outcome;
}

}  // namespace tessera
