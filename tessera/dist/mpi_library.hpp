// SPDX-License-Identifier: Apache-2.0
// MPI, found when the program runs: a shared library beside the program or where it was installed.
#pragma once
#include <memory>
#include "tessera/dist/communicator.hpp"
#include "tessera/dist/mpi_launcher.hpp"

namespace tessera::dist {

// Of what library and program hand to each other; to be raised whenever Communicator or Pending change.
inline constexpr int mpi_interface = 3;

// All ranks that a launcher has started; without one, or with one that started only this, a single rank. Once
// in a process. Throws Error of kind no_device where there is no such library, or it is not one of the
// launcher's MPI. TESSERA_MPI names the library's file.
std::unique_ptr<Communicator> open_mpi(const std::optional<Launcher>& launcher);

}  // namespace tessera::dist
