// SPDX-License-Identifier: Apache-2.0
// The baseline: cuBLASLt's strided batches, the fastest of all algorithms that it proposes.
#include "matmul_batch.hpp"
#include "ops/matmul/baselines/cublas.cuh"
#include "tessera/rung.hpp"

namespace tessera::matmul_batch {
namespace {

namespace lt = matmul::lt;

lt::Product product_of(const Arguments& arguments) {
  const MixedBatch steps = arguments.element() == Element::f64 ? MixedBatch{} : MixedBatch::of(arguments);
  lt::Product out = lt::product_of(entry_of(arguments, 0));
  out.batched = true;
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

using Cublas = lt::Baseline<product_of>;

const Rung rung(Cublas::variant("cuBLASLt, strided batches, the fastest of its heuristics for this shape",
                                {Cublas::choice<lt::Tries::in_place>({})}));

}  // namespace
}  // namespace tessera::matmul_batch
