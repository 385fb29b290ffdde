// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/code_table.hpp"
#include <fmt/format.h>
#include "tessera/report/table.hpp"

namespace tessera::report {
namespace {

using Align = Table::Align;

std::string whole(std::int64_t value) { return std::to_string(value); }
std::string whole(const std::optional<std::int64_t>& value) { return value ? whole(*value) : ""; }
std::string if_any(std::int64_t value) { return value == 0 ? "" : whole(value); }

void erase_all(std::string& text, const std::string& what) {
  for (std::size_t at; (at = text.find(what)) != std::string::npos;) text.erase(at, what.size());
}

// The end of the bracket that opens at `from`; npos: it never closes.
std::size_t closing(const std::string& text, std::size_t from) {
  int depth = 0;
  for (std::size_t i = from; i < text.size(); ++i) {
    if (text[i] == '<') ++depth;
    if (text[i] == '>' && --depth == 0) return i;
  }
  return std::string::npos;
}

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
  std::string out = name;
  // The library's own kernels are all one template, of what its user wrote and of the problem.
  const std::string entry = "::entry<";
  const std::size_t at = out.find(entry);
  if (at != std::string::npos && closing(out, at + entry.size() - 1) != std::string::npos) {
    const std::size_t begin = at + entry.size();
    std::size_t end = begin;
    for (int depth = 0; end < out.size() && (depth > 0 || out[end] != ','); ++end)
      depth += out[end] == '<' || out[end] == '{' ? 1 : out[end] == '>' || out[end] == '}' ? -1 : 0;
    out = out.substr(begin, end - begin);
  } else if (const std::size_t arguments = out.rfind(">("); arguments != std::string::npos) {
    out.resize(arguments + 1);
  }
  erase_all(out, "(anonymous namespace)::");
  erase_all(out, "tessera::");
  return out;
}

std::string code_table(const std::vector<bench::KernelCode>& kernels) {
  Table table({{"kernel", Align::left},
               {"for"},
               {"registers"},
               {"stack bytes"},
               {"spill loads", Align::right, true},
               {"spill stores", Align::right, true},
               {"global loads"},
               {"global stores"},
               {"shared loads", Align::right, true},
               {"shared stores", Align::right, true},
               {"barriers"},
               {"FMA"},
               {"instructions"},
               {"per FMA"}});
  for (const bench::KernelCode& k : kernels) {
    const auto shared = [](const bench::Widths& w) { return w.all() == 0 ? std::string() : widths_text(w); };
    const auto ratio = k.instructions_per_fma();
    table.add({short_name(k.name), "sm_" + std::to_string(k.architecture), whole(k.registers),
               whole(k.stack_bytes), if_any(k.local_load.all()), if_any(k.local_store.all()),
               widths_text(k.global_load), widths_text(k.global_store), shared(k.shared_load),
               shared(k.shared_store), whole(k.barriers), whole(k.fma32 + k.fma64), whole(k.instructions),
               ratio ? fmt::format("{:.1f}", *ratio) : ""});
  }
  return table.text();
}

}  // namespace tessera::report
