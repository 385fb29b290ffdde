// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/trace_result.hpp"
#include <nlohmann/json.hpp>
#include <cmath>
#include "tessera/bench/result.hpp"

namespace tessera::bench {
namespace {

using Json = nlohmann::ordered_json;
using simt::Act;
using simt::Space;

std::optional<double> ratio(double a, double b) { return b > 0 ? std::optional(a / b) : std::nullopt; }

// Of a kernel of which no block ran nothing is known.
std::optional<double> occupancy_of(const Traced& row) {
  return row.threads_per_block > 0 ? std::optional(row.occupancy.fraction) : std::nullopt;
}

// Counts as whole numbers, ratios as they are, what has no meaning as null.
Json number(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  if (std::trunc(*value) == *value && std::abs(*value) < 9e15) return static_cast<std::int64_t>(*value);
  return *value;
}

Json to_json(const Counters& counters) {
  Json out = Json::object();
  for (const auto& [name, value] : counters) out[name] = number(value);
  return out;
}

// One entry for each line of source, with everything that it does.
Json lines_json(const std::vector<TracedLine>& lines) {
  Json out = Json::array();
  for (const TracedLine& line : lines) {
    if (out.empty() || out.back()["file"] != line.file || out.back()["line"] != line.line)
      out.push_back({{"file", line.file}, {"line", line.line}, {"text", line.text}});
    const std::string kind = name_of(line.space, line.act) + ".";
    for (const auto& [name, value] : counters_of(line.counts, line.space))
      out.back()[kind + name] = number(value);
    out.back()[kind + "width"] = line.width;
  }
  return out;
}

Json row_json(const Traced& row) {
  Json out{{"dims", row.dims},
           {"element", row.elements.empty() ? std::string(tessera::name_of(row.element)) : row.elements},
           {"ladder", row.plan.variant->ladder},
           {"place", row.plan.variant->place},
           {"variant", row.plan.variant->name},
           {"tuning", bench::to_json(row.plan.tuning)},
           {"device", label_of(row.plan.device)}};
  if (row.absent) {
    out["reason"] = *row.absent;
    if (row.code) out["code"] = to_json(*row.code);
    return out;
  }
  out["blocks"] = row.blocks;
  out["blocks_traced"] = row.blocks_run;
  out["schedules"] = row.schedules;
  const auto occupancy = occupancy_of(row);
  out["occupancy"] = occupancy ? Json(*occupancy) : Json(nullptr);
  out["occupancy_limit"] = occupancy ? Json(row.occupancy.limit) : Json(nullptr);
  out["registers_known"] = row.registers_known;
  out["code"] = row.code ? to_json(*row.code) : Json(nullptr);
  out["counters"] = to_json(counters_of(row));
  out["lines"] = lines_json(row.lines);
  out["findings"] = Json::array();
  for (const TracedFinding& f : row.findings)
    out["findings"].push_back({{"kind", simt::name_of(f.kind)},
                               {"file", f.file.empty() ? Json(nullptr) : Json(f.file)},
                               {"line", f.line == 0 ? Json(nullptr) : Json(f.line)},
                               {"text", f.text},
                               {"source", f.source},
                               {"times", f.times},
                               {"schedule", f.schedule}});
  return out;
}

}  // namespace

std::string name_of(Space space, Act act) {
  return std::string(space == Space::global ? "global_" : "shared_") + (act == Act::read    ? "load"
                                                                        : act == Act::write ? "store"
                                                                                            : "atomic");
}

Counters counters_of(const simt::AccessCounts& c, Space space) {
  const auto value = [](std::uint64_t n) { return static_cast<double>(n); };
  Counters out{{"requests", value(c.requests)}};
  if (space == Space::global) {
    out.emplace_back("sectors", value(c.sectors));
    out.emplace_back("sectors_per_request", ratio(value(c.sectors), value(c.requests)));
    out.emplace_back("ideal_sectors", value(c.ideal_sectors));
    out.emplace_back("lines", value(c.lines));
    out.emplace_back("efficiency", ratio(value(c.distinct_bytes), 32 * value(c.sectors)));
  } else {
    out.emplace_back("wavefronts", value(c.wavefronts));
    out.emplace_back("wavefronts_per_request", ratio(value(c.wavefronts), value(c.requests)));
    out.emplace_back("ideal_wavefronts", value(c.ideal_wavefronts));
    out.emplace_back("conflicts", value(c.wavefronts - c.ideal_wavefronts));
  }
  out.emplace_back("accesses", value(c.accesses));
  out.emplace_back("bytes", value(c.bytes));
  out.emplace_back("divergent_requests", value(c.divergent));
  return out;
}

Counters counters_of(const Traced& traced) {
  Counters out;
  simt::AccessCounts all, global;
  for (const Space space : {Space::global, Space::shared})
    for (const Act act : {Act::read, Act::write, Act::atomic}) {
      const simt::AccessCounts counts = traced.total(space, act);
      if (counts.requests == 0 && act == Act::atomic) continue;
      all += counts;
      if (space == Space::global) global += counts;
      for (auto& [name, value] : counters_of(counts, space))
        out.emplace_back(name_of(space, act) + "." + name, value);
    }
  const auto value = [](std::uint64_t n) { return static_cast<double>(n); };
  out.emplace_back("barriers", value(traced.barriers));
  out.emplace_back("divergent_requests", value(all.divergent));
  out.emplace_back("threads", value(traced.threads));
  out.emplace_back("warps", value(traced.warps));
  out.emplace_back("threads_per_block", static_cast<double>(traced.threads_per_block));
  out.emplace_back("shared_bytes", static_cast<double>(traced.shared_bytes));
  out.emplace_back("flops", traced.flops);
  out.emplace_back("cgma", ratio(traced.flops, value(global.accesses)));
  out.emplace_back("intensity", ratio(traced.flops, 32 * value(global.sectors)));
  out.emplace_back("intensity_asked", ratio(traced.flops, value(global.bytes)));
  out.emplace_back("intensity_ideal", ratio(traced.flops, traced.bytes));
  out.emplace_back("occupancy", occupancy_of(traced));
  return out;
}

Json to_json(const TraceSession& session) {
  Json out{{"schema", 1}, {"kind", "trace"}, {"operation", session.operation}};
  out.update(provenance(session.argv, session.date));
  out["seed"] = session.seed;
  out["distribution"] = "standard normal, full mantissas; integers: every bit random";
  out["rows"] = Json::array();
  for (const Traced& row : session.rows) out["rows"].push_back(row_json(row));
  return out;
}

}  // namespace tessera::bench
