// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/bench_resident.hpp"
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <algorithm>
#include <optional>
#include "tessera/cli/output.hpp"
#include "tessera/cli/positionals.hpp"
#include "tessera/cli/select.hpp"
#include "tessera/cli/together.hpp"
#include "tessera/bench/machine.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/bench/statistics.hpp"
#include "tessera/report/table.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/scattered.hpp"
#include "tessera/run/spread.hpp"
#include "tessera/run/verify.hpp"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

// Where an array is cut, of its two dimensions.
std::size_t along_named(const std::string& word) {
  if (word == "rows") return 0;
  if (word == "columns") return 1;
  throw Error("--resident needs rows or columns, or one of them for each array, not '" + word + "'");
}

std::map<std::string, std::size_t> cuts_named(const std::vector<std::string>& arrays,
                                              const std::string& text) {
  const auto words = split(text, ',');
  if (words.size() != 1 && words.size() != arrays.size())
    throw Error(
        fmt::format("--resident needs one word or {}, for {}", arrays.size(), fmt::join(arrays, ", ")));
  std::map<std::string, std::size_t> out;
  for (std::size_t i = 0; i < arrays.size(); ++i)
    out[arrays[i]] = along_named(words[words.size() == 1 ? 0 : i]);
  return out;
}

// What some runs of one call showed.
struct Shown {
  std::vector<double> seconds;
  dist::Timeline timeline;  // of the last
  std::optional<bool> right;

  double median() const { return bench::summarize(seconds).median; }
};

class ResidentBench {
 public:
  ResidentBench(const Operation& operation, const BenchOptions& bench, const ResidentOptions& options,
                const Command& command)
      : operation_(&operation),
        bench_(&bench),
        options_(&options),
        measuring_(measuring_of(bench)),
        devices_(computing_devices(bench.device)),
        to_(table_stream(bench.json)) {
    for (const Parameter* p : operation.signature.of(Parameter::Kind::input))
      if (!p->optional) arrays_.push_back(p->name);
    arrays_.push_back(operation.output);
    along_ = cuts_named(arrays_, options.along);
    if (!options.shares.empty()) shares_ = parse_split(options.shares).shares;
    request_ = request_of(bench);
    json_ = sweep_json(operation, command.argv);
  }

  int run() {
    note_interrupts();
    bool wrong = false;
    for (const Point& point : points_of(*operation_, *bench_)) {
      if (interrupted()) break;
      if (!point.problem.optional_inputs.empty()) throw Error("--resident is for the operands alone");
      wrong = !measure(point) || wrong;
    }
    write_json(bench_->json, json_);
    return interrupted() ? exit_code::interrupted : wrong ? exit_code::wrong : exit_code::passed;
  }

 private:
  // All devices, and the first alone, in turn; false: a result is wrong.
  bool measure(const Point& point) {
    Inputs inputs(*operation_, point.element, point.problem, measuring_.seed);
    std::vector<std::unique_ptr<Scattered>> placed;
    placed.push_back(
        std::make_unique<Scattered>(*operation_, inputs.arguments(), devices_, along_, shares_, request_));
    if (devices_.size() > 1)
      placed.push_back(std::make_unique<Scattered>(*operation_, inputs.arguments(),
                                                   std::vector<Device>{devices_[0]}, along_,
                                                   std::vector<double>{}, request_));
    std::vector<Shown> shown(placed.size());
    constexpr std::size_t usual = 5;
    const std::size_t samples = measuring_.effort.samples > 0 ? measuring_.effort.samples : usual;
    for (std::size_t i = 0; i <= samples && !interrupted(); ++i)
      for (std::size_t c = 0; c < placed.size(); ++c) {
        placed[c]->poison();
        Resident::Run run = placed[c]->call().run();
        if (i > 0) shown[c].seconds.push_back(run.seconds);  // the first loads code
        shown[c].timeline = std::move(run.timeline);
      }
    if (interrupted()) return true;
    for (std::size_t c = 0; c < placed.size() && measuring_.verify; ++c) {
      inputs.poison();
      placed[c]->gather(inputs.arguments().array(operation_->output));
      shown[c].right = verify(*operation_, inputs.arguments()).passed;
    }
    tell(point, inputs.arguments(), placed, shown);
    return std::ranges::none_of(shown, [](const Shown& one) { return one.right == false; });
  }

  void tell(const Point& point, const Arguments& arguments,
            const std::vector<std::unique_ptr<Scattered>>& placed, const std::vector<Shown>& shown) {
    using Align = report::Table::Align;
    report::Table table({{"devices", Align::left},
                         {"variant", Align::left},
                         {"median"},
                         {"GFLOP/s"},
                         {"× one"},
                         {"from peers"},
                         {"longest copying"},
                         {"longest computing"},
                         {"result"}});
    const double alone = shown.back().median();
    for (std::size_t c = 0; c < placed.size(); ++c) {
      Resident& call = placed[c]->call();
      const Shown& one = shown[c];
      const double rate = call.division().flops(call.division().whole()) / one.median() * 1e-9;
      double copying = 0, computing = 0;
      for (std::size_t d = 0; d < placed[c]->devices().size(); ++d) {
        copying = std::max(copying, one.timeline.busy(d, dist::Deed::copy_peer));
        computing = std::max(computing, one.timeline.busy(d, dist::Deed::compute));
      }
      const Plan* const plan = call.first_plan(0);
      table.add({labels(placed[c]->devices()), plan == nullptr ? "" : full_name(*plan->variant),
                 report::seconds(one.median()), report::number(rate), report::number(alone / one.median()),
                 report::bytes(call.plan().bytes_from_peers()), report::seconds(copying),
                 report::seconds(computing),
                 !one.right   ? ""
                 : *one.right ? "ok"
                              : "wrong"});
      note(arguments, *placed[c], one, rate, alone / one.median());
      if (!call.peers()) warn({"a device does not see another's memory: copies pass through the host"});
    }
    fmt::print(to_, "{}, {}, in the devices' memories by {}; the median of {} run{} of each, in turn\n{}\n",
               title_of(*operation_, point.problem), name_of(point.element), options_->along,
               shown[0].seconds.size(), shown[0].seconds.size() == 1 ? "" : "s", table.text());
    std::fflush(to_);
  }

  static std::string labels(const std::vector<Device>& devices) {
    std::string out;
    for (const Device& device : devices) out += (out.empty() ? "" : " + ") + bench::label_of(device);
    return out;
  }

  void note(const Arguments& arguments, Scattered& placed, const Shown& one, double rate, double times_one) {
    Resident& call = placed.call();
    Json parts = Json::array();
    for (std::size_t d = 0; d < placed.devices().size(); ++d) {
      const double flops = call.plan().flops(call.division(), d),
                   compute = one.timeline.busy(d, dist::Deed::compute);
      const Plan* const plan = call.first_plan(d);
      parts.push_back({{"device", bench::label_of(placed.devices()[d])},
                       {"share", flops > 0 ? flops / call.division().flops(call.division().whole()) : 0},
                       {"seconds", one.timeline.end(d)},
                       {"gflops", compute > 0 ? Json(flops / compute * 1e-9) : Json(nullptr)},
                       {"variant", plan == nullptr ? Json(nullptr) : Json(plan->variant->name)},
                       {"copy_peer", one.timeline.busy(d, dist::Deed::copy_peer)},
                       {"compute", compute},
                       {"room", call.bytes(d)}});
    }
    json_["rows"].push_back({{"dims", arguments.dims()},
                             {"element", operation_->element_name(arguments)},
                             {"variant", "resident " + options_->along},
                             {"device", labels(placed.devices())},
                             {"median", one.median()},
                             {"samples", one.seconds.size()},
                             {"times", one.seconds},
                             {"gflops", rate},
                             {"times_one", times_one},
                             {"bytes_from_peers", call.plan().bytes_from_peers()},
                             {"peers", call.peers()},
                             {"verified", !one.right   ? "no"
                                          : *one.right ? "ok"
                                                       : "wrong"},
                             {"split", std::move(parts)}});
  }

  const Operation* operation_;
  const BenchOptions* bench_;
  const ResidentOptions* options_;
  bench::Measuring measuring_;
  std::vector<Device> devices_;
  std::vector<std::string> arrays_;
  std::map<std::string, std::size_t> along_;
  std::vector<double> shares_;
  Request request_;
  std::FILE* to_;
  Json json_;
};

}  // namespace

void declare(OptionParser& words, ResidentOptions& options) {
  words.value("--resident", options.along,
              "operands and result lie in the devices' memories already, each device with as many rows, or "
              "columns; one "
              "word, or one for each array: rows,columns,rows. All devices are measured together, and the "
              "first alone",
              "rows|columns");
  words.value("--shares", options.shares,
              "with --resident: of the rows or columns, for each device [equal ones]", "A:B:…");
}

int bench_resident(const Operation& operation, const BenchOptions& bench, const ResidentOptions& options,
                   const Command& command) {
  return ResidentBench(operation, bench, options, command).run();
}

}  // namespace tessera::cli
