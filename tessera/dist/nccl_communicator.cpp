// SPDX-License-Identifier: Apache-2.0
// GPUs joined by NCCL, found when it is needed, through declarations of our own. Only what every version
// since 2.10 has is used. Broadcasts of a rank's two groups share one stream, so that all ranks run them in
// the same order.
#include <dlfcn.h>
#include <cstring>
#include "tessera/cuda/resources.hpp"
#include "tessera/cuda/gpus.hpp"
#include "tessera/dist/communicator_devices.hpp"

namespace tessera::dist {
namespace {

constexpr int success = 0, least_version = 21000, byte_type = 1;  // ncclUint8

struct UniqueId {
  char bytes[128];
};

struct Library {
  Reason why;
  int version = 0;
  int (*get_version)(int*) = nullptr;
  int (*get_unique_id)(UniqueId*) = nullptr;
  int (*join)(void** communicator, int ranks, UniqueId id, int rank) = nullptr;
  int (*broadcast)(const void* from, void* to, std::size_t count, int type, int root, void* communicator,
                   cudaStream_t stream) = nullptr;
  int (*send)(const void* from, std::size_t count, int type, int to, void* communicator,
              cudaStream_t stream) = nullptr;
  int (*receive)(void* to, std::size_t count, int type, int from, void* communicator,
                 cudaStream_t stream) = nullptr;
  int (*begin_group)() = nullptr;
  int (*end_group)() = nullptr;
  int (*leave)(void* communicator) = nullptr;
  const char* (*text)(int) = nullptr;

  Library() {
    void* const handle = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      why = "libnccl.so.2 is not there";
      return;
    }
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
      if (function == nullptr) why = std::string("libnccl.so.2 has no ") + name;
    };
    find(get_version, "ncclGetVersion");
    find(get_unique_id, "ncclGetUniqueId");
    find(join, "ncclCommInitRank");
    find(broadcast, "ncclBroadcast");
    find(send, "ncclSend");
    find(receive, "ncclRecv");
    find(begin_group, "ncclGroupStart");
    find(end_group, "ncclGroupEnd");
    find(leave, "ncclCommDestroy");
    find(text, "ncclGetErrorString");
    if (why) return;
    if (get_version(&version) != success || version < least_version) why = "libnccl.so.2 is older than 2.10";
  }
};

// Stays loaded: its threads may outlive what they served.
const Library& library() {
  static const Library* const loaded = new Library;
  return *loaded;
}

void check(int status, const char* doing) {
  if (status != success)
    throw Error(Error::Kind::internal, std::string("NCCL cannot ") + doing + ": " + library().text(status));
}

// 22803 is 2.28.3.
std::string version_text(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

// Where a stream has come to when the broadcast is in it.
class Arrived : public Pending {
 public:
  Arrived(int device, cudaStream_t stream) : device_(device) {
    cuda::check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
    if (const cudaError_t status = cudaEventRecord(event_, stream); status != cudaSuccess) {
      (void)cudaEventDestroy(event_);
      cuda::check(status);
    }
  }
  ~Arrived() override { (void)cudaEventDestroy(event_); }
  Arrived(const Arrived&) = delete;
  Arrived& operator=(const Arrived&) = delete;

  bool done() override {
    const cuda::OnDevice on_device(device_);
    const cudaError_t status = cudaEventQuery(event_);
    if (status == cudaErrorNotReady) return false;
    cuda::check(status);
    return true;
  }
  void wait() override {
    const cuda::OnDevice on_device(device_);
    cuda::check(cudaEventSynchronize(event_));
  }

 private:
  int device_;
  cudaEvent_t event_ = nullptr;
};

class NcclCommunicator : public DeviceCommunicator {
 public:
  NcclCommunicator(Communicator& hosts, const Run& run) : DeviceCommunicator(hosts), run_(run) {
    UniqueId id = {};
    if (rank() == 0) dist::check(library().get_unique_id(&id), "begin");
    const std::string told = hosts.broadcast(std::string(id.bytes, sizeof id.bytes), 0);
    std::memcpy(id.bytes, told.data(), sizeof id.bytes);
    const cuda::OnDevice on_device(run_.device->index);
    dist::check(library().join(&communicator_, size(), id, rank()), "join the GPUs");
    connect();
  }
  ~NcclCommunicator() override { (void)library().leave(communicator_); }

  std::string name() const override { return "NCCL " + version_text(library().version); }

  std::unique_ptr<Pending> start_broadcast(void* data, std::size_t bytes, int root) override {
    const cuda::OnDevice on_device(run_.device->index);
    const auto stream = static_cast<cudaStream_t>(run_.stream);
    dist::check(library().broadcast(data, data, bytes, byte_type, root, communicator_, stream), "broadcast");
    return std::make_unique<Arrived>(run_.device->index, stream);
  }

  // As one group, or a rank that sends first would wait for one that does so, too.
  std::unique_ptr<Pending> start_exchange(const std::vector<Message>& messages) override {
    const cuda::OnDevice on_device(run_.device->index);
    const auto stream = static_cast<cudaStream_t>(run_.stream);
    dist::check(library().begin_group(), "begin an exchange");
    int status = success;
    for (const Message& message : messages) {
      if (status != success || message.bytes == 0) continue;
      status = message.comes ? library().receive(message.data, message.bytes, byte_type, message.other,
                                                 communicator_, stream)
                             : library().send(message.data, message.bytes, byte_type, message.other,
                                              communicator_, stream);
    }
    const int ended = library().end_group();
    dist::check(status == success ? ended : status, "exchange");
    return std::make_unique<Arrived>(run_.device->index, stream);
  }

 private:
  // Connections are made, and code is loaded, by the first broadcast of a panel's size: it takes longer than
  // panels do. A short one goes by another protocol.
  void connect() {
    constexpr std::size_t long_one = std::size_t{32} << 20;
    const cuda::DeviceBuffer room(long_one);
    for (int root = 0; root < size(); ++root)
      for (const std::size_t bytes : {std::size_t{1}, long_one})
        start_broadcast(room.get(), bytes, root)->wait();
  }

  const Run& run_;
  void* communicator_ = nullptr;
};

[[maybe_unused]] const bool registered =
    (register_link(Where::cuda, {[] { return library().why; },
                                 [](Communicator& hosts, const Run& run) -> std::unique_ptr<Communicator> {
                                   return std::make_unique<NcclCommunicator>(hosts, run);
                                 }}),
     true);

}  // namespace
}  // namespace tessera::dist
