// SPDX-License-Identifier: Apache-2.0
// GPU rung 1: a thread for each sample of the result, everything from global memory.
//
// Neighbouring threads read neighbouring samples, but one at a time; each looks up for itself where every
// view lies and whether that is inside, which all its neighbours find out as well.
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
