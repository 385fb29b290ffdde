// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/enqueue.hpp"
#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include "tessera/core/device/streams.hpp"
#include "tessera/run/overlap.hpp"
#include "tessera/run/public_call.hpp"

namespace tessera {
namespace {

// Returns where an address lies if it is not in the run's memory; nullopt: it is.
Reason elsewhere(const void* address, const Run& run) {
  StreamOrderedMemory* const gpus = find_stream_ordered_memory(Where::cuda);
  const auto holder = gpus == nullptr ? std::nullopt : gpus->holder_of(address);
  if (run.device->where != Where::cuda)
    return holder ? Reason("lies in the memory of cuda:" + std::to_string(*holder)) : std::nullopt;
  if (!holder) {
    // Memory that a CUDA graph allocates may be unknown until the graph runs.
    if (gpus != nullptr && gpus->is_capturing(run)) return std::nullopt;
    return "lies in host memory";
  }
  if (*holder == run.device->index) return std::nullopt;
  return "lies in the memory of cuda:" + std::to_string(*holder);
}

void check_place(const std::string& what, const void* address, const Run& run) {
  if (const Reason reason = elsewhere(address, run))
    throw Error(what + " " + *reason + ", but the work is for " + run.device->label());
}

void check_arrays(const Arguments& device_arguments, const Run& run) {
  check_data(device_arguments);
  for (const Parameter& p : device_arguments.signature().parameters) {
    if (!p.is_array() || !device_arguments.has(p.name)) continue;
    const ArrayView& view = device_arguments.array(p.name);
    if (view.count() == 0) continue;
    if (view.data == nullptr) throw Error(p.name + " has no data");
    check_place(p.name, view.data, run);
  }
}

void check_plan(const Plan& plan, const Arguments& device_arguments) {
  if (!device_arguments.signature().of(Parameter::Kind::value).empty())
    throw Error("this operation returns host values; it cannot be enqueued");
  if (plan.variant->baseline && plan.device.where == Where::cuda)
    throw Error(plan.variant->name + " is a baseline, which may wait for the device: it cannot be enqueued");
  if (const Reason reason = refuses_in_place(plan, device_arguments))
    throw Error(plan.variant->name + " cannot compute this here: " + *reason);
}

void check_stream(const Run& run) {
  StreamOrderedMemory* const order = find_stream_ordered_memory(run.device->where);
  if (order == nullptr) {
    if (run.stream != nullptr) throw Error(run.device->label() + " has no streams");
    return;
  }
  if (const Reason reason = order->refuses_stream(*run.device, run.stream)) throw Error(*reason);
}

void check_size(const Workspace& given, std::size_t wanted) {
  if (given.data == nullptr) throw Error("the workspace has no data");
  if (given.bytes < wanted)
    throw Error("the workspace has " + std::to_string(given.bytes) + " bytes, " + std::to_string(wanted) +
                " are needed");
  if (reinterpret_cast<std::uintptr_t>(given.data) % 256 != 0)
    throw Error("the workspace is not aligned to 256 bytes");
}

void check_workspace(const Workspace& given, std::size_t wanted, std::span<const Arguments> device_arguments,
                     const Run& run) {
  if (wanted == 0) return;
  check_size(given, wanted);
  check_place("the workspace", given.data, run);
  const ArrayView whole{given.data, Element::u8, {static_cast<std::int64_t>(wanted)}, {1}};
  for (const Arguments& arguments : device_arguments)
    for (const Parameter& p : arguments.signature().parameters)
      if (p.is_array() && arguments.has(p.name) && overlap(arguments.array(p.name), whole))
        throw Error("the workspace overlaps " + p.name);
}

}  // namespace

Device device_holding(const void* address) {
  if (StreamOrderedMemory* const gpus = find_stream_ordered_memory(Where::cuda))
    if (const auto holder = gpus->holder_of(address))
      return find_backend(Where::cuda)->devices().at(static_cast<std::size_t>(*holder));
  return find_device("cpu");
}

Plan choose_in_place(const Operation& operation, const Arguments& device_arguments, const Request& request) {
  const Device device = request.device == "auto"
                            ? device_holding(device_arguments.array(operation.output).data)
                            : find_device(request.device);
  return choose_in_place(device, operation, device_arguments, request);
}

void check_in_place(const Device& device, const Arguments& device_arguments, void* stream,
                    const std::string& in_place) {
  const Run run{&device, stream};
  check_stream(run);
  check_arrays(device_arguments, run);
  refuse_overlaps(device_arguments, in_place);
}

ScopedWorkspace::ScopedWorkspace(const Device& device, void* stream, const Workspace& given,
                                 std::size_t bytes, std::span<const Arguments> device_arguments)
    : run_{&device, stream} {
  if (bytes == 0) return;
  if (given.data != nullptr || given.bytes != 0) {
    check_workspace(given, bytes, device_arguments, run_);
    run_.workspace = given.data;
  } else if (StreamOrderedMemory* const order = find_stream_ordered_memory(device.where)) {
    run_.workspace = order->borrow(run_, bytes);
    borrowed_ = true;
  } else {
    run_.workspace = backend_of(device).memory(device).allocate(bytes);
    borrowed_ = true;
  }
  run_.workspace_bytes = bytes;
}

ScopedWorkspace::~ScopedWorkspace() {
  if (!borrowed_) return;
  if (StreamOrderedMemory* const order = find_stream_ordered_memory(run_.device->where))
    order->give_back(run_, run_.workspace);
  else backend_of(*run_.device).memory(*run_.device).release(run_.workspace);
}

std::size_t workspace_bytes(const Plan& plan, const Arguments& device_arguments) {
  return plan.prepared(device_arguments).workspace_bytes;
}

PreparedCall::PreparedCall(Plan plan, const Arguments& device_arguments) : plan_(std::move(plan)) {
  check_plan(plan_, device_arguments);
  planned_ = plan_.prepared(device_arguments);
  stream_memory_ = find_stream_ordered_memory(plan_.device.where);
}

PreparedCall::PreparedCall(const Operation& operation, const Arguments& device_arguments,
                           const Request& request)
    : PreparedCall(choose_in_place(operation, device_arguments, request), device_arguments) {}

void PreparedCall::enqueue(void* stream, std::span<void* const> arrays, const Workspace& workspace) const {
  Run run{&plan_.device, stream};
  const std::size_t bytes = run.workspace_bytes = planned_.workspace_bytes;
  if (bytes == 0) return planned_(arrays, run);
  const bool given = workspace.data != nullptr || workspace.bytes != 0;
  if (given) {
    check_size(workspace, bytes);
    run.workspace = workspace.data;
    if (planned_.zeroed_bytes != 0 && !workspace.zeroed)
      backend_of(plan_.device).fill(run, run.workspace, 0, planned_.zeroed_bytes);
    return planned_(arrays, run);
  }
  if (stream_memory_ != nullptr && planned_.planned_ahead)
    if (void* const kept = stream_memory_->keep(run, planned_.zeroed_bytes, bytes)) {
      run.workspace = kept;
      return planned_(arrays, run);
    }
  ScopedWorkspace workspace_scope(plan_.device, stream, workspace, bytes, {});
  if (planned_.zeroed_bytes != 0)
    backend_of(plan_.device)
        .fill(workspace_scope.run(), workspace_scope.run().workspace, 0, planned_.zeroed_bytes);
  planned_(arrays, workspace_scope.run());
}

void enqueue(const Plan& plan, const Arguments& device_arguments, void* stream, const Workspace& workspace,
             const std::string& in_place) {
  enqueue(PreparedCall(plan, device_arguments), device_arguments, stream, workspace, in_place);
}

void enqueue(const PreparedCall& call, const Arguments& device_arguments, void* stream,
             const Workspace& workspace, const std::string& in_place) {
  const Device& device = call.plan().device;
  check_in_place(device, device_arguments, stream, in_place);
  if (workspace.data != nullptr || workspace.bytes != 0)
    check_workspace(workspace, call.workspace_bytes(), {&device_arguments, 1}, Run{&device, stream});
  call.enqueue(stream, device_arguments.addresses(), workspace);
}

}  // namespace tessera
