// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/part.hpp"
#include <charconv>
#include "tessera/core/error.hpp"

namespace tessera {
namespace {

constexpr std::string_view before = ", multiprocessors ", between = " of ";

std::map<Where, RefusesPart>& registered() {
  static std::map<Where, RefusesPart> all;
  return all;
}

// Takes a number and then `sign` from the front of the text.
bool take(std::string_view& text, int& number, std::string_view sign) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.starts_with(sign)) return false;
  text.remove_prefix(sign.size());
  return true;
}

}  // namespace

std::optional<Part> part_of(const Device& device) {
  const auto at = device.name.rfind(before);
  if (device.where != Where::cuda || at == std::string::npos) return std::nullopt;
  std::string_view text = std::string_view(device.name).substr(at + before.size());
  Part out;
  int last = 0;
  if (!take(text, out.first, "-") || !take(text, last, between) || !take(text, out.all, "") || !text.empty())
    return std::nullopt;
  out.count = last - out.first + 1;
  return out;
}

Device as_part(Device gpu, int first, int count) {
  const int all = gpu.processors, last = first + count - 1;
  if (first < 0 || count < 1 || last >= all)
    throw Error("the multiprocessors " + std::to_string(first) + "-" + std::to_string(last) + " of " +
                gpu.label() + ": it has " + std::to_string(all));
  gpu.name += std::string(before) + std::to_string(first) + "-" + std::to_string(last) +
              std::string(between) + std::to_string(all);
  gpu.processors = count;
  return gpu;
}

void register_parts(Where where, RefusesPart refuses) { registered()[where] = std::move(refuses); }

void check_part(const Device& device) {
  if (!part_of(device)) return;
  const auto found = registered().find(device.where);
  const std::string reason =
      found == registered().end() ? "its multiprocessors cannot be divided" : found->second(device);
  if (!reason.empty()) throw Error(Error::Kind::no_device, device.label() + " cannot be used: " + reason);
}

}  // namespace tessera
