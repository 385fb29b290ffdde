// SPDX-License-Identifier: Apache-2.0
#include "tessera/frontend/compile/tokens.hpp"
#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

namespace tessera::frontend {
namespace {

bool starts_identifier(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || (c & 0x80) != 0;
}
bool continues_identifier(char c) {
  return starts_identifier(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

constexpr std::array operators{"...", "->", "::", "<=", ">=", "==", "!=", "+=", "-=", "*=",
                               "/=",  "%=", "&=", "|=", "^=", "&&", "||", "++", "--", "##"};

// Reads tokens and the text between them; tracks lines and columns of the text itself.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ >= text_.size(); }
  bool at_line_start() const { return line_start_; }
  int line() const { return line_; }
  std::size_t at() const { return at_; }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void set_line(int line) { line_ = line; }

  // Returns the rest of the line without its end; a '\' before it continues the line.
  std::string_view rest_of_line() {
    const std::size_t from = at_;
    while (!at_end() && peek() != '\n') {
      if (peek() == '\\' && peek(1) == '\n') step();
      step();
    }
    return text_.substr(from, at_ - from);
  }

  bool skip_blank() {
    if (std::isspace(static_cast<unsigned char>(peek())) != 0) return step(), true;
    if (peek() == '\\' && peek(1) == '\n') return step(), step(), true;
    if (peek() == '/' && peek(1) == '/') return rest_of_line(), true;
    if (peek() == '/' && peek(1) == '*') {
      const std::size_t end = text_.find("*/", at_ + 2);
      const bool first = line_start_;
      step_to(end == text_.npos ? text_.size() : end + 2);
      line_start_ = first;
      return true;
    }
    return false;
  }

  void skip_to(std::size_t at) { at_ = at, line_start_ = true, column_ = 1; }

  Token next() {
    Token out;
    out.line = line_;
    out.column = column_;
    const std::size_t from = at_;
    out.kind = kind_of_next();
    out.text = text_.substr(from, at_ - from);
    line_start_ = false;
    return out;
  }

 private:
  void step() {
    if (text_[at_] == '\n') ++line_, column_ = 1, line_start_ = true;
    else ++column_;
    ++at_;
  }
  void step_to(std::size_t to) {
    while (at_ < to) step();
  }

  TokenKind kind_of_next() {
    const std::size_t prefix = prefix_of_text();
    if (const char quote = peek(prefix); quote == '"' || quote == '\'') {
      const bool raw = prefix != 0 && peek(prefix - 1) == 'R';
      step_to(at_ + prefix);
      if (raw) skip_raw();
      else skip_quoted(quote);
      return TokenKind::text;
    }
    if (starts_identifier(peek())) {
      while (continues_identifier(peek())) step();
      return TokenKind::identifier;
    }
    const bool digit = std::isdigit(static_cast<unsigned char>(peek())) != 0;
    if (digit || (peek() == '.' && std::isdigit(static_cast<unsigned char>(peek(1))) != 0)) {
      skip_number();
      return TokenKind::number;
    }
    for (const std::string_view word : operators)
      if (text_.substr(at_, word.size()) == word) {
        step_to(at_ + word.size());
        return TokenKind::punctuator;
      }
    step();
    return TokenKind::punctuator;
  }

  // Returns the length of a literal's prefix: 3 for "u8R" in u8R"(…)".
  std::size_t prefix_of_text() const {
    for (const std::string_view prefix : {"u8R", "uR", "UR", "LR", "R", "u8", "u", "U", "L"})
      if (text_.substr(at_, prefix.size()) == prefix) {
        const char next = peek(prefix.size());
        if (next == '"' || (next == '\'' && prefix.back() != 'R')) return prefix.size();
      }
    return 0;
  }

  void skip_quoted(char quote) {
    step();
    while (!at_end() && peek() != quote && peek() != '\n') {
      if (peek() == '\\' && at_ + 1 < text_.size()) step();
      step();
    }
    if (peek() == quote) step();
  }

  void skip_raw() {
    const std::size_t open = text_.find('(', at_);
    if (open == text_.npos) return step_to(text_.size());
    const std::string close = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const std::size_t end = text_.find(close, open);
    step_to(end == text_.npos ? text_.size() : end + close.size());
  }

  void skip_number() {
    while (!at_end()) {
      const char c = peek();
      const bool exponent = std::string_view("eEpP").find(c) != std::string_view::npos;
      if (exponent && (peek(1) == '+' || peek(1) == '-')) step();
      else if (c == '\'' && !continues_identifier(peek(1))) return;
      else if (!continues_identifier(c) && c != '.' && c != '\'') return;
      step();
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1, column_ = 1;
  bool line_start_ = true;
};

// # 12 "mm.cu" 1 3
struct Marker {
  int line = 0;
  std::string file;
  bool system = false;
};

std::optional<Marker> marker_of(std::string_view text) {
  std::size_t at = 1;
  const auto blanks = [&] {
    while (at < text.size() && text[at] == ' ') ++at;
  };
  Marker out;
  blanks();
  const std::size_t digits = at;
  for (; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0; ++at)
    out.line = out.line * 10 + (text[at] - '0');
  blanks();
  if (at == digits || at >= text.size() || text[at] != '"') return std::nullopt;
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\' && at + 1 < text.size()) ++at;
    out.file += text[at];
  }
  out.system = text.substr(std::min(at, text.size())).find(" 3") != text.npos;
  return out;
}

// Returns the end of a system header's text: the next marker, from `at` on, of a file that is no such header.
std::size_t end_of_system_text(std::string_view text, std::size_t at) {
  while ((at = text.find("\n# ", at)) != text.npos) {
    const std::size_t end = std::min(text.find('\n', at + 1), text.size());
    if (const auto marker = marker_of(text.substr(at + 1, end - at - 1)); marker && !marker->system)
      return at + 1;
    at = end;
  }
  return text.size();
}

void find_partners(TokenList& list) {
  constexpr std::string_view open = "([{", close = ")]}";
  std::vector<std::size_t> stack;
  for (std::size_t i = 0; i < list.tokens.size(); ++i) {
    Token& token = list.tokens[i];
    if (token.kind != TokenKind::punctuator || token.text.size() != 1) continue;
    if (open.find(token.text[0]) != open.npos) stack.push_back(i);
    const std::size_t kind = close.find(token.text[0]);
    if (kind == close.npos) continue;
    const std::string name(token.text);
    if (stack.empty()) throw Refusal(list.place(i), "'" + name + "' has no opening bracket");
    Token& opened = list.tokens[stack.back()];
    if (opened.text[0] != open[kind])
      throw Refusal(list.place(i), "'" + name + "' does not close the '" + std::string(opened.text) +
                                       "' of line " + std::to_string(opened.line));
    token.partner = stack.back();
    opened.partner = i;
    stack.pop_back();
  }
  if (!stack.empty())
    throw Refusal(list.place(stack.back()),
                  "'" + std::string(list.tokens[stack.back()].text) + "' is never closed");
}

// Aligns one line's tokens as written with the preprocessed ones: equal at both ends, macros between.
void align(Token* from, Token* to, const std::vector<Token>& written, std::size_t first, std::size_t last) {
  const auto take = [](Token& token, const Token& of) { token.column = of.column, token.exact = true; };
  while (from != to && first != last && from->text == written[first].text) take(*from++, written[first++]);
  while (from != to && first != last && to[-1].text == written[last - 1].text) take(*--to, written[--last]);
  for (; from != to; ++from) from->column = first != last ? written[first].column : 0;
}

void find_columns(TokenList& list, const ReadFile& read) {
  struct File {
    std::string text;
    std::vector<Token> tokens;
  };
  std::map<int, File> files;
  auto& tokens = list.tokens;
  for (std::size_t i = 0, next = 0; i < tokens.size(); i = next) {
    const int of = tokens[i].file, line = tokens[i].line;
    for (next = i; next < tokens.size() && tokens[next].file == of && tokens[next].line == line;) ++next;
    const auto [found, added] = files.try_emplace(of);
    File& file = found->second;
    if (added) {
      file.text = read(list.files[static_cast<std::size_t>(of)]).value_or("");
      file.tokens = tokenize_source(file.text);
    }
    const auto first = std::ranges::lower_bound(file.tokens, line, {}, &Token::line);
    const auto last = std::ranges::upper_bound(first, file.tokens.end(), line, {}, &Token::line);
    align(&tokens[i], tokens.data() + next, file.tokens,
          static_cast<std::size_t>(first - file.tokens.begin()),
          static_cast<std::size_t>(last - file.tokens.begin()));
  }
}

}  // namespace

Refusal::Refusal(SourcePosition where, const std::string& what)
    : Error(where.file + ":" + std::to_string(where.line) + ":" +
            (where.column == 0 ? "" : std::to_string(where.column) + ":") + " " + what),
      place(std::move(where)) {}

SourcePosition TokenList::place(std::size_t token) const {
  const Token& of = tokens[token];
  return {files[static_cast<std::size_t>(of.file)], of.line, of.column};
}

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::optional<std::string> read_source(const std::string& path) {
  auto text = read_file(path);
  if (text && text->starts_with("\xef\xbb\xbf")) text->erase(0, 3);
  for (std::size_t at = 0; text && (at = text->find("\r\n", at)) != text->npos;) text->erase(at, 1);
  return text;
}

std::vector<Token> tokenize_source(std::string_view source) {
  std::vector<Token> out;
  Lexer lexer(source);
  while (!lexer.at_end()) {
    if (lexer.skip_blank()) continue;
    if (lexer.peek() == '#' && lexer.at_line_start()) lexer.rest_of_line();
    else out.push_back(lexer.next());
  }
  return out;
}

TokenList tokenize(std::string_view preprocessed, const ReadFile& read) {
  TokenList out{.source = preprocessed, .files = {""}, .tokens = {}};
  std::map<std::string, int> known{{"", 0}};
  int file = 0;
  Lexer lexer(preprocessed);
  const auto add = [&](Token token) {
    token.file = file;
    out.tokens.push_back(token);
  };
  while (!lexer.at_end()) {
    if (lexer.skip_blank()) continue;
    if (lexer.peek() != '#' || !lexer.at_line_start()) {
      add(lexer.next());
      continue;
    }
    const auto marker = marker_of(lexer.rest_of_line());
    if (!marker) continue;  // a pragma
    if (marker->system) {
      lexer.skip_to(end_of_system_text(preprocessed, lexer.at()));
      continue;
    }
    const auto [found, added] = known.try_emplace(marker->file, static_cast<int>(out.files.size()));
    if (added) out.files.push_back(marker->file);
    file = found->second;
    lexer.set_line(marker->line - 1);  // a marker gives the next line's number
  }
  for (int i = 0; i < 4; ++i)
    add({.text = preprocessed.substr(preprocessed.size()), .kind = TokenKind::end, .line = lexer.line()});
  find_columns(out, read);
  find_partners(out);
  return out;
}

}  // namespace tessera::frontend
