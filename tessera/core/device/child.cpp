// SPDX-License-Identifier: Apache-2.0
#include "tessera/core/device/child.hpp"
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>
#include "tessera/core/text/error.hpp"

namespace tessera {
namespace {

struct Answer {
  double seconds = 0;
  char failure[240] = {};  // empty: none
};

Error system_error(const char* what) {
  return Error(Error::Kind::internal, std::string(what) + ": " + std::strerror(errno));
}

// Returns false at the end of the stream: the other side has closed it.
bool read_all(int file, void* to, std::size_t bytes) {
  for (auto* at = static_cast<char*>(to); bytes != 0;) {
    const ssize_t got = ::read(file, at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(int file, const void* from, std::size_t bytes) {
  for (auto* at = static_cast<const char*>(from); bytes != 0;) {
    const ssize_t sent = send(file, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
  return true;
}

}  // namespace

Child::Child(std::size_t request_bytes, const std::function<void()>& prepare, const Serve& serve)
    : request_bytes_(request_bytes) {
  memory_file_ = memfd_create("tessera", MFD_CLOEXEC);
  if (memory_file_ < 0) throw system_error("cannot create shared memory");
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    close(memory_file_);
    throw system_error("cannot create a pair of sockets");
  }
  process_ = fork();
  if (process_ == 0) {
    close(sockets[0]);
    serve_all(sockets[1], prepare, serve);
  }
  close(sockets[1]);
  socket_ = sockets[0];
  if (process_ > 0) return;
  close(socket_);
  close(memory_file_);
  throw system_error("cannot start a child process");
}

// The child sees its socket closed and exits.
Child::~Child() {
  shutdown(socket_, SHUT_RDWR);
  close(socket_);
  waitpid(process_, nullptr, 0);
  if (mapped_ != nullptr) munmap(mapped_, mapped_bytes_);
  close(memory_file_);
}

void Child::map(std::size_t bytes) {
  if (bytes <= mapped_bytes_) return;
  if (mapped_ != nullptr) munmap(mapped_, mapped_bytes_);
  mapped_bytes_ = 0;
  mapped_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_file_, 0);
  if (mapped_ == MAP_FAILED) {
    mapped_ = nullptr;
    throw system_error("cannot map shared memory");
  }
  mapped_bytes_ = bytes;
}

void* Child::memory(std::size_t bytes) {
  if (bytes > mapped_bytes_ && ftruncate(memory_file_, static_cast<off_t>(bytes)) != 0)
    throw system_error("cannot enlarge shared memory");
  map(bytes);
  return mapped_;
}

double Child::call(const void* request) {
  Answer answer;
  const std::size_t bytes = mapped_bytes_;
  if (!write_all(socket_, &bytes, sizeof bytes) || !write_all(socket_, request, request_bytes_) ||
      !read_all(socket_, &answer, sizeof answer))
    throw Error(Error::Kind::internal, "the child process has died");
  if (answer.failure[0] != 0) throw Error(Error::Kind::internal, answer.failure);
  return answer.seconds;
}

// The child exits without the parent's clean-up, which is the parent's task.
void Child::serve_all(int socket, const std::function<void()>& prepare, const Serve& serve) {
  std::vector<unsigned char> request(request_bytes_);
  bool prepared = false;
  for (std::size_t bytes = 0;
       read_all(socket, &bytes, sizeof bytes) && read_all(socket, request.data(), request.size());) {
    Answer answer;
    try {
      if (!prepared) prepare();
      prepared = true;
      map(bytes);
      answer.seconds = serve(request.data(), mapped_);
    } catch (const std::exception& error) {
      std::snprintf(answer.failure, sizeof answer.failure, "%s", error.what());
    } catch (...) {
      std::snprintf(answer.failure, sizeof answer.failure, "an unknown failure in the child process");
    }
    if (!write_all(socket, &answer, sizeof answer)) break;
  }
  _exit(0);
}

}  // namespace tessera
