// SPDX-License-Identifier: Apache-2.0
// The chooser's second opinion: Gauss-Kronrod pairs that bisect the pieces from points of their own.
#include <algorithm>
#include <fmt/format.h>
#include "ops/integrate/rules/chooser.hpp"
#include "ops/integrate/rules/sensitivity.hpp"

namespace tessera::quadrature {

// How many cells hold a swing of a wave that goes on over the whole range; 0 where f is none.
int Chooser::swinging_cells() {
  const Range& range = sampler_.range();
  constexpr double radians = 2, fewest = 200, most = 60'000;
  if (!range.finite() || seen_.sign_changes < fewest / 4) return 0;
  const Slopes slopes = slopes_of(sampler_);
  const double swung = slopes.slope * (range.upper - range.lower) / slopes.size;
  return swung > fewest ? static_cast<int>(std::fmin(most, swung / radians)) : 0;
}

// To where f counts, by the first rule's points or by what was seen before; gives what lies beyond.
Chooser::Left Chooser::narrow_down(Track& track, std::size_t number, const Witnesses& witnesses) {
  const DoubleExponential seen(sampler_, track.piece);
  const double unseen = seen.unseen(0) + seen.unseen(1);
  if (seen.trouble() != Reason::converged) return {0, unseen};
  double reach[2];
  for (const int side : {0, 1}) {
    const double witnessed = witnesses.outermost(number, side, unit * seen.magnitude());
    reach[side] = std::fmax(seen.cut(side), std::fmin(seen.most(side), witnessed + first_step));
    track.inside[side] = seen.stays_inside(side);
  }
  track.from = -reach[0];
  track.to = reach[1];
  return {seen.beyond(0) + seen.beyond(1), unseen};
}

// Gauss-Kronrod from other points, in the variable of the double exponential rule; where f swings all over
// the range, in x itself, with no cell that the swings would have cut anyway.
Answer Chooser::bisect(const std::vector<Piece>& parts, Pair pair, double split, int first_cells,
                       double tolerance_factor, Stuck* stuck) {
  std::vector<Track> tracks;
  const int swings = swinging_cells();
  if (swings > 0) first_cells *= std::max(1, swings / (5 * static_cast<int>(parts.size())));
  for (const Piece& piece : parts)
    tracks.push_back(swings > 0 ? Track::direct(piece) : Track::transformed(piece, sampler_.range()));
  const Witnesses witnesses(seen_, tracks);
  Left left;
  for (std::size_t i = 0; i < parts.size() && swings == 0; ++i) {
    const Left of_one = narrow_down(tracks[i], i, witnesses);
    left.beyond += of_one.beyond;
    left.unseen += of_one.unseen;
  }
  // For one run: what it cannot do then, more will seldom do.
  const std::int64_t most = std::max<std::int64_t>(1'500'000, limits_.evaluations / 10);
  const std::int64_t whole = sampler_.allow(std::min(limits_.evaluations, sampler_.evaluations() + most));
  Tolerance tolerance{tolerance_.relative * tolerance_factor, tolerance_.absolute * tolerance_factor};
  Stuck told;
  Answer out = adaptive(sampler_, tracks, tolerance, {pair, split, first_cells, &witnesses}, &told);
  out.truncation += left.beyond;
  out.rounding += left.unseen;
  if (out.converged() && !(out.error() <= tolerance_.of(out.value))) out.reason = Reason::roundoff;
  missed_ = told.missed;
  if (stuck != nullptr) *stuck = told;
  sampler_.allow(whole);
  if (sampler_.evaluations() < whole - 100) {
    sampler_.resume();
    if (out.reason == Reason::evaluations) out.reason = Reason::unresolved;
  }
  return out;
}

// What two rules say, if they say the same.
bool Chooser::accept(Answer answer, const Answer& other, const std::string& by) {
  const double apart = std::fabs(answer.value - other.value), allowed = tolerance_.of(answer.value);
  // Further apart than the one thinks that it is off, they tell that it is off by that and what the other is.
  if (apart > answer.truncation) answer.truncation = apart + other.truncation;
  answer.truncation = std::fmax(answer.truncation, missed_);
  if (!(answer.error() <= allowed) || !(other.error() <= 8 * allowed)) return false;
  // Both rules may have overlooked what the first look saw: a range too wide for their points, say.
  if (answer.magnitude < 0.5 * least_magnitude(seen_)) return false;
  say(by);
  answer_ = std::move(answer);
  answer_.reason = Reason::converged;
  return true;
}

bool Chooser::by_bisection(const Answer& first) {
  // Where the outermost points still count, bisection between them would overlook the same.
  if (std::isinf(first.truncation))
    return by_tail() || (mend_stuck(first.where) && answer_.without_limit()) ||
           give_up(first, first.reason, first.where);
  if (first.reason == Reason::singular) return give_up(first, Reason::singular, first.where);
  const std::vector<Piece> parts = pieces();
  const std::int64_t before = sampler_.evaluations();
  Stuck stuck;
  const Answer second = bisect(parts, Pair::k21, 0.5, 5, 0.5, &stuck);
  if (first.converged() &&
      accept(first, second,
             shape_words() + fmt::format("; Gauss-Kronrod from other points agrees to {:.1g}",
                                         std::fabs(first.value - second.value))))
    return true;
  const bool rounded = first.reason == Reason::roundoff;
  // Cells need fewer digits of x than distances do; but a jump beside a cut is only seen from distances.
  if (rounded && (!second.converged() || seen_.sign_changes < 50))
    return second.converged() || second.reason == Reason::roundoff
               ? both_rounded(first, second)
               : give_up(first, Reason::roundoff, nothing);
  if (second.reason == Reason::non_finite)
    return !mend_hole(second.where) && give_up(second, Reason::non_finite, second.where);
  if (second.converged() || (second.reason == Reason::roundoff && sampler_.range().finite())) {
    const std::string by = fmt::format(
        "{} evenly spread points did not converge: Gauss-Kronrod by bisection, {} points; "
        "another one from other points agrees",
        first_points_, second.evaluations - before);
    const Answer third = bisect(parts, Pair::k15, 0.4347, 7, 0.5);
    if (accept(second, third, by)) return true;
    if ((rounded || second.reason == Reason::roundoff) &&
        (third.converged() || third.reason == Reason::roundoff))
      return both_rounded(second, third);
    if (rounded) return both_rounded(first, second);
  }
  return without_claim(first, second, stuck);
}

// Nothing vouches for any value: the better one, and why; false: something was mended.
bool Chooser::without_claim(const Answer& first, const Answer& second, const Stuck& stuck) {
  if (by_tail()) return true;
  if (stuck.share > 0.2 && mend_stuck(stuck.x)) return answer_.without_limit();
  const bool capped = sampler_.exhausted(), doubt = first.converged() || second.converged();
  Answer better = first.error() < second.error() ? first : second;
  // What two rules differ by that know no better is not yet what the better one is off by.
  constexpr double wary = 2;
  better.truncation =
      std::fmax(better.truncation, (doubt ? 1 : wary) * std::fabs(first.value - second.value));
  if (!doubt && (second.reason == Reason::evaluations || second.reason == Reason::unresolved))
    better = last_resort(better);
  // Both may have overlooked what was seen at first: how much of it there is, nobody knows.
  if (doubt &&
      (better.magnitude < 0.5 * least_magnitude(seen_) || better.error() <= tolerance_.of(better.value)))
    better.truncation = infinity;
  return give_up(better, doubt ? Reason::doubtful : capped ? sampler_.cap() : second.reason, second.where);
}

// Two rules that cannot do better: what they differ by is rounding, too.
bool Chooser::both_rounded(Answer answer, const Answer& other) {
  answer.truncation = std::fmax(answer.truncation, std::fabs(answer.value - other.value));
  return give_up(std::move(answer), Reason::roundoff, nothing);
}

// What the caps leave goes to bisection in x itself: nothing vouches for it, but its error is told, too.
Answer Chooser::last_resort(const Answer& before) {
  if (!sampler_.range().finite()) return before;
  std::vector<Track> tracks;
  for (const Piece& piece : pieces()) tracks.push_back(Track::direct(piece));
  Answer out = adaptive(sampler_, tracks, tolerance_, {});
  const double apart = std::fabs(out.value - before.value);
  if (!(apart <= out.error() + before.error())) out.truncation = std::fmax(out.truncation, apart);
  return out.error() < before.error() ? out : before;
}

}  // namespace tessera::quadrature
