// SPDX-License-Identifier: Apache-2.0
#include "tessera/cli/ranks.hpp"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include "tessera/cli/command.hpp"

namespace tessera::cli {

Ranks& Ranks::here() {
  static Ranks ranks;
  return ranks;
}

Ranks::Ranks() : launcher_(find_launcher(std::getenv)) {}

void Ranks::join(bool requested) {
  const bool several = launcher_ && launcher_->started_several();
  requested_ = requested;
  if (communicator_ == nullptr && (several || requested)) communicator_ = open_mpi(launcher_);
}

// Returns null if alone: a launcher that does not report a size may have started only this process.
Communicator* Ranks::communicator() {
  return communicator_ != nullptr && (requested_ || communicator_->size() > 1) ? communicator_.get()
                                                                               : nullptr;
}

bool Ranks::speaks() const {
  if (communicator_ != nullptr) return communicator_->rank() == 0;
  return !launcher_ || launcher_->rank.value_or(0) == 0;
}

void Ranks::require_alone(const std::string& what) const {
  if (communicator_ != nullptr && communicator_->size() > 1)
    throw Error(what + " runs in one process, but " + std::to_string(communicator_->size()) +
                " ranks were started");
}

// Tells the other ranks or, if they can no longer wait for this one, ends them.
void Ranks::share(End& how) {
  if (communicator_->begun()) {
    std::fprintf(stderr, "tessera: rank %d on %s: %s\n", communicator_->rank(), communicator_->host().c_str(),
                 how.error->what());
    communicator_->abort(exit_code_of(how.error->kind()));
  }
  try {
    agree(*communicator_, [&] { throw *how.error; });
  } catch (const SharedError& error) {
    how.error = error;
  }
}

int Ranks::end(const End& how) {
  End all = how;
  if (communicator_ != nullptr && all.error && !all.shared) share(all);
  const int code = all.error ? exit_code_of(all.error->kind()) : all.code;
  const bool alone = communicator_ == nullptr;
  // Rank 0 usually reports the same error, and its end is that of all; otherwise this rank must report it.
  if (alone && !speaks() && all.error) std::this_thread::sleep_for(std::chrono::seconds(1));
  if (all.error && (alone || speaks())) std::fprintf(stderr, "tessera: %s\n", all.error->what());
  communicator_.reset();
  return code;
}

}  // namespace tessera::cli
