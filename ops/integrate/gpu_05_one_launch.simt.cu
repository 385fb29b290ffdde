// SPDX-License-Identifier: Apache-2.0
// GPU rung 5: the block that finishes last adds the partial sums of all blocks.
//
// Each block increments a counter once its partial sums are written. The block that counts last finishes the
// sum on the device, in an order that depends only on the sums' positions: no second kernel, no round trip to
// the host. The last block differs from run to run; its result does not. A block has at most 512 threads:
// with 1024, each would have 64 registers, and the one kernel for all summation methods would spill in every
// strip. It is now limited by the interpreter's work per strip.
#include "integrate.hpp"
#include "tessera/kernel.hpp"
#include "sum/partials.hpp"

namespace tessera::integration {
namespace {

struct Config {
  Tuning tuning() const { return {}; }
};

template <class T, Config config>
struct OneLaunch {
  static constexpr int threads = 512;
  using Shared = ReductionScratch<T>;

  static std::vector<Range> ranges() {
    std::vector<Range> out = launch_ranges(264, 256);
    out.back().last = threads;
    return out;
  }
  static Launch launch(const Problem<T>&, const Tuning& t) { return launch_of(t); }
  static std::size_t workspace_bytes(const Problem<T>& p, const Tuning& t) {
    return partial_bytes<T>(p.sum, joined_count(p, t["block"], workers(t)));
  }

  SIMT static bool is_last(const Thread& thread, Shared& shared, const Problem<T>& p) {
    thread.fence();  // publishes this thread's writes before its block is counted
    thread.sync();
    if (thread.rank() == 0) {
      auto* const counter = static_cast<std::uint32_t*>(p.workspace);
      const auto blocks = static_cast<std::uint32_t>(thread.grid().x);
      shared.last = thread.atomic_add(counter, 1u) == blocks - 1;
      if (shared.last) (void)thread.atomic_exchange(counter, 0u);  // for the next launch
      thread.fence();
    }
    thread.sync();
    return shared.last != 0;
  }

  // Each thread joins an entire subtree of neighbouring partial sums; then the threads' sums are joined
  // pairwise.
  SIMT static void finish_pairs(const Thread& thread, Shared& shared, const Problem<T>& p,
                                std::int64_t count) {
    int width = 1;
    while (width * 2 <= thread.size().x) width *= 2;
    std::int64_t each = 1;
    while (each * width < count) each *= 2;
    const int me = thread.rank();
    if (me < width) {
      Tree<T> tree(p.sum);
      for (std::int64_t i = me * each; i < std::min((me + 1) * each, count); ++i) tree.add(pairs(p)[i]);
      shared.value[me] = tree.sum();
    }
    for (int apart = 1; apart < width; apart *= 2) {
      thread.sync();
      if (me < width && me % (2 * apart) == 0)
        shared.value[me] = join(p.sum, shared.value[me], shared.value[me + apart]);
    }
    if (me == 0) *p.result = p.finished(shared.value[0]);
  }

  // Adds the digits with one thread each, since integers may be added in any order.
  SIMT static void finish_exactly(const Thread& thread, Shared& shared, const Problem<T>& p,
                                  std::int64_t count) {
    for (int word = thread.rank(); word < Exact<T>::words; word += thread.size().x) {
      std::int64_t sum = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t stored = exact_words(p, i)[word];
        sum = word == Exact<T>::digits ? sum | stored : sum + stored;
      }
      shared.column[word] = sum;
    }
    thread.sync();
    if (thread.rank() != 0) return;
    Exact<T> sum;
    sum.add_stored(shared.column);
    sum.carry();
    *p.result = p.finished(sum);
  }

  SIMT void operator()(Thread thread, Shared& shared, const Problem<T>& p) const {
    leave_partials(thread, shared, p);
    if (!is_last(thread, shared, p)) return;
    const std::int64_t count = joined_count(p, thread.grid().x, workers(thread));
    if (p.sum == Sum::exact) finish_exactly(thread, shared, p, count);
    else finish_pairs(thread, shared, p, count);
  }
};

const KernelRung<Problem, Config, OneLaunch, Config{}> rung{
    "the block that finishes last adds what the others left: one launch, nothing for the host"};

}  // namespace
}  // namespace tessera::integration
