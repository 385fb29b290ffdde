// SPDX-License-Identifier: Apache-2.0
// The worker's side: sets up the call that it is sent, then computes tile after tile, until it is sent
// another call.
#include <csignal>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include "tessera/core/load.hpp"
#include "tessera/core/shared_array.hpp"
#include "tessera/run/multi_device/multi_device.hpp"
#include "tessera/run/multi_device/process_worker.hpp"
#include "tessera/run/multi_device/streamed_worker.hpp"
#include "tessera/run/place.hpp"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

Tile tile_of(const Json& words) {
  return {{words.at(0), words.at(1)}, {words.at(2), words.at(3)}, {words.at(4), words.at(5)}};
}

class Service {
 public:
  // `files`: those that the setup's arrays lie in. `streams` are kept for the next call.
  Service(const Json& setup, const std::vector<int>& files, std::shared_ptr<Streams>& streams)
      : kill_at_(setup.value("kill_at", std::size_t{0})) {
    operation_ = find_operation(setup.at("operation").get<std::string>());
    if (operation_ == nullptr) throw Error("this worker does not know " + setup.at("operation").dump());
    map_arrays(setup, files);
    division_ = division_of(*operation_, *arguments_);
    device_ = find_device(setup.at("plan").at("device").get<std::string>());
    worker_ = make_worker(setup, plan_of(setup.at("plan")), streams);
  }

  bool idle() const { return under_way_.empty(); }
  bool can_begin() const { return under_way_.size() < worker_->most_under_way(); }

  void begin(const Json& words) {
    const Tile tile = tile_of(words);
    under_way_.push_back(Clock::now());
    if (++tiles_ == kill_at_) die(tile);
    worker_->begin(tile);
  }

  Json finish() {
    Json spans = Json::array();
    for (const TimelineSpan& span : worker_->finish())
      spans.push_back({static_cast<int>(span.activity), span.first, span.last});
    const double begun = std::chrono::duration<double>(under_way_.front().time_since_epoch()).count();
    under_way_.pop_front();
    return {{"spans", spans}, {"begun", begun}};
  }

  void give_up() noexcept {  // tiles under way are not finished
    worker_->stop();
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
        mapped_.push_back(
            map_shared(files.at(about.at("file").get<std::size_t>()), about.at("bytes").get<std::size_t>()));
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

  std::unique_ptr<DeviceWorker> make_worker(const Json& setup, Plan plan,
                                            std::shared_ptr<Streams>& streams) const {
    const Request request{.cached = false};
    StreamFactory* const factory = setup.contains("streams") ? find_streams(device_.where) : nullptr;
    if (factory == nullptr)
      return std::make_unique<LocalWorker>(*operation_, division_, std::move(plan), request);
    if (streams == nullptr) streams = factory->open(device_);
    const Json& about = setup.at("streams");
    return std::make_unique<StreamedWorker>(*operation_, *arguments_, division_, std::move(plan), request,
                                            streams, about.at("memory").get<std::int64_t>(),
                                            tile_of(about.at("largest")));
  }

  // In the middle of a tile: part of its result is overwritten with NaN, so that what is left of it cannot
  // pass for a result.
  void die(const Tile& tile) const {
    for (const Slice& slice : division_.writes(tile)) {
      const ArrayView view = part_of(arguments_->array(slice.array), slice.box);
      unpack(std::vector<unsigned char>(view.bytes(), 0xff).data(), view);
    }
    (void)std::raise(SIGKILL);
  }

  const Operation* operation_ = nullptr;
  std::vector<std::shared_ptr<void>> mapped_;
  std::optional<Arguments> arguments_;
  Division division_;
  Device device_;
  std::unique_ptr<DeviceWorker> worker_;
  std::size_t kill_at_, tiles_ = 0;  // tiles begun
  std::deque<Clock::time_point> under_way_;
};

}  // namespace

void serve_worker(int channel) {
  const auto send = [channel](const Json& answer) {
    return send_message(channel, answer.dump(-1, ' ', false, Json::error_handler_t::replace));
  };
  std::string message;
  std::vector<int> files;
  std::shared_ptr<Streams> streams;
  std::unique_ptr<Service> service;
  const auto set_up = [&](const Json& setup) {
    static const bool loaded = (load(setup.at("objects").get<std::vector<std::string>>()), true);
    service.reset();
    service = std::make_unique<Service>(setup, files, streams);
    for (const int file : files) (void)close(file);
    return loaded;
  };
  // The caller sends the next tile when it has the answer to one: it is waited for, so that its inputs arrive
  // behind computing.
  constexpr double soon = 1e-3;
  for (;;) {
    Json answer;
    try {
      if (service && !service->idle() && !(service->can_begin() && message_waits(channel, soon))) {
        answer = service->finish();
      } else {
        if (!receive_message(channel, message, files)) return;
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
