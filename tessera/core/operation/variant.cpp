// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/operation/variant.hpp"
#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include "tessera/core/operation/epilogue_pass.hpp"
#include "tessera/core/operation/promise.hpp"
#include "tessera/core/text/error.hpp"
#include "tessera/core/text/expression.hpp"
#include "tessera/load.hpp"

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

std::map<std::string, HandlesLayout, std::less<>>& layouts() {
  static std::map<std::string, HandlesLayout, std::less<>> all;
  return all;
}

// The options of each operation that are promises, and the promises that the rung of each file keeps.
using Promises = std::map<std::string, std::vector<std::string>, std::less<>>;
Promises& promises() {
  static Promises all;
  return all;
}
Promises& kept_promises() {
  static Promises all;
  return all;
}
bool holds(const Promises& all, std::string_view key, const std::string& option) {
  const auto found = all.find(key);
  return found != all.end() && std::ranges::find(found->second, option) != found->second.end();
}

// Returns the first promise that the arguments ask for and that fulfils a condition; empty: there is none.
template <class Condition>
std::string first_requested(std::string_view operation, const Arguments& arguments,
                            const Condition& fulfils) {
  const auto found = promises().find(operation);
  if (found == promises().end()) return {};
  for (const std::string& option : found->second)
    if (!is_idle_promise(operation, arguments.signature().at(option), arguments) && fulfils(option))
      return option;
  return {};
}

std::vector<CatalogueEntry>& entries() {
  static std::vector<CatalogueEntry> all;
  return all;
}

struct FileNameParts {
  std::string operation, ladder, name, file;
  int place;
};

// Returns "FOLDER/FILE" of a path, as in Variant::file; the path itself if it has no folder.
std::string_view with_folder(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos || slash == 0) return path;
  const std::size_t before = path.rfind('/', slash - 1);
  return before == std::string_view::npos ? path : path.substr(before + 1);
}

// ".../FOLDER/LADDER_PP_NAME.suffix": two digits between the first two underscores. std::nullopt: another
// form.
std::optional<FileNameParts> parse_file_name(std::string_view path) {
  path = with_folder(path);
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos || slash == 0) return std::nullopt;
  const std::string_view folder = path.substr(0, slash);
  const std::string_view file = path.substr(slash + 1), stem = file.substr(0, file.find('.'));
  const std::size_t first = stem.find('_');
  if (first == std::string_view::npos || stem.size() < first + 5 || stem[first + 3] != '_')
    return std::nullopt;
  const std::string_view digits = stem.substr(first + 1, 2);
  for (const char c : digits)
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) return std::nullopt;
  return FileNameParts{std::string(folder), std::string(stem.substr(0, first)),
                       std::string(stem.substr(first + 4)), std::string(path),
                       (digits[0] - '0') * 10 + (digits[1] - '0')};
}

std::optional<FileNameParts> place_of(std::string_view path) {
  auto place = parse_file_name(path);
  if (!place) refuse_registration(std::string(path) + ": not named FOLDER/LADDER_00_NAME.suffix");
  return place;
}

}  // namespace

std::optional<int> Tuning::find(std::string_view name) const {
  for (const auto& [key, value] : values_)
    if (key == name) return value;
  return std::nullopt;
}

int Tuning::operator[](std::string_view name) const {
  if (const auto value = find(name)) return *value;
  throw Error(Error::Kind::internal, "no tuning parameter is called '" + std::string(name) + "'");
}

void Tuning::set(const std::string& name, int value) {
  for (auto& [key, old] : values_)
    if (key == name) {
      old = value;
      return;
    }
  values_.emplace_back(name, value);
}

std::string to_string(const Tuning& tuning) {
  std::string out;
  for (const auto& [name, value] : tuning)
    out += (out.empty() ? "" : ",") + name + "=" + std::to_string(value);
  return out;
}

Tuning parse_tuning(std::string_view text) {
  Tuning out;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || !is_name(item.substr(0, equals)))
      throw Error("'" + std::string(item) + "' is not a tuning: write name=number");
    const std::int64_t value = evaluate(item.substr(equals + 1));
    if (value < -1'000'000'000 || value > 1'000'000'000)
      throw Error("'" + std::string(item) + "' is out of range");
    out.set(std::string(item.substr(0, equals)), static_cast<int>(value));
  }
  return out;
}

Prepare without_plan(RunAtOnce compute, WorkspaceBytes workspace_bytes, std::size_t zeroed_bytes) {
  return [=](const Arguments& arguments, const Tuning& tuning, const Device&) {
    PreparedRun out;
    out.workspace_bytes = workspace_bytes ? workspace_bytes(arguments, tuning) : 0;
    out.zeroed_bytes = std::min(zeroed_bytes, out.workspace_bytes);
    out.planned_ahead = false;
    out.launch = [compute, arguments, tuning](std::span<void* const> arrays, Run& run) {
      compute(arguments.with_addresses(arrays), tuning, run);
    };
    return out;
  };
}

void Choice::run(const Arguments& arguments, const Tuning& values, Run& run) const {
  prepared(arguments, values, *run.device)(arguments.addresses(), run);
}

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

namespace {

std::string listed(const std::vector<int>& values) {
  std::string out;
  for (const int value : values) out += (out.empty() ? "" : ", ") + std::to_string(value);
  return out;
}

}  // namespace

Reason Variant::refuses(const Choice& choice, const Arguments& arguments, const Tuning& tuning,
                        const Device& device) const {
  if (device.where != where)
    return "runs on " + std::string(name_of(where)) + ", not on " + std::string(name_of(device.where));
  if (!choice.prepare.contains(arguments.element()))
    return "does not compute " + std::string(name_of(arguments.element()));
  if (unsupported_device)
    if (Reason reason = unsupported_device(device)) return reason;
  if (const std::string option = broken_promise(operation, file, arguments); !option.empty())
    return "does not promise --" + option;
  if (choice.unsupported_arguments)
    if (Reason reason = choice.unsupported_arguments(arguments)) return reason;
  for (const Range& range : choice.ranges)
    if (const int value = tuning[range.name]; value < range.first || value > range.last)
      return range.name + " = " + std::to_string(value) + " is not within " + std::to_string(range.first) +
             " to " + std::to_string(range.last);
    else if (!range.values.empty() && std::ranges::find(range.values, value) == range.values.end())
      return range.name + " = " + std::to_string(value) + " is none of " + listed(range.values);
  return choice.refuses ? choice.refuses(arguments, tuning, device) : std::nullopt;
}

const Choice* Variant::find(const Tuning& wanted) const {
  const auto found =
      std::ranges::find_if(choices, [&wanted](const Choice& choice) { return choice.allows(wanted); });
  return found == choices.end() ? nullptr : &*found;
}

template <>
const VariantInterface VariantInterface::current{};

namespace {

// Returns false if the file's name is not a rung's; the refusal has been recorded.
bool name_by_file(Variant& variant, SourceLocation location) {
  auto place = place_of(location.file);
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

void register_variant(Variant variant, SourceLocation location, const VariantInterface&) {
  if (!name_by_file(variant, location)) return;
  auto& all = variants();
  const auto name = [](const Variant& v) { return std::tie(v.operation, v.ladder, v.name, v.where); };
  if (const auto same = std::ranges::find(all, name(variant), name); same != all.end())
    return refuse_registration(variant.file + ": the ladder has a rung called '" + variant.name +
                               "' already, in " + same->file);
  const auto key = [](const Variant& v) { return std::tie(v.operation, v.ladder, v.place, v.file, v.where); };
  attach_epilogue_pass(variant);
  all.insert(std::ranges::upper_bound(all, key(variant), {}, key), std::move(variant));
}

void register_traced(Variant variant, SourceLocation location) {
  if (!name_by_file(variant, location)) return;
  attach_epilogue_pass(variant);
  traced_variants().push_back(std::move(variant));
}

const Choice* instrumented_choice(const Variant& variant, const Choice& choice) {
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

std::string_view text_of(LayoutHandling handling) {
  constexpr std::string_view texts[] = {"direct", "transposed on load", "packed first",
                                        "transposed on load; few rows: direct"};
  return texts[static_cast<std::size_t>(handling)];
}

void register_layouts(HandlesLayout handles, SourceLocation location) {
  layouts().insert_or_assign(std::string(with_folder(location.file)), std::move(handles));
}

const HandlesLayout* layouts_of(std::string_view file) {
  const auto found = layouts().find(file);
  return found == layouts().end() ? nullptr : &found->second;
}

void register_promise(std::string operation, std::string option) {
  promises()[std::move(operation)].push_back(std::move(option));
}
void keep_promise(std::string option, SourceLocation location) {
  kept_promises()[std::string(with_folder(location.file))].push_back(std::move(option));
}

std::string requested_promise(std::string_view operation, const Arguments& arguments) {
  return first_requested(operation, arguments, [](const std::string&) { return true; });
}

std::string broken_promise(std::string_view operation, std::string_view file, const Arguments& arguments) {
  return first_requested(operation, arguments,
                         [file](const std::string& option) { return !holds(kept_promises(), file, option); });
}

bool is_idle_promise(std::string_view operation, const Parameter& parameter, const Arguments& arguments) {
  return holds(promises(), operation, parameter.name) && arguments.text(parameter.name) == parameter.value;
}

Arguments without_promises(std::string_view operation, const Arguments& arguments) {
  Arguments::Words words;
  if (const auto found = promises().find(operation); found != promises().end())
    for (const std::string& option : found->second) words[option] = arguments.signature().at(option).value;
  return words.empty() ? arguments : arguments.without({}, words);
}

const std::vector<CatalogueEntry>& catalogue() { return entries(); }

void register_catalogue(const char* file, const char* absent) {
  if (auto place = place_of(file))
    entries().push_back({std::move(place->operation), std::move(place->ladder), std::move(place->name),
                         std::move(place->file), place->place, absent});
}

}  // namespace tessera
