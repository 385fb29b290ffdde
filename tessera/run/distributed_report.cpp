// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/distributed_report.hpp"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace tessera {
namespace {

constexpr std::size_t most_shown = 10;

struct Numbers {
  std::int64_t rows[2], cols[2];
  int threads;
  double seconds[7], received_bytes;
  bool checked, passed, has_norm;
  double largest_ratio, norm;
  std::int64_t wrong;
  std::size_t shown;
  std::size_t host_size, device_size, notes_size, checks_size;
};

struct Wrong {
  std::int64_t row, col;
  double got, expected, bound;
  std::uint8_t beyond;
};
static_assert(std::is_trivially_copyable_v<Numbers> && std::is_trivially_copyable_v<dist::Span> &&
              std::is_trivially_copyable_v<Wrong>);

template <class T>
void put(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
T take(const std::string& from, std::size_t& at) {
  T value;
  std::memcpy(&value, from.data() + at, sizeof value);
  at += sizeof value;
  return value;
}

void put_text(std::string& to, const std::string& text) {
  put(to, text.size());
  to += text;
}

std::string take_text(const std::string& from, std::size_t& at) {
  const auto size = take<std::size_t>(from, at);
  at += size;
  return from.substr(at - size, size);
}

// What it did when, and by which devices.
void put_timeline(std::string& to, const RankReport& report) {
  put(to, report.spans.size());
  for (const dist::Span& span : report.spans) put(to, span);
  put(to, report.devices.size());
  for (const RankDevice& device : report.devices) {
    put_text(to, device.label);
    put_text(to, device.lost);
    put(to, device.parts);
    put(to, device.share);
  }
}

void take_timeline(const std::string& from, std::size_t& at, RankReport& report) {
  report.spans.resize(take<std::size_t>(from, at));
  for (dist::Span& span : report.spans) span = take<dist::Span>(from, at);
  report.devices.resize(take<std::size_t>(from, at));
  for (RankDevice& device : report.devices) {
    device.label = take_text(from, at);
    device.lost = take_text(from, at);
    device.parts = take<std::size_t>(from, at);
    device.share = take<double>(from, at);
  }
}

void merge(Verdict& all, const Numbers& numbers) {
  all.passed = all.passed && numbers.passed;
  all.largest_ratio = std::max(all.largest_ratio, numbers.largest_ratio);
  if (numbers.has_norm) all.norm_error = std::max(all.norm_error.value_or(0), numbers.norm);
  all.wrong += numbers.wrong;
}

}  // namespace

std::string to_bytes(const RankReport& r, const std::optional<Verdict>& verdict) {
  Numbers numbers{};
  numbers.rows[0] = r.rows.first;
  numbers.rows[1] = r.rows.last;
  numbers.cols[0] = r.cols.first;
  numbers.cols[1] = r.cols.last;
  numbers.threads = r.threads;
  const double seconds[] = {r.read_seconds,  r.compute_seconds, r.transfer_seconds, r.wait_seconds,
                            r.agree_seconds, r.check_seconds,   r.write_seconds};
  std::copy(std::begin(seconds), std::end(seconds), numbers.seconds);
  numbers.received_bytes = r.received_bytes;
  numbers.host_size = r.host.size();
  numbers.device_size = r.device.size();
  numbers.notes_size = r.notes.size();
  numbers.checks_size = r.checks.size();
  if (verdict) {
    numbers.checked = true;
    numbers.passed = verdict->passed;
    numbers.has_norm = verdict->norm_error.has_value();
    numbers.largest_ratio = verdict->largest_ratio;
    numbers.norm = verdict->norm_error.value_or(0);
    numbers.wrong = verdict->wrong;
    numbers.shown = verdict->first.size();
  }
  std::string out;
  put(out, numbers);
  out += r.host + r.device + r.notes + r.checks;
  put_timeline(out, r);
  if (!verdict) return out;
  for (const Mismatch& m : verdict->first)
    put(out,
        Wrong{m.index[0] + r.rows.first, m.index[1] + r.cols.first, m.got, m.expected, m.bound, m.beyond});
  return out + verdict->method;
}

void add_report(const std::string& bytes, DistributedOutcome& outcome) {
  std::size_t at = 0;
  const auto n = take<Numbers>(bytes, at);
  RankReport report{bytes.substr(at, n.host_size),
                    bytes.substr(at + n.host_size, n.device_size),
                    {n.rows[0], n.rows[1]},
                    {n.cols[0], n.cols[1]},
                    n.threads};
  report.notes = bytes.substr(at + n.host_size + n.device_size, n.notes_size);
  at += n.host_size + n.device_size + n.notes_size;
  report.checks = bytes.substr(at, n.checks_size);
  at += n.checks_size;
  take_timeline(bytes, at, report);
  double* const to[] = {&report.read_seconds, &report.compute_seconds, &report.transfer_seconds,
                        &report.wait_seconds, &report.agree_seconds,   &report.check_seconds,
                        &report.write_seconds};
  for (std::size_t i = 0; i < std::size(to); ++i) *to[i] = n.seconds[i];
  report.received_bytes = n.received_bytes;
  outcome.ranks.push_back(std::move(report));
  if (!n.checked) return;
  const bool first = !outcome.verdict;
  if (first) outcome.verdict.emplace().passed = true;
  Verdict& all = *outcome.verdict;
  merge(all, n);
  for (std::size_t i = 0; i < n.shown; ++i) {
    const auto wrong = take<Wrong>(bytes, at);
    if (all.first.size() == most_shown) continue;
    Mismatch& m = all.first.emplace_back();
    m.index = {wrong.row, wrong.col};
    m.got = wrong.got;
    m.expected = wrong.expected;
    m.bound = wrong.bound;
    m.beyond = wrong.beyond;
  }
  if (first) all.method = bytes.substr(at) + ", each rank its block";
}

}  // namespace tessera
