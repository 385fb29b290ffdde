// SPDX-License-Identifier: Apache-2.0
// Cells of a batch begin without a look at the formula: what no first point meets is claimed away. A few of
// the integrals are computed once more by the rule for a single one, which looks.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>
#include "integrate_batch.hpp"
#include "ops/integrate/far_tail.hpp"
#include "ops/integrate/rules/auto.hpp"
#include "ops/integrate/rules/deadline.hpp"
#include "ops/integrate/rules/formula_integrand.hpp"
#include "tessera/core/device.hpp"
#include "tessera/core/parallel.hpp"
#include "tessera/io/cache.hpp"

namespace tessera::integrate_batch {
namespace {

using quadrature::Answer;

// One integral of the batch.
struct Sample {
  Formula f, signs, ends;
  formula::Tree formula;  // of the variable alone
};

Sample sample_of(const Setting& setting, const std::vector<Column>& columns, int index, int count) {
  Sample out{{&setting.integrand, {}}, {&setting.signs, {}}, {&setting.end, {}}, setting.formula};
  for (std::size_t k = 0; k < columns.size(); ++k) {
    const double value = parameter_of(columns[k], index, count);
    out.f.inputs[1 + k] = out.signs.inputs[1 + k] = out.ends.inputs[1 + k] = value;
    out.formula = formula::substitute(out.formula, setting.parameters[k].name, value);
  }
  return out;
}

Ended by_batch(const Setting& setting, Sample& sample, std::vector<double>& memory, int cells) {
  OwnCells list = OwnCells::of(memory.data(), cells, 1, 0);
  const Demand demand{setting.relative, setting.absolute, setting.most, setting.measured, false,
                      setting.caution};
  Ends ends{sample.ends, sample.signs, setting.breaks() - setting.searched, setting.searched, false, {}};
  ends.search();
  return integrate_alone(list, kronrod_nodes(), demand, sample.f, ends, setting.breaks());
}

quadrature::Range upwards_of(Sample& sample) {
  quadrature::Range out{sample.ends(0), sample.ends(1)};
  if (out.lower > out.upper) std::swap(out.lower, out.upper);
  return out;
}

// No rule sees a tail that the formula's own overflow makes 0.
bool hides_more(const Setting& setting, Sample& sample, double allowed) {
  const quadrature::Range range = upwards_of(sample);
  if (range.finite()) return false;
  const auto f = quadrature::integrand_of(sample.formula, setting.variable, range);
  return !(integration::hidden_tail(sample.formula, setting.variable, f, range).mass <= allowed);
}

Answer by_rule(const Setting& setting, Sample& sample) {
  constexpr double finest = 1e-12;
  const quadrature::Range range{sample.ends(0), sample.ends(1)}, upwards = upwards_of(sample);
  std::vector<double> breaks;
  const auto cut = [&](double x) {
    if (upwards.lower < x && x < upwards.upper) breaks.push_back(x);
  };
  // Beside ends and cuts the text tells cells how narrow things may be.
  constexpr double beside = 16;
  const std::size_t count = setting.ends.size();
  const double narrowest = setting.measured ? sample.ends(static_cast<double>(count)) : 0;
  for (std::size_t k = 0; k < count; ++k) {
    const double x = sample.ends(static_cast<double>(k));
    cut(x);
    if (!(narrowest > 0)) continue;
    cut(x - beside * narrowest);
    cut(x + beside * narrowest);
  }
  return quadrature::automatic(quadrature::integrand_of(sample.formula, setting.variable, upwards), range,
                               {std::fmax(setting.relative / 4, finest), setting.absolute / 4},
                               {.evaluations = 100'000, .seconds = 0.1}, breaks);
}

enum class Verdict { agrees, contradicts, late };

Verdict judge(const Setting& setting, Sample sample, std::vector<double>& memory, int cells) {
  const double from = sample.ends(0), to = sample.ends(1);
  if (!(from < to || to < from)) return Verdict::agrees;
  const Ended ended = by_batch(setting, sample, memory, cells);
  if (ended.why != converged) return Verdict::agrees;
  const double allowed = std::fmax(setting.absolute, setting.relative * std::fabs(ended.value));
  if (hides_more(setting, sample, allowed)) return Verdict::contradicts;
  const Answer answer = by_rule(setting, sample);
  if (answer.reason == quadrature::Reason::time) return Verdict::late;
  const bool apart = std::fabs(answer.value - ended.value) > 2 * (answer.error() + ended.error) + allowed / 4;
  return answer.converged() && apart ? Verdict::contradicts : Verdict::agrees;
}

// Of all that are looked at, by as many threads as there are cores: the first that is contradicted ends it.
Verdict look(const Setting& setting, const std::vector<Column>& columns) {
  constexpr int most = 24;
  constexpr double seconds = 0.25;
  const quadrature::Deadline until(seconds);
  const int cells = most_cells(setting), count = columns.empty() ? 1 : most;
  std::atomic<int> next{0};
  std::atomic<bool> contradicts{false}, late{false};
  parallel(std::min(count, host_threads()), [&](int) {
    std::vector<double> memory(static_cast<std::size_t>(list_bytes(cells)) / sizeof(double) + 1);
    for (int i = 0; !contradicts && (i = next.fetch_add(1)) < count;) {
      const Verdict verdict = until.passed()
                                  ? Verdict::late
                                  : judge(setting, sample_of(setting, columns, i, count), memory, cells);
      if (verdict == Verdict::contradicts) contradicts = true;
      if (verdict == Verdict::late) late = true;
    }
  });
  return contradicts ? Verdict::contradicts : late ? Verdict::late : Verdict::agrees;
}

}  // namespace

bool contradicted(const Setting& setting, const std::string& words) {
  const CacheFolder verdicts{"batches", 4096};
  std::vector<Column> columns;
  for (const Parameter1& p : setting.parameters) {
    if (p.spread == given) return false;
    columns.push_back({nullptr, 0, p.from, p.to, p.spread, 0, 0});
  }
  // Another program may know better, or worse.
  const std::string key = build_id().empty() ? "" : build_id() + "\n" + words;
  if (!key.empty())
    if (const auto kept = find_cached(verdicts, key); kept && (*kept == "0" || *kept == "1"))
      return *kept == "1";
  const Verdict verdict = look(setting, columns);
  if (!key.empty() && verdict != Verdict::late)
    store_cached(verdicts, key, verdict == Verdict::contradicts ? "1" : "0");
  return verdict == Verdict::contradicts;
}

}  // namespace tessera::integrate_batch
