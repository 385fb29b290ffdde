// SPDX-License-Identifier: Apache-2.0
// GPU rung 2: a run of 16 bytes of a row in a thread.
//
// A view is shifted alike for all of a row: a thread asks once where it lies, loads words from there, brings
// them to a word's begin by funnel shifts, and weighs a sample and the one beside it by one instruction. What
// limits it now is that words are loaded one by one, and each line of a view twice, for the row above and the
// row below it.
#include "tessera/kernel.hpp"
#include "ops/imaging/light_field_kernels.hpp"
#include "viewpoint.hpp"

namespace tessera::viewpoint {
namespace {

struct Config {
  int threads = 128;
  Tuning tuning() const { return {{"threads", threads}}; }
};

const KernelRung<Problem, Config, lightfield::Rows, Config{}> rung{
    "16 bytes of a row in a thread, each view's shift asked once for them"};

}  // namespace
}  // namespace tessera::viewpoint
