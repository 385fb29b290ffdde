// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/multi_device/worker_process.hpp"
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fmt/format.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include "tessera/core/error.hpp"

extern char** environ;

namespace tessera {
namespace {

Error failure(const std::string& what, int reason) {
  return Error(Error::Kind::internal, what + ": " + std::strerror(reason));
}

// What a message says of the files that come with it.
constexpr std::size_t most_files = 64;
struct ControlBytes {
  alignas(cmsghdr) char bytes[CMSG_SPACE(most_files * sizeof(int))];
};

// Spawning closes nothing: what another thread opens meanwhile is marked by whoever opens it.
int spawn(const std::string& program, int channel) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // One that has the number already would be closed with this program's.
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
  (void)shutdown(channel_, SHUT_RDWR);  // by which it knows that nothing more is asked of it
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
  // One that ends by itself, as its closed channel says, shall tell its own reason.
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
  if (files.size() > most_files)
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

bool send_message(int channel, const std::string& message, const std::vector<int>& files) {
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

bool message_waits(int channel, double seconds) {
  pollfd waiting{channel, POLLIN, 0};
  return poll(&waiting, 1, static_cast<int>(std::ceil(seconds * 1e3))) > 0;
}

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

}  // namespace tessera
