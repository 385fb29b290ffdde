// SPDX-License-Identifier: Apache-2.0
#include "tessera/frontend/compile/function_call.hpp"
#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <utility>
#include "tessera/core/array/random.hpp"
#include "tessera/io/temporary_folder.hpp"

namespace tessera::frontend {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;
constexpr const char* name_of_main = "--call";

// A parameter's type, or the type that it points to.
struct CallType {
  std::string_view name;   // in main()
  std::string_view numpy;  // "f4"
  double tolerance;        // for results

  bool is_float() const { return numpy[0] == 'f'; }
  std::size_t bytes() const { return static_cast<std::size_t>(numpy[1] - '0'); }
};

constexpr CallType call_types[] = {
    {"float", "f4", 1e-4},       {"double", "f8", 1e-10},  {"half", "f2", 1e-2},           {"bool", "b1", 0},
    {"char", "i1", 0},           {"signed char", "i1", 0}, {"unsigned char", "u1", 0},     {"short", "i2", 0},
    {"unsigned short", "u2", 0}, {"int", "i4", 0},         {"unsigned", "u4", 0},          {"long", "i8", 0},
    {"unsigned long", "u8", 0},  {"long long", "i8", 0},   {"unsigned long long", "u8", 0}};

// Names of types that are not words of the language, and those words in their order.
constexpr std::pair<std::string_view, std::string_view> other_names[] = {{"__half", "half"},
                                                                         {"int8_t", "signed char"},
                                                                         {"uint8_t", "unsigned char"},
                                                                         {"uchar", "unsigned char"},
                                                                         {"int16_t", "short"},
                                                                         {"uint16_t", "unsigned short"},
                                                                         {"ushort", "unsigned short"},
                                                                         {"int32_t", "int"},
                                                                         {"uint32_t", "unsigned"},
                                                                         {"uint", "unsigned"},
                                                                         {"int64_t", "long"},
                                                                         {"ptrdiff_t", "long"},
                                                                         {"uint64_t", "unsigned long"},
                                                                         {"ulong", "unsigned long"},
                                                                         {"size_t", "unsigned long"}};

// Returns the type's name in NumPy, such as float32.
std::string numpy_name(std::string_view type) {
  const std::string bits = std::to_string(8 * (type[1] - '0'));
  return type[0] == 'b' ? "bool" : (type[0] == 'f' ? "float" : type[0] == 'u' ? "uint" : "int") + bits;
}

struct CallParameter {
  std::string name;
  const CallType* type = nullptr;
  bool pointer = false, constant = false;

  std::string text() const {
    return std::string(constant ? "const " : "") + std::string(type->name) + (pointer ? "*" : "");
  }
};

struct CalledFunction {
  std::string name, file;
  SourcePosition place;
  bool kernel = false;
  std::vector<CallParameter> parameters;
};

// Returns one parameter, the tokens [at, end).
CallParameter read_parameter(const TokenList& list, std::size_t at, std::size_t end) {
  constexpr std::string_view builtin[] = {"unsigned", "signed", "long", "short",  "int",
                                          "char",     "float",  "half", "double", "bool"};
  constexpr std::string_view ignored[] = {"volatile", "__restrict__", "__restrict",
                                          "std",      "::",           "__grid_constant__"};
  const auto& t = list.tokens;
  const auto refuse = [&](std::size_t token, const std::string& what) {
    throw Refusal(list.place(token), what + " is not supported by --call");
  };
  CallParameter out;
  std::map<std::string_view, int> words;
  std::size_t type_at = at;
  int stars = 0;
  for (std::size_t i = at; i < end && !t[i].is("="); ++i) {
    const std::string_view word = t[i].text;
    const auto other =
        std::ranges::find(other_names, word, &std::pair<std::string_view, std::string_view>::first);
    if (std::ranges::find(ignored, word) != std::end(ignored)) continue;
    if (word == "const") {
      out.constant |= stars == 0;
    } else if (word == "*") {
      ++stars;
    } else if (t[i].is("[") && !out.name.empty()) {
      ++stars;
      i = t[i].partner;
    } else if (std::ranges::find(builtin, word) != std::end(builtin)) {
      ++words[word];
      type_at = i;
    } else if (other != std::end(other_names) && words.empty()) {
      ++words[other->second];
      type_at = i;
    } else if (t[i].kind == TokenKind::identifier && !words.empty() && out.name.empty()) {
      out.name = word;
    } else {
      refuse(i, (words.empty() ? "a parameter of type '" : "a parameter with '") + std::string(word) + "'");
    }
  }
  if (stars > 1) refuse(type_at, "a pointer to pointers");
  out.pointer = stars == 1;
  // "long int unsigned" is "unsigned long".
  const int longs = words["long"];
  const bool is_unsigned = words["unsigned"] != 0, is_char = words["char"] != 0;
  std::string name;
  for (const auto& [word, times] : words)
    if (times != 0 && word != "unsigned" && word != "signed" && word != "int" && word != "long") name = word;
  for (int i = 0; i < longs; ++i) name += name.empty() ? "long" : " long";
  if (is_unsigned) name = name.empty() ? "unsigned" : "unsigned " + name;
  if (name.empty()) name = "int";
  if (is_char && words["signed"] != 0) name = "signed char";
  const auto* const type = std::ranges::find(call_types, name, &CallType::name);
  if (type == std::end(call_types)) refuse(type_at, "a parameter of type '" + name + "'");
  out.type = type;
  return out;
}

// Calls visit(index) for each name at file scope or at the scope of a namespace.
template <class Visit>
void visit_names(const std::vector<Token>& t, const Visit& visit) {
  for (std::size_t i = 0; t[i].kind != TokenKind::end; ++i) {
    if (t[i].kind == TokenKind::identifier) visit(i);
    const bool bracket = t[i].kind == TokenKind::punctuator && (t[i].is("(") || t[i].is("[") || t[i].is("{"));
    const bool enters =
        t[i].is("{") && i > 0 &&
        (t[i - 1].kind == TokenKind::text || t[i - 1].is("namespace") || (i > 1 && t[i - 2].is("namespace")));
    if (bracket && !enters) i = t[i].partner;
  }
}

// True if the name and its parameters are followed by the "{" of a function's body.
bool is_definition(const std::vector<Token>& t, std::size_t name) {
  if (!t[name + 1].is("(")) return false;
  const std::size_t behind = t[name + 1].partner + 1;
  return t[behind].is("{") || (t[behind].is("noexcept") && t[behind + 1].is("{"));
}

CalledFunction read_function(const TokenList& list, std::size_t name) {
  const auto& t = list.tokens;
  CalledFunction out{
      .name = std::string(t[name].text), .file = {}, .place = list.place(name), .parameters = {}};
  for (std::size_t i = name; i-- > 0 && !t[i].is(";") && !t[i].is("}") && !t[i].is("{");) {
    out.kernel |= t[i].is("__global__");
    if (t[i].is("template")) throw Refusal(list.place(i), "a template is not supported by --call");
    if (t[i].is("__device__"))
      throw Refusal(list.place(i),
                    "--call calls a function of the host or a kernel: '" + out.name + "' is __device__");
  }
  const std::size_t open = name + 1, close = t[open].partner;
  for (std::size_t at = open + 1; at < close;) {
    std::size_t end = at;
    while (end < close && !t[end].is(","))
      end = t[end].is("(") || t[end].is("[") ? t[end].partner + 1 : end + 1;
    if (end > at + 1 || !t[at].is("void")) out.parameters.push_back(read_parameter(list, at, end));
    at = end + 1;
  }
  return out;
}

// The parsed argument of --call.
struct CallText {
  std::string text, function;
  bool launches = false;
  struct Argument {
    std::string text;
    bool name = false;  // one name, and nothing else
  };
  std::vector<Argument> arguments;
  std::vector<std::string> names;  // all names after the function's

  bool mentions(const std::string& name) const { return std::ranges::find(names, name) != names.end(); }
};

CallText parse_call(const std::string& text) {
  const auto fails = [&]() {
    throw Error("--call needs 'NAME(ARGUMENTS)' or 'KERNEL<<<GRID, BLOCK>>>(ARGUMENTS)', not '" + text + "'");
  };
  CallText out{.text = text, .function = {}, .arguments = {}, .names = {}};
  TokenList list;
  try {
    list = tokenize(text);
  } catch (const Refusal&) {
    fails();
  }
  const auto& t = list.tokens;
  const auto is = [&](std::size_t i, const char* what) { return i < t.size() && t[i].is(what); };
  if (t[0].kind != TokenKind::identifier) fails();
  out.function = t[0].text;
  std::size_t open = 1;
  if (is(1, "<") && is(2, "<") && is(3, "<")) {
    out.launches = true;
    for (open = 4; !(is(open, ">") && is(open + 1, ">") && is(open + 2, ">")); ++open)
      if (t[open].kind == TokenKind::end) fails();
    open += 3;
  }
  if (!is(open, "(")) fails();
  const std::size_t close = t[open].partner;
  if (t[is(close + 1, ";") ? close + 2 : close + 1].kind != TokenKind::end) fails();
  for (std::size_t i = 1; i < close; ++i)
    if (t[i].kind == TokenKind::identifier) out.names.emplace_back(t[i].text);
  for (std::size_t at = open + 1; at < close;) {
    std::size_t end = at;
    while (end < close && !t[end].is(","))
      end = t[end].is("(") || t[end].is("[") ? t[end].partner + 1 : end + 1;
    if (end == at) fails();
    const std::size_t first = list.offset(at), last = list.offset(end - 1) + t[end - 1].text.size();
    out.arguments.push_back(
        {text.substr(first, last - first), end == at + 1 && t[at].kind == TokenKind::identifier});
    at = end + 1;
  }
  out.text = text.substr(0, list.offset(close) + 1);
  return out;
}

// Returns "NAME=WHAT" of a flag.
std::map<std::string, std::string> named(const Words& words, const std::string& flag) {
  std::map<std::string, std::string> out;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == word.npos || equals + 1 == word.size())
      throw Error(flag + " needs NAME=WHAT, not '" + word + "'");
    if (!out.emplace(word.substr(0, equals), word.substr(equals + 1)).second)
      throw Error(flag + " is given twice for '" + word.substr(0, equals) + "'");
  }
  return out;
}

std::string element_text(const npy::Elements& elements, std::size_t index) {
  const std::size_t size = static_cast<std::size_t>(elements.type[1] - '0');
  const std::byte* const at = elements.bytes.data() + index * size;
  char out[40];
  if (elements.type == "i8" || elements.type == "u8") {
    std::uint64_t value;
    std::memcpy(&value, at, sizeof value);
    return elements.type == "i8" ? std::to_string(static_cast<std::int64_t>(value)) : std::to_string(value);
  }
  const double value = npy::values_of({elements.type, {1}, {at, at + size}})[0];
  std::snprintf(out, sizeof out, elements.type == "f8" ? "%.17g" : "%.9g", value);
  return out;
}

// Returns "c[3][5]"
std::string element_name(const std::string& array, const Extents& extents, std::size_t index) {
  std::string out;
  for (std::size_t d = extents.size(); d-- > 0;) {
    const auto extent = static_cast<std::size_t>(extents[d]);
    out.insert(0, "[" + std::to_string(d == 0 ? index : index % extent) + "]");
    index /= extent;
  }
  return array + (extents.empty() ? "[0]" : out);
}

// Makes reproducible values: floats in [-1, 1), integers from 0 to 9.
npy::Elements made_up(const CallType& type, const Extents& extents, std::uint64_t stream) {
  npy::Elements out{std::string(type.numpy), extents, {}};
  out.bytes.resize(static_cast<std::size_t>(count_of(extents)) * type.bytes());
  Random random(1, stream);
  for (std::size_t at = 0; at < out.bytes.size(); at += type.bytes()) {
    std::byte* const to = out.bytes.data() + at;
    if (type.is_float()) {
      const Element element = type.bytes() == 8   ? Element::f64
                              : type.bytes() == 4 ? Element::f32
                                                  : Element::f16;
      store_from_double(element, to, 2 * random.uniform() - 1);
    } else {
      constexpr std::uint64_t digits = 10;
      const std::uint64_t value = random.below(type.name == "bool" ? 2 : digits);
      if constexpr (std::endian::native == std::endian::little) std::memcpy(to, &value, type.bytes());
      else std::memcpy(to, reinterpret_cast<const char*>(&value) + sizeof value - type.bytes(), type.bytes());
    }
  }
  return out;
}

struct CallArray {
  std::string name;
  CallParameter parameter;
  bool read = false;       // it has initial contents
  npy::Elements elements;  // the initial contents, or no bytes
  std::string expected_file, saved_file;
  std::optional<npy::Elements> expected;

  std::size_t count() const { return static_cast<std::size_t>(count_of(elements.extents)); }
};

// Counts the elements of `got` that differ from the expected ones. NaN never equals anything.
void compare_results(CallResult& out, const CallArray& array) {
  const npy::Elements& expected = *array.expected;
  const std::vector<double> got = npy::values_of(out.elements), wanted = npy::values_of(expected);
  double sum = 0;
  std::size_t finite = 0;
  for (const double value : wanted)
    if (std::isfinite(value)) sum += std::abs(value), ++finite;
  const double mean = finite == 0 ? 0 : sum / static_cast<double>(finite);
  const bool wide = array.parameter.type->bytes() == 8 && !array.parameter.type->is_float();
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double difference = std::abs(got[i] - wanted[i]);
    const double allowed = array.parameter.type->tolerance * std::max(std::abs(wanted[i]), mean);
    const bool equal = wide ? std::memcmp(&out.elements.bytes[8 * i], &expected.bytes[8 * i], 8) == 0
                            : got[i] == wanted[i] || (std::isfinite(wanted[i]) && difference <= allowed);
    if (equal) {
      if (got[i] != wanted[i]) out.largest_difference = std::max(out.largest_difference, difference);
      continue;
    }
    if (out.wrong++ != 0) continue;
    out.first_wrong = element_name(array.name, out.elements.extents, i);
    out.got = element_text(out.elements, i);
    out.wanted = element_text(expected, i);
  }
}

}  // namespace

struct Call::Hidden {
  Hidden(const CallOptions& options, Source& source)
      : call(parse_call(options.call)),
        values(named(options.values, "a size")),
        in(named(options.in, "--in")),
        out(named(options.out, "--out")),
        expect(named(options.expect, "--expect")),
        save(named(options.save, "--save")) {
    find_function(source);
    match_arguments();
    require_all_used();
    make_arrays();
    make_main();
    source.addition = {.file = function.file, .text = main, .name = name_of_main};
  }

  // Names, types and values -----------------------------------------------------------------------------

  void find_function(const Source& source) {
    const Words texts = preprocessed(source);
    int found = 0;
    for (std::size_t f = 0; f < texts.size(); ++f) {
      const TokenList list = tokenize(texts[f]);
      visit_names(list.tokens, [&](std::size_t i) {
        if (!is_definition(list.tokens, i)) return;
        if (list.tokens[i].is("main"))
          throw Refusal(list.place(i), "there is a main(): --call makes another one");
        if (!list.tokens[i].is(call.function)) return;
        if (++found > 1)
          throw Refusal(list.place(i),
                        "there are several functions '" + call.function + "', of which --call cannot choose");
        function = read_function(list, i);
        function.file = source.files[f];
      });
      if (function.file == source.files[f]) find_constants(list.tokens, source.files[f]);
    }
    if (found == 0) throw Error("--call: no file defines a function '" + call.function + "'");
    const std::string at = function.place.file + ":" + std::to_string(function.place.line);
    if (function.kernel && !call.launches)
      throw Error("--call: '" + function.name + "' is a kernel (" + at + "): launch it, '" + function.name +
                  "<<<GRID, BLOCK>>>(…)'");
    if (!function.kernel && call.launches)
      throw Error("--call: '" + function.name + "' is no kernel (" + at + "): call it, '" + function.name +
                  "(…)'");
    if (function.parameters.size() != call.arguments.size())
      throw Error("--call: '" + function.name + "' takes " + std::to_string(function.parameters.size()) +
                  " arguments (" + at + "), not " + std::to_string(call.arguments.size()));
  }

  // Collects the names to which the file gives a value: variables at its own scope, and macros.
  void find_constants(const std::vector<Token>& tokens, const std::string& file) {
    visit_names(tokens, [&](std::size_t i) {
      const bool declared = i > 0 && tokens[i - 1].kind == TokenKind::identifier && tokens[i + 1].is("=");
      if (declared) constants.emplace_back(tokens[i].text);
    });
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t hash = line.find_first_not_of(" \t");
      if (hash == line.npos || line[hash] != '#') continue;
      const std::vector<Token> directive = tokenize_source(std::string_view(line).substr(hash + 1));
      if (directive.size() > 1 && directive[0].is("define")) constants.emplace_back(directive[1].text);
    }
  }

  bool is_array(const std::string& name) const {
    return in.contains(name) || out.contains(name) || expect.contains(name) || save.contains(name);
  }

  void match_arguments() {
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      const CallText::Argument& argument = call.arguments[i];
      const CallParameter& parameter = function.parameters[i];
      const std::string which = "--call: argument " + std::to_string(i + 1) + " of '" + function.name +
                                "' is " + parameter.text() +
                                (parameter.name.empty() ? "" : " " + parameter.name);
      if (parameter.pointer) {
        if (!argument.name) throw Error(which + ": '" + argument.text + "' is no array");
        if (values.contains(argument.text))
          throw Error(which + ": '" + argument.text + "' is a number, no array");
        add_array(argument.text, parameter);
      } else if (argument.name) {
        if (is_array(argument.text)) throw Error(which + ": '" + argument.text + "' is an array");
        if (values.contains(argument.text)) types.try_emplace(argument.text, parameter.type);
        else if (std::ranges::find(constants, argument.text) == constants.end() && argument.text != "true" &&
                 argument.text != "false")
          throw Error(which + ": '" + argument.text + "' has no value; give " + argument.text + "=VALUE");
      }
    }
  }

  void add_array(const std::string& name, const CallParameter& parameter) {
    const auto known = std::ranges::find(arrays, name, &CallArray::name);
    if (known == arrays.end()) {
      if (!is_array(name) || (!in.contains(name) && !out.contains(name) && !expect.contains(name)))
        throw Error("--call: nothing is known of the array '" + name + "': give --in " + name +
                    "=FILE.npy or --in " + name + "=SHAPE" +
                    (parameter.constant ? "" : ", or --out " + name + "=SHAPE if it is a result"));
      if (in.contains(name) && out.contains(name))
        throw Error("'" + name +
                    "' is given by --in and by --out; an array that --in gives may be written, too");
      arrays.push_back({.name = name,
                        .parameter = parameter,
                        .read = in.contains(name),
                        .elements = {},
                        .expected_file = {},
                        .saved_file = {},
                        .expected = {}});
      return;
    }
    if (known->parameter.type != parameter.type)
      throw Error("--call: '" + name + "' cannot be both " + known->parameter.text() + " and " +
                  parameter.text());
    known->parameter.constant &= parameter.constant;
  }

  void require_all_used() const {
    const auto is_used = [&](const std::string& name) {
      return std::ranges::find(arrays, name, &CallArray::name) != arrays.end();
    };
    for (const auto& [flag, given] :
         {std::pair{"--in", &in}, {"--out", &out}, {"--expect", &expect}, {"--save", &save}})
      for (const auto& [name, what] : *given) {
        if (!is_used(name))
          throw Error(std::string(flag) + ": '" + name + "' is no array of --call '" + call.text + "'");
        const auto array = std::ranges::find(arrays, name, &CallArray::name);
        if (given != &in && array->parameter.constant)
          throw Error(std::string(flag) + ": '" + function.name + "' cannot write '" + name + "', which is " +
                      array->parameter.text());
      }
  }

  // Arrays ----------------------------------------------------------------------------------------------

  // Returns "1024x1024", "nxk", "n"; nothing for a file.
  Extents shape_of(const std::string& flag, const std::string& name, const std::string& text) {
    Extents extents;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find('x', at), text.size());
      const std::string word = text.substr(at, end - at);
      const auto given = values.find(word);
      const std::string& number = given == values.end() ? word : given->second;
      if (given != values.end()) used_in_shapes.push_back(word);
      std::int64_t extent = 0;
      const auto [last, code] = std::from_chars(number.data(), number.data() + number.size(), extent);
      if (code != std::errc() || last != number.data() + number.size() || extent < 1)
        throw Error(flag + " " + name + "=" + text + ": '" + word +
                    (given == values.end()
                         ? "' is no size: give " + (word.empty() ? "a number" : word + "=VALUE") +
                               "; a file's name ends in .npy"
                         : "' is " + number + ", which is no extent"));
      extents.push_back(extent);
      at = end + 1;
    }
    (void)count_of(extents);  // throws if there are too many
    return extents;
  }

  static bool is_file(const std::string& what) { return what.ends_with(".npy"); }

  void make_arrays() {
    for (CallArray& array : arrays) {
      const CallType& type = *array.parameter.type;
      if (const auto file = expect.find(array.name); file != expect.end()) read_expected(array, file->second);
      if (const auto file = save.find(array.name); file != save.end()) array.saved_file = file->second;
      if (const auto given = in.find(array.name); given != in.end() && is_file(given->second)) {
        array.elements = npy::read_elements(given->second);
        require_type(array, given->second, array.elements.type);
      } else if (given != in.end()) {
        array.elements = made_up(type, shape_of("--in", array.name, given->second),
                                 static_cast<std::uint64_t>(&array - arrays.data()));
      } else {
        const auto shape = out.find(array.name);
        array.elements = {
            std::string(type.numpy),
            shape == out.end() ? array.expected->extents : shape_of("--out", array.name, shape->second),
            {}};
      }
      if (array.count() == 0) throw Error("'" + array.name + "' has no elements");
      if (array.expected && count_of(array.expected->extents) != count_of(array.elements.extents))
        throw Error(array.expected_file + ": holds " + tessera::to_string(array.expected->extents) +
                    " elements, but '" + array.name + "' has " + tessera::to_string(array.elements.extents));
      write_raw(array);
    }
    for (const auto& [name, value] : values)
      if (!call.mentions(name) && std::ranges::find(used_in_shapes, name) == used_in_shapes.end())
        throw Error("'" + name + "=" + value + "' is given, but neither --call '" + call.text +
                    "' nor a shape mentions " + name);
  }

  void read_expected(CallArray& array, const std::string& file) {
    array.expected_file = file;
    array.expected = npy::read_elements(file);
    // Every other number is exact in a double.
    const CallType& type = *array.parameter.type;
    if (type.bytes() == 8 && !type.is_float()) require_type(array, file, array.expected->type);
  }

  void require_type(const CallArray& array, const std::string& file, const std::string& type) const {
    if (type == array.parameter.type->numpy) return;
    throw Error(file + ": holds " + numpy_name(type) + ", but '" + array.name + "' of '" + function.name +
                "' is " + array.parameter.text() + "; convert with a.astype('" +
                numpy_name(array.parameter.type->numpy) + "')");
  }

  void write_raw(CallArray& array) {
    const std::string path = folder.file(array.name);
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(array.elements.bytes.data()),
               static_cast<std::streamsize>(array.elements.bytes.size()));
    file.close();
    std::error_code failed;
    if (!file) failed = std::make_error_code(std::errc::no_space_on_device);
    else fs::resize_file(path, array.count() * array.parameter.type->bytes(), failed);
    if (failed) throw Error(path + ": " + failed.message());
    array.elements.bytes = {};
  }

  // main() ----------------------------------------------------------------------------------------------

  // The text depends on names and types only, so other sizes need no recompilation.
  void make_main() {
    main = "#include \"tessera_main.h\"\n\nint main(int, char** argv) {\n";
    for (const auto& [name, text] : values) {
      if (!call.mentions(name)) continue;
      const auto known = types.find(name);
      const CallType& type =
          known == types.end() ? *std::ranges::find(call_types, "int", &CallType::name) : *known->second;
      require_value(name, text, type);
      const std::string word = "argv[" + std::to_string(2 + words.size()) + "]";
      const std::string number = type.is_float()      ? "strtod(" + word + ", nullptr)"
                                 : type.numpy == "u8" ? "strtoull(" + word + ", nullptr, 10)"
                                                      : "strtoll(" + word + ", nullptr, 10)";
      const std::string type_name(type.name);
      main += "  const auto " + name + " = static_cast<" + type_name + ">(" + number + ");\n";
      words.push_back(text);
    }
    for (const CallArray& array : arrays) {
      const std::string &name = array.name, file = "file_" + name;
      main += "  tessera_main::File " + file + "(argv[1], \"" + name + "\");\n";
      main += "  " + std::string(array.parameter.type->name) + "* " + name + ";\n";
      main += "  if (const cudaError_t error = cudaMalloc(&" + name + ", " + file + ".bytes()))\n" +
              "    return tessera_main::ended(error);\n";
      if (array.read)
        main += "  cudaMemcpy(" + name + ", " + file + ".data(), " + file +
                ".bytes(), cudaMemcpyHostToDevice);\n";
    }
    main += "  " + call.text + ";\n  cudaDeviceSynchronize();\n";
    for (const CallArray& array : arrays) {
      const std::string &name = array.name, file = "file_" + name;
      if (!array.parameter.constant)
        main += "  cudaMemcpy(" + file + ".data(), " + name + ", " + file +
                ".bytes(), cudaMemcpyDeviceToHost);\n";
    }
    for (const CallArray& array : arrays) main += "  cudaFree(" + array.name + ");\n";
    // A host function checks its own launches; a kernel's launch is checked here.
    main += std::string("  return tessera_main::ended(") +
            (call.launches ? "cudaGetLastError" : "cudaDeviceSynchronize") + "());\n}\n";
  }

  static void require_value(const std::string& name, const std::string& text, const CallType& type) {
    double number = 0;
    std::int64_t whole = 0;
    std::uint64_t positive = 0;
    const auto reads = [&](auto& value) {
      const auto [last, code] = std::from_chars(text.data(), text.data() + text.size(), value);
      return code == std::errc() && last == text.data() + text.size();
    };
    bool right = false;
    if (type.is_float()) {
      right = reads(number);
    } else if (type.numpy == "u8") {
      right = reads(positive);
    } else {
      const int bits =
          type.numpy == "b1" ? 1 : static_cast<int>(8 * type.bytes()) - (type.numpy[0] == 'i' ? 1 : 0);
      right =
          reads(whole) && (bits > 62 || (whole < std::int64_t{1} << bits &&
                                         whole >= (type.numpy[0] == 'i' ? -(std::int64_t{1} << bits) : 0)));
    }
    if (!right) throw Error(name + "=" + text + ": '" + text + "' is no " + std::string(type.name));
  }

  CallText call;
  std::map<std::string, std::string> values, in, out, expect, save;
  Words constants, used_in_shapes, words;
  CalledFunction function;
  std::vector<CallArray> arrays;
  std::map<std::string, const CallType*> types;  // the types of `values`
  TemporaryFolder folder;
  std::string main;
};

Call::Call(const CallOptions& options, Source& source) : hidden_(std::make_unique<Hidden>(options, source)) {}
Call::~Call() = default;

const std::string& Call::main_text() const { return hidden_->main; }

Words Call::arguments() const {
  Words out{hidden_->folder.path()};
  out.insert(out.end(), hidden_->words.begin(), hidden_->words.end());
  return out;
}

std::vector<CallResult> Call::results() const {
  std::vector<CallResult> out;
  for (const CallArray& array : hidden_->arrays) {
    if (array.parameter.constant) continue;
    CallResult result{.name = array.name,
                      .type = std::string(array.parameter.type->name),
                      .elements = array.elements,
                      .expected = array.expected_file,
                      .first_wrong = {},
                      .got = {},
                      .wanted = {}};
    const std::string bytes = read_file(hidden_->folder.file(array.name)).value_or("");
    const auto* const first = reinterpret_cast<const std::byte*>(bytes.data());
    result.elements.bytes.assign(first, first + bytes.size());
    if (array.expected) compare_results(result, array);
    if (!array.saved_file.empty()) npy::write_elements(array.saved_file, result.elements);
    out.push_back(std::move(result));
  }
  return out;
}

std::string CallResult::text() const {
  const auto count = static_cast<std::size_t>(count_of(elements.extents));
  if (wrong != 0)
    return name + ": wrong: " + first_wrong + " is " + got + ", but " + expected + " has " + wanted + " (" +
           std::to_string(wrong) + " of " + std::to_string(count) + " elements differ)\n";
  if (!expected.empty()) {
    char difference[40];
    std::snprintf(difference, sizeof difference, "%.2g", largest_difference);
    return name + ": equals " + expected +
           (largest_difference == 0
                ? ""
                : " within the tolerance, the largest difference is " + std::string(difference)) +
           "\n";
  }
  constexpr std::size_t most = 8;
  const std::vector<double> first =
      npy::values_of({elements.type,
                      {},
                      {elements.bytes.begin(),
                       elements.bytes.begin() + static_cast<std::ptrdiff_t>(std::min(count, most) *
                                                                            elements.bytes.size() / count)}});
  std::string out = name + " (" + tessera::to_string(elements.extents) + "):";
  for (const double value : first) {
    char number[40];
    std::snprintf(number, sizeof number, " %g", value);
    out += number;
  }
  return out + (count > most ? " …\n" : "\n");
}

Json CallResult::json() const {
  Json out = {{"name", name}, {"type", type}, {"shape", elements.extents}};
  if (!expected.empty()) {
    out["expected"] = expected;
    out["wrong"] = wrong;
    if (wrong == 0) out["largest_difference"] = largest_difference;
    else out["first_wrong"] = {{"element", first_wrong}, {"is", got}, {"expected", wanted}};
  }
  return out;
}

}  // namespace tessera::frontend
