// SPDX-License-Identifier: Apache-2.0
#include "tessera/frontend/compile/rewrite.hpp"
#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace tessera::frontend {
namespace {

using std::size_t;
constexpr size_t none = static_cast<size_t>(-1);

template <size_t N>
constexpr bool any_of(std::string_view word, const std::string_view (&words)[N]) {
  return std::ranges::find(words, word) != std::end(words);
}

constexpr std::string_view specifiers[] = {"__global__",        "__device__",        "__host__",
                                           "__shared__",        "__constant__",      "__managed__",
                                           "__grid_constant__", "__launch_bounds__", "__maxnreg__"};

// True if the token is an opening bracket, which is always a token of its own.
bool opens(const Token& token) {
  return token.kind == TokenKind::punctuator && (token.is("(") || token.is("[") || token.is("{"));
}
bool closes(const Token& token) {
  return token.kind == TokenKind::punctuator && (token.is(")") || token.is("]") || token.is("}"));
}
bool is_name(const Token& token) { return token.kind == TokenKind::identifier; }

// True for "alignas", "__attribute__" and the like, whose parentheses hold no parameters.
bool takes_arguments(const Token& token) {
  constexpr std::string_view words[] = {
      "alignas",  "__attribute__", "__attribute",       "decltype",    "typeof",   "__typeof__",
      "noexcept", "explicit",      "__launch_bounds__", "__maxnreg__", "requires", "__declspec"};
  return any_of(token.text, words);
}

std::string literal_of(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

enum class Scope { space, type, body, initializer };

enum class Qualifier { global = 1, device = 2, host = 4, constant = 8, managed = 16, shared = 32 };

struct Qualifiers {
  int bits = 0;
  bool has(Qualifier q) const { return (bits & static_cast<int>(q)) != 0; }
  void add(std::string_view word) {
    if (word == "__global__") bits |= static_cast<int>(Qualifier::global);
    if (word == "__device__") bits |= static_cast<int>(Qualifier::device);
    if (word == "__host__") bits |= static_cast<int>(Qualifier::host);
    if (word == "__constant__") bits |= static_cast<int>(Qualifier::constant);
    if (word == "__managed__") bits |= static_cast<int>(Qualifier::managed);
    if (word == "__shared__") bits |= static_cast<int>(Qualifier::shared);
  }
};

// The structure of the tokens that the rewriting needs: scopes, and declarations with CUDA's specifiers.
class Structure {
 public:
  explicit Structure(const TokenList& of) : list(of), t(of.tokens) { find_scopes(); }

  const TokenList& list;
  const std::vector<Token>& t;

  [[noreturn]] void refuse(size_t at, const std::string& what) const { throw Refusal(list.place(at), what); }

  // Returns the "{" around a token, none: the file's own scope.
  size_t brace(size_t at) const { return braces_[at]; }
  Scope scope(size_t at) const { return brace(at) == none ? Scope::space : scope_of_brace_.at(brace(at)); }

  Scope scope_of_brace(size_t at) const { return scope_of_brace_.at(at); }

  size_t past(size_t at) const { return opens(t[at]) ? t[at].partner + 1 : at + 1; }

  // Returns the token past the ">" of a "<"; none if there is none. "(a < b)" has its parentheses.
  size_t past_angles(size_t at) const {
    int depth = 0;
    while (at < t.size() && !t[at].is(";") && !t[at].is("{") && !closes(t[at])) {
      if (t[at].is("<")) ++depth;
      if (t[at].is(">") && --depth == 0) return at + 1;
      at = past(at);
    }
    return none;
  }

  // Returns the "<" of a ">".
  size_t angle_before(size_t at) const {
    for (int depth = 0;; --at) {
      if (t[at].is(">")) ++depth;
      else if (t[at].is("<") && --depth == 0) return at;
      else if (closes(t[at])) at = t[at].partner;
      else if (t[at].is(";") || opens(t[at])) return none;
      if (at == 0) return none;
    }
  }

  // Returns the first token of the declaration or statement that contains a token.
  size_t start(size_t at) const {
    while (at > 0) {
      const Token& before = t[at - 1];
      if (before.is(";") || before.is("{") || before.is("}") || before.is(":") || before.is("else") ||
          before.is("do") || before.is(",") || before.is("("))
        break;
      if (before.is(">")) {
        const size_t angle = angle_before(at - 1);
        if (angle == none) break;
        at = angle;
        continue;
      }
      if (before.is(")") || before.is("]")) {
        const size_t open = before.partner;
        const bool attribute =
            before.is("]") ? t[open + 1].is("[") : open > 0 && takes_arguments(t[open - 1]);
        if (!attribute) break;
        at = open;
        continue;
      }
      --at;
    }
    return at;
  }

  struct Declaration {
    size_t begin = 0, end = 0;  // `end`: the token that ends it, a ";" or "=", or for a function its "{"
    Qualifiers qualifiers;
    size_t parameters = none;  // "(" of a function
    size_t name = none;        // a function's
    size_t body = none;        // "{" of a function
  };

  // Returns the declaration whose first specifier of CUDA's stands at `at`.
  Declaration declaration(size_t at) const {
    Declaration out;
    out.begin = at;
    bool type_key = false;
    for (size_t i = at;;) {
      const Token& token = t[i];
      if (any_of(token.text, specifiers)) out.qualifiers.add(token.text);
      if (token.kind == TokenKind::end || closes(token)) refuse(at, "this declaration is not understood");
      if (token.is("struct") || token.is("class") || token.is("union") || token.is("enum")) type_key = true;
      if (token.is(";") || token.is("=")) return out.end = i, out;
      if (token.is("{")) {
        if (out.parameters == none && type_key) {
          i = past(i), type_key = false;
          continue;
        }
        const bool lambda = at > 0 && t[at - 1].is("]");
        if (out.parameters != none || lambda) out.body = i;
        return out.end = i, out;
      }
      if (token.is(":") && out.parameters != none) {  // a constructor's initializers
        out.body = out.end = past_initializers(i + 1);
        return out;
      }
      if (token.is("(") && out.parameters == none && opens_parameters(i)) take_parameters(out, i);
      i = past(i);
    }
  }

  struct Declarator {
    size_t begin = none, name = none, end = none;  // `end` is the "," or ";" after it
    size_t bracket = none;                         // the first of an array
    bool initialized = false;
  };

  // Returns the declarators of a variable declaration, from the token `begin` up to its ";".
  std::vector<Declarator> declarators(size_t begin) const {
    std::vector<Declarator> out;
    Declarator now;
    bool named = false;  // by "(*f)"
    for (size_t i = begin;;) {
      const Token& token = t[i];
      if (token.kind == TokenKind::end || closes(token)) refuse(begin, "this declaration is not understood");
      if (token.is(",") || token.is(";")) {
        if (now.name == none) refuse(begin, "this declaration is not understood");
        if (now.begin == none) now.begin = now.name;
        now.end = i++;
        out.push_back(now);
        if (token.is(";")) return out;
        now = {.begin = i};
        named = false;
        continue;
      }
      const bool head = !now.initialized && now.bracket == none && !named;
      if (token.is("=") || (token.is("{") && !holds_members(begin, i))) now.initialized = true;
      if ((token.is("*") || token.is("&")) && now.begin == none) now.begin = i;
      if (token.is("[") && head && !t[i + 1].is("[")) now.bracket = i;
      if (token.is("(") && head && !takes_arguments(t[i - 1])) {
        named = true;
        if (t[i + 1].is("*")) now.name = token.partner - 1;
        else if (!opens_parameters(i)) now.initialized = true;
        if (now.name == none || !is_name(t[now.name])) refuse(i, "this kind of declarator is not understood");
        if (now.begin == none) now.begin = i;
      }
      if (is_name(token) && head && !takes_arguments(token) && !any_of(token.text, specifiers)) now.name = i;
      const size_t angles = token.is("<") && is_name(t[i - 1]) ? past_angles(i) : none;
      i = angles == none ? past(i) : angles;
    }
  }

 private:
  // True if the parenthesis opens a parameter list, as opposed to an attribute's arguments, a
  // function-pointer declarator "(*f)(int)" or an initializer "x(3)".
  bool opens_parameters(size_t open) const {
    const TokenKind first = t[open + 1].kind;
    return !takes_arguments(t[open - 1]) && !t[open - 1].is(")") && !t[open + 1].is("*") &&
           first != TokenKind::number && first != TokenKind::text;
  }

  void take_parameters(Declaration& out, size_t open) const {
    size_t name = open - 1;
    if (t[name].is(">")) {  // a template specialization
      const size_t angle = angle_before(name);
      if (angle == none || angle == 0) refuse(open, "this declaration is not understood");
      name = angle - 1;
    }
    out.parameters = open;
    if (is_name(t[name])) out.name = name;
  }

  // Skips a constructor's initializers, as in "a(1), b{2} {": the last brace begins the body.
  size_t past_initializers(size_t at) const {
    while (t[at].kind != TokenKind::end) {
      if (t[at].is("{") && !is_name(t[at - 1]) && !t[at - 1].is(">")) return at;
      at = past(at);
    }
    refuse(at, "this constructor is not understood");
  }

  // True if this "{" opens the members of a type: "struct { int a; } x".
  bool holds_members(size_t begin, size_t brace) const {
    for (size_t i = brace; i-- > begin && !t[i].is("}") && !t[i].is("=");)
      if (t[i].is("struct") || t[i].is("union") || t[i].is("class") || t[i].is("enum")) return true;
    return false;
  }

  void find_scopes() {
    struct Open {
      size_t brace, boundary;  // the next declaration in it begins there
    };
    std::vector<Open> stack{{none, 0}};
    braces_.resize(t.size());
    for (size_t i = 0; i < t.size(); ++i) {
      if (t[i].is("}") && closes(t[i])) {
        const size_t brace = stack.back().brace;
        stack.pop_back();
        if (scope_of_brace_[brace] != Scope::initializer) stack.back().boundary = i + 1;
      }
      braces_[i] = stack.back().brace;
      if (t[i].is(";")) stack.back().boundary = i + 1;
      if (t[i].is("{") && opens(t[i])) {
        scope_of_brace_[i] = scope_that_opens(stack.back().boundary, i);
        stack.push_back({i, i + 1});
      }
    }
  }

  Scope scope_that_opens(size_t from, size_t brace) const {
    if (from == brace) return Scope::body;
    const Token& last = t[brace - 1];
    if (last.is("=") || last.is(",") || last.is("(") || last.is("return") || last.is("{") || last.is("["))
      return Scope::initializer;
    if (last.kind == TokenKind::text) return Scope::space;  // extern "C"
    bool type = false, parameters = false, members = false;
    for (size_t i = from; i < brace;) {
      if (t[i].is("namespace")) return Scope::space;
      if (t[i].is(":")) members = true;
      if (t[i].is(",") && !members) parameters = false;  // int a(1), b{2};
      if (t[i].is("class") || t[i].is("struct") || t[i].is("union") || t[i].is("enum")) type = true;
      if (t[i].is("(") && i > from && !takes_arguments(t[i - 1])) parameters = true;
      if (t[i].is("=")) type = false;
      const size_t angles = t[i].is("<") ? past_angles(i) : none;
      i = angles == none || angles > brace ? past(i) : angles;
      if (i > brace) break;  // within parentheses: a lambda or an initializer
    }
    if (type && !parameters) return Scope::type;
    if (parameters || last.is("else") || last.is("do") || last.is("try") || last.is(":") || last.is(")") ||
        last.is("mutable") || last.is("]"))
      return Scope::body;
    return Scope::initializer;
  }

  std::vector<size_t> braces_;
  std::map<size_t, Scope> scope_of_brace_;
};

// Writes tokens at their places in the source, with inserted text between them.
class Writer {
 public:
  explicit Writer(const TokenList& list)
      : list_(list),
        edits_(list.tokens.size()),
        order_(list.tokens.size()),
        gap_written_(list.tokens.size()) {
    std::iota(order_.begin(), order_.end(), size_t{0});
  }

  void drop(size_t token) { edits_[token].by = ""; }
  void replace(size_t token, const std::string& by) { edits_[token].by = by; }
  void before(size_t token, const std::string& text) { edits_[token].before += text; }
  void behind(size_t token, const std::string& text) { edits_[token].behind += text; }
  // Writes the tokens [middle, last) before [first, middle); `text`, before these, has the place of `first`.
  void exchange(size_t first, size_t middle, size_t last, const std::string& text) {
    edits_[middle].place = first;
    edits_[middle].before = text;
    const auto at = [&](size_t i) { return order_.begin() + static_cast<std::ptrdiff_t>(i); };
    std::rotate(at(first), at(middle), at(last));
  }

  std::string text() {
    for (const size_t i : order_) write(i);
    return std::move(out_);
  }

 private:
  struct Edit {
    std::optional<std::string> by;
    std::string before, behind;
    size_t place = none;
  };

  void write(size_t i) {
    const Token& token = list_.tokens[i];
    const Edit& edit = edits_[i];
    gap(edit.place == none ? i : edit.place);
    if (edit.place != none) go_to(list_.tokens[edit.place]);
    put(edit.before);
    const std::string_view text = edit.by ? *edit.by : token.text;
    if (!text.empty()) go_to(token);
    put(text);
    line_ += static_cast<int>(std::ranges::count(text, '\n'));  // a raw string may span lines
    put(edit.behind);
    next_ = i + 1;
  }

  // Writes the source text before a token if the token still follows its predecessor in the source.
  void gap(size_t i) {
    if (i != next_ || gap_written_[i]) return put(" ");
    gap_written_[i] = true;
    const size_t from = i == 0 ? 0 : list_.offset(i - 1) + list_.tokens[i - 1].text.size();
    const std::string_view text = list_.source.substr(from, list_.offset(i) - from);
    put(text);
    if (text.find('\n') == text.npos) return;
    const bool in_step =
        i == 0 || (line_ == last_line(list_.tokens[i - 1]) && file_ == list_.tokens[i - 1].file);
    file_ = list_.tokens[i].file;
    line_ = in_step ? list_.tokens[i].line : unknown;
  }

  static int last_line(const Token& token) {
    return token.line + static_cast<int>(std::ranges::count(token.text, '\n'));
  }

  void put(std::string_view text) {
    out_ += text;
    const size_t end_of_line = text.rfind('\n');  // raw strings and gaps may hold newlines
    const bool one_line = end_of_line == text.npos;
    column_ =
        static_cast<int>(one_line ? static_cast<size_t>(column_) + text.size() : text.size() - end_of_line);
  }

  void go_to(const Token& token) {
    const bool here = token.file == file_ && token.line == line_;
    if (here && !token.exact) return;
    if (!here || token.column < column_) start_line(token);
    put(std::string(static_cast<size_t>(std::max(token.column - column_, 0)), ' '));
  }

  void start_line(const Token& token) {
    out_ += "\n# " + std::to_string(token.line) + " " +
            literal_of(list_.files[static_cast<size_t>(token.file)]) + "\n";
    file_ = token.file;
    line_ = token.line;
    column_ = 1;
  }

  static constexpr int unknown = -1;
  const TokenList& list_;
  std::vector<Edit> edits_;
  std::vector<size_t> order_;
  std::vector<bool> gap_written_;
  std::string out_;
  size_t next_ = 0;
  int file_ = 0, line_ = 1, column_ = 1;
};

// One pass over the tokens of a file.
class Rewriter {
 public:
  Rewriter(const TokenList& list, std::vector<Replacement>* replacements)
      : list_(list), t(list.tokens), is_(list), writer_(list), replacements_(replacements) {}

  std::string text() {
    find_functions();
    for (size_t i = 0; i < t.size(); ++i) {
      if (t[i].is("<") && is_launch(i)) rewrite_launch(i);
      refuse_copies_of_shared(i);
      if (!is_name(t[i])) continue;
      refuse_what_is_not_supported(i);
      refuse_assignment_by_host(i);
      rewrite_built_in(i);
      mark_unused_result(i);
      if (t[i].is("texture") && t[i + 1].is("<") && !is_member(i))
        writer_.replace(i, "::tessera_cuda::texture");
      // No macro: the C++ library writes __attribute__((__noinline__)).
      if (t[i].is("__noinline__") && (i == 0 || !t[i - 1].is("(")))
        writer_.replace(i, "__attribute__((noinline))");
      rewrite_specifier(i);
      rewrite_handle(i);
    }
    // Last, because other edits of a value that is replaced would bring its tokens back.
    for (size_t i = 0; i < t.size(); ++i) replace_constant(i);
    rewrite_kernels();
    return writer_.text();
  }

 private:
  using Declaration = Structure::Declaration;

  // Finds the functions with a CUDA specifier; those that are defined here have a body.
  void find_functions() {
    device_body_.resize(t.size(), none);
    for (size_t i = 0; i < t.size(); ++i) {
      if (!is_name(t[i]) || !any_of(t[i].text, specifiers) || t[i].is("__grid_constant__")) continue;
      const Declaration found = is_.declaration(i);
      const Qualifiers q = found.qualifiers;
      if (found.body != none && (q.has(Qualifier::global) || q.has(Qualifier::device))) {
        const size_t from = found.parameters == none ? found.body : found.parameters;
        for (size_t k = from; k < t[found.body].partner; ++k)
          if (device_body_[k] == none) device_body_[k] = found.body;
        functions_.push_back(found);
      }
      if (q.has(Qualifier::global) && found.name != none) ++kernels_[t[found.name].text];
      const bool function = found.parameters != none || found.body != none;
      if (q.has(Qualifier::shared) || !function) variables_.push_back(found);
      if (!function && is_registered(found) && !q.has(Qualifier::managed))
        for (const auto& d : is_.declarators(is_.start(found.begin)))
          device_variables_.insert(t[d.name].text);
      while (i + 1 < found.end) ++i;
    }
  }

  bool in_device_body(size_t at) const { return device_body_[at] != none; }

  // Removes specifiers, and rewrites each declaration once.
  void rewrite_specifier(size_t i) {
    if (!any_of(t[i].text, specifiers)) return;
    writer_.drop(i);
    if (takes_arguments(t[i]) && t[i + 1].is("(")) drop(i + 1, t[i + 1].partner + 1);
    const auto variable = std::ranges::find(variables_, i, &Declaration::begin);
    if (variable == variables_.end()) return;
    if (variable->qualifiers.has(Qualifier::shared)) rewrite_shared(*variable);
    else register_variables(*variable);
  }

  void drop(size_t from, size_t to) {
    for (; from < to; ++from) writer_.drop(from);
  }

  // Returns the tokens joined by blanks, without CUDA's specifiers and words that a copy must not have.
  std::string words(size_t from, size_t to, bool attributes = true) const {
    std::string out;
    for (size_t i = from; i < to; ++i) {
      const bool gone =
          any_of(t[i].text, specifiers) || t[i].is("static") || t[i].is("extern") || t[i].is("inline");
      const bool attribute = !attributes && takes_arguments(t[i]) && !t[i].is("decltype");
      if (attribute) i = t[i + 1].partner;
      else if (!gone) out.append(out.empty() ? "" : " ").append(t[i].text);
    }
    return out;
  }

  void rewrite_shared(const Declaration& declaration) {
    const size_t begin = is_.start(declaration.begin), end = declaration.end;
    if (!t[end].is(";"))
      is_.refuse(declaration.begin, "a __shared__ variable with an initial value is not CUDA");
    const bool dynamic = mentions(begin, end, "extern");
    const auto declared = is_.declarators(begin);
    std::string text;
    const Scope scope = is_.scope(begin);
    const std::string type = shared_type(declared);
    if (!dynamic) text = "struct " + type + " { " + words(begin, declared.back().end) + "; };";
    for (const auto& d : declared) {
      const std::string variable =
          dynamic ? dynamic_shared(begin, declared[0].begin, d) : static_shared(type, d);
      if (scope == Scope::body) text += " " + variable;
      else file_shared_.push_back({t[d.name].text, variable});
      if (!dynamic && scope == Scope::body) shared_names_[device_body_[begin]].insert(t[d.name].text);
    }
    if (scope == Scope::body && !in_device_body(begin))
      is_.refuse(declaration.begin, "__shared__ in a function that is neither __global__ nor __device__");
    if (scope != Scope::body && scope != Scope::space)
      is_.refuse(declaration.begin, "__shared__ within a class is not supported");
    drop(begin, end + 1);
    writer_.replace(begin, text);
  }

  // The variables of a declaration are members of a struct: the runtime knows each by its offset in a type.
  std::string shared_type(const std::vector<Structure::Declarator>& declared) const {
    return "tessera_shared_" + std::string(t[declared[0].name].text);
  }
  std::string static_shared(const std::string& type, const Structure::Declarator& d) const {
    const std::string name(t[d.name].text);
    return "auto& " + name + " = ::tessera_cuda::shared(" + literal_of(name) + ", &" + type + "::" + name +
           ");";
  }

  // Declares a pointer, because the compiler would trust the bound of an array of one element.
  std::string dynamic_shared(size_t begin, size_t head_end, const Structure::Declarator& d) const {
    const std::string name(t[d.name].text);
    std::string out = words(begin, head_end, false) + " " + words(d.begin, d.name);
    std::string value = "::tessera_cuda::dynamic_shared(" + literal_of(name) + ")";
    if (d.bracket == none) {
      out += " &" + name;
      value = "(decltype(" + name + "))*(char*)" + value;
    } else if (const size_t further = t[d.bracket].partner + 1; further < d.end) {
      out += " (*" + name + ")" + words(further, d.end);
    } else {
      out += " *" + name;
    }
    return out + " = " + value + ";";
  }

  // True if the runtime gets the variables' addresses: templates, classes and functions cannot register them.
  bool is_registered(const Declaration& declaration) const {
    const Qualifiers q = declaration.qualifiers;
    if (!q.has(Qualifier::device) && !q.has(Qualifier::constant) && !q.has(Qualifier::managed)) return false;
    const size_t begin = is_.start(declaration.begin);
    return is_.scope(begin) == Scope::space && !t[begin].is("template");
  }

  void register_variables(const Declaration& declaration) {
    if (!is_registered(declaration)) return;
    const Qualifiers q = declaration.qualifiers;
    const size_t begin = is_.start(declaration.begin);
    const std::string kind = q.has(Qualifier::constant)  ? "constant"
                             : q.has(Qualifier::managed) ? "managed"
                                                         : "device";
    const bool is_extern = mentions(begin, declaration.end, "extern");
    const auto declared = is_.declarators(begin);
    std::string text;
    for (const auto& d : declared) {
      if (is_extern && !d.initialized) continue;
      const std::string name(t[d.name].text);
      const SourcePosition place = list_.place(d.name);
      text += " static const ::tessera_cuda::Variable tessera_variable_" + name + "(" + literal_of(name) +
              ", " + name + ", ::tessera_cuda::Variable::" + kind + ", {" + literal_of(place.file) + ", " +
              std::to_string(place.line) + "}" + (d.initialized ? "" : ", false") + ");";
    }
    const bool aligned =
        mentions(begin, declaration.end, "alignas") || mentions(begin, declaration.end, "__attribute__");
    if (text.empty()) return writer_.behind(declared.back().end, text);
    // Surrounds the variable with unused bytes, both in the zero-initialized and in the initialized data.
    // Constants lie elsewhere, beside string literals.
    const size_t head_end = declared[0].begin;
    const bool is_const = head_end == declared[0].name &&
                          (mentions(begin, head_end, "const") || mentions(begin, head_end, "constexpr"));
    const auto zone = [&](const std::string& side) {
      const std::string name = side + "_" + std::string(t[declared[0].name].text);
      return std::string(" [[gnu::used, gnu::no_reorder]] static ") + (is_const ? "const " : "") +
             "char tessera_zone" + name + "[256]" + (is_const ? " = {1}" : "") + ", tessera_data" + name +
             "[256] = {1};";
    };
    writer_.before(begin,
                   zone("_before") + " __attribute__((no_reorder)) " + (aligned ? "" : "alignas(256) "));
    writer_.behind(declared.back().end, zone("_behind") + text);
  }

  // The name itself stays, so that C++ finds what it means here: a member, a parameter, a variable or, where
  // nothing hides it, CUDA's own. A declaration that is not seen as such does not compile.
  void rewrite_built_in(size_t i) {
    constexpr std::string_view built_ins[] = {"threadIdx", "blockIdx", "blockDim", "gridDim"};
    if (!in_device_body(i) || is_member(i)) return;
    if (any_of(t[i].text, built_ins) && !declares(i))
      writer_.replace(i, "::tessera_cuda::built_in(" + std::string(t[i].text) + ")");
    // The C library's clock() measures the host's time.
    if (t[i].is("clock") && t[i + 1].is("(") && t[i + 2].is(")")) writer_.replace(i, "::tessera_cuda::clock");
  }

  // Marks a statement such as "atomicAdd(…);", whose result is not used.
  void mark_unused_result(size_t i) {
    constexpr std::string_view atomics[] = {"atomicAdd", "atomicSub",  "atomicMin", "atomicMax",
                                            "atomicInc", "atomicDec",  "atomicAnd", "atomicOr",
                                            "atomicXor", "atomicExch", "atomicCAS"};
    const std::string_view name = t[i].text.substr(0, t[i].text.find('_'));
    if (!any_of(name, atomics) || !in_device_body(i) || !t[i + 1].is("(")) return;
    const Token &before = t[i - 1], &behind = t[t[i + 1].partner + 1];
    const bool begins = before.is(";") || before.is("{") || before.is("}") || before.is(")") ||
                        before.is("else") || before.is("do");
    if (begins && behind.is(";")) writer_.behind(t[i + 1].partner, ", ::tessera_cuda::result_is_unused()");
  }

  // True if a name is declared, initialized or captured here rather than used.
  bool declares(size_t i) const {
    const Token &before = t[i - 1], &after = t[i + 1];
    if (after.is("(") || after.is("{")) return true;  // built-in variables are followed by neither
    if (is_type(i - 1)) return true;
    const bool ends = after.is(",") || after.is(")") || after.is(";") || after.is("=") || after.is("[") ||
                      after.is("]") || after.is("}") || after.is(":");
    if (!ends) return false;
    if (before.is("*") || before.is("&") || before.is("&&"))
      return in_introducer(i) || (is_type(i - 2) && begins_declaration(i - 2));
    if (before.is("[") || before.is(",")) return in_introducer(i) || is_further_declarator(i);
    return before.is("{") && is_.scope(i) == Scope::type;  // an enumerator
  }

  // True if this token, followed by a name, can only be a type.
  bool is_type(size_t at) const {
    constexpr std::string_view keywords[] = {"return", "case",  "else",   "throw",    "sizeof",   "do",
                                             "goto",   "new",   "delete", "alignof",  "typeof",   "not",
                                             "and",    "or",    "xor",    "bitand",   "bitor",    "compl",
                                             "not_eq", "or_eq", "and_eq", "co_yield", "co_return"};
    return is_name(t[at]) && !any_of(t[at].text, keywords);
  }

  // True if the type that ends here begins a statement or a parameter, possibly after "const" and the like.
  bool begins_declaration(size_t type) const {
    const size_t last = type;
    while (type > 0 && (is_name(t[type - 1]) || t[type - 1].is("::"))) --type;
    const Token& before = t[type - 1];
    const bool parameter =
        (before.is(",") || before.is("(")) && (is_parameter(type) || (type < last && t[type].is("const")));
    return before.is(";") || before.is("{") || before.is("}") || parameter;
  }
  bool is_parameter(size_t i) const {
    return std::ranges::any_of(functions_, [&](const Declaration& f) {
      return f.parameters != none && f.parameters < i && i < t[f.parameters].partner;
    });
  }

  // True within "[a, gridDim]" of a lambda or of a structured binding.
  bool in_introducer(size_t i) const {
    size_t open = i - 1;
    while (open > 0 && (is_name(t[open]) || t[open].is(",") || t[open].is("&") || t[open].is("="))) --open;
    if (!t[open].is("[") || open == 0) return false;
    const bool indexes =
        (is_type(open - 1) && !t[open - 1].is("auto")) || t[open - 1].is(")") || t[open - 1].is("]");
    return !indexes;
  }

  // True for the further names in "dim3 a, gridDim;".
  bool is_further_declarator(size_t i) const {
    size_t first = i - 1;
    int colons = 0;  // initializers follow them in "A(int n) : a(n), b(1) {"
    while (first > 0 && !t[first - 1].is(";") && !opens(t[first - 1])) {
      const Token& before = t[--first];
      if (before.is("}") && is_.scope_of_brace(before.partner) != Scope::initializer) {
        ++first;
        break;
      }
      if (before.is("?")) --colons;
      if (before.is(":") && t[first - 1].is(")")) ++colons;
      if (closes(before)) first = before.partner;
    }
    const bool braced = first > 0 && t[first - 1].is("{");
    if (is_.scope(i) == Scope::type && braced && !is_type(first + 1)) return true;
    if (colons > 0 || (braced && is_.scope(i) == Scope::initializer)) return false;
    const bool call = first > 0 && t[first - 1].is("(") && (first < 2 || !t[first - 2].is("for"));
    return !call && begins_with_type_and_name(first);
  }

  // True for "const int a" and "std::vector<int>* a".
  bool begins_with_type_and_name(size_t at) const {
    for (int names = 0; names < 2; ++names) {
      while (names > 0 && (t[at].is("*") || t[at].is("&") || t[at].is("&&"))) ++at;
      if (!is_type(at)) return false;
      while (t[at + 1].is("::")) at += 2;
      const size_t angles = t[at + 1].is("<") ? is_.past_angles(at + 1) : none;
      at = angles == none ? at + 1 : angles;
    }
    return true;
  }

  bool is_member(size_t i) const {
    return i > 0 && (t[i - 1].is(".") || t[i - 1].is("->") || t[i - 1].is("::"));
  }

  // True for "<<<". "operator<< <T>" is the only other place where three follow each other.
  bool is_launch(size_t i) const {
    return i > 0 && i + 2 < t.size() && t[i + 1].is("<") && t[i + 2].is("<") && !t[i - 1].is("operator") &&
           !t[i - 1].is("<");
  }

  void rewrite_launch(size_t open) {
    if (in_device_body(open))
      is_.refuse(open, "a launch from a kernel (dynamic parallelism) is not supported");
    const size_t first = callee(open), configuration = open + 3;
    size_t close = configuration;
    const auto closes_here = [&](size_t i) {
      return t[i].is(">") && t[i + 1].is(">") && t[i + 2].is(">") && t[i + 3].is("(");
    };
    while (!closes_here(close)) {
      if (t[close].kind == TokenKind::end || t[close].is(";") || closes(t[close]))
        is_.refuse(open, "this launch is not understood: there is no '>>>' with arguments behind it");
      close = is_.past(close);
    }
    if (close == configuration) is_.refuse(open, "a launch without grid and block");
    const size_t arguments = close + 3;
    drop(open, configuration);
    drop(close, arguments);
    writer_.exchange(first, configuration, close, "(::tessera_cuda::configure(");
    writer_.behind(close - 1, "), ");
    writer_.behind(t[arguments].partner, ")");
  }

  // Returns the first token of the expression before "<<<": a name, perhaps of a template or a member, a
  // call, or a parenthesis.
  size_t callee(size_t open) const {
    constexpr std::string_view keywords[] = {"if", "while", "for",  "switch", "return", "else",
                                             "do", "throw", "case", "and",    "or",     "not"};
    const auto is_qualifier = [&](size_t i) {
      return (is_name(t[i]) && !any_of(t[i].text, keywords)) || t[i].is(">");
    };
    const auto fails = [&] {
      is_.refuse(open, "this launch is not understood: what stands before '<<<' is no kernel");
    };
    if (open == 0) fails();
    for (size_t at = open - 1;;) {
      if (at == 0) return at;
      const Token& before = t[at - 1];
      if (t[at].is(">")) {
        const size_t angle = is_.angle_before(at);
        if (angle == none || angle == 0 || !is_name(t[angle - 1])) fails();
        at = angle - 1;
      } else if (closes(t[at]) && !t[at].is("}")) {
        const size_t bracket = t[at].partner;
        if (bracket == 0) return bracket;
        const Token& head = t[bracket - 1];
        const bool condition = head.is(")") && head.partner > 0 && any_of(t[head.partner - 1].text, keywords);
        const bool postfix = (is_name(head) && !any_of(head.text, keywords)) || head.is("]") ||
                             head.is(">") || (head.is(")") && !condition);
        if (!postfix) return bracket;
        at = bracket - 1;
      } else if (is_name(t[at])) {
        if (before.is(".") || before.is("->")) at -= 2;
        else if (before.is("template")) at -= 1;
        else if (before.is("::") && at > 1 && is_qualifier(at - 2)) at -= 2;
        else return before.is("::") ? at - 1 : at;
      } else {
        fails();
      }
    }
  }

  // Removes the cast in cudaLaunchKernel((void*)k<float>, …), which would lose the types of the parameters.
  void rewrite_handle(size_t i) {
    const bool takes_kernel = t[i].text.starts_with("cudaLaunch") || t[i].text.starts_with("cudaFunc") ||
                              t[i].text.starts_with("cudaOccupancy");
    if (!takes_kernel || !t[i + 1].is("(")) return;
    for (size_t k = i + 2; k < t[i + 1].partner; ++k) {
      size_t open = k, named = none;
      if (t[k].is("(")) named = t[k].partner + 1;
      if (t[k].is("reinterpret_cast") && t[k + 1].is("<")) open = k + 1, named = is_.past_angles(k + 1);
      if (named == none) continue;
      const bool to_void = t[open + 1].is("void") || (t[open + 1].is("const") && t[open + 2].is("void"));
      size_t name = named;
      while (t[name].is("(") || t[name].is("&")) ++name;
      if (to_void && kernels_.contains(t[name].text)) drop(k, named);
    }
  }

  void replace_constant(size_t i) {
    if (replacements_ == nullptr || i == 0) return;
    const auto of = std::ranges::find(*replacements_, t[i].text, &Replacement::name);
    if (of == replacements_->end()) return;
    size_t at = i + 1;
    while (t[at].is("[")) at = is_.past(at);
    if (!is_initialized(i, at)) return;
    const size_t first = at + 1, end = t[at].is("=") ? end_of_value(first) : t[at].partner;
    drop(first, end);
    if (first == end) writer_.before(end, of->value);
    else writer_.replace(first, of->value);
    ++of->times;
  }

  // True if a name is declared here, and its first value follows `at`, a "=", "(" or "{".
  bool is_initialized(size_t i, size_t at) const {
    if (!t[at].is("=") && !t[at].is("{") && (!t[at].is("(") || holds_parameters(at))) return false;
    size_t before = i - 1;
    if (is_.scope(i) == Scope::type && t[at].is("=") && (t[before].is("{") || t[before].is(",")))
      return true;  // an enumerator or a static member
    while (before > 1 && t[before].is("::")) before -= 2;
    while (before > 0 && (t[before].is("*") || t[before].is("&") || t[before].is("&&"))) --before;
    if (t[before].is(",")) return is_further_declarator(i);
    if (t[before].is(">")) return is_.angle_before(before) != none;
    constexpr std::string_view names_type[] = {"struct", "class",    "union",    "enum",
                                               "using",  "typename", "namespace"};
    return is_type(before) && !any_of(t[before].text, names_type);
  }

  // True for "(int n)", "(T x)" and "()", which declare a function: "(4)" and "(2 * n)" hold a value.
  bool holds_parameters(size_t open) const {
    constexpr std::string_view types[] = {"const", "void",   "bool",   "char",     "short",  "int", "long",
                                          "float", "double", "signed", "unsigned", "size_t", "auto"};
    const Token &first = t[open + 1], &second = t[open + 2];
    return first.is(")") || (is_name(first) && is_name(second) && !first.is("sizeof")) ||
           (any_of(first.text, types) && !second.is("(") && !second.is("{"));
  }

  size_t end_of_value(size_t at) const {
    size_t head = at;  // the ">" of "template <int M, int N = 4>" ends a value
    while (head > 0 && !t[head].is(";") && !t[head].is("<") && !opens(t[head])) --head;
    const bool is_parameter_of_template = head > 0 && t[head].is("<") && t[head - 1].is("template");
    while (!(is_parameter_of_template && t[at].is(">")) && !t[at].is(",") && !t[at].is(";") &&
           !closes(t[at]) && t[at].kind != TokenKind::end) {
      const size_t angles = t[at].is("<") && is_name(t[at - 1]) ? is_.past_angles(at) : none;
      const bool is_template =
          angles != none && (t[angles].is("(") || t[angles].is("{") || t[angles].is("::"));
      at = is_template ? angles : is_.past(at);
    }
    return at;
  }

  void refuse_what_is_not_supported(size_t i) {
    constexpr std::string_view assembly[] = {"asm", "__asm__", "__asm"};
    constexpr std::string_view textures[] = {"texCubemap",
                                             "texCubemapLayered",
                                             "tex1DLod",
                                             "tex2DLod",
                                             "tex3DLod",
                                             "tex1DGrad",
                                             "tex2DGrad",
                                             "tex3DGrad",
                                             "tex2Dgather",
                                             "tex2DLayeredLod",
                                             "surfCubemapread",
                                             "surfCubemapwrite",
                                             "cudaMallocMipmappedArray",
                                             "cudaResourceTypeMipmappedArray"};
    constexpr std::string_view library[] = {"barrier",    "pipeline", "memcpy_async", "atomic",
                                            "atomic_ref", "std",      "ptx"};
    if (any_of(t[i].text, assembly) && in_device_body(i)) is_.refuse(i, "inline PTX (asm) is not supported");
    if (is_member(i)) return;
    const bool names_space = t[i + 1].is("::");
    if (names_space && (t[i].is("wmma") || t[i].is("nvcuda")))
      is_.refuse(i, "matrix instructions (wmma) are not supported");
    if (names_space && t[i].is("cuda") && any_of(t[i + 2].text, library))
      is_.refuse(i, "cuda::" + std::string(t[i + 2].text) + " is not supported");
    if (t[i].is("surface") && t[i + 1].is("<"))
      is_.refuse(i, "surface references are not supported: surface objects are");
    if (any_of(t[i].text, textures))
      is_.refuse(i, std::string(t[i].text) + " is not supported: no cubemaps, mipmaps, gradients or gathers");
    if (t[i].is("__cluster_dims__")) is_.refuse(i, "clusters of blocks are not supported");
  }

  // Refuses a host's assignment to a device variable, which kernels on a GPU would not see.
  void refuse_assignment_by_host(size_t i) {
    if (in_device_body(i) || !device_variables_.contains(t[i].text) || is_.scope(i) != Scope::body) return;
    const bool begins = t[i - 1].is(";") || t[i - 1].is("{") || t[i - 1].is("}");
    size_t next = i + 1;
    while (t[next].is("[")) next = is_.past(next);
    constexpr std::string_view assignments[] = {"=", "+=", "-=", "*=", "/=", "++", "--"};
    if (!begins || !any_of(t[next].text, assignments)) return;
    size_t function = is_.brace(i);  // the outermost
    while (is_.brace(function) != none && is_.scope(function) != Scope::space) function = is_.brace(function);
    while (function > 0 && !t[function - 1].is(";") && !t[function - 1].is("}")) --function;
    for (size_t k = function + 1; k < i; ++k)  // a local declaration may shadow the device variable
      if (t[k].is(t[i].text) &&
          (is_name(t[k - 1]) || t[k - 1].is("*") || t[k - 1].is("&") || t[k - 1].is(">") || t[k - 1].is(",")))
        return;
    is_.refuse(i, "the host assigns to '" + std::string(t[i].text) +
                      "', which is device memory: use cudaMemcpyToSymbol");
  }

  // Refuses a lambda that captures all by value, because it would copy a shared array.
  void refuse_copies_of_shared(size_t i) {
    if (!t[i].is("[") || !in_device_body(i) || !t[i + 1].is("=")) return;
    const auto names = shared_names_.find(device_body_[i]);
    if (names == shared_names_.end()) return;
    size_t body = t[i].partner + 1;
    while (!t[body].is("{") && !t[body].is(";") && t[body].kind != TokenKind::end) body = is_.past(body);
    if (!t[body].is("{")) return;
    for (size_t k = body; k < t[body].partner; ++k)
      if (is_name(t[k]) && names->second.contains(t[k].text) && !is_member(k))
        is_.refuse(i, "a lambda that captures the __shared__ variable '" + std::string(t[k].text) +
                          "' by value is not supported: capture by reference");
  }

  void rewrite_kernels() {
    for (const Declaration& f : functions_) {
      const size_t end = t[f.body].partner;
      const bool kernel = f.qualifiers.has(Qualifier::global);
      if (kernel && f.name == none) is_.refuse(f.begin, "this kernel's name is not understood");
      std::string begin, finish;
      if (kernel) {
        begin = " ::tessera_cuda::kernel(" + literal_of(t[f.name].text) +
                ", ::tessera_cuda::Closure{[=]() mutable {";
        finish = "}}" + max_threads(f) + "); ";
      }
      std::string shared;
      if (device_body_[f.body] == f.body)  // not within another one
        for (const auto& [name, text] : file_shared_)
          if (mentions(f.body, end, name) && !mentions(f.parameters, f.body, name)) shared += " " + text;
      if (!shared.empty()) {
        begin += shared + " {";
        finish = "} " + finish;
      }
      writer_.behind(f.body, begin);
      writer_.before(end, finish);
      if (kernel) writer_.behind(end, entry(f));
    }
  }

  // Returns ", int(N)" of __launch_bounds__(N, …) in a kernel's head.
  std::string max_threads(const Declaration& f) const {
    for (size_t i = is_.start(f.begin); i < f.parameters; ++i) {
      if (!t[i].is("__launch_bounds__") || !t[i + 1].is("(")) continue;
      size_t end = i + 2;
      while (end < t[i + 1].partner && !t[end].is(",")) {
        const size_t angles = t[end].is("<") && is_name(t[end - 1]) ? is_.past_angles(end) : none;
        end = angles == none ? is_.past(end) : angles;
      }
      return ", int(" + words(i + 2, end) + ")";
    }
    return {};
  }

  // The runtime finds a kernel whose type is lost by its address: "(void*)k". A template's type is not lost.
  std::string entry(const Declaration& f) const {
    const size_t begin = is_.start(f.begin);
    const auto same_name = [&](const Declaration& other) {
      return other.qualifiers.has(Qualifier::global) && other.name != none &&
             t[other.name].is(t[f.name].text);
    };
    const bool unique = std::ranges::count_if(functions_, same_name) == 1;
    if (t[begin].is("template") || is_.scope(begin) != Scope::space || !unique) return {};
    const std::string name(t[f.name].text);
    // In the file's own scope "using namespace std;" may have brought another copy(), swap() or fill().
    std::string kernel = (is_.brace(begin) == none ? "::" : "") + name;
    // Another declaration may have other parameters.
    if (kernels_.at(name) > 1) kernel = "static_cast<void (*)(" + parameters(f) + ")>(" + kernel + ")";
    return " static const ::tessera_cuda::Entry tessera_entry_" + name + "(" + literal_of(name) + ", " +
           kernel + ");";
  }

  std::string parameters(const Declaration& f) const {
    std::string out;
    const size_t end = t[f.parameters].partner;
    size_t from = f.parameters + 1;
    for (size_t i = from; i < end;) {
      if (t[i].is("=")) {
        out += words(from, i);
        while (i < end && !t[i].is(",")) i = is_.past(i);
        from = i;
        continue;
      }
      const size_t angles = t[i].is("<") && is_name(t[i - 1]) ? is_.past_angles(i) : none;
      i = angles == none ? is_.past(i) : angles;
    }
    return out + (out.empty() || from == end ? "" : " ") + words(from, end);
  }

  // True if the tokens may refer to a variable of this name.
  bool mentions(size_t from, size_t to, std::string_view name) const {
    for (size_t i = from; i < to; ++i)
      if (t[i].is(name) && !is_member(i)) return true;
    return false;
  }

  const TokenList& list_;
  const std::vector<Token>& t;
  Structure is_;
  Writer writer_;
  std::vector<Replacement>* replacements_;
  std::vector<size_t> device_body_;  // by token: the "{" of the outermost device function around it
  std::vector<Declaration> functions_, variables_;
  std::map<std::string_view, int> kernels_;  // declarations by name
  std::set<std::string_view> device_variables_;
  std::map<size_t, std::set<std::string_view>> shared_names_;  // by device body
  std::vector<std::pair<std::string_view, std::string>> file_shared_;
};

// A declaration outside of functions, or the beginning or end of a namespace or a class.
struct Unit {
  size_t begin = 0, end = 0, body = none;
  bool device = false, host = false;  // the specifiers of a function
};

std::vector<Unit> units(const Structure& is) {
  const auto& t = is.t;
  std::vector<Unit> out;
  Unit now;
  const auto finish = [&](size_t end) {
    now.end = end;
    if (now.begin != end) out.push_back(now);
    now = {.begin = end};
  };
  for (size_t i = 0; t[i].kind != TokenKind::end;) {
    if (t[i].is("__device__") || t[i].is("__global__")) now.device = true;
    if (t[i].is("__host__")) now.host = true;
    const bool brace = t[i].is("{") && opens(t[i]);
    const Scope scope = brace ? is.scope_of_brace(i) : Scope::space;
    if (brace && scope == Scope::body) now.body = i;
    const bool enters = brace && (scope == Scope::space || scope == Scope::type);
    const bool leaves = t[i].is("}") || t[i].is(";");
    i = enters || leaves ? i + 1 : is.past(i);
    if (enters || leaves || now.body != none) finish(i);
  }
  finish(t.size());
  return out;
}

class Merge {
 public:
  Merge(const TokenList& host, const TokenList& device) : host_(host), device_(device) {}

  std::string text() {
    const auto in_host = units(host_), in_device = units(device_);
    auto h = in_host.begin();
    auto d = in_device.begin();
    while (h != in_host.end() || d != in_device.end()) {
      const bool both = h != in_host.end() && d != in_device.end();
      if (both && equal(h->begin, h->end, d->begin, d->end)) {
        ++h, ++d;
      } else if (both && h->body != none && d->body != none && equal(h->begin, h->body, d->begin, d->body)) {
        merge_bodies(*h++, *d++);
      } else if (h != in_host.end() && h->device && !h->host) {
        copy_host_up_to(host_.list.offset(h->begin));
        written_ = host_.list.offset(h->end);
        ++h;
        mark(host_, h == in_host.end() ? host_.t.size() - 1 : h->begin);
      } else if (d != in_device.end() && d->device && !d->host) {
        copy_host_up_to(host_.list.offset(h == in_host.end() ? host_.t.size() - 1 : h->begin));
        copy(device_, d->begin, d->end);
        ++d;
        mark(host_, h == in_host.end() ? host_.t.size() - 1 : h->begin);
      } else {
        host_.refuse(
            h == in_host.end() ? host_.t.size() - 1 : h->begin,
            "a declaration that depends on __CUDA_ARCH__ is not supported, but in a function's body");
      }
    }
    copy_host_up_to(host_.list.source.size());
    return std::move(out_);
  }

 private:
  bool equal(size_t h, size_t h_end, size_t d, size_t d_end) const {
    return std::ranges::equal(host_.t.begin() + static_cast<std::ptrdiff_t>(h),
                              host_.t.begin() + static_cast<std::ptrdiff_t>(h_end),
                              device_.t.begin() + static_cast<std::ptrdiff_t>(d),
                              device_.t.begin() + static_cast<std::ptrdiff_t>(d_end), {}, &Token::text,
                              &Token::text);
  }

  void merge_bodies(const Unit& h, const Unit& d) {
    if (!h.device) return;  // the host's text stays
    copy_host_up_to(host_.list.offset(h.body));
    if (h.host) out_ += "{ if (::tessera_cuda::on_device())";
    copy(device_, d.body, d.end);
    if (h.host) {
      out_ += " else";
      copy(host_, h.body, h.end);
      out_ += "}";
    }
    written_ = host_.list.offset(h.end);
    mark(host_, h.end);
  }

  void copy_host_up_to(size_t offset) {
    out_ += host_.list.source.substr(written_, offset - written_);
    written_ = offset;
  }

  void copy(const Structure& from, size_t begin, size_t end) {
    mark(from, begin);
    const size_t at = from.list.offset(begin), last = from.list.offset(end - 1) + from.t[end - 1].text.size();
    out_ += from.list.source.substr(at, last - at);
  }

  void mark(const Structure& of, size_t token) {
    const SourcePosition place = of.list.place(token);
    out_ += "\n# " + std::to_string(place.line) + " " + literal_of(place.file) + "\n";
  }

  Structure host_, device_;
  size_t written_ = 0;  // in the host's text
  std::string out_;
};

}  // namespace

std::string merge_passes(std::string_view host, std::string_view device, const ReadFile& read) {
  if (host == device) return std::string(host);
  const TokenList of_host = tokenize(host, read), of_device = tokenize(device, read);
  return Merge(of_host, of_device).text();
}

std::string replace_macros(std::string source, std::vector<Replacement>& replacements) {
  for (Replacement& r : replacements) {
    for (size_t at = 0; (at = source.find("define", at)) != source.npos;) {
      const size_t line = source.rfind('\n', at) + 1;
      at += 6;
      const bool directive = source.substr(line, at - 6 - line).find_first_not_of(" \t#") == source.npos &&
                             source[source.find_first_not_of(" \t", line)] == '#';
      const size_t name = source.find_first_not_of(" \t", at);
      if (!directive || name == source.npos || source.compare(name, r.name.size(), r.name) != 0) continue;
      const size_t end_of_name = name + r.name.size();
      if (end_of_name < source.size() && source[end_of_name] != ' ' && source[end_of_name] != '\t') continue;
      size_t end = end_of_name;  // the end of the line and its continuation lines
      std::string lines;
      for (; end < source.size() && source[end] != '\n'; ++end)
        if (source[end] == '\\' && source.substr(end, 2) == "\\\n") lines += source[end++], lines += '\n';
      source.replace(end_of_name, end - end_of_name, " " + r.value + " " + lines);
      r.times = 1;  // alternatives of one macro are one
      at = end_of_name;
    }
  }
  return source;
}

std::string rewrite(std::string_view preprocessed, std::vector<Replacement>* replacements,
                    const ReadFile& read) {
  const TokenList list = tokenize(preprocessed, read);
  return Rewriter(list, replacements).text();
}

}  // namespace tessera::frontend
