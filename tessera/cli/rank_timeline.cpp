// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/rank_timeline.hpp"
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <algorithm>
#include "tessera/cli/output.hpp"

namespace tessera::cli {
namespace {

using nlohmann::ordered_json;

struct Place {
  std::string label, lost;
  std::size_t parts = 0;
  double share = 0;
  bool messages = false;
};

struct PlacesOfRanks {
  std::vector<Place> places;
  dist::Timeline timeline;  // whose devices are the places

  explicit PlacesOfRanks(const DistributedOutcome& outcome) {
    double all = 0;
    for (const RankReport& rank : outcome.ranks) all += block_of(rank);
    for (std::size_t number = 0; number < outcome.ranks.size(); ++number)
      add(outcome, number, all > 0 ? block_of(outcome.ranks[number]) / all : 0);
  }

 private:
  static double block_of(const RankReport& rank) {
    return static_cast<double>(rank.rows.size()) * static_cast<double>(rank.cols.size());
  }

  void add(const DistributedOutcome& outcome, std::size_t number, double share) {
    const RankReport& rank = outcome.ranks[number];
    const std::string name = fmt::format("rank {}: ", number);
    const auto panels =
        outcome.grid.has(static_cast<int>(number)) ? static_cast<std::size_t>(outcome.panels) : 0;
    const bool travel =
        std::ranges::any_of(rank.spans, [](const dist::Span& span) { return span.device == 0; });
    std::vector<std::size_t> at{places.size()};  // of the rank itself, then of its devices
    if (rank.devices.empty()) places.push_back({name + rank.device, "", panels, share});
    else if (travel) places.push_back({name + "messages", "", panels, 0, true});
    for (const RankDevice& device : rank.devices) {
      at.push_back(places.size());
      places.push_back({name + device.label, device.lost, device.parts, share * device.share});
    }
    for (dist::Span span : rank.spans) {
      span.device = at.at(span.device);
      timeline.spans.push_back(span);
    }
  }
};

}  // namespace

void add_timeline_of_ranks(ordered_json& out, const DistributedOutcome& outcome) {
  const PlacesOfRanks all(outcome);
  auto& parts = out["parts"] = ordered_json::array();
  for (const Place& place : all.places) {
    ordered_json& part = parts.emplace_back(
        ordered_json{{"device", {{"label", place.label}}}, {"parts", place.parts}, {"share", place.share}});
    if (!place.lost.empty()) part["lost"] = place.lost;
    if (place.messages) part["messages"] = true;
  }
  auto& timeline = out["timeline"] = ordered_json::array();
  for (const dist::Span& span : all.timeline.spans) {
    ordered_json& one = timeline.emplace_back(ordered_json{{"device", span.device},
                                                           {"deed", dist::name_of(span.deed)},
                                                           {"part", span.tile},
                                                           {"first", span.first},
                                                           {"last", span.last}});
    if (span.panel != 0) one["panel"] = span.panel;
  }
}

void write_timeline_of_ranks(const std::string& path, const DistributedOutcome& outcome) {
  if (path.empty()) return;
  const PlacesOfRanks all(outcome);
  std::vector<std::string> names;
  for (const Place& place : all.places) names.push_back(place.label);
  write_text(path, dist::chrome_trace(all.timeline, names));
}

}  // namespace tessera::cli
