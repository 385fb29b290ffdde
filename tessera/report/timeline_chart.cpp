// SPDX-License-Identifier: Apache-2.0
// Who did what when, of a run that several devices shared: time runs to the right, each device has a lane for
// each of its deeds, and one for its waiting.
#include <fmt/format.h>
#include <algorithm>
#include "tessera/report/chart.hpp"
#include "tessera/report/charts.hpp"
#include "tessera/report/svg.hpp"
#include "tessera/report/table.hpp"

namespace tessera::report {
namespace {

using Anchor = Svg::Anchor;

constexpr const char *compute = "compute", *wait = "wait";

struct Lane {
  std::string device, deed;  // the device is named once
  std::vector<Activity> spans;
};

double end_of(const std::vector<SharedDevice>& devices) {
  double out = 0;
  for (const SharedDevice& device : devices) out = std::max(out, device.end());
  return out;
}

// When a device did nothing, until the last of all was done.
std::vector<Activity> waiting(const SharedDevice& device, double end) {
  std::vector<Activity> out;
  double upto = 0;
  for (const Activity& activity : device.activities) {
    if (activity.first > upto) out.push_back({wait, "", upto, activity.first});
    upto = std::max(upto, activity.last);
  }
  if (end > upto) out.push_back({wait, "", upto, end});
  return out;
}

double waited(const SharedDevice& device, double end) {
  double out = 0;
  for (const Activity& span : waiting(device, end)) out += span.last - span.first;
  return out;
}

std::vector<Lane> lanes_of(const std::vector<SharedDevice>& devices) {
  std::vector<Lane> out;
  const double end = end_of(devices);
  for (const SharedDevice& device : devices) {
    const std::size_t first = out.size();
    for (const Activity& activity : device.activities) {
      const auto lane = std::find_if(out.begin() + static_cast<std::ptrdiff_t>(first), out.end(),
                                     [&](const Lane& l) { return l.deed == activity.deed; });
      if (lane != out.end()) lane->spans.push_back(activity);
      else out.push_back({"", activity.deed, {activity}});
    }
    out.push_back({"", wait, waiting(device, end)});
    if (out.size() > first) out[first].device = device.label;
  }
  return out;
}

struct Unit {
  const char* name;
  double per_second;
};
Unit unit_for(double seconds) {
  if (seconds >= 1) return {"s", 1};
  return seconds >= 1e-3 ? Unit{"ms", 1e3} : Unit{"µs", 1e6};
}

const char* classes_of(const std::string& deed) {
  if (deed == compute) return "bar best";
  return deed == wait ? "bar missing" : "bar other";
}

struct Place {
  double width, left, right, top = 14, bottom, height = 14;
  bool small;

  Place(double across, const std::vector<Lane>& lanes) : width(across), small(is_narrow(across)) {
    left = small ? 96 : 230;
    right = across - 12;
    bottom = top;
    for (const Lane& lane : lanes) bottom += step(lane);
  }
  // The first lane of a device stands apart; on a narrow page its name goes above it.
  double step(const Lane& lane) const { return 18 + (lane.device.empty() ? 0.0 : small ? 22.0 : 8.0); }
};

// Waiting that is thinner than a line tells nothing.
void draw_lane(Svg& svg, const Lane& lane, const Place& place, const Scale& scale, const Unit& unit,
               double y) {
  constexpr double thinnest = 0.5;
  const auto letters = static_cast<std::size_t>((place.small ? place.left : 150) / 7);
  if (!lane.device.empty())
    svg.text({2, place.small ? y - 5 : y + 11}, shortened(lane.device, letters), "strong");
  svg.text({place.left - 8, y + 11}, lane.deed, "small muted", Anchor::end);
  for (const Activity& span : lane.spans) {
    const double from = scale.at(span.first * unit.per_second), to = scale.at(span.last * unit.per_second);
    if (lane.deed == wait && to - from < thinnest) continue;
    const std::string part = span.part.empty() ? "" : " " + span.part;
    svg.rect(from, y, std::max(to - from, thinnest), place.height, classes_of(lane.deed),
             fmt::format("{}{}\n{} to {} {}", lane.deed, part, figure(span.first * unit.per_second),
                         figure(span.last * unit.per_second), unit.name));
  }
}

Svg draw_timeline(const std::vector<Lane>& lanes, double end, double width, const std::string& id,
                  const Chart& chart) {
  const Place place(width, lanes);
  const Unit unit = unit_for(end);
  const Scale scale(Scale::Kind::linear, 0, end * unit.per_second, place.left, place.right);
  Svg svg(width, place.bottom + 42, id, chart.title, chart.description);
  for (const Tick& tick : scale.ticks(place.small ? 3 : 7)) {
    const double x = scale.at(tick.value);
    svg.line({x, place.top - 4}, {x, place.bottom}, "grid");
    svg.text({x, place.bottom + 16}, tick.label, "small muted",
             x > place.right - 12 ? Anchor::end : Anchor::middle);
  }
  svg.text({place.right, place.bottom + 34}, unit.name, "small muted", Anchor::end);
  double y = place.top;
  for (const Lane& lane : lanes) {
    y += place.step(lane);
    draw_lane(svg, lane, place, scale, unit, y - 16);
  }
  return svg;
}

}  // namespace

std::string timeline_sentence(const Document& document) {
  const double end = end_of(document.shared);
  if (document.shared.empty() || !(end > 0)) return {};
  std::vector<const SharedDevice*> devices;
  for (const SharedDevice& device : document.shared) devices.push_back(&device);
  if (devices.empty()) return {};
  const auto longest =
      std::ranges::max_element(devices, {}, [&](const SharedDevice* device) { return waited(*device, end); });
  std::string out =
      fmt::format("{} (device {}) waited longest: {:.1f} % of {}.", (*longest)->label,
                  longest - devices.begin(), 100 * waited(**longest, end) / end, seconds_cell(end).text);
  for (const SharedDevice& device : document.shared)
    if (!device.lost.empty()) out += fmt::format(" {} was given up: {}.", device.label, device.lost);
  return out;
}

Chart timeline_chart(const Document& document) {
  Chart out;
  out.name = "timeline";
  out.title = "Who did what when";
  out.description =
      "Time runs to the right. Each device has a lane for what it copied, one for what it computed, and one "
      "for "
      "its waiting until the last of all was done.";
  const double end = end_of(document.shared);
  if (!(end > 0)) out.missing = "nothing took any time";
  out.table.caption = out.title;
  out.table.columns = {{"device", true}, {"parts"},   {"share of the work", false, true},
                       {"computing"},    {"copying"}, {"waiting"},
                       {"done after"}};
  for (const SharedDevice& device : document.shared)
    out.table.lines.push_back(
        {{Cell(device.label), Cell(device.parts ? count(*device.parts) : "", device.parts),
          percent_cell(device.share), seconds_cell(device.busy(compute)),
          seconds_cell(device.busy("") - device.busy(compute)), seconds_cell(waited(device, end)),
          seconds_cell(device.end())},
         ""});
  out.table_open = true;
  out.draw = [lanes = lanes_of(document.shared), end](const Chart& chart, double width,
                                                      const std::string& id) {
    return draw_timeline(lanes, end, width, id, chart);
  };
  return out;
}

}  // namespace tessera::report
