// SPDX-License-Identifier: Apache-2.0
// What was measured, and its one JSON schema. Tables and files are made from this, never from
// anything else.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "tessera/bench/statistics.hpp"
#include "tessera/core/operation.hpp"

namespace tessera::bench {

enum class Verified { unchecked, ok, wrong };

// In turn with the others, with rests between; or alone, run after run for seconds, which shows what
// heat and power allow.
enum class Mode { burst, sustained };
std::string_view name_of(Mode mode);

// What share of the ceiling that binds a run reached.
struct Roofline {
  double fraction = 0;
  bool memory = false;  // the copy's ceiling binds, else the arithmetic's
};

// One choice on one problem, on one device.
struct Row {
  Dims dims;
  Arguments::Words words;                    // scalars that were given
  std::vector<std::string> optional_inputs;  // those that were given
  Element element = Element::f32;
  std::string elements;  // as Operation::element_name tells; "": just the element
  const Variant* variant = nullptr;
  Tuning tuning;
  Device device;
  bool serial = false;          // the rung that × serial refers to
  double flops = 0, bytes = 0;  // what the problem needs
  Mode mode = Mode::burst;

  std::vector<double> seconds;     // of the variant's run; empty: not measured, see reason
  std::vector<double> fma_rates;   // flop/s that a loop of multiply-adds reached beside each sample
  std::vector<double> clocks_mhz;  // beside each sample; empty: the device does not tell
  std::vector<std::optional<double>> powers_w;  // likewise; missing where the meter told of others, too
  int launches = 1;                             // in a sample, whose time is divided by them
  std::int64_t sets = 0;             // of inputs and outputs, which launches take in turn; 0: always the same
  bool exposed = false;              // its launches could not be hidden
  std::size_t throttled = 0;         // samples dropped because the clock had fallen
  std::optional<double> joules;      // of one run
  Ceilings ceilings;                 // of the device
  std::optional<double> round_trip;  // of a GPU: from host arrays to a host result, copies included
  std::optional<double> estimate;    // of one run, when it was too slow to measure
  Reason reason;                     // why it was not measured

  Verified verified = Verified::unchecked;
  std::string method;  // how it was verified
  std::optional<double> error_over_bound, relative_l2;
  std::string finding;    // where it is wrong
  std::string harm;       // a write to memory that is not its own
  std::string kept_from;  // the date of the earlier session that measured it; "": this one

  std::optional<double> ratio_serial, ratio_previous, ratio_baseline;

  std::string element_name() const {
    return elements.empty() ? std::string(tessera::name_of(element)) : elements;
  }
  bool counts() const { return !seconds.empty() && verified != Verified::wrong; }
  double median() const { return summarize(seconds).median; }
  std::optional<double> gflops() const, gbps() const;
  std::optional<Roofline> roofline() const;
  std::optional<double> clock_mhz() const, power_w() const;  // medians of what is known
  std::optional<double> picojoules_per_flop() const;
  std::optional<double> fma_fraction() const;  // of what that loop reached
};

// Times over: the serial rung, the rung before it on its ladder (its fastest choice; of those that
// were measured), and the baseline called `versus` ("": the fastest baseline on that device). All
// rows are of one problem, in the order of their ladders; each is compared within its mode.
void fill_ratios(std::vector<Row>& rows, const std::string& versus);

struct Session {
  std::vector<std::string> argv;
  std::string operation, distribution, date;
  std::string caches;               // "hot", "cold" or "rotated"
  std::string launches = "queued";  // before the device starts with them; "graph": as one; "plain": neither
  std::uint64_t seed = 0;
  std::vector<Row> rows;
};

nlohmann::ordered_json to_json(const Session& session);
nlohmann::ordered_json to_json(const Row& row);
nlohmann::ordered_json provenance(const std::vector<std::string>& argv, const std::string& date);
nlohmann::ordered_json to_json(const Device& device);
nlohmann::ordered_json to_json(const Ceilings& ceilings);
std::string label_of(const Device& device);  // "cuda:0", "cpu:threads=1" where that is not all of them
nlohmann::ordered_json to_json(const Tuning& tuning);

}  // namespace tessera::bench
