// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/ready_steps.hpp"
#include <algorithm>

namespace tessera {

ReadyStep ready_step(const Operation& operation, const Arguments& host, const Division& division,
                     const Tile& step, const Tile& tile,
                     const std::function<ArrayView(const Slice&, bool writes, std::size_t)>& view) {
  ReadyStep out{division.part(step)};
  const ArrayView sums = out.arguments.array(operation.output);
  const auto reads = division.reads(step), writes = division.writes(tile);
  for (std::size_t i = 0; i < writes.size(); ++i)
    out.arguments.set_array(writes[i].array, view(writes[i], true, i));
  for (std::size_t i = 0; i < reads.size(); ++i)
    out.arguments.set_array(reads[i].array, view(reads[i], false, i));
  for (const Parameter* p : host.signature().of(Parameter::Kind::input)) {
    if (!out.arguments.has(p->name)) continue;
    if (std::ranges::any_of(reads, [&](const Slice& slice) { return slice.array == p->name; })) continue;
    if (out.arguments.array(p->name).data != sums.data)
      throw Error(Error::Kind::internal, "a step reads " + p->name + ", which its division does not tell");
    out.arguments.set_array(p->name, out.arguments.array(operation.output));
    out.in_place = p->name;
  }
  return out;
}

ReadySteps::ReadySteps(const Operation& operation, const Arguments& host, const Division& division,
                       const dist::Part& part, const std::vector<Tile>& tiles, const dist::Layout& layout,
                       const Device& device, const Request& request, void* memory)
    : operation_(&operation), device_(device), request_(request) {
  steps_.reserve(part.steps.size());
  for (std::size_t s = 0; s < part.steps.size(); ++s) {
    const dist::Step& step = part.steps[s];
    const dist::StepPlaces& places = layout.step(s);
    ReadyStep one = ready_step(operation, host, division, step.tile, tiles[step.number],
                               [&](const Slice& slice, bool writes, std::size_t i) {
                                 return dist::view_at((writes ? places.writes : places.reads)[i], slice,
                                                      host.array(slice.array), memory);
                               });
    one.plan = &plan_for(one.arguments, step.begins, s);
    workspace_bytes_ = std::max(workspace_bytes_, tessera::workspace_bytes(*one.plan, one.arguments));
    steps_.push_back(std::move(one));
  }
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
  return plans_.emplace(std::move(shape), choose_in_place(device_, *operation_, arguments, request_))
      .first->second;
}

}  // namespace tessera
