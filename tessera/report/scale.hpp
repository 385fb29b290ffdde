// SPDX-License-Identifier: Apache-2.0
// From values to coordinates, linear or logarithmic, and the ticks that one would write by hand.
#pragma once
#include <string>
#include <vector>

namespace tessera::report {

struct Tick {
  double value = 0;
  std::string label;  // empty: a line without a number
};

class Scale {
 public:
  enum class Kind { linear, log };

  // Values low to high lie at coordinates from to to. Throws Error where the values allow no scale:
  // not finite, or not positive on a logarithmic one.
  Scale(Kind kind, double low, double high, double from, double to);

  // Linear from 0, or whole decades, so that every value fits.
  static Scale around(Kind kind, double least, double most, double from, double to);

  double at(double value) const;  // values outside are drawn at the end
  double low() const { return low_; }
  double high() const { return high_; }
  Kind kind() const { return kind_; }
  std::vector<Tick> ticks(int about) const;  // ascending, within the scale

 private:
  std::vector<Tick> linear_ticks(int about) const;
  std::vector<Tick> log_ticks(int about) const;

  Kind kind_;
  double low_, high_, from_, to_;
};

// A logarithmic scale helps where the least would vanish beside the most.
Scale::Kind kind_for(double least, double most);

// Three significant digits: "49.1", "0.0169", "8120", "1.2e+07"; "n/a" for what is not finite.
std::string figure(double value);

// "8192", "17.3 M": what was counted, in thousands where it is large.
std::string count(double value);

}  // namespace tessera::report
