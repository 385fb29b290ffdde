# SPDX-License-Identifier: Apache-2.0
"""What tests of several ranks share: how ranks are started, and what launchers leave in the environment."""
import os
import subprocess

import cli_case

# Of tests in a container, and with more ranks than processors. No network is used, and none is looked for.
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
       "OMPI_MCA_btl": "self,vader", "OMPI_MCA_pml": "ob1", "OMPI_MCA_hwloc_base_binding_policy": "none",
       "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_mpi_yield_when_idle": "1", "OPENBLAS_NUM_THREADS": "1"}


STEP = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "4", "SLURM_STEP_NUM_TASKS": "4"}  # of srun -n 4
# What single processes of several find in the environment, each of which MPI takes for one alone.
STRAY = ({**STEP, "SLURM_PROCID": "1"}, {**STEP, "SLURM_PROCID": "0"}, {"PMIX_RANK": "1"}, {"PMI_RANK": "3"}, {"PALS_RANKID": "1"},
         {"MV2_COMM_WORLD_SIZE": "4", "MV2_COMM_WORLD_RANK": "1"})


def ranks(launcher, count, *words, program=cli_case.PROGRAM, **environment):
    return subprocess.run([launcher, "-n", str(count), program, *words], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **MPI, **environment})


def said(done):
    """What the program itself said on standard error: mpirun tells of exit codes besides."""
    return [line for line in done.stderr.splitlines() if line.startswith("tessera: ")]


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()
