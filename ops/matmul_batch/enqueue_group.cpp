// SPDX-License-Identifier: Apache-2.0
#include "enqueue_group.hpp"
#include <algorithm>
#include "group_entries.hpp"
#include "group_kernel.hpp"
#include "ops/matmul/call.hpp"

namespace tessera::matmul_batch {
namespace {

using matmul::the_product;

// Who computes a group where it lies.
struct GroupPlan {
  std::vector<Arguments> entries;  // those with elements
  Device device;
  const GroupKernel* kernel = nullptr;  // null: …
  std::vector<Plan> plans;              // … each by its own, but on the processors
};

GroupPlan plan_of(std::span<const detail::AnyProduct> products, const Options& options) {
  if (options.check) throw Error("what is enqueued cannot be checked: nobody waits for it");
  GroupPlan out;
  const Group group(products, options, true);
  for (const Arguments& entry : group.entries())
    if (entry.array("C").count() != 0) out.entries.push_back(entry);
  if (out.entries.empty()) return out;
  out.device = options.request.device == "auto" ? device_holding(out.entries.front().array("C").data)
                                                : find_device(options.request.device);
  const bool named = options.request.variant.has_value() || options.request.tuning.has_value();
  if (out.device.where == Where::cpu && !named) return out;
  const GroupKernel* const kernel = group_kernel();
  if (out.device.where == Where::cuda && !named && kernel != nullptr &&
      !kernel->refuses(out.entries, out.device))
    out.kernel = kernel;
  else
    for (const Arguments& entry : out.entries)
      out.plans.push_back(choose_in_place(out.device, the_product(), entry, options.request));
  return out;
}

std::size_t bytes_of(const GroupPlan& plan) {
  if (plan.kernel != nullptr) return plan.kernel->workspace_bytes(plan.entries);
  std::size_t bytes = 0;
  for (std::size_t e = 0; e < plan.plans.size(); ++e)
    bytes = std::max(bytes, workspace_bytes(plan.plans[e], plan.entries[e]));
  return bytes;
}

}  // namespace

namespace detail {

std::size_t group_workspace_bytes(std::span<const AnyProduct> products, const Options& options) {
  return bytes_of(plan_of(products, options));
}

std::string enqueue_group(void* stream, std::span<const AnyProduct> products, const Options& options,
                          const Workspace& workspace) {
  const GroupPlan plan = plan_of(products, options);
  if (plan.entries.empty()) return {};
  for (const Arguments& entry : plan.entries) check_in_place(plan.device, entry, stream, "C0");
  if (plan.kernel != nullptr) {
    Lent lent(plan.device, stream, workspace, bytes_of(plan), plan.entries);
    plan.kernel->run(plan.entries, lent.run());
    return plan.kernel->name + ", one launch";
  }
  if (plan.plans.empty()) {
    compute_on_processors(plan.entries, plan.device.threads);
    return "a core for each";
  }
  // What one leaves in a workspace is nothing that another may find there.
  const Workspace again{workspace.data, workspace.bytes, false};
  for (std::size_t e = 0; e < plan.plans.size(); ++e)
    tessera::enqueue(plan.plans[e], plan.entries[e], stream, again, "C0");
  return plan.plans.back().variant->name + ", one after another";
}

}  // namespace detail
}  // namespace tessera::matmul_batch
