// SPDX-License-Identifier: Apache-2.0
// Search strategies over a space of configurations. A search is told what was measured and proposes what to
// measure next. It neither measures nor waits.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>
#include "tessera/tune/space.hpp"

namespace tessera::tune {

class Search {
 public:
  virtual ~Search() = default;
  // Places in the space that were not proposed before, at most `most`; none: the walk is over.
  virtual std::vector<std::size_t> next(std::size_t most) = 0;
  // Of a place that was proposed; nothing: it failed, or its result was wrong.
  virtual void tell(std::size_t place, std::optional<double> seconds) = 0;
};

// In the order of the space, which is the one of the prediction where there is one.
std::unique_ptr<Search> exhaustive_search(std::size_t count);
// In an order that the seed decides: any budget is a fair sample of the space.
std::unique_ptr<Search> random_search(std::size_t count, std::uint64_t seed);
// From the first place to its best neighbour, and on, until none is better; then from a place that the seed
// decides. A neighbour differs in one parameter, by as little as the space allows. `configs` must stay.
std::unique_ptr<Search> local_search(const std::vector<Config>& configs, std::uint64_t seed);

// "exhaustive", "random" or "local"; throws Error for anything else.
std::unique_ptr<Search> search_named(const std::string& name, const std::vector<Config>& configs,
                                     std::uint64_t seed);

}  // namespace tessera::tune
