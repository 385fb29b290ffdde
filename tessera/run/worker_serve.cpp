// SPDX-License-Identifier: Apache-2.0
// The worker's side: sets up the call that it is told of, then computes tile after tile.
#include <csignal>
#include <nlohmann/json.hpp>
#include <chrono>
#include <thread>
#include "tessera/core/load.hpp"
#include "tessera/core/poison.hpp"
#include "tessera/core/shared_array.hpp"
#include "tessera/run/place.hpp"
#include "tessera/run/worker.hpp"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

struct PlannedFault {
  std::string kind;
  std::size_t tile;
  double seconds;
};

class Service {
 public:
  explicit Service(const Json& setup) {
    load(setup.at("objects").get<std::vector<std::string>>());
    operation_ = find_operation(setup.at("operation").get<std::string>());
    if (operation_ == nullptr) throw Error("this worker does not know " + setup.at("operation").dump());
    map_arrays(setup);
    division_ = (*find_division(operation_->name))(*arguments_);
    const Json& plan = setup.at("plan");
    device_ = find_device(plan.at("device").get<std::string>());
    hand_.emplace(*operation_, division_, plan_of(plan), Request{.cached = false});
    for (const Json& fault : plan.at("faults"))
      faults_.push_back({fault.at("kind"), fault.at("tile"), fault.at("seconds")});
  }

  Json compute(const Json& words) {
    const Tile tile{{words.at(0), words.at(1)}, {words.at(2), words.at(3)}, {words.at(4), words.at(5)}};
    ++tiles_;
    for (const PlannedFault& fault : faults_)
      if (fault.tile == tiles_) begin(fault, tile);
    Json spans = Json::array();
    for (const dist::Span& span : hand_->compute(tile))
      spans.push_back({static_cast<int>(span.deed), span.first, span.last});
    for (const PlannedFault& fault : faults_)
      if (fault.tile == tiles_ && fault.kind == "flip") flip(tile);
    return {{"spans", spans}};
  }

 private:
  void map_arrays(const Json& setup) {
    const auto element = parse_element(setup.at("element").get<std::string>());
    std::map<std::string, ArrayView> inputs, outputs;
    for (const Json& about : setup.at("arrays")) {
      ArrayView view;
      view.element = *parse_element(about.at("element").get<std::string>());
      view.extents = about.at("extents").get<Extents>();
      view.strides = about.at("strides").get<Extents>();
      if (about.contains("file")) {
        const int file = dist::first_file + about.at("file").get<int>();
        mapped_.push_back(map_shared(file, about.at("bytes").get<std::size_t>()));
        view.data = static_cast<char*>(mapped_.back().get()) + about.at("offset").get<std::int64_t>();
      }
      (about.at("output").get<bool>() ? outputs : inputs).emplace(about.at("name").get<std::string>(), view);
    }
    arguments_.emplace(operation_->signature, *element, std::move(inputs),
                       setup.at("words").get<Arguments::Words>());
    for (const auto& [name, view] : outputs) arguments_->set_array(name, view);
  }

  Plan plan_of(const Json& about) const {
    Plan out;
    out.device = device_;
    for (const auto& [name, value] : about.at("tuning").items()) out.tuning.set(name, value.get<int>());
    for (const Variant* variant : ladder_of(operation_->name))
      if (variant->ladder == about.at("ladder").get<std::string>() &&
          variant->name == about.at("variant").get<std::string>() && variant->where == out.device.where)
        out.variant = variant;
    if (out.variant != nullptr) out.choice = out.variant->find(out.tuning);
    if (out.choice == nullptr) throw Error("this worker has no such variant: " + about.dump());
    return out;
  }

  // All ones: no number. What is left of a tile that was begun must not pass for one.
  void smash(const Tile& tile) const {
    for (const Slice& slice : division_.writes(tile)) {
      const ArrayView view = part_of(arguments_->array(slice.array), slice.box);
      unpack(std::vector<unsigned char>(view.bytes(), 0xff).data(), view);
    }
  }

  // The highest bit but the sign's of the tile's first element.
  void flip(const Tile& tile) const {
    for (const Slice& slice : division_.writes(tile)) {
      const ArrayView view = part_of(arguments_->array(slice.array), slice.box);
      if (view.count() != 0) static_cast<unsigned char*>(view.data)[size_of(view.element) - 1] ^= 0x40;
    }
  }

  void begin(const PlannedFault& fault, const Tile& tile) const {
    if (fault.kind == "kill") {
      smash(tile);
      (void)std::raise(SIGKILL);
    }
    if (fault.kind == "hang") (void)std::raise(SIGSTOP);
    if (fault.kind == "poison") (*find_poison(device_.where))(device_);
    if (fault.kind == "fail") throw Error("a failure that was asked for");
    if (fault.kind == "delay") std::this_thread::sleep_for(std::chrono::duration<double>(fault.seconds));
  }

  const Operation* operation_ = nullptr;
  std::vector<std::shared_ptr<void>> mapped_;
  std::optional<Arguments> arguments_;
  Division division_;
  Device device_;
  std::optional<HandHere> hand_;
  std::vector<PlannedFault> faults_;
  std::size_t tiles_ = 0;
};

}  // namespace

void serve_worker(int channel) {
  std::string message;
  std::optional<Service> service;
  std::string failure;
  if (!dist::receive_message(channel, message)) return;
  try {
    service.emplace(Json::parse(message));
  } catch (const std::exception& error) {
    failure = error.what();
  }
  while (dist::receive_message(channel, message)) {
    Json answer;
    try {
      if (!failure.empty()) throw Error(failure);
      answer = service->compute(Json::parse(message));
    } catch (const std::exception& error) {
      answer = {{"error", error.what()}};
    }
    if (!dist::send_message(channel, answer.dump(-1, ' ', false, Json::error_handler_t::replace))) return;
  }
}

}  // namespace tessera
