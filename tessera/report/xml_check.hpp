// SPDX-License-Identifier: Apache-2.0
// For tests: what makes a text no well-formed XML, or "" where nothing does. It knows as much of XML
// as the reports write.
#pragma once
#include <cctype>
#include <string>
#include <vector>

namespace tessera::report {

inline std::string text_fault(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<') return "a '<' in text";
    if (text[i] != '&') continue;
    const auto end = text.find(';', i);
    if (end == std::string::npos || end - i > 8) return "an '&' that begins nothing";
    for (std::size_t j = i + 1; j < end; ++j)
      if (std::isalnum(static_cast<unsigned char>(text[j])) == 0 && text[j] != '#') return "a broken entity";
  }
  return {};
}

// The tag from '<' to '>', without both; "" or what is wrong with its attributes.
inline std::string tag_fault(const std::string& tag) {
  std::size_t at = tag.find(' ');
  while (at != std::string::npos && at < tag.size()) {
    at = tag.find_first_not_of(" /", at);
    if (at == std::string::npos) break;
    const auto equals = tag.find("=\"", at);
    if (equals == std::string::npos) return "an attribute without a quoted value in <" + tag;
    const auto close = tag.find('"', equals + 2);
    if (close == std::string::npos) return "an open quote in <" + tag;
    if (const auto fault = text_fault(tag.substr(equals + 2, close - equals - 2)); !fault.empty())
      return fault;
    at = close + 1;
  }
  return {};
}

inline std::string xml_fault(const std::string& text) {
  std::vector<std::string> open;
  std::size_t at = 0;
  while (true) {
    const auto begin = text.find('<', at);
    if (const auto fault = text_fault(text.substr(at, begin - at)); !fault.empty()) return fault;
    if (begin == std::string::npos) break;
    std::size_t end = begin;
    for (bool quoted = false; ++end < text.size() && (quoted || text[end] != '>');)
      if (text[end] == '"') quoted = !quoted;
    if (end >= text.size()) return "a tag without an end";
    const std::string tag = text.substr(begin + 1, end - begin - 1);
    at = end + 1;
    if (tag.starts_with('?')) continue;
    if (tag.starts_with('/')) {
      if (open.empty() || "/" + open.back() != tag) return "<" + tag + "> closes what is not open";
      open.pop_back();
      continue;
    }
    if (const auto fault = tag_fault(tag); !fault.empty()) return fault;
    if (!tag.ends_with('/')) open.push_back(tag.substr(0, tag.find(' ')));
  }
  return open.empty() ? "" : "<" + open.back() + "> is never closed";
}

}  // namespace tessera::report
