// SPDX-License-Identifier: Apache-2.0
// The ranks of which this process is one, if a launcher started several: one of them reports, and all end
// alike.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include "tessera/core/text/error.hpp"
#include "tessera/run/mpi/launcher.hpp"

namespace tessera::cli {

// The end of a run: an exit code, or an error.
struct End {
  int code = 0;
  std::optional<Error> error = {};
  bool shared = false;  // all ranks know of the error
};

class Ranks {
 public:
  static Ranks& here();

  // Joins the other ranks, if a launcher started several or `requested`. Throws Error without MPI.
  void join(bool requested);
  Communicator* communicator();  // null: this process is alone
  bool speaks() const;           // alone, or rank 0
  // "mpirun started 4 ranks": throws if there are several, for commands that only one process runs.
  void require_alone(const std::string& what) const;

  // Reports the error once, leaves the other ranks, and returns the exit code.
  int end(const End& how);

 private:
  Ranks();
  void share(End& how);

  std::optional<Launcher> launcher_;
  std::unique_ptr<Communicator> communicator_;
  bool requested_ = false;
};

}  // namespace tessera::cli
