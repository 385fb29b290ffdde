// SPDX-License-Identifier: Apache-2.0
// Ranks that a launcher (mpirun, srun) started, and MPI, a shared library that is loaded only when needed.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include "tessera/run/mpi/communicator.hpp"

namespace tessera {

struct Launcher {
  std::string name;         // the environment variable that revealed it
  std::optional<int> rank;  // missing: only MPI knows it
  std::optional<int> size;

  bool started_several() const { return !size || *size > 1 || rank.value_or(0) > 0; }
};

using Environment = std::function<const char*(const char*)>;  // like std::getenv

// Reads Open MPI's own variables; PMI's (MPICH and its kin, srun --mpi=pmi2); MVAPICH's; PMIx's (srun
// --mpi=pmix) and PALS's, whose size only SLURM tells; otherwise those of a step that srun started without an
// interface by which its tasks could connect. An allocation's variables alone say nothing: they are set for
// everything within it, including a batch script. TESSERA_MPI=none: no launcher.
std::optional<Launcher> find_launcher(const Environment& environment);

// Version of the interface between library and program; raise it whenever Communicator or Pending changes.
inline constexpr int mpi_interface = 5;

// Returns all ranks that a launcher has started; a single rank without a launcher, or if it started only this
// process. May be called once in a process. Throws Error of kind no_device if there is no MPI library, or it
// is not of the launcher's MPI. TESSERA_MPI names the library's file.
std::unique_ptr<Communicator> open_mpi(const std::optional<Launcher>& launcher);

}  // namespace tessera
