// SPDX-License-Identifier: Apache-2.0
// Products of few bits: their reference, and the rows of a large one to look at.
#include <algorithm>
#include <cmath>
#include "checking.hpp"
#include "elements.hpp"
#include "low_bound.hpp"
#include "low_operands.hpp"
#include "sums.hpp"
#include "tessera/core/parallel.hpp"
#include "tessera/core/random.hpp"

namespace tessera::matmul {

void low_reference(const Arguments& arguments, std::span<const std::int64_t> rows, Data data,
                   Expected& expected) {
  constexpr std::size_t at_a_time = 16;
  const auto p = LowProblem::of(arguments);
  const LowBound bound(p, arguments, data);
  with_factors(p, [&](const auto& a, const auto& b) {
    using A = std::remove_cvref_t<decltype(*a.data)>;
    using B = std::remove_cvref_t<decltype(*b.data)>;
    for (std::size_t done = 0; done < rows.size(); done += at_a_time) {
      const auto some = rows.subspan(done, std::min(at_a_time, rows.size() - done));
      const Sums<A, B> sums(a, b, some);
      for (std::size_t r = 0; r < some.size(); ++r)
        for (std::int64_t j = 0; j < p.n; ++j)
          bound.append(some[r], j, sums.sum(r, j), sums.magnitude(r, j), sums.whole(r, j), expected);
    }
  });
}

bool sampled_only(const Arguments& arguments) {
  if (!is_low(arguments)) return !is_plain(arguments);
  return arguments.text("activation") != "none" || arguments.array("C").element == Element::i8;
}

}  // namespace tessera::matmul
