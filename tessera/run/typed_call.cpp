// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/typed_call.hpp"
#include <regex>

namespace tessera {

std::string without_flags(std::string_view message) {
  static const std::regex flag("(^|[ (])--([a-z][a-z_-]*)(?=[ ,;:)]|$)");
  std::string out;
  const char* from = message.begin();
  for (std::cregex_iterator found(message.begin(), message.end(), flag), end; found != end; ++found) {
    const auto& name = (*found)[2];
    out.append(from, name.first - 2);
    for (const char c : name.str()) out += c == '-' ? '_' : c;
    from = name.second;
  }
  return out.append(from, message.end());
}

}  // namespace tessera
