// SPDX-License-Identifier: Apache-2.0
#include "tessera/lab/ceilings.hpp"
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <map>
#include <mutex>
#include "tessera/io/cache_folder.hpp"
#include "tessera/lab/machine.hpp"
#include "tessera/lab/peak.hpp"

namespace tessera::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr int schema = 1;

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

Ceilings of_the_processors(const Device& device) {
  constexpr int tries = 5;  // the best: a ceiling is what can be reached, not what a busy machine leaves
  Ceilings out;
  out.bytes_per_second = copy_bytes_per_second(device);
  for (const Element element : {Element::f32, Element::f64, Element::i32}) {
    double best = 0;
    for (int i = 0; i < tries; ++i) best = std::max(best, fma_flops_per_second(element, device.threads));
    out.flops_per_second[element] = best;
  }
  return out;
}

}  // namespace

Ceilings measure_ceilings(const Device& device) {
  return device.where == Where::cpu ? of_the_processors(device) : backend_of(device).measure_ceilings(device);
}

std::optional<Ceilings> known_ceilings(const Device& device) {
  const auto text = read_cached(file_of(device));
  if (!text) return std::nullopt;
  const Json json = Json::parse(*text, nullptr, false);
  if (!json.is_object() || json.value("schema", Json()) != schema ||
      json.value("device", Json()) != key_of(device) || !json.contains("flops_per_second"))
    return std::nullopt;
  Ceilings out;
  if (const Json rate = json.value("bytes_per_second", Json()); rate.is_number())
    out.bytes_per_second = rate.get<double>();
  for (const auto& [name, rate] : json["flops_per_second"].items())
    if (const auto element = parse_element(name); element && rate.is_number())
      out.flops_per_second[*element] = rate.get<double>();
  return out;
}

std::string remember(const Device& device, const Ceilings& ceilings) {
  Json json{{"schema", schema}, {"device", key_of(device)}, {"date", now_utc()}};
  json["bytes_per_second"] = ceilings.bytes_per_second ? Json(*ceilings.bytes_per_second) : Json(nullptr);
  json["flops_per_second"] = Json::object();
  for (const auto& [element, rate] : ceilings.flops_per_second)
    json["flops_per_second"][std::string(name_of(element))] = rate;
  return write_cached(file_of(device),
                      json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

Ceilings ceilings_of(const Device& device) {
  static std::mutex mutex;
  static std::map<std::string, Ceilings> seen;
  const std::lock_guard lock(mutex);
  const auto [at, fresh] = seen.emplace(key_of(device), Ceilings{});
  if (!fresh) return at->second;
  if (const auto known = known_ceilings(device)) return at->second = *known;
  at->second = measure_ceilings(device);
  // Where they cannot be kept, the next command measures again.
  if (!at->second.empty()) (void)remember(device, at->second);
  return at->second;
}

}  // namespace tessera::lab
