// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/variant.hpp"
#include <algorithm>
#include <cctype>
#include <string_view>
#include <tuple>
#include "tessera/core/completion.hpp"
#include "tessera/core/load.hpp"

namespace tessera {
namespace {

std::vector<Variant>& variants() {
  static std::vector<Variant> all;
  return all;
}

std::vector<Variant>& traced_variants() {
  static std::vector<Variant> all;
  return all;
}

std::vector<CatalogueEntry>& entries() {
  static std::vector<CatalogueEntry> all;
  return all;
}

struct Place {
  std::string operation, ladder, name, file;
  int place;
};

// ".../FOLDER/LADDER_PP_NAME.suffix": two digits between the first two underscores. Nothing: named otherwise.
std::optional<Place> read_place(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos || slash == 0) return std::nullopt;
  const std::size_t before = path.rfind('/', slash - 1);
  const std::string_view folder = path.substr(before == std::string_view::npos ? 0 : before + 1,
                                              slash - (before == std::string_view::npos ? 0 : before + 1));
  const std::string_view file = path.substr(slash + 1), stem = file.substr(0, file.find('.'));
  const std::size_t first = stem.find('_');
  if (first == std::string_view::npos || stem.size() < first + 5 || stem[first + 3] != '_')
    return std::nullopt;
  const std::string_view digits = stem.substr(first + 1, 2);
  for (const char c : digits)
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) return std::nullopt;
  return Place{std::string(folder), std::string(stem.substr(0, first)), std::string(stem.substr(first + 4)),
               std::string(folder) + "/" + std::string(file), (digits[0] - '0') * 10 + (digits[1] - '0')};
}

std::optional<Place> place_of(std::string_view path) {
  auto place = read_place(path);
  if (!place) refuse_registration(std::string(path) + ": not named FOLDER/LADDER_00_NAME.suffix");
  return place;
}

}  // namespace

Tuning Choice::defaults() const {
  Tuning out = tuning;
  for (const Range& range : ranges) out.set(range.name, range.value);
  return out;
}

bool Choice::allows(const Tuning& wanted) const {
  return std::ranges::all_of(wanted, [this](const auto& pair) {
    if (const auto fixed = tuning.find(pair.first)) return *fixed == pair.second;
    return std::ranges::any_of(ranges, [&pair](const Range& r) { return r.name == pair.first; });
  });
}

Reason Variant::refuses(const Choice& choice, const Arguments& arguments, const Tuning& tuning,
                        const Device& device) const {
  if (device.where != where)
    return "runs on " + std::string(name_of(where)) + ", not on " + std::string(name_of(device.where));
  if (!choice.run.contains(arguments.element()))
    return "does not compute " + std::string(name_of(arguments.element()));
  if (needs)
    if (Reason reason = needs(device)) return reason;
  if (choice.cannot_hold)
    if (Reason reason = choice.cannot_hold(arguments)) return reason;
  for (const Range& range : choice.ranges)
    if (const int value = tuning[range.name]; value < range.first || value > range.last)
      return range.name + " = " + std::to_string(value) + " is not within " + std::to_string(range.first) +
             " to " + std::to_string(range.last);
  return choice.refuses ? choice.refuses(arguments, tuning, device) : std::nullopt;
}

const Choice* Variant::find(const Tuning& wanted) const {
  const auto found =
      std::ranges::find_if(choices, [&wanted](const Choice& choice) { return choice.allows(wanted); });
  return found == choices.end() ? nullptr : &*found;
}

template <>
const VariantInterface VariantInterface::here{};

namespace {

// False: the file's name is no rung's, and the refusal has been noted.
bool name_by_file(Variant& variant, Here here) {
  auto place = place_of(here.file);
  if (!place) return false;
  variant.operation = std::move(place->operation);
  variant.ladder = std::move(place->ladder);
  variant.name = std::move(place->name);
  variant.file = std::move(place->file);
  variant.object = file_being_loaded();
  variant.place = place->place;
  return true;
}

}  // namespace

void register_variant(Variant variant, Here here, const VariantInterface&) {
  if (!name_by_file(variant, here)) return;
  auto& all = variants();
  const auto name = [](const Variant& v) { return std::tie(v.operation, v.ladder, v.name, v.where); };
  if (const auto same = std::ranges::find(all, name(variant), name); same != all.end())
    return refuse_registration(variant.file + ": the ladder has a rung called '" + variant.name +
                               "' already, in " + same->file);
  const auto key = [](const Variant& v) { return std::tie(v.operation, v.ladder, v.place, v.file, v.where); };
  complete(variant);
  all.insert(std::ranges::upper_bound(all, key(variant), {}, key), std::move(variant));
}

void register_traced(Variant variant, Here here) {
  if (!name_by_file(variant, here)) return;
  complete(variant);
  traced_variants().push_back(std::move(variant));
}

const Choice* traced_twin(const Variant& variant, const Choice& choice) {
  for (const Variant& traced : traced_variants()) {
    if (traced.file != variant.file) continue;
    const auto found = std::ranges::find(traced.choices, choice.tuning, &Choice::tuning);
    if (found != traced.choices.end()) return &*found;
  }
  return nullptr;
}

const std::vector<Variant>& all_variants() { return variants(); }

std::vector<const Variant*> ladder_of(std::string_view operation) {
  std::vector<const Variant*> out;
  for (const Variant& v : variants())
    if (v.operation == operation) out.push_back(&v);
  return out;
}

const std::vector<CatalogueEntry>& catalogue() { return entries(); }

void register_catalogue(const char* file, const char* absent) {
  if (auto place = place_of(file))
    entries().push_back({std::move(place->operation), std::move(place->ladder), std::move(place->name),
                         std::move(place->file), place->place, absent});
}

}  // namespace tessera
