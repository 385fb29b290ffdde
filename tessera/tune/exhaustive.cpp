// SPDX-License-Identifier: Apache-2.0
// Everything, in order.
#include <algorithm>
#include "tessera/core/suggest.hpp"
#include "tessera/tune/search.hpp"

namespace tessera::tune {
namespace {

class Exhaustive : public Search {
 public:
  explicit Exhaustive(std::size_t count) : count_(count) {}
  std::vector<std::size_t> next(std::size_t most) override {
    std::vector<std::size_t> out;
    for (; at_ < count_ && out.size() < most; ++at_) out.push_back(at_);
    return out;
  }
  void tell(std::size_t, std::optional<double>) override {}

 private:
  std::size_t count_, at_ = 0;
};

}  // namespace

std::unique_ptr<Search> exhaustive_search(std::size_t count) { return std::make_unique<Exhaustive>(count); }

std::unique_ptr<Search> search_named(const std::string& name, const std::vector<Config>& configs,
                                     std::uint64_t seed) {
  if (name == "exhaustive") return exhaustive_search(configs.size());
  if (name == "random") return random_search(configs.size(), seed);
  if (name == "local") return local_search(configs, seed);
  throw Error("no search is called '" + name + "'" + suggestion(name, {"exhaustive", "random", "local"}));
}

}  // namespace tessera::tune
