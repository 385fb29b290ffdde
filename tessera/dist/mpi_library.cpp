// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/mpi_library.hpp"
#include <dlfcn.h>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace tessera::dist {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> places() {
  if (const char* named = std::getenv("TESSERA_MPI"); named != nullptr && *named != '\0') return {named};
  std::error_code none;
  const fs::path folder = fs::read_symlink("/proc/self/exe", none).parent_path();
  const std::string name = "libtessera_mpi.so";
  return {(folder / name).string(), (folder / TESSERA_LIBRARY_FOLDER / name).lexically_normal().string()};
}

Error without_mpi(const std::optional<Launcher>& launcher, const std::string& reason) {
  const std::string why = !launcher || !launcher->size
                              ? "several ranks need MPI"
                              : "a launcher started " + std::to_string(*launcher->size) + " ranks (" +
                                    launcher->name + "), which need MPI";
  return Error(Error::Kind::no_device, why + ": " + reason);
}

void* load(const std::optional<Launcher>& launcher) {
  const auto tried = places();
  for (const std::string& place : tried) {
    std::error_code none;
    if (!fs::exists(place, none)) continue;
    // Open MPI's own plug-ins look for its symbols among everybody's.
    if (void* const handle = dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL)) return handle;
    throw without_mpi(launcher, dlerror());
  }
  throw without_mpi(launcher,
                    tried.front() +
                        " is not there: this build was made without MPI (tools/setup mpi installs what it "
                        "needs)");
}

template <class Function>
Function function(void* handle, const char* name) {
  return reinterpret_cast<Function>(dlsym(handle, name));
}

}  // namespace

std::unique_ptr<Communicator> open_mpi(const std::optional<Launcher>& launcher) {
  void* const handle = load(launcher);
  const auto told = function<int (*)()>(handle, "tessera_mpi_interface");
  const auto world = function<Communicator* (*)()>(handle, "tessera_mpi_world");
  if (told == nullptr || world == nullptr || told() != mpi_interface)
    throw without_mpi(launcher, "libtessera_mpi.so is of another version of this program");
  std::unique_ptr<Communicator> out(world());
  if (launcher && launcher->size && *launcher->size != out->size())
    throw without_mpi(launcher, "libtessera_mpi.so uses " + out->name() + ", which sees " +
                                    std::to_string(out->size()) +
                                    ": it was built for another MPI than the launcher's");
  return out;
}

}  // namespace tessera::dist
