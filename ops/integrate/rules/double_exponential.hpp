// SPDX-License-Identifier: Apache-2.0
// The trapezoid rule in the double exponential variable: where f is analytic inside the piece, each
// halving of the step doubles the number of right digits.
#pragma once
#include "ops/integrate/rules/variable.hpp"

namespace tessera::quadrature {

// One piece, refined from outside so that several pieces can share a tolerance.
class DoubleExponential {
 public:
  DoubleExponential(Sampler& sampler, const Piece& piece, int levels = deepest_level);

  bool refine();  // halves the step; false where that cannot be done
  double value() const { return step_ * sum_; }
  double magnitude() const { return step_ * sum_abs_; }
  // What the last halving changed, and what lies beyond the outermost points.
  double truncation() const { return change() + beyond_[0] + beyond_[1]; }
  // What the next halving would change at most: twenty times what it would if each halving gained only as
  // much as the last one did. Sums that still differ by much may be alike by chance next.
  double change() const {
    constexpr double much = 1e-2, least = 2e-3;
    const double gained = change_ * std::fmin(1, std::fmax(least, 20 * change_ / change_before_));
    const bool may_be_chance = change_before_ > much * magnitude() && change_before_ < infinity;
    return may_be_chance ? std::fmax(gained, 0.1 * change_before_) : gained;
  }
  // What sums may still be off that go on changing: each may be near the one before by chance.
  double unsteady_change() const {
    constexpr double falls = 0.05;
    const bool falling = change_ <= falls * change_before_ || !(change_before_ < infinity);
    return falling ? change_ : 2 * std::fmax(change_, change_before_);
  }
  double rounding() const;
  int level() const { return level_; }
  int limit() const { return levels_; }
  double beyond(int side) const { return beyond_[side]; }
  // What no number of f32 shows beside an end.
  double unseen(int side) const { return unseen_[side]; }
  double end_of(int side) const { return side == 0 ? variable_.piece().lower : variable_.piece().upper; }
  // Trouble that no smaller step mends, or `converged` where there is none.
  Reason trouble() const { return trouble_; }
  double where() const { return where_; }
  double cut(int side) const { return cut_[side]; }  // |t| beyond which nothing counts
  // |t| up to where points are told from the end.
  double most(int side) const { return blind_matters(side) ? blind_reach(side) : variable_.reach(side); }
  bool stays_inside(int side) const { return variable_.stays_inside(side); }
  double exponent(int side) const { return exponent_[side]; }  // α of f ~ d^-α near that end

 private:
  // One side at the first step, the middle, and the other side.
  struct First {
    static constexpr std::size_t most = 64;
    double x[most], distance[most], weight[most], y[most], term[most];
    double own[most];  // the distance to the piece's end, not the range's
    std::size_t from[2], size[2], middle, all;
  };
  void first_pass();
  void gather(First& first) const;
  void vary(int side, const First& first);
  void vary(int side, std::span<const double> x, std::span<const double> distance, std::span<const double> y);
  void settle(int side, const First& first);
  void find_beyond(int side, const First& first, std::size_t last);
  double lasting_margin(int side, const First& first, std::size_t last, double margin) const;
  std::size_t prepare(int side, std::size_t from, std::size_t count, double* x, double* distance,
                      double* weight) const;
  // `first_side`: how many of the points are those of side 0; the others are side 1's.
  bool add(std::span<const double> x, std::span<const double> distance, std::span<const double> weight,
           std::size_t first_side);
  bool add_level(int side, std::size_t from, std::size_t count);
  double at_the_top(int side);
  bool see_to_the_end(int side, double height);
  void see_between_numbers(int side);
  bool same_in_single(int side, double height, double apart);
  bool is_noise(double x, double distance, double y) const;
  double blind_reach(int side) const;
  bool blind_matters(int side) const;

  Sampler& sampler_;
  Variable variable_;
  double step_ = first_step, sum_ = 0, sum_abs_ = 0, change_ = infinity, change_before_ = infinity,
         variation_ = 0, squares_ = 0, next_variation_ = 0, next_squares_ = 0, hidden_ = 0;
  double cut_[2] = {0, 0}, beyond_[2] = {0, 0}, unseen_[2] = {0, 0}, exponent_[2] = {nothing, nothing};
  int level_ = 0, levels_;
  bool again_ = false;               // the first pass, which knows more now
  bool narrow_[2] = {false, false};  // f has structures there that its numbers do not show
  Reason trouble_ = Reason::converged;
  double where_ = nothing;
};

// The whole range, cut at `points`, by this rule alone.
Answer tanh_sinh(const Integrand& f, const Range& range, const Tolerance& tolerance = {},
                 const Limits& limits = {}, std::span<const double> points = {});
// Pieces that share a tolerance, with what the sampler has left.
Answer double_exponential(Sampler& sampler, std::span<const Piece> pieces, const Tolerance& tolerance,
                          int levels);

}  // namespace tessera::quadrature
