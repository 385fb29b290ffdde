// SPDX-License-Identifier: Apache-2.0
#include "group.hpp"
#include <algorithm>
#include <cstring>
#include "group_entries.hpp"
#include "group_kernel.hpp"
#include "ops/matmul/call.hpp"

namespace tessera::matmul_batch {
namespace {

using matmul::the_product;

constexpr const char* inputs[] = {"A", "B", "C0", "scale-a", "scale-b", "bias"};

std::optional<GroupKernel>& the_kernel() {
  static std::optional<GroupKernel> kernel;
  return kernel;
}

// All inputs in one piece of memory, all outputs in another, there and back by one copy each.
class PlacedGroup {
 public:
  PlacedGroup(std::span<const Arguments> entries, const Device& device)
      : host_(entries),
        there_(entries.begin(), entries.end()),
        device_(device),
        backend_(backend_of(device)) {
    for (const char* name : inputs) lay_out(name, input_bytes_);
    lay_out("C", output_bytes_);
    inputs_ = memory(input_bytes_);
    outputs_ = memory(output_bytes_);
    for (Arguments& entry : there_) {
      for (const char* name : inputs) set_base(entry, name, inputs_);
      set_base(entry, "C", outputs_);
    }
  }

  double run(const GroupKernel& kernel) {
    const std::size_t workspace_bytes = kernel.workspace_bytes(there_);
    const Array workspace = memory(workspace_bytes);
    Run run{&device_, nullptr, workspace.view().data, workspace_bytes};
    run.stream = backend_.make_stream(device_);
    try {
      const double seconds = run_on(kernel, run);
      backend_.release_stream(device_, run.stream);
      return seconds;
    } catch (...) {
      backend_.release_stream(device_, run.stream);
      throw;
    }
  }

 private:
  double run_on(const GroupKernel& kernel, Run& run) {
    std::vector<char> staged(std::max(input_bytes_, output_bytes_));
    for (std::size_t e = 0; e < host_.size(); ++e)
      for (const char* name : inputs)
        if (host_[e].has(name)) {
          const Array packed = packed_copy(host_[e].array(name));
          if (packed.view().bytes() != 0)
            std::memcpy(staged.data() + offset(there_[e], name, inputs_), packed.view().data,
                        packed.view().bytes());
        }
    backend_.copy(run, inputs_.view().data, staged.data(), input_bytes_);
    const double seconds = backend_.seconds(run, [&] { kernel.run(there_, run); });
    backend_.copy(run, staged.data(), outputs_.view().data, output_bytes_);
    backend_.synchronize(run);
    for (std::size_t e = 0; e < host_.size(); ++e)
      unpack(staged.data() + offset(there_[e], "C", outputs_), host_[e].array("C"));
    return seconds;
  }

  // Row after row, from a multiple of 256 bytes on; the address is the offset, until memory is there.
  void lay_out(const char* name, std::size_t& bytes) {
    for (Arguments& entry : there_) {
      if (!entry.has(name)) continue;
      ArrayView view = entry.array(name);
      view.strides = row_major_strides(view.extents);
      view.data = reinterpret_cast<void*>(bytes);
      bytes += (view.bytes() + 255) / 256 * 256;
      entry.set_array(name, view);
    }
  }
  static void set_base(Arguments& entry, const char* name, const Array& base) {
    if (!entry.has(name)) return;
    const auto at = reinterpret_cast<std::uintptr_t>(entry.array(name).data);
    entry.set_array(name, static_cast<char*>(base.view().data) + at);
  }
  static std::size_t offset(const Arguments& entry, const char* name, const Array& base) {
    return static_cast<std::size_t>(static_cast<const char*>(entry.array(name).data) - base.as<char>());
  }
  Array memory(std::size_t bytes) const {
    return Array(Element::u8, {static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1))},
                 backend_.memory(device_));
  }

  std::span<const Arguments> host_;
  std::vector<Arguments> there_;
  Device device_;
  Backend& backend_;
  std::size_t input_bytes_ = 0, output_bytes_ = 0;
  Array inputs_, outputs_;
};

GroupOutcome run_one_by_one(std::span<const Arguments> entries, const Device& device,
                            const Options& options) {
  GroupOutcome out;
  Request request = options.request;
  request.device = device.label();
  for (const Arguments& entry : entries) {
    Arguments arguments = entry;
    const Outcome one = run(the_product(), arguments, request);
    out.how = one.plan.variant->name + ", one after another";
    out.seconds += one.kernel_seconds;
  }
  return out;
}

GroupOutcome run_group(std::span<const Arguments> entries, const Options& options) {
  if (entries.empty()) return {};
  const auto largest =
      std::ranges::max_element(entries, {}, [](const Arguments& a) { return the_product().flops(a); });
  const Device device = choose_device(the_product(), *largest, options.request);
  if (options.request.variant || options.request.tuning) return run_one_by_one(entries, device, options);
  if (device.where == Where::cpu) {
    GroupOutcome out{.how = "a core for each"};
    Run run{&device};
    out.seconds = backend_of(device).seconds(run, [&] { compute_on_processors(entries, device.threads); });
    return out;
  }
  const GroupKernel* const kernel = group_kernel();
  if (device.where != Where::cuda || kernel == nullptr || kernel->refuses(entries, device))
    return run_one_by_one(entries, device, options);
  return {.how = kernel->name + ", one launch", .seconds = PlacedGroup(entries, device).run(*kernel)};
}

void check(std::span<const Arguments> entries, GroupOutcome& out) {
  out.passed = true;
  for (std::size_t e = 0; e < entries.size() && *out.passed; ++e) {
    const Verdict verdict = verify(the_product(), entries[e]);
    out.passed = verdict.passed;
    if (!verdict.passed) out.wrong = "product " + std::to_string(e) + ": " + describe(verdict);
  }
}

}  // namespace

const GroupKernel* group_kernel() { return the_kernel() ? &*the_kernel() : nullptr; }
void register_group_kernel(GroupKernel kernel) { the_kernel() = std::move(kernel); }

GroupOutcome detail::multiply_group(std::span<const AnyProduct> products, const Options& options) {
  const Group group(products, options, false);
  GroupOutcome out = run_group(group.entries(), options);
  if (options.check) check(group.entries(), out);
  return out;
}

}  // namespace tessera::matmul_batch
