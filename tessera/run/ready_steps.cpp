// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/ready_steps.hpp"
#include <algorithm>

namespace tessera {

ReadySteps::ReadySteps(const Operation& operation, const Arguments& host, const Division& division,
                       const dist::Part& part, const std::vector<Tile>& tiles, const dist::Layout& layout,
                       const Device& device, const Request& request, void* memory)
    : operation_(&operation), host_(&host), division_(&division), device_(device), request_(request) {
  steps_.reserve(part.steps.size());
  for (std::size_t s = 0; s < part.steps.size(); ++s) {
    const dist::Step& step = part.steps[s];
    ReadyStep one = ready(step, tiles[step.number], layout.step(s), memory);
    one.plan = &plan_for(one.arguments, step.begins, s);
    workspace_bytes_ = std::max(workspace_bytes_, tessera::workspace_bytes(*one.plan, one.arguments));
    steps_.push_back(std::move(one));
  }
}

ReadyStep ReadySteps::ready(const dist::Step& step, const Tile& tile, const dist::StepPlaces& places,
                            void* memory) const {
  ReadyStep out{division_->part(step.tile)};
  const ArrayView sums = out.arguments.array(operation_->output);
  const auto put = [&](const Slice& slice, const dist::Place& place) {
    out.arguments.set_array(slice.array, dist::view_at(place, slice, host_->array(slice.array), memory));
  };
  const auto reads = division_->reads(step.tile), writes = division_->writes(tile);
  for (std::size_t i = 0; i < writes.size(); ++i) put(writes[i], places.writes[i]);
  for (std::size_t i = 0; i < reads.size(); ++i) put(reads[i], places.reads[i]);
  for (const Parameter* p : host_->signature().of(Parameter::Kind::input)) {
    if (!out.arguments.has(p->name)) continue;
    if (std::ranges::any_of(reads, [&](const Slice& slice) { return slice.array == p->name; })) continue;
    if (out.arguments.array(p->name).data != sums.data)
      throw Error(Error::Kind::internal, "a step reads " + p->name + ", which its division does not tell");
    out.arguments.set_array(p->name, out.arguments.array(operation_->output));
    out.in_place = p->name;
  }
  return out;
}

const Plan& ReadySteps::plan_for(const Arguments& arguments, bool begins, std::size_t step) {
  Shape shape{begins ? 1 : 0};
  for (const Parameter& p : arguments.signature().parameters) {
    if (!p.is_array() || !arguments.has(p.name)) continue;
    const ArrayView& array = arguments.array(p.name);
    shape.insert(shape.end(), array.extents.begin(), array.extents.end());
    shape.insert(shape.end(), array.strides.begin(), array.strides.end());
    constexpr std::uintptr_t widest = 256;  // what an address may be asked to be a multiple of
    shape.push_back(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(array.data) % widest));
  }
  const auto known = plans_.find(shape);
  if (known != plans_.end()) return known->second;
  kinds_.push_back(step);
  return plans_.emplace(std::move(shape), choose_in_place(device_, *operation_, arguments, request_)).first->second;
}

}  // namespace tessera
