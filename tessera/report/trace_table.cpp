// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/trace_table.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <iterator>
#include <map>
#include "tessera/report/code_table.hpp"
#include "tessera/report/table.hpp"

namespace tessera::report {
namespace {

using Align = Table::Align;
using simt::Act;
using simt::Space;

std::string name_of(const bench::Traced& row) {
  return row.plan.variant->ladder + "/" + row.plan.variant->name;
}

std::string share(std::optional<double> value) { return value ? fmt::format("{:.0f}%", *value * 100) : ""; }

// A count in full: it is exact.
std::string whole(std::optional<double> value) { return value ? fmt::format("{:.0f}", *value) : ""; }

std::string cell(std::optional<double> value) { return value ? number(value) : ""; }

// What the compiler's code tells: the last columns.
std::vector<std::string> code_cells(const std::optional<bench::KernelCode>& code, bool shared) {
  if (!code) return {"", "", "", ""};
  const auto registers =
      code->registers ? std::optional(static_cast<double>(*code->registers)) : std::nullopt;
  return {whole(registers), std::to_string(code->local_load.all() + code->local_store.all()),
          shared ? widths_text(code->shared_load) : "", cell(code->instructions_per_fma())};
}

// A kind of access that stands in the code, and that the trace has not seen once.
std::string unseen(const bench::Traced& row) {
  if (!row.code || row.threads == 0) return "";
  const bench::KernelCode& code = *row.code;
  std::string out;
  const auto compare = [&](Space space, Act act, std::int64_t in_code, const char* what) {
    if (in_code == 0 || row.total(space, act).requests + row.total(space, Act::atomic).requests != 0) return;
    out += fmt::format(
        "{}: its GPU code has {} {}, and the trace saw none: they read what is no array of the problem "
        "(tables of "
        "constants, the kernel's own arguments), or these sizes never reach them; else they stayed unseen, "
        "and so "
        "did mistakes with them\n",
        name_of(row), in_code, what);
  };
  compare(Space::global, Act::read, code.global_load.all(), "loads of global memory");
  compare(Space::global, Act::write, code.global_store.all(), "stores to global memory");
  compare(Space::shared, Act::read, code.shared_load.all() + code.matrix_load, "loads of shared memory");
  compare(Space::shared, Act::write, code.shared_store.all(), "stores to shared memory");
  return out;
}

}  // namespace

std::string trace_table(const std::vector<bench::Traced>& rows) {
  Table table({{"rung", Align::left},
               {"tuning", Align::left},
               {"global loads"},
               {"sectors/request"},
               {"efficiency"},
               {"stores"},
               {"sectors/request"},
               {"shared loads", Align::right, true},
               {"wavefronts/request", Align::right, true},
               {"conflicts", Align::right, true},
               {"barriers", Align::right, true},
               {"divergent"},
               {"CGMA"},
               {"flop/byte"},
               {"occupancy"},
               {"registers", Align::right, true},
               {"spills", Align::right, true},
               {"shared load widths", Align::right, true},
               {"instructions/FMA", Align::right, true}});
  for (const bench::Traced& row : rows) {
    if (row.absent) {
      std::vector<std::string> cells(15);
      cells[0] = name_of(row);
      cells[1] = to_string(row.plan.tuning);
      std::ranges::move(code_cells(row.code, true), std::back_inserter(cells));
      table.add(std::move(cells));
      continue;
    }
    std::map<std::string, std::optional<double>> c;
    for (auto& [name, value] : bench::counters_of(row)) c[name] = value;
    const bool shared = c["shared_load.requests"].value_or(0) + c["shared_store.requests"].value_or(0) > 0;
    const auto of_shared = [&](const std::string& text) { return shared ? text : std::string(); };
    std::vector<std::string> cells{
        name_of(row),
        row.plan.tuning.empty() ? "-" : to_string(row.plan.tuning),
        whole(c["global_load.requests"]),
        cell(c["global_load.sectors_per_request"]),
        share(c["global_load.efficiency"]),
        whole(c["global_store.requests"]),
        cell(c["global_store.sectors_per_request"]),
        of_shared(whole(c["shared_load.requests"])),
        of_shared(cell(c["shared_load.wavefronts_per_request"])),
        of_shared(whole(*c["shared_load.conflicts"] + *c["shared_store.conflicts"])),
        whole(c["barriers"]),
        whole(c["divergent_requests"]),
        cell(c["cgma"]),
        cell(c["intensity"]),
        share(c["occupancy"])};
    std::ranges::move(code_cells(row.code, shared), std::back_inserter(cells));
    table.add(std::move(cells));
  }
  return table.text();
}

std::string line_table(const bench::Traced& row) {
  Table table({{"line", Align::left},
               {"access", Align::left},
               {"bytes"},
               {"requests"},
               {"sectors/request", Align::right, true},
               {"efficiency", Align::right, true},
               {"wavefronts/request", Align::right, true},
               {"conflicts", Align::right, true},
               {"divergent"},
               {"source", Align::left}});
  for (const bench::TracedLine& line : row.lines) {
    std::map<std::string, std::optional<double>> c;
    for (auto& [name, value] : bench::counters_of(line.counts, line.space)) c[name] = value;
    const std::string place =
        line.file.empty() ? "(unknown)"
                          : line.file.substr(line.file.rfind('/') + 1) + ":" + std::to_string(line.line);
    table.add({place, bench::name_of(line.space, line.act), std::to_string(line.width), whole(c["requests"]),
               cell(c["sectors_per_request"]), share(c["efficiency"]), cell(c["wavefronts_per_request"]),
               whole(c["conflicts"]), whole(c["divergent_requests"]), line.text});
  }
  return name_of(row) + "\n" + table.text();
}

std::string findings_text(const bench::Traced& row) {
  std::string out;
  for (const bench::TracedFinding& f : row.findings) {
    out += fmt::format("{}: {}{}: {}", f.file.empty() ? name_of(row) : f.file + ":" + std::to_string(f.line),
                       simt::name_of(f.kind), f.times > 1 ? fmt::format(" ({} times)", f.times) : "", f.text);
    out += fmt::format("  [{}, schedule {}]\n", name_of(row), f.schedule);
    if (!f.source.empty()) out += "    " + f.source + "\n";
  }
  return out;
}

std::string notes(const std::vector<bench::Traced>& rows) {
  std::string out;
  bool any = false, registers_known = true;
  for (const bench::Traced& row : rows) {
    if (row.absent) {
      out += fmt::format("n/a: {}: {}{}\n", name_of(row), *row.absent,
                         row.code ? ": there is no count of its accesses, only the compiler's code" : "");
      continue;
    }
    out += unseen(row);
    any = true;
    registers_known = registers_known && row.registers_known;
    if (row.blocks_run != row.blocks)
      out += fmt::format("{}: {} of {} blocks were traced, evenly spread; counts are theirs\n", name_of(row),
                         row.blocks_run, row.blocks);
  }
  if (any)
    out +=
        "CGMA and flop/byte take the flops that the problem needs; flop/byte is over the sectors' bytes.\n";
  if (!registers_known)
    out +=
        "Occupancy as if registers were no limit: the kernels' GPU code, which tells, was not found "
        "(--cubin, "
        "--registers).\n";
  if (std::ranges::any_of(rows, [](const bench::Traced& row) { return row.code.has_value(); }))
    out +=
        "Registers, spills, widths and instructions are of the GPU code: each instruction once, however "
        "often it runs.\n";
  return out;
}

}  // namespace tessera::report
