// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/fault.hpp"
#include <charconv>
#include "tessera/core/error.hpp"

namespace tessera {
namespace {

constexpr Fault::Kind kinds[] = {Fault::Kind::kill,  Fault::Kind::fail,  Fault::Kind::poison,
                                 Fault::Kind::hang,  Fault::Kind::delay, Fault::Kind::flip,
                                 Fault::Kind::strew, Fault::Kind::swap};

template <class T>
bool read(const std::string& word, T& into) {
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), into);
  return failed == std::errc() && end == word.data() + word.size();
}

// What follows the part. Whether it means something.
bool read_more(Fault& fault, const std::string* more) {
  constexpr int bits = 64, most_elements = 1 << 20;
  constexpr double longest = 1e9;  // seconds; clocks count nanoseconds in 64 bits
  switch (fault.kind) {
    case Fault::Kind::delay:
      return more != nullptr && read(*more, fault.seconds) && fault.seconds >= 0 && fault.seconds <= longest;
    case Fault::Kind::flip:
      return more == nullptr || (read(*more, fault.number) && fault.number >= 0 && fault.number < bits);
    case Fault::Kind::strew:
      return more != nullptr && read(*more, fault.number) && fault.number >= 1 &&
             fault.number <= most_elements;
    default:
      return more == nullptr;
  }
}

Fault parse_fault(const std::string& word) {
  const Error unclear("--fault " + word +
                      " is none; write kill:DEVICE@PART, fail:…, poison:…, hang:…, swap:…, "
                      "delay:DEVICE@PART:SECONDS (up to 1e9), "
                      "strew:DEVICE@PART:ELEMENTS or flip:DEVICE@PART[:BIT]");
  const std::size_t colon = word.find(':'), at = word.find('@');
  if (colon == std::string::npos || at == std::string::npos || at < colon) throw unclear;
  const std::size_t second = word.find(':', at);
  Fault out;
  const auto kind = kind_named(word.substr(0, colon));
  const std::string tile = word.substr(at + 1, second == std::string::npos ? second : second - at - 1);
  if (!kind || !read(word.substr(colon + 1, at - colon - 1), out.device) || !read(tile, out.tile) ||
      out.tile < 1)
    throw unclear;
  out.kind = *kind;
  const std::string more = second == std::string::npos ? "" : word.substr(second + 1);
  if (!read_more(out, second == std::string::npos ? nullptr : &more)) throw unclear;
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
    case Fault::Kind::strew:
      return "strew";
    case Fault::Kind::swap:
      return "swap";
    case Fault::Kind::flip:
      break;
  }
  return "flip";
}

std::optional<Fault::Kind> kind_named(std::string_view name) {
  for (const Fault::Kind kind : kinds)
    if (name == name_of(kind)) return kind;
  return std::nullopt;
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
