// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/ceilings.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <mutex>
#include <set>
#include <sstream>
#include <vector>
#include "tessera/bench/machine.hpp"
#include "tessera/io/cache.hpp"

namespace tessera::bench {

namespace {

// The first line of the file that keeps them; the second is the key, then a line for each ceiling.
constexpr const char* format = "tessera ceilings 3";
constexpr double much_waiting = 0.05;  // of a run's time

// Everything that the ceilings depend on.
std::string key_of(const Device& device) {
  return fmt::format("{}|{}|{} threads|{} processors|{}", name_of(device.where), device.name, device.threads,
                     device.processors, device.driver);
}

// FNV-1a: a name for the key that any file system takes; the file holds the key itself.
std::string file_of(const Device& device) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : key_of(device)) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return fmt::format("ceilings/{:016x}.txt", hash);
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

// "f64 2.5e+10 2030-01-31T12:00:00Z 0.01"; "-": the device does not tell how long threads waited.
std::string line_of(std::string_view name, const Ceiling& ceiling) {
  return fmt::format("{} {} {} {}\n", name, ceiling.rate, ceiling.date,
                     ceiling.waited ? fmt::format("{}", *ceiling.waited) : "-");
}

// Its name and itself; nothing where the line is damaged.
std::optional<std::pair<std::string, Ceiling>> read_line(const std::string& line) {
  std::istringstream in(line);
  std::string name, waited;
  Ceiling out;
  if (!(in >> name >> out.rate >> out.date >> waited)) return std::nullopt;
  if (waited != "-") {
    std::istringstream number(waited);
    double value = 0;
    if (!(number >> value)) return std::nullopt;
    out.waited = value;
  }
  return std::pair{name, out};
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
  std::istringstream in(*text);
  std::string line;
  if (!std::getline(in, line) || line != format || !std::getline(in, line) || line != key_of(device))
    return std::nullopt;
  MeasuredCeilings out;
  while (std::getline(in, line)) {
    const auto found = read_line(line);
    if (!found) return std::nullopt;
    if (found->first == "copy") out.copy = found->second;
    else if (const auto element = parse_element(found->first)) out.arithmetic[*element] = found->second;
  }
  return out;
}

std::string remember(const Device& device, const MeasuredCeilings& ceilings) {
  std::string text = std::string(format) + "\n" + key_of(device) + "\n";
  if (ceilings.copy) text += line_of("copy", *ceilings.copy);
  for (const auto& [element, one] : ceilings.arithmetic) text += line_of(name_of(element), one);
  return write_cached(file_of(device), text);
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

std::string doubt_about(const Device& device, const MeasuredCeilings& ceilings) {
  if (!ceilings.under_load()) return "";
  double waited = 0;
  const auto note = [&waited](const Ceiling& one) { waited = std::max(waited, one.waited.value_or(0)); };
  if (ceilings.copy) note(*ceilings.copy);
  for (const auto& [element, one] : ceilings.arithmetic) note(one);
  return fmt::format(
      "what {} does at most was measured under load (threads waited for {:.0f} % of the time), so "
      "percentages "
      "of it may be too high: tessera devices --measure, on a machine that does nothing else, keeps the "
      "better "
      "figures",
      label_of(device), 100 * waited);
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
    if (std::string doubt = doubt_about(row.device, found->second); !doubt.empty())
      out.push_back(std::move(doubt));
  }
  return out;
}

}  // namespace tessera::bench
