// SPDX-License-Identifier: Apache-2.0
#include "band.hpp"
#include <algorithm>
#include <cmath>
#include "tessera/core/expression.hpp"

namespace tessera::resize {

Band band_of(const Arguments& arguments) {
  constexpr double longest = 1 << 24;  // side of a picture
  const std::string& text = arguments.text("band");
  if (text.empty()) return {0, arguments.dim("from_height"), 0, arguments.dim("height")};
  const auto wrong = [&text](const std::string& why) { return Error("--band " + text + ": " + why); };
  const std::vector<double> at = numbers_of(text);
  if (at.size() != 4 ||
      std::ranges::any_of(at, [](double n) { return !(n >= 0 && n <= longest && n == std::floor(n)); }))
    throw wrong("needs four whole numbers, as 100,1080,50,540");
  const auto whole = [&](std::size_t i) { return static_cast<std::int64_t>(at[i]); };
  const Band out{whole(0), whole(1), whole(2), whole(3)};
  if (out.from_first + arguments.dim("from_height") > out.from_height)
    throw wrong("the picture's rows end behind the last");
  if (out.first + arguments.dim("height") > out.height) throw wrong("the result's rows end behind the last");
  return out;
}

}  // namespace tessera::resize
