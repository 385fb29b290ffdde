// SPDX-License-Identifier: Apache-2.0
// The tokens of preprocessed C++ text (g++ -E), each with its file and line from the line markers, and with
// its column in that file.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "tessera/core/text/error.hpp"

namespace tessera::frontend {

enum class TokenKind : std::uint8_t { identifier, number, text, punctuator, end };

struct Token {
  std::string_view text;  // a view into the source
  TokenKind kind = TokenKind::end;
  bool exact = false;  // the file has this token at this place: it is not the result of a macro
  int file = 0;        // index into TokenList::files
  int line = 0, column = 0;
  std::size_t partner = 0;  // a bracket's matching bracket

  bool is(std::string_view other) const { return text == other; }
};

struct SourcePosition {
  std::string file;
  int line = 0, column = 0;
};

// An unsupported construct and its place: "mm.cu:12:5: inline PTX is not supported".
class Refusal : public Error {
 public:
  Refusal(SourcePosition where, const std::string& what);
  SourcePosition place;
};

// Blanks, comments, directives and the text of system headers separate tokens. '<' and '>' are tokens of
// their own, except in "->", "<=" and ">=": templates close by ">>", launches open by "<<<".
struct TokenList {
  std::string_view source;
  std::vector<std::string> files;
  std::vector<Token> tokens;  // the last four are of kind end, so that one may look ahead

  std::size_t offset(std::size_t token) const {
    return static_cast<std::size_t>(tokens[token].text.data() - source.data());
  }
  SourcePosition place(std::size_t token) const;
};

// Returns the text of a file; nullopt if it cannot be read.
using ReadFile = std::function<std::optional<std::string>(const std::string&)>;
std::optional<std::string> read_file(const std::string& path);
// Leaves out a byte order mark, and the carriage returns of Windows.
std::optional<std::string> read_source(const std::string& path);

// Tokenizes preprocessed text, which must outlive the list. Throws Refusal for an unmatched bracket. Columns
// come from the files that the markers name, because g++ -E joins blanks and expands macros.
TokenList tokenize(std::string_view preprocessed, const ReadFile& read = read_source);

// Tokenizes source text as it was written: directives are left out, brackets have no partners.
std::vector<Token> tokenize_source(std::string_view source);

}  // namespace tessera::frontend
