// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/multi_device/process_worker.hpp"
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include "tessera/load.hpp"
#include "tessera/core/array/shared_array.hpp"
#include "tessera/run/multi_device/multi_device.hpp"
#include "tessera/run/multi_device/streamed_worker.hpp"
#include "tessera/run/place.hpp"

extern char** environ;

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

Error failure(const std::string& what, int reason) {
  return Error(Error::Kind::internal, what + ": " + std::strerror(reason));
}

// Control data of a message: the descriptors of the files passed with it.
constexpr std::size_t max_files = 64;
struct ControlBytes {
  alignas(cmsghdr) char bytes[CMSG_SPACE(max_files * sizeof(int))];
};

constexpr int channel_file = 3;  // the descriptor of the channel in the child process

// Spawning closes no descriptors: other threads must open theirs as close-on-exec.
int spawn(const std::string& program, int channel) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // A descriptor that already has this number would keep its close-on-exec flag.
  const int moved = fcntl(channel, F_DUPFD_CLOEXEC, channel_file + 1);
  int reason = moved < 0 ? errno : posix_spawn_file_actions_adddup2(&actions, moved, channel_file);
  pid_t process = -1;
  std::string name = program;
  char* words[] = {name.data(), nullptr};
  if (reason == 0) reason = posix_spawn(&process, program.c_str(), &actions, nullptr, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (moved >= 0) (void)close(moved);
  if (reason != 0)
    throw Error(Error::Kind::no_device, "cannot start " + program + ": " + std::strerror(reason));
  return process;
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status))
    return std::string("its process was ended by a signal: ") + strsignal(WTERMSIG(status));
  return "its process ended with " + std::to_string(WEXITSTATUS(status));
}

// Send and receive on a channel; false: it is closed.
bool send_message(int channel, const std::string& message, const std::vector<int>& files = {}) {
  iovec text{const_cast<char*>(message.data()), message.size()};
  ControlBytes control{};
  msghdr whole{};
  whole.msg_iov = &text;
  whole.msg_iovlen = 1;
  if (!files.empty()) {
    whole.msg_control = control.bytes;
    whole.msg_controllen = CMSG_SPACE(files.size() * sizeof(int));
    cmsghdr* const about = CMSG_FIRSTHDR(&whole);
    about->cmsg_level = SOL_SOCKET;
    about->cmsg_type = SCM_RIGHTS;
    about->cmsg_len = CMSG_LEN(files.size() * sizeof(int));
    std::memcpy(CMSG_DATA(about), files.data(), files.size() * sizeof(int));
  }
  for (;;) {
    const ssize_t sent = ::sendmsg(channel, &whole, MSG_NOSIGNAL);
    if (sent >= 0) return true;
    if (errno != EINTR) return false;
  }
}

// True if a message arrives within `seconds`, or the channel is closed.
bool message_waits(int channel, double seconds) {
  pollfd waiting{channel, POLLIN, 0};
  return poll(&waiting, 1, static_cast<int>(std::ceil(seconds * 1e3))) > 0;
}

// `files`: those passed with the message, in order; the caller closes them.
bool receive_message(int channel, std::string& message, std::vector<int>& files) {
  files.clear();
  for (;;) {
    const ssize_t bytes = recv(channel, nullptr, 0, MSG_PEEK | MSG_TRUNC);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return false;
    message.resize(static_cast<std::size_t>(bytes));
    iovec text{message.data(), message.size()};
    ControlBytes control{};
    msghdr whole{};
    whole.msg_iov = &text;
    whole.msg_iovlen = 1;
    whole.msg_control = control.bytes;
    whole.msg_controllen = sizeof control.bytes;
    if (recvmsg(channel, &whole, MSG_CMSG_CLOEXEC) != bytes) continue;
    for (cmsghdr* about = CMSG_FIRSTHDR(&whole); about != nullptr; about = CMSG_NXTHDR(&whole, about)) {
      if (about->cmsg_level != SOL_SOCKET || about->cmsg_type != SCM_RIGHTS) continue;
      files.resize((about->cmsg_len - CMSG_LEN(0)) / sizeof(int));
      std::memcpy(files.data(), CMSG_DATA(about), files.size() * sizeof(int));
    }
    return true;
  }
}

bool receive_message(int channel, std::string& message) {
  std::vector<int> files;
  const bool out = receive_message(channel, message, files);
  for (const int file : files) (void)close(file);
  return out;
}

}  // namespace

WorkerProcess::WorkerProcess(const std::string& program) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw failure("cannot make a channel", errno);
  try {
    process_ = spawn(program, ends[1]);
  } catch (...) {
    (void)close(ends[0]);
    (void)close(ends[1]);
    throw;
  }
  (void)close(ends[1]);
  channel_ = ends[0];
}

WorkerProcess::~WorkerProcess() {
  (void)shutdown(channel_, SHUT_RDWR);  // tells the process that no more work comes
  if (process_ > 0) (void)end();
  (void)close(channel_);
}

void WorkerProcess::stop() noexcept {
  if (process_ <= 0) return;
  (void)kill(process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
}

std::string WorkerProcess::end() {
  if (process_ <= 0) return "its process has ended";
  // A process that ends by itself, because its channel is closed, reports its own reason.
  int status = 0;
  pid_t ended = 0;
  for (int i = 0; i < 50 && (ended = waitpid(process_, &status, WNOHANG)) == 0; ++i) (void)usleep(2000);
  if (ended == 0) {
    (void)kill(process_, SIGKILL);
    while ((ended = waitpid(process_, &status, 0)) < 0 && errno == EINTR) {
    }
  }
  process_ = -1;
  return ended < 0 ? "its process has ended" : how_it_ended(status);
}

void WorkerProcess::send(const std::string& message, const std::vector<int>& files) {
  if (files.size() > max_files)
    throw Error(Error::Kind::internal, std::to_string(files.size()) + " files are too many for a message");
  if (!send_message(channel_, message, files)) throw Error(Error::Kind::no_device, end());
}

std::string WorkerProcess::receive(double seconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    const double left = std::chrono::duration<double>(until - std::chrono::steady_clock::now()).count();
    constexpr double longest = 1e6;
    pollfd waiting{channel_, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::clamp(left, 0.0, longest) * 1e3) + 1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) throw failure("cannot wait for a process", errno);
    if (ready == 0 && left > 0) continue;
    if (ready == 0) {
      (void)kill(process_, SIGKILL);
      (void)end();
      throw Error(Error::Kind::no_device, fmt::format("it did not answer within {:g} s", seconds));
    }
    std::string message;
    if (!receive_message(channel_, message)) throw Error(Error::Kind::no_device, end());
    return message;
  }
}

namespace {

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
  std::set<std::string> objects;  // shared objects of kernels that a user has loaded
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

// Checks memory in advance, because the system kills a process that touches memory which was promised but
// does not exist.
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

ProcessWorker::ProcessWorker(const SharedCall& call, const Partition& partition, const Plan& plan,
                             Options options, std::unique_ptr<WorkerProcess> process)
    : call_(&call),
      partition_(&partition),
      options_(std::move(options)),
      process_(process != nullptr ? std::move(process) : std::make_unique<WorkerProcess>(worker_program())) {
  Json setup = call.description();
  setup["plan"] = plan_json(plan);
  if (options_.kill_at) setup["kill_at"] = *options_.kill_at;
  if (options_.largest)
    setup["streams"] = {{"memory", options_.memory_bytes},
                        {"largest", tile_json(*options_.largest)},
                        {"at_once", options_.tiles_at_once},
                        {"pin", options_.pin}};
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
  under_way_.push_back({tile, std::chrono::steady_clock::now()});
  process_->send(tile_json(tile).dump());
}

// Both processes use the same machine clock.
std::vector<TimelineSpan> ProcessWorker::finish() {
  const Begun begun = under_way_.front();
  under_way_.pop_front();
  const Json answer = receive(options_.limit_seconds);
  call_->fetch(partition_->writes(begun.tile));
  const double late =
      answer.at("begun").get<double>() - std::chrono::duration<double>(begun.at.time_since_epoch()).count();
  std::vector<TimelineSpan> out;
  for (const Json& span : answer.at("spans"))
    out.push_back({0, static_cast<Activity>(span[0].get<int>()), 0, late + span[1].get<double>(),
                   late + span[2].get<double>(), span[3].get<std::int64_t>()});
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

// The worker's side: sets up the call that it receives, then computes tile after tile, until it receives
// another call.
namespace {

using Clock = std::chrono::steady_clock;

Tile tile_of(const Json& words) {
  return {{words.at(0), words.at(1)}, {words.at(2), words.at(3)}, {words.at(4), words.at(5)}};
}

class Service {
 public:
  // `files`: hold the setup's arrays. `streams` are kept for the next call.
  Service(const Json& setup, const std::vector<int>& files, std::shared_ptr<Streams>& streams)
      : kill_at_(setup.value("kill_at", std::size_t{0})) {
    operation_ = find_operation(setup.at("operation").get<std::string>());
    if (operation_ == nullptr) throw Error("this worker does not know " + setup.at("operation").dump());
    device_ = find_device(setup.at("plan").at("device").get<std::string>());
    map_arrays(setup, files);
    partition_ = partition_of(*operation_, *arguments_);
    worker_ = make_worker(setup, plan_of(setup.at("plan")), streams);
  }

  bool idle() const { return under_way_.empty(); }
  bool can_begin() const { return under_way_.size() < worker_->max_in_flight(); }

  void begin(const Json& words) {
    const Tile tile = tile_of(words);
    under_way_.push_back(Clock::now());
    if (++tiles_ == kill_at_) die(tile);
    worker_->begin(tile);
  }

  Json finish() {
    Json spans = Json::array();
    for (const TimelineSpan& span : worker_->finish())
      spans.push_back({static_cast<int>(span.activity), span.first, span.last, span.bytes});
    const double begun = std::chrono::duration<double>(under_way_.front().time_since_epoch()).count();
    under_way_.pop_front();
    return {{"spans", spans}, {"begun", begun}};
  }

  void give_up() noexcept {  // tiles under way are not finished
    worker_->stop();
    under_way_.clear();
  }

 private:
  static Extents extents_in(const Json& list) {
    Extents out;
    for (const Json& extent : list) out.push_back(extent.get<std::int64_t>());
    return out;
  }

  void map_arrays(const Json& setup, const std::vector<int>& files) {
    const auto element = parse_element(setup.at("element").get<std::string>());
    std::map<std::string, ArrayView> inputs, outputs;
    for (const Json& about : setup.at("arrays")) {
      ArrayView view;
      view.element = *parse_element(about.at("element").get<std::string>());
      view.extents = extents_in(about.at("extents"));
      view.strides = extents_in(about.at("strides"));
      if (about.contains("file")) {
        const auto bytes = about.at("bytes").get<std::size_t>();
        mapped_.push_back(map_shared(files.at(about.at("file").get<std::size_t>()), bytes));
        if (setup.contains("streams") && setup.at("streams").at("pin").get<bool>())
          if (StreamFactory* const factory = find_streams(device_.where))
            pinned_.push_back(factory->pin(mapped_.back().get(), bytes));
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
      return std::make_unique<LocalWorker>(*operation_, partition_, std::move(plan), request);
    if (streams == nullptr) streams = factory->open(device_);
    const Json& about = setup.at("streams");
    return std::make_unique<StreamedWorker>(
        *operation_, *arguments_, partition_, std::move(plan), request, streams,
        StreamedWorker::Options{.memory_bytes = about.at("memory").get<std::int64_t>(),
                                .largest = tile_of(about.at("largest")),
                                .tiles_at_once = about.at("at_once").get<std::size_t>()});
  }

  // In the middle of a tile: overwrites part of its result with NaN, so that an unfinished tile cannot pass
  // for a result.
  void die(const Tile& tile) const {
    for (const Slice& slice : partition_.writes(tile)) {
      const ArrayView view = part_of(arguments_->array(slice.array), slice.box);
      unpack(std::vector<unsigned char>(view.bytes(), 0xff).data(), view);
    }
    (void)std::raise(SIGKILL);
  }

  const Operation* operation_ = nullptr;
  std::vector<std::shared_ptr<void>> mapped_, pinned_;
  std::optional<Arguments> arguments_;
  Partition partition_;
  Device device_;
  std::unique_ptr<DeviceWorker> worker_;
  std::size_t kill_at_, tiles_ = 0;  // tiles begun
  std::deque<Clock::time_point> under_way_;
};

}  // namespace

void serve_worker() {
  const auto send = [](const Json& answer) {
    return send_message(channel_file, answer.dump(-1, ' ', false, Json::error_handler_t::replace));
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
  // The caller sends the next tile when it has the answer to one; waiting for it lets its inputs arrive
  // during the computation.
  constexpr double soon = 1e-3;
  for (;;) {
    Json answer;
    try {
      if (service && !service->idle() && !(service->can_begin() && message_waits(channel_file, soon))) {
        answer = service->finish();
      } else {
        if (!receive_message(channel_file, message, files)) return;
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
