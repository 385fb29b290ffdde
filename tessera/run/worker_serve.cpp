// SPDX-License-Identifier: Apache-2.0
// The worker's side: sets up the call that it is told of, then computes tile after tile, until it is told of
// another.
#include <unistd.h>
#include <csignal>
#include <nlohmann/json.hpp>
#include <chrono>
#include <deque>
#include <thread>
#include "tessera/core/load.hpp"
#include "tessera/core/poison.hpp"
#include "tessera/core/shared_array.hpp"
#include "tessera/io/mapped_file.hpp"
#include "tessera/run/damage.hpp"
#include "tessera/run/finding_json.hpp"
#include "tessera/run/hand_on_lanes.hpp"
#include "tessera/run/place.hpp"
#include "tessera/run/undivided.hpp"
#include "tessera/run/watch.hpp"
#include "tessera/run/worker.hpp"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

Tile tile_of(const Json& words) {
  return {{words.at(0), words.at(1)}, {words.at(2), words.at(3)}, {words.at(4), words.at(5)}};
}

class Service {
 public:
  // The files are those that the setup's arrays lie in; `lanes` are kept for the next.
  Service(const Json& setup, const std::vector<int>& files, std::shared_ptr<Lanes>& lanes) {
    operation_ = find_operation(setup.at("operation").get<std::string>());
    if (operation_ == nullptr) throw Error("this worker does not know " + setup.at("operation").dump());
    map_arrays(setup, files);
    division_ = division_of(*operation_, *arguments_);
    const Json& plan = setup.at("plan");
    device_ = find_device(plan.at("device").get<std::string>());
    hand_ = hand_of(setup, plan_of(plan), lanes);
    for (const Json& fault : plan.at("faults"))
      faults_.push_back({.kind = *kind_named(fault.at("kind").get<std::string>()),
                         .tile = fault.at("tile"),
                         .seconds = fault.at("seconds"),
                         .number = fault.at("number")});
    if (setup.at("watched").get<bool>()) watch_.emplace(*operation_, *arguments_, division_, device_);
    hand_->look_with(
        [this](const Tile& tile, ComputedPart& part, double seconds) { look(tile, part, seconds); });
  }

  bool idle() const { return under_way_.empty(); }
  bool has_room() const { return under_way_.size() < hand_->most_under_way(); }

  void begin(const Json& words) {
    const Tile tile = tile_of(words);
    under_way_.push_back({++tiles_, Clock::now()});
    for (const Fault& fault : faults_)
      if (fault.tile == tiles_) begin(fault, tile);
    hand_->begin(tile);
  }

  Json finish() {
    const Begun& begun = under_way_.front();
    Json spans = Json::array();
    for (const dist::Span& span : hand_->finish())
      spans.push_back({static_cast<int>(span.deed), span.first, span.last});
    Json out{{"spans", spans}, {"begun", std::chrono::duration<double>(begun.at.time_since_epoch()).count()}};
    if (watch_) out["finding"] = to_json(finding_);
    under_way_.pop_front();
    return out;
  }

  // Nothing of what was begun is finished.
  void give_up() noexcept {
    hand_->settle();
    under_way_.clear();
  }

 private:
  void map_arrays(const Json& setup, const std::vector<int>& files) {
    const auto element = parse_element(setup.at("element").get<std::string>());
    std::map<std::string, ArrayView> inputs, outputs;
    for (const Json& about : setup.at("arrays")) {
      ArrayView view;
      view.element = *parse_element(about.at("element").get<std::string>());
      view.extents = about.at("extents").get<Extents>();
      view.strides = about.at("strides").get<Extents>();
      if (about.contains("file")) {
        const int file = files.at(about.at("file").get<std::size_t>());
        mapped_.push_back(about.contains("mapped")
                              ? map_file(file, about.at("name").get<std::string>()).address
                              : map_shared(file, about.at("bytes").get<std::size_t>()));
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

  std::unique_ptr<Hand> hand_of(const Json& setup, Plan plan, std::shared_ptr<Lanes>& lanes) const {
    const Request request{.cached = false};
    LaneMaker* const maker = setup.contains("lanes") ? find_lanes(device_.where) : nullptr;
    if (maker != nullptr && lanes == nullptr) lanes = maker->open(device_);
    if (maker == nullptr) return std::make_unique<HandHere>(*operation_, division_, std::move(plan), request);
    const Json& about = setup.at("lanes");
    return std::make_unique<HandOnLanes>(*operation_, *arguments_, division_, std::move(plan), request, lanes,
                                         about.at("memory").get<std::int64_t>(),
                                         tile_of(about.at("largest")));
  }

  // All ones: no number. What is left of a tile that was begun must not pass for one.
  void smash(const Tile& tile) const {
    for (const Slice& slice : division_.writes(tile)) {
      const ArrayView view = part_of(arguments_->array(slice.array), slice.box);
      unpack(std::vector<unsigned char>(view.bytes(), 0xff).data(), view);
    }
  }

  // What is to be found wrong is made wrong where it was computed.
  void look(const Tile& tile, ComputedPart& part, double seconds) {
    for (const Fault& fault : faults_)
      if (fault.tile == under_way_.front().number)
        for (const Slice& slice : division_.writes(tile))
          damage(fault, part.arguments().array(slice.array), backend_of(device_), part.run());
    if (!watch_) return;
    finding_ = watch_->look(tile, part);
    finding_.product_seconds = seconds;
  }

  void begin(const Fault& fault, const Tile& tile) const {
    using Kind = Fault::Kind;
    if (fault.kind == Kind::kill) {
      smash(tile);
      (void)std::raise(SIGKILL);
    }
    while (fault.kind == Kind::hang)
      (void)std::raise(SIGSTOP);  // a shell that ends continues what is stopped
    if (fault.kind == Kind::poison) (*find_poison(device_.where))(device_);
    if (fault.kind == Kind::fail) throw Error("a failure that was asked for");
    if (fault.kind == Kind::delay) std::this_thread::sleep_for(std::chrono::duration<double>(fault.seconds));
  }

  // A tile that has been begun: the first, second, … of all.
  struct Begun {
    std::size_t number;
    Clock::time_point at;
  };

  const Operation* operation_ = nullptr;
  std::vector<std::shared_ptr<void>> mapped_;
  std::optional<Arguments> arguments_;
  Division division_;
  Device device_;
  std::unique_ptr<Hand> hand_;
  std::vector<Fault> faults_;
  std::optional<Watch> watch_;
  Finding finding_;  // of the part finished last
  std::size_t tiles_ = 0;
  std::deque<Begun> under_way_;
};

}  // namespace

void serve_worker(int channel) {
  const auto send = [channel](const Json& answer) {
    return dist::send_message(channel, answer.dump(-1, ' ', false, Json::error_handler_t::replace));
  };
  std::string message;
  std::vector<int> files;
  std::shared_ptr<Lanes> lanes;
  std::unique_ptr<Service> service;
  const auto set_up = [&](const Json& setup) {
    static const bool loaded = (load(setup.at("objects").get<std::vector<std::string>>()), true);
    service.reset();
    service = std::make_unique<Service>(setup, files, lanes);
    for (const int file : files) (void)close(file);
    return loaded;
  };
  // The caller sends the next tile when it has the answer to one: it is waited for, so that it arrives behind
  // computing.
  constexpr double soon = 1e-3;
  for (;;) {
    Json answer;
    try {
      if (service && !service->idle() && !(service->has_room() && dist::message_waits(channel, soon))) {
        answer = service->finish();
      } else {
        if (!dist::receive_message(channel, message, files)) return;
        const Json words = Json::parse(message);
        if (!words.is_object()) {
          service->begin(words);
          continue;
        }
        answer = {{"ready", set_up(words)}};
      }
    } catch (const std::exception& error) {
      if (service) service->give_up();
      answer = {{"error", error.what()}};
    }
    if (!send(answer)) return;
  }
}

}  // namespace tessera
