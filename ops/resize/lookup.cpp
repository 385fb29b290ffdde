// SPDX-License-Identifier: Apache-2.0
#include "lookup.hpp"
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace tessera::resize {
namespace {

constexpr std::uint8_t nothing = 0x80;  // the place of a 0

// What is left to take for one sample of the result.
struct Wanted {
  std::int64_t byte = 0;  // of its next tap
  int left = 0;
  const std::int32_t* weight = nullptr;
};

std::int32_t side_by_side(std::int32_t low, std::int32_t high) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(high) << 16 |
                                   (static_cast<std::uint32_t>(low) & 0xFFFFu));
}
std::int32_t low_digit(std::int32_t weight) { return weight & ((1 << digit_bits) - 1); }
bool fits(std::int32_t weight) { return weight == static_cast<std::int16_t>(weight); }

struct Step {
  std::int32_t offset = 0;
  std::array<std::uint8_t, step_bytes> place;
  std::array<std::int32_t, 2 * block_samples> weight{};  // a sample's first, and its second
};

class Maker {
 public:
  Maker(const Problem<std::uint8_t>& p, int first, int last)
      : p_(p), first_(first), kind_(weights_of(p.plan)), samples_(std::int64_t{last - first} * p.channels()) {
    const std::int64_t bytes = std::int64_t{p.from_cols()} * p.channels();
    last_offset_ = std::max<std::int64_t>(bytes, step_bytes) - step_bytes;
    for (std::int64_t sample = 0; sample < samples_; sample += block_samples) {
      begin_.push_back(steps_.size());
      add_block(sample);
    }
    begin_.push_back(steps_.size());
  }

  Lookup laid_out(const LookupShape& shape) const {
    const auto width = static_cast<std::size_t>(shape.paired_blocks),
               each = static_cast<std::size_t>(shape.vector_blocks), blocks = begin_.size() - 1,
               rounded = (blocks + 2 * width - 1) / (2 * width) * 2 * width;
    Lookup out;
    for (std::size_t b = 0; b < blocks; ++b)
      out.steps = std::max(out.steps, static_cast<int>(begin_[b + 1] - begin_[b]));
    out.vectors = rounded / each;
    for (std::size_t first = 0; first < rounded; first += each)
      for (int step = 0; step < out.steps; ++step)
        for (std::size_t i = 0; i < each; ++i) {
          const std::size_t at = first + i, pair = at / width / 2,
                            block = 2 * (pair * width + at % width) + at / width % 2;
          put(out, block < blocks ? step_of(block, step) : Step{0, none(), {}}, i, each);
        }
    return out;
  }

 private:
  static std::array<std::uint8_t, step_bytes> none() {
    std::array<std::uint8_t, step_bytes> out;
    out.fill(nothing);
    return out;
  }

  void add_block(std::int64_t sample) {
    std::array<Wanted, block_samples> wanted;
    for (int i = 0; i < block_samples && sample + i < samples_; ++i) {
      const int x = first_ + static_cast<int>((sample + i) / p_.channels());
      const auto channel = (sample + i) % p_.channels();
      wanted[static_cast<std::size_t>(i)] = {
          std::int64_t{p_.start(p_.plan.along, x)} * p_.channels() + channel, p_.count(p_.plan.along, x),
          p_.plan.recipe == Recipe::mean ? nullptr : p_.weights(p_.plan.along, x)};
    }
    const auto left = [](const Wanted& w) { return w.left > 0; };
    while (std::ranges::any_of(wanted, left)) add_step(wanted);
  }

  // From the foremost byte that is wanted on.
  void add_step(std::array<Wanted, block_samples>& wanted) {
    std::int64_t offset = last_offset_;
    for (const Wanted& w : wanted)
      if (w.left > 0) offset = std::min(offset, w.byte);
    Step step{static_cast<std::int32_t>(offset), none(), {}};
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      Wanted& w = wanted[i];
      for (std::size_t tap = 0; tap < 2 && w.left > 0 && w.byte < offset + step_bytes; ++tap) {
        step.place[4 * i + (kind_ == Weights::floats ? 1 : 2) * tap] =
            static_cast<std::uint8_t>(w.byte - offset);
        step.weight[2 * i + tap] = w.weight == nullptr ? 1 : *w.weight++;
        w.byte += p_.channels();
        --w.left;
      }
    }
    steps_.push_back(step);
  }

  Step step_of(std::size_t block, int step) const {
    const std::size_t at = begin_[block] + static_cast<std::size_t>(step);
    return at < begin_[block + 1] ? steps_[at] : Step{0, none(), {}};
  }

  // Block `at` of a vector of `blocks`.
  void put(Lookup& out, const Step& step, std::size_t at, std::size_t blocks) const {
    out.offset.push_back(step.offset);
    out.place.insert(out.place.end(), step.place.begin(), step.place.end());
    const std::size_t lanes = blocks * block_samples;
    if (at == 0) out.weight.resize(out.weight.size() + (kind_ == Weights::whole ? 1 : 2) * lanes);
    std::int32_t* const end = out.weight.data() + out.weight.size();
    for (std::size_t i = 0, lane = at * block_samples; i < block_samples; ++i, ++lane) {
      const std::int32_t first = step.weight[2 * i], second = step.weight[2 * i + 1];
      if (kind_ == Weights::whole) {
        end[lane - lanes] = side_by_side(first, second);
      } else if (kind_ == Weights::digits) {
        end[lane - 2 * lanes] = side_by_side(low_digit(first), low_digit(second));
        end[lane - lanes] = side_by_side(first >> digit_bits, second >> digit_bits);
      } else {
        end[lane - 2 * lanes] = first;
        end[lane - lanes] = std::bit_cast<std::int32_t>(std::bit_cast<float>(second) / 256);
      }
    }
  }

  const Problem<std::uint8_t>& p_;
  int first_;
  Weights kind_;
  std::int64_t samples_, last_offset_;
  std::vector<Step> steps_;
  std::vector<std::size_t> begin_;  // of each block's steps
};

}  // namespace

Weights weights_of(const Plan& plan) {
  if (plan.recipe == Recipe::real) return Weights::floats;
  return plan.along_shift == 0 ? Weights::whole : Weights::digits;
}

bool can_look_up(const Problem<std::uint8_t>& p) {
  const Plan& plan = p.plan;
  if (plan.recipe == Recipe::pick || plan.premultiply || plan.linear_light) return false;
  if (plan.recipe == Recipe::mean) return true;
  const Weights kind = weights_of(plan);
  const auto held = [kind](std::int32_t weight) {
    if (kind != Weights::floats) return fits(kind == Weights::whole ? weight : weight >> digit_bits);
    constexpr float least = 0x1p-100F, most = 0x1p100F;  // 2^23 times as much is exact, and a 256th
    const float magnitude = std::fabs(std::bit_cast<float>(weight));
    return magnitude == 0 || (magnitude >= least && magnitude <= most);
  };
  const auto all_held = [&](const AxisAt& axis, int results) {
    const std::int32_t* const from = p.weights(axis, 0);
    return std::all_of(from, from + static_cast<std::int64_t>(results) * axis.most, held);
  };
  return all_held(plan.along, p.cols()) && all_held(plan.across, p.rows());
}

Lookup lookup_of(const Problem<std::uint8_t>& p, int first, int last, const LookupShape& shape) {
  return Maker(p, first, last).laid_out(shape);
}

}  // namespace tessera::resize
