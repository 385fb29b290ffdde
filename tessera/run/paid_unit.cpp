// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/paid_unit.hpp"
#include <algorithm>

namespace tessera {
namespace {

// Whether a tile's rows and columns are those of the one array that is written.
bool is_a_matrix(const Division& division) {
  if (!division.writes) return false;
  const auto slices = division.writes(division.whole());
  return slices.size() == 1 &&
         slices[0].box == std::vector{Interval{0, division.rows}, Interval{0, division.cols}};
}

bool same_block(const Owner& a, const Owner& b) {
  return a.block.x == b.block.x && a.block.y == b.block.y && a.block.z == b.block.z;
}

// How far the first element's block reaches along a dimension; 1: to no end that is near, so that less takes
// less time.
std::int64_t reach(const Plan& plan, const Arguments& arguments, std::size_t dimension) {
  constexpr std::int64_t far = 4096;
  const auto in_first = [&](std::int64_t at) {
    Extents index{0, 0};
    const auto first = plan.choice->owner(arguments, plan.tuning, index);
    index[dimension] = at;
    const auto other = plan.choice->owner(arguments, plan.tuning, index);
    return first && other && same_block(*first, *other);
  };
  if (!in_first(0) || in_first(far)) return 1;
  std::int64_t in = 0, out = far;
  while (out - in > 1) {
    const std::int64_t middle = in + (out - in) / 2;
    (in_first(middle) ? in : out) = middle;
  }
  return out;
}

}  // namespace

dist::Unit paid_unit(const Plan& plan, const Arguments& arguments, const Division& division) {
  if (plan.device.where != Where::simt || !plan.choice->owner || !is_a_matrix(division)) return {};
  dist::Unit out{reach(plan, arguments, 0), reach(plan, arguments, 1)};
  if (!out.known()) return out;
  // A tile of one block leaves the executor's other threads idle.
  const std::int64_t threads = std::max(1, plan.device.threads);
  const std::int64_t across = std::min(threads, (division.cols + out.cols - 1) / out.cols);
  return {out.rows * ((threads + across - 1) / across), out.cols * across};
}

// So many threads hide each other's waiting, also where a kernel's registers leave room for few.
std::optional<std::int64_t> full_launches(const Plan& plan, const Arguments& arguments) {
  constexpr std::int64_t threads_of_a_multiprocessor = 512;
  if (!plan.choice->footprint) return std::nullopt;
  const auto footprint = plan.choice->footprint(arguments, plan.tuning);
  if (!footprint) return std::nullopt;
  const std::int64_t full = threads_of_a_multiprocessor * std::max(1, plan.device.processors);
  return std::max<std::int64_t>(1, footprint->blocks * footprint->threads_per_block / full);
}

}  // namespace tessera
