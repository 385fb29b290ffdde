// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/select.hpp"
#include <fmt/ranges.h>
#include <algorithm>
#include <map>
#include "tessera/cli/option_parser.hpp"
#include "tessera/core/device/device.hpp"
#include "tessera/run/choose.hpp"

namespace tessera::cli {
namespace {

constexpr Where everywhere[] = {Where::cpu, Where::simt, Where::cuda};

Error no_device(const std::string& text) { return Error(Error::Kind::no_device, text); }

// Returns each of "cuda:0-3".
std::vector<Device> several(const std::string& item, std::size_t colon, std::size_t dash) {
  std::int64_t first = 0, last = -1;
  try {
    first = evaluate(item.substr(colon + 1, dash - colon - 1));
    last = evaluate(item.substr(dash + 1));
  } catch (const Error&) {  // its message is about expressions, which the user did not type
  }
  if (first < 0 || last < first || last - first > 1024)
    throw Error("--device " + item + " is not a range of devices: write " + item.substr(0, colon) +
                ":FIRST-LAST");
  std::vector<Device> out;
  for (std::int64_t i = first; i <= last; ++i)
    out.push_back(find_device(item.substr(0, colon + 1) + std::to_string(i)));
  return out;
}

std::vector<Device> all_usable() {
  std::vector<Device> out;
  for (const Where where : everywhere)
    if (!unusable(where))
      out.insert(out.end(), find_backend(where)->devices().begin(), find_backend(where)->devices().end());
  return out;
}

std::vector<Device> devices_of(const std::string& item) {
  if (item == "all") return all_usable();
  if (item == "auto") return {find_device(unusable(Where::cuda) ? "cpu" : "cuda")};
  const std::size_t colon = item.find(':'), dash = item.find('-');
  if (colon != std::string::npos && dash != std::string::npos && dash > colon &&
      item.find('=') == std::string::npos)
    return several(item, colon, dash);
  return {find_device(item)};
}

// Parts of a GPU that are given by size are placed one after another.
class Parts {
 public:
  Device placed(const Device& device, const std::string& item) {
    const auto part = part_of(device);
    if (!part || item.find('-') != std::string::npos) return device;
    int& taken = taken_[device.index];
    const Device whole = find_device("cuda:" + std::to_string(device.index));
    taken += part->count;
    return as_part(whole, taken - part->count, part->count);
  }

 private:
  std::map<int, int> taken_;  // by GPU
};

}  // namespace

const Operation& operation_named(const std::string& word) {
  if (const Operation* found = find_operation(word)) return *found;
  std::vector<std::string> names;
  for (const Operation& operation : operations()) names.push_back(operation.name);
  unknown("the operation", word, names);
}

Element element_named(const Operation& operation, const std::string& word) {
  if (word.empty()) return operation.elements.front();
  const auto element = parse_element(word);
  if (element && std::ranges::find(operation.elements, *element) != operation.elements.end()) return *element;
  std::vector<std::string> names;
  for (const Element e : operation.elements) names.emplace_back(name_of(e));
  if (element)
    throw Error(
        fmt::format("{} does not compute {}; it computes {}", operation.name, word, fmt::join(names, ", ")));
  unknown("the element", word, names);
}

std::vector<Device> devices_named(const std::string& words) {
  std::vector<Device> out;
  Parts parts;
  for (const std::string& item : split(words.empty() ? "auto" : words, ','))
    for (const Device& device : devices_of(item)) out.push_back(parts.placed(device, item));
  for (const Device& device : out) check_part(device);
  if (out.empty()) throw Error("no device is named in '" + words + "'");
  return out;
}

bool names_several(const std::string& device) {
  const bool range = device.find('-') != std::string::npos && device.find('=') == std::string::npos;
  return device == "all" || device.find(',') != std::string::npos || range;
}

// Resolves the list as a whole, because parts of a GPU are placed one after another in it.
std::vector<Device> computing_devices(const std::string& words) {
  std::string named;
  const auto name = [&named](const std::string& item) { named += (named.empty() ? "" : ",") + item; };
  for (const std::string& item : split(words, ',')) {
    if (item != "all") name(item);
    else
      for (const Device& device : devices_named(item))
        if (device.where != Where::simt) name(device.label());
  }
  if (named.empty()) throw Error("no device is named in '" + words + "'");
  return devices_named(named);
}

Reason unusable(Where where) {
  Backend* backend = find_backend(where);
  if (backend == nullptr) return "this build does not have it";
  if (!backend->devices().empty()) return std::nullopt;
  const std::string reason = backend->unusable();
  return reason.empty() ? "there is no such device" : reason;
}

std::string full_name(const Variant& variant) { return variant.ladder + "/" + variant.name; }

std::vector<const Variant*> variants_named(const Operation& operation, const std::string& word) {
  std::vector<const Variant*> out;
  std::vector<std::string> names;
  for (const Variant* variant : ladder_of(operation.name)) {
    if (variant->name == word || full_name(*variant) == word) out.push_back(variant);
    names.push_back(word.find('/') == std::string::npos ? variant->name : full_name(*variant));
  }
  if (!out.empty()) return out;
  for (const CatalogueEntry& entry : catalogue()) {
    if (entry.operation != operation.name) continue;
    if ((entry.name == word || entry.ladder + "/" + entry.name == word) && !entry.absent.empty())
      throw no_device("the variant " + word + " cannot run here: " + entry.absent);
    names.push_back(entry.name);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  unknown("the variant", word, names);
}

const Variant* variant_on(const std::vector<const Variant*>& candidates, Where where) {
  const Variant* found = nullptr;
  for (const Variant* variant : candidates) {
    if (variant->where != where) continue;
    if (found != nullptr)
      throw Error("'" + variant->name + "' may be " + full_name(*found) + " or " + full_name(*variant) +
                  ": say which");
    found = variant;
  }
  return found;
}

}  // namespace tessera::cli
