// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/trace_table.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <boost/algorithm/string/erase.hpp>
#include <cmath>
#include <iterator>
#include <map>
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

// Prints a count in full, because it is exact.
std::string whole(std::optional<double> value) { return value ? fmt::format("{:.0f}", *value) : ""; }

std::string cell(std::optional<double> value) { return value ? number(value) : ""; }

std::vector<std::string> code_cells(const std::optional<bench::KernelCode>& code, bool shared) {
  if (!code) return {"", "", "", ""};
  const auto registers =
      code->registers ? std::optional(static_cast<double>(*code->registers)) : std::nullopt;
  return {whole(registers), std::to_string(code->local_load.all() + code->local_store.all()),
          shared ? widths_text(code->shared_load) : "", cell(code->instructions_per_fma())};
}

// Returns a kind of access that is in the code but never occurred in the trace.
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
               {"efficiency", Align::right, false, 5},
               {"stores", Align::right, false, 6},
               {"sectors/request", Align::right, false, 6},
               {"shared loads", Align::right, true, 2},
               {"wavefronts/request", Align::right, true, 1},
               {"conflicts", Align::right, true},
               {"barriers", Align::right, true, 4},
               {"divergent", Align::right, false, 3},
               {"CGMA"},
               {"flop/byte", Align::right, false, 4},
               {"occupancy", Align::right, false, 2},
               {"registers", Align::right, true, 7},
               {"spills", Align::right, true, 7},
               {"shared load widths", Align::right, true, 9},
               {"instructions/FMA", Align::right, true, 8}});
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

namespace {

std::string counts_table(const bench::Traced& row, const std::vector<bench::TracedLine>& lines, bool places) {
  std::vector<Table::Column> columns{{"array", Align::left},
                                     {"access", Align::left},
                                     {"bytes"},
                                     {"requests"},
                                     {"sectors/request", Align::right, true},
                                     {"efficiency", Align::right, true},
                                     {"wavefronts/request", Align::right, true},
                                     {"conflicts", Align::right, true},
                                     {"divergent"}};
  if (places) {
    columns.insert(columns.begin(), {"line", Align::place});
    columns.push_back({"source", Align::left});
  }
  Table table(columns);
  for (const bench::TracedLine& line : lines) {
    std::map<std::string, std::optional<double>> c;
    for (auto& [name, value] : bench::counters_of(line.counts, line.space)) c[name] = value;
    std::vector<std::string> cells{line.array.empty() ? "(shared)" : line.array,
                                   bench::name_of(line.space, line.act),
                                   std::to_string(line.width),
                                   whole(c["requests"]),
                                   cell(c["sectors_per_request"]),
                                   share(c["efficiency"]),
                                   cell(c["wavefronts_per_request"]),
                                   whole(c["conflicts"]),
                                   whole(c["divergent_requests"])};
    if (places) {
      cells.insert(cells.begin(), line.file.empty() ? "(unknown)"
                                                    : line.file.substr(line.file.rfind('/') + 1) + ":" +
                                                          std::to_string(line.line));
      cells.push_back(line.text);
    }
    table.add(std::move(cells));
  }
  return name_of(row) + "\n" + table.text();
}

}  // namespace

std::string line_table(const bench::Traced& row) { return counts_table(row, row.lines, true); }

std::string array_table(const bench::Traced& row) {
  return counts_table(row, bench::by_array(row.lines), false);
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
      out += fmt::format("not traced: {}: {}{}\n", name_of(row), *row.absent,
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
        "CGMA and flop/byte take the flops that the problem needs for the outputs that were written; "
        "flop/byte "
        "is over the sectors' bytes.\n";
  if (!registers_known)
    out +=
        "Occupancy as if registers were no limit: the kernels' GPU code, which has their number, was not "
        "found "
        "(--cubin, "
        "--registers).\n";
  if (std::ranges::any_of(rows, [](const bench::Traced& row) { return row.code.has_value(); }))
    out +=
        "Registers, spills, widths and instructions are of the GPU code: each instruction once, however "
        "often it runs.\n";
  return out;
}

namespace {

std::string whole(std::int64_t value) { return std::to_string(value); }
std::string whole(const std::optional<std::int64_t>& value) { return value ? whole(*value) : ""; }
std::string if_any(std::int64_t value) { return value == 0 ? "" : whole(value); }

}  // namespace

std::string widths_text(const bench::Widths& widths) {
  std::string out;
  const auto add = [&](std::int64_t count, const char* width) {
    if (count != 0) out += fmt::format("{}{}×{}", out.empty() ? "" : " + ", count, width);
  };
  add(widths.narrow, "8–16");
  add(widths.of32, "32");
  add(widths.of64, "64");
  add(widths.of128, "128");
  return out.empty() ? "0" : out;
}

std::string short_name(const std::string& name) {
  std::string out = bench::made_from(name);
  if (out.empty()) {
    out = name;
    if (const std::size_t arguments = out.rfind(">("); arguments != std::string::npos)
      out.resize(arguments + 1);
  }
  boost::erase_all(out, "(anonymous namespace)::");
  boost::erase_all(out, "tessera::");
  return out;
}

std::string code_table(const std::vector<bench::KernelCode>& kernels) {
  Table table({{"kernel", Align::left},
               {"tuning", Align::left, true},
               {"element", Align::left, true},
               {"for", Align::right, false, 6},
               {"registers"},
               {"stack bytes", Align::right, false, 4},
               {"spill loads", Align::right, true, 1},
               {"spill stores", Align::right, true, 1},
               {"global loads", Align::right, false, 2},
               {"global stores", Align::right, false, 3},
               {"shared loads", Align::right, true, 2},
               {"shared stores", Align::right, true, 3},
               {"barriers", Align::right, false, 5},
               {"FMA", Align::right, false, 5},
               {"instructions"},
               {"per FMA"}});
  for (const bench::KernelCode& k : kernels) {
    const auto shared = [](const bench::Widths& w) { return w.all() == 0 ? std::string() : widths_text(w); };
    const auto ratio = k.instructions_per_fma();
    const std::string tuning = k.variant.empty() ? "" : k.tuning.empty() ? "-" : k.tuning;
    table.add({k.variant.empty() ? short_name(k.name) : k.variant, tuning, k.element,
               "sm_" + std::to_string(k.architecture), whole(k.registers), whole(k.stack_bytes),
               if_any(k.local_load.all()), if_any(k.local_store.all()), widths_text(k.global_load),
               widths_text(k.global_store), shared(k.shared_load), shared(k.shared_store), whole(k.barriers),
               whole(k.fma32 + k.fma64), whole(k.instructions), ratio ? fmt::format("{:.1f}", *ratio) : ""});
  }
  return table.text();
}

namespace {

using Values = std::map<std::string, double>;

// A smaller ratio is not reported as a reason.
constexpr double notable = 1.02;

Values values_of(const bench::Traced& traced) {
  Values out;
  for (const auto& [name, value] : bench::counters_of(traced))
    if (value && std::isfinite(*value)) out[name] = *value;
  return out;
}

double value(const Values& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? 0 : found->second;
}

std::string trimmed(double x) {
  if (std::trunc(x) == x && std::abs(x) < 1e15) return fmt::format("{:.0f}", x);
  std::string out = number(x);
  if (out.find('.') != std::string::npos && out.find('e') == std::string::npos) {
    out.erase(out.find_last_not_of('0') + 1);
    if (out.ends_with('.')) out.pop_back();
  }
  return out;
}

class Comparison {
 public:
  Comparison(Values before, Values after) : before_(std::move(before)), after_(std::move(after)) {}

  // "- global loads: 2.5 instead of 16.5 sectors per request: 6.6 times fewer"
  void count(const std::string& subject, const std::string& name, const std::string& unit) {
    const double a = value(before_, name), b = value(after_, name);
    if (a == b || (a != 0 && b != 0 && std::max(a / b, b / a) < notable)) return;
    std::string change;
    if (a == 0 || b == 0) change = "";
    else
      change = a > b ? fmt::format(": {:.3g} times fewer", a / b) : fmt::format(": {:.3g} times more", b / a);
    lines_ += fmt::format("- {}{} instead of {} {}{}\n", subject.empty() ? "" : subject + ": ", shown(b),
                          shown(a), unit, change);
  }

  void level(const std::string& name, const std::string& what) {
    const double a = value(before_, name), b = value(after_, name);
    if (a == 0 || b == 0 || std::max(a / b, b / a) < notable) return;
    lines_ += fmt::format("- {}: {} instead of {}\n", what, trimmed(b), trimmed(a));
  }

  void sectors() {
    const auto all = [](const Values& v) {
      return value(v, "global_load.sectors") + value(v, "global_store.sectors") +
             value(v, "global_atomic.sectors");
    };
    const double a = all(before_), b = all(after_);
    if (a == 0 || b == 0 || std::max(a / b, b / a) < notable) return;
    lines_ += fmt::format("- in all {} instead of {} sectors of global memory: {:.3g} times {}\n", trimmed(b),
                          trimmed(a), std::max(a / b, b / a), a > b ? "fewer" : "more");
  }

  // Differences that access counts do not show: the instructions that the compiler generated.
  void code(const bench::KernelCode& a, const bench::KernelCode& b) {
    const auto differs = [&](const std::string& what, const std::string& before, const std::string& after) {
      if (before != after) lines_ += fmt::format("- {}: {} instead of {}\n", what, after, before);
    };
    const auto per_fma = [](const bench::KernelCode& k) {
      return k.instructions_per_fma() ? trimmed(*k.instructions_per_fma()) : std::string("n/a");
    };
    const auto count = [](std::optional<std::int64_t> n) {
      return n ? std::to_string(*n) : std::string("n/a");
    };
    differs("instructions in the code for each multiply-add", per_fma(a), per_fma(b));
    differs("shared loads in the code, by bits", widths_text(a.shared_load), widths_text(b.shared_load));
    differs("global loads in the code, by bits", widths_text(a.global_load), widths_text(b.global_load));
    differs("matrix loads of shared memory in the code", std::to_string(a.matrix_load),
            std::to_string(b.matrix_load));
    differs("registers of a thread", count(a.registers), count(b.registers));
    differs("spills in the code", count(a.local_load.all() + a.local_store.all()),
            count(b.local_load.all() + b.local_store.all()));
  }

  const std::string& lines() const { return lines_; }

 private:
  static std::string shown(double x) { return x == 0 ? "no" : trimmed(x); }

  Values before_, after_;
  std::string lines_;
};

std::string with_tuning(const bench::Traced& row) {
  return row.plan.variant->name + (row.plan.tuning.empty() ? "" : " (" + to_string(row.plan.tuning) + ")");
}

// For rungs that cannot be traced: the differences of their compiled code, and the reason why there are no
// counts.
std::string why_by_code(const bench::Traced& before, const bench::Traced& after) {
  std::string absent;
  for (const bench::Traced* row : {&before, &after}) {
    if (row->absent)
      absent += "- accesses were not counted: " + with_tuning(*row) + " " + *row->absent + "\n";
    if (!row->code) absent += "- no GPU code of " + with_tuning(*row) + " was found (--cubin)\n";
  }
  if (!before.code || !after.code) return absent;
  Comparison compared({}, {});
  compared.code(*before.code, *after.code);
  return with_tuning(after) + " against " + with_tuning(before) + ", by the compiler's code alone:\n" +
         (compared.lines().empty() ? "- no count of the code differs\n" : compared.lines()) + absent;
}

}  // namespace

std::string why(const bench::Traced& before, const bench::Traced& after) {
  if (before.absent || after.absent) return why_by_code(before, after);
  if (before.blocks_run != before.blocks || after.blocks_run != after.blocks)
    return "only a part of the blocks was traced: numbers of two rungs cannot be compared; --blocks all "
           "traces them all\n";
  Comparison compared(values_of(before), values_of(after));
  compared.count("global loads", "global_load.sectors_per_request", "sectors per request");
  compared.count("global loads", "global_load.requests", "requests");
  compared.count("global stores", "global_store.sectors_per_request", "sectors per request");
  compared.count("global stores", "global_store.requests", "requests");
  compared.sectors();
  compared.count("shared loads", "shared_load.requests", "requests");
  compared.count("shared loads", "shared_load.wavefronts", "wavefronts");
  compared.count("shared loads", "shared_load.conflicts", "conflicting wavefronts");
  compared.count("shared stores", "shared_store.wavefronts", "wavefronts");
  compared.count("shared stores", "shared_store.conflicts", "conflicting wavefronts");
  compared.count("", "barriers", "barriers");
  compared.count("", "divergent_requests", "divergent requests");
  compared.count("", "threads", "threads");
  compared.level("cgma", "flops for each access to global memory (CGMA)");
  compared.level("intensity", "flops for each byte of the sectors");
  compared.level("occupancy", "occupancy");
  if (before.code && after.code) compared.code(*before.code, *after.code);
  const std::string head = with_tuning(after) + " against " + with_tuning(before) + ":\n";
  return head + (compared.lines().empty()
                     ? "- no counter differs: the reason is in the instructions, not in the accesses\n"
                     : compared.lines());
}

}  // namespace tessera::report
