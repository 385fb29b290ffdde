// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/sample.hpp"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include "tessera/core/text/error.hpp"

namespace tessera::bench {

namespace {

double quantile(const std::vector<double>& sorted, double part) {
  const double at = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

Summary summarize(std::vector<double> samples) {
  if (samples.empty()) throw Error(Error::Kind::internal, "there is no sample to summarize");
  std::ranges::sort(samples);
  return {quantile(samples, 0.5), quantile(samples, 0.25), quantile(samples, 0.75),
          samples.front(),        samples.size(),          quantile(samples, 0.9)};
}

std::vector<double> thinned(const std::vector<double>& samples, std::size_t most) {
  if (samples.size() <= most || most < 2) return samples;
  std::vector<double> out;
  for (std::size_t i = 0; i < most; ++i) out.push_back(samples[i * (samples.size() - 1) / (most - 1)]);
  return out;
}

void PowerMeter::begin(double now) {
  since_ = now;
  renewed_ = false;
}

std::optional<double> PowerMeter::read(std::optional<double> watts, double now) {
  // An update is detected by a different reading, which requires an earlier one.
  renewed_ = renewed_ || (watts && last_ && *watts != *last_);
  if (watts) last_ = watts;
  return renewed_ && now - since_ >= shortest_turn_seconds ? watts : std::nullopt;
}

namespace {

// Readings of one device.
struct Shown {
  double highest_clock = 0;
  PowerMeter power;
};
using Devices = std::map<int, Shown>;

bool throttled(const Sample& sample, double highest, const Effort& effort) {
  return sample.clock_mhz && *sample.clock_mhz < effort.min_clock * highest;
}

struct Track {
  std::vector<Sample> samples;
  std::size_t dropped = 0;
  double spent = 0, longest = 0;  // wall time of samples, including their overhead

  bool wants_another(const Effort& effort) const {
    if (samples.empty() && dropped == 0) return true;
    if (spent + longest > effort.seconds) return false;
    if (effort.samples != 0) return samples.size() < effort.samples;
    if (samples.size() < effort.fewest) return true;
    return samples.size() < effort.most && (spent < effort.enough_seconds || !settled(samples, effort));
  }

  // `all`: started before the first sample of any candidate.
  void take(const SampledCandidate& from, Shown& shown, const Effort& effort, const Stopwatch& all) {
    if (effort.pause > 0) std::this_thread::sleep_for(std::chrono::duration<double>(effort.pause));
    const Stopwatch watch;
    shown.power.begin(all.seconds());
    Sample sample = from.sample();
    sample.power_w = shown.power.read(sample.power_w, all.seconds());
    const double took = watch.seconds() - sample.lost;
    spent += took;
    longest = std::max(longest, took);
    shown.highest_clock = std::max(shown.highest_clock, sample.clock_mhz.value_or(0));
    if (throttled(sample, shown.highest_clock, effort)) ++dropped;
    else samples.push_back(sample);
  }

  // Drops throttled samples again, because the highest clock may have appeared after they were kept.
  SampleSet taken(double highest, const Effort& effort) {
    const auto slow = [&](const Sample& s) { return throttled(s, highest, effort); };
    const std::size_t more = std::erase_if(samples, slow);
    return {std::move(samples), dropped + more};
  }
};

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

std::vector<SampleSet> interleave(const std::vector<SampledCandidate>& contestants, const Effort& effort,
                                  const std::function<bool()>& interrupted) {
  std::vector<Track> tracks(contestants.size());
  Devices devices;
  const Stopwatch all;
  const auto finished = [&] {
    std::vector<SampleSet> out;
    for (std::size_t i = 0; i < tracks.size(); ++i)
      out.push_back(tracks[i].taken(devices[contestants[i].device].highest_clock, effort));
    return out;
  };
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      if (!tracks[i].wants_another(effort)) continue;
      if (interrupted && interrupted()) return finished();
      tracks[i].take(contestants[i], devices[contestants[i].device], effort, all);
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
  std::vector<double> out;
  for (const Sample& sample : samples)
    if (sample.clock_mhz) out.push_back(*sample.clock_mhz);
  if (out.size() != samples.size()) out.clear();
  return out;
}

std::vector<std::optional<double>> powers_of(const std::vector<Sample>& samples) {
  std::vector<std::optional<double>> out;
  for (const Sample& sample : samples) out.push_back(sample.power_w);
  if (std::ranges::none_of(out, [](const auto& power) { return power.has_value(); })) out.clear();
  return out;
}

}  // namespace tessera::bench
