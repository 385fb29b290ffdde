// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/typed_call.hpp"
#include <cctype>

namespace tessera {

std::string without_flags(std::string_view message) {
  std::string out;
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  bool in_flag = false;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const bool begins_word = i == 0 || message[i - 1] == ' ' || message[i - 1] == '(';
    if (begins_word && message.substr(i).starts_with("--") && i + 2 < message.size() &&
        is_letter(message[i + 2])) {
      in_flag = true;
      ++i;
      continue;
    }
    in_flag = in_flag && (is_letter(message[i]) || message[i] == '-' || message[i] == '_');
    out += in_flag && message[i] == '-' ? '_' : message[i];
  }
  return out;
}

}  // namespace tessera
