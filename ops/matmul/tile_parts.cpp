// SPDX-License-Identifier: Apache-2.0
#include "tile_parts.hpp"

namespace tessera::matmul {
namespace {

// What a further launch costs; and of which length on a product is worth the time of looking for cuts, for
// planning a part takes the host some microseconds.
constexpr double launch_us = 2, least_us = 40;
constexpr std::int64_t large = 256,
                       small =
                           64;  // rows, and columns, of the largest tile of a cluster, and of the smallest

// How many of `whole` are multiples.
std::int64_t multiples(std::int64_t whole) {
  return whole >= large ? whole / large * large : whole / small * small;
}

class Planner {
 public:
  Planner(std::int64_t m, std::int64_t n, const PartPlanner& plan) : m_(m), n_(n), plan_(plan) {}

  // The large part has `rows` rows and `cols` columns.
  PlannedParts cut_at(std::int64_t rows, std::int64_t cols) const {
    PlannedParts out;
    add(out, 0, 0, rows, cols);
    if (cols < n_) add(out, 0, cols, rows, n_ - cols);
    if (rows < m_) add(out, rows, 0, m_ - rows, n_);
    out.microseconds += launch_us * (out.count - 1);
    return out;
  }

 private:
  void add(PlannedParts& out, std::int64_t row, std::int64_t col, std::int64_t rows,
           std::int64_t cols) const {
    PlannedPart& part = out.part[out.count];
    part = {row, col, rows, cols, plan_(rows, cols, out.count == 0)};
    out.microseconds += part.plan.microseconds;
    ++out.count;
  }

  std::int64_t m_, n_;
  const PartPlanner& plan_;
};

}  // namespace

PlannedParts plan_parts(std::int64_t m, std::int64_t n, Cuts cuts, const PartPlanner& plan) {
  const Planner planner(m, n, plan);
  const std::int64_t rows = multiples(m), cols = multiples(n);
  const bool below = rows > 0 && rows<m, beside = cols> 0 && cols < n;
  if (cuts == Cuts::wherever && (below || beside)) return planner.cut_at(below ? rows : m, beside ? cols : n);
  PlannedParts best = planner.cut_at(m, n);
  if (cuts != Cuts::model || best.microseconds < least_us) return best;
  const auto attempt = [&](std::int64_t part_rows, std::int64_t part_cols) {
    const PlannedParts cut = planner.cut_at(part_rows, part_cols);
    if (cut.microseconds < best.microseconds) best = cut;
  };
  if (below) attempt(rows, n);
  if (beside) attempt(m, cols);
  if (below && beside) attempt(rows, cols);
  return best;
}

}  // namespace tessera::matmul
