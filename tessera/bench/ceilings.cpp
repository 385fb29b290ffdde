// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/ceilings.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <mutex>
#include <sstream>
#include "tessera/bench/machine.hpp"
#include "tessera/io/cache.hpp"

namespace tessera::bench {
namespace {

// Each file has the date, and a line for each rate.
const CacheFolder folder{"ceilings"};

// Returns the properties that the ceilings depend on.
std::string key_of(const Device& device) {
  return fmt::format("3|{}|{}|{} threads|{} processors|{}", name_of(device.where), device.name,
                     device.threads, device.multiprocessors, device.driver);
}

Ceilings of_the_processors(const Device& device) {
  constexpr int fewest = 8, most = 32;
  Ceilings out;
  out.bytes_per_second = copy_bytes_per_second(device);
  for (const Element element : {Element::f32, Element::f64, Element::i32})
    out.flops_per_second[element] =
        best_of(fewest, most, [&] { return fma_flops_per_second(element, device.threads); });
  return out;
}

}  // namespace

double best_of(int fewest, int most, const std::function<double()>& rate) {
  constexpr double better = 1.005;
  double best = 0;
  for (int made = 0, stood = 0; made < most && stood < fewest; ++made) {
    const double now = rate();
    stood = now > better * best ? 0 : stood + 1;
    best = std::max(best, now);
  }
  return best;
}

MeasuredCeilings measure_ceilings(const Device& device) {
  return {
      device.where == Where::cpu ? of_the_processors(device) : backend_of(device).measure_ceilings(device),
      now_utc()};
}

MeasuredCeilings better_of(const MeasuredCeilings& known, const MeasuredCeilings& now) {
  MeasuredCeilings out = now;
  if (const auto before = known.rates.bytes_per_second)
    out.rates.bytes_per_second = std::max(*before, out.rates.bytes_per_second.value_or(0));
  for (const auto& [element, rate] : known.rates.flops_per_second) {
    double& best = out.rates.flops_per_second[element];
    best = std::max(best, rate);
  }
  return out;
}

std::optional<MeasuredCeilings> known_ceilings(const Device& device) {
  const auto text = find_cached(folder, key_of(device));
  if (!text) return std::nullopt;
  std::istringstream in(*text);
  MeasuredCeilings out;
  std::getline(in, out.date);
  std::string name;
  for (double rate = 0; in >> name >> rate;) {
    if (name == "copy") out.rates.bytes_per_second = rate;
    else if (const auto element = parse_element(name)) out.rates.flops_per_second[*element] = rate;
  }
  return out;
}

std::string remember(const Device& device, const MeasuredCeilings& ceilings) {
  std::string text = ceilings.date + "\n";
  if (ceilings.rates.bytes_per_second) text += fmt::format("copy {}\n", *ceilings.rates.bytes_per_second);
  for (const auto& [element, rate] : ceilings.rates.flops_per_second)
    text += fmt::format("{} {}\n", name_of(element), rate);
  return store_cached(folder, key_of(device), text);
}

Ceilings ceilings_of(const Device& device) {
  static std::mutex mutex;
  static std::map<std::string, Ceilings> used;  // ceilings that this process has used
  const std::lock_guard lock(mutex);
  const auto [at, fresh] = used.emplace(key_of(device), Ceilings{});
  if (!fresh) return at->second;
  if (const auto known = known_ceilings(device)) return at->second = known->rates;
  const MeasuredCeilings measured = measure_ceilings(device);
  // If the cache cannot be written, the next command measures again.
  if (!measured.empty()) (void)remember(device, measured);
  return at->second = measured.rates;
}

}  // namespace tessera::bench
