// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/trace.hpp"
#include <algorithm>
#include <cstring>
#include <string_view>
#include "tessera/bench/trace_arrays.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/simt/tracer/symbols.hpp"

namespace tessera::bench {
namespace {

using simt::Tracer;

// One run of the kernel under one schedule, on fresh arrays.
class OneRun {
 public:
  OneRun(const Plan& plan, const Choice& twin, const Arguments& inputs, const Tracing& tracing,
         const simt::Schedule& schedule)
      : plan_(plan), twin_(twin), arrays_(inputs) {
    tracer.arrays = arrays_.arrays();
    tracer.schedule = schedule;
    tracer.check = tracing.check;
    tracer.without = tracing.without;
    tracer.sample = tracing.blocks;
  }

  // What ends a kernel is a finding too, unless it is no mistake of the kernel's.
  void operator()(int threads) {
    Device device = plan_.device;
    device.threads = threads;
    const std::size_t workspace =
        twin_.workspace_bytes ? twin_.workspace_bytes(arrays_.arguments(), plan_.tuning) : 0;
    Array memory;
    if (workspace != 0) {
      memory = Array(Element::u8, {static_cast<std::int64_t>(workspace)});
      std::memset(memory.view().data, 0, workspace);
    }
    Run run{
        .device = &device, .workspace = memory.view().data, .workspace_bytes = workspace, .tracer = &tracer};
    if (workspace != 0)
      tracer.arrays.push_back({.name = "workspace",
                               .data = static_cast<char*>(memory.view().data),
                               .bytes = workspace,
                               .red_zone_bytes = 0,
                               .extents = {static_cast<std::int64_t>(workspace)}});
    try {
      twin_.run.at(arrays_.arguments().element())(arrays_.arguments(), plan_.tuning, run);
    } catch (const Error& e) {
      if (e.kind() != Error::Kind::memory) throw;
      if (tracer.told) return;
      simt::Finding finding;
      finding.kind = simt::Finding::Kind::stopped;
      finding.text = e.what();
      tracer.findings.push_back(finding);
    }
  }

  Tracer tracer;

 private:
  const Plan& plan_;
  const Choice& twin_;
  TraceArrays arrays_;
};

std::uint64_t accesses_of(const Tracer& tracer) {
  std::uint64_t out = 0;
  for (const auto& site : tracer.sites) out += site.counts.accesses;
  return out;
}

// Puts numbers of the process into words of the source.
class Resolver {
 public:
  void lines(const Tracer& tracer, bool places, Traced& out) {
    for (const simt::SiteCounts& site : tracer.sites) {
      const simt::SourceLine at = places ? line_of(site.site) : simt::SourceLine{};
      const auto known = std::ranges::find_if(out.lines, [&](const TracedLine& line) {
        return line.file == shown(at.file) && line.line == at.line && line.space == site.space &&
               line.act == site.site.act();
      });
      TracedLine& line = known != out.lines.end() ? *known : out.lines.emplace_back();
      line.file = shown(at.file);
      line.line = at.line;
      if (places) line.text = text_[at];
      line.space = site.space;
      line.act = site.site.act();
      line.width = std::max(line.width, site.site.width());
      line.counts += site.counts;
    }
    std::ranges::sort(out.lines, {},
                      [](const TracedLine& l) { return std::tie(l.file, l.line, l.space, l.act); });
  }

  void findings(const Tracer& tracer, Traced& out) {
    for (const simt::Finding& finding : tracer.findings) {
      TracedFinding told;
      told.kind = finding.kind;
      told.text = finding.text;
      told.times = finding.times;
      told.schedule = to_string(tracer.schedule);
      if (finding.site.bits != 0) {
        const simt::SourceLine& at = line_of(finding.site);
        told.file = shown(at.file);
        told.line = at.line;
        told.source = text_[at];
      }
      if (finding.here.line != 0) {
        told.file = finding.here.file;
        told.line = finding.here.line;
        told.source =
            text_[{told.file.starts_with('/') ? told.file : TESSERA_SOURCE_DIR "/" + told.file, told.line}];
      }
      if (finding.other.bits != 0) {
        const simt::SourceLine& other = line_of(finding.other);
        told.text += " at " + shown(other.file) + ":" + std::to_string(other.line);
      }
      const bool known = std::ranges::any_of(out.findings, [&](const TracedFinding& f) {
        return f.kind == told.kind && f.file == told.file && f.line == told.line &&
               (told.line != 0 || f.text == told.text);
      });
      if (!known) out.findings.push_back(std::move(told));
    }
  }

 private:
  const simt::SourceLine& line_of(simt::SiteKey site) {
    const auto [found, fresh] = known_.try_emplace(site.address());
    if (fresh) found->second = symbols_.line_of_kernel(site.address());
    return found->second;
  }

  static std::string shown(const std::string& file) {
    constexpr std::string_view root = TESSERA_SOURCE_DIR "/";
    return file.starts_with(root) ? file.substr(root.size()) : file;
  }

  simt::Symbols symbols_;
  simt::SourceText text_;
  std::map<std::uint64_t, simt::SourceLine> known_;
};

void keep_counts(const Tracer& tracer, Traced& out) {
  out.threads = tracer.threads;
  out.warps = tracer.warps;
  out.blocks = tracer.blocks;
  out.blocks_run = tracer.blocks_run;
  out.launches = tracer.launches;
  out.threads_per_block = tracer.threads_per_block;
  out.shared_bytes = tracer.shared_bytes;
  out.barrier_sites = tracer.barriers;
  for (const auto& barrier : tracer.barriers) out.barriers += barrier.times;
}

// Few enough blocks, judged by the accesses of one in the middle.
void limit_blocks(const Plan& plan, const Choice& twin, const Arguments& inputs, Tracing& tracing,
                  double flops) {
  if (tracing.blocks != 0 || flops < static_cast<double>(tracing.accesses) / 2) return;
  Tracing one = tracing;
  one.blocks = 1;
  one.check = false;
  OneRun run(plan, twin, inputs, one, {});
  run(1);
  const std::uint64_t each = std::max<std::uint64_t>(1, accesses_of(run.tracer));
  const std::uint64_t most = std::max<std::uint64_t>(2, tracing.accesses / each);
  if (run.tracer.launches == 1 && run.tracer.blocks > most) tracing.blocks = static_cast<std::int64_t>(most);
}

// What the compiler made of the plan's kernel, whether or not it can be traced.
std::optional<KernelCode> code_of(const Plan& plan, Element element, const Tracing& tracing) {
  const auto type = plan.choice->kernels.find(element);
  const auto all = tracing.code.find(plan.variant->object);
  if (type == plan.choice->kernels.end() || all == tracing.code.end()) return std::nullopt;
  const KernelCode* const code = find_code(all->second, type->second, tracing.compute_capability);
  return code != nullptr ? std::optional(*code) : std::nullopt;
}

}  // namespace

simt::AccessCounts Traced::total(simt::Space space, simt::Act act) const {
  simt::AccessCounts out;
  for (const TracedLine& line : lines)
    if (line.space == space && line.act == act) out += line.counts;
  return out;
}

Traced trace(const Operation& operation, Element element, const Case& problem, const Plan& plan,
             const Tracing& asked) {
  Traced out;
  out.plan = plan;
  out.dims = problem.dims;
  out.element = element;
  out.code = code_of(plan, element, asked);
  out.absent = simt::tracing_absent();
  Inputs inputs(operation, element, problem, asked.seed);
  out.elements = operation.element_name(inputs.arguments());
  if (!out.absent) out.absent = refuses(plan, inputs.arguments());
  const Choice* const twin = out.absent ? nullptr : traced_twin(*plan.variant, *plan.choice);
  if (!out.absent && twin == nullptr) out.absent = "is not written against Thread, so it has no traced build";
  if (out.absent) return out;

  const double flops = operation.flops ? operation.flops(inputs.arguments()) : 0;
  Tracing tracing = asked;
  limit_blocks(plan, *twin, inputs.arguments(), tracing, flops);
  Resolver resolver;
  int threads = plan.device.threads;
  for (const simt::Schedule& schedule : tracing.schedules) {
    auto run = std::make_unique<OneRun>(plan, *twin, inputs.arguments(), tracing, schedule);
    (*run)(threads);
    if (run->tracer.blocks_communicate && threads != 1) {
      threads = 1;  // what blocks tell each other depends on their order: one at a time, it is repeatable
      run = std::make_unique<OneRun>(plan, *twin, inputs.arguments(), tracing, schedule);
      (*run)(threads);
    }
    if (out.schedules.empty()) {
      keep_counts(run->tracer, out);
      resolver.lines(run->tracer, tracing.places, out);
    }
    out.schedules.push_back(to_string(schedule));
    resolver.findings(run->tracer, out);
  }
  const double share =
      out.blocks == 0 ? 0 : static_cast<double>(out.blocks_run) / static_cast<double>(out.blocks);
  out.flops = flops * share;
  out.bytes = operation.bytes(inputs.arguments()) * share;
  std::optional<std::int64_t> registers = asked.registers;
  if (!registers && out.code) registers = out.code->registers;
  out.registers_known = registers.has_value();
  out.occupancy = occupancy(multiprocessor_of(tracing.compute_capability), out.threads_per_block,
                            out.shared_bytes, registers);
  return out;
}

}  // namespace tessera::bench
