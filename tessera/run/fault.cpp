// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/fault.hpp"
#include <charconv>
#include <cmath>
#include "tessera/core/error.hpp"

namespace tessera {
namespace {

constexpr Fault::Kind kinds[] = {Fault::Kind::kill, Fault::Kind::fail,  Fault::Kind::poison,
                                 Fault::Kind::hang, Fault::Kind::delay, Fault::Kind::flip};

template <class T>
bool read(const std::string& word, T& into) {
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), into);
  return failed == std::errc() && end == word.data() + word.size();
}

Fault parse_fault(const std::string& word) {
  const Error unclear(
      "--fault " + word +
      " is none; write kill:DEVICE@TILE, fail:…, poison:…, hang:…, flip:… or delay:DEVICE@TILE:SECONDS");
  const std::size_t colon = word.find(':'), at = word.find('@');
  if (colon == std::string::npos || at == std::string::npos || at < colon) throw unclear;
  const std::size_t second = word.find(':', at);
  Fault out;
  bool known = false;
  for (const Fault::Kind kind : kinds)
    if (word.substr(0, colon) == name_of(kind)) out.kind = kind, known = true;
  const std::string tile = word.substr(at + 1, second == std::string::npos ? second : second - at - 1);
  if (!known || !read(word.substr(colon + 1, at - colon - 1), out.device) || !read(tile, out.tile) ||
      out.tile < 1)
    throw unclear;
  if ((second != std::string::npos) != (out.kind == Fault::Kind::delay)) throw unclear;
  if (second != std::string::npos &&
      (!read(word.substr(second + 1), out.seconds) || !(out.seconds >= 0) || !std::isfinite(out.seconds)))
    throw unclear;
  return out;
}

}  // namespace

const char* name_of(Fault::Kind kind) {
  switch (kind) {
    case Fault::Kind::kill:
      return "kill";
    case Fault::Kind::fail:
      return "fail";
    case Fault::Kind::poison:
      return "poison";
    case Fault::Kind::hang:
      return "hang";
    case Fault::Kind::delay:
      return "delay";
    case Fault::Kind::flip:
      break;
  }
  return "flip";
}

std::vector<Fault> parse_faults(const std::string& words) {
  std::vector<Fault> out;
  for (std::size_t first = 0; first < words.size();) {
    const std::size_t last = std::min(words.find(',', first), words.size());
    out.push_back(parse_fault(words.substr(first, last - first)));
    first = last + 1;
  }
  return out;
}

}  // namespace tessera
