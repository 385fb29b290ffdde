// SPDX-License-Identifier: Apache-2.0
// Included by baselines, the rungs numbered 00: a Rung takes the variants that these functions return.
#pragma once
#include "tessera/rung.hpp"

namespace tessera {

inline Variant baseline(std::string idea, Where where, std::vector<Choice> choices,
                        std::function<Reason(const Device&)> unsupported_device = {}) {
  Variant out;
  out.idea = std::move(idea);
  out.where = where;
  out.choices = std::move(choices);
  out.unsupported_device = std::move(unsupported_device);
  out.baseline = true;
  return out;
}

// Returns a baseline that computes something slightly different: its results are not compared.
inline Variant timed_baseline(std::string idea, Where where, std::vector<Choice> choices,
                              std::function<Reason(const Device&)> unsupported_device = {}) {
  Variant out = baseline(std::move(idea), where, std::move(choices), std::move(unsupported_device));
  out.compares_time_only = true;
  return out;
}

}  // namespace tessera
