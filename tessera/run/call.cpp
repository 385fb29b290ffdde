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

// CPUs need no alignment beyond that of elements.
bool runs_on_processors(const Request& request) {
  return request.device == "auto" || request.device.starts_with("cpu");
}

}  // namespace

PlannedCall::PlannedCall(const Operation& operation, std::shared_ptr<const Arguments> arguments,
                         Request request, bool in_place)
    : operation_(&operation),
      request_(std::move(request)),
      arguments_(std::move(arguments)),
      on_gpu_(in_place) {
  for (const Parameter& p : operation.signature.parameters) {
    if (!p.is_array()) continue;
    Reach& reach = reaches_[count_++];
    reach.is_output = p.kind == Parameter::Kind::output;
    if (!arguments_->has(p.name)) continue;
    const ArrayView& view = arguments_->array(p.name);
    reach.element_bytes = size_of(view.element);
    reach.is_given = view.count() != 0;
    if (!reach.is_given) continue;
    const auto [first, last] = view.span();
    const auto bytes = static_cast<std::int64_t>(reach.element_bytes);
    reach.first = first * bytes;
    reach.last = last * bytes;
    if (reach.is_output && overlaps_itself(view))
      throw Error(p.name + " has strides that make its elements overlap");
  }
  has_values_ = !operation.signature.of(Parameter::Kind::value).empty();
  if (in_place) {
    if (arguments_->array(operation.output).count() == 0) return;
    prepared_ = std::make_shared<const PreparedCall>(operation, *arguments_, request_);
    plan_ = prepared_->plan();
    is_at_once_ = true;
    return;
  }
  if (has_values_) return;  // run() chooses
  plan_ = choose(operation, *arguments_, request_);
  if (plan_.device.where != Where::cpu || plan_.variant->baseline) return;
  auto prepared = std::make_shared<const PreparedCall>(plan_, *arguments_);
  is_at_once_ = prepared->workspace_bytes() == 0;
  if (is_at_once_) prepared_ = std::move(prepared);
}

bool PlannedCall::run_at_once(std::span<void* const> addresses, void* stream) const {
  if (!is_at_once_) return false;
  for (std::size_t i = 0; i < count_; ++i) {
    const Reach& one = reaches_[i];
    if (!one.is_given) continue;
    const auto address = reinterpret_cast<std::uintptr_t>(addresses[i]);
    if (address == 0 || address % one.element_bytes != 0) return false;
    if (!one.is_output) continue;
    for (std::size_t j = 0; j < count_; ++j) {
      const Reach& other = reaches_[j];
      const auto beside = reinterpret_cast<std::uintptr_t>(addresses[j]);
      if (j != i && other.is_given && address + one.first < beside + other.last &&
          beside + other.first < address + one.last)
        return false;
    }
  }
  prepared_->enqueue(stream, addresses);
  return true;
}

Outcome PlannedCall::run(std::span<void* const> addresses, bool check) const {
  Outcome outcome;
  const auto start = std::chrono::steady_clock::now();
  if (!check && run_at_once(addresses)) {
    outcome.kernel_seconds = outcome.round_trip_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    outcome.plan = plan_.without_names();
    return outcome;
  }
  const Arguments host = arguments_->with_addresses(addresses);
  // A run that returns values, such as an integral, may move to another device while it runs.
  if (has_values_) return tessera::run(*operation_, host, request_, check);
  return run_by(plan_, *operation_, host, check);
}

void PlannedCall::enqueue(void* stream, std::span<void* const> addresses, const Workspace& workspace) const {
  if (prepared_) tessera::enqueue(*prepared_, arguments_->with_addresses(addresses), stream, workspace);
}

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
    std::shared_ptr<const PlannedCall> call;
  };

  const Operation& operation;
  Arguments::Words words;
  Request request;
  std::vector<const Parameter*> parameters;  // the array parameters, in their order
  bool remembers = true, on_processors = true;
  std::mutex mutex;
  std::vector<RememberedCall> known;
  std::size_t oldest = 0;

  State(const std::string& name, Arguments::Words given, Request request_)
      : operation(find(name)), words(std::move(given)), request(std::move(request_)) {
    for (const Parameter& p : operation.signature.parameters)
      if (p.is_array()) parameters.push_back(&p);
    remembers =
        !operation.signature.reads_contents(words) && operation.signature.of(Parameter::Kind::value).empty();
    on_processors = runs_on_processors(request);
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
      if (arrays[i].data == nullptr) continue;
      const bool any_alignment = holder == Key::host_run && on_processors;
      key.arrays[i].data =
          any_alignment ? reinterpret_cast<void*>(size_of(arrays[i].element)) : alignment_of(arrays[i].data);
    }
    return key;
  }

  std::shared_ptr<const PlannedCall> planned(std::span<const ArrayView> arrays, int holder) {
    RememberedCall made{key_of(arrays, holder), nullptr};
    {
      const std::scoped_lock lock(mutex);
      for (const RememberedCall& one : known)
        if (one.key == made.key) return one.call;
    }
    Request where = request;
    if (holder >= 0 && where.device == "auto") where.device = "cuda:" + std::to_string(holder);
    made.call = std::shared_ptr<const PlannedCall>(
        new PlannedCall(operation, std::make_shared<const Arguments>(bind(arrays)), std::move(where),
                        holder != Key::host_run));
    if (!remembers) return made.call;
    const std::scoped_lock lock(mutex);
    auto call = made.call;
    if (known.size() < remembered_plans) known.push_back(std::move(made));
    else known[std::exchange(oldest, (oldest + 1) % remembered_plans)] = std::move(made);
    return call;
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

std::shared_ptr<const PlannedCall> Call::plan(std::span<const ArrayView> arrays, bool on_gpu) const {
  // Looking for a holder begins to use the GPUs.
  StreamOrderedMemory* const gpus = on_gpu ? find_stream_ordered_memory(Where::cuda) : nullptr;
  for (const ArrayView& array : arrays)
    if (gpus != nullptr && array.data != nullptr)
      if (const auto holder = gpus->holder_of(array.data)) return state_->planned(arrays, *holder);
  return state_->planned(arrays, State::Key::host_run);
}

Outcome Call::run(std::span<const ArrayView> arrays, bool check) const {
  return state_->planned(arrays, State::Key::host_run)->run(State::addresses_of(arrays), check);
}

std::shared_ptr<const PreparedCall> Call::enqueue(void* stream, std::span<const ArrayView> arrays,
                                                  const Workspace& workspace) const {
  State& s = *state_;
  StreamOrderedMemory* const gpus = find_stream_ordered_memory(Where::cuda);
  int holder = -1;
  const auto output = std::ranges::find(s.parameters, s.operation.output, &Parameter::name);
  if (arrays.size() == s.parameters.size() && gpus != nullptr)
    if (const void* const data = arrays[static_cast<std::size_t>(output - s.parameters.begin())].data)
      holder = gpus->holder_of(data).value_or(-1);
  const std::shared_ptr<const PlannedCall> planned = s.planned(arrays, holder);
  planned->enqueue(stream, State::addresses_of(arrays), workspace);
  return planned->prepared();
}

}  // namespace tessera
