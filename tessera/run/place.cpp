// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/place.hpp"
#include <cstring>
#include "tessera/core/array/shared_array.hpp"

namespace tessera {
namespace {

// True if packing the elements of the view saves the device the gaps.
bool has_gaps(const ArrayView& view) {
  const auto [first, last] = view.span();
  return last - first > view.count();
}

char* first_byte(const ArrayView& view) {
  return static_cast<char*>(view.data) + view.span().first * static_cast<std::int64_t>(size_of(view.element));
}

const char* unpack_dimension(const char* from, const ArrayView& to, std::size_t dimension, char* at) {
  const std::size_t size = size_of(to.element);
  if (dimension == to.extents.size()) {
    std::memcpy(at, from, size);
    return from + size;
  }
  const std::int64_t stride = to.strides[dimension], extent = to.extents[dimension];
  if (dimension + 1 == to.extents.size() && stride == 1) {
    const std::size_t bytes = size * static_cast<std::size_t>(extent);
    std::memcpy(at, from, bytes);
    return from + bytes;
  }
  for (std::int64_t i = 0; i < extent; ++i)
    from = unpack_dimension(from, to, dimension + 1, at + i * stride * static_cast<std::int64_t>(size));
  return from;
}

bool is_output(const Parameter& p) { return p.kind == Parameter::Kind::output; }

}  // namespace

void unpack(const void* from, const ArrayView& to) {
  if (to.count() != 0) unpack_dimension(static_cast<const char*>(from), to, 0, static_cast<char*>(to.data));
}

Arguments placed_arguments(const Arguments& host, const Device& device) {
  Arguments out = host;
  if (backend_of(device).shares_host_memory()) return out;
  for (const Parameter& p : host.signature().parameters) {
    if (!p.is_array() || !host.has(p.name)) continue;
    ArrayView view = host.array(p.name);
    if (is_output(p) || has_gaps(view)) view.strides = row_major_strides(view.extents);
    // Not null, which means absent; aligned as device memory is.
    view.data = reinterpret_cast<void*>(std::uintptr_t{4096});
    out.set_array(p.name, view);
  }
  return out;
}

Arguments with_outputs(const Arguments& host, std::map<std::string, Array>& owned, bool shared) {
  Arguments out = host;
  for (const Parameter* p : host.signature().of(Parameter::Kind::output)) {
    const ArrayView& view = host.array(p->name);
    if (view.data != nullptr) continue;
    const Array& array = owned[p->name] =
        shared ? shared_array(view.element, view.extents) : Array(view.element, view.extents);
    out.set_array(p->name, array.view());
  }
  return out;
}

PlacedCall::PlacedCall(const Plan& plan, const Arguments& host, std::size_t guard_bytes)
    : plan_(plan),
      backend_(&backend_of(plan.device)),
      host_(host),
      device_arguments_(host),
      guard_bytes_(guard_bytes) {
  for (const Parameter* p : host.signature().of(Parameter::Kind::output))
    if (host.array(p->name).data == nullptr && host.array(p->name).count() != 0)
      throw Error(Error::Kind::internal, "the output " + p->name + " has no memory");
  planned_ = plan_.prepared(placed_arguments(host, plan_.device));
  const std::size_t workspace = planned_.workspace_bytes;
  check_size(workspace);
  if (!backend_->shares_host_memory())
    for (const Parameter& p : host.signature().parameters) {
      if (!p.is_array() || !host.has(p.name)) continue;
      if (is_output(p)) place_output(p.name);
      else place_input(p.name);
    }
  if (workspace != 0)
    workspace_ = Guarded(Element::u8, {static_cast<std::int64_t>(workspace)}, backend_->memory(plan_.device),
                         guard_bytes_);
  run_ = {&plan_.device, nullptr, workspace == 0 ? nullptr : workspace_.view().data, workspace};
  // Last, so that no exception of this constructor leaks the stream.
  run_.stream = backend_->make_stream(plan_.device);
}

PlacedCall::~PlacedCall() { backend_->release_stream(plan_.device, run_.stream); }

void PlacedCall::check_size(std::size_t workspace_bytes) const {
  std::size_t bytes = workspace_bytes;
  if (!backend_->shares_host_memory())
    for (const Parameter& p : host_.signature().parameters)
      if (p.is_array() && host_.has(p.name)) bytes += host_.array(p.name).bytes();
  const std::int64_t free = backend_->free_memory(plan_.device);
  if (static_cast<std::int64_t>(bytes) > free)
    throw Error(plan_.device.label() + " is too small: the arrays need " + std::to_string(bytes) +
                " bytes, " + std::to_string(free) + " are free");
}

// Places an input; arrays without gaps keep their layout, transposed or not.
void PlacedCall::place_input(const std::string& name) {
  const ArrayView& host = host_.array(name);
  Guarded& array = arrays_[name] =
      Guarded(host.element, host.extents, backend_->memory(plan_.device), guard_bytes_);
  ArrayView view = array.view();
  if (!has_gaps(host)) {
    view.strides = host.strides;
    view.data =
        static_cast<char*>(view.data) - host.span().first * static_cast<std::int64_t>(size_of(host.element));
  }
  device_arguments_.set_array(name, view);
}

void PlacedCall::place_output(const std::string& name) {
  const ArrayView& host = host_.array(name);
  Guarded& array = arrays_[name] =
      Guarded(host.element, host.extents, backend_->memory(plan_.device), guard_bytes_);
  device_arguments_.set_array(name, array.view());
}

void PlacedCall::upload() {
  for (auto& [name, array] : arrays_) array.arm(*backend_, run_);
  if (run_.workspace_bytes != 0) {
    workspace_.arm(*backend_, run_);
    backend_->fill(run_, run_.workspace, 0, run_.workspace_bytes);
  }
  for (const Parameter* p : host_.signature().of(Parameter::Kind::input)) {
    const auto array = arrays_.find(p->name);
    if (array == arrays_.end()) continue;
    const ArrayView& host = host_.array(p->name);
    if (has_gaps(host)) {
      const Array packed = packed_copy(host);
      backend_->copy(run_, array->second.view().data, packed.view().data, host.bytes());
    } else {
      const auto [first, last] = host.span();
      backend_->copy(run_, array->second.view().data, first_byte(host),
                     static_cast<std::size_t>(last - first) * size_of(host.element));
    }
  }
  backend_->synchronize(run_);
}

void PlacedCall::launch(const Arguments& device_arguments) { planned_(device_arguments.addresses(), run_); }

double PlacedCall::launch_and_measure(const Arguments& device_arguments) {
  run_.reported_seconds = -1;
  const double seconds = backend_->seconds(run_, [&] { launch(device_arguments); });
  return run_.reported_seconds >= 0 ? run_.reported_seconds : seconds;
}

void PlacedCall::fetch() {
  for (const Parameter* p : host_.signature().of(Parameter::Kind::output)) {
    const auto array = arrays_.find(p->name);
    if (array == arrays_.end()) continue;
    const ArrayView& host = host_.array(p->name);
    if (host.row_major()) {
      backend_->copy(run_, host.data, array->second.view().data, host.bytes());
    } else {
      Array packed(host.element, host.extents);
      backend_->copy(run_, packed.view().data, array->second.view().data, host.bytes());
      unpack(packed.view().data, host);
    }
  }
  backend_->synchronize(run_);
}

Reason PlacedCall::check_guards() {
  for (const auto& [name, array] : arrays_) {
    if (const Reason reason = array.check_guards(name, *backend_, run_)) return reason;
    if (is_output(host_.signature().at(name))) continue;
    if (const Reason reason = changed_input(name, array.view())) return reason;
  }
  return run_.workspace_bytes == 0 ? std::nullopt : workspace_.check_guards("the workspace", *backend_, run_);
}

Reason PlacedCall::changed_input(const std::string& name, const ArrayView& device_array) {
  const ArrayView& host = host_.array(name);
  const std::size_t bytes = host.bytes();
  if (bytes == 0) return std::nullopt;
  const Array packed = has_gaps(host) ? packed_copy(host) : Array(host, nullptr);
  const char* const meant = has_gaps(host) ? static_cast<const char*>(packed.view().data) : first_byte(host);
  Array back(Element::u8, {static_cast<std::int64_t>(bytes)});
  backend_->copy(run_, back.as<char>(), device_array.data, bytes);
  backend_->synchronize(run_);
  if (std::memcmp(back.as<char>(), meant, bytes) == 0) return std::nullopt;
  return "a write to the input " + name;
}

// Fills only the elements: the gaps between the rows of an output in host memory belong to the caller.
void PlacedCall::poison() {
  for (const Parameter* p : host_.signature().of(Parameter::Kind::output)) {
    const ArrayView& view = device_arguments_.array(p->name);
    if (view.row_major()) {
      backend_->fill(run_, view.data, 0xff, view.bytes());
    } else {
      const std::vector<unsigned char> poison(view.bytes(), 0xff);
      unpack(poison.data(), view);
    }
  }
  backend_->synchronize(run_);
}

}  // namespace tessera
