// SPDX-License-Identifier: Apache-2.0
// Results: a row for each choice on each problem, its JSON schema, and the sentences below a table of rows.
// All tables and files are made from these rows.
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
#include "tessera/core/operation/operation.hpp"

namespace tessera::bench {

enum class Verified { unchecked, ok, wrong };

// burst: runs alternate with those of the other candidates, with pauses; sustained: one candidate runs alone,
// back to back for seconds, at the clock that heat and power allow.
enum class Mode { burst, sustained };
std::string_view name_of(Mode mode);

// Says how to ask for the version of the library that a baseline of this name calls.
void register_library_version(std::string baseline, std::string (*version)());
// Returns that version; empty: it is not known.
std::string library_version(const Variant& baseline);

// The share that a run reached of the ceiling that limits it.
struct Roofline {
  double fraction = 0;
  bool memory = false;  // true: limited by memory bandwidth, else by arithmetic
};

// One choice on one problem, on one device.
struct Row {
  Dims dims;
  Arguments::Words words;                    // the scalars given
  std::vector<std::string> optional_inputs;  // the optional inputs given
  Element element = Element::f32;
  std::string elements;  // from Operation::element_name; "": just the element
  const Variant* variant = nullptr;
  Tuning tuning;
  Device device;
  bool serial = false;          // the rung that × serial refers to
  double flops = 0, bytes = 0;  // required by the problem
  Mode mode = Mode::burst;

  std::vector<double> seconds;                       // per run; empty: not measured, see reason
  std::map<std::string, std::vector<double>> calls;  // samples of public calls, see measure_calls()
  std::vector<double> fma_rates;                // flop/s of a loop of multiply-adds run beside each sample
  std::vector<double> clocks_mhz;               // beside each sample; empty: the device does not report it
  std::vector<std::optional<double>> powers_w;  // beside each sample; missing: includes another candidate
  int launches = 1;                             // per sample; times are divided by it
  std::int64_t sets = 0;      // sets of inputs and outputs that launches cycle through; 0: always the same
  bool exposed = false;       // its launch overhead could not be hidden
  std::size_t throttled = 0;  // samples dropped because the clock had fallen
  std::optional<double> other_load;  // share of the CPU during the measurement, see OtherLoad
  std::optional<double> joules;      // per run
  Ceilings ceilings;
  std::optional<double> round_trip;  // GPU: from host arrays to a host result, copies included
  std::optional<double> estimate;    // seconds per run, if it was too slow to measure
  Reason reason;                     // why it was not measured

  Verified verified = Verified::unchecked;
  std::string method;  // method of the verification
  std::optional<double> error_over_bound, relative_l2;
  std::string finding;          // description of errors and violations
  std::string guard_violation;  // a write outside a buffer or to an input
  std::string kept_from;        // the date of the earlier session that measured it; "": this one

  std::optional<double> ratio_serial, ratio_previous, ratio_baseline;  // NaN: judge() gives no verdict
  std::string previous;  // the rung that ratio_previous refers to, see Variant::parent

  std::string element_name() const {
    return elements.empty() ? std::string(tessera::name_of(element)) : elements;
  }
  bool counts() const { return !seconds.empty() && verified != Verified::wrong; }
  double median() const { return summarize(seconds).median; }
  void pool(const Row& more);  // adds the samples of the same choice in another process
  std::optional<double> gflops() const, gbps() const;
  std::optional<Roofline> roofline() const;
  std::optional<double> clock_mhz() const, power_w() const;  // medians of the known values
  std::optional<double> picojoules_per_flop() const;
  std::optional<double> fma_fraction() const;  // relative to the median of fma_rates
};

// Sets each row's speedup over the serial rung, over the parent rung (its fastest choice; by default the
// nearest measured rung before it on its ladder), and over the baseline called `versus` ("": the fastest
// baseline on that device). All rows are of one problem, in the order of their ladders; each is compared
// within its mode.
void fill_ratios(std::vector<Row>& rows, const std::string& versus);

// The distribution of random inputs.
inline constexpr const char* distribution = "standard normal, full mantissas; integers: every bit random";

struct Session {
  std::vector<std::string> argv;
  std::string operation, date;
  std::string caches;               // "hot", "cold" or "rotated"
  std::string launches = "queued";  // enqueued before the device starts; "graph": one graph; "plain": neither
  std::uint64_t seed = 0;
  std::vector<Row> rows;
};

nlohmann::ordered_json to_json(const Session& session);
nlohmann::ordered_json to_json(const Row& row);
nlohmann::ordered_json provenance(const std::vector<std::string>& argv, const std::string& date);
nlohmann::ordered_json to_json(const Device& device);
nlohmann::ordered_json to_json(const Ceilings& ceilings);
std::string label_of(const Device& device);  // "cuda:0"; "cpu:threads=1" if not all threads are used
nlohmann::ordered_json to_json(const Tuning& tuning);
nlohmann::ordered_json to_json(const Finding& finding);

// A ratio of two medians, and the error propagated from their spreads.
struct Ratio {
  double value = 0, error = 0;
};
Ratio ratio_of(const Summary& of, const Summary& to);

// Returns "shared_tiles ran 1.88 ± 0.07 times faster than per_element, …": for each device and mode, compares
// the fastest own rung with the rung before it and the fastest baseline. Empty: no such pair.
std::vector<std::string> summary_of(const std::vector<Row>& rows);

// The rows must be of one problem.
std::vector<std::string> warnings(const std::vector<Row>& rows);
std::vector<std::string> build_warnings();  // about this build of the program

// A row read back from JSON. It has names instead of a Variant, because the file may be from another machine
// or another version of the ladder.
struct Record {
  std::string problem;                         // "k=64 m=64 n=64 op-a=transpose"
  std::string element, variant, tuning, mode;  // "f32", "gpu/shared_tiles", "tile=16", "burst"
  std::string device, device_name;             // "cuda:0" and the vendor's name
  int threads = 1;
  std::vector<double> seconds, clocks_mhz;  // clocks_mhz: the size of seconds, or empty
  std::optional<double> other_load;         // missing in older files
  std::string verified, reason;

  // Returns a key that identifies the same measurement in two documents.
  std::string key() const;
};

struct Driver {
  std::string device_name, cuda, version;  // "": not known; `version`: of the driver
};

struct Document {
  std::string operation, caches, launches, distribution, date, git, compiler, flags;
  std::string cuda_compiler, cuda_flags;  // with its architectures; "": not known, or a build without CUDA
  std::string processor;                  // processor of the machine
  std::string seed;
  std::vector<Driver> drivers;  // one for each device
  std::vector<Record> records;
};

// `names`: the devices' names by their labels.
Record record_of(const nlohmann::ordered_json& row, const std::map<std::string, std::string>& names);

// `name`: the document's name in messages. Throws Error if it has no results of that kind.
Document read_document(const nlohmann::ordered_json& json, const std::string& name,
                       const std::string& kind = "bench");

// Completes `blank`, the row of a problem and a choice, with the results in a row's JSON.
Row recalled(const nlohmann::ordered_json& json, Row blank);

// Resumes an earlier session: rows in its file need not be measured again.
class Earlier {
 public:
  // `json`: the earlier session's file, `name`: its name in messages, `kind`: "bench" or "sweep". Throws
  // Error if its kind, operation, machine, build, seed or cache state differs from `now`, because such rows
  // must not be mixed.
  Earlier(nlohmann::ordered_json json, const std::string& name, const Session& now,
          const std::string& kind = "bench");

  // Returns the row of the same problem, choice, device and mode, if it was measured and not found wrong.
  std::optional<Row> find(const Row& blank) const;

  // Returns `now`, with the rows of the earlier session that it lacks appended.
  nlohmann::ordered_json merged(nlohmann::ordered_json now) const;

 private:
  std::shared_ptr<const nlohmann::ordered_json> json_;
  std::map<std::string, const nlohmann::ordered_json*> rows_;  // by key
};

}  // namespace tessera::bench
