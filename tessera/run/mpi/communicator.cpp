// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/mpi/communicator.hpp"
#include <new>

namespace tessera {
namespace {

struct Failure {
  Error::Kind kind;
  std::string text;
};

std::optional<Failure> failure_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return Failure{error.kind(), error.what()};
  } catch (const std::bad_alloc&) {
    return Failure{Error::Kind::user, "the machine has not enough memory for this"};
  } catch (const std::exception& error) {
    return Failure{Error::Kind::internal, error.what()};
  }
  return std::nullopt;
}

}  // namespace

std::string Communicator::broadcast(std::string bytes, int root) {
  auto size = static_cast<std::int64_t>(bytes.size());
  start_broadcast(&size, sizeof size, root)->wait();
  bytes.resize(static_cast<std::size_t>(size));
  start_broadcast(bytes.data(), bytes.size(), root)->wait();
  return bytes;
}

void agree(Communicator& ranks, const std::function<void()>& work) {
  const auto failure = failure_of(work);
  const std::int64_t last = ranks.largest(failure ? ranks.size() - ranks.rank() : 0);
  if (last == 0) {
    ranks.begun_ = true;
    return;
  }
  const int first = ranks.size() - static_cast<int>(last);
  std::string message;
  if (failure) {
    message = static_cast<char>(failure->kind);
    if (ranks.rank() != 0) message += "rank " + std::to_string(ranks.rank()) + " on " + ranks.host() + ": ";
    message += failure->text;
  }
  message = ranks.broadcast(message, first);
  throw SharedError(static_cast<Error::Kind>(message[0]), message.substr(1));
}

}  // namespace tessera
