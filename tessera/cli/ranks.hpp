// SPDX-License-Identifier: Apache-2.0
// The ranks of which this process is one, where a launcher started several: one of them speaks, and all end
// alike.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include "tessera/core/error.hpp"
#include "tessera/run/mpi/launcher.hpp"

namespace tessera::cli {

// How a run ended: by an exit code, or by an error.
struct End {
  int code = 0;
  std::optional<Error> error = {};
  bool shared = false;  // all ranks know of the error
};

class Ranks {
 public:
  static Ranks& here();

  // Meets the others, where a launcher started several, or where that is asked for. Throws Error without MPI.
  void join(bool requested);
  Communicator* communicator();  // null: this process is alone
  bool speaks() const;           // alone, or rank 0
  // "mpirun started 4 ranks": throws where there are several, for what only one process does.
  void demand_alone(const std::string& what) const;

  // Tells the error once, takes leave of the others, and gives the exit code.
  int end(const End& how);

 private:
  Ranks();
  void share(End& how);

  std::optional<Launcher> launcher_;
  std::unique_ptr<Communicator> communicator_;
  bool requested_ = false;
};

}  // namespace tessera::cli
