// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/process.hpp"
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include "tessera/core/error.hpp"

extern char** environ;

namespace tessera::dist {
namespace {

Error failure(const std::string& what, int reason) {
  return Error(Error::Kind::internal, what + ": " + std::strerror(reason));
}

// Spawning closes nothing: what another thread opens meanwhile is marked by whoever opens it.
int spawn(const std::string& program, int channel, const std::vector<int>& files) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // Above all numbers that are meant, lest one overwrites another that is still to be moved.
  std::vector<int> moved;
  int reason = 0;
  std::vector<int> wanted{channel};
  wanted.insert(wanted.end(), files.begin(), files.end());
  const int clear = channel_file + static_cast<int>(wanted.size());
  for (std::size_t i = 0; i < wanted.size() && reason == 0; ++i) {
    moved.push_back(fcntl(wanted[i], F_DUPFD_CLOEXEC, clear));
    if (moved.back() < 0) reason = errno;
    else
      reason = posix_spawn_file_actions_adddup2(&actions, moved.back(), channel_file + static_cast<int>(i));
  }
  pid_t process = -1;
  std::string name = program;
  char* words[] = {name.data(), nullptr};
  if (reason == 0) reason = posix_spawn(&process, program.c_str(), &actions, nullptr, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  for (const int file : moved)
    if (file >= 0) (void)close(file);
  if (reason != 0) throw Error(Error::Kind::no_device, "cannot start " + program + ": " + std::strerror(reason));
  return process;
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status))
    return std::string("its process was ended by a signal: ") + strsignal(WTERMSIG(status));
  return "its process ended with " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Process::Process(const std::string& program, const std::vector<int>& files) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw failure("cannot make a channel", errno);
  try {
    process_ = spawn(program, ends[1], files);
  } catch (...) {
    (void)close(ends[0]);
    (void)close(ends[1]);
    throw;
  }
  (void)close(ends[1]);
  channel_ = ends[0];
}

Process::~Process() {
  (void)shutdown(channel_, SHUT_RDWR);  // by which it knows that nothing more is asked of it
  if (process_ > 0) (void)end();
  (void)close(channel_);
}

void Process::stop() noexcept {
  if (process_ <= 0) return;
  (void)kill(process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
}

std::string Process::end() {
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

void Process::send(const std::string& message) {
  if (!send_message(channel_, message)) throw Error(Error::Kind::no_device, end());
}

std::string Process::receive(double seconds, const std::function<bool()>& stopped) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    const double left = std::chrono::duration<double>(until - std::chrono::steady_clock::now()).count();
    constexpr double often = 0.05, rarely = 1e6;
    const double longest = stopped ? often : rarely;
    pollfd waiting{channel_, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::clamp(left, 0.0, longest) * 1e3) + 1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) throw failure("cannot wait for a process", errno);
    if (ready == 0 && stopped && stopped()) {
      stop();
      throw Error(Error::Kind::no_device, "it was stopped");
    }
    if (ready == 0 && left > 0) continue;
    if (ready == 0) {
      (void)kill(process_, SIGKILL);
      (void)end();
      std::string limit = std::to_string(seconds);
      limit.erase(std::min(limit.size(), limit.find('.') + 2));
      throw Error(Error::Kind::no_device, "it did not answer within " + limit + " s");
    }
    std::string message;
    if (!receive_message(channel_, message)) throw Error(Error::Kind::no_device, end());
    return message;
  }
}

bool send_message(int channel, const std::string& message) {
  for (;;) {
    const ssize_t sent = ::send(channel, message.data(), message.size(), MSG_NOSIGNAL);
    if (sent >= 0) return true;
    if (errno != EINTR) return false;
  }
}

bool message_waits(int channel, double seconds) {
  pollfd waiting{channel, POLLIN, 0};
  return poll(&waiting, 1, static_cast<int>(std::ceil(seconds * 1e3))) > 0;
}

bool receive_message(int channel, std::string& message) {
  for (;;) {
    const ssize_t bytes = recv(channel, nullptr, 0, MSG_PEEK | MSG_TRUNC);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return false;
    message.resize(static_cast<std::size_t>(bytes));
    if (recv(channel, message.data(), message.size(), 0) == bytes) return true;
  }
}

}  // namespace tessera::dist
