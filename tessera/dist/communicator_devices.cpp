// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/communicator_devices.hpp"
#include <map>

namespace tessera::dist {
namespace {

std::map<Where, DeviceLink>& links() {
  static std::map<Where, DeviceLink> all;
  return all;
}

// What travels by way of the hosts' memory: when it is there, it goes on to the device, once.
class Staged : public Pending {
 public:
  bool done() override {
    if (!finished_ && pending_->done()) finish();
    return finished_;
  }
  void wait() override {
    if (finished_) return;
    pending_->wait();
    finish();
  }

 protected:
  void sent(std::unique_ptr<Pending> pending) { pending_ = std::move(pending); }

 private:
  virtual void arrived() = 0;
  void finish() {
    finished_ = true;
    arrived();
  }

  std::unique_ptr<Pending> pending_;
  bool finished_ = false;
};

class StagedBroadcast : public Staged {
 public:
  StagedBroadcast(Communicator& hosts, Backend& backend, const Run& run, void* data, std::size_t bytes,
                  int root)
      : backend_(backend), run_(run), data_(data), receives_(hosts.rank() != root), room_(bytes) {
    if (!receives_) {
      backend_.copy(run_, room_.data(), data_, bytes);
      backend_.synchronize(run_);
    }
    sent(hosts.start_broadcast(room_.data(), bytes, root));
  }

 private:
  void arrived() override {
    if (!receives_) return;
    backend_.copy(run_, data_, room_.data(), room_.size());
    backend_.synchronize(run_);
  }

  Backend& backend_;
  const Run& run_;
  void* data_;
  bool receives_;
  std::vector<char> room_;
};

class StagedExchange : public Staged {
 public:
  StagedExchange(Communicator& hosts, Backend& backend, const Run& run, const std::vector<Message>& messages)
      : backend_(backend), run_(run), messages_(messages) {
    std::vector<Message> staged = messages;
    for (Message& message : staged) {
      message.data = rooms_.emplace_back(message.bytes).data();
      if (!message.comes) backend_.copy(run_, message.data, messages_[rooms_.size() - 1].data, message.bytes);
    }
    backend_.synchronize(run_);
    sent(hosts.start_exchange(staged));
  }

 private:
  void arrived() override {
    for (std::size_t i = 0; i < messages_.size(); ++i)
      if (messages_[i].comes) backend_.copy(run_, messages_[i].data, rooms_[i].data(), messages_[i].bytes);
    backend_.synchronize(run_);
  }

  Backend& backend_;
  const Run& run_;
  std::vector<Message> messages_;
  std::vector<std::vector<char>> rooms_;  // of each message
};

}  // namespace

std::unique_ptr<Pending> StagedCommunicator::start_exchange(const std::vector<Message>& messages) {
  return std::make_unique<StagedExchange>(hosts_, backend_, run_, messages);
}

std::unique_ptr<Pending> StagedCommunicator::start_broadcast(void* data, std::size_t bytes, int root) {
  return std::make_unique<StagedBroadcast>(hosts_, backend_, run_, data, bytes, root);
}

void register_link(Where where, DeviceLink link) { links()[where] = std::move(link); }

std::vector<std::unique_ptr<Communicator>> join_devices(Communicator& all,
                                                        const std::vector<Communicator*>& groups,
                                                        const Run& run) {
  std::vector<std::unique_ptr<Communicator>> out(groups.size());
  Backend& backend = backend_of(*run.device);
  if (backend.shares_host_memory()) return out;
  const auto link = links().find(run.device->where);
  // Libraries that join devices want a rank for each.
  const bool own = all.on_host().ranks <= std::ssize(backend.devices());
  const bool mine = own && link != links().end() && !link->second.unusable();
  const bool linked = all.largest(mine ? 0 : 1) == 0;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (linked) out[i] = link->second.join(*groups[i], run);
    else out[i] = std::make_unique<StagedCommunicator>(*groups[i], backend, run);
  return out;
}

}  // namespace tessera::dist
