// SPDX-License-Identifier: Apache-2.0
// Tests the detection of launchers by the environment.
#include "tessera/run/mpi/launcher.hpp"
#include <gtest/gtest.h>
#include <map>

namespace tessera {
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

TEST(Launcher, PmixReportsNoSize) {
  const auto unknown = launcher({{"PMIX_RANK", "2"}});
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->rank, 2);
  EXPECT_FALSE(unknown->size);
  EXPECT_TRUE(unknown->started_several());
  const auto counted = launcher({{"PMIX_RANK", "2"}, {"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "4"}});
  EXPECT_EQ(counted->size, 4);
}

TEST(Launcher, WhoShallBeAloneIsAlone) {
  EXPECT_FALSE(
      launcher({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "1"}, {"TESSERA_MPI", "none"}}));
  EXPECT_TRUE(launcher({{"OMPI_COMM_WORLD_SIZE", "4"}, {"TESSERA_MPI", "lib.so"}}));
}

TEST(Launcher, AnAllocationIsNoLauncher) {
  EXPECT_FALSE(launcher({{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "12"}}));
  // The steps of a batch script and of a shell: 2³² − 5 and − 6.
  for (const char* const step : {"4294967291", "4294967290"})
    EXPECT_FALSE(launcher({{"SLURM_STEP_ID", step}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_PROCID", "0"}}));
}

TEST(Launcher, TasksOfAStepAreSeveralWithoutAnInterfaceToMeet) {
  for (const char* const name : {"SLURM_STEP_ID", "SLURM_STEPID"}) {
    const auto found =
        launcher({{name, "0"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "1"}});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->size, 4);
    EXPECT_EQ(found->rank, 1);
    EXPECT_TRUE(found->started_several());
  }
  const auto one = launcher({{"SLURM_STEP_ID", "3"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}});
  EXPECT_FALSE(one->started_several());
  // mpirun within a step: its own variables take precedence.
  const auto inner =
      launcher({{"SLURM_STEP_ID", "3"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"OMPI_COMM_WORLD_SIZE", "1"}});
  EXPECT_FALSE(inner->started_several());
}

TEST(Launcher, ARankOfOneOrMoreIsOneOfSeveral) {
  for (const char* const name :
       {"PMIX_RANK", "PMI_RANK", "PALS_RANKID", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK"}) {
    const auto found = launcher({{name, "3"}});
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->rank, 3) << name;
    EXPECT_TRUE(found->started_several()) << name;
  }
  EXPECT_TRUE(launcher({{"PMI_SIZE", "1"}, {"PMI_RANK", "1"}})->started_several());
  const auto mvapich = launcher({{"MV2_COMM_WORLD_SIZE", "4"}, {"MV2_COMM_WORLD_RANK", "0"}});
  ASSERT_TRUE(mvapich);
  EXPECT_EQ(mvapich->size, 4);
}

}  // namespace
}  // namespace tessera
