// SPDX-License-Identifier: Apache-2.0
// Dividing an extent among devices beforehand: by shares that somebody names, or so that all finish together.
#pragma once
#include <functional>
#include <span>
#include <vector>
#include "tessera/core/division.hpp"

namespace tessera::dist {

// Consecutive parts in the ratio of the shares, cut at multiples of the granule; a part may be empty. Throws
// Error where a share is negative, or all are 0.
std::vector<Interval> split_by_shares(std::int64_t extent, std::int64_t granule,
                                      std::span<const double> shares);

// The time that a device takes for so much of the extent: never less for more. (Where it grows faster than
// the amount, one number would not do: a device's speed depends on its share.)
using Seconds = std::function<double(std::size_t device, std::int64_t amount)>;

// Parts such that the last device finishes as early as it can.
std::vector<Interval> split_by_time(std::int64_t extent, std::int64_t granule, std::size_t devices,
                                    const Seconds& seconds);

// Equal parts of an extent, multiples of the granule but for the last, none larger than `most`: no thin one
// is left over at the end.
std::vector<Interval> even_parts(Interval whole, std::int64_t most, std::int64_t granule);

}  // namespace tessera::dist
