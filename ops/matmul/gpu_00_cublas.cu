// SPDX-License-Identifier: Apache-2.0
// The baseline: cuBLASLt. Its first guess is not always its best, so every algorithm that it
// proposes for a shape is tried once, and the fastest is kept: on the product as it lies, which the L2 may
// hold, or, as rotated=1, on copies that exceed it.
#include "ops/matmul/baselines/cublas_plan.cuh"
#include "tessera/cuda/device.hpp"
#include "tessera/rung.hpp"

namespace tessera::matmul {
namespace {

using lt::Known;
using lt::Plan;
using lt::Product;
using lt::Tries;

// Which products of few bits the library computes, only the library can tell.
Reason not_proposed(const Product& p, const Device& device) {
  static Known<Reason> known;
  const Run run{&device, nullptr, nullptr, lt::workspace_bytes};
  return known.of(lt::shape_of(p, run), [&]() -> Reason {
    const cuda::OnDevice on_device(device.index);
    try {
      (void)Plan(p, run, Tries::none);
    } catch (const Error& error) {
      return error.what();
    }
    return std::nullopt;
  });
}

Reason refuses(const Arguments& arguments, const Tuning&, const Device& device) {
  const Product given = lt::product_of(arguments);
  if (Reason reason = lt::refuses(given)) return reason;
  const bool classical = (given.a.element == Element::f64 || given.a.element == Element::f32) &&
                         !given.has_addresses() && given.activation == Activation::none;
  if (given.m() == 0 || given.n() == 0 || classical) return std::nullopt;
  return not_proposed(given.with_columns(), device);
}

template <Tries tries>
void run(const Arguments& arguments, const Tuning&, Run& run) {
  static Known<std::shared_ptr<const Plan>> known;
  const Product given = lt::product_of(arguments);
  if (given.m() == 0 || given.n() == 0) return;
  const cuda::OnDevice on_device(run.device->index);
  const Product p = given.with_columns();
  known.of(lt::shape_of(p, run), [&] { return std::make_shared<const Plan>(p, run, tries); })
      ->enqueue(p, run);
}

template <Tries tries>
Choice choice_by(Tuning tuning) {
  Choice choice;
  choice.tuning = std::move(tuning);
  for (const Element element :
       {Element::f32, Element::f64, Element::bf16, Element::f16, Element::e4m3, Element::e5m2, Element::i8})
    choice.run[element] = run<tries>;
  choice.cannot_hold = [](const Arguments& arguments) -> Reason {
    return arguments.element() == Element::f64 ? Problem<double>::cannot_hold(arguments) : std::nullopt;
  };
  choice.workspace_bytes = [](const Arguments&, const Tuning&) { return lt::workspace_bytes; };
  choice.refuses = refuses;
  return choice;
}

Variant cublas() {
  Variant out;
  out.idea = "cuBLASLt, the fastest of its heuristics for this shape";
  out.where = Where::cuda;
  out.baseline = true;
  out.needs = lt::needs_library;
  out.choices = {choice_by<Tries::in_place>({}), choice_by<Tries::rotated>({{"rotated", 1}})};
  return out;
}

const Rung rung(cublas());

}  // namespace
}  // namespace tessera::matmul
