// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/csv.hpp"
#include <fmt/format.h>
#include <cmath>
#include <iterator>

namespace tessera::report {
namespace {

constexpr const char* titles =
    "operation,problem,element,device,device_name,threads,ladder,place,variant,tuning,mode,caches,median_s,"
    "q1_s,"
    "q3_s,minimum_s,samples,throttled,round_trip_s,gflops,gbps,roofline,ceiling,ratio_serial,ratio_previous,"
    "ratio_baseline,clock_mhz,power_w,joules,picojoules_per_flop,verified,error_over_bound,relative_l2,"
    "reason\r\n";

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string number(std::optional<double> value) {
  return value && std::isfinite(*value) ? fmt::format("{}", *value) : "n/a";
}

std::string problem_of(const bench::Row& row) {
  std::string out;
  const auto add = [&out](const std::string& text) { out += (out.empty() ? "" : " ") + text; };
  for (const auto& [name, size] : row.dims) add(fmt::format("{}={}", name, size));
  for (const auto& [name, word] : row.words)
    if (!row.dims.contains(name)) add(name + "=" + word);
  for (const std::string& name : row.optional_inputs) add(name);
  return out;
}

std::string word_for(bench::Verified verified) {
  return verified == bench::Verified::ok ? "ok" : verified == bench::Verified::wrong ? "wrong" : "unchecked";
}

std::string line(const bench::Session& session, const bench::Row& row) {
  const bool measured = !row.seconds.empty();
  const bench::Summary s = measured ? bench::summarize(row.seconds) : bench::Summary{};
  const auto when = [measured](double value) { return measured ? number(value) : std::string("n/a"); };
  const auto roofline = row.roofline();
  const std::string cells[] = {session.operation,
                               problem_of(row),
                               row.element_name(),
                               bench::label_of(row.device),
                               row.device.name,
                               std::to_string(row.device.threads),
                               row.variant->ladder,
                               std::to_string(row.variant->place),
                               row.variant->name,
                               to_string(row.tuning),
                               std::string(name_of(row.mode)),
                               session.caches,
                               when(s.median),
                               when(s.q1),
                               when(s.q3),
                               when(s.minimum),
                               std::to_string(s.count),
                               std::to_string(row.throttled),
                               number(row.round_trip),
                               number(row.gflops()),
                               number(row.gbps()),
                               roofline ? number(roofline->fraction) : "n/a",
                               roofline ? (roofline->memory ? "memory" : "arithmetic") : "n/a",
                               number(row.ratio_serial),
                               number(row.ratio_previous),
                               number(row.ratio_baseline),
                               number(row.clock_mhz()),
                               number(row.power_w()),
                               number(row.joules),
                               number(row.picojoules_per_flop()),
                               word_for(row.verified),
                               number(row.error_over_bound),
                               number(row.relative_l2),
                               row.reason.value_or("")};
  std::string out;
  for (const std::string& cell : cells) out += (&cell == cells ? "" : ",") + quoted(cell);
  return out + "\r\n";
}

}  // namespace

std::string csv(const bench::Session& session) {
  std::string out = titles;
  for (const bench::Row& row : session.rows) out += line(session, row);
  return out;
}

}  // namespace tessera::report
