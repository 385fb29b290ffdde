// SPDX-License-Identifier: Apache-2.0
// How the places are found of which a formula's text tells: its parts, computed at the probes.
#pragma once
#include <cmath>
#include <string>
#include <vector>
#include "ops/integrate/rules/integrand.hpp"
#include "tessera/formula/tree.hpp"

namespace tessera::quadrature {

enum class Kind {
  none,
  centre,
  inner,
  edge,
  jump
};  // edge: not smooth where the watched value is 0; jump: where it changes; inner: a product or a function,
    // which matter where f shows it

struct Watched {
  std::size_t node;
  Kind kind;
  int first = -1,
      second = -1;  // the watched value: of a child, or the difference of two; neither: of the node
};

// Whether a watched value has changed from one abscissa to another.
inline bool differ(Kind kind, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return false;
  return kind == Kind::jump ? a != b : (a < 0) != (b < 0);
}

// A place where a watched value changes sign or turns, between two probes.
struct Place {
  std::size_t watched;
  double from, to;
  double before = 0;       // the watched value at `from`
  double outside[2] = {};  // probes further out on both sides
  enum class What { change, largest, smallest } what = What::change;
};

inline constexpr std::size_t most_breaks = 64;  // more: it swings, and is not cut …
// … but where all turning points of its waves are known.
inline constexpr std::size_t most_wave_breaks = 2048, most_wave_needles = 2048;

class Finder {
 public:
  Finder(const formula::Tree& tree, const std::string& variable);

  Features run(const Range& range);

 private:
  enum class Of { none, variable, others };  // what a node depends on
  using Places = std::vector<double>;
  Features at(const Places& x);
  bool is_wave(std::size_t i) const;
  Places arguments(std::size_t node, const Places& x) const;
  double where(std::size_t node, double target, double from, double to) const;
  bool add_quarters(std::size_t argument, const Places& x, Places& out) const;
  bool add_waves(Places& x);
  void add_places_between(Places& x) const;
  double wave_step(double x) const;
  std::vector<Place> widened(std::vector<Place> places, const Places& x) const;
  Places one_turn(std::size_t argument, const Places& x, const Places& phase, std::size_t from) const;
  bool narrow_waves(const Places& x, bool finite);
  void classify();
  bool sharpens(std::size_t i, int k) const;
  bool depends(const Watched& w) const;
  bool is_inner(std::size_t i) const;
  void compute(double x, std::vector<double>& values, std::size_t last) const;
  void compute(double x, std::vector<double>& values) const { compute(x, values, nodes_.size() - 1); }
  double root(double x) const;
  double place_of(const Place& p) const;
  double needle_at(const Place& p, double x) const;
  void choose(std::vector<Place> found_places, const std::vector<double>& x, Features& out);
  void finish(Features& out);
  bool add_beside(const std::vector<double>& places, const std::vector<double>& x, Features& out) const;
  void add_edges(const std::vector<double>& x, Features& out) const;
  bool is_step(std::size_t node) const;
  bool add_on_side(double place, double limit, Features& out) const;
  void look_for_teeth(const std::vector<Place>& jumps, const std::vector<double>& x, Features& out) const;
  double value(const Watched& w, const std::vector<double>& values) const;
  double locate(const Watched& w, double from, double to, double before) const;
  double turn(const Watched& w, double from, double to, bool largest) const;
  std::vector<Place> turns(const std::vector<double>& x, const std::vector<double>& seen,
                           std::size_t k) const;

  const std::vector<formula::Node>& nodes_;
  const formula::Tree& tree_;
  const std::string& variable_;
  bool alone_;  // no other variable
  std::vector<Of> of_;
  std::vector<bool> sharpened_;  // what turns gently here may be a needle in f
  std::vector<Watched> watched_;
  struct Needle {
    double x, gap, width;
  };
  std::vector<Needle> needles_;
  Places wave_places_;      // quarters of turns of all waves, and places between, in order
  bool all_turns_ = false;  // of all waves: no peak lies between the places that are looked at
  bool too_many_ = false;   // breaks or needles for a list
};

}  // namespace tessera::quadrature
