// SPDX-License-Identifier: Apache-2.0
#include "tessera/call.hpp"
#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <utility>
#include "tessera/core/device/streams.hpp"
#include "tessera/core/text/suggest.hpp"
#include "tessera/run/overlap.hpp"

namespace tessera {
namespace {

constexpr std::size_t remembered_plans = 16;

bool has_all_outputs(const Arguments& arguments) {
  return std::ranges::all_of(arguments.signature().parameters, [&](const Parameter& p) {
    return p.kind != Parameter::Kind::output || arguments.array(p.name).data != nullptr ||
           arguments.array(p.name).count() == 0;
  });
}

}  // namespace

struct Call::State {
  struct Key {
    std::array<ArrayView, Signature::max_arrays> arrays;  // data holds the alignment, not the address
    int holder = 0;                                       // host_run, or the GPU that holds the output, or -1
    std::size_t variants = 0;                             // load() adds variants

    static constexpr int host_run = -2;

    bool operator==(const Key& other) const {
      const auto same = [](const ArrayView& a, const ArrayView& b) {
        return a.data == b.data && a.element == b.element && a.extents == b.extents && a.strides == b.strides;
      };
      return holder == other.holder && variants == other.variants &&
             std::ranges::equal(arrays, other.arrays, same);
    }
  };

  struct RememberedCall {
    Key key;
    std::shared_ptr<const Arguments> arguments;
    Plan plan;
    std::shared_ptr<const PreparedCall> prepared;  // null: run_by() makes the run
  };

  const Operation& operation;
  Arguments::Words words;
  Request request;
  std::vector<const Parameter*> parameters;  // the array parameters, in their order
  bool remembers = true;
  std::mutex mutex;
  std::vector<std::shared_ptr<const RememberedCall>> known;
  std::size_t oldest = 0;

  State(const std::string& name, Arguments::Words given, Request request_)
      : operation(find(name)), words(std::move(given)), request(std::move(request_)) {
    for (const Parameter& p : operation.signature.parameters)
      if (p.is_array()) parameters.push_back(&p);
    remembers = !operation.signature.reads_contents(words);
  }

  static const Operation& find(const std::string& name) {
    if (const Operation* found = find_operation(name)) return *found;
    std::vector<std::string> names;
    for (const Operation& operation : operations()) names.push_back(operation.name);
    throw Error("no operation is called '" + name + "'" + suggestion(name, names));
  }

  Key key_of(std::span<const ArrayView> arrays, int holder) const {
    if (arrays.size() != parameters.size()) {
      std::string names;
      for (const Parameter* p : parameters) names += (names.empty() ? "" : ", ") + p->name;
      throw Error(operation.name + " has the arrays " + names + "; " + std::to_string(arrays.size()) +
                  " are given");
    }
    Key key{.arrays = {}, .holder = holder, .variants = all_variants().size()};
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      key.arrays[i] = arrays[i];
      if (arrays[i].data != nullptr) key.arrays[i].data = alignment_of(arrays[i].data);
    }
    return key;
  }

  std::shared_ptr<const RememberedCall> find_remembered(const Key& key) {
    const std::scoped_lock lock(mutex);
    for (const auto& one : known)
      if (one->key == key) return one;
    return nullptr;
  }

  std::shared_ptr<const RememberedCall> remember(RememberedCall made) {
    auto out = std::make_shared<const RememberedCall>(std::move(made));
    if (!remembers) return out;
    const std::scoped_lock lock(mutex);
    if (known.size() < remembered_plans) known.push_back(out);
    else known[std::exchange(oldest, (oldest + 1) % remembered_plans)] = out;
    return out;
  }

  // Returns the element type of the first array that has the operation's type and is mandatory or has data.
  Element element_of_operation(std::span<const ArrayView> arrays) const {
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const Parameter& p = *parameters[i];
      const bool is_mandatory = p.kind == Parameter::Kind::input && !p.optional;
      if ((is_mandatory || arrays[i].data != nullptr) && !p.element && !p.element_from)
        return arrays[i].element;
    }
    return operation.elements.front();
  }

  Arguments bind(std::span<const ArrayView> arrays) const {
    std::map<std::string, ArrayView> inputs;
    for (std::size_t i = 0; i < arrays.size(); ++i)
      if (parameters[i]->kind == Parameter::Kind::input &&
          (!parameters[i]->optional || arrays[i].data != nullptr))
        inputs[parameters[i]->name] = arrays[i];
    Arguments out(operation.signature, element_of_operation(arrays), std::move(inputs), words);
    for (std::size_t i = 0; i < arrays.size(); ++i)
      if (parameters[i]->kind == Parameter::Kind::output && arrays[i].data != nullptr)
        out.set_array(parameters[i]->name, arrays[i]);
    return out;
  }

  static Addresses addresses_of(std::span<const ArrayView> arrays) {
    Addresses out{};
    for (std::size_t i = 0; i < arrays.size(); ++i) out[i] = arrays[i].data;
    return out;
  }
};

Call::Call(const std::string& operation, Arguments::Words words, Request request)
    : state_(std::make_unique<State>(operation, std::move(words), std::move(request))) {}
Call::~Call() = default;

Outcome Call::run(std::span<const ArrayView> arrays, bool check) const {
  State& s = *state_;
  const State::Key key = s.key_of(arrays, State::Key::host_run);
  std::shared_ptr<const State::RememberedCall> known = s.find_remembered(key);
  if (!known) {
    const Arguments host = s.bind(arrays);
    // A run that returns values, such as an integral, may move to another device while it runs.
    if (!host.signature().of(Parameter::Kind::value).empty())
      return tessera::run(s.operation, host, s.request, check);
    State::RememberedCall made{key, std::make_shared<const Arguments>(host),
                               choose(s.operation, host, s.request), nullptr};
    const bool at_once =
        made.plan.device.where == Where::cpu && !made.plan.variant->baseline && has_all_outputs(host);
    if (at_once) {
      auto prepared = std::make_shared<const PreparedCall>(made.plan, host);
      if (prepared->workspace_bytes() == 0) made.prepared = std::move(prepared);
    }
    known = s.remember(std::move(made));
  }
  const Arguments host = known->arguments->with_addresses(State::addresses_of(arrays));
  if (!known->prepared || check) return run_by(known->plan, s.operation, host, check);
  check_data(host);
  refuse_overlaps(host);
  Outcome outcome;
  const auto start = std::chrono::steady_clock::now();
  known->prepared->enqueue(nullptr, host.addresses());
  outcome.kernel_seconds = outcome.round_trip_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  outcome.plan = known->plan.without_names();
  return outcome;
}

std::shared_ptr<const PreparedCall> Call::enqueue(void* stream, std::span<const ArrayView> arrays,
                                                  const Workspace& workspace) const {
  State& s = *state_;
  StreamOrderedMemory* const gpus = find_stream_ordered_memory(Where::cuda);
  State::Key key = s.key_of(arrays, -1);
  const auto output = std::ranges::find(s.parameters, s.operation.output, &Parameter::name);
  if (const void* const data = arrays[static_cast<std::size_t>(output - s.parameters.begin())].data;
      gpus != nullptr && data != nullptr)
    key.holder = gpus->holder_of(data).value_or(-1);
  std::shared_ptr<const State::RememberedCall> known = s.find_remembered(key);
  if (!known) {
    const Arguments device_arguments = s.bind(arrays);
    if (device_arguments.array(s.operation.output).count() == 0) return nullptr;
    auto prepared = std::make_shared<const PreparedCall>(s.operation, device_arguments, s.request);
    known =
        s.remember({key, std::make_shared<const Arguments>(device_arguments), prepared->plan(), prepared});
  }
  tessera::enqueue(*known->prepared, known->arguments->with_addresses(State::addresses_of(arrays)), stream,
                   workspace);
  return known->prepared;
}

}  // namespace tessera
