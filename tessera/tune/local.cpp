// SPDX-License-Identifier: Apache-2.0
// Climbs from neighbour to neighbour, and starts anew where no neighbour is better.
#include <algorithm>
#include <limits>
#include "tessera/tune/search.hpp"
#include "tessera/tune/shuffled.hpp"

namespace tessera::tune {
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

}  // namespace tessera::tune
