// SPDX-License-Identifier: Apache-2.0
#include "tessera/dist/mpi_launcher.hpp"
#include <charconv>
#include <string_view>

namespace tessera::dist {
namespace {

std::optional<int> number(const Environment& environment, const char* name) {
  const char* const text = environment(name);
  if (text == nullptr) return std::nullopt;
  const std::string_view word = text;
  int value = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failed != std::errc() || end != word.data() + word.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

std::optional<Launcher> find_launcher(const Environment& environment) {
  if (const char* const library = environment("TESSERA_MPI");
      library != nullptr && library == std::string_view("none"))
    return std::nullopt;
  constexpr const char* sizes[][2] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                      {"PMI_SIZE", "PMI_RANK"}};
  for (const auto& [size, rank] : sizes)
    if (const auto ranks = number(environment, size); ranks && *ranks > 0)
      return Launcher{size, number(environment, rank), ranks};
  for (const char* const rank : {"PMIX_RANK", "PMI_RANK"}) {
    if (!number(environment, rank)) continue;
    auto size = number(environment, "SLURM_STEP_NUM_TASKS");
    if (!size) size = number(environment, "SLURM_NTASKS");
    return Launcher{rank, number(environment, rank), size};
  }
  return std::nullopt;
}

}  // namespace tessera::dist
