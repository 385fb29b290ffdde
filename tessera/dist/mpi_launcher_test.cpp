// SPDX-License-Identifier: Apache-2.0
// What launchers leave in the environment, and what is none of theirs.
#include "tessera/dist/mpi_launcher.hpp"
#include <gtest/gtest.h>
#include <map>

namespace tessera::dist {
namespace {

std::optional<Launcher> launcher(const std::map<std::string, const char*>& variables) {
  return find_launcher([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second;
  });
}

TEST(Launcher, NobodyStartedIt) {
  EXPECT_FALSE(launcher({}));
  EXPECT_FALSE(launcher({{"OMPI_COMM_WORLD_SIZE", ""}}));
  EXPECT_FALSE(launcher({{"OMPI_COMM_WORLD_SIZE", "four"}}));
  EXPECT_FALSE(launcher({{"PMI_SIZE", "-3"}}));
}

TEST(Launcher, OpenMpi) {
  const auto found =
      launcher({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}, {"PMIX_RANK", "3"}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->size, 4);
  EXPECT_EQ(found->rank, 3);
  EXPECT_TRUE(found->started_several());
}

TEST(Launcher, OneRankIsAlone) {
  const auto found = launcher({{"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}});
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->started_several());
}

TEST(Launcher, Mpich) {
  const auto found = launcher({{"PMI_SIZE", "16"}, {"PMI_RANK", "0"}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->size, 16);
  EXPECT_EQ(found->rank, 0);
}

TEST(Launcher, PmixTellsNoSize) {
  const auto unknown = launcher({{"PMIX_RANK", "2"}});
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->rank, 2);
  EXPECT_FALSE(unknown->size);
  EXPECT_TRUE(unknown->started_several());
  const auto told = launcher({{"PMIX_RANK", "2"}, {"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "4"}});
  EXPECT_EQ(told->size, 4);
}

TEST(Launcher, WhoIsToldToBeAloneIsAlone) {
  EXPECT_FALSE(
      launcher({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "1"}, {"TESSERA_MPI", "none"}}));
  EXPECT_TRUE(launcher({{"OMPI_COMM_WORLD_SIZE", "4"}, {"TESSERA_MPI", "lib.so"}}));
}

TEST(Launcher, AnAllocationIsNoLauncher) {
  EXPECT_FALSE(launcher({{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "12"}}));
}

}  // namespace
}  // namespace tessera::dist
