// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/timeline.hpp"
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <algorithm>

namespace tessera::dist {

const char* name_of(Deed deed) {
  switch (deed) {
    case Deed::copy_in:
      return "copy in";
    case Deed::copy_peer:
      return "copy from a peer";
    case Deed::copy_out:
      return "copy out";
    case Deed::compute:
      break;
  }
  return "compute";
}

double Timeline::end() const {
  double out = 0;
  for (const Span& span : spans) out = std::max(out, span.last);
  return out;
}

double Timeline::end(std::size_t device) const {
  double out = 0;
  for (const Span& span : spans)
    if (span.device == device) out = std::max(out, span.last);
  return out;
}

double Timeline::busy(std::size_t device, Deed deed) const {
  double out = 0;
  for (const Span& span : spans)
    if (span.device == device && span.deed == deed) out += span.last - span.first;
  return out;
}

namespace {

std::string name_of(const Span& span) {
  const std::string of = span.panel == 0 ? "" : fmt::format(" of panel {}", span.panel);
  return fmt::format("{} {}{}", dist::name_of(span.deed), span.tile, of);
}

}  // namespace

std::string chrome_trace(const Timeline& timeline, const std::vector<std::string>& devices) {
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  for (std::size_t d = 0; d < devices.size(); ++d)
    events.push_back({{"ph", "M"}, {"name", "process_name"}, {"pid", d}, {"args", {{"name", devices[d]}}}});
  for (std::size_t d = 0; d < devices.size(); ++d)
    for (const Deed deed : {Deed::copy_in, Deed::copy_peer, Deed::compute, Deed::copy_out})
      events.push_back({{"ph", "M"},
                        {"name", "thread_name"},
                        {"pid", d},
                        {"tid", static_cast<int>(deed)},
                        {"args", {{"name", name_of(deed)}}}});
  constexpr double microseconds = 1e6;
  for (const Span& span : timeline.spans)
    events.push_back({{"ph", "X"},
                      {"name", name_of(span)},
                      {"pid", span.device},
                      {"tid", static_cast<int>(span.deed)},
                      {"ts", span.first * microseconds},
                      {"dur", (span.last - span.first) * microseconds}});
  return nlohmann::ordered_json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump() + "\n";
}

}  // namespace tessera::dist
