// SPDX-License-Identifier: Apache-2.0
// GPU rung 3: several planes share loads.
//
// A thread computes the same 16 bytes of several planes. A few views of a row of the grid are summed for one
// plane after another, while L1 still holds their lines; blocks with other planes of the same place run at
// the same time and find the lines in L2. The bottleneck is that every plane shifts every line again, and the
// sums of many planes leave registers for few threads, so that rung 4, one plane at a time, is faster.
#include "ops/imaging/light_field_kernels.hpp"
#include "refocus.hpp"

namespace tessera::refocus {
namespace {

struct Config {
  int rows = 2;    // rows of the result per thread
  int planes = 2;  // planes per thread
  Tuning tuning() const { return {{"rows", rows}, {"planes", planes}}; }
};

constexpr int views_at_once = 6;  // some 30 KiB of lines per block

template <class T, Config config>
struct Planes {
  static constexpr int threads = lightfield::packed_threads;
  using Shared = lightfield::Shifts<config.planes>;

  static Launch launch(const Problem<T>& p, const Tuning&) {
    return lightfield::launch_of_packed<config.rows, config.planes>(p);
  }

  static Reason refuses(const Problem<T>& p, const Tuning&) { return lightfield::refuses_packed(p); }

  SIMT void operator()(Thread thread, Shared& shared, const Problem<T>& p) const {
    if constexpr (std::is_same_v<T, std::uint8_t>)
      lightfield::refocus_block<config.rows, config.planes>(thread, shared, p, views_at_once);
  }
};

const KernelRung<Problem, Config, Planes, Config{}, Config{1, 4}> rung{
    "several planes in a thread, over the same few views one after another"};

}  // namespace
}  // namespace tessera::refocus
