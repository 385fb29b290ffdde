// SPDX-License-Identifier: Apache-2.0
// Repeated measurements: sampling and summaries.
//
// Summaries use medians and quartiles, which one interrupted sample does not change. Sampling is interleaved:
// each round takes one sample of every candidate. A drift of the machine (its clock, its temperature, another
// program) then affects all candidates alike, and hardly changes ratios.
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace tessera::bench {

struct Summary {
  double median = 0, q1 = 0, q3 = 0, minimum = 0;
  std::size_t count = 0;
  double p90 = 0;  // the 90th percentile
  // Returns half the distance between the quartiles, relative to the median.
  double spread() const { return median > 0 ? (q3 - q1) / (2 * median) : 0; }
};

// Summarizes samples; quantiles interpolate linearly between order statistics. Throws Error if there is no
// sample.
Summary summarize(std::vector<double> samples);

// Returns at most `most` of the samples, evenly chosen, the first and the last among them.
std::vector<double> thinned(const std::vector<double>& samples, std::size_t most);

// Measures wall-clock time, which a user experiences; Backend::seconds measures kernel time.
class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

struct Sample {
  double seconds = 0;
  std::optional<double> clock_mhz = {}, power_w = {};  // the device's meters after the sample
  double lost = 0;  // wall time of an attempt that gave up; not charged to the candidate
};

struct Effort {
  double seconds = 10;      // time budget of one candidate
  std::size_t samples = 0;  // per candidate; 0: until they have settled, see below
  // With samples = 0: at least `fewest` and for `enough_seconds`; then up to `most`, until their spread is
  // at most `spread`, or has stopped changing, because more samples will not reduce it then.
  std::size_t fewest = 9, most = 200;
  double enough_seconds = 0.3;
  double spread = 0.005;
  // A sample whose clock is below this share of the highest that its device has shown is dropped.
  double min_clock = 0.6;
  double pause = 0;  // seconds of rest before each sample, to let devices cool; not charged
};

struct SampledCandidate {
  std::function<Sample()> sample;
  std::function<void()> finished;  // called after its last sample, before any other's next
  int device = 0;                  // candidates with the same number share a clock
};

struct SampleSet {
  std::vector<Sample> samples;
  std::size_t throttled = 0;  // number of samples dropped
};

bool settled(const std::vector<Sample>& samples, const Effort& effort);

// Takes the samples of all candidates in rounds. A candidate leaves the rounds when its next sample would
// exceed effort.seconds, but takes at least one, dropped or not. `interrupted` is called before every sample;
// once it returns true, the samples so far are returned. Power readings of other candidates are discarded.
std::vector<SampleSet> interleave(const std::vector<SampledCandidate>& contestants, const Effort& effort,
                                  const std::function<bool()>& interrupted = {});

std::vector<double> seconds_of(const std::vector<Sample>& samples);
// Returns one clock for each sample, or none if any is missing.
std::vector<double> clocks_of(const std::vector<Sample>& samples);
// Returns one entry for each sample, or none if no power is known.
std::vector<std::optional<double>> powers_of(const std::vector<Sample>& samples);

// Decides which candidate a power reading belongs to. A device's meter shows the mean over a window and
// updates it about ten times a second; until the update, a reading belongs to the previous candidate.
class PowerMeter {
 public:
  // The time between two updates, plus the window over which the earlier one averages.
  static constexpr double shortest_turn_seconds = 0.2;

  // Begins a turn: from `now`, in seconds, the device works for one candidate only.
  void begin(double now);
  // Returns the reading at `now` if it belongs to that candidate: nothing while its turn is too short, or
  // while the meter still shows the reading from before it.
  std::optional<double> read(std::optional<double> watts, double now);

 private:
  double since_ = 0;
  bool renewed_ = false;
  std::optional<double> last_;
};

}  // namespace tessera::bench
