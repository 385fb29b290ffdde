// SPDX-License-Identifier: Apache-2.0
#include "ops/integrate/quadrature/formula_integrand.hpp"
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include "ops/integrate/quadrature/breakpoints.hpp"
#include "tessera/formula/distance.hpp"
#include "tessera/formula/evaluate.hpp"
#include "tessera/formula/running_error.hpp"

namespace tessera::quadrature {
namespace {

using formula::Program;

// The formula, and as it is to be computed near each end.
struct Programs {
  Program<double> plain, lower, upper;
  bool lower_exact = false, upper_exact = false;
  // Up to which distance; from an end other than 0 over its half of the range.
  double lower_reach = infinity, upper_reach = infinity;
  double lower_end = 0, upper_end = 0;
  struct Single {
    Program<float> plain, lower, upper;
  };
  std::optional<Single> single;  // where values are computed in f32

  const Program<float>& single_of(const Program<double>& program) const {
    return &program == &lower ? single->lower : &program == &upper ? single->upper : single->plain;
  }
  // Whether the distance is that above the lower end. One of 0 tells nothing: at the upper end it is 0, too.
  bool above(double x, double distance) const { return distance > 0 || (distance == 0 && x != upper_end); }
  const Program<double>& at(double x, double distance) const {
    if (above(x, distance)) {
      if (lower_exact && distance <= lower_reach) return lower;
      // What is known from an end that is 0 is known from x.
      return upper_exact && upper_end == 0 && -x <= upper_reach ? upper : plain;
    }
    if (upper_exact && -distance <= upper_reach) return upper;
    return lower_exact && lower_end == 0 && x <= lower_reach ? lower : plain;
  }
  // The distance that this program takes.
  double away(const Program<double>& program, double x, double distance) const {
    const bool other = above(x, distance) ? &program == &upper : &program == &lower;
    return std::fabs(other ? x : distance);
  }
  void away(const Program<double>& program, std::span<const double> x, std::span<const double> distance,
            double* out) const {
    if (by_sign())
      for (std::size_t i = 0; i < x.size(); ++i) out[i] = std::fabs(distance[i]);
    else
      for (std::size_t i = 0; i < x.size(); ++i) out[i] = away(program, x[i], distance[i]);
  }
  bool all_plain() const { return !lower_exact && !upper_exact; }
  // The sign of the distance alone tells the program.
  bool by_sign() const {
    return (!lower_exact || (lower_reach == infinity && lower_end != 0)) &&
           (!upper_exact || (upper_reach == infinity && upper_end != 0));
  }
  // How many points from the first one on share its program, at most so many.
  std::size_t run_length(std::span<const double> x, std::span<const double> distance,
                         std::size_t most) const {
    const std::size_t end = std::min(most, x.size());
    std::size_t to = 1;
    if (by_sign()) {
      const bool first = above(x[0], distance[0]);
      while (to < end && above(x[to], distance[to]) == first) ++to;
      return to;
    }
    const Program<double>& first = at(x[0], distance[0]);
    while (to < end && &at(x[to], distance[to]) == &first) ++to;
    return to;
  }
};

// Whether the last bit of x still matters although the distance is given: then rounding does.
bool needs_x(const Program<double>& program, double at, formula::End end, double length) {
  for (const double share : {1e-5, 1e-8, 1e-11, 1e-14}) {
    const double d = share * length, x = end == formula::End::lower ? at + d : at - d;
    const double apart[2] = {x, std::nextafter(x, x - (end == formula::End::lower ? -length : length))};
    const double distance[2] = {d, d};
    double y[2];
    const formula::Input<double> inputs[2] = {{apart}, {distance}};
    formula::evaluate_many<double>(program, inputs, 2, y);
    if (std::isfinite(y[0]) && !(std::fabs(y[1] - y[0]) <= 256 * unit * std::fabs(y[0]))) return true;
  }
  return false;
}

// Up to which distance from an end that is 0 the program rounds off less than the formula as it was typed;
// 0: nowhere by much, and the formula stays as it is.
double reach_of(const Program<double>& program, const Program<double>& plain, double side, double length) {
  constexpr int halvings = 44;
  double out = 0, gain = 1;
  for (int k = halvings; k >= 0; --k) {
    const double d = std::ldexp(length, -k), inputs[2] = {side * d, d};
    const double here = formula::running_error(program, inputs).error;
    const double there = formula::running_error(plain, {inputs, 1}).error;
    if (!(here <= there)) break;
    gain = std::fmax(gain, there / here);
    out = d;
  }
  return gain > 16 ? out : 0;
}

std::shared_ptr<Programs> compile(const formula::Tree& tree, const std::string& variable,
                                  const Range& range) {
  const auto out = std::make_shared<Programs>();
  out->plain = formula::compile<double>(tree, {variable});
  out->lower_end = range.lower;
  out->upper_end = range.upper;
  const double length = std::isfinite(range.upper - range.lower) ? range.upper - range.lower : 1;
  const std::vector<std::string> both{variable, std::string(formula::distance_name)};
  const auto near = [&](formula::End end, double at, Program<double>& program, double& reach) {
    const formula::AtEnd found = formula::with_distance(tree, variable, end, at);
    if (!found.exact || (at == 0 && !found.saves)) return false;  // there x is the distance
    program = formula::compile<double>(found.tree, both);
    if (at != 0) return !needs_x(program, at, end, length);
    reach = reach_of(program, out->plain, end == formula::End::lower ? 1 : -1, std::fmin(1, length));
    return reach > 0;
  };
  out->lower_exact = near(formula::End::lower, range.lower, out->lower, out->lower_reach);
  out->upper_exact = near(formula::End::upper, range.upper, out->upper, out->upper_reach);
  if (!range.single()) return out;
  const auto in_single = [&](formula::End end, double at) {
    return formula::compile<float>(formula::with_distance(tree, variable, end, at).tree, both);
  };
  out->single.emplace();
  out->single->plain = formula::compile<float>(tree, {variable});
  if (out->lower_exact) out->single->lower = in_single(formula::End::lower, range.lower);
  if (out->upper_exact) out->single->upper = in_single(formula::End::upper, range.upper);
  return out;
}

// Far out on an infinite range f32 has no number any more: its last one stands for those.
float single_of(double x) {
  constexpr double most = std::numeric_limits<float>::max();
  return static_cast<float>(std::isinf(x) ? x : std::clamp(x, -most, most));
}

void evaluate_single(const Program<float>& program, std::span<const std::span<const double>> inputs,
                     std::span<double> y) {
  constexpr std::size_t chunk = 256;
  std::vector<float> rounded(inputs.size() * chunk);
  float out[chunk];
  formula::Input<float> taken[formula::most_inputs];
  for (std::size_t done = 0; done < y.size(); done += chunk) {
    const std::size_t count = std::min(chunk, y.size() - done);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      for (std::size_t i = 0; i < count; ++i) rounded[k * chunk + i] = single_of(inputs[k][done + i]);
      taken[k] = {&rounded[k * chunk]};
    }
    formula::evaluate_many<float>(program, {taken, inputs.size()}, count, out);
    for (std::size_t i = 0; i < count; ++i) y[done + i] = static_cast<double>(out[i]);
  }
}

void evaluate(const Programs& programs, std::span<const double> x, std::span<const double> distance,
              std::span<double> y) {
  constexpr std::size_t chunk = 256;
  double away[chunk];
  for (std::size_t from = 0, to = 0; from < x.size(); from = to) {
    // Points of one program.
    const Program<double>& program = programs.at(x[from], distance[from]);
    to = from + programs.run_length(x.subspan(from), distance.subspan(from), chunk);
    const std::size_t taken = &program == &programs.plain ? 1 : 2;
    if (taken == 2) programs.away(program, x.subspan(from, to - from), distance.subspan(from), away);
    const formula::Input<double> inputs[2] = {{&x[from]}, {away}};
    if (programs.single) {
      const std::span<const double> both[2] = {x.subspan(from, to - from), {away, to - from}};
      evaluate_single(programs.single_of(program), {both, taken}, y.subspan(from, to - from));
      continue;
    }
    formula::evaluate_many<double>(program, {inputs, taken}, to - from, &y[from]);
  }
}

// What `answer_at` says of the program and its inputs at each point.
template <class F>
void follow(const Programs& programs, std::span<const double> x, std::span<const double> distance,
            std::span<double> out, const F& answer_at) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Program<double>& program = programs.at(x[i], distance[i]);
    const double inputs[2] = {x[i], programs.away(program, x[i], distance[i])};
    const std::span<const double> taken{inputs, &program == &programs.plain ? 1U : 2U};
    out[i] = programs.single ? answer_at(programs.single_of(program), taken) : answer_at(program, taken);
  }
}

constexpr auto error_at = [](const auto& program, std::span<const double> inputs) {
  return formula::running_error(program, inputs).error;
};
}  // namespace

Integrand integrand_of(const formula::Tree& tree, const std::string& variable, const Range& range) {
  const auto programs = compile(tree, variable, range);
  Integrand out;
  if (tree.names().empty()) {
    const double anywhere = 0;
    const formula::Input<double> input{&anywhere};
    double value = 0;
    formula::evaluate_many<double>(programs->plain, {&input, 1}, 1, &value);
    if (programs->single) evaluate(*programs, {&anywhere, 1}, {&anywhere, 1}, {&value, 1});
    out.constant = value;
  }
  if (programs->all_plain() && !programs->single) {
    out.values = [programs](std::span<const double> x, std::span<const double>, std::span<double> y) {
      const formula::Input<double> input{x.data()};
      formula::evaluate_many<double>(programs->plain, {&input, 1}, x.size(), y.data());
    };
  } else {
    out.values = [programs](std::span<const double> x, std::span<const double> distance,
                            std::span<double> y) { evaluate(*programs, x, distance, y); };
  }
  out.errors = [programs](std::span<const double> x, std::span<const double> distance,
                          std::span<double> error) { follow(*programs, x, distance, error, error_at); };
  out.knows[0] = programs->lower_exact;
  out.knows[1] = programs->upper_exact;
  out.breaks = [tree, variable](const Range& of) { return breakpoints(tree, variable, of); };
  out.within = [tree, variable](const Range& part) { return integrand_of(tree, variable, part); };
  return out;
}

ManyValues many_values_of(const formula::Tree& tree, const std::vector<std::string>& variables) {
  const auto program = std::make_shared<Program<double>>(formula::compile<double>(tree, variables));
  return [program](std::span<const double> points, std::size_t count, std::span<double> y) {
    formula::Input<double> inputs[formula::most_inputs];
    const std::size_t axes = points.size() / std::max<std::size_t>(count, 1);
    for (std::size_t axis = 0; axis < axes; ++axis) inputs[axis] = {&points[axis * count]};
    formula::evaluate_many<double>(*program, {inputs, axes}, count, y.data());
  };
}

ManyValues many_single_values_of(const formula::Tree& tree, const std::vector<std::string>& variables) {
  const auto program = std::make_shared<Program<float>>(formula::compile<float>(tree, variables));
  return [program](std::span<const double> points, std::size_t count, std::span<double> y) {
    std::span<const double> inputs[formula::most_inputs];
    const std::size_t axes = points.size() / std::max<std::size_t>(count, 1);
    for (std::size_t axis = 0; axis < axes; ++axis) inputs[axis] = points.subspan(axis * count, count);
    evaluate_single(*program, {inputs, axes}, y.first(count));
  };
}

namespace {

template <class T, class F>
ManyValues followed_in(const formula::Tree& tree, const std::vector<std::string>& variables,
                       const F& answer_at) {
  const auto program = std::make_shared<Program<T>>(formula::compile<T>(tree, variables));
  return [program, answer_at](std::span<const double> points, std::size_t count, std::span<double> out) {
    const std::size_t axes = points.size() / std::max<std::size_t>(count, 1);
    std::vector<double> x(axes);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t axis = 0; axis < axes; ++axis) x[axis] = points[axis * count + i];
      out[i] = answer_at(*program, std::span<const double>(x));
    }
  };
}

}  // namespace

ManyValues many_errors_of(const formula::Tree& tree, const std::vector<std::string>& variables) {
  return followed_in<double>(tree, variables, error_at);
}

ManyValues many_single_errors_of(const formula::Tree& tree, const std::vector<std::string>& variables) {
  return followed_in<float>(tree, variables, error_at);
}

}  // namespace tessera::quadrature
