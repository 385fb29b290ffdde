// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/multi_device/process_worker.hpp"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <unistd.h>
#include "tessera/core/shared_array.hpp"
#include "tessera/run/place.hpp"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

std::string word_of(const Device& device) {
  return device.where == Where::cuda ? device.label()
                                     : device.label() + ":threads=" + std::to_string(device.threads);
}

Json tile_json(const Tile& tile) {
  return {tile.rows.first, tile.rows.last,   tile.cols.first,
          tile.cols.last,  tile.depth.first, tile.depth.last};
}

Json plan_json(const Plan& plan) {
  Json tuning = Json::object();
  for (const auto& [name, value] : plan.tuning) tuning[name] = value;
  return {{"device", word_of(plan.device)},
          {"ladder", plan.variant->ladder},
          {"variant", plan.variant->name},
          {"tuning", tuning}};
}

}  // namespace

SharedCall::SharedCall(const Operation& operation, const Arguments& host)
    : host_(&host), description_(std::make_unique<Json>()) {
  std::set<std::string> objects;  // of kernels that a user has loaded
  for (const Variant& variant : all_variants())
    if (!variant.object.empty()) objects.insert(std::filesystem::absolute(variant.object));
  *description_ = {{"operation", operation.name},
                   {"element", name_of(host.element())},
                   {"words", host.words()},
                   {"arrays", Json::array()},
                   {"objects", objects}};
  check_memory();
  for (const Parameter& p : host.signature().parameters)
    if (p.is_array() && host.has(p.name)) add(p);
}

SharedCall::~SharedCall() = default;

// The system would end a process that touches memory which it has promised, but does not have.
void SharedCall::check_memory() const {
  std::int64_t wanted = 0;
  for (const Parameter& p : host_->signature().parameters)
    if (p.is_array() && host_->has(p.name))
      if (const ArrayView& view = host_->array(p.name); view.count() != 0 && !find_shared(view.data))
        wanted += static_cast<std::int64_t>(view.bytes());
  const auto left = memory_left();
  if (left && wanted > *left)
    throw Error("devices in processes of their own want " + std::to_string(wanted) +
                " bytes of shared memory, and " + std::to_string(*left) + " are left");
}

void SharedCall::add(const Parameter& parameter) {
  ArrayView view = host_->array(parameter.name);
  const bool output = parameter.kind == Parameter::Kind::output;
  if (view.count() != 0 && !find_shared(view.data)) {
    const Array& copy = copies_[parameter.name] = shared_array(view.element, view.extents);
    if (!output) {
      const Array packed = view.row_major() ? Array(view, nullptr) : packed_copy(view);
      std::memcpy(copy.view().data, packed.view().data, view.bytes());
      copied_bytes_ += static_cast<std::int64_t>(view.bytes());
    }
    view = copy.view();
  }
  Json about{{"name", parameter.name},
             {"element", name_of(view.element)},
             {"output", output},
             {"extents", view.extents},
             {"strides", view.strides}};
  if (const auto place = view.count() != 0 ? find_shared(view.data) : std::nullopt) {
    const auto known = std::ranges::find(files_, place->file);
    about["file"] = known - files_.begin();
    about["offset"] = place->offset;
    about["bytes"] = place->bytes;
    if (known == files_.end()) files_.push_back(place->file);
  }
  (*description_)["arrays"].push_back(std::move(about));
}

void SharedCall::fetch(const std::vector<Slice>& written) const {
  for (const Slice& slice : written) {
    const auto copy = copies_.find(slice.array);
    if (copy == copies_.end()) continue;
    const Array packed = packed_copy(part_of(copy->second.view(), slice.box));
    unpack(packed.view().data, part_of(host_->array(slice.array), slice.box));
  }
}

ProcessWorker::ProcessWorker(const SharedCall& call, const Division& division, const Plan& plan,
                             Options options, std::unique_ptr<WorkerProcess> process)
    : call_(&call),
      division_(&division),
      options_(std::move(options)),
      process_(process != nullptr ? std::move(process) : std::make_unique<WorkerProcess>(worker_program())) {
  Json setup = call.description();
  setup["plan"] = plan_json(plan);
  if (options_.kill_at) setup["kill_at"] = *options_.kill_at;
  if (options_.largest)
    setup["streams"] = {{"memory", options_.memory_bytes}, {"largest", tile_json(*options_.largest)}};
  process_->send(setup.dump(), call.files());
}

Json ProcessWorker::receive(double seconds) {
  Json answer = Json::parse(process_->receive(seconds));
  if (answer.contains("error")) throw Error(Error::Kind::no_device, answer["error"].get<std::string>());
  return answer;
}

void ProcessWorker::make_ready() {
  constexpr double least = 60;  // the limit is for a tile
  (void)receive(std::max(options_.limit_seconds, least));
}

void ProcessWorker::begin(const Tile& tile) {
  process_->send(tile_json(tile).dump());
  under_way_.push_back({tile, std::chrono::steady_clock::now()});
}

// Both processes have the machine's clock.
std::vector<TimelineSpan> ProcessWorker::finish() {
  const Begun begun = under_way_.front();
  under_way_.pop_front();
  const Json answer = receive(options_.limit_seconds);
  call_->fetch(division_->writes(begun.tile));
  const double late =
      answer.at("begun").get<double>() - std::chrono::duration<double>(begun.at.time_since_epoch()).count();
  std::vector<TimelineSpan> out;
  for (const Json& span : answer.at("spans"))
    out.push_back({0, static_cast<Activity>(span[0].get<int>()), 0, late + span[1].get<double>(),
                   late + span[2].get<double>()});
  return out;
}

std::vector<TimelineSpan> ProcessWorker::compute(const Tile& tile) {
  begin(tile);
  return finish();
}

std::string worker_program() {
  constexpr const char* name = "tessera-worker";
  if (const char* const set = std::getenv("TESSERA_WORKER"); set != nullptr && *set != '\0') return set;
  std::vector<std::filesystem::path> places;
  std::error_code ignored;
  places.push_back(std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path());
  Dl_info about{};
  if (dladdr(reinterpret_cast<const void*>(&worker_program), &about) != 0 && about.dli_fname != nullptr)
    places.push_back(std::filesystem::absolute(about.dli_fname, ignored).parent_path());
  for (const auto& place : std::vector(places)) places.push_back(place.parent_path());
  for (const auto& place : places)
    if (const auto file = place / name; access(file.c_str(), X_OK) == 0) return file;
  throw Error(Error::Kind::no_device, std::string("the program ") + name +
                                          " is not beside this one; TESSERA_WORKER tells where it is");
}

}  // namespace tessera
