// SPDX-License-Identifier: Apache-2.0
#include "tessera/tune/tuner.hpp"
#include <nlohmann/json.hpp>
#include "tessera/bench/machine.hpp"
#include "tessera/bench/result.hpp"
#include "tessera/io/atomic_file.hpp"

namespace tessera::tune {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* ended_badly =
    "failed: the program ended while it was measured; --retry measures it again";

Json line_of(const char* kind) { return {{"tessera", 1}, {"kind", kind}}; }

bool failed(const bench::Row& row) { return row.seconds.empty() || row.verified == bench::Verified::wrong; }

Json choice_of(const bench::Row& row) {
  return {{"ladder", row.variant->ladder},
          {"variant", row.variant->name},
          {"tuning", bench::to_json(row.tuning)}};
}

Json summary_of(const bench::Row& row) {
  const bench::Summary summary = bench::summarize(row.seconds);
  const bool known = summary.count > 1;  // a single sample has no spread
  return {{"median", summary.median},
          {"spread", known ? Json(summary.spread()) : Json(nullptr)},
          {"samples", summary.count}};
}

}  // namespace

Journal::Journal(std::string file, std::string context)
    : file_(std::move(file)), context_(std::move(context)) {
  if (!file_.empty()) read();
}

void Journal::read() {
  for (const std::string& line : read_lines(file_)) {
    if (line.find("\"kind\":\"choice\"") != std::string::npos) continue;
    try {
      const Json json = Json::parse(line);
      const std::string kind = json.at("kind");
      if (json.at("tessera") != 1) continue;
      if (kind == "begun")
        for (const Json& key : json.at("keys")) begun_[key] = json.at("keys").size();
      if (kind == "let go" || kind == "trial") begun_.erase(json.at("key"));
      if (kind == "trial") trials_[json.at("key")] = json.at("row").dump();
    } catch (const nlohmann::json::exception&) {  // a line that was cut off, or another program's
    }
  }
}

std::string Journal::key_of(const bench::Row& row) const {
  return context_ + "|" +
         bench::record_of(bench::to_json(row), {{bench::label_of(row.device), row.device.name}}).key();
}

std::optional<bench::Row> Journal::find(const bench::Row& blank, bool retry) const {
  const std::string key = key_of(blank);
  if (const auto trial = trials_.find(key); trial != trials_.end()) {
    bench::Row row = bench::recalled(Json::parse(trial->second), blank);
    if (retry && failed(row)) return std::nullopt;
    return row;
  }
  const auto begun = begun_.find(key);
  if (retry || begun == begun_.end() || begun->second > 1) return std::nullopt;
  bench::Row row = blank;
  row.reason = ended_badly;
  return row;
}

bool Journal::is_suspect(const bench::Row& blank) const { return begun_.contains(key_of(blank)); }

void Journal::begin(const std::vector<bench::Row>& blanks) {
  Json line = line_of("begun");
  line["keys"] = Json::array();
  for (const bench::Row& blank : blanks) line["keys"].push_back(key_of(blank));
  write(line.dump());
}

void Journal::add(const bench::Row& row) {
  const std::string key = key_of(row);
  Json line = line_of("trial");
  line["key"] = key;
  line["row"] = bench::to_json(row);
  line["row"]["kept_from"] = bench::now_utc();
  trials_[key] = line["row"].dump();
  begun_.erase(key);
  write(line.dump());
}

void Journal::drop(const bench::Row& blank) {
  Json line = line_of("let go");
  line["key"] = key_of(blank);
  begun_.erase(key_of(blank));
  write(line.dump());
}

void Journal::record_winner(const TunedFor& key, const bench::Row& winner, const bench::Row* untuned) {
  Json line = line_of("choice");
  line["operation"] = key.operation;
  line["element"] = key.element;
  line["shape"] = key.shape;
  line["sizes"] = key.sizes;
  line["device"] = key.device;
  line["driver_version"] = key.driver_version.empty() ? Json(nullptr) : Json(key.driver_version);
  line.update(choice_of(winner));
  line["verified"] = winner.verified == bench::Verified::ok ? "ok" : "unchecked";
  line["method"] = winner.method;
  line["error_over_bound"] = winner.error_over_bound ? Json(*winner.error_over_bound) : Json(nullptr);
  line.update(summary_of(winner));
  line["untuned"] = nullptr;
  if (untuned != nullptr && untuned->counts()) {
    line["untuned"] = choice_of(*untuned);
    line["untuned"].update(summary_of(*untuned));
  }
  line["git"] = bench::this_build().git;
  line["date"] = bench::now_utc();
  write(line.dump());
}

void Journal::write(const std::string& line) {
  if (file_.empty()) return;
  if (const std::string why = append_line(file_, line); !why.empty()) failure_ = why;
}

}  // namespace tessera::tune
