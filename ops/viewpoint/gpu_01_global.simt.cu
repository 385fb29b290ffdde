// SPDX-License-Identifier: Apache-2.0
// GPU rung 1: a thread for each sample of the result, all reads from global memory.
//
// Neighbouring threads read neighbouring samples, but one at a time; each computes for itself the position in
// every view and the border test, as all its neighbours do.
#include "ops/imaging/light_field_kernels.hpp"
#include "tessera/kernel.hpp"
#include "viewpoint.hpp"

namespace tessera::viewpoint {
namespace {

struct Config {
  int threads = 128;
  Tuning tuning() const { return {{"threads", threads}}; }
};

const KernelRung<Problem, Config, lightfield::Global, Config{}, Config{256}> rung{
    "a thread for each sample, every view from global memory"};

}  // namespace
}  // namespace tessera::viewpoint
