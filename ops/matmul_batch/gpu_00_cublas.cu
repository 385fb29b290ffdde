// SPDX-License-Identifier: Apache-2.0
// The baseline: cuBLASLt's strided batches, the fastest of all algorithms that it proposes.
#include "matmul_batch.hpp"
#include "ops/matmul/baselines/cublas_plan.cuh"
#include "tessera/cuda/device.hpp"
#include "tessera/rung.hpp"

namespace tessera::matmul_batch {
namespace {

namespace lt = matmul::lt;

lt::Product product_of(const Arguments& arguments) {
  const MixedBatch steps = arguments.element() == Element::f64 ? MixedBatch{} : MixedBatch::of(arguments);
  lt::Product out = lt::product_of(entry_of(arguments, 0));
  out.batch = arguments.dim("batch");
  const auto step = [&](const char* name) {
    if (!arguments.has(name) || arguments.signature().at(name).is_shared(arguments.words()))
      return std::int64_t{0};
    return arguments.array(name).strides[0];
  };
  out.a_step = step("A");
  out.b_step = step("B");
  out.c_step = step("C");
  out.c0_step = out.reads_c0 ? step("C0") : out.c_step;
  out.bias_step = steps.bias_step;
  return out;
}

bool is_empty(const lt::Product& p) { return p.batch == 0 || p.m() == 0 || p.n() == 0; }

// Which of them the library computes, only the library can tell.
Reason not_proposed(const lt::Product& p, const Device& device) {
  static lt::Known<Reason> known;
  const Run run{&device, nullptr, nullptr, lt::workspace_bytes};
  return known.of(lt::shape_of(p, run), [&]() -> Reason {
    const cuda::OnDevice on_device(device.index);
    try {
      (void)lt::Plan(p, run, lt::Tries::none);
    } catch (const Error& error) {
      return error.what();
    }
    return std::nullopt;
  });
}

Reason refuses(const Arguments& arguments, const Tuning&, const Device& device) {
  const lt::Product given = product_of(arguments);
  if (is_empty(given)) return std::nullopt;
  if (Reason reason = lt::refuses(given)) return reason;
  constexpr std::int64_t most = 2147483647;
  if (given.batch > most) return "cuBLASLt counts entries in 32 bits";
  if (given.scale_a != nullptr || given.scale_b != nullptr)
    return "cuBLASLt has no scales for each entry of a batch";
  return not_proposed(given.with_columns(), device);
}

void run(const Arguments& arguments, const Tuning&, Run& run) {
  static lt::Known<std::shared_ptr<const lt::Plan>> known;
  const lt::Product given = product_of(arguments);
  if (is_empty(given)) return;
  const cuda::OnDevice on_device(run.device->index);
  const lt::Product p = given.with_columns();
  known
      .of(lt::shape_of(p, run), [&] { return std::make_shared<const lt::Plan>(p, run, lt::Tries::in_place); })
      ->enqueue(p, run);
}

Variant cublas() {
  Variant out;
  out.idea = "cuBLASLt, strided batches, the fastest of its heuristics for this shape";
  out.where = Where::cuda;
  out.baseline = true;
  out.needs = lt::needs_library;
  Choice choice;
  for (const Element element :
       {Element::f32, Element::f64, Element::bf16, Element::f16, Element::e4m3, Element::e5m2, Element::i8})
    choice.run[element] = run;
  choice.cannot_hold = [](const Arguments& arguments) -> Reason {
    return arguments.element() == Element::f64 ? Problem<double>::cannot_hold(arguments) : std::nullopt;
  };
  choice.workspace_bytes = [](const Arguments&, const Tuning&) { return lt::workspace_bytes; };
  choice.refuses = refuses;
  out.choices.push_back(std::move(choice));
  return out;
}

const Rung rung(cublas());

}  // namespace
}  // namespace tessera::matmul_batch
