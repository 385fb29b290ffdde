// SPDX-License-Identifier: Apache-2.0
// GPU rung 1: one thread does everything.
//
// The host's loop, moved as it is. A GPU's thread waits for each result of its own some twenty cycles, and
// here nobody else has work meanwhile: all but one of its lanes stand still, and that one mostly waits.
#include "integrate.hpp"
#include "tessera/kernel.hpp"
#include "sum/partials.hpp"

namespace tessera::integration {
namespace {

struct Config {
  Tuning tuning() const { return {}; }
};

template <class T, Config config>
struct OneThread {
  static constexpr int threads = 1;
  using Shared = NoShared;

  static Launch launch(const Problem<T>&, const Tuning&) { return {}; }

  SIMT void operator()(Thread, Shared&, const Problem<T>& p) const { *p.result = add_everything(p); }
};

const KernelRung<Problem, Config, OneThread, Config{}> rung{"one thread adds all strips"};

}  // namespace
}  // namespace tessera::integration
