// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/tuned.hpp"
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <vector>
#include "tessera/core/device/device.hpp"
#include "tessera/core/operation/promise.hpp"
#include "tessera/run/heuristics.hpp"
#include "tessera/io/cache.hpp"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;
using Kind = Parameter::Kind;

struct Record {
  TunedFor key;
  std::string ladder, variant;
  Tuning tuning;
};

std::optional<Record> record_of(const std::string& line) {
  // Most lines are the record of a search, and need not be parsed.
  if (line.find("\"kind\":\"choice\"") == std::string::npos) return std::nullopt;
  try {
    const Json json = Json::parse(line);
    if (json.at("tessera") != 1 || json.at("kind") != "choice" || json.at("verified") != "ok")
      return std::nullopt;
    Record out;
    out.key = {json.at("operation"), json.at("element"), json.at("shape"), json.at("device"),
               json.at("sizes")};
    if (const auto version = json.find("driver_version"); version != json.end() && version->is_string())
      out.key.driver_version = *version;
    out.ladder = json.at("ladder");
    out.variant = json.at("variant");
    for (const auto& [name, value] : json.at("tuning").items()) out.tuning.set(name, value.get<int>());
    return out;
  } catch (const nlohmann::json::exception&) {  // a line that was cut off, or another program's
    return std::nullopt;
  }
}

// Returns the findings in a file, read again only if it has changed.
std::shared_ptr<const std::vector<Record>> records_in(const std::string& file) {
  struct CachedRecords {
    struct timespec written = {};
    off_t bytes = 0;
    ino_t inode = 0;
    std::shared_ptr<const std::vector<Record>> records;
  };
  static std::mutex mutex;
  static std::map<std::string, CachedRecords> known;
  struct stat now = {};
  if (::stat(file.c_str(), &now) != 0 || !S_ISREG(now.st_mode)) return nullptr;
  const std::scoped_lock lock(mutex);
  CachedRecords& last = known[file];
  if (last.records && last.bytes == now.st_size && last.inode == now.st_ino &&
      last.written.tv_sec == now.st_mtim.tv_sec && last.written.tv_nsec == now.st_mtim.tv_nsec)
    return last.records;
  std::vector<Record> read;
  std::ifstream lines(file, std::ios::binary);
  for (std::string line; std::getline(lines, line);)
    if (auto record = record_of(line)) read.push_back(std::move(*record));
  last = {now.st_mtim, now.st_size, now.st_ino, std::make_shared<const std::vector<Record>>(std::move(read))};
  return last.records;
}

constexpr double furthest = 2;  // powers of two

// Returns the distance between sizes, in powers of two over all of them; nothing: one size is too far away.
std::optional<double> distance(const TunedFor& a, const TunedFor& b) {
  if (a.sizes.size() != b.sizes.size()) return std::nullopt;
  double out = 0;
  for (const auto& [name, size] : a.sizes) {
    const auto other = b.sizes.find(name);
    if (other == b.sizes.end()) return std::nullopt;
    const double apart = std::abs(std::log2(static_cast<double>(size) + 1) -
                                  std::log2(static_cast<double>(other->second) + 1));
    if (!(apart <= furthest)) return std::nullopt;
    out += apart;
  }
  return out;
}

std::optional<Plan> plan_of(const Record& record, bool same_sizes, const Device& device,
                            const Arguments& device_arguments) {
  for (const Variant* variant : ladder_of(record.key.operation)) {
    if (variant->where != device.where || variant->ladder != record.ladder || variant->name != record.variant)
      continue;
    const Choice* choice = variant->find(record.tuning);
    if (choice == nullptr) return std::nullopt;
    Plan plan{variant, choice, choice->defaults(), device};
    for (const auto& [name, value] : record.tuning) plan.tuning.set(name, value);
    // A parameter that the finding lacks was added later.
    const bool complete = std::ranges::all_of(
        plan.tuning, [&record](const auto& value) { return record.tuning.find(value.first).has_value(); });
    if (!complete || refuses_in_place(plan, device_arguments)) return std::nullopt;
    if (!same_sizes && held_back(*variant, device_arguments, device)) return std::nullopt;
    plan.tuned = true;
    return plan;
  }
  return std::nullopt;
}

const char* magnitude(std::int64_t size, std::int64_t largest) {
  constexpr std::int64_t near = 4, far = 64;
  return size >= largest / near ? "large" : size >= largest / far ? "middle" : "small";
}

// True if the names are equal or one is missing, as in older findings.
bool may_be_same(const std::string& a, const std::string& b) { return a.empty() || b.empty() || a == b; }

std::string device_key(const Device& device) {
  std::string out = std::string(name_of(device.where)) + " " + device.name;
  if (device.where == Where::cuda)
    return out + " " + std::to_string(device.compute_capability / 10) + "." +
           std::to_string(device.compute_capability % 10) + " driver " + driver_of(device.driver).cuda;
  return out + ", " + std::to_string(device.threads) + " threads";
}

}  // namespace

std::string tuning_file() {
  if (const char* file = std::getenv("TESSERA_CACHE"); file != nullptr && *file != '\0') return file;
  const auto folder = cache_folder();
  return folder ? *folder + "/tuning.jsonl" : std::string();
}

TunedFor tuned_for(const Operation& operation, const Arguments& arguments, const Device& device) {
  TunedFor out{operation.name, operation.element_name(arguments), {}, device_key(device), arguments.dims()};
  out.driver_version = driver_of(device.driver).version;
  std::int64_t largest = 0;
  for (const auto& [name, size] : out.sizes) largest = std::max(largest, size);
  for (const auto& [name, size] : out.sizes)
    out.shape += (out.shape.empty() ? "" : " ") + name + "=" + magnitude(size, largest);
  for (const Parameter& p : operation.signature.parameters) {
    if (p.kind == Kind::integer && !arguments.text(p.name).empty())
      out.sizes[p.name] = arguments.integer(p.name);
    if ((p.kind == Kind::choice || p.kind == Kind::text) && !is_idle_promise(operation.name, p, arguments))
      out.shape += " " + p.name + "=" + arguments.text(p.name);
    if (p.kind == Kind::input && p.optional && arguments.has(p.name)) out.shape += " with " + p.name;
  }
  return out;
}

std::optional<Plan> tuned_plan(const std::string& file, const Device& device, const Operation& operation,
                               const Arguments& device_arguments) {
  const auto records = file.empty() ? nullptr : records_in(file);
  if (!records || records->empty()) return std::nullopt;
  const TunedFor wanted = tuned_for(operation, device_arguments, device);
  std::vector<std::pair<double, const Record*>> near;
  for (const Record& record : *records) {
    const TunedFor& key = record.key;
    if (key.operation != wanted.operation || key.element != wanted.element || key.shape != wanted.shape ||
        key.device != wanted.device || !may_be_same(key.driver_version, wanted.driver_version))
      continue;
    if (const auto apart = distance(key, wanted)) near.emplace_back(*apart, &record);
  }
  // The last written of several for the same sizes comes first.
  std::ranges::reverse(near);
  std::ranges::stable_sort(near, {}, &std::pair<double, const Record*>::first);
  for (const auto& [apart, record] : near)
    if (auto plan = plan_of(*record, apart == 0, device, device_arguments)) return plan;
  return std::nullopt;
}

}  // namespace tessera
