// SPDX-License-Identifier: Apache-2.0
// Where parts of a formula change sign or turn at many places, those matter at which f itself stands out from
// its surroundings.
#include <algorithm>
#include "ops/integrate/rules/formula_finder.hpp"

namespace tessera::quadrature {
namespace {

constexpr std::size_t most_centres = 4;  // more: it swings
constexpr std::size_t most_tried = 8, most_needles = 200;
constexpr double hidden = 1e-3;  // of a gap between probes: what is wider, rules meet

}  // namespace

// Probes may lie so near each other that a needle covers both.
std::vector<Place> Finder::widened(std::vector<Place> places, const Places& x) const {
  constexpr std::ptrdiff_t further = 2;
  for (Place& p : places) {
    if (const double step = all_turns_ ? wave_step(p.from) : 0; step > 0) {
      p.outside[0] = std::fmax(x.front(), p.from - further * step);
      p.outside[1] = std::fmin(x.back(), p.to + further * step);
      continue;
    }
    const auto from = std::lower_bound(x.begin(), x.end(), p.from);
    const auto to = std::lower_bound(from, x.end(), p.to);
    p.outside[0] = *(from - std::min(further, from - x.begin()));
    p.outside[1] = *(to + std::min(further, x.end() - 1 - to));
  }
  return places;
}

double Finder::root(double x) const {
  std::vector<double> values;
  compute(x, values);
  return values.back();
}

double Finder::place_of(const Place& p) const {
  const Watched& w = watched_[p.watched];
  if (p.what == Place::What::change) return locate(w, p.from, p.to, p.before);
  return turn(w, p.from, p.to, p.what == Place::What::largest);
}

// How wide f stands out at x from what it is on both sides and at the probes; NaN where it does not.
double Finder::needle_at(const Place& p, double x) const {
  const double from = p.outside[0], to = p.outside[1], gap = to - from;
  const double left = root(from), right = root(to), top = root(x);
  const auto line = [&](double at) { return left + (right - left) * ((at - from) / gap); };
  const double off = std::fabs(top - line(x));
  if (!(off > 1e-9 * std::fmax(std::fabs(left), std::fabs(right))) || !std::isfinite(off)) return nothing;
  const auto back = [&](double away, double share) {
    for (const double at : {x - away, x + away})
      if (from < at && at < to && !(std::fabs(root(at) - line(at)) <= share * off)) return false;
    return true;
  };
  double width = gap / 4;
  if (!back(width, 0.1)) return nothing;
  while (width > 1e-16 * gap && back(width / 4, 0.5)) width /= 4;
  return width;
}

// Few are taken as they are. Of many, some are tried, and all if a quarter of these are needles.
void Finder::choose(std::vector<Place> found_places, const std::vector<double>& x, Features& out) {
  if (found_places.empty()) return;
  const std::vector<Place> places = widened(std::move(found_places), x);
  const bool inner = watched_[places[0].watched].kind == Kind::inner, few = places.size() <= most_centres;
  if (few && !(inner && alone_))
    for (const Place& p : places) out.centres.push_back(place_of(p));
  if (!alone_ || (few && !inner) || !sharpened_[watched_[places[0].watched].node]) return;
  const std::size_t stride = (places.size() + most_tried - 1) / most_tried | 1;  // odd: turns alternate
  std::size_t tried = 0, found = 0;
  const auto look_at = [&](std::size_t i) {
    const double there = place_of(places[i]), width = needle_at(places[i], there);
    ++tried;
    if (std::isnan(width)) return;
    ++found;
    needles_.push_back({there, places[i].to - places[i].from, width});
  };
  for (std::size_t i = 0; i < places.size(); i += stride) look_at(i);
  if (!all_turns_ && 4 * found < tried) return;
  for (std::size_t i = 0; i < places.size(); ++i)
    if (i % stride != 0) look_at(i);
}

// From the place to the next probe by steps that grow: where something changes that was the same at both, it
// breaks, too. Whether f itself changes so near to the place that no probe shows it.
bool Finder::add_on_side(double place, double limit, Features& out) const {
  constexpr double step = 4, nearest = 1e-14, near = 0.02;
  double from = place, beside = nothing;
  const double far = root(limit);
  bool narrow = false;
  std::vector<double> last(watched_.size(), nothing), values;
  for (double away = nearest; from != limit; away *= step) {
    const double to = away < 1 ? place + away * (limit - place) : limit;
    if (to == from) continue;
    compute(to, values);
    if (std::isnan(beside)) beside = values.back();
    narrow = narrow || (away < near && std::fabs(values.back() - beside) > 0.5 * std::fabs(far - beside));
    for (std::size_t k = 0; k < watched_.size(); ++k) {
      const Watched& w = watched_[k];
      const double now = value(w, values);
      if (w.kind > Kind::inner && differ(w.kind, last[k], now)) {
        out.breaks.push_back(from < to ? locate(w, from, to, last[k]) : locate(w, to, from, now));
        narrow = narrow || away < near;
      }
      last[k] = now;
    }
    from = to;
  }
  return narrow;
}

// abs(x-0.3)<1e-4 is true between two probes, but the text tells 0.3.
bool Finder::add_beside(const std::vector<double>& places, const std::vector<double>& x,
                        Features& out) const {
  bool narrow = false;
  for (const double place : places) {
    const auto above = std::upper_bound(x.begin(), x.end(), place),
               below = std::lower_bound(x.begin(), x.end(), place);
    if (above == x.end() || below == x.begin()) continue;
    for (const double limit : {*(below - 1), *above}) narrow = add_on_side(place, limit, out) || narrow;
  }
  return narrow;
}

// Where f stands out between two probes because a comparison or a step changes there and back.
void Finder::add_edges(const std::vector<double>& x, Features& out) const {
  std::vector<double> places = out.needles;
  places.insert(places.end(), out.centres.begin(), out.centres.end());
  Features beside;
  add_beside(places, x, beside);
  std::vector<double>& found = beside.breaks;
  // Those that only bend, as abs and sqrt do, are the rules' own.
  const auto jumps = [this](double at) {
    std::vector<double> before, here;
    compute(std::nextafter(at, -infinity), before);
    compute(at, here);
    return std::any_of(watched_.begin(), watched_.end(), [&](const Watched& w) {
      return w.kind > Kind::inner && is_step(w.node) && differ(w.kind, value(w, before), value(w, here));
    });
  };
  std::erase_if(found, [&](double at) { return !jumps(at); });
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (out.breaks.size() + found.size() > most_breaks) return;
  out.breaks.insert(out.breaks.end(), found.begin(), found.end());
  std::sort(out.breaks.begin(), out.breaks.end());
  out.breaks.erase(std::unique(out.breaks.begin(), out.breaks.end()), out.breaks.end());
}

bool Finder::is_step(std::size_t node) const {
  switch (nodes_[node].op) {
    case formula::Op::less:
    case formula::Op::less_equal:
    case formula::Op::sign:
    case formula::Op::select:
    case formula::Op::floor:
    case formula::Op::ceil:
    case formula::Op::trunc:
    case formula::Op::round:
    case formula::Op::fmod:
      return true;
    default:
      return false;
  }
}

// What begins or ends with each jump of fmod or floor may be over at once. More jumps than can be cut at are
// judged by some of them.
void Finder::look_for_teeth(const std::vector<Place>& jumps, const std::vector<double>& x,
                            Features& out) const {
  constexpr std::size_t looked_at = 8;
  const std::size_t stride = jumps.size() <= most_breaks ? 1 : jumps.size() / looked_at;
  std::vector<double> places;
  for (std::size_t i = 0; i < jumps.size(); i += stride) places.push_back(place_of(jumps[i]));
  Features beside;
  if (!add_beside(places, x, beside)) return;
  const bool all = stride == 1 && out.breaks.size() + beside.breaks.size() <= most_breaks;
  if (all) out.breaks.insert(out.breaks.end(), beside.breaks.begin(), beside.breaks.end());
  else out.crowded = true;
}

// Needles in step with the probes, or very many of them: others hide between these.
void Finder::finish(Features& out) {
  std::vector<Needle> all = needles_;
  std::sort(all.begin(), all.end(), [](const Needle& a, const Needle& b) { return a.x < b.x; });
  constexpr int most_close = 4;
  int close = 0;
  bool visible = true;
  double before = -infinity;
  for (const Needle& needle : all) {
    const double away = needle.x - before;
    // Told by two parts of the formula.
    if (away <= needle.width || std::any_of(out.breaks.begin(), out.breaks.end(), [&](double x) {
          return std::fabs(x - needle.x) <= needle.width;
        }))
      continue;
    visible = visible && needle.width > hidden * needle.gap;
    close += away < 1.5 * needle.gap;
    before = needle.x;
    out.needles.push_back(needle.x);
    out.widths.push_back(needle.width);
  }
  const bool told = all_turns_ && out.needles.size() <= most_wave_needles;
  if (told || (out.needles.size() <= most_needles && close <= most_close)) return;
  too_many_ = too_many_ || all_turns_;
  out.needles.clear();
  out.widths.clear();
  out.crowded = out.crowded || !visible;
}

}  // namespace tessera::quadrature
