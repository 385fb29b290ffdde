// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/mpi/launcher.hpp"
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <string_view>
#include <vector>

namespace tessera {

namespace {

template <class Number = int>
std::optional<Number> number(const Environment& environment, const char* name) {
  const char* const text = environment(name);
  if (text == nullptr) return std::nullopt;
  const std::string_view word = text;
  Number value = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failed != std::errc() || end != word.data() + word.size() || value < 0) return std::nullopt;
  return value;
}

// SLURM sets its variables for everything within an allocation: a batch script and a shell of `salloc` are
// steps, too, with the largest numbers of 32 bits. Any other step was started by srun.
std::optional<Launcher> step_of_slurm(const Environment& environment) {
  constexpr std::int64_t min_special = 0xfffffff0;
  auto step = number<std::int64_t>(environment, "SLURM_STEP_ID");
  if (!step) step = number<std::int64_t>(environment, "SLURM_STEPID");
  const auto tasks = number(environment, "SLURM_STEP_NUM_TASKS");
  if (!step || *step >= min_special || !tasks || *tasks == 0) return std::nullopt;
  return Launcher{"SLURM_STEP_NUM_TASKS", number(environment, "SLURM_PROCID"), tasks};
}

}  // namespace

std::optional<Launcher> find_launcher(const Environment& environment) {
  if (const char* const library = environment("TESSERA_MPI");
      library != nullptr && library == std::string_view("none"))
    return std::nullopt;
  constexpr const char* sizes[][2] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                      {"PMI_SIZE", "PMI_RANK"},
                                      {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"}};
  for (const auto& [size, rank] : sizes)
    if (const auto ranks = number(environment, size); ranks && *ranks > 0)
      return Launcher{size, number(environment, rank), ranks};
  for (const char* const rank :
       {"PMIX_RANK", "PMI_RANK", "PALS_RANKID", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK"}) {
    if (!number(environment, rank)) continue;
    auto size = number(environment, "SLURM_STEP_NUM_TASKS");
    if (!size) size = number(environment, "SLURM_NTASKS");
    return Launcher{rank, number(environment, rank), size};
  }
  return step_of_slurm(environment);
}

namespace {

namespace fs = std::filesystem;

// Returns the file that the user named; then no other place is searched.
std::string named_library() {
  const char* const named = std::getenv("TESSERA_MPI");
  return named == nullptr ? "" : named;
}

std::vector<std::string> places() {
  if (std::string named = named_library(); !named.empty()) return {std::move(named)};
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

struct Loaded {
  void* handle;
  std::string file;
};

Loaded load(const std::optional<Launcher>& launcher) {
  if (named_library() == "none")
    throw Error("TESSERA_MPI=none says that this process is alone, but ranks were asked for");
  const auto tried = places();
  for (const std::string& place : tried) {
    std::error_code none;
    if (!fs::exists(place, none)) continue;
    if (fs::is_directory(place, none)) throw without_mpi(launcher, place + " is a folder");
    // RTLD_GLOBAL, because Open MPI's own plug-ins look for its symbols in the global scope. A name without a
    // folder means the current folder, not the linker's search path.
    const std::string path = fs::absolute(place).string();
    if (void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL)) return {handle, place};
    throw without_mpi(launcher, dlerror());
  }
  throw without_mpi(launcher,
                    named_library().empty()
                        ? tried.front() +
                              " is not there: this build was made without MPI (tools/setup mpi installs what "
                              "it needs)"
                        : "TESSERA_MPI names " + tried.front() + ", which is not there");
}

template <class Function>
Function function(void* handle, const char* name) {
  return reinterpret_cast<Function>(dlsym(handle, name));
}

// An MPI other than the launcher's sees one rank, and so do srun's tasks without an interface to connect by:
// each task would compute everything, and overwrite the others' files.
void require_seen(const std::optional<Launcher>& launcher, const Communicator& seen,
                  const std::string& library) {
  if (!launcher) return;
  const bool sizes = !launcher->size || *launcher->size == seen.size();
  if (sizes && (!launcher->rank || *launcher->rank == seen.rank())) return;
  std::string what = std::to_string(seen.size()) + (seen.size() == 1 ? " rank" : " ranks");
  if (sizes)
    what = "rank " + std::to_string(seen.rank()) + " of " + what + " where " + launcher->name +
           " says rank " + std::to_string(*launcher->rank);
  throw without_mpi(launcher,
                    library + " uses " + seen.name() + ", which sees " + what +
                        ": it was built for another MPI than the launcher's, or the launcher gives it no way "
                        "to find the others (srun: --mpi=pmix or pmi2). With TESSERA_MPI=none each computes "
                        "alone");
}

}  // namespace

std::unique_ptr<Communicator> open_mpi(const std::optional<Launcher>& launcher) {
  const auto [handle, library] = load(launcher);
  const auto interface_of = function<int (*)()>(handle, "tessera_mpi_interface");
  const auto world = function<Communicator* (*)()>(handle, "tessera_mpi_world");
  if (interface_of == nullptr || world == nullptr || interface_of() != mpi_interface)
    throw without_mpi(launcher, library + (interface_of == nullptr || world == nullptr
                                               ? " is not this program's library for MPI"
                                               : " is of another version of this program"));
  std::unique_ptr<Communicator> out(world());
  require_seen(launcher, *out, library);
  return out;
}

}  // namespace tessera
