// SPDX-License-Identifier: Apache-2.0
// GPU rung 4: one plane after another, four bytes an instruction. The summit.
//
// All views of a row of the grid move up and down alike, so a thread sums their lines first, each sample and
// the one beside it in one product of four bytes, and weighs only the sums between two lines. It has 16 bytes
// of a row or two; loads of 16 bytes fetch lines, whatever their address, while those before are summed. What
// limits it now is how few threads its registers leave to wait for memory.
#include "ops/imaging/light_field_kernels.hpp"
#include "refocus.hpp"

namespace tessera::refocus {
namespace {

struct Config {
  int rows = 2;  // of the result, in a thread
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
      lightfield::refocus_block<config.rows, 1>(thread, shared, p, lightfield::most_views);
  }
};

const KernelRung<Problem, Config, Packed, Config{}, Config{1}> rung{
    "four bytes an instruction, lines summed along a row of the grid, fetched while those before are summed",
    "rows"};

}  // namespace
}  // namespace tessera::refocus
