// SPDX-License-Identifier: Apache-2.0
// The public calls that `bench --call` measures: contiguous matrices, a device, and otherwise the defaults of
// Options.
#include "tessera/run/public_call.hpp"
#include "ops/matmul/gemm/accuracy.hpp"
#include "ops/matmul/gemm/gemm.hpp"
#include "tessera/matmul.hpp"
#include "ops/matmul/gemm/operands.hpp"

namespace tessera::matmul {
namespace {

Options options_of(const Device& device, const Arguments& device_arguments) {
  for (const char* vector : {"C0", "bias", "scale-a", "scale-b"})
    if (device_arguments.has(vector))
      throw Error(std::string("--call measures products of A and B, without ") + vector);
  if (device_arguments.real("beta") != 0 || !PostOp::of(device_arguments).is_identity())
    throw Error("--call measures products of A and B, without --beta and --activation");
  Options out;
  out.alpha = device_arguments.real("alpha");
  out.transpose_a = device_arguments.text("op-a") == "transpose";
  out.transpose_b = device_arguments.text("op-b") == "transpose";
  out.compute = compute_of(device_arguments);
  if (device_arguments.text("accumulate") == "fast") out.accumulate = Accumulate::fast;
  out.batch_invariant = is_batch_invariant(device_arguments);
  // Arrays in a GPU's memory determine the device.
  if (device.where == Where::cpu)
    out.request.device =
        device.threads == host_threads() ? "cpu" : "cpu:threads=" + std::to_string(device.threads);
  return out;
}

PublicCall product_call(const Device& device, const Arguments& device_arguments) {
  const Options options = options_of(device, device_arguments);
  const auto matrix = [&device_arguments](const char* name) -> detail::AnyMatrix {
    const ArrayView& view = device_arguments.array(name);
    return {view.data, view.element, view.extents[0], view.extents[1], 0, Order::rows};
  };
  const detail::AnyMatrix a = matrix("A"), b = matrix("B"), c = matrix("C");
  const detail::PreparedProduct product(a, b, c, options);
  PublicCall out;
  out.plan = product.plan();
  out.plain = [=, on_host = device.where == Where::cpu](void* stream, std::span<void* const> arrays) {
    const auto at = [arrays](detail::AnyMatrix x, std::size_t place) {
      x.data = arrays[place];
      return x;
    };
    if (on_host) (void)detail::multiply(at(a, in_a), at(b, in_b), at(c, out_c), options);
    else (void)detail::enqueue(stream, at(a, in_a), at(b, in_b), at(c, out_c), options, {});
  };
  out.prepared = [=](void* stream, std::span<void* const> arrays) {
    product.enqueue(stream, arrays[in_a], arrays[in_b], arrays[out_c], {});
  };
  return out;
}

[[maybe_unused]] const bool call_registered = (register_public_call("matmul", product_call), true);

}  // namespace
}  // namespace tessera::matmul
