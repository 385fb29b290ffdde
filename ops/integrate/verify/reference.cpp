// SPDX-License-Identifier: Apache-2.0
#include "reference.hpp"
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <vector>
#include "ops/integrate/integrate.hpp"
#include "ops/integrate/sum/trapezoid_error.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/parallel.hpp"

namespace tessera::integration {
namespace {

using Real = long double;

// Samples in higher precision, as many as one thread had.
struct Samples {
  Pair<Real> sum{};       // with what its own rounding lost
  Real sizes = 0;         // of their absolute values, errors included
  Real errors = 0;        // of each as the elements' type computes it
  bool infinite = false;  // one is no number, or too large for the type

  void add(Bounded sample, Real factor, Real most) {
    const Real value = sample.value * factor;
    if (!(std::fabs(value) + sample.error <= most)) infinite = true;
    const Pair<Real> exact = two_sum(sum.high, value);
    sum = {exact.high, sum.low + exact.low};
    sizes += std::fabs(value) + sample.error * std::fabs(factor);
    errors += sample.error * std::fabs(factor);
  }
  void add(const Samples& other) {
    const Pair<Real> exact = two_sum(sum.high, other.sum.high);
    sum = {exact.high, sum.low + exact.low + other.sum.low};
    sizes += other.sizes;
    errors += other.errors;
    infinite = infinite || other.infinite;
  }
};

// What an abscissa may be off: nothing when it comes from the index, for the reference starts from the very
// same number; when steps are added, each of them may round.
template <class T>
Bounded abscissa(const Problem<T>& p, std::int64_t strip) {
  if (!p.accumulated) return {p.abscissa(strip), 0};
  constexpr Real u = std::numeric_limits<T>::epsilon() / 2;
  const Real largest = std::max(std::fabs(Real(p.a)), std::fabs(Real(p.b)));
  return {Real(p.a) + Real(strip) * Real(p.step), (Real(strip) + 2) * u * 2 * largest};
}

template <class T>
Samples samples_of(const Problem<T>& p, int root) {
  constexpr std::int64_t worth_a_thread = 4096;
  constexpr Real most = std::numeric_limits<T>::max();
  const auto parts = static_cast<int>(std::clamp<std::int64_t>(p.strips / worth_a_thread, 1, host_threads()));
  std::vector<Samples> pieces(static_cast<std::size_t>(parts));
  parallel(parts, [&](int part) {
    Samples& mine = pieces[static_cast<std::size_t>(part)];
    const std::int64_t each = p.strips / parts, rest = p.strips % parts;
    const std::int64_t first = part * each + std::min<std::int64_t>(part, rest),
                       last = first + each + (part < rest);
    for (std::int64_t i = first; i < last; ++i) mine.add(bounded(p.integrand, abscissa(p, i), root), 1, most);
  });
  Samples out;
  for (const Samples& piece : pieces) out.add(piece);
  out.add(bounded(p.integrand, {p.a, 0}, root), -0.5L, most);
  out.add(bounded(p.integrand, {p.b, 0}, root), 0.5L, most);
  return out;
}

struct Result {
  double value, bound;
  bool infinite;
};

template <class T>
Result result_of(const Problem<T>& p, int root) {
  constexpr Real u = std::numeric_limits<T>::epsilon() / 2, least = std::numeric_limits<T>::denorm_min();
  const Samples samples = samples_of(p, root);
  const Real factor = std::fabs((Real(p.b) - Real(p.a)) / Real(p.strips) * Real(p.scale));
  const Real sum = samples.sum.high + samples.sum.low, n = Real(p.strips) + 2;
  // The width, and two products; where each sample is multiplied, also one product each, which may underflow.
  const Real lost = lost_by(p.sum, n, u) + (p.scale_terms ? u : 0);
  const Real error = samples.errors + lost * samples.sizes + 3.01L * u * (std::fabs(sum) + samples.errors);
  const Real underflow =
      least * (std::fabs(Real(p.scale)) * (p.scale_terms ? n : 1) + 2) + n * least * factor;
  const Real value = sum * (Real(p.b) - Real(p.a)) / Real(p.strips) * Real(p.scale);
  const Real largest = std::max(samples.sizes, samples.sizes * factor);
  return {static_cast<double>(value), static_cast<double>(error * factor * 1.001L + underflow),
          samples.infinite || !(largest <= std::numeric_limits<T>::max() / 2)};
}

Result result_of(const RuleOptions& options, Element element) {
  const Bounded integral = rule_reference(options, element);
  return {static_cast<double>(integral.value), static_cast<double>(integral.error), false};
}

std::string key_of(const Arguments& arguments) {
  std::string key(name_of(arguments.element()));
  for (const auto& [name, word] : arguments.words()) key += "\n" + name + "=" + word;
  return key;
}

// Sweeps ask for the same strips again and again.
Result known_result_of(const Arguments& arguments) {
  if (has_samples(arguments))
    throw Error("integrals of samples are not checked: nothing else is known of them");
  static std::mutex mutex;
  static std::map<std::string, Result> known;
  constexpr std::size_t most = 256;
  const std::string key = key_of(arguments);
  {
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(key); found != known.end()) return found->second;
  }
  const int root = arguments.text("roots") == "fast" ? 10 : 1;  // 5 units of the last place, or half of one
  const Result result = asks_for_rule(arguments) ? result_of(rule_options_of(arguments), arguments.element())
                        : arguments.element() == Element::f32
                            ? result_of(Problem<float>::of(arguments), root)
                            : result_of(Problem<double>::of(arguments), root);
  const std::lock_guard lock(mutex);
  if (known.size() >= most) known.clear();
  known.emplace(key, result);
  return result;
}

}  // namespace

void reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data, Expected& out) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Result result = known_result_of(arguments);
    out.value.push_back(result.value);
    out.bound.push_back(result.bound);
    const auto anything = Expected::infinity | Expected::minus_infinity | Expected::not_a_number;
    out.beyond.push_back(static_cast<std::uint8_t>(result.infinite ? anything : Expected::nothing));
  }
}

}  // namespace tessera::integration
