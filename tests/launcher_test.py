#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What needs no MPI: how a launcher is seen, and what is said where there is no library. launcher_test.py PROGRAM"""
import ctypes.util
import os
import sys
import unittest

import cli_case
from mpi_case import STEP, STRAY


class Launchers(cli_case.Case):
    def test_several_ranks_without_mpi_are_an_error(self):
        for variables in ({"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "0"}, {"PMI_SIZE": "4", "PMI_RANK": "0"}):
            done = self.fails(5, "a launcher started 4 ranks", "matmul", "A.npy", "B.npy", "-o", "D.npy",
                              TESSERA_MPI="/nowhere/libtessera_mpi.so", **variables)
            self.assertIn("TESSERA_MPI names /nowhere/libtessera_mpi.so, which is not there", done.stderr)
            self.assertNotIn("without MPI", done.stderr)
            self.assertFalse(os.path.exists("D.npy"))
        self.fails(5, "several ranks need MPI", "matmul", "A.npy", "B.npy", "--distributed",
                   TESSERA_MPI="/nowhere/libtessera_mpi.so")
        for variables in STRAY:
            self.fails(5, "need MPI", "matmul", "A.npy", "B.npy", "-o", "D.npy", TESSERA_MPI="/nowhere/libtessera_mpi.so", **variables)
            self.assertFalse(os.path.exists("D.npy"), variables)

    def test_one_rank_in_an_allocation_is_a_single_process(self):
        for variables in ({"OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_RANK": "0"},
                          {"SLURM_NTASKS": "8", "SLURM_PROCID": "0"},
                          {**STEP, "SLURM_STEP_ID": "4294967291", "SLURM_PROCID": "0"}):  # a batch script's
            self.passes("matmul", "A.npy", "B.npy", "-o", "one.npy", TESSERA_MPI="/nowhere", **variables)

    def test_mpi_can_be_turned_off(self):
        self.passes("matmul", "A.npy", "B.npy", OMPI_COMM_WORLD_SIZE="4", OMPI_COMM_WORLD_RANK="3", TESSERA_MPI="none")

    def test_a_wrong_library_is_reported(self):
        with open("broken.so", "w") as file:
            file.write("no library")
        named = {"broken.so": "broken.so", ".": ". is a folder"}
        for library, message in named.items():
            self.fails(5, message, "matmul", "A.npy", "B.npy", "--distributed", TESSERA_MPI=library)
        other = ctypes.util.find_library("m")  # a name that is no path
        with open("/proc/self/maps", encoding="utf-8") as maps:
            paths = {line.split()[-1] for line in maps if other and line.rstrip().endswith("/" + other)}
        for path in paths:
            self.fails(5, path + " is not this program's library", "matmul", "A.npy", "B.npy", "--distributed", TESSERA_MPI=path)
        self.fails(2, "TESSERA_MPI=none", "matmul", "A.npy", "B.npy", "--distributed", TESSERA_MPI="none")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
