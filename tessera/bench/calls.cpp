// SPDX-License-Identifier: Apache-2.0
#include "tessera/bench/calls.hpp"
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include "tessera/bench/machine.hpp"
#include "tessera/bench/rotation.hpp"
#include "tessera/core/operation/promise.hpp"
#include "tessera/core/text/error.hpp"
#include "tessera/call.hpp"
#include "tessera/run/inputs.hpp"
#include "tessera/run/public_call.hpp"

namespace tessera::bench {
namespace {

using Call = PublicCall::Function;

constexpr int calls_of_a_graph = 20;
constexpr std::uint64_t seed_of_odd_sets = 0x0dd00000u;

// Returns the number of calls of about `one` seconds each that take about `wanted` seconds.
int calls_for(double wanted, double one, double least, double most) {
  return static_cast<int>(one > 0 ? std::clamp(wanted / one, least, most) : most);
}

// Returns the device's stream, which is used for all problems and never destroyed, as in a program: a stream
// keeps the memory that its calls need.
void* calling_stream(const Device& device) {
  static std::map<std::string, void*> streams;
  const auto [at, is_new] = streams.try_emplace(device.label());
  if (is_new) at->second = backend_of(device).make_stream(device);
  return at->second;
}

struct CallNumbers {
  Inputs inputs;
  Verifier verifier;
  CallNumbers(const Operation& operation, Element element, const Case& problem, std::uint64_t seed)
      : inputs(operation, element, problem, seed),
        verifier(operation, inputs.arguments(), {.data = Data::random, .seed = seed}) {}
};

// One measured caller: the public call, or a baseline.
struct Caller {
  Row row;
  Call plain, prepared;
  double seconds = 0;  // approximate time of one call
  std::function<void()> graph, short_graph;
  int graph_calls = 0;
  std::shared_ptr<Run> own = std::make_shared<Run>();  // a baseline's state
  Array workspace;
};

class CallTrials {
 public:
  CallTrials(const Operation& operation, Element element, const Case& problem, const Device& device,
             const Measuring& measuring)
      : operation_(&operation),
        problem_(&problem),
        measuring_(&measuring),
        device_(device),
        backend_(&backend_of(device)),
        even_(operation, element, problem, measuring.seed),
        odd_(operation, element, problem, measuring.seed + seed_of_odd_sets) {
    const MakeCall* const own = public_call_of(operation.name);
    if (device.where == Where::simt) throw Error("--call measures processors and GPUs");
    const Arguments& host = even_.inputs.arguments();
    const std::int64_t bytes = set_bytes(host);
    if (bytes == 0) throw Error("--call: the arrays are empty");
    // At least two sets, so that addresses change.
    Device cache = device;
    cache.cache_bytes = std::max(on_host() ? 0 : device.cache_bytes, bytes / 2 + 1);
    if (const Reason reason = cannot_rotate(cache, host, max_launches)) throw Error("--call: " + *reason);
    sets_ = std::make_unique<Rotation>(cache, host, odd_.inputs.arguments(), max_launches);
    for (std::int64_t i = 0; i < sets_->sets(); ++i) addresses_.push_back(sets_->set(i).addresses());
    is_small_ = calls_of_a_graph * bytes < 2 * device.cache_bytes;
    run_ = {&device_, calling_stream(device_)};
    add_call(own != nullptr ? (*own)(device_, sets_->set(0)) : call_by_name(sets_->set(0)));
    for (const Variant* variant : ladder_of(operation.name))
      if (variant->baseline && variant->where == device.where)
        for (const Choice& choice : variant->choices)
          if (choice.prepare.contains(element)) add_baseline(*variant, choice);
  }

  std::vector<Row> rows() {
    for (const auto& caller : callers_)
      if (!caller->row.reason) begin(*caller);
    take_turns();
    if (measuring_->verify) verify(*callers_.front());
    std::vector<Row> out;
    for (const auto& caller : callers_) {
      Row& row = caller->row;
      const auto main = row.calls.find(on_host() ? "host" : "stream");
      if (main != row.calls.end()) row.seconds = main->second;
      else if (!row.reason) row.reason = "interrupted";
      row.sets = sets_->sets();
      out.push_back(std::move(row));
    }
    return out;
  }

 private:
  bool on_host() const { return backend_->shares_host_memory(); }

  Caller& add(const Plan& plan) {
    callers_.push_back(std::make_unique<Caller>());
    callers_.back()->row = blank_row({.plan = plan}, *operation_, *problem_, even_.inputs.arguments());
    return *callers_.back();
  }

  // Returns a Call by the operation's name, for an operation without a typed call.
  PublicCall call_by_name(const Arguments& device_arguments) const {
    const std::string where = device_.label();
    const auto call = std::make_shared<const tessera::Call>(
        operation_->name, device_arguments.words(),
        Request{.device = on_host() ? where + ":threads=" + std::to_string(device_.threads) : where});
    std::array<ArrayView, Signature::max_arrays> views;
    std::size_t count = 0;
    for (const Parameter& p : operation_->signature.parameters)
      if (p.is_array())
        views[count++] = device_arguments.has(p.name) ? device_arguments.array(p.name) : ArrayView();
    const auto prepared = call->enqueue(run_.stream, std::span(views).first(count));
    PublicCall out;
    out.plan = prepared->plan();
    out.plain = [=](void* stream, std::span<void* const> arrays) {
      auto moved = views;
      for (std::size_t i = 0; i < count; ++i) moved[i].data = arrays[i];
      (void)call->enqueue(stream, std::span(moved).first(count));
    };
    out.prepared = [prepared](void* stream, std::span<void* const> arrays) {
      prepared->enqueue(stream, arrays);
    };
    return out;
  }

  void add_call(PublicCall call) {
    Caller& out = add(call.plan);
    out.plain = std::move(call.plain);
    out.prepared = std::move(call.prepared);
  }

  // Adds a baseline. On a GPU it is planned ahead, like a program's calls of a library, so that the host time
  // is the library's own. On the CPU it runs in another process, which reports its own time.
  void add_baseline(const Variant& variant, const Choice& choice) {
    const Plan plan{&variant, &choice, choice.defaults(), device_};
    const Arguments device_arguments = without_promises(operation_->name, sets_->set(0));
    const Reason reason = variant.refuses(choice, device_arguments, plan.tuning, device_);
    const PreparedRun ahead = reason ? PreparedRun() : plan.prepared(device_arguments);
    if (!on_host() && !ahead.planned_ahead) return;
    Caller& out = add(plan);
    out.row.reason = reason;
    if (reason) return;
    *out.own = run_;
    if ((out.own->workspace_bytes = ahead.workspace_bytes) != 0) {
      out.workspace =
          Array(Element::u8, {static_cast<std::int64_t>(ahead.workspace_bytes)}, backend_->memory(device_));
      out.own->workspace = out.workspace.view().data;
      backend_->fill(run_, out.own->workspace, 0, ahead.workspace_bytes);
    }
    out.plain = [ahead, own = out.own](void*, std::span<void* const> arrays) { ahead(arrays, *own); };
  }

  void repeat(const Call& call, int count) {
    const std::int64_t first = sets_->take(count), sets = sets_->sets();
    for (int i = 0; i < count; ++i)
      call(run_.stream, addresses_[static_cast<std::size_t>((first + i) % sets)]);
  }

  // Makes the first calls, which may load, search and allocate, and captures the graphs.
  void begin(Caller& caller) {
    if (measuring_->progress) measuring_->progress(caller.row.variant->name + ": first calls");
    constexpr int some = 3;
    try {
      repeat(caller.plain, 2);
      if (caller.prepared) repeat(caller.prepared, 2);
      backend_->synchronize(run_);
      caller.seconds = backend_->seconds(run_, [&] { repeat(caller.plain, some); }) / some;
      if (on_host()) return;
      caller.graph_calls = calls_for(calls_of_a_graph * 1e-3, caller.seconds, 2, calls_of_a_graph);
      caller.graph = backend_->capture(run_, [this, &caller] { repeat(caller.plain, caller.graph_calls); });
      caller.short_graph = backend_->capture(run_, [this, &caller] { repeat(caller.plain, 2); });
    } catch (const Error& error) {
      if (&caller == callers_.front().get()) throw;
      caller.row.reason = error.what();
    }
  }

  Sample host(Caller& caller, const Call& call) {
    if (caller.own->reported_seconds >= 0) {
      repeat(call, 1);
      return {.seconds = caller.own->reported_seconds};
    }
    const int count =
        on_host() ? calls_for(1e-3, caller.seconds, 1, 1000) : calls_for(20e-3, caller.seconds, 3, 50);
    backend_->synchronize(run_);
    const Stopwatch watch;
    repeat(call, count);
    const double seconds = watch.seconds();
    backend_->synchronize(run_);
    return {.seconds = seconds / count};
  }

  Sample stream(Caller& caller, const Call& call) {
    const int count = calls_for(2e-3, caller.seconds, 3, 200);
    return {.seconds = backend_->seconds(run_, [&] { repeat(call, count); }) / count};
  }

  // Times a graph, which always uses the same sets. If the cache may hold them, it is flushed first, and two
  // calls on other sets load the code again. The device does that while the host launches the graph.
  Sample graph(Caller& caller) {
    if (is_small_) {
      backend_->flush_caches(run_);
      caller.short_graph();
    }
    return {.seconds = backend_->seconds(run_, caller.graph) / caller.graph_calls};
  }

  void take_turns() {
    std::vector<SampledCandidate> contestants;
    std::vector<std::pair<Row*, const char*>> kinds;
    for (const auto& each : callers_) {
      Caller& c = *each;
      if (c.row.reason) continue;
      const auto enter = [&](const char* kind, std::function<Sample()> sample) {
        contestants.push_back({.sample = std::move(sample), .finished = {}});
        kinds.emplace_back(&c.row, kind);
      };
      enter("host", [this, &c] { return host(c, c.plain); });
      if (c.prepared) enter("host_prepared", [this, &c] { return host(c, c.prepared); });
      if (on_host()) continue;
      if (c.prepared && empty_launch())
        enter("host_empty", [this, &c] {
          return host(c, [this](void* stream, std::span<void* const>) { empty_launch()(device_, stream); });
        });
      enter("stream", [this, &c] { return stream(c, c.plain); });
      if (c.prepared) enter("stream_prepared", [this, &c] { return stream(c, c.prepared); });
      enter("graph", [this, &c] { return graph(c); });
    }
    if (measuring_->progress) measuring_->progress("timing calls");
    const OtherLoad others;
    const auto taken = interleave(contestants, measuring_->effort, measuring_->interrupted);
    for (const auto& [row, kind] : kinds) row->other_load = others.share();
    for (std::size_t i = 0; i < taken.size(); ++i)
      if (!taken[i].samples.empty()) kinds[i].first->calls[kinds[i].second] = seconds_of(taken[i].samples);
  }

  // Verifies one result of each kind of call, on different sets.
  void verify(Caller& caller) {
    for (const Call* call : {&caller.plain, &caller.prepared}) {
      if (!*call) continue;
      const std::int64_t set = sets_->next();
      sets_->poison(set);
      repeat(*call, 1);
      backend_->synchronize(run_);
      sets_->fetch(set);
      note(caller.row, ((set & 1) == 0 ? even_ : odd_).verifier(sets_->host(set)));
    }
  }

  const Operation* operation_;
  const Case* problem_;
  const Measuring* measuring_;
  Device device_;
  Backend* backend_;
  CallNumbers even_, odd_;
  std::unique_ptr<Rotation> sets_;
  std::vector<Addresses> addresses_;  // array addresses of each set
  bool is_small_ = false;             // true if the sets of a graph take less than twice the cache
  Run run_;
  std::vector<std::unique_ptr<Caller>> callers_;  // last member: uses all the others
};

}  // namespace

std::vector<Row> measure_calls(const Operation& operation, Element element, const Case& problem,
                               const Device& device, const Measuring& measuring) {
  if (measuring.progress) measuring.progress("preparing");
  return CallTrials(operation, element, problem, device, measuring).rows();
}

}  // namespace tessera::bench
