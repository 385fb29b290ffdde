// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/worker.hpp"
#include <dlfcn.h>
#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include "tessera/core/shared_array.hpp"
#include "tessera/run/finding_json.hpp"
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

Json plan_json(const Plan& plan, const std::vector<Fault>& faults) {
  Json tuning = Json::object(), planned = Json::array();
  for (const auto& [name, value] : plan.tuning) tuning[name] = value;
  for (const Fault& fault : faults)
    planned.push_back({{"kind", name_of(fault.kind)},
                       {"tile", fault.tile},
                       {"seconds", fault.seconds},
                       {"number", fault.number}});
  return {{"device", word_of(plan.device)},
          {"ladder", plan.variant->ladder},
          {"variant", plan.variant->name},
          {"tuning", tuning},
          {"faults", planned}};
}

}  // namespace

SharedCall::SharedCall(const Operation& operation, const Arguments& host, bool files_as_read)
    : host_(&host), description_(std::make_unique<Json>()) {
  Json& out = *description_;
  out = {{"operation", operation.name}, {"element", name_of(host.element())}, {"words", host.words()}};
  out["arrays"] = Json::array();
  std::set<std::string> objects;
  for (const Variant& variant : all_variants())
    if (!variant.object.empty()) objects.insert(std::filesystem::absolute(variant.object));
  out["objects"] = objects;
  if (files_as_read) open_files();
  check_room();
  for (const Parameter& p : host.signature().parameters)
    if (p.is_array() && host.has(p.name)) add(p);
}

SharedCall::~SharedCall() {
  for (const auto& [name, place] : opened_) (void)close(place.file);
}

void SharedCall::open_files() {
  for (const Parameter& p : host_->signature().parameters) {
    if (!p.is_array() || p.kind == Parameter::Kind::output || !host_->has(p.name)) continue;
    const ArrayView& view = host_->array(p.name);
    if (view.count() == 0 || find_shared(view.data)) continue;
    if (const auto place = find_mapped(view.data)) opened_[p.name] = *place;
  }
}

bool SharedCall::is_copied(const Parameter& parameter) const {
  const ArrayView& view = host_->array(parameter.name);
  return view.count() != 0 && !opened_.contains(parameter.name) && !find_shared(view.data);
}

// Else the system would end a process when the memory is touched that it has promised.
void SharedCall::check_room() const {
  std::int64_t wanted = 0;
  for (const Parameter& p : host_->signature().parameters)
    if (p.is_array() && host_->has(p.name) && is_copied(p))
      wanted += static_cast<std::int64_t>(host_->array(p.name).bytes());
  const auto left = memory_left();
  if (left && wanted > *left)
    throw Error("devices in processes of their own want " + std::to_string(wanted) +
                " bytes of memory for arrays that all of them see, and " + std::to_string(*left) +
                " are left; inputs from .npy files in this machine's byte order need none");
}

void SharedCall::add(const Parameter& parameter) {
  ArrayView view = host_->array(parameter.name);
  const bool output = parameter.kind == Parameter::Kind::output;
  if (is_copied(parameter)) {
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
  if (const auto file = opened_.find(parameter.name); file != opened_.end()) {
    about["file"] = files_.size();
    about["offset"] = file->second.offset;
    about["mapped"] = true;
    files_.push_back(file->second.file);
    mapped_bytes_ += static_cast<std::int64_t>(view.bytes());
  } else if (const auto place = view.count() != 0 ? find_shared(view.data) : std::nullopt) {
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

Worker::Worker(const SharedCall& call, const Division& division, const Plan& plan,
               const std::vector<Fault>& faults, Limits limits, bool watched,
               const std::optional<OnLanes>& lanes, std::unique_ptr<dist::Process> process)
    : call_(&call),
      division_(&division),
      limits_(std::move(limits)),
      most_(lanes ? 2 : 1),
      process_(process != nullptr ? std::move(process) : std::make_unique<dist::Process>(worker_program())) {
  Json setup = call.description();
  setup["plan"] = plan_json(plan, faults);
  setup["watched"] = watched;
  if (lanes) setup["lanes"] = {{"memory", lanes->memory_bytes}, {"largest", tile_json(lanes->largest)}};
  process_->send(setup.dump(), call.files());
}

void Worker::make_ready() {
  constexpr double least = 60;  // what is limited is a part's time
  const Json answer = Json::parse(process_->receive(std::max(limits_.seconds, least), limits_.stopped));
  if (answer.contains("error")) throw Error(Error::Kind::no_device, answer["error"].get<std::string>());
}

void Worker::begin(const Tile& tile) {
  process_->send(tile_json(tile).dump());
  under_way_.push_back({tile, std::chrono::steady_clock::now()});
}

// Its clock is this process's: that of the machine.
std::vector<dist::Span> Worker::finish() {
  const Begun begun = under_way_.front();
  under_way_.pop_front();
  const Json answer = Json::parse(process_->receive(limits_.seconds, limits_.stopped));
  if (answer.contains("error")) throw Error(Error::Kind::no_device, answer["error"].get<std::string>());
  finding_.reset();
  if (answer.contains("finding")) finding_ = finding_of(answer["finding"]);
  call_->fetch(division_->writes(begun.tile));
  const double late =
      answer.at("begun").get<double>() - std::chrono::duration<double>(begun.at.time_since_epoch()).count();
  std::vector<dist::Span> out;
  for (const Json& span : answer.at("spans"))
    out.push_back({0, static_cast<dist::Deed>(span[0].get<int>()), 0, late + span[1].get<double>(),
                   late + span[2].get<double>()});
  return out;
}

std::vector<dist::Span> Worker::compute(const Tile& tile) {
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
