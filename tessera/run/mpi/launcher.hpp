// SPDX-License-Identifier: Apache-2.0
// Ranks that a launcher (mpirun, srun) started, and MPI, a shared library that is loaded only when it is
// needed.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include "tessera/run/mpi/communicator.hpp"

namespace tessera {

struct Launcher {
  std::string name;         // the variable that told
  std::optional<int> rank;  // missing: MPI has to tell
  std::optional<int> size;

  bool started_several() const { return !size || *size > 1 || rank.value_or(0) > 0; }
};

using Environment = std::function<const char*(const char*)>;  // as std::getenv

// Open MPI's own variables; PMI's (MPICH and its kin, srun --mpi=pmi2); MVAPICH's; PMIx's (srun --mpi=pmix)
// and PALS's, whose size only SLURM tells; else those of a step that srun started, with no interface by which
// its tasks could meet. An allocation's alone say nothing: they are set for whatever runs within it, a batch
// script among it. TESSERA_MPI=none: nobody started it.
std::optional<Launcher> find_launcher(const Environment& environment);

// Of what library and program hand to each other; to be raised whenever Communicator or Pending change.
inline constexpr int mpi_interface = 5;

// All ranks that a launcher has started; without one, or with one that started only this, a single rank. Once
// in a process. Throws Error of kind no_device where there is no such library, or it is not one of the
// launcher's MPI. TESSERA_MPI names the library's file.
std::unique_ptr<Communicator> open_mpi(const std::optional<Launcher>& launcher);

}  // namespace tessera
