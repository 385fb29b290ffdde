// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/operation/arguments.hpp"
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include "tessera/core/text/error.hpp"
#include "tessera/core/text/suggest.hpp"

namespace tessera {
namespace {

using Kind = Parameter::Kind;

// Returns ", 0 to 1000": the bounds that there are.
std::string range_of(const Parameter& p) {
  const Parameter none;
  const bool least = p.minimum != none.minimum, most = p.maximum != none.maximum;
  if (least && most) return ", " + text_of(p.minimum) + " to " + text_of(p.maximum);
  return least ? ", " + text_of(p.minimum) + " and more" : most ? ", up to " + text_of(p.maximum) : "";
}

void check_strides(std::string_view name, const ArrayView& view) {
  if (view.strides.size() != view.extents.size())
    throw Error(std::string(name) + " has " + std::to_string(view.extents.size()) + " extents and " +
                std::to_string(view.strides.size()) + " strides");
}

double parse_real(const Parameter& p, const std::string& word) {
  double value = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failed != std::errc() || end != word.data() + word.size() || !std::isfinite(value))
    throw Error("--" + p.flag() + " needs a finite number, not '" + word + "'");
  if (!(value >= p.minimum && value <= p.maximum))
    throw Error("--" + p.flag() + " " + word + " is out of its range" + range_of(p));
  return value;
}

// `said`: the origin of the value, for the message.
std::int64_t in_range(const Parameter& p, std::int64_t value, const std::string& said) {
  if (static_cast<double>(value) < p.minimum || static_cast<double>(value) > p.maximum)
    throw Error("--" + p.flag() + said + " out of its range, " +
                std::to_string(static_cast<std::int64_t>(p.minimum)) +
                (p.maximum == 0x1p53  // no limit but the number's: the help says what bounds it
                     ? " and more (" + p.help + ")"
                     : " to " + std::to_string(static_cast<std::int64_t>(p.maximum))));
  return value;
}

std::int64_t parse_integer(const Parameter& p, const std::string& word) {
  std::int64_t value = 0;
  try {
    value = evaluate(word);
  } catch (const Error& error) {
    throw Error("--" + p.flag() + " needs a whole number: " + error.what());
  }
  return in_range(p, value, " " + word + " is");
}

// Checks the range of a size that was left out.
std::int64_t default_size(const Parameter& p, std::int64_t size) {
  return in_range(p, size, ", left out, would be " + p.value + " = " + std::to_string(size) + ",");
}

// Throws if the word differs from the default, as it would have no effect without `needed`.
void check_required_input(const Parameter& p, const std::string& word, const Parameter& needed) {
  const bool same = p.kind == Kind::real ? parse_real(p, word) == parse_real(p, p.value) : word == p.value;
  if (!same)
    throw Error("--" + p.flag() + " " + word + " needs " + needed.name + ", which was not given; --" +
                needed.flag() + " gives it");
}

// True if the default is an expression of the inputs' dimensions.
bool follows_from_dimensions(const Parameter& p) {
  return p.kind == Kind::integer &&
         std::ranges::any_of(p.value, [](unsigned char c) { return std::isalpha(c) != 0; });
}

std::int64_t millionths(double value) {
  constexpr double most = 9e18;
  return static_cast<std::int64_t>(std::nearbyint(std::clamp(value * 1e6, -most, most)));
}

// Compares numbers, not words: "1.0" equals "1".
bool differs_from_default(const Parameter& p, const Arguments& arguments) {
  const std::string& word = arguments.text(p.name);
  if (word == p.value) return false;
  if (p.kind == Kind::real) return arguments.real(p.name) != number_of(p.value);
  if (p.kind == Kind::integer) return arguments.integer(p.name) != evaluate(p.value);
  return true;
}

// For an extent that every array leaves out as shared.
std::string missing_dimension(const Signature& signature, const std::string& extent) {
  std::string names;
  for (const Parameter* p : signature.of(Kind::input))
    if (!p->optional && !p->shared_by.empty() && p->extents[0] == extent)
      names += (names.empty() ? "" : " and ") + p->name;
  return "no array has the dimension " + extent + ": " + names +
         " lack it, as one that serves all; of one of them it must be there";
}

void check_choice(const Parameter& p, const std::string& word) {
  if (std::ranges::find(p.options, word) != p.options.end()) return;
  throw Error("--" + p.flag() + " cannot be '" + word + "'" + suggestion(word, p.options));
}

// Finds a scalar by its name, or by its flag, which has hyphens instead of underscores.
const Parameter& scalar_named(const Signature& signature, const std::string& name) {
  std::vector<std::string> names;
  for (const Parameter& p : signature.parameters) {
    if (p.is_array() || p.kind == Kind::value) continue;
    if (p.name == name || p.flag() == name) return p;
    names.push_back(p.name);
  }
  throw Error("no argument is called '" + name + "'" + suggestion(name, names));
}

}  // namespace

void Arguments::Bound::parse(const Words& words_given) {
  Words given;
  for (const auto& [name, word] : words_given)
    if (const Parameter& p = scalar_named(*signature, name); !given.emplace(p.name, word).second)
      throw Error("--" + p.flag() + " is given twice");
  for (const Parameter& p : signature->parameters) {
    if (p.is_array() || p.kind == Kind::value) continue;
    const auto found = given.find(p.name);
    const std::string& word = found == given.end() ? p.value : found->second;
    if (p.positional && word.empty()) throw Error("the " + p.name + " is missing: " + p.help);
    if (p.kind == Kind::real) reals[p.name] = parse_real(p, word);
    const bool left_open = found == given.end() && follows_from_dimensions(p);
    if (p.kind == Kind::integer && !word.empty() && !left_open) {
      dims[p.name] = parse_integer(p, word);
      settled_by[p.name] = "--" + p.flag();
    }
    if (p.kind == Kind::choice) check_choice(p, word);
    words[p.name] = word;
  }
}

void Arguments::Bound::bind_dims(const Parameter& p, const ArrayView& array) {
  const std::vector<std::string> extents = p.extents_with(words);
  if (array.extents.size() != extents.size()) {
    const bool one_fewer = !p.shared_by.empty() && words.at(p.shared_by) != "all" &&
                           array.extents.size() + 1 != p.extents.size();
    throw Error(p.name + " has " + std::to_string(array.extents.size()) +
                (array.extents.size() == 1 ? " dimension" : " dimensions") + ", not " +
                std::to_string(extents.size()) +
                (one_fewer ? ", or " + std::to_string(extents.size() - 1) + " where one serves all" : ""));
  }
  const ArrayView seen = p.is_transposed(words) ? array.transposed() : array;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const std::string& name = extents[d];
    const std::int64_t size = seen.extents[d];
    if (!is_name(name)) {
      if (const std::int64_t wanted = evaluate(name, dims); wanted != size)
        throw Error(p.name + " has " + name + " = " + std::to_string(size) + ", which should be " +
                    std::to_string(wanted));
      continue;
    }
    const auto [at, fresh] = dims.emplace(name, size);
    if (fresh) settled_by[name] = p.name;
    else if (at->second != size)
      throw Error(p.name + " has " + name + " = " + std::to_string(size) + ", but " + settled_by[name] +
                  " has " + std::to_string(at->second));
  }
}

// Expressions see a real as its millionths.
void Arguments::Bound::bind_sizes(const std::map<std::string, ArrayView>& inputs) {
  Dims named = dims;
  for (const auto& [name, value] : reals) named[name] = millionths(value);
  for (const Parameter& p : signature->parameters) {
    if (!follows_from_dimensions(p) || dims.contains(p.name)) continue;
    const std::int64_t size = p.size_from ? p.size_from(inputs, dims, words) : evaluate(p.value, named);
    named[p.name] = dims[p.name] = default_size(p, size);
    words[p.name] = std::to_string(dims[p.name]);
  }
}

ArrayView Arguments::Bound::output(const Parameter& p) const {
  ArrayView out;
  out.element = p.element_with(element, words);
  for (const auto& extent : p.extents_with(words)) {
    if (const std::string list = counted_list(extent); !list.empty()) {
      out.extents.push_back(count_of_numbers(words.at(list)));
      continue;
    }
    const Parameter* const size = signature->find(extent);
    if (size != nullptr && size->is_flag() && !dims.contains(extent))
      throw Error("--" + size->flag() + " is missing: " + size->help);
    if (is_name(extent) && !dims.contains(extent)) throw Error(missing_dimension(*signature, extent));
    out.extents.push_back(evaluate(extent, dims));
    if (out.extents.back() < 0)
      throw Error(p.name + " would have " + std::to_string(out.extents.back()) + " = " + extent +
                  " elements along a dimension");
  }
  (void)out.bytes();
  out.strides = row_major_strides(out.extents);
  return out;
}

Arguments::Arguments(const Signature& signature, Element element, std::map<std::string, ArrayView> inputs,
                     const Words& words) {
  const auto bound = std::make_shared<Bound>();
  bound->signature = &signature;
  bound->element = element;
  bound_ = bound;
  bound->parse(words);
  for (const auto& [name, array] : inputs)
    if (const Parameter* p = signature.find(name); p == nullptr || p->kind != Kind::input)
      throw Error("no input is called '" + name + "'");
  for (const Parameter* p : signature.of(Kind::input)) {
    const auto given = inputs.find(p->name);
    if (given == inputs.end()) {
      if (!p->optional) throw Error("the array " + p->name + " is missing");
      continue;
    }
    const Element wanted = p->element_with(element, bound->words);
    if (given->second.element != wanted)
      throw Error(p->name + " holds " + std::string(name_of(given->second.element)) + ", not " +
                  std::string(name_of(wanted)));
    // An array of one dimension fewer stands for the omitted word "all".
    if (!p->shared_by.empty() && !words.contains(p->shared_by) &&
        given->second.extents.size() + 1 == p->extents.size())
      bound->words[p->shared_by] = "all";
    bound->bind_dims(*p, given->second);
  }
  bound->bind_sizes(inputs);
  for (const Parameter& p : signature.parameters)
    if (!p.requires_input.empty() && !inputs.contains(p.requires_input))
      check_required_input(p, bound->words.at(p.name), signature.at(p.requires_input));
  for (const Parameter* p : signature.of(Kind::output)) bind(*p, bound->output(*p));
  for (auto& [name, array] : inputs) bind(signature.at(name), std::move(array));
}

void Arguments::bind(const Parameter& p, ArrayView view) {
  check_strides(p.name, view);
  Bind& at = arrays_.at(place_of(p.name));
  at = {std::move(view), true, p.is_transposed(words()), {}};
  if (p.is_shared(words())) at.shared_along = evaluate(p.extents[0], dims());
}

std::size_t Arguments::place_of(std::string_view name) const {
  std::size_t place = 0;
  for (const Parameter& p : signature().parameters) {
    if (!p.is_array()) continue;
    if (p.name == name) return place;
    ++place;
  }
  return Signature::max_arrays;
}

const void* Arguments::derived(std::type_index type,
                               const std::function<std::shared_ptr<const void>()>& make) const {
  {
    const std::lock_guard lock(bound_->mutex);
    const auto known = bound_->derived.find(type);
    if (known != bound_->derived.end()) return known->second.get();
  }
  auto made = make();  // outside the lock: make() may call derived()
  const std::lock_guard lock(bound_->mutex);
  return bound_->derived.emplace(type, std::move(made)).first->second.get();
}

std::int64_t Arguments::dim(const std::string& name) const {
  const auto found = dims().find(name);
  if (found == dims().end()) throw Error(Error::Kind::internal, "no dimension is called '" + name + "'");
  return found->second;
}

bool Arguments::has(std::string_view name) const {
  const std::size_t place = place_of(name);
  return place < arrays_.size() && arrays_[place].given;
}

const ArrayView& Arguments::array(std::string_view name) const {
  if (!has(name)) throw Error(Error::Kind::internal, "the array " + std::string(name) + " was not given");
  return arrays_[place_of(name)].view;
}

void Arguments::set_array(std::string_view name, void* data) {
  (void)array(name);  // throws
  arrays_[place_of(name)].view.data = data;
}

void Arguments::set_array(std::string_view name, const ArrayView& view) {
  const ArrayView& old = array(name);
  if (old.extents != view.extents || old.element != view.element)
    throw Error(std::string(name) + " is " + to_string(view.extents) + " of " +
                std::string(name_of(view.element)) + ", but must be " + to_string(old.extents) + " of " +
                std::string(name_of(old.element)));
  check_strides(name, view);
  arrays_[place_of(name)].view = view;
}

Addresses Arguments::addresses() const {
  Addresses out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = arrays_[i].view.data;
  return out;
}

Arguments Arguments::without(std::initializer_list<std::string_view> inputs, const Words& words) const {
  const auto bound = std::make_shared<Bound>();
  bound->signature = bound_->signature;
  bound->element = bound_->element;
  bound->words = bound_->words;
  for (const auto& [name, word] : words) bound->words.at(name) = word;
  bound->parse(Words(bound->words));
  bound->dims = bound_->dims;
  Arguments out = *this;
  out.bound_ = bound;
  for (const std::string_view name : inputs)
    if (has(name)) out.arrays_[place_of(name)] = {};
  return out;
}

Arguments Arguments::with_addresses(std::span<void* const> arrays) const {
  Arguments out = *this;
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (out.arrays_[i].given) out.arrays_[i].view.data = arrays[i];
  return out;
}

double Arguments::real(std::string_view name) const {
  const auto found = bound_->reals.find(name);
  if (found == bound_->reals.end())
    throw Error(Error::Kind::internal, "no number is called '" + std::string(name) + "'");
  return found->second;
}

std::int64_t Arguments::integer(const std::string& name) const { return dim(name); }

const std::string& Arguments::text(const std::string& name) const {
  const auto found = words().find(name);
  if (found == words().end()) throw Error(Error::Kind::internal, "no argument is called '" + name + "'");
  return found->second;
}

ArrayView Arguments::oriented(std::string_view name, Element element, int rank) const {
  const Parameter& p = signature().at(name);
  const auto wanted = static_cast<std::size_t>(rank);
  if (p.extents.size() != wanted)
    throw Error(Error::Kind::internal, p.name + " does not have " + std::to_string(rank) + " dimensions");
  const Bind& at = arrays_[place_of(name)];
  if (!at.given) return {nullptr, element, Extents(wanted), Extents(wanted)};
  if (at.view.element != element)
    throw Error(Error::Kind::internal, p.name + " does not hold " + std::string(name_of(element)));
  ArrayView out = at.transposed ? at.view.transposed() : at.view;
  if (at.shared_along) {
    out.extents.insert_front(*at.shared_along);
    out.strides.insert_front(0);
  }
  return out;
}

Extents extents_in_memory(const Parameter& p, const Dims& dims, const Arguments::Words& words) {
  Extents out;
  for (const auto& extent : p.extents_with(words)) out.push_back(evaluate(extent, dims));
  if (p.is_transposed(words)) std::swap(out[out.size() - 1], out[out.size() - 2]);
  return out;
}

void require_option_used(const Arguments& arguments, const std::string& name, bool is_used,
                         const std::string& what) {
  const Parameter& p = arguments.signature().at(name);
  if (!is_used && differs_from_default(p, arguments))
    throw Error("--" + p.flag() + " " + arguments.text(name) + " is only for " + what);
}

}  // namespace tessera
