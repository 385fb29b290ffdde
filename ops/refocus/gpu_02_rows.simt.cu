// SPDX-License-Identifier: Apache-2.0
// GPU rung 2: a thread computes a run of 16 bytes of a row.
//
// A view has one shift for all of a row, so a thread computes it once, loads words from there, aligns them by
// funnel shifts, and weights a sample and its neighbour in one instruction. The bottleneck is that words are
// loaded one by one, and each line of a view twice, for the row above and the row below it.
#include "tessera/kernel.hpp"
#include "refocus.hpp"
#include "ops/imaging/light_field_kernels.hpp"

namespace tessera::refocus {
namespace {

struct Config {
  int threads = 128;
  Tuning tuning() const { return {{"threads", threads}}; }
};

const KernelRung<Problem, Config, lightfield::Rows, Config{}> rung{
    "16 bytes of a row in a thread, each view's shift asked once for them"};

}  // namespace
}  // namespace tessera::refocus
