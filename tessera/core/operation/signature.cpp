// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/operation/signature.hpp"
#include <algorithm>
#include <cctype>
#include "tessera/core/text/error.hpp"

namespace tessera {
namespace {

using Kind = Parameter::Kind;

std::string with_extents(const Parameter& p) {
  if (p.extents.empty()) return p.name;
  std::string out = p.name + "[";
  for (std::size_t i = 0; i < p.extents.size(); ++i) out += (i == 0 ? "" : ",") + p.extents[i];
  return out + "]";
}

}  // namespace

bool Parameter::is_flag() const {
  if (positional || rest) return false;
  return kind == Kind::input ? optional : kind != Kind::output && kind != Kind::value;
}

// Returns the flag. An optional array's is its lower-case letter, "c" for "C0", as BLAS users expect.
// "roi_x", a name in expressions, is --roi-x.
std::string Parameter::flag() const {
  std::string out;
  for (const char c : name)
    out += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  while (out.size() > 1 && out.back() == '0') out.pop_back();
  return out;
}

Element Parameter::element_with(Element of_operation, const std::map<std::string, std::string>& words) const {
  if (element_from) return element_from(of_operation, words);
  return element.value_or(of_operation);
}

std::vector<std::string> Parameter::extents_with(const std::map<std::string, std::string>& words) const {
  const auto word = words.find(shaped_by);
  const auto shape = word == words.end() ? shapes.end() : shapes.find(word->second);
  std::vector<std::string> out = shape == shapes.end() ? extents : shape->second;
  if (is_shared(words)) out.erase(out.begin());
  return out;
}

bool Parameter::is_shared(const std::map<std::string, std::string>& words) const {
  const auto word = words.find(shared_by);
  return word != words.end() && word->second == "all";
}

bool Parameter::is_transposed(const std::map<std::string, std::string>& words) const {
  const auto word = words.find(transposed_by);
  return word != words.end() && word->second == "transpose";
}

namespace parameter {
namespace {

Parameter named(Kind kind, std::string name, std::string help) {
  Parameter p;
  p.kind = kind;
  p.name = std::move(name);
  p.help = std::move(help);
  return p;
}

}  // namespace

Parameter input(std::string name, std::vector<std::string> extents, std::string help) {
  Parameter p = named(Kind::input, std::move(name), std::move(help));
  p.extents = std::move(extents);
  return p;
}

Parameter optional_input(std::string name, std::vector<std::string> extents, std::string help) {
  Parameter p = input(std::move(name), std::move(extents), std::move(help));
  p.optional = true;
  return p;
}

Parameter output(std::string name, std::vector<std::string> extents, std::string help) {
  Parameter p = input(std::move(name), std::move(extents), std::move(help));
  p.kind = Kind::output;
  return p;
}

Parameter real(std::string name, double value, std::string help) {
  Parameter p = named(Kind::real, std::move(name), std::move(help));
  p.value = std::to_string(value);
  p.value.erase(p.value.find_last_not_of('0') + 1);
  if (p.value.back() == '.') p.value.pop_back();
  return p;
}

Parameter integer(std::string name, std::int64_t value, std::int64_t minimum, std::int64_t maximum,
                  std::string help) {
  Parameter p = named(Kind::integer, std::move(name), std::move(help));
  p.value = std::to_string(value);
  p.minimum = static_cast<double>(minimum);
  p.maximum = static_cast<double>(maximum);
  return p;
}

Parameter optional_integer(std::string name, std::int64_t minimum, std::int64_t maximum, std::string help) {
  Parameter p = integer(std::move(name), 0, minimum, maximum, std::move(help));
  p.value.clear();
  return p;
}

Parameter dimension(std::string name, std::string expression, std::int64_t minimum, std::string help) {
  constexpr std::int64_t largest = std::int64_t{1} << 53;
  Parameter p = integer(std::move(name), 0, minimum, largest, std::move(help));
  p.value = std::move(expression);
  return p;
}

Parameter choice(std::string name, std::vector<std::string> options, std::string help) {
  Parameter p = named(Kind::choice, std::move(name), std::move(help));
  p.value = options.at(0);
  p.options = std::move(options);
  return p;
}

Parameter text(std::string name, std::string value, std::string help) {
  Parameter p = named(Kind::text, std::move(name), std::move(help));
  p.value = std::move(value);
  return p;
}

Parameter word(std::string name, std::string help) {
  Parameter p = text(std::move(name), "", std::move(help));
  p.positional = true;
  return p;
}

Parameter words(std::string name, std::string help) {
  Parameter p = text(std::move(name), "", std::move(help));
  p.rest = true;
  return p;
}

Parameter value(std::string name, std::string help) {
  Parameter p = text(std::move(name), "", std::move(help));
  p.kind = Kind::value;
  return p;
}

}  // namespace parameter

const Parameter* Signature::find(std::string_view name) const {
  for (const Parameter& p : parameters)
    if (p.name == name) return &p;
  return nullptr;
}

const Parameter& Signature::at(std::string_view name) const {
  if (const Parameter* p = find(name)) return *p;
  throw Error(Error::Kind::internal, "no argument is called '" + std::string(name) + "'");
}

bool Signature::reads_contents(const std::map<std::string, std::string>& words) const {
  return std::ranges::any_of(parameters, [&](const Parameter& p) {
    if (!p.reads_contents) return false;
    const auto word = words.find(p.name);
    return p.reads_contents(word == words.end() ? p.value : word->second);
  });
}

std::vector<const Parameter*> Signature::of(Kind kind) const {
  std::vector<const Parameter*> out;
  for (const Parameter& p : parameters)
    if (p.kind == kind) out.push_back(&p);
  return out;
}

std::vector<const Parameter*> Signature::positional_texts() const {
  std::vector<const Parameter*> out;
  for (const Parameter& p : parameters)
    if (p.positional || p.rest) out.push_back(&p);
  return out;
}

std::vector<std::string> Signature::dimensions() const {
  std::vector<std::string> out;
  const auto add = [&out](const std::string& name) {
    if (is_name(name) && std::ranges::find(out, name) == out.end()) out.push_back(name);
  };
  // The output comes first, for the customary order: m and n before k.
  for (const Parameter* p : of(Kind::output))
    for (const auto& extent : p->extents) add(extent);
  // Optional arrays are skipped: each brings its own sizes.
  for (const Parameter* p : of(Kind::input))
    for (const auto& extent : p->extents)
      if (!p->optional) add(extent);
  std::erase_if(out, [this](const std::string& name) { return find(name) != nullptr; });
  return out;
}

std::string Signature::usage() const {
  std::string out;
  const auto add = [&out](const std::string& word) { out += (out.empty() ? "" : " ") + word; };
  for (const Parameter& p : parameters)
    if (p.rest) add("[" + p.name + "…]");
    else if (p.positional) add(p.name);
    else if (p.kind == Kind::input && !p.optional) add(with_extents(p));
  if (std::ranges::any_of(parameters, &Parameter::is_flag)) add("[OPTIONS]");
  add("->");
  for (const Parameter& p : parameters)
    if (p.kind == Kind::output || p.kind == Kind::value)
      add(p.kind == Kind::value ? p.name : with_extents(p));
  return out;
}

}  // namespace tessera
