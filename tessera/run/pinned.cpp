// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/pinned.hpp"
#include "tessera/core/lanes.hpp"

namespace tessera {

Pinned::Pinned(const Arguments& host) {
  LaneMaker* const maker = find_lanes(Where::cuda);
  if (maker == nullptr) return;
  for (const Parameter& p : host.signature().parameters) {
    if (!p.is_array() || !host.has(p.name)) continue;
    const ArrayView& array = host.array(p.name);
    if (array.data == nullptr || array.count() == 0) continue;
    const auto [first, last] = array.span();
    const auto size = static_cast<std::int64_t>(size_of(array.element)), bytes = (last - first) * size;
    if (auto held =
            maker->pin(static_cast<char*>(array.data) + first * size, static_cast<std::size_t>(bytes))) {
      held_.push_back(std::move(held));
      bytes_ += bytes;
    }
  }
}

}  // namespace tessera
