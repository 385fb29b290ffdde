// SPDX-License-Identifier: Apache-2.0
// What was measured: a row for each choice on each problem, its one JSON schema, and the sentences below a
// table of rows. Tables and files are made from this, never from anything else.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
#include "tessera/bench/sample.hpp"
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

  std::vector<double> seconds;                       // of the variant's run; empty: not measured, see reason
  std::map<std::string, std::vector<double>> calls;  // of public calls, see measure_calls()
  std::vector<double> fma_rates;   // flop/s that a loop of multiply-adds reached beside each sample
  std::vector<double> clocks_mhz;  // beside each sample; empty: the device does not tell
  std::vector<std::optional<double>> powers_w;  // likewise; missing where the meter told of others, too
  int launches = 1;                             // in a sample, whose time is divided by them
  std::int64_t sets = 0;             // of inputs and outputs, which launches take in turn; 0: always the same
  bool exposed = false;              // its launches could not be hidden
  std::size_t throttled = 0;         // samples dropped because the clock had fallen
  std::optional<double> other_load;  // of the processors, while it was measured: see OtherLoad
  std::optional<double> joules;      // of one run
  Ceilings ceilings;                 // of the device
  std::optional<double> round_trip;  // of a GPU: from host arrays to a host result, copies included
  std::optional<double> estimate;    // of one run, when it was too slow to measure
  Reason reason;                     // why it was not measured

  Verified verified = Verified::unchecked;
  std::string method;  // how it was verified
  std::optional<double> error_over_bound, relative_l2;
  std::string finding;          // where it is wrong
  std::string guard_violation;  // a write to memory that is not its own
  std::string kept_from;        // the date of the earlier session that measured it; "": this one

  std::optional<double> ratio_serial, ratio_previous, ratio_baseline;
  std::string previous;  // the rung that ratio_previous is to: see Variant::parent

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

// Times over: the serial rung, the rung that it changes (its fastest choice; by default the nearest before it
// on its ladder, of those that were measured), and the baseline called `versus` ("": the fastest baseline on
// that device). All rows are of one problem, in the order of their ladders; each is compared within its mode.
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

// Sentences below a table of measured rows.

// A ratio of two medians and the error that their spreads propagate to.
struct Ratio {
  double value = 0, error = 0;
};
Ratio ratio_of(const Summary& of, const Summary& to);

// "shared_tiles ran 1.88 ± 0.07 times faster than per_element, …": for each device and mode its fastest
// own rung against the rung before it and the fastest baseline. Empty where there is no such pair.
std::vector<std::string> summary_of(const std::vector<Row>& rows);

// All rows are of one problem.
std::vector<std::string> warnings(const std::vector<Row>& rows);
std::vector<std::string> build_warnings();  // of the program itself

// Results read back from their JSON, perhaps of another machine or of another version's ladder: so a record
// holds names where a Row holds the variant itself.

struct Record {
  std::string problem;                         // "k=64 m=64 n=64 op-a=transpose"
  std::string element, variant, tuning, mode;  // "f32", "gpu/shared_tiles", "tile=16", "burst"
  std::string device, device_name;             // "cuda:0" and as its maker calls it
  int threads = 1;
  std::vector<double> seconds, clocks_mhz;  // as many clocks as seconds, or none
  std::optional<double> other_load;         // not told by older files
  std::string verified, reason;

  // What makes it the same measurement in two documents.
  std::string key() const;
};

struct Driver {
  std::string device_name, cuda, version;  // "": not known; `version` is the driver's own
};

struct Document {
  std::string operation, caches, launches, distribution, date, git, compiler, flags;
  std::string cuda_compiler, cuda_flags;  // with its architectures; "": not known, or a build without CUDA
  std::string processor;                  // of the machine that measured
  std::string seed;
  std::vector<Driver> drivers;  // of each device
  std::vector<Record> records;
};

// One row; `names`: the devices' names by their labels.
Record record_of(const nlohmann::ordered_json& row, const std::map<std::string, std::string>& names);

// `name` is what messages call it. Throws Error where it is no results of that kind.
Document read_document(const nlohmann::ordered_json& json, const std::string& name,
                       const std::string& kind = "bench");

// Going on with an earlier session: what its file holds need not be measured again.

// What a row's JSON says that the row of a problem and a choice, `blank`, does not say yet.
Row recalled(const nlohmann::ordered_json& json, Row blank);

class Earlier {
 public:
  // `json`: what an earlier session wrote, `name`: what messages call it, `kind`: "bench" or "sweep". Throws
  // Error where it was of another kind, operation, machine, build, seed or cache state than `now`: their rows
  // must not be mixed.
  Earlier(nlohmann::ordered_json json, const std::string& name, const Session& now,
          const std::string& kind = "bench");

  // The row of the same problem, choice, device and mode, if it was measured then and not found wrong.
  std::optional<Row> find(const Row& blank) const;

  // `now`, and behind its rows those of the earlier session that it lacks.
  nlohmann::ordered_json merged(nlohmann::ordered_json now) const;

 private:
  std::shared_ptr<const nlohmann::ordered_json> json_;
  std::map<std::string, const nlohmann::ordered_json*> rows_;  // by key
};

}  // namespace tessera::bench
