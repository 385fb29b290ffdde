// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/distributed_sum.hpp"

namespace tessera {

VariantSum::VariantSum(const Operation& operation, const Contraction& contraction, const Arguments& part,
                       const Plan& plan, const Request& request)
    : operation_(operation),
      contraction_(contraction),
      part_(part),
      device_(plan.device),
      request_(request),
      backend_(backend_of(device_)),
      run_{&device_},
      plan_(plan) {
  request_.cached = false;
  const ArrayView& out = part.array(contraction.result);
  result_ = Array(out.element, out.extents, backend_.memory(device_));
  if (part.has(contraction.begins_as)) {
    const Array packed = packed_copy(part.array(contraction.begins_as));
    backend_.copy(run_, result_.as<void>(), packed.view().data, out.bytes());
    backend_.synchronize(run_);
  }
  // Last, so that no exception of this constructor can leave it behind.
  run_.stream = backend_.make_stream(device_);
}

VariantSum::~VariantSum() { backend_.release_stream(device_, run_.stream); }

void VariantSum::settle(const Arguments& panel) {
  plan_ = choose_on(device_, operation_, panel, request_);
  const std::size_t bytes =
      plan_.choice->workspace_bytes ? plan_.choice->workspace_bytes(panel, plan_.tuning) : 0;
  if (bytes > run_.workspace_bytes) {
    workspace_ = Array(Element::u8, {static_cast<std::int64_t>(bytes)}, backend_.memory(device_));
    run_.workspace = workspace_.as<void>();
    run_.workspace_bytes = bytes;
  }
  if (bytes != 0) backend_.fill(run_, run_.workspace, 0, run_.workspace_bytes);
}

void VariantSum::add(const ArrayView& left, const ArrayView& right) {
  const Arguments panel = contraction_.panel(part_, left, right, result_.view(), !begun_);
  if (const std::int64_t depth = left.extents[1]; depth != depth_) {
    settle(panel);
    depth_ = depth;
  }
  // Which also sets the device, and waits for it.
  (void)backend_.seconds(run_, [&] { plan_.choice->run.at(panel.element())(panel, plan_.tuning, run_); });
  backend_.synchronize(run_);
  begun_ = true;
}

void VariantSum::finish() {
  const ArrayView& out = part_.array(contraction_.result);
  backend_.copy(run_, out.data, result_.as<void>(), out.bytes());
  backend_.synchronize(run_);
}

}  // namespace tessera
