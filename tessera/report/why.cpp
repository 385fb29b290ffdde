// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/why.hpp"
#include <fmt/format.h>
#include <cmath>
#include <map>
#include "tessera/report/code_table.hpp"
#include "tessera/report/table.hpp"

namespace tessera::report {
namespace {

using Values = std::map<std::string, double>;

// A ratio nearer to 1 than this is no reason.
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

  // What no count of accesses shows: the instructions that the compiler made of the two.
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

std::string name_of(const bench::Traced& row) {
  return row.plan.variant->name + (row.plan.tuning.empty() ? "" : " (" + to_string(row.plan.tuning) + ")");
}

// Of rungs that cannot be traced the compiler's code tells what it can, and why there is no more.
std::string why_by_code(const bench::Traced& before, const bench::Traced& after) {
  std::string missing;
  for (const bench::Traced* row : {&before, &after}) {
    if (row->absent) missing += "- accesses were not counted: " + name_of(*row) + " " + *row->absent + "\n";
    if (!row->code) missing += "- no GPU code of " + name_of(*row) + " was found (--cubin)\n";
  }
  if (!before.code || !after.code) return missing;
  Comparison compared({}, {});
  compared.code(*before.code, *after.code);
  return name_of(after) + " against " + name_of(before) + ", by the compiler's code alone:\n" +
         (compared.lines().empty() ? "- no count of the code differs\n" : compared.lines()) + missing;
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
  const std::string head = name_of(after) + " against " + name_of(before) + ":\n";
  return head + (compared.lines().empty()
                     ? "- no counter differs: the reason is in the instructions, not in the accesses\n"
                     : compared.lines());
}

}  // namespace tessera::report
