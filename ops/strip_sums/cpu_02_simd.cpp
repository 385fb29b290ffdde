// SPDX-License-Identifier: Apache-2.0
// CPU rung 2: eight vectors of strips at a time, every core.
//
// Thirty-two runs of a segment are added side by side, one to a lane: the order within a run stays, and with
// it the bits. Cores take segments. What limits it now is the formula itself.
#include "by_vectors.hpp"
#include "tessera/rung.hpp"

namespace tessera::strip_sums {
namespace {

const Rung rung{"eight vectors of strips at a time, 32 runs side by side, all cores",
                Where::cpu,
                {choice_of<Problem>(
                    [](const auto& p, const Tuning&, Run& run) { add_by_vectors(p, run.device->threads); })}};

}  // namespace
}  // namespace tessera::strip_sums
