// SPDX-License-Identifier: Apache-2.0
// GPU rung 1: one thread does everything.
//
// The host's loop, unchanged. A GPU thread waits some twenty cycles for each of its results, and no other
// thread hides that latency: all lanes but one are idle, and that one mostly waits.
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
