// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/mpi_launcher.hpp"
#include <charconv>
#include <cstdint>
#include <string_view>

namespace tessera::dist {
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

// SLURM's variables are set for all that runs within an allocation: a batch script, and a shell of `salloc`,
// are steps of their own, whose numbers are the largest of 32 bits. Any other step was started by srun.
std::optional<Launcher> step_of_slurm(const Environment& environment) {
  constexpr std::int64_t least_special = 0xfffffff0;
  auto step = number<std::int64_t>(environment, "SLURM_STEP_ID");
  if (!step) step = number<std::int64_t>(environment, "SLURM_STEPID");
  const auto tasks = number(environment, "SLURM_STEP_NUM_TASKS");
  if (!step || *step >= least_special || !tasks || *tasks == 0) return std::nullopt;
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

}  // namespace tessera::dist
