// SPDX-License-Identifier: Apache-2.0
// A study of the precision of sums of floats: the same strips in float and double and in several ways of
// adding, compared with theory; and the same strips launched to more and more threads.
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include "integrate_options.hpp"
#include "sum/trapezoid_error.hpp"
#include "tessera/core/text/error.hpp"
#include "tessera/run/study.hpp"

namespace tessera::integration {
namespace {

using Show = StudyTable::Show;
using Cell = StudyTable::Cell;
using Progress = std::function<void(const std::string&)>;

constexpr std::int64_t base = 65536;
constexpr int repetitions = 5;

struct Measured {
  double value = 0;
  std::vector<double> seconds;  // none: it was added elsewhere
};

// Limits in seconds for a single thread of a GPU, which takes seconds for what a core does in a tenth of one.
// once: sums that are expected to take longer are added by the CPU; together: no repetition after it.
struct TimeLimit {
  double once = INFINITY, together = INFINITY;
};
constexpr TimeLimit of_a_device{0.75, 1};

// Runs one command, with some of its words replaced.
class Bench {
 public:
  Bench(const Operation& operation, const Arguments& given, const Request& request, const Progress& progress,
        TimeLimit time_limit)
      : operation_(&operation),
        words_(given.words()),
        request_(request),
        progress_(&progress),
        time_limit_(time_limit) {}

  // Runs it so many times, or as often as the time limit allows, but at least once.
  Measured operator()(Element element, const Arguments::Words& more, int times,
                      std::optional<Tuning> tuning = {}) const {
    const Arguments::Words words = joined(more);
    Request request = request_;
    if (tuning) request.tuning = tuning;
    (*progress_)(fmt::format("{} strips, {}, {}{}", words.at("strips"), name_of(element), words.at("sum"),
                             tuning ? fmt::format(", {} threads", threads_of(*tuning)) : ""));
    Measured out;
    double spent = 0;
    do {
      const double seconds = add(request, element, words, out.value);
      out.seconds.push_back(seconds);
      spent += seconds;
    } while (static_cast<int>(out.seconds.size()) < times &&
             spent + out.seconds.back() <= time_limit_.together);
    return out;
  }

  // Returns the integral of |f|, as the exact sum of a few strips.
  double of_sizes() const {
    Arguments::Words more{
        {"FORMULA", "abs(" + words_.at("FORMULA") + ")"}, {"sum", "exact"}, {"strips", std::to_string(base)}};
    return std::fabs(by_processors(Element::f64, more).value);
  }

  // Runs it on the CPU if one run is expected to take too long.
  Measured expecting(double seconds, Element element, const Arguments::Words& more, int times) const {
    return seconds > time_limit_.once ? by_processors(element, more) : (*this)(element, more, times);
  }

 private:
  // Adds with one accumulator, in the order of one thread; reports no time.
  Measured by_processors(Element element, const Arguments::Words& more) const {
    Request request = request_;
    request.device = "cpu";
    request.variant = "naive";
    const Arguments::Words words = joined(more);
    (*progress_)(fmt::format("{} strips, {}, {}, by the processors", words.at("strips"), name_of(element),
                             words.at("sum")));
    Measured out;
    (void)add(request, element, words, out.value);
    return out;
  }

  Arguments::Words joined(const Arguments::Words& more) const {
    Arguments::Words out = words_;
    for (const auto& [name, word] : more) out[name] = word;
    return out;
  }
  static std::int64_t threads_of(const Tuning& tuning) {
    std::int64_t out = 1;
    for (const auto& [name, number] : tuning) out *= number;
    return out;
  }
  double add(const Request& request, Element element, const Arguments::Words& words, double& value) const {
    const Arguments arguments(operation_->signature, element, {}, words);
    const Outcome outcome = run(*operation_, arguments, request);
    const ArrayView& view = outcome.outputs.at("integral").view();
    value = load_as_double(view.element, view.data);
    return outcome.kernel_seconds;
  }

  const Operation* operation_;
  Arguments::Words words_;
  Request request_;
  const Progress* progress_;
  TimeLimit time_limit_;
};

// --- notes on the tables ---

// Errors of adding in float, in units of a float's last place, against the exact sum of the same strips.
struct Drift {
  std::int64_t strips = 0;
  double exact = 0, plain = 0, pairwise = 0, kahan = 0;
};

struct Drifts {
  std::vector<Drift> rows = {};
  double exact = 0;      // the sum of the most strips so far
  double magnitude = 0;  // the integral of |f|

  // True if samples cancel: the sum's own last place is then no measure of its terms.
  bool cancels() const { return !(magnitude <= 16 * std::fabs(exact)); }
  // Returns the difference from the exact sum in its ulps or, if samples cancel, in ulps of the integral of
  // |f|.
  double units(double measured) const;
};

// The error of one launch's sum, in units.
struct Launched {
  std::int64_t threads = 0;
  double off = 0;
};

constexpr double notable = 8;  // units; a simple program would attribute less to chance

double largest(const Drifts& drift, double Drift::*of) {
  double out = 0;
  for (const Drift& one : drift.rows) out = std::fmax(out, std::fabs(one.*of));
  return out;
}

std::string growth_text(const Drifts& drift, bool of_sum) {
  const Drift &first = drift.rows.front(), &last = drift.rows.back();
  // A drift grows with the strips.
  const bool grows = drift.rows.size() == 1 || std::fabs(last.plain) > std::fabs(first.plain);
  std::string out = fmt::format(
      "One float accumulator {}: at {} strips it is {:.2g} units of its last place off",
      grows ? "drifts" : "is off, the less the more strips there are", last.strips, std::fabs(last.plain));
  const double doublings = std::log2(static_cast<double>(last.strips) / static_cast<double>(first.strips)),
               growth = std::pow(std::fabs(last.plain / first.plain), 1 / doublings);
  const bool known = doublings >= 1 && std::isfinite(growth);
  if (known)
    out += fmt::format(", at {} {:.2g}: {:.2g} times as many for each doubling", first.strips,
                       std::fabs(first.plain), growth);
  out += ".";
  // Random errors grow by √2 for each doubling.
  constexpr double of_chance = 1.5;
  if (!of_sum || (known && growth <= of_chance)) return out;
  return out +
         " Neighbouring samples are almost equal, so each is rounded the same way as the one before; these "
         "errors add up one by one where errors of chance would cancel. And the sample times h shrinks as "
         "1/N, while the sum's last place stays.";
}

std::string cures_text(const Drifts& drift, bool accumulated) {
  const double pairwise = largest(drift, &Drift::pairwise), kahan = largest(drift, &Drift::kahan);
  const bool cured = std::fmax(pairwise, kahan) < notable;
  std::string out = fmt::format(
      "{} pairwise sums of floats are at most {:.2g} units of the last place off, and Kahan's {:.2g}{}",
      cured ? "What cures it:" : "Beside it", pairwise, kahan, cured ? ", without a single double." : ".");
  if (accumulated && !cured)
    out +=
        " That is the abscissae's error: they were accumulated in float, and no way of adding samples mends "
        "it.";
  return out;
}

double Drifts::units(double measured) const {
  const double size = cancels() ? magnitude : std::fmax(std::fabs(measured), std::fabs(exact));
  const auto of_float = static_cast<float>(size);
  if (of_float == 0) return 0;
  return (measured - exact) / static_cast<double>(std::nextafter(of_float, INFINITY) - of_float);
}

std::string theory_text(const Convergence& order, double scale, const TrapezoidOptions& options) {
  std::string out =
      fmt::format("The error falls by h^{:g}: {:.6g}·h^{:g}, found from sums of up to 8192 strips.",
                  order.exponent, order.factor * scale, order.exponent);
  // An end like c·√distance has the error c·ζ(-1/2)·h^1.5.
  constexpr double zeta = -0.20788622497735456602;
  const double root = order.factor / zeta;
  if (order.exponent == 1.5)
    out += fmt::format(
        " That is {:.6g}·ζ(-1/2)·h^1.5, the mark of an end like {:.6g}·√distance, whose slope is infinite: "
        "where slopes are finite, the error falls by h^2.",
        root * scale, root);
  if (order.exponent == 1.5 && options.formula == "sqrt(1-x^2)" && scale == 4)
    out += " (Theory: 4·√2·ζ(-1/2) = -1.17598.)";
  return out;
}

std::vector<std::string> drift_text(const TrapezoidOptions& options, const Drifts& drift) {
  for (const Drift& one : drift.rows)
    if (!std::isfinite(one.plain + one.pairwise + one.kahan))
      return {"Some of the sums are no finite numbers: their drift is not computed."};
  const bool accumulated = options.accumulated, drifts = largest(drift, &Drift::plain) >= notable;
  std::vector<std::string> out;
  if (drift.cancels())
    out.push_back(
        fmt::format("Samples cancel: the integral is {:.3g}, that of |f| {:.3g}. Units are of a float's last "
                    "place of the latter; beside the integral itself each is as much larger.",
                    drift.exact, drift.magnitude));
  // If the cures keep the error, the samples themselves are inaccurate.
  const double cured = std::fmax(largest(drift, &Drift::pairwise), largest(drift, &Drift::kahan));
  if (drifts) out.push_back(growth_text(drift, !drift.cancels() && cured < notable));
  else
    out.push_back(
        fmt::format("One float accumulator does not drift here: it is at most {:.2g} units of its last place "
                    "off, up to {} strips.",
                    largest(drift, &Drift::plain), drift.rows.back().strips));
  const bool quarter_circle =
      options.formula == "sqrt(1-x^2)" && options.a == 0 && options.b == 1 && !accumulated;
  if (quarter_circle)
    out.emplace_back(
        "Its end: from h = 2^-24 on, half of the last place of a sum above 1/4 is as much as a sample's "
        "share: samples above 1/2 count as one unit, those below as none. The sum then counts strips up to "
        "where y = 1/2, and 4 times the area is 4·√3/2 = 2√3 = 3.4641016, not π.");
  if (drifts) out.push_back(cures_text(drift, accumulated));
  return out;
}

std::string no_order_text(const Drifts& drift) {
  const bool same = std::ranges::all_of(drift.rows, [&](const Drift& one) {
    return std::fabs(one.exact - drift.rows[0].exact) <= 1e-15 * drift.magnitude;
  });
  return same ? "Sums of any number of strips are the same in double: the trapezoid rule leaves nothing out "
                "here, and no error falls."
              : "The sums of few strips do not fall like a power of h: neither error nor prediction can be "
                "told.";
}

std::string partial_sums_text(const std::vector<Launched>& launched) {
  const Launched &alone = launched.front(), &together = launched.back(),
                 &best = *std::ranges::min_element(launched, {}, &Launched::off);
  std::string out = fmt::format(
      "One thread's sum is {:.2g} units of a float's last place off, that of the most threads {:.2g}",
      alone.off, together.off);
  if (!(alone.off >= notable)) return out + ".";
  if (!(together.off < alone.off / 2)) return out + ": it does not fall with the number of threads.";
  if (best.off >= together.off / 2)
    return out +
           ": it falls with the length of a thread's partial sum, for a short sum's last place is small, and "
           "few are left to be added.";
  return out + fmt::format(", and that of {} threads {:.2g}: it falls, but not from row to row.",
                           best.threads, best.off);
}

// --- the tables ---

// The ways that the first table compares; the first of each type is the note's.
struct Method {
  const char* title;
  Element element;
  Arguments::Words words;
  bool digits;  // its value is shown, not only its error
};
std::vector<Method> methods(const std::string& abscissa) {
  const auto words = [&](const char* sum, const char* scale_at) {
    return Arguments::Words{{"sum", sum}, {"scale-at", scale_at}, {"abscissa", abscissa}};
  };
  return {{"f32 plain, at term", Element::f32, words("plain", "term"), true},
          {"f32 plain, at end", Element::f32, words("plain", "end"), false},
          {"f32 pairwise", Element::f32, words("pairwise", "end"), false},
          {"f32 kahan", Element::f32, words("kahan", "end"), false},
          {"f64 plain, at term", Element::f64, words("plain", "term"), true},
          {"f64 exact", Element::f64, words("exact", "end"), false}};
}

std::int64_t max_strips(const Arguments& given) {
  const std::int64_t most = given.text("strips").empty() ? base * 256 : given.integer("strips");
  if (most < base)
    throw Error("--study precision doubles the strips from " + std::to_string(base) + " on: --strips " +
                std::to_string(most) + " is less");
  return most;
}

std::string elsewhere_text(std::int64_t strips) {
  return fmt::format(
      "From {} strips on, sums for which one thread of the device would need more than {:g} s were added by "
      "the processors' one accumulator, in the same order: these have no time. What is longer than {:g} s "
      "for "
      "five repetitions is repeated less often.",
      strips, of_a_device.once, of_a_device.together);
}

StudyTable without_rows(const std::vector<Method>& all) {
  StudyTable out{.title = "Float against double: errors of the sum, by strips and by the way of adding",
                 .columns = {{"strips"}, {"predicted error", Show::error}}};
  for (const Method& way : all) {
    if (way.digits) out.columns.push_back({way.title});
    out.columns.push_back({way.digits ? "its error" : way.title, Show::error});
    if (way.digits) out.columns.push_back({"its time", Show::seconds});
  }
  return out;
}

StudyTable table_of_sums(const Bench& bench, const Arguments& given, const TrapezoidOptions& options,
                         const std::optional<Convergence>& order, Drifts& drift) {
  const double scale = options.scale;
  drift.magnitude = bench.of_sizes();
  const std::vector<Method> all = methods(given.text("abscissa"));
  StudyTable out = without_rows(all);
  std::vector<double> seconds(all.size(), 0);  // for half as many strips
  std::int64_t elsewhere = 0;
  for (std::int64_t strips = base; strips <= max_strips(given); strips *= 2) {
    std::vector<Cell> row;
    row.emplace_back(strips);
    const double width = std::fabs((options.b - options.a) / static_cast<double>(strips));
    row.push_back(order ? Cell(scale * order->factor * std::pow(width, order->exponent)) : Cell());
    std::vector<double> values;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Method& way = all[i];
      Arguments::Words words = way.words;
      words["strips"] = std::to_string(strips);
      const Measured measured =
          bench.expecting(2 * seconds[i], way.element, words, way.digits ? repetitions : 1);
      const bool here = !measured.seconds.empty();
      seconds[i] = here ? median(measured.seconds) : 2 * seconds[i];
      if (!here && elsewhere == 0) elsewhere = strips;
      values.push_back(measured.value);
      if (way.digits) row.emplace_back(measured.value);
      row.push_back(order ? Cell(static_cast<double>(measured.value - scale * order->limit)) : Cell());
      if (way.digits) row.push_back(here ? Cell(measured.seconds) : Cell());
    }
    out.rows.push_back(std::move(row));
    // Indices are those of methods().
    const double exact = values[5];
    drift.exact = exact;
    drift.rows.push_back(
        {strips, exact, drift.units(values[0]), drift.units(values[2]), drift.units(values[3])});
  }
  out.remarks.push_back(order ? theory_text(*order, scale, options) : no_order_text(drift));
  std::ranges::copy(drift_text(options, drift), std::back_inserter(out.remarks));
  if (elsewhere > 0) out.remarks.push_back(elsewhere_text(elsewhere));
  return out;
}

bool takes_launches(const Plan& plan) {
  const auto& ranges = plan.choice->ranges;
  return std::ranges::count(ranges, "block", &Range::name) +
             std::ranges::count(ranges, "thread", &Range::name) ==
         2;
}

StudyTable table_of_threads(const Bench& bench, const Arguments& given, const Plan& plan,
                            const std::optional<Convergence>& order, double scale, const Drifts& drift) {
  constexpr std::pair<int, int> shapes[] = {{1, 1},   {1, 4},    {1, 16},   {1, 64},   {1, 256},
                                            {4, 256}, {16, 256}, {64, 256}, {256, 256}};
  StudyTable out{.title = fmt::format("More and more threads: {} on {}, f32 plain, up to {} repetitions",
                                      plan.variant->name, plan.device.label(), repetitions),
                 .columns = {{"block"},
                             {"thread"},
                             {"threads"},
                             {"time", Show::seconds},
                             {"gain", Show::ratio},
                             {"efficiency", Show::ratio},
                             {"result"},
                             {"error", Show::error}}};
  double alone = 0;
  std::vector<Launched> launched;
  for (const auto& [block, thread] : shapes) {
    const Measured measured = bench(
        Element::f32, {{"sum", "plain"}, {"scale-at", "term"}, {"strips", std::to_string(max_strips(given))}},
        repetitions, Tuning{{"block", block}, {"thread", thread}});
    const double seconds = median(measured.seconds);
    if (alone == 0) alone = seconds;
    const std::int64_t threads = std::int64_t{block} * thread;
    launched.push_back({threads, std::fabs(drift.units(measured.value))});
    out.rows.push_back({std::int64_t{block}, std::int64_t{thread}, threads, measured.seconds, alone / seconds,
                        alone / seconds / static_cast<double>(threads), measured.value,
                        order ? Cell(static_cast<double>(measured.value - scale * order->limit)) : Cell()});
  }
  out.remarks = {
      partial_sums_text(launched),
      "Gain is against one thread, efficiency is gain over threads. A gain far beyond the number of lanes "
      "(such as 2300 on a GPU of 112) is no riddle: alone, a thread waits some twenty cycles or more for "
      "each of its results before it can use it, so even its own lane is idle nearly all the time. With "
      "enough threads for each lane, another one's instruction starts in every cycle of that wait: lanes × "
      "latency is the gain to expect, 112 × 20.6 = 2300. Beyond that, more threads only queue."};
  if (plan.device.where == Where::simt)
    out.remarks.push_back(
        "These times are the executor's on this machine's processors; they say nothing of a GPU's.");
  return out;
}

Error ignored(const std::string& option, const std::string& why) {
  return Error(option + " would be ignored: " + why);
}

// Returns the trapezoid rule's convergence for this integrand, from sums of 1 to 8192 strips in long double.
// Empty if the error does not fall like a power of the width.
std::optional<Convergence> order_of(const Arguments& given) {
  const TrapezoidOptions options = trapezoid_options_of(given);
  constexpr int finest_level = 13;
  const auto& program = program_of<double>(given);
  const auto f = [&](long double x) { return bounded(program, {x, 0}).value; };
  return convergence_of(doubled_sums(f, options.a, options.b, finest_level),
                        static_cast<long double>(options.b) - options.a, 0x1p-64L);
}

void check(const Arguments& given, const Request& given_request) {
  constexpr const char* both = "--study precision computes each sum in both types, and in several ways";
  if (given.element() == Element::f32) throw ignored("--element f32", both);
  for (const char* name :
       {"sum", "scale-at", "roots", "relative", "absolute", "most-evaluations", "most-seconds"}) {
    const std::string& word = given.text(name);
    if (word != given.signature().at(name).value) throw ignored(std::string("--") + name + " " + word, both);
  }
  if (given_request.tuning) throw ignored("--tuning", "the second table goes through launches");
}

// Returns the arguments with strips, because a study is about sums even if no strips were named.
Arguments with_strips(const Operation& operation, const Arguments& given) {
  Arguments::Words words = given.words();
  words["strips"] = std::to_string(max_strips(given));
  return {operation.signature, given.element(), {}, words};
}

void make(const Operation& operation, const Arguments& words, const Request& given_request,
          const Progress& progress, const std::function<void(const StudyTable&)>& made) {
  check(words, given_request);
  const Arguments given = with_strips(operation, words);
  const TrapezoidOptions options = trapezoid_options_of(given);
  const auto order = order_of(given);
  // The first table is of one accumulator; the second shows the effect of the launch's shape.
  Request request = given_request, sums = given_request;
  const bool on_cpu = choose_device(operation, given, given_request).where == Where::cpu;
  sums.variant = on_cpu ? "naive" : "one_thread";
  sums.tuning = std::nullopt;
  if (!request.variant) request.variant = on_cpu ? "naive" : "strips_per_thread";
  const Plan plan = choose(operation, given, request);
  if (given_request.variant && !takes_launches(plan) && *given_request.variant != "naive")
    throw ignored("--variant " + *given_request.variant,
                  "the tables are of one accumulator, and of launches by block and thread");
  const TimeLimit time_limit = on_cpu ? TimeLimit{} : of_a_device;
  Drifts drift;
  made(table_of_sums(Bench(operation, given, sums, progress, time_limit), given, options, order, drift));
  if (takes_launches(plan))
    made(table_of_threads(Bench(operation, given, request, progress, time_limit), given, plan, order,
                          options.scale, drift));
}

[[maybe_unused]] const bool study_precision_registered =
    (register_study(Study{"integrate", "precision",
                          "float against double, predicted and measured; gains by threads", make}),
     true);

}  // namespace
}  // namespace tessera::integration
