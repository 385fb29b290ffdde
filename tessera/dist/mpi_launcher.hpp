// SPDX-License-Identifier: Apache-2.0
// Whether a launcher (mpirun, srun) started this process as one of several, told by the environment, so that
// MPI is asked for only where it is needed.
#pragma once
#include <functional>
#include <optional>
#include <string>

namespace tessera::dist {

struct Launcher {
  std::string name;         // the variable that told
  std::optional<int> rank;  // missing: MPI has to tell
  std::optional<int> size;

  bool started_several() const { return !size || *size > 1; }
};

using Environment = std::function<const char*(const char*)>;  // as std::getenv

// Open MPI's own variables, PMI's (MPICH and its kin, srun --mpi=pmi2), PMIx's (srun --mpi=pmix), whose size
// only SLURM tells. SLURM's alone say nothing: they are set for whatever runs within an allocation.
// TESSERA_MPI=none: nobody started it.
std::optional<Launcher> find_launcher(const Environment& environment);

}  // namespace tessera::dist
