// SPDX-License-Identifier: Apache-2.0
// The steps of `automatic`.
#pragma once
#include <string>
#include <vector>
#include "ops/integrate/rules/double_exponential.hpp"
#include "ops/integrate/rules/gauss_kronrod.hpp"
#include "ops/integrate/rules/probe.hpp"
#include "ops/integrate/rules/witnesses.hpp"

namespace tessera::quadrature {

struct Tail;

class Chooser {
 public:
  Chooser(const Integrand& f, const Range& range, const Tolerance& tolerance, const Limits& limits,
          std::span<const double> points);

  Answer run();
  double largest() const;  // |f| that was seen at first

 private:
  // True: `answer_` is final.
  bool look_around();
  void judge_crowded();
  bool attempt();
  bool by_double_exponential();
  bool by_bisection(const Answer& first);
  bool without_claim(const Answer& first, const Answer& second, const Stuck& stuck);
  bool both_rounded(Answer answer, const Answer& other);
  Answer last_resort(const Answer& before);
  bool mend_hole(double x);
  bool mend_stuck(double x);
  bool mend_top(double x);
  double top_width(double x, double sign, double top);
  bool ends_in_top(double x);
  void cut_scales();
  bool by_tail();
  Answer fading_tail(Tail& tail, int direction, double& allowed);
  bool add_tail(int direction, double& end, Answer& sum, std::string& how);
  bool add_through_windows(double base, int direction, double& end, Answer& sum, std::string& how);
  Answer before_tails(const Range& rest);

  int swinging_cells();
  struct Left {
    double beyond = 0, unseen = 0;  // by a rule's points, by the numbers of its type
  };
  Left narrow_down(Track& track, std::size_t number, const Witnesses& witnesses);
  Answer bisect(const std::vector<Piece>& pieces, Pair pair, double split, int first_cells,
                double tolerance_factor, Stuck* stuck = nullptr);
  std::vector<Piece> pieces() const { return cut(sampler_.range(), points_); }
  bool accept(Answer answer, const Answer& check, const std::string& by);
  bool give_up(Answer answer, Reason reason, double where);
  void say(const std::string& text);
  std::string shape_words() const;

  Sampler sampler_;
  Tolerance tolerance_;
  Limits limits_;
  std::vector<double> points_, centres_;
  Look seen_;
  Answer answer_;
  std::string why_;
  int mended_ = 0;
  double missed_ = 0;           // by the last bisection, of what was seen at first
  bool charged_ = false;        // the answer's rounding holds that of the integrand's values
  std::vector<Range> needles_;  // that the formula showed
  bool crowded_ = false;
  std::int64_t first_points_ = 0;
};

}  // namespace tessera::quadrature
