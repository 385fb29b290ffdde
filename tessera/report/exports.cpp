// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/exports.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <iterator>

namespace tessera::report {
namespace {

constexpr const char* titles =
    "operation,problem,element,device,device_name,threads,ladder,place,variant,tuning,mode,caches,median_s,"
    "q1_s,"
    "q3_s,minimum_s,samples,throttled,round_trip_s,gflops,gbps,roofline,ceiling,ratio_serial,ratio_previous,"
    "ratio_baseline,clock_mhz,power_w,joules,picojoules_per_flop,verified,error_over_bound,relative_l2,"
    "reason\r\n";

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string number(std::optional<double> value) {
  return value && std::isfinite(*value) ? fmt::format("{}", *value) : "n/a";
}

std::string problem_of(const bench::Row& row) {
  std::string out;
  const auto add = [&out](const std::string& text) { out += (out.empty() ? "" : " ") + text; };
  for (const auto& [name, size] : row.dims) add(fmt::format("{}={}", name, size));
  for (const auto& [name, word] : row.words)
    if (!row.dims.contains(name)) add(name + "=" + word);
  for (const std::string& name : row.optional_inputs) add(name);
  return out;
}

std::string word_for(bench::Verified verified) {
  return verified == bench::Verified::ok ? "ok" : verified == bench::Verified::wrong ? "wrong" : "unchecked";
}

std::string line(const bench::Session& session, const bench::Row& row) {
  const bool measured = !row.seconds.empty();
  const bench::Summary s = measured ? bench::summarize(row.seconds) : bench::Summary{};
  const auto when = [measured](double value) { return measured ? number(value) : std::string("n/a"); };
  const auto roofline = row.roofline();
  const std::string cells[] = {session.operation,
                               problem_of(row),
                               row.element_name(),
                               bench::label_of(row.device),
                               row.device.name,
                               std::to_string(row.device.threads),
                               row.variant->ladder,
                               std::to_string(row.variant->place),
                               row.variant->name,
                               to_string(row.tuning),
                               std::string(name_of(row.mode)),
                               session.caches,
                               when(s.median),
                               when(s.q1),
                               when(s.q3),
                               when(s.minimum),
                               std::to_string(s.count),
                               std::to_string(row.throttled),
                               number(row.round_trip),
                               number(row.gflops()),
                               number(row.gbps()),
                               roofline ? number(roofline->fraction) : "n/a",
                               roofline ? (roofline->memory ? "memory" : "arithmetic") : "n/a",
                               number(row.ratio_serial),
                               number(row.ratio_previous),
                               number(row.ratio_baseline),
                               number(row.clock_mhz()),
                               number(row.power_w()),
                               number(row.joules),
                               number(row.picojoules_per_flop()),
                               word_for(row.verified),
                               number(row.error_over_bound),
                               number(row.relative_l2),
                               row.reason.value_or("")};
  std::string out;
  for (const std::string& cell : cells) out += (&cell == cells ? "" : ",") + quoted(cell);
  return out + "\r\n";
}

}  // namespace

std::string csv(const bench::Session& session) {
  std::string out = titles;
  for (const bench::Row& row : session.rows) out += line(session, row);
  return out;
}

namespace {

using Outcome = TestCase::Outcome;

// XML 1.0 has no place for most control characters, whatever stands for them.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  return out;
}

std::string element(const TestCase& test) {
  const std::string open = fmt::format("  <testcase classname=\"{}\" name=\"{}\" time=\"{:.9f}\"",
                                       escaped(test.group), escaped(test.name), test.seconds);
  if (test.outcome == Outcome::passed) return open + "/>\n";
  return open + fmt::format(">\n    <{} message=\"{}\"/>\n  </testcase>\n",
                            test.outcome == Outcome::failed ? "failure" : "skipped", escaped(test.text));
}

TestCase test_case(const bench::Row& row, const std::string& operation) {
  TestCase out;
  out.group = operation + "." + bench::label_of(row.device) + "." + row.variant->name;
  for (const auto& [name, size] : row.dims) out.name += fmt::format("{}={} ", name, size);
  out.name += row.element_name();
  if (!row.tuning.empty()) out.name += " " + to_string(row.tuning);
  if (row.mode != bench::Mode::burst) out.name += " " + std::string(name_of(row.mode));
  if (!row.seconds.empty()) out.seconds = row.median();
  if (row.verified == bench::Verified::wrong) {
    out.outcome = Outcome::failed;
    out.text = row.finding.empty() ? "wrong result" : row.finding;
  } else if (row.seconds.empty()) {
    out.outcome = row.throttled > 0 ? Outcome::failed : Outcome::skipped;
    out.text = row.reason.value_or("not measured");
  }
  return out;
}

TestCase test_case(const bench::Pair& pair) {
  const bench::Record& record = pair.now != nullptr ? *pair.now : *pair.before;
  TestCase out;
  out.group = record.device_name + "." + record.variant;
  out.name = record.problem + " " + record.element + (record.tuning.empty() ? "" : " " + record.tuning) +
             (record.mode == "burst" ? "" : " " + record.mode);
  if (pair.now != nullptr && !pair.now->seconds.empty())
    out.seconds = bench::summarize(pair.now->seconds).median;
  out.text = pair.why;
  switch (pair.change) {
    case bench::Change::slower:
      out.text = fmt::format("slower: {:.3f} times as fast as before", *pair.times_faster);
      [[fallthrough]];
    case bench::Change::wrong:
      out.outcome = Outcome::failed;
      break;
    case bench::Change::gone:
    case bench::Change::added:
      out.outcome = Outcome::skipped;
      break;
    default:
      break;
  }
  return out;
}

}  // namespace

std::string junit(const std::string& suite, const std::vector<TestCase>& cases) {
  const auto count = [&](Outcome outcome) { return std::ranges::count(cases, outcome, &TestCase::outcome); };
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" "
      "skipped=\"{}\">\n",
      escaped(suite), cases.size(), count(Outcome::failed), count(Outcome::skipped));
  for (const TestCase& test : cases) out += element(test);
  return out + "</testsuite>\n";
}

std::vector<TestCase> test_cases(const bench::Session& session) {
  std::vector<TestCase> out;
  for (const bench::Row& row : session.rows) out.push_back(test_case(row, session.operation));
  return out;
}

std::vector<TestCase> test_cases(const std::vector<bench::Pair>& pairs) {
  std::vector<TestCase> out;
  for (const bench::Pair& pair : pairs) out.push_back(test_case(pair));
  return out;
}

}  // namespace tessera::report
