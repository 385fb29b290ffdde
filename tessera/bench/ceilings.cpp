// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/ceilings.hpp"
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <mutex>
#include <set>
#include <vector>
#include "tessera/bench/machine.hpp"
#include "tessera/bench/statistics.hpp"
#include "tessera/core/array.hpp"
#include "tessera/core/parallel.hpp"
#include "tessera/io/cache.hpp"

namespace tessera::bench {

double thread_seconds() {
  std::timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Reached reach(int threads, double units, const std::function<void(int)>& work) {
  std::vector<double> busy(static_cast<std::size_t>(std::max(1, threads)));
  const Stopwatch watch;
  parallel(static_cast<int>(busy.size()), [&](int part) {
    const double before = thread_seconds();
    work(part);
    busy[static_cast<std::size_t>(part)] = thread_seconds() - before;
  });
  const double seconds = watch.seconds();
  return {units / seconds, std::clamp(1 - std::ranges::max(busy) / seconds, 0.0, 1.0)};
}

Reached best_of(int fewest, int most, const std::function<Reached()>& run) {
  constexpr double better = 1.005;
  Reached best;
  for (int made = 0, stood = 0; made < most && stood < fewest; ++made) {
    const Reached now = run();
    stood = now.rate > better * best.rate ? 0 : stood + 1;
    if (now.rate > best.rate) best = now;
  }
  return best;
}

// What the processors can move between their memory and themselves.
namespace {

constexpr int fewest_rounds = 4, most_rounds = 12;  // of each; the best counts

void triad(double* __restrict to, const double* __restrict a, const double* __restrict b, double factor,
           std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = a[i] + factor * b[i];
}

}  // namespace

Reached copy_reached(const Device& device) {
  constexpr std::int64_t least = std::int64_t{32} << 20, most = std::int64_t{256} << 20;
  // Three arrays must leave the machine room to breathe.
  const std::int64_t bytes =
      std::clamp(2 * device.cache_bytes, least, std::max(least, std::min(most, device.memory_bytes / 16)));
  const auto count = static_cast<std::size_t>(bytes) / sizeof(double);
  const int parts = std::max(1, device.threads);
  Array a(Element::f64, {static_cast<std::int64_t>(count)}), b(Element::f64, a.extents()),
      c(Element::f64, a.extents());
  double* const arrays[] = {a.as<double>(), b.as<double>(), c.as<double>()};
  volatile double factor = 3;
  // Each thread touches its part first, so that its pages lie near it.
  const auto part_of = [&](auto work) {
    return [=](int part) {
      const std::size_t from = count * static_cast<std::size_t>(part) / static_cast<std::size_t>(parts),
                        to = count * static_cast<std::size_t>(part + 1) / static_cast<std::size_t>(parts);
      work(from, to - from);
    };
  };
  parallel(parts, part_of([&](std::size_t from, std::size_t n) {
             for (double* array : arrays) std::fill_n(array + from, n, 1.0);
           }));
  const auto timed = [&](int moved, auto work) {
    return best_of(fewest_rounds, most_rounds,
                   [&] { return reach(parts, moved * static_cast<double>(bytes), part_of(work)); });
  };
  const Reached copied = timed(2, [&](std::size_t from, std::size_t n) {
    std::memcpy(arrays[2] + from, arrays[0] + from, n * sizeof(double));
  });
  const Reached added = timed(3, [&](std::size_t from, std::size_t n) {
    triad(arrays[2] + from, arrays[0] + from, arrays[1] + from, factor, n);
  });
  volatile double sink = arrays[2][count / 2];
  (void)sink;
  return copied.rate > added.rate ? copied : added;
}

namespace {

using Json = nlohmann::ordered_json;

constexpr int schema = 2;
constexpr double much_waiting = 0.05;  // of a run's time
constexpr int old_days = 90;

// Everything that the ceilings depend on.
std::string key_of(const Device& device) {
  return fmt::format("{}|{}|{} threads|{} processors|{}", name_of(device.where), device.name, device.threads,
                     device.processors, device.driver);
}

// FNV-1a: a name for the key that any file system takes; the file holds the key itself.
std::string file_of(const Device& device) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : key_of(device)) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return fmt::format("ceilings/{:016x}.json", hash);
}

MeasuredCeilings of_the_processors(const Device& device) {
  constexpr int fewest = 8, most = 32;
  const std::string date = now_utc();
  const auto ceiling = [&date](const Reached& reached) {
    return Ceiling{reached.rate, date, reached.waited};
  };
  MeasuredCeilings out;
  out.copy = ceiling(copy_reached(device));
  for (const Element element : {Element::f32, Element::f64, Element::i32})
    out.arithmetic[element] =
        ceiling(best_of(fewest, most, [&] { return fma_reached(element, device.threads); }));
  return out;
}

// Of a backend, which does not tell who else was at work.
MeasuredCeilings as_measured(const Ceilings& rates) {
  const std::string date = now_utc();
  MeasuredCeilings out;
  if (rates.bytes_per_second) out.copy = Ceiling{*rates.bytes_per_second, date, {}};
  for (const auto& [element, rate] : rates.flops_per_second) out.arithmetic[element] = {rate, date, {}};
  return out;
}

Json json_of(const Ceiling& ceiling) {
  return {{"rate", ceiling.rate},
          {"date", ceiling.date},
          {"waited", ceiling.waited ? Json(*ceiling.waited) : Json(nullptr)}};
}

std::optional<Ceiling> ceiling_of(const Json& json) {
  if (!json.is_object() || !json.contains("rate") || !json["rate"].is_number()) return std::nullopt;
  Ceiling out{.rate = json["rate"].get<double>(), .date = {}, .waited = {}};
  if (const Json date = json.value("date", Json()); date.is_string()) out.date = date.get<std::string>();
  if (const Json waited = json.value("waited", Json()); waited.is_number()) out.waited = waited.get<double>();
  return out;
}

// Whole days between two moments as now_utc() writes them; nothing where one is none.
std::optional<int> days_between(const std::string& before, const std::string& now) {
  const auto day = [](const std::string& text) -> std::optional<std::chrono::sys_days> {
    int y = 0;
    unsigned m = 0, d = 0;
    if (std::sscanf(text.c_str(), "%d-%u-%u", &y, &m, &d) != 3) return std::nullopt;
    const std::chrono::year_month_day date{std::chrono::year(y), std::chrono::month(m), std::chrono::day(d)};
    return date.ok() ? std::optional<std::chrono::sys_days>(date) : std::nullopt;
  };
  const auto from = day(before), to = day(now);
  if (!from || !to) return std::nullopt;
  return static_cast<int>((*to - *from).count());
}

// The higher one stands, whoever was at work then; a calm run of either vouches for it.
Ceiling better(const Ceiling& known, const Ceiling& now) {
  const Ceiling &high = known.rate > now.rate ? known : now, &low = known.rate > now.rate ? now : known;
  return {high.rate, std::max(known.date, now.date),
          high.under_load() && !low.under_load() ? low.waited : high.waited};
}

// What this process has used, by key.
struct Used {
  std::mutex mutex;
  std::map<std::string, MeasuredCeilings> of;

  static Used& here() {
    static Used used;
    return used;
  }
};

}  // namespace

bool Ceiling::under_load() const { return waited && *waited > much_waiting; }

Ceilings MeasuredCeilings::rates() const {
  Ceilings out;
  if (copy) out.bytes_per_second = copy->rate;
  for (const auto& [element, one] : arithmetic) out.flops_per_second[element] = one.rate;
  return out;
}

bool MeasuredCeilings::under_load() const {
  return (copy && copy->under_load()) ||
         std::ranges::any_of(arithmetic, [](const auto& one) { return one.second.under_load(); });
}

std::string MeasuredCeilings::date() const {
  std::string out = copy ? copy->date : "";
  for (const auto& [element, one] : arithmetic)
    if (out.empty() || one.date < out) out = one.date;
  return out;
}

MeasuredCeilings measure_ceilings(const Device& device) {
  return device.where == Where::cpu ? of_the_processors(device)
                                    : as_measured(backend_of(device).measure_ceilings(device));
}

MeasuredCeilings better_of(const MeasuredCeilings& known, const MeasuredCeilings& now) {
  MeasuredCeilings out = now;
  if (known.copy) out.copy = out.copy ? better(*known.copy, *out.copy) : *known.copy;
  for (const auto& [element, one] : known.arithmetic)
    if (const auto [at, fresh] = out.arithmetic.emplace(element, one); !fresh)
      at->second = better(one, at->second);
  return out;
}

std::optional<MeasuredCeilings> known_ceilings(const Device& device) {
  const auto text = read_cached(file_of(device));
  if (!text) return std::nullopt;
  const Json json = Json::parse(*text, nullptr, false);
  if (!json.is_object() || json.value("schema", Json()) != schema ||
      json.value("device", Json()) != key_of(device) || !json.contains("flops_per_second"))
    return std::nullopt;
  MeasuredCeilings out;
  out.copy = ceiling_of(json.value("bytes_per_second", Json()));
  for (const auto& [name, one] : json["flops_per_second"].items())
    if (const auto element = parse_element(name))
      if (const auto ceiling = ceiling_of(one)) out.arithmetic[*element] = *ceiling;
  return out;
}

std::string remember(const Device& device, const MeasuredCeilings& ceilings) {
  Json json{{"schema", schema}, {"device", key_of(device)}};
  json["bytes_per_second"] = ceilings.copy ? json_of(*ceilings.copy) : Json(nullptr);
  json["flops_per_second"] = Json::object();
  for (const auto& [element, one] : ceilings.arithmetic)
    json["flops_per_second"][std::string(name_of(element))] = json_of(one);
  return write_cached(file_of(device),
                      json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

Ceilings ceilings_of(const Device& device) {
  Used& used = Used::here();
  const std::lock_guard lock(used.mutex);
  const auto [at, fresh] = used.of.emplace(key_of(device), MeasuredCeilings{});
  if (!fresh) return at->second.rates();
  const auto known = known_ceilings(device);
  if (known && !known->under_load()) return (at->second = *known).rates();
  at->second = better_of(known.value_or(MeasuredCeilings{}), measure_ceilings(device));
  // Where they cannot be kept, the next command measures again.
  if (!at->second.empty()) (void)remember(device, at->second);
  return at->second.rates();
}

std::string doubt_about(const Device& device, const MeasuredCeilings& ceilings, const std::string& now) {
  double waited = 0;
  const auto note = [&waited](const Ceiling& one) { waited = std::max(waited, one.waited.value_or(0)); };
  if (ceilings.copy) note(*ceilings.copy);
  for (const auto& [element, one] : ceilings.arithmetic) note(one);
  if (ceilings.under_load())
    return fmt::format(
        "what {} does at most was measured under load (threads waited for {:.0f} % of the time), so "
        "percentages of it "
        "may be too high: tessera devices --measure, on a machine that does nothing else, keeps the better "
        "figures",
        label_of(device), 100 * waited);
  const auto days = days_between(ceilings.date(), now);
  if (!days || *days <= old_days) return "";
  return fmt::format(
      "what {} does at most was measured {} days ago: tessera devices --measure does that again, and "
      "--anew forgets what was known",
      label_of(device), *days);
}

std::vector<std::string> ceiling_doubts(const std::vector<Row>& rows) {
  Used& used = Used::here();
  const std::lock_guard lock(used.mutex);
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const Row& row : rows) {
    if (!row.roofline() || !seen.insert(key_of(row.device)).second) continue;
    const auto found = used.of.find(key_of(row.device));
    if (found == used.of.end()) continue;
    if (std::string doubt = doubt_about(row.device, found->second, now_utc()); !doubt.empty())
      out.push_back(std::move(doubt));
  }
  return out;
}

}  // namespace tessera::bench
