// SPDX-License-Identifier: Apache-2.0
#include "tessera/report/shared_run.hpp"
#include <algorithm>

namespace tessera::report {
namespace {

SharedDevice device_of(const std::string& file, const Fields& part) {
  const Json* const about = part.object("device");
  if (about == nullptr) part.fail("device", "is missing");
  const Fields device(file, part.place("device"), *about);
  return {device.needed_text("label"), part.text("lost"),     part.number("parts"),
          part.number("share"),        part.flag("messages"), {}};
}

Activity activity_of(const Fields& fields) {
  const Number part = fields.number("part"), first = fields.number("first"), last = fields.number("last");
  if (!first || !(*first >= 0)) fields.fail("first", "is no time");
  if (!last || !(*last >= *first)) fields.fail("last", "is no time after the first");
  const auto whole = [](const Number& n) { return std::to_string(static_cast<long long>(*n)); };
  std::string name = part ? whole(part) : "";
  if (const Number panel = fields.number("panel")) name += " of panel " + whole(panel);
  return {fields.needed_text("deed"), std::move(name), *first, *last};
}

}  // namespace

double SharedDevice::end() const {
  double out = 0;
  for (const Activity& activity : activities) out = std::max(out, activity.last);
  return out;
}

double SharedDevice::busy(const std::string& deed) const {
  double out = 0;
  for (const Activity& activity : activities)
    if (deed.empty() || activity.deed == deed) out += activity.last - activity.first;
  return out;
}

std::vector<SharedDevice> read_shared(const std::string& file, const Fields& fields) {
  std::vector<SharedDevice> out;
  const Json& parts = fields.array("parts");
  for (std::size_t i = 0; i < parts.size(); ++i)
    out.push_back(device_of(file, Fields(file, "parts[" + std::to_string(i) + "]", parts[i])));
  const Json& timeline = fields.array("timeline");
  for (std::size_t i = 0; i < timeline.size(); ++i) {
    const Fields span(file, "timeline[" + std::to_string(i) + "]", timeline[i]);
    const int device = span.whole("device");
    if (device < 0 || static_cast<std::size_t>(device) >= out.size())
      span.fail("device", "is none of the " + std::to_string(out.size()) + " that shared the run");
    out[static_cast<std::size_t>(device)].activities.push_back(activity_of(span));
  }
  for (SharedDevice& device : out) std::ranges::stable_sort(device.activities, {}, &Activity::first);
  return out;
}

}  // namespace tessera::report
