// SPDX-License-Identifier: Apache-2.0
// The functions of include/tessera/tessera.h.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <future>
#include <new>
#include <optional>
#include <nlohmann/json.hpp>
#include "bindings/c/handle.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/core/device/streams.hpp"
#include "tessera/core/text/suggest.hpp"
#include "tessera/load.hpp"
#include "tessera/run/typed_call.hpp"

namespace tessera::c {
namespace {

constexpr DLDataType types[] = {{kDLFloat, 64, 1},  {kDLFloat, 32, 1},        {kDLFloat, 16, 1},
                                {kDLBfloat, 16, 1}, {kDLInt, 32, 1},          {kDLInt, 8, 1},
                                {kDLUInt, 8, 1},    {kDLFloat8_e4m3fn, 8, 1}, {kDLFloat8_e5m2, 8, 1},
                                {kDLInt, 16, 1},    {kDLUInt, 16, 1}};

thread_local std::string last_error;

template <class F>
tessera_status guarded(const F& f) noexcept {
  try {
    try {
      f();
      return TESSERA_OK;
    } catch (const Stopped&) {
      last_error = "a callback has ended the run";
      return TESSERA_STOPPED;
    } catch (const Error& error) {
      last_error = without_flags(error.what());
      return static_cast<tessera_status>(static_cast<int>(error.kind()) + 1);
    } catch (const std::bad_alloc&) {
      last_error = "no memory is left";
    } catch (const std::exception& error) {
      last_error = error.what();
    } catch (...) {
      last_error = "an unknown exception";
    }
  } catch (...) {  // no memory for the message
  }
  return TESSERA_INTERNAL;
}

// Returns the text that `make` writes to `to`; null: it failed.
template <class F>
const char* text_of(std::string& to, const F& make) noexcept {
  return guarded([&] { to = make(); }) == TESSERA_OK ? to.c_str() : nullptr;
}

template <class F>
tessera_status guarded(const tessera_call* call, const F& f) noexcept {
  return guarded([&] {
    if (call == nullptr) throw Error("the call is NULL");
    f();
  });
}

template <class Handle, class F>
const char* text_of(Handle* call, const F& make) noexcept {
  return guarded(call, [&] { call->json = make(); }) == TESSERA_OK ? call->json.c_str() : nullptr;
}

std::string text(const char* given) {
  if (given == nullptr) throw Error("a name is NULL");
  return given;
}

bool yes(const char* name, const std::string& value) {
  if (value != "yes" && value != "no") throw Error(std::string(name) + " is yes or no, not '" + value + "'");
  return value == "yes";
}

}  // namespace

DLDataType type_of(Element element) { return types[static_cast<int>(element)]; }

bool is_on_gpu(const DLDevice& device) {
  return device.device_type == kDLCUDA || device.device_type == kDLCUDAManaged;
}

ArrayView view_of(const char* name, const DLTensor& tensor) {
  ArrayView out;
  if (tensor.ndim < 0 || tensor.ndim > 64 || (tensor.ndim != 0 && tensor.shape == nullptr))
    throw Error(std::string(name) + " has no shape of 0 to 64 dimensions");
  const auto same = [&](const DLDataType& t) { return std::memcmp(&t, &tensor.dtype, sizeof t) == 0; };
  const auto* const found = std::ranges::find_if(types, same);
  if (found == std::end(types))
    throw Error(std::string(name) + " has an element type that no operation takes");
  out.element = static_cast<Element>(found - std::begin(types));
  const int where = tensor.device.device_type;
  const bool on_gpu = is_on_gpu(tensor.device);
  if (!on_gpu && where != kDLCPU && where != kDLCUDAHost)
    throw Error(std::string(name) + " lies on a device of an unknown kind, number " + std::to_string(where));
  if (on_gpu && find_stream_ordered_memory(Where::cuda) == nullptr)
    throw Error(Error::Kind::no_device, std::string(name) + " lies on a GPU, and this build has no CUDA");
  out.extents = Extents(tensor.shape, tensor.shape + tensor.ndim);
  out.strides = tensor.strides == nullptr ? row_major_strides(out.extents)
                                          : Extents(tensor.strides, tensor.strides + tensor.ndim);
  if (tensor.data != nullptr) out.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  return out;
}

}  // namespace tessera::c

using namespace tessera;
using namespace tessera::c;

struct tessera_call {
  const Operation* operation = nullptr;
  Arguments::Words words;
  Request request;
  bool check = false;
  std::string arithmetic;
  std::vector<ArrayView> arrays;  // in the order of the signature
  std::vector<bool> on_gpu;       // true for each array in a GPU's memory
  std::vector<const Parameter*> parameters;
  Callable callable;
  tessera_progress progress = nullptr;
  void* progress_context = nullptr;

  std::optional<Call> call;
  std::shared_ptr<const PlannedCall> planned;
  std::optional<Outcome> outcome;
  std::string json, device;  // returned strings
  DLTensor tensor{};
  std::future<Outcome> left;  // a run that a callback has left

  explicit tessera_call(const std::string& name) : operation(find_operation(name)) {
    if (operation == nullptr) (void)Call(name);  // throws with a suggestion
    for (const Parameter& p : operation->signature.parameters)
      if (p.is_array()) parameters.push_back(&p);
    arrays.resize(parameters.size());
    on_gpu.resize(parameters.size());
  }

  void change() {
    if (left.valid()) throw Error("a run that was left is not over; only tessera_call_destroy may follow");
    planned.reset();
    outcome.reset();
  }
  void change_words() {
    change();
    call.reset();
  }
  std::size_t index_of(const char* given) const {
    const std::string name = text(given);
    const auto found = std::ranges::find(parameters, name, &Parameter::name);
    if (found != parameters.end()) return static_cast<std::size_t>(found - parameters.begin());
    std::vector<std::string> names;
    for (const Parameter* p : parameters) names.push_back(p->name);
    throw Error("no array is called '" + name + "'" + suggestion(name, names));
  }
  void plan() {
    if (left.valid()) change();  // throws
    if (planned || callable.function != nullptr) return;
    if (!call) call.emplace(operation->name, words, request);
    planned = call->plan(arrays, std::ranges::find(on_gpu, true) != on_gpu.end());
    if (planned->on_gpu() && check)
      throw Error("a result in a GPU's memory is not checked: check is for host memory");
  }
  Addresses addresses() const {
    Addresses out{};
    for (std::size_t i = 0; i < arrays.size(); ++i) out[i] = arrays[i].data;
    return out;
  }
  void run(void* stream) {
    outcome.reset();
    plan();
    if (callable.function != nullptr) {
      if (check || request != Request{})
        throw Error(
            "device, variant, tuning and check are for formulas: a callable runs in the calling thread");
      outcome = integrate_callable(*operation, words, callable);
    } else if (planned->on_gpu()) {
      planned->enqueue(stream, addresses());
      outcome.emplace();
      outcome->plan = planned->plan();
    } else if (progress == nullptr) {
      outcome = planned->run(addresses(), check);
    } else {
      run_watched();
    }
  }
  void run_watched() {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    left = std::async(std::launch::async, [one = planned, where = addresses(), checked = check] {
      return one->run(where, checked);
    });
    while (left.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready)
      if (progress(progress_context, std::chrono::duration<double>(Clock::now() - start).count()) != 0)
        throw Stopped{};
    outcome = left.get();
  }
};

uint32_t tessera_interface_version() { return TESSERA_C_MAJOR << 16 | TESSERA_C_MINOR; }

const char* tessera_version() { return TESSERA_VERSION; }

const char* tessera_last_error() { return last_error.c_str(); }

const char* tessera_operations() {
  static std::string text;
  static std::size_t described = 0;
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  if (described == operations().size()) return text.c_str();
  return text_of(text, [] {
    described = operations().size();
    return operations_as_json();
  });
}

const char* tessera_devices() {
  thread_local std::string text;
  return text_of(text, devices_as_json);
}

tessera_status tessera_load(const char* file) {
  return guarded([&] { load({text(file)}); });
}

tessera_status tessera_synchronize(DLDevice device, void* stream) {
  return guarded([&] {
    const Device where = find_device(is_on_gpu(device) ? "cuda:" + std::to_string(device.device_id) : "cpu");
    backend_of(where).synchronize(Run{&where, stream});
  });
}

tessera_call* tessera_call_create(const char* operation) {
  tessera_call* out = nullptr;
  guarded([&] { out = new tessera_call(text(operation)); });
  return out;
}

void tessera_call_destroy(tessera_call* call) { delete call; }

tessera_status tessera_call_set_array(tessera_call* call, const char* name, const DLTensor* tensor) {
  return guarded(call, [&] {
    const std::size_t index = call->index_of(name);
    call->change();
    call->arrays[index] = tensor == nullptr ? ArrayView{} : view_of(name, *tensor);
    call->on_gpu[index] = tensor != nullptr && is_on_gpu(tensor->device);
  });
}

tessera_status tessera_call_set_option(tessera_call* call, const char* name, const char* value) {
  return guarded(call, [&] {
    call->change_words();
    if (value == nullptr) call->words.erase(text(name));
    else call->words[text(name)] = value;
  });
}

tessera_status tessera_call_set_request(tessera_call* call, const char* name, const char* value) {
  return guarded(call, [&] {
    call->change_words();
    const std::string which = text(name);
    const Request usual;
    const bool is_given = value != nullptr;
    if (which == "device") call->request.device = is_given ? value : usual.device;
    else if (which == "variant") call->request.variant = is_given ? std::optional(value) : usual.variant;
    else if (which == "tuning")
      call->request.tuning = is_given ? std::optional(parse_tuning(value)) : usual.tuning;
    else if (which == "cached") call->request.cached = is_given ? yes(name, value) : usual.cached;
    else if (which == "arithmetic") call->arithmetic = is_given ? value : "";
    else if (which == "check") call->check = is_given && yes(name, value);
    else throw Error("no request is called '" + which + "'");
  });
}

tessera_status tessera_call_set_callable(tessera_call* call, tessera_callable callable, void* context) {
  return guarded(call, [&] {
    call->change();
    call->callable = {callable, context};
  });
}

tessera_status tessera_call_set_progress(tessera_call* call, tessera_progress progress, void* context) {
  return guarded(call, [&] {
    call->change();
    call->progress = progress;
    call->progress_context = context;
  });
}

tessera_status tessera_call_plan(tessera_call* call) {
  return guarded(call, [&] { call->plan(); });
}

const DLTensor* tessera_call_array(tessera_call* call, const char* name) {
  const auto status = guarded(call, [&] {
    const std::size_t index = call->index_of(name);
    const ArrayView* view = &call->arrays[index];
    if (call->outcome && call->outcome->outputs.contains(name))
      view = &call->outcome->outputs.at(name).view();
    else if (view->data == nullptr && call->planned && call->planned->arguments().has(name))
      view = &call->planned->arguments().array(name);
    else if (view->data == nullptr) throw Error(std::string(name) + " is absent, or the call is not planned");
    DLDevice where{kDLCPU, 0};
    if (call->planned && call->planned->on_gpu()) where = {kDLCUDA, call->planned->plan().device.index};
    call->tensor = {view->data,
                    where,
                    static_cast<std::int32_t>(view->extents.size()),
                    type_of(view->element),
                    const_cast<std::int64_t*>(view->extents.begin()),
                    const_cast<std::int64_t*>(view->strides.begin()),
                    0};
  });
  return status == TESSERA_OK ? &call->tensor : nullptr;
}

tessera_status tessera_call_run(tessera_call* call, void* stream, tessera_outcome* outcome) {
  return guarded(call, [&] {
    call->run(stream);
    if (outcome == nullptr) return;
    const Outcome& from = *call->outcome;
    call->device = from.plan.device.label();
    const std::size_t known = std::min(outcome->struct_size, sizeof *outcome);
    tessera_outcome out{known, "", call->device.c_str(), from.kernel_seconds, from.round_trip_seconds, -1, 0};
    if (from.plan.variant != nullptr) out.variant = from.plan.variant->name.c_str();
    if (from.verdict) out.checked = from.verdict->passed ? 1 : 0;
    std::memcpy(outcome, &out, known);
  });
}

tessera_status tessera_call_run_again(tessera_call* call, void* stream, void* const* addresses,
                                      size_t count) {
  return guarded(call, [&] {
    if (!call->planned) throw Error("the call is not planned");
    if (addresses == nullptr || count != call->arrays.size())
      throw Error(call->operation->name + " needs the addresses of " + std::to_string(call->arrays.size()) +
                  " arrays, not of " + std::to_string(addresses == nullptr ? 0 : count));
    const std::span<void* const> where(addresses, count);
    if (call->planned->run_at_once(where, stream)) return;
    if (call->planned->on_gpu()) return call->planned->enqueue(stream, where);
    for (std::size_t i = 0; i < count; ++i)
      if (where[i] == nullptr && call->parameters[i]->kind == Parameter::Kind::output &&
          call->planned->arguments().array(call->parameters[i]->name).count() != 0)
        throw Error(call->parameters[i]->name + " has no memory");
    (void)call->planned->run(where);
  });
}

const char* tessera_call_outcome(tessera_call* call) {
  return text_of(call, [&] {
    if (!call->outcome) throw Error("the call has not run");
    return outcome_as_json(*call->operation, call->planned ? &call->planned->arguments() : nullptr,
                           *call->outcome);
  });
}

const char* tessera_call_explain(tessera_call* call) {
  return text_of(call, [&] {
    call->plan();
    if (!call->planned) throw Error("a callable has no rungs");
    return choice_as_json(*call->operation, *call->planned);
  });
}

const char* tessera_check(tessera_call* call) {
  return text_of(call->json, [&] {
    if (!call->operation->examine) throw Error(call->operation->name + " has no results to examine");
    call->plan();
    const Arguments given = call->planned->arguments().with_addresses(call->addresses());
    if (given.array(call->operation->output).data == nullptr)
      throw Error(call->operation->output + " is absent: there is nothing to check");
    const Device* const gpu = call->planned->on_gpu() ? &call->planned->plan().device : nullptr;
    return bench::to_json(call->operation->examine(given, call->arithmetic, gpu)).dump();
  });
}
