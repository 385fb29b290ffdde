// SPDX-License-Identifier: Apache-2.0
// One integral beside Boost's tanh_sinh: the quarter circle to 1e-12, on one core, in turn.
//   beside_boost [--seconds S] [--json FILE]
// By a callable, and by text that has been parsed before: the rule itself, the calls that name it, which look
// at the formula and at f's slopes besides, and the rule that `auto` finds and checks.
#include <boost/math/quadrature/tanh_sinh.hpp>
#include <nlohmann/json.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <numbers>
#include <string>
#include <vector>
#include "tessera/integrate.hpp"
#include "ops/integrate/quadrature/one_variable/auto.hpp"
#include "ops/integrate/quadrature/one_variable/tanh_sinh.hpp"
#include "ops/integrate/quadrature/formula/formula_integrand.hpp"
#include "tessera/run/choose.hpp"
#include "tessera/bench/machine.hpp"
#include "tessera/bench/result.hpp"

namespace {

using tessera::quadrature::Answer;
using Json = nlohmann::ordered_json;

constexpr double relative = 1e-12, exact = std::numbers::pi / 4;

double circle(double x) { return std::sqrt(1 - x * x); }

struct Way {
  std::string name;
  std::function<Answer()> integrate;
  int calls = 1;                       // of a sample, whose time is divided by them
  std::vector<double> seconds = {};    // of one call
  std::function<double()> value = {};  // what is timed where no Answer is made of it
};

double seconds_of(const Way& way) {
  const auto start = std::chrono::steady_clock::now();
  double sum = 0;
  for (int i = 0; i < way.calls; ++i) sum += way.value ? way.value() : way.integrate().value;
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  return std::isfinite(sum) ? spent.count() / way.calls : tessera::quadrature::infinity;
}

std::vector<Way> ways() {
  namespace quadrature = tessera::quadrature;
  const quadrature::Range range{0, 1};
  const quadrature::Tolerance tolerance{.relative = relative};
  const auto lambda = [](double x) { return circle(x); };
  const auto call = quadrature::plain(lambda);
  const auto text = quadrature::integrand_of(tessera::formula::parse("sqrt(1-x^2)"), "x", range);
  const auto by_call = [lambda](const char* rule) {
    return [=] { return tessera::integrate(lambda, 0, 1, {.relative = relative, .rule = rule}); };
  };
  const auto by_text = [=](const char* rule) {
    return [=] { return quadrature::by_name(rule, text, range, tolerance, {}, {}); };
  };
  const auto boost = std::make_shared<boost::math::quadrature::tanh_sinh<double>>();
  std::vector<Way> out{{"boost tanh_sinh, callable",
                        [=] {
                          Answer answer;
                          answer.value = boost->integrate(lambda, 0.0, 1.0, relative, &answer.truncation);
                          answer.reason = quadrature::Reason::as_requested;
                          return answer;
                        }},
                       {"tanh_sinh, callable", [=] { return quadrature::tanh_sinh(call, range, tolerance); }},
                       {"tanh_sinh, text", [=] { return quadrature::tanh_sinh(text, range, tolerance); }},
                       {"integrate by the rule tanh_sinh, callable", by_call("tanh_sinh")},
                       {"integrate by the rule tanh_sinh, text", by_text("tanh_sinh")},
                       {"integrate, callable", by_call("auto")},
                       {"integrate, text", by_text("auto")}};
  out[0].value = [=] {
    double error = 0;
    return boost->integrate(lambda, 0.0, 1.0, relative, &error);
  };
  for (Way& way : out) {
    (void)way.integrate();  // tables of nodes are made once
    constexpr double sample = 2e-5;
    while (seconds_of(way) * way.calls < sample && way.calls < 1 << 20) way.calls *= 2;
  }
  return out;
}

Json row_of(const Way& way, double first) {
  const Answer answer = way.integrate();
  const auto summary = tessera::bench::summarize(way.seconds);
  Json row{{"way", way.name},
           {"relative", relative},
           {"value", answer.value},
           {"true_error", answer.value - exact}};
  row["reason"] = tessera::quadrature::reason_text(answer);
  row["evaluations"] = answer.evaluations == 0 ? Json() : Json(answer.evaluations);  // Boost does not tell
  row.update(
      {{"median", summary.median}, {"q1", summary.q1}, {"q3", summary.q3}, {"minimum", summary.minimum}});
  row.update({{"samples", summary.count}, {"calls", way.calls}, {"times_boost", summary.median / first}});
  row["each"] = tessera::bench::thinned(way.seconds, 101);
  return row;
}

int measure(double seconds, const std::string& file, const std::vector<std::string>& argv) {
  std::vector<Way> all = ways();
  const auto start = std::chrono::steady_clock::now();
  do
    for (Way& way : all) way.seconds.push_back(seconds_of(way));
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds);
  const double first = tessera::bench::summarize(all[0].seconds).median;
  Json out{{"schema", 1}, {"kind", "compare"}, {"operation", "integrate"}};
  out.update(tessera::bench::provenance(argv, tessera::bench::now_utc()));
  out["devices"] = Json::array({tessera::bench::to_json(tessera::find_device("cpu:threads=1"))});
  out["rows"] = Json::array();
  bool right = true;
  std::printf("%-44s %10s %8s %12s %10s\n", "sqrt(1-x^2) from 0 to 1, to 1e-12", "µs", "x Boost",
              "evaluations", "off");
  for (const Way& way : all) {
    const Json row = row_of(way, first);
    const double off = row["true_error"].get<double>();
    right = right && std::fabs(off) <= relative * exact;
    std::printf("%-44s %10.4f %8.2f %12s %10.1e\n", way.name.c_str(), 1e6 * row["median"].get<double>(),
                row["times_boost"].get<double>(), row["evaluations"].dump().c_str(), off);
    out["rows"].push_back(row);
  }
  if (!file.empty()) std::ofstream(file) << out.dump(1) << "\n";
  if (!right) std::fprintf(stderr, "wrong: off by more than 1e-12 of the integral\n");
  return right ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  const std::vector<std::string> argv(words, words + count);
  double seconds = 2;
  std::string file;
  for (std::size_t i = 1; i + 1 < argv.size(); i += 2)
    if (argv[i] == "--seconds") seconds = std::atof(argv[i + 1].c_str());
    else if (argv[i] == "--json") file = argv[i + 1];
  return measure(seconds, file, argv);
}
