#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which of a program's kernels for compute capability 9.0 use local memory, and how much: no more than is listed here.
local_memory_test.py PROGRAM"""
import collections
import json
import pathlib
import re
import subprocess
import sys

COMPILER = "nvcc 13.0"  # whose code the list is of
FORMULAS = "formulas are interpreted: their values lie where the program says"
SUMS = FORMULAS + "; exact and pairwise sums have their digits and subtrees there"
STRIPS = SUMS + "; and spills: a block of 1024 threads leaves 64 registers for each"
HALVES = SUMS + "; and spills: a block of 512 threads leaves 128 registers for each"
TAPS = "the weights of a tap are indexed by a loop that stays one"
KERNELS = {  # name: how many, the largest one's bytes a thread, what for
    "cub": (12, 10304, "another's; of integrals whose formulas are interpreted"),
    "filtering::Packed": (1, 16, "spills: six blocks to a multiprocessor leave 80 registers"),
    "integrate_batch::ThreadPerIntegral": (1, 1472, FORMULAS),
    "integrate_batch::WarpPerIntegral": (1, 1488, FORMULAS),
    "integration::EstimateRegions": (1, 1840, FORMULAS),
    "integration::GridStride": (2, 1680, STRIPS),
    "integration::OneLaunch": (2, 3296, HALVES),
    "integration::OneThread": (2, 2832, SUMS),
    "integration::SampleTasks": (1, 1232, FORMULAS),
    "integration::StripsPerThread": (2, 1696, STRIPS),
    "integration::WarpSums": (2, 2576, STRIPS),
    "lightfield::Global": (12, 48, TAPS),
    "matmul::ShortSums": (2, 32, "spills: of f64 and i8, whose blocks beside each other leave 128 registers a thread"),
    "resizing::Matrices": (1, 32, "spills: two blocks of 256 threads to a multiprocessor leave 128 registers"),
}


def name_of(kernel):
    kernel = kernel.replace("(anonymous namespace)::", "")
    if re.match(r"void cub::", kernel):
        return "cub"
    rung = re.search(r"entry<tessera::([\w:]+?)[<,>]", kernel)
    return rung.group(1) if rung else kernel.split("(")[0]


def main():
    library = pathlib.Path(sys.argv[1]).parent / "libtessera.so"
    done = subprocess.run([sys.argv[1], "code", str(library), "--json", "-"], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(done.stderr)
    report = json.loads(done.stdout)
    compiler = report.get("cuda", {}).get("compiler", "none")
    rows = [row for row in report["rows"] if row["architecture"] == 90]
    if not rows or not compiler.startswith(COMPILER):
        print(f"the list is of {COMPILER}'s code for 9.0; here: {compiler}, {len(rows)} such kernels")
        return 77
    found = collections.defaultdict(list)
    for row in rows:
        if row["stack_bytes"] or row["spill_load_bytes"] or row["spill_store_bytes"]:
            found[name_of(row["kernel"])].append(row["stack_bytes"])
    wrong = []
    for name in sorted(found.keys() | KERNELS.keys()):
        count, most = len(found[name]), max(found[name], default=0)
        listed, allowed = KERNELS.get(name, (0, 0, ""))[:2]
        if (count, most) != (listed, allowed):
            wrong.append(f"{name}: {count} kernels with local memory, {most} bytes at most; listed: {listed}, {allowed}")
    print("\n".join(wrong) or f"{len(rows)} kernels, {sum(map(len, found.values()))} with local memory, as listed")
    return 1 if wrong else 0


sys.exit(main())
