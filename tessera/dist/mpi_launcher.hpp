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

  bool started_several() const { return !size || *size > 1 || rank.value_or(0) > 0; }
};

using Environment = std::function<const char*(const char*)>;  // as std::getenv

// Open MPI's own variables; PMI's (MPICH and its kin, srun --mpi=pmi2); MVAPICH's; PMIx's (srun --mpi=pmix)
// and PALS's, whose size only SLURM tells; else those of a step that srun started, with no interface by which
// its tasks could meet. An allocation's alone say nothing: they are set for whatever runs within it, a batch
// script among it. TESSERA_MPI=none: nobody started it.
std::optional<Launcher> find_launcher(const Environment& environment);

}  // namespace tessera::dist
