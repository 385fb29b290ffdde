// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/study.hpp"
#include <algorithm>
#include <deque>
#include <limits>

namespace tessera {
namespace {

std::deque<Study>& all() {
  static std::deque<Study> studies;
  return studies;
}

}  // namespace

void register_study(Study study) { all().push_back(std::move(study)); }

std::vector<const Study*> studies_of(std::string_view operation) {
  std::vector<const Study*> out;
  for (const Study& study : all())
    if (study.operation == operation) out.push_back(&study);
  std::ranges::sort(out, {}, &Study::name);
  return out;
}

double median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace tessera
