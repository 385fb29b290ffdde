// SPDX-License-Identifier: Apache-2.0
#include "tessera/lab/sample.hpp"
#include <algorithm>
#include <cmath>
#include "tessera/lab/clock.hpp"
#include "tessera/lab/statistics.hpp"

namespace tessera::lab {
namespace {

// The highest clock that each device has shown.
using Highest = std::map<int, double>;

bool throttled(const Sample& sample, double highest, const Effort& effort) {
  return sample.clock_mhz && *sample.clock_mhz < effort.least_clock * highest;
}

struct Track {
  std::vector<Sample> samples;
  std::size_t dropped = 0;
  double spent = 0, longest = 0;  // wall time, with what a sample needs around it

  bool wants_another(const Effort& effort) const {
    if (samples.empty() && dropped == 0) return true;
    if (spent + longest > effort.seconds) return false;
    if (effort.samples != 0) return samples.size() < effort.samples;
    if (samples.size() < effort.fewest) return true;
    return samples.size() < effort.most && (spent < effort.enough_seconds || !settled(samples, effort));
  }

  void take(const Contestant& from, Highest& highest, const Effort& effort) {
    const Stopwatch watch;
    const Sample sample = from.sample();
    const double took = watch.seconds();
    spent += took;
    longest = std::max(longest, took);
    double& most = highest[from.device];
    most = std::max(most, sample.clock_mhz.value_or(0));
    if (throttled(sample, most, effort)) ++dropped;
    else samples.push_back(sample);
  }

  // The highest clock may have been seen only after a slow sample was kept.
  Taken taken(double highest, const Effort& effort) {
    const auto slow = [&](const Sample& s) { return throttled(s, highest, effort); };
    const std::size_t more = std::erase_if(samples, slow);
    return {std::move(samples), dropped + more};
  }
};

std::vector<double> told(const std::vector<Sample>& samples, std::optional<double> Sample::*what) {
  std::vector<double> out;
  for (const Sample& sample : samples)
    if (sample.*what) out.push_back(*(sample.*what));
  if (out.size() != samples.size()) out.clear();
  return out;
}

}  // namespace

bool settled(const std::vector<Sample>& samples, const Effort& effort) {
  constexpr std::size_t enough_to_judge_the_spread = 24;
  constexpr double as_before = 0.05;
  std::vector<double> seconds = seconds_of(samples);
  const double spread = summarize(seconds).spread();
  if (spread <= effort.spread) return true;
  if (samples.size() < enough_to_judge_the_spread) return false;
  seconds.resize(samples.size() * 3 / 4);
  return std::abs(summarize(seconds).spread() - spread) <= as_before * spread;
}

std::vector<Taken> interleave(const std::vector<Contestant>& contestants, const Effort& effort,
                              const std::function<bool()>& interrupted) {
  std::vector<Track> tracks(contestants.size());
  Highest highest;
  const auto finished = [&] {
    std::vector<Taken> out;
    for (std::size_t i = 0; i < tracks.size(); ++i)
      out.push_back(tracks[i].taken(highest[contestants[i].device], effort));
    return out;
  };
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      if (!tracks[i].wants_another(effort)) continue;
      if (interrupted && interrupted()) return finished();
      tracks[i].take(contestants[i], highest, effort);
      again = true;
      if (contestants[i].finished && !tracks[i].wants_another(effort)) contestants[i].finished();
    }
  }
  return finished();
}

std::vector<double> seconds_of(const std::vector<Sample>& samples) {
  std::vector<double> out;
  for (const Sample& sample : samples) out.push_back(sample.seconds);
  return out;
}

std::vector<double> clocks_of(const std::vector<Sample>& samples) {
  return told(samples, &Sample::clock_mhz);
}
std::vector<double> powers_of(const std::vector<Sample>& samples) { return told(samples, &Sample::power_w); }

}  // namespace tessera::lab
