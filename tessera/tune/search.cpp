// SPDX-License-Identifier: Apache-2.0
#include "tessera/tune/search.hpp"
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>
#include "tessera/core/suggest.hpp"

namespace tessera::tune {

std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed);  // of 0 … count - 1

// A random order: what a budget allows of it is a fair sample.
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

// Climbs from neighbour to neighbour, and starts anew where no neighbour is better.
namespace {

constexpr double never = std::numeric_limits<double>::infinity();  // of what failed

class Local : public Search {
 public:
  Local(const std::vector<Config>& configs, std::uint64_t seed)
      : configs_(&configs),
        starts_(shuffled(configs.size(), seed)),
        seconds_(configs.size()),
        proposed_(configs.size()) {
    // The first start is the first place: the default, or the most promising.
    if (const auto first = std::ranges::find(starts_, std::size_t{0}); first != starts_.end())
      std::rotate(starts_.begin(), first, first + 1);
  }

  std::vector<std::size_t> next(std::size_t most) override {
    for (;;) {
      if (!at_ && !start()) return {};
      std::vector<std::size_t> out = fresh_around(*at_, most);
      if (!proposed_[*at_]) out = {*at_};
      if (!out.empty()) {
        for (const std::size_t place : out) proposed_[place] = true;
        return out;
      }
      climb();
    }
  }

  void tell(std::size_t place, std::optional<double> seconds) override {
    seconds_[place] = seconds.value_or(never);
  }

 private:
  // To a place where no climb has been.
  bool start() {
    while (next_start_ < starts_.size() && proposed_[starts_[next_start_]]) ++next_start_;
    if (next_start_ == starts_.size()) return false;
    at_ = starts_[next_start_];
    return true;
  }

  // To the best neighbour; nowhere, where none is better.
  void climb() {
    std::optional<std::size_t> best;
    for (const std::size_t place : around(*at_))
      if (seconds_[place] < seconds_[best.value_or(*at_)]) best = place;
    at_ = best;
  }

  std::vector<std::size_t> fresh_around(std::size_t place, std::size_t most) const {
    auto out = around(place);
    std::erase_if(out, [this](std::size_t other) { return proposed_[other]; });
    if (out.size() > most) out.resize(most);
    return out;
  }

  // For each parameter, the nearest above and below that the space has with all others equal.
  std::vector<std::size_t> around(std::size_t place) const {
    std::vector<std::size_t> out;
    for (const auto& [name, value] : (*configs_)[place].tuning)
      for (const int direction : {-1, 1})
        if (const auto found = nearest_along(place, name, value, direction)) out.push_back(*found);
    return out;
  }

  std::optional<std::size_t> nearest_along(std::size_t place, const std::string& name, int value,
                                           int direction) const {
    std::optional<std::size_t> best;
    int step = std::numeric_limits<int>::max();
    for (std::size_t other = 0; other < configs_->size(); ++other) {
      const auto there = (*configs_)[other].tuning.find(name);
      if (!there || (direction > 0 ? *there <= value : *there >= value)) continue;
      const int apart = direction > 0 ? *there - value : value - *there;
      if (apart >= step || !differ_only_in(place, other, name)) continue;
      best = other;
      step = apart;
    }
    return best;
  }

  bool differ_only_in(std::size_t a, std::size_t b, const std::string& name) const {
    const Config &one = (*configs_)[a], &other = (*configs_)[b];
    if (one.variant != other.variant) return false;
    Tuning moved = one.tuning;
    moved.set(name, other.tuning[name]);
    return moved == other.tuning;
  }

  const std::vector<Config>* configs_;
  std::vector<std::size_t> starts_;
  std::size_t next_start_ = 0;
  std::vector<double> seconds_;
  std::vector<bool> proposed_;
  std::optional<std::size_t> at_;
};

}  // namespace

std::unique_ptr<Search> local_search(const std::vector<Config>& configs, std::uint64_t seed) {
  return std::make_unique<Local>(configs, seed);
}

// Everything, in order.
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
