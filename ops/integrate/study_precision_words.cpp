// SPDX-License-Identifier: Apache-2.0
#include "study_precision_words.hpp"
#include <fmt/format.h>
#include <algorithm>
#include <cmath>

namespace tessera::integration {
namespace {

constexpr double notable = 8;  // units: what a simple program would put down to chance

double largest(const Drifts& drift, double Drift::*of) {
  double out = 0;
  for (const Drift& one : drift.rows) out = std::fmax(out, std::fabs(one.*of));
  return out;
}

std::string words_on_growth(const Drifts& drift, bool of_sum) {
  const Drift &first = drift.rows.front(), &last = drift.rows.back();
  // A drift grows with the strips.
  const bool grows = drift.rows.size() == 1 || std::fabs(last.plain) > std::fabs(first.plain);
  std::string out = fmt::format(
      "One float accumulator {}: at {} strips it is {:.2g} units of its last place off",
      grows ? "drifts" : "is off, the less the more strips there are", last.strips, std::fabs(last.plain));
  const double doublings = std::log2(static_cast<double>(last.strips) / static_cast<double>(first.strips)),
               growth = std::pow(std::fabs(last.plain / first.plain), 1 / doublings);
  const bool told = doublings >= 1 && std::isfinite(growth);
  if (told)
    out += fmt::format(", at {} {:.2g}: {:.2g} times as many for each doubling", first.strips,
                       std::fabs(first.plain), growth);
  out += ".";
  // Errors of chance grow by √2.
  constexpr double of_chance = 1.5;
  if (!of_sum || (told && growth <= of_chance)) return out;
  return out +
         " Neighbouring heights are almost equal, so each is rounded the same way as the one before; these "
         "errors "
         "add up one by one where errors of chance would cancel. And the height times h shrinks as 1/N, "
         "while the "
         "sum's last place stays.";
}

std::string words_on_cures(const Drifts& drift, bool accumulated) {
  const double pairwise = largest(drift, &Drift::pairwise), kahan = largest(drift, &Drift::kahan);
  const bool cured = std::fmax(pairwise, kahan) < notable;
  std::string out = fmt::format(
      "{} pairwise sums of floats are at most {:.2g} units of the last place off, and Kahan's {:.2g}{}",
      cured ? "What cures it:" : "Beside it", pairwise, kahan, cured ? ", without a single double." : ".");
  if (accumulated && !cured)
    out +=
        " That is the abscissae's error: they were accumulated in float, and no way of adding heights mends "
        "it.";
  return out;
}

}  // namespace

double Drifts::units(double measured) const {
  const double size = cancels() ? magnitude : std::fmax(std::fabs(measured), std::fabs(exact));
  const auto of_float = static_cast<float>(size);
  if (of_float == 0) return 0;
  return (measured - exact) / static_cast<double>(std::nextafter(of_float, INFINITY) - of_float);
}

std::string theory_of(const FallingError& falling, double scale, const Setting& setting) {
  std::string out =
      fmt::format("The error falls by h^{:g}: {:.6g}·h^{:g}, found from sums of up to 8192 strips.",
                  falling.exponent, falling.factor * scale, falling.exponent);
  // A root's end, c·√distance, brings c·ζ(-1/2)·h^1.5.
  constexpr double zeta = -0.20788622497735456602;
  const double root = falling.factor / zeta;
  if (falling.exponent == 1.5)
    out += fmt::format(
        " That is {:.6g}·ζ(-1/2)·h^1.5, the mark of an end like {:.6g}·√distance, whose slope is infinite: "
        "where slopes are finite, the error falls by h^2.",
        root * scale, root);
  if (falling.exponent == 1.5 && setting.formula == "sqrt(1-x^2)" && scale == 4)
    out += " (Theory: 4·√2·ζ(-1/2) = -1.17598.)";
  return out;
}

std::vector<std::string> words_on_floats(const Setting& setting, const Drifts& drift) {
  for (const Drift& one : drift.rows)
    if (!std::isfinite(one.plain + one.pairwise + one.kahan))
      return {"Some of the sums are no finite numbers: nothing is told of their drift."};
  const bool accumulated = setting.accumulated, drifts = largest(drift, &Drift::plain) >= notable;
  std::vector<std::string> out;
  if (drift.cancels())
    out.push_back(
        fmt::format("Heights cancel: the integral is {:.3g}, that of |f| {:.3g}. Units are of a float's last "
                    "place of the latter; beside the integral itself each is as much larger.",
                    drift.exact, drift.magnitude));
  // Of a sum whose cures keep the error the heights are off.
  const double cured = std::fmax(largest(drift, &Drift::pairwise), largest(drift, &Drift::kahan));
  if (drifts) out.push_back(words_on_growth(drift, !drift.cancels() && cured < notable));
  else
    out.push_back(
        fmt::format("One float accumulator does not drift here: it is at most {:.2g} units of its last place "
                    "off, up to {} strips.",
                    largest(drift, &Drift::plain), drift.rows.back().strips));
  const bool quarter_circle =
      setting.formula == "sqrt(1-x^2)" && setting.a == 0 && setting.b == 1 && !accumulated;
  if (quarter_circle)
    out.emplace_back(
        "Its end: from h = 2^-24 on, half of the last place of a sum above 1/4 is as much as a height's "
        "share: heights "
        "above 1/2 count as one unit, those below as none. The sum then counts strips up to where y = 1/2, "
        "and 4 times "
        "the area is 4·√3/2 = 2√3 = 3.4641016, not π.");
  if (drifts) out.push_back(words_on_cures(drift, accumulated));
  return out;
}

std::string words_without_fall(const Drifts& drift) {
  const bool same = std::ranges::all_of(drift.rows, [&](const Drift& one) {
    return std::fabs(one.exact - drift.rows[0].exact) <= 1e-15 * drift.magnitude;
  });
  return same ? "Sums of any number of strips are the same in double: the trapezoid rule leaves nothing out "
                "here, and no "
                "error falls."
              : "The sums of few strips do not fall like a power of h: neither error nor prediction can be "
                "told.";
}

std::string words_on_partial_sums(const std::vector<Dealt>& dealt) {
  const Dealt &alone = dealt.front(), &together = dealt.back(),
              &best = *std::ranges::min_element(dealt, {}, &Dealt::off);
  std::string out = fmt::format(
      "One thread's sum is {:.2g} units of a float's last place off, that of the most threads "
      "{:.2g}",
      alone.off, together.off);
  if (!(alone.off >= notable)) return out + ".";
  if (!(together.off < alone.off / 2)) return out + ": it does not fall with the number of threads.";
  if (best.off >= together.off / 2)
    return out +
           ": it falls with the length of a thread's partial sum, for a short sum's last place is small, and "
           "few "
           "are left to be added.";
  return out + fmt::format(", and that of {} threads {:.2g}: it falls, but not from row to row.",
                           best.threads, best.off);
}

}  // namespace tessera::integration
