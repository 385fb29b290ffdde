// SPDX-License-Identifier: Apache-2.0
// One candidate on its device: its first run, its samples, and the check of its results.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include "tessera/bench/measure.hpp"
#include "tessera/bench/rotation.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/place.hpp"
#include "tessera/run/verify.hpp"

namespace tessera::bench {

// The sets of arrays that all trials on one device use, and the verifier of the sets with odd numbers.
struct Turns {
  Rotation* sets = nullptr;  // null: they take their own arrays, always
  Verifier* odd = nullptr;
};

// In a sample, but for what rounds up to all sets: a device's queue holds about a thousand, some runs take
// several.
inline constexpr int most_launches = 100;

class Trial {
 public:
  // `slow`: one run is most of the time that it has, so it gets no run that is not timed.
  Trial(const Plan& plan, Inputs& inputs, Verifier& verifier, const Measuring& measuring, Row& row, bool slow,
        Turns turns = {});

  // The first run, which may also load, compile and search, and so tells no time. Says what it harmed:
  // where the host's memory is everybody's, only now is it known whose fault that was.
  Reason warm_up();
  Sample sample();
  // The host's outputs may be everybody's, so this comes before anybody's next run.
  void finish();
  // Run after run for that many seconds, or until interrupted; a row of its own.
  Row sustain(double seconds);

 private:
  void tell(const char* doing) const;
  void expose();  // its launches cannot be hidden, for this variant waits for the device itself
  double run_once() { return run_once(placed_.arguments()); }
  double run_once(const Arguments& there);
  Sample timed(int launches);
  Sample timed(int launches, std::int64_t first_set);
  const std::function<void()>& as_graph(const std::function<void()>& work, int launches,
                                        std::int64_t first_set);
  int launches_in_a_sample() const;
  int rounded(int launches) const;
  bool shares_arrays() const;
  void poison(int launches);
  Reason harm();
  Reason own_harm();
  void mend();
  void verify(Row& row);
  void check(Row& row);
  void time_round_trips();

  Placed placed_;
  Inputs* inputs_;
  Verifier* verifier_;
  const Measuring* measuring_;
  Row* row_;
  Backend* backend_;
  Turns turns_;
  std::map<std::pair<int, std::int64_t>, std::function<void()>>
      graphs_;       // of so many launches, from a set on
  double last_ = 0;  // what a run took, in seconds; 0: there was none
  bool slow_, own_clock_ = false, hide_launches_ = true;
};

// What was found, in the row; a wrong one stays wrong.
void blame(Row& row, const std::string& harm);
void note(Row& row, const Verdict& verdict);

// Runs the row's choice on inputs that no timed run has seen, and verifies that, too: what kept an old
// result, or knew its inputs, shows here.
void verify_afresh(Row& row, const Plan& plan, Inputs& fresh, Verifier& verifier);

}  // namespace tessera::bench
