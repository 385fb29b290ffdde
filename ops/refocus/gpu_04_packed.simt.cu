// SPDX-License-Identifier: Apache-2.0
// GPU rung 4: one plane after another, four bytes per instruction. The fastest GPU rung.
//
// All views of a row of the grid have the same vertical shift, so a thread sums their lines first, a sample
// and its neighbour in one dot product of four bytes, and weights only the sums between two lines. It
// computes 16 bytes of a row or two; 16-byte loads fetch lines at any alignment, while earlier lines are
// summed. The bottleneck is occupancy: registers leave few threads to hide the latency of memory.
#include "ops/imaging/light_field_kernels.hpp"
#include "refocus.hpp"

namespace tessera::refocus {
namespace {

struct Config {
  int rows = 2;  // rows of the result per thread
  Tuning tuning() const { return {{"rows", rows}}; }
};

template <class T, Config config>
struct Packed {
  static constexpr int threads = lightfield::packed_threads;
  using Shared = lightfield::Shifts<1>;

  static Launch launch(const Problem<T>& p, const Tuning&) {
    return lightfield::launch_of_packed<config.rows, 1>(p);
  }

  static Reason refuses(const Problem<T>& p, const Tuning&) { return lightfield::refuses_packed(p); }

  SIMT void operator()(Thread thread, Shared& shared, const Problem<T>& p) const {
    if constexpr (std::is_same_v<T, std::uint8_t>)
      lightfield::refocus_block<config.rows, 1>(thread, shared, p, lightfield::max_views);
  }
};

const KernelRung<Problem, Config, Packed, Config{}, Config{1}> rung{
    "four bytes an instruction, lines summed along a row of the grid, fetched while those before are summed",
    "rows"};

}  // namespace
}  // namespace tessera::refocus
