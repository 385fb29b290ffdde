// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/watch.hpp"
#include <algorithm>
#include "tessera/run/place.hpp"

namespace tessera {
namespace {

bool is_one_element(const ChecksumVerdict& verdict) {
  return verdict.rows.size() == 1 && verdict.cols.size() == 1;
}

// The piece around a place that cuts may bound.
Interval piece_around(std::int64_t place, const Interval& within, std::int64_t granule) {
  const std::int64_t first = place / granule * granule;
  return {std::max(within.first, first), std::min(within.last, first + granule)};
}

}  // namespace

Watch::Watch(const Operation& operation, const Arguments& whole, const Division& division,
             const Device& device)
    : division_(&division) {
  if (const auto* make = find_checksums(operation.name, device.where)) checksums_ = (*make)(whole, device);
}

Finding Watch::look(const Tile& tile, ComputedPart& part) {
  Finding out;
  if (checksums_ == nullptr) return out;
  const ChecksumVerdict first = checksums(tile, part, out);
  out.settled = first.fits();
  if (first.rows.empty() && first.cols.empty()) return out;
  out.rows = std::ssize(first.rows);
  out.cols = std::ssize(first.cols);
  if (is_one_element(first)) out.element = {tile.rows.first + first.rows[0], tile.cols.first + first.cols[0]};
  checksums_->forget();
  ChecksumVerdict now = first;
  if (is_one_element(first) && mend_element(tile, first, part.plan())) {
    out.mended = Finding::Mended::element;
    now = checksums(tile, part, out);
  }
  if (!now.fits()) {
    part.compute_again();
    out.mended = Finding::Mended::part;
    now = checksums(tile, part, out);
  }
  // Equal bits again: either the device errs each time, or roundings of this data are larger than most. And
  // of what cannot be told another check decides anyway.
  const bool beyond = !now.rows.empty() || !now.cols.empty();
  out.settled = now.fits() || (beyond && now.mark != first.mark);
  out.right = !beyond;
  return out;
}

ChecksumVerdict Watch::checksums(const Tile& tile, ComputedPart& part, Finding& finding) {
  ChecksumVerdict out = checksums_->look(tile, part.arguments(), part.run());
  finding.check_seconds += out.seconds;
  return out;
}

// Where a tile has the bits that it has within the whole, so has a small one.
bool Watch::mend_element(const Tile& tile, const ChecksumVerdict& verdict, const Plan& plan) const {
  if (plan.variant->baseline || !division_->same_bits(plan.device.where)) return false;
  const Tile small{piece_around(tile.rows.first + verdict.rows[0], tile.rows, division_->row_granule),
                   piece_around(tile.cols.first + verdict.cols[0], tile.cols, division_->col_granule),
                   tile.depth};
  const Arguments part = division_->part(small);
  if (refuses(plan, part)) return false;
  Placed again(plan, part);
  again.upload();
  (void)again.launch_and_measure();
  again.fetch();
  return true;
}

}  // namespace tessera
