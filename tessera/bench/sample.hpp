// SPDX-License-Identifier: Apache-2.0
// Repeated measurements: what they say, and how they are taken.
//
// Medians and quartiles: one interrupted sample moves neither. Sampling is interleaved: each round takes one
// sample of every candidate. A drift of the machine (its clock, its temperature, another program) then
// affects all of them alike, and ratios stay right.
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
  // Half the distance between the quartiles, relative to the median.
  double spread() const { return median > 0 ? (q3 - q1) / (2 * median) : 0; }
};

// Quantiles interpolate linearly between order statistics. Throws Error when there is no sample.
Summary summarize(std::vector<double> samples);

// At most `most` of the samples, evenly chosen, the first and the last among them.
std::vector<double> thinned(const std::vector<double>& samples, std::size_t most);

// The wall clock, for what a user waits for. Kernel time is Backend::seconds.

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

struct Sample {
  double seconds = 0;
  std::optional<double> clock_mhz = {}, power_w = {};  // what the device's meter shows behind it
  double lost = 0;  // wall time of an attempt that gave up; it does not count against the candidate
};

struct Effort {
  double seconds = 10;      // the most that one candidate may take
  std::size_t samples = 0;  // wanted of each; 0: until they have settled, see below
  // With samples = 0: at least `fewest` and for `enough_seconds`; then up to `most`, until their spread is
  // at most `spread`, or has stopped changing, for then more samples will not make it smaller.
  std::size_t fewest = 9, most = 200;
  double enough_seconds = 0.3;
  double spread = 0.005;
  // A sample whose clock is below this share of the highest that its device has shown is dropped.
  double least_clock = 0.6;
  double pause = 0;  // seconds of rest before each sample, in which devices cool; they count for nothing
};

struct Contestant {
  std::function<Sample()> sample;
  std::function<void()> finished;  // after its last sample, before anybody's next
  int device = 0;                  // those of one number share a clock
};

struct Taken {
  std::vector<Sample> samples;
  std::size_t throttled = 0;  // dropped
};

bool settled(const std::vector<Sample>& samples, const Effort& effort);

// Each one's samples, in rounds. A contestant leaves the rounds when its next sample would exceed
// effort.seconds, but has at least one, dropped or not. `interrupted` is asked before every sample; once
// it says so, what has been measured is returned. Of the powers those are left that are the contestant's own.
std::vector<Taken> interleave(const std::vector<Contestant>& contestants, const Effort& effort,
                              const std::function<bool()>& interrupted = {});

std::vector<double> seconds_of(const std::vector<Sample>& samples);
// As many as there are samples, or none: a clock that is known now and then says nothing of the rest.
std::vector<double> clocks_of(const std::vector<Sample>& samples);
// As many as there are samples, or none where none is known.
std::vector<std::optional<double>> powers_of(const std::vector<Sample>& samples);

// Decides which candidate a power reading belongs to. A device's meter shows the mean of a window and renews
// it about ten times a second. Until then a reading is of whatever ran before.

class PowerMeter {
 public:
  // The time between two renewals, and before that the window that the earlier of them tells of.
  static constexpr double shortest_turn_seconds = 0.2;

  // From `now`, in seconds, the device works for one candidate only.
  void begin(double now);
  // What the meter shows at `now`, if it is of that candidate: not while its turn is too short for that, or
  // the reading still the one from before it.
  std::optional<double> read(std::optional<double> watts, double now);

 private:
  double since_ = 0;
  bool renewed_ = false;
  std::optional<double> last_;
};

}  // namespace tessera::bench
