// SPDX-License-Identifier: Apache-2.0
// A random order: what a budget allows of it is a fair sample.
#include <random>
#include "tessera/tune/search.hpp"
#include "tessera/tune/shuffled.hpp"

namespace tessera::tune {
namespace {

class Random : public Search {
 public:
  Random(std::size_t count, std::uint64_t seed) : order_(shuffled(count, seed)) {}
  std::vector<std::size_t> next(std::size_t most) override {
    std::vector<std::size_t> out;
    for (; at_ < order_.size() && out.size() < most; ++at_) out.push_back(order_[at_]);
    return out;
  }
  void tell(std::size_t, std::optional<double>) override {}

 private:
  std::vector<std::size_t> order_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = i;
  // Not std::shuffle: its order is each library's own, and a seed must mean the same everywhere.
  std::mt19937_64 numbers(seed);
  for (std::size_t left = count; left > 1; --left) std::swap(out[left - 1], out[numbers() % left]);
  return out;
}

std::unique_ptr<Search> random_search(std::size_t count, std::uint64_t seed) {
  return std::make_unique<Random>(count, seed);
}

}  // namespace tessera::tune
