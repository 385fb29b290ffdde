// SPDX-License-Identifier: Apache-2.0
// The operation integrate_batch: its arguments, cost, partition and test cases.
#include "integrate_batch.hpp"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <memory>
#include "tessera/core/operation/partition.hpp"
#include "tessera/core/text/error.hpp"
#include "tessera/core/operation/operation.hpp"
#include "ops/integrate/quadrature/one_variable/kronrod_nodes.hpp"

namespace tessera::integrate_batch {
namespace {

using quadrature::Reason;

Signature signature() {
  using namespace parameter;
  Signature out;
  Parameter evaluations = output("evaluations", {"n"}, "how often each integrand was computed"),
            reasons = output("reasons", {"n"},
                             "why each ended: 0 converged, 1 cap on evaluations, 4 roundoff, 5 singularity "
                             "suspected, 6 non-finite value, 9 doubtful: only zeros were seen");
  evaluations.element = reasons.element = Element::i32;
  out.parameters = {
      word("FORMULA", "the integrand, of the variable and of parameters, such as \"cos(k*x)*exp(-x)\""),
      words("LIMITS",
            "FROM TO for x, t=[FROM,TO] for another variable; formulas of the parameters, such as 0 inf or 0 "
            "k"),
      text("parameters", "",
           "what differs, such as \"k=0.5:20,w=1e-3:1e3:log,c\": k runs evenly over the n integrals, w by "
           "equal factors, c is the next column of P; all of them go together"),
      optional_integer("n", 1, std::int64_t{1} << 31, "how many integrals, where P does not say it"),
      integer("first", 0, 0, std::int64_t{1} << 31,
              "where these are a part of a batch: its integrals before them"),
      optional_integer("of", 1, std::int64_t{1} << 31, "and how many it has; ranges run over all of them"),
      optional_input("P", {"n", "p"}, "parameters: a row for each integral"),
      optional_input("T", {"n"},
                     "the relative error that is allowed of each integral, instead of --relative"),
      text("relative", "", "the error that is allowed, as a share of the integral; 1e-10"),
      text("absolute", "", "the error that is allowed in any case; 0"),
      text("points", "",
           "where the integrand is known to break; formulas of the parameters, such as \"k,2*k\""),
      integer("most-evaluations", 20'000, pair_cost, 1'000'000, "limit on the evaluations of one integral"),
      output("integrals", {"n"}, "the integrals"),
      output("errors", {"n"}, "how far each may be off"),
      evaluations,
      reasons,
      value("converged", "how many integrals are within their tolerance"),
      value("worst", "the largest error told, as a share of its integral"),
      value("most", "the most evaluations of one integral"),
      value("mean", "evaluations of an integral, on the average"),
      value("reason", "converged, or how many are not and why")};
  return out;
}

double flops(const Arguments& arguments) {
  // The minimum of an integral: two cells.
  const BatchOptions& options = batch_options_of(arguments);
  return static_cast<double>(arguments.array("integrals").extents[0]) * pair_cost *
         (1 + options.integrand.step_count);
}

std::string words_of(int why) {
  switch (static_cast<Reason>(why)) {
    case Reason::evaluations:
      return "cap on evaluations";
    case Reason::roundoff:
      return "roundoff";
    case Reason::singular:
      return "singularity suspected";
    case Reason::non_finite:
      return "non-finite value";
    case Reason::doubtful:
      return "doubtful: only zeros were seen";
    default:
      return fmt::format("reason {}", why);
  }
}

void report_values(const Arguments& arguments, Values& values) {
  const auto at = [&arguments](const char* name) { return arguments.array(name).data; };
  const auto* const integral = static_cast<const double*>(at("integrals"));
  const auto* const error = static_cast<const double*>(at("errors"));
  const auto* const spent = static_cast<const std::int32_t*>(at("evaluations"));
  const auto* const why = static_cast<const std::int32_t*>(at("reasons"));
  const std::int64_t n = arguments.array("integrals").extents[0];
  std::map<int, std::int64_t> reasons;
  std::int64_t most = 0, all = 0;
  double worst = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    ++reasons[why[i]];
    most = std::max<std::int64_t>(most, spent[i]);
    all += spent[i];
    if (const double share = error[i] / std::fabs(integral[i]); error[i] != 0 && !(share <= worst))
      worst = share;
  }
  std::string others;
  for (const auto& [reason, count] : reasons)
    if (reason != converged)
      others += fmt::format("{}{} {}", others.empty() ? "" : ", ", count, words_of(reason));
  values["converged"] = reasons[converged];
  values["worst"] = worst;
  values["most"] = most;
  values["mean"] = static_cast<double>(all) / static_cast<double>(n);
  values["reason"] = others.empty() ? "converged" : "not converged: " + others;
}

Case tried(std::string formula, std::string limits, std::string parameters, std::string n,
           Arguments::Words more = {}) {
  more["FORMULA"] = std::move(formula);
  more["LIMITS"] = std::move(limits);
  more["parameters"] = std::move(parameters);
  more["n"] = std::move(n);
  return {.dims = {}, .words = std::move(more)};
}

// Every kind of range, both directions, ends that are singular, breaks that move, one integral, more than a
// block's threads, parameters from an array, integrals that end for other reasons.
std::vector<Case> cases() {
  std::vector<Case> out = {tried("x^k", "0 1", "k=-0.9:4", "11"),
                           tried("exp(-k*x)", "0 inf", "k=1e-3:1e3:log", "9", {{"relative", "1e-9"}}),
                           tried("1/(1+k^2*x^2)", "-inf inf", "k=0.01:30", "5"),
                           tried("cos(k*x)*exp(-x)", "0 inf", "k=0:12", "6", {{"relative", "1e-9"}}),
                           tried("exp(x/k)", "-inf -k", "k=1:3", "3"),
                           tried("abs(x-k)", "0 1", "k=-0.1:1.1", "13"),
                           tried("floor(k*x)", "0 1", "k=3:20", "3", {{"relative", "1e-2"}}),
                           tried("k*t+w", "t=[w,k]", "k=1:-2,w=0:3", "7", {{"absolute", "1e-12"}}),
                           tried("sqrt(x)*cos(k*x)", "0 3", "k=0.5:20", "70", {{"relative", "1e-9"}}),
                           tried("log(x)/sqrt(x)", "0 k", "k=2", "1"),
                           tried("exp(-((x-k)*1e4)^2)", "0 1", "k=0.2:0.7", "4"),
                           tried("1/x", "0 k", "k=1:2", "2"),
                           tried("sin(k*x)", "0 pi", "k=2000:2001", "2", {{"most-evaluations", "840"}}),
                           tried("if(x*x<k,1,0)", "0 1", "k=0.2:0.3", "3", {{"points", "sqrt(k)"}})};
  Case columns = tried("exp(-(1+k*k)*x)*cos(w*x)", "0 5", "k,w", "");
  columns.words.erase("n");
  columns.dims = {{"n", 40}, {"p", 2}};
  columns.optional_inputs = {"P"};
  out.push_back(columns);
  return out;
}

// --- how a batch is cut: between integrals ---
std::vector<Slice> reads_of(const Arguments& arguments, const Tile& tile) {
  std::vector<Slice> out;
  if (arguments.has("P")) out.push_back({"P", {tile.rows, {0, arguments.array("P").extents[1]}}});
  if (arguments.has("T")) out.push_back({"T", {tile.rows}});
  return out;
}

std::vector<Slice> writes_of(const Tile& tile) {
  std::vector<Slice> out;
  for (const char* name : {"integrals", "errors", "evaluations", "reasons"})
    out.push_back({name, {tile.rows}});
  return out;
}

Arguments part(const Arguments& whole, const Tile& tile) {
  const BatchOptions& options = batch_options_of(whole);
  const std::int64_t here = whole.array("integrals").extents[0];
  Arguments::Words words = whole.words();
  words["first"] = std::to_string(options.first + tile.rows.first);
  words["of"] = std::to_string(options.of > 0 ? options.of : here);
  if (!words["n"].empty()) words["n"] = std::to_string(tile.rows.size());
  std::map<std::string, ArrayView> inputs;
  for (const Slice& slice : reads_of(whole, tile))
    inputs.emplace(slice.array, part_of(whole.array(slice.array), slice.box));
  Arguments out(whole.signature(), whole.element(), std::move(inputs), words);
  for (const Slice& slice : writes_of(tile))
    out.set_array(slice.array, part_of(whole.array(slice.array), slice.box));
  return out;
}

Partition divide(const Arguments& arguments) {
  const auto whole = std::make_shared<const Arguments>(arguments);
  Partition out;
  out.rows = arguments.array("integrals").extents[0];
  out.same_bits = [](Where) { return true; };
  out.same_everywhere = true;
  const double each = find_operation("integrate_batch")->flops(arguments) /
                      static_cast<double>(std::max<std::int64_t>(1, out.rows));
  out.flops = [each](const Tile& tile) { return each * static_cast<double>(tile.rows.size()); };
  // flops() counts only the minimum that an integral needs.
  out.min_flops = 2e3;
  out.reads = [whole](const Tile& tile) { return reads_of(*whole, tile); };
  out.writes = [](const Tile& tile) { return writes_of(tile); };
  out.part = [whole](const Tile& tile) { return part(*whole, tile); };
  return out;
}

Operation operation() {
  Operation out;
  out.name = "integrate_batch";
  out.summary = "many integrals of a formula that differ by its parameters";
  out.signature = signature();
  out.elements = {Element::f64};
  out.output = "integrals";
  out.flops = flops;
  out.reference = reference;
  out.report_values = report_values;
  out.cases = cases();
  return out;
}

[[maybe_unused]] const bool integrate_batch_registered =
    (register_operation(operation()), register_partition("integrate_batch", divide), true);

// Returns the weight of the node at `mine` in the value at 1 of the interpolating polynomial.
double weight_at_end(const Nodes& nodes, double mine) {
  double out = 1;
  const auto factor = [&](double other) {
    if (other != mine) out *= (1 - other) / (mine - other);
  };
  for (const double x : nodes.x) {
    factor(x);
    if (x != 0) factor(-x);
  }
  return out;
}

Nodes made() {
  const auto& known = quadrature::kronrod21;  // from the end inwards
  Nodes out{};
  for (std::size_t i = 0; i < slots; ++i) {
    const std::size_t slot = slots - 1 - i;
    const double half = slot == 0 ? 0.5 : 1;
    out.x[slot] = known.x[i];
    out.kronrod[slot] = half * known.kronrod[i];
    out.apart[0][slot] = half * (known.kronrod[i] - (i % 2 == 1 ? known.gauss[i / 2] : 0));
  }
  const auto rules = quadrature::null_rules<slots, nulls - 1>(out.x, out.kronrod, out.apart[0]);
  for (std::size_t k = 1; k < nulls; ++k) std::copy(rules[k - 1].begin(), rules[k - 1].end(), out.apart[k]);
  for (std::size_t slot = 0; slot < slots; ++slot) {
    const double half = slot == 0 ? 0.5 : 1;
    out.near[slot] = half * weight_at_end(out, out.x[slot]);
    out.far[slot] = half * weight_at_end(out, -out.x[slot]);
  }
  return out;
}

}  // namespace

const Nodes& kronrod_nodes() {
  static const Nodes nodes = made();
  return nodes;
}

}  // namespace tessera::integrate_batch
