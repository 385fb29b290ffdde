// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/enqueue.hpp"
#include <algorithm>
#include "tessera/core/streams.hpp"
#include "tessera/core/zeroed_front.hpp"
#include "tessera/run/overlap.hpp"

namespace tessera {
namespace {

// Where an address lies, as somebody would say it who expected it elsewhere; nothing: it is where it should
// be.
Reason elsewhere(const void* address, const Run& run) {
  InOrder* const gpus = find_in_order(Where::cuda);
  const auto holder = gpus == nullptr ? std::nullopt : gpus->holder_of(address);
  if (run.device->where != Where::cuda)
    return holder ? Reason("lies in the memory of cuda:" + std::to_string(*holder)) : std::nullopt;
  if (!holder) {
    // What a graph allocates itself need not be known before it runs.
    if (gpus != nullptr && gpus->is_noting(run)) return std::nullopt;
    return "lies in host memory";
  }
  if (*holder == run.device->index) return std::nullopt;
  return "lies in the memory of cuda:" + std::to_string(*holder);
}

void check_place(const std::string& what, const void* address, const Run& run) {
  if (const Reason reason = elsewhere(address, run))
    throw Error(what + " " + *reason + ", but the work is for " + run.device->label());
}

void check_arrays(const Arguments& there, const Run& run) {
  for (const Parameter& p : there.signature().parameters) {
    if (!p.is_array() || !there.has(p.name)) continue;
    const ArrayView& view = there.array(p.name);
    if (view.count() == 0) continue;
    if (view.data == nullptr) throw Error(p.name + " has no data");
    if (reinterpret_cast<std::uintptr_t>(view.data) % size_of(view.element) != 0)
      throw Error(p.name + " is not aligned to its elements");
    check_place(p.name, view.data, run);
  }
}

void check_plan(const Plan& plan, const Arguments& there) {
  if (!there.signature().of(Parameter::Kind::value).empty())
    throw Error("this operation gives numbers back, for which somebody must wait: it cannot be enqueued");
  if (plan.variant->baseline && plan.device.where == Where::cuda)
    throw Error(plan.variant->name + " is a baseline, which may wait for the device: it cannot be enqueued");
  if (const Reason reason = plan.variant->refuses(*plan.choice, there, plan.tuning, plan.device))
    throw Error(plan.variant->name + " cannot compute this here: " + *reason);
}

void check_stream(const Run& run) {
  InOrder* const order = find_in_order(run.device->where);
  if (order == nullptr) {
    if (run.stream != nullptr) throw Error(run.device->label() + " has no streams");
    return;
  }
  if (const Reason reason = order->refuses_stream(*run.device, run.stream)) throw Error(*reason);
}

void check_workspace(const Workspace& given, std::size_t wanted, std::span<const Arguments> there,
                     const Run& run) {
  if (given.bytes < wanted)
    throw Error("the workspace has " + std::to_string(given.bytes) + " bytes, " + std::to_string(wanted) +
                " are needed");
  if (reinterpret_cast<std::uintptr_t>(given.data) % 256 != 0)
    throw Error("the workspace is not aligned to 256 bytes");
  check_place("the workspace", given.data, run);
  const ArrayView whole{given.data, Element::u8, {static_cast<std::int64_t>(wanted)}, {1}};
  for (const Arguments& arguments : there)
    for (const Parameter& p : arguments.signature().parameters)
      if (p.is_array() && arguments.has(p.name) && overlap(arguments.array(p.name), whole))
        throw Error("the workspace overlaps " + p.name);
}

}  // namespace

Device device_holding(const void* address) {
  if (InOrder* const gpus = find_in_order(Where::cuda))
    if (const auto holder = gpus->holder_of(address))
      return find_backend(Where::cuda)->devices().at(static_cast<std::size_t>(*holder));
  return find_device("cpu");
}

Plan choose_in_place(const Operation& operation, const Arguments& there, const Request& request) {
  const Device device = request.device == "auto" ? device_holding(there.array(operation.output).data)
                                                 : find_device(request.device);
  return choose_in_place(device, operation, there, request);
}

std::size_t workspace_bytes(const Plan& plan, const Arguments& there) {
  return plan.choice->workspace_bytes ? plan.choice->workspace_bytes(there, plan.tuning) : 0;
}

void check_in_place(const Device& device, const Arguments& there, void* stream, const std::string& in_place) {
  const Run run{&device, stream};
  check_stream(run);
  check_arrays(there, run);
  refuse_overlaps(there, in_place);
}

Lent::Lent(const Device& device, void* stream, const Workspace& given, std::size_t bytes,
           std::span<const Arguments> there)
    : run_{&device, stream} {
  if (bytes == 0) return;
  if (given.data != nullptr || given.bytes != 0) {
    check_workspace(given, bytes, there, run_);
    run_.workspace = given.data;
  } else if (InOrder* const order = find_in_order(device.where)) {
    run_.workspace = order->borrow(run_, bytes);
    borrowed_ = true;
  } else {
    run_.workspace = backend_of(device).memory(device).allocate(bytes);
    borrowed_ = true;
  }
  run_.workspace_bytes = bytes;
}

Lent::~Lent() {
  if (!borrowed_) return;
  if (InOrder* const order = find_in_order(run_.device->where)) order->give_back(run_, run_.workspace);
  else backend_of(*run_.device).memory(*run_.device).release(run_.workspace);
}

void enqueue(const Plan& plan, const Arguments& there, void* stream, const Workspace& workspace,
             const std::string& in_place) {
  check_in_place(plan.device, there, stream, in_place);
  check_plan(plan, there);
  Lent lent(plan.device, stream, workspace, workspace_bytes(plan, there), {&there, 1});
  Run& run = lent.run();
  const std::size_t front =
      std::min(zeroed_front_of(*plan.variant).value_or(run.workspace_bytes), run.workspace_bytes);
  const bool clean = workspace.zeroed && run.workspace == workspace.data;
  if (front != 0 && !clean) backend_of(plan.device).fill(run, run.workspace, 0, front);
  plan.choice->run.at(there.element())(there, plan.tuning, run);
}

}  // namespace tessera
