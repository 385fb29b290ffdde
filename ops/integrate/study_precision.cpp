// SPDX-License-Identifier: Apache-2.0
// How far a sum of floats can be trusted: the same strips in float and double and in several ways of adding,
// against what theory says; and the same strips dealt to more and more threads.
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include "falling_error.hpp"
#include "study_precision_words.hpp"
#include "tessera/core/error.hpp"
#include "tessera/run/study.hpp"

namespace tessera::integration {
namespace {

using Show = StudyTable::Show;
using Cell = StudyTable::Cell;
using Told = std::function<void(const std::string&)>;

constexpr std::int64_t base = 65536;
constexpr int repetitions = 5;

struct Measured {
  double value = 0;
  std::vector<double> seconds;  // none: it was added elsewhere
};

// Of a lone thread of a GPU, which takes seconds for what a core does in a tenth of one: what is expected to
// take longer than the first is added by the processors, and repetitions end after the second.
struct Patience {
  double once = INFINITY, together = INFINITY;
};
constexpr Patience of_a_device{0.75, 1};

// One command's words, with some of them said otherwise.
class Bench {
 public:
  Bench(const Operation& operation, const Arguments& given, const Request& request, const Told& told,
        Patience patience)
      : operation_(&operation), words_(given.words()), request_(request), told_(&told), patience_(patience) {}

  // So many times, or as often as there is patience for, but once.
  Measured operator()(Element element, const Arguments::Words& more, int times,
                      std::optional<Tuning> tuning = {}) const {
    const Arguments::Words words = joined(more);
    Request request = request_;
    if (tuning) request.tuning = tuning;
    (*told_)(fmt::format("{} strips, {}, {}{}", words.at("strips"), name_of(element), words.at("sum"),
                         tuning ? fmt::format(", {} threads", threads_of(*tuning)) : ""));
    Measured out;
    double spent = 0;
    do {
      const double seconds = add(request, element, words, out.value);
      out.seconds.push_back(seconds);
      spent += seconds;
    } while (static_cast<int>(out.seconds.size()) < times &&
             spent + out.seconds.back() <= patience_.together);
    return out;
  }

  // Of a few strips, exactly: the size of what is added.
  double of_sizes() const {
    Arguments::Words more{
        {"FORMULA", "abs(" + words_.at("FORMULA") + ")"}, {"sum", "exact"}, {"strips", std::to_string(base)}};
    return std::fabs(by_processors(Element::f64, more).value);
  }

  // Where that is expected to take so long for once: the processors, if it is too long.
  Measured expecting(double seconds, Element element, const Arguments::Words& more, int times) const {
    return seconds > patience_.once ? by_processors(element, more) : (*this)(element, more, times);
  }

 private:
  // By one accumulator, whose order is that of one thread. No time is told.
  Measured by_processors(Element element, const Arguments::Words& more) const {
    Request request = request_;
    request.device = "cpu";
    request.variant = "naive";
    const Arguments::Words words = joined(more);
    (*told_)(fmt::format("{} strips, {}, {}, by the processors", words.at("strips"), name_of(element),
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
    Arguments arguments(operation_->signature, element, {}, words);
    const Outcome outcome = run(*operation_, arguments, request);
    const ArrayView& view = arguments.array("integral");
    value = load_as_double(view.element, view.data);
    return outcome.kernel_seconds;
  }

  const Operation* operation_;
  Arguments::Words words_;
  Request request_;
  const Told* told_;
  Patience patience_;
};

// The ways that the first table compares; the first of each type is the note's.
struct Way {
  const char* title;
  Element element;
  Arguments::Words words;
  bool digits;  // its value is shown, not only its error
};
std::vector<Way> ways(const std::string& abscissa) {
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

std::int64_t most_strips(const Arguments& given) {
  const std::int64_t asked = given.text("strips").empty() ? base * 256 : given.integer("strips");
  if (asked < base)
    throw Error("--study precision doubles the strips from " + std::to_string(base) + " on: --strips " +
                std::to_string(asked) + " is less");
  return asked;
}

std::string words_on_patience(std::int64_t strips) {
  return fmt::format(
      "From {} strips on, sums for which one thread of the device would need more than {:g} s were added by "
      "the "
      "processors' one accumulator, in the same order: no time is told. What is longer than {:g} s for five "
      "repetitions is repeated less often.",
      strips, of_a_device.once, of_a_device.together);
}

StudyTable without_rows(const std::vector<Way>& all) {
  StudyTable out{.title = "Float against double: errors of the sum, by strips and by the way of adding",
                 .columns = {{"strips"}, {"predicted error", Show::error}}};
  for (const Way& way : all) {
    if (way.digits) out.columns.push_back({way.title});
    out.columns.push_back({way.digits ? "its error" : way.title, Show::error});
    if (way.digits) out.columns.push_back({"its time", Show::seconds});
  }
  return out;
}

StudyTable table_of_sums(const Bench& bench, const Arguments& given, const Setting& setting,
                         const std::optional<FallingError>& falling, Drifts& drift) {
  const double scale = setting.scale;
  drift.magnitude = bench.of_sizes();
  const std::vector<Way> all = ways(given.text("abscissa"));
  StudyTable out = without_rows(all);
  std::vector<double> seconds(all.size(), 0);  // of half as many strips
  std::int64_t elsewhere = 0;
  for (std::int64_t strips = base; strips <= most_strips(given); strips *= 2) {
    std::vector<Cell> row;
    row.emplace_back(strips);
    const double width = std::fabs((setting.b - setting.a) / static_cast<double>(strips));
    row.push_back(falling ? Cell(scale * falling->factor * std::pow(width, falling->exponent)) : Cell());
    std::vector<double> values;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Way& way = all[i];
      Arguments::Words words = way.words;
      words["strips"] = std::to_string(strips);
      const Measured measured =
          bench.expecting(2 * seconds[i], way.element, words, way.digits ? repetitions : 1);
      const bool here = !measured.seconds.empty();
      seconds[i] = here ? median(measured.seconds) : 2 * seconds[i];
      if (!here && elsewhere == 0) elsewhere = strips;
      values.push_back(measured.value);
      if (way.digits) row.emplace_back(measured.value);
      row.push_back(falling ? Cell(static_cast<double>(measured.value - scale * falling->limit)) : Cell());
      if (way.digits) row.push_back(here ? Cell(measured.seconds) : Cell());
    }
    out.rows.push_back(std::move(row));
    // In the order of ways().
    const double exact = values[5];
    drift.exact = exact;
    drift.rows.push_back(
        {strips, exact, drift.units(values[0]), drift.units(values[2]), drift.units(values[3])});
  }
  out.remarks.push_back(falling ? theory_of(*falling, scale, setting) : words_without_fall(drift));
  std::ranges::copy(words_on_floats(setting, drift), std::back_inserter(out.remarks));
  if (elsewhere > 0) out.remarks.push_back(words_on_patience(elsewhere));
  return out;
}

bool takes_launches(const Plan& plan) {
  const auto& ranges = plan.choice->ranges;
  return std::ranges::count(ranges, "block", &Range::name) +
             std::ranges::count(ranges, "thread", &Range::name) ==
         2;
}

StudyTable table_of_threads(const Bench& bench, const Arguments& given, const Plan& plan,
                            const std::optional<FallingError>& falling, double scale, const Drifts& drift) {
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
  std::vector<Dealt> dealt;
  for (const auto& [block, thread] : shapes) {
    const Measured measured =
        bench(Element::f32,
              {{"sum", "plain"}, {"scale-at", "term"}, {"strips", std::to_string(most_strips(given))}},
              repetitions, Tuning{{"block", block}, {"thread", thread}});
    const double seconds = median(measured.seconds);
    if (alone == 0) alone = seconds;
    const std::int64_t threads = std::int64_t{block} * thread;
    dealt.push_back({threads, std::fabs(drift.units(measured.value))});
    out.rows.push_back(
        {std::int64_t{block}, std::int64_t{thread}, threads, measured.seconds, alone / seconds,
         alone / seconds / static_cast<double>(threads), measured.value,
         falling ? Cell(static_cast<double>(measured.value - scale * falling->limit)) : Cell()});
  }
  out.remarks = {
      words_on_partial_sums(dealt),
      "Gain is against one thread, efficiency is gain over threads. A gain far beyond the number of lanes "
      "(such as 2300 on a GPU of 112) is no "
      "riddle: alone, a thread waits some twenty cycles or more for each of its results before it can use "
      "it, so even its own lane is idle nearly "
      "all the time. With enough threads for each lane, another one's instruction starts in every cycle of "
      "that wait: lanes × latency "
      "is the gain to expect, 112 × 20.6 = 2300. Beyond that, more threads only queue."};
  if (plan.device.where == Where::simt)
    out.remarks.push_back(
        "These times are the executor's on this machine's processors; they say nothing of a GPU's.");
  return out;
}

Error ignored(const std::string& option, const std::string& why) {
  return Error(option + " would be ignored: " + why);
}

void check(const Arguments& given, const Request& asked) {
  constexpr const char* both = "--study precision computes each sum in both types, and in several ways";
  if (given.element() == Element::f32) throw ignored("--element f32", both);
  for (const char* name :
       {"sum", "scale-at", "roots", "relative", "absolute", "most-evaluations", "most-seconds"}) {
    const std::string& word = given.text(name);
    if (word != given.signature().at(name).value) throw ignored(std::string("--") + name + " " + word, both);
  }
  if (asked.tuning) throw ignored("--tuning", "the second table goes through launches");
}

// A study is of sums, whether their strips were named or not.
Arguments with_strips(const Operation& operation, const Arguments& given) {
  Arguments::Words words = given.words();
  words["strips"] = std::to_string(most_strips(given));
  return {operation.signature, given.element(), {}, words};
}

void make(const Operation& operation, const Arguments& words, const Request& asked, const Told& told,
          const std::function<void(const StudyTable&)>& made) {
  check(words, asked);
  const Arguments given = with_strips(operation, words);
  const Setting setting = setting_of(given);
  const auto falling = falling_error(setting);
  // One accumulator is the lesson; how a launch's shape changes it has a table of its own.
  Request request = asked, sums = asked;
  const bool on_cpu = choose_device(operation, given, asked).where == Where::cpu;
  sums.variant = on_cpu ? "naive" : "one_thread";
  sums.tuning = std::nullopt;
  if (!request.variant) request.variant = on_cpu ? "naive" : "strips_per_thread";
  const Plan plan = choose(operation, given, request);
  if (asked.variant && !takes_launches(plan) && *asked.variant != "naive")
    throw ignored("--variant " + *asked.variant,
                  "the tables are of one accumulator, and of launches by block and thread");
  const Patience patience = on_cpu ? Patience{} : of_a_device;
  Drifts drift;
  made(table_of_sums(Bench(operation, given, sums, told, patience), given, setting, falling, drift));
  if (takes_launches(plan))
    made(table_of_threads(Bench(operation, given, request, told, patience), given, plan, falling,
                          setting.scale, drift));
}

[[maybe_unused]] const bool study_precision_registered =
    (register_study(Study{"integrate", "precision",
                          "float against double, predicted and measured; gains by threads", make}),
     true);

}  // namespace
}  // namespace tessera::integration
