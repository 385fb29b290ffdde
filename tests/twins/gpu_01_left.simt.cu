// SPDX-License-Identifier: Apache-2.0
#include "twins.hpp"

namespace tessera::twins {
namespace {

template <class T, Config config>
struct Kernel {
  struct Shared {};
  static Launch launch(const Problem<T>&, const Tuning&) { return {}; }
  static Reason refuses(const Problem<T>&, const Tuning&) { return "left"; }
  SIMT void operator()(Thread, Shared&, const Problem<T>&) const {}
};

const KernelRung<Problem, Config, Kernel, Config{}> rung{"one of two twins"};

}  // namespace
}  // namespace tessera::twins
