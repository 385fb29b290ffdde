#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is written differently for older GPUs compiles for them, to the last instruction.
    older_gpus_test.py NVCC
A build makes code for its machine's GPU, or for Hopper alone; a release for every GPU since Turing. The headers
that ask for __CUDA_ARCH__ are found here, and each must be among what the files below include."""
import concurrent.futures
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
nvcc = sys.argv[1]
# Each of the least that includes what it stands for.
files = {"ops/filter/gpu_05_packed.simt.cu": (75,), "ops/filter/gpu_06_matrices.simt.cu": (75, 80),
         "ops/filter/gpu_06_streamed.simt.cu": (75,), "ops/seamcarve/gpu_03_trapezoids.simt.cu": (75,),
         "ops/matmul/gpu_12_tensor_cores.cu": (75,), "ops/matmul/kernels/mma/mma_half.cu": (80,), "ops/matmul/kernels/mma/mma_f64.cu": (80,)}


def compiled(job):
    file, architecture = job
    command = [nvcc, "-std=c++20", "-O3", "-fmad=false", "--Werror=all-warnings", "--expt-relaxed-constexpr", f"-I{root}", f"-I{root}/include",
               f"-arch=sm_{architecture}", "-cubin", "-x", "cu", "-o", "/dev/null", str(root / file)]
    return job, subprocess.run(command, capture_output=True, text=True, timeout=500)


def included(file):
    done = subprocess.run([nvcc, "-std=c++20", f"-I{root}", f"-I{root}/include", "-arch=sm_75", "-M", "-x", "cu", str(root / file)],
                          capture_output=True, text=True, check=True, timeout=100)
    return {str(pathlib.Path(name).resolve().relative_to(root)) for name in re.findall(r"[^\s\\]+", done.stdout)
            if pathlib.Path(name).resolve().is_relative_to(root)}


asking = {str(h.relative_to(root)) for folder in ("tessera", "ops") for suffix in ("hpp", "cuh", "cu")
          for h in (root / folder).rglob(f"*.{suffix}") if re.search(r"__CUDA_ARCH__\s*[<>]", h.read_text())}
assert len(asking) > 5, "there should be more files that ask for the architecture"
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    covered = set().union(*pool.map(included, files))
    results = list(pool.map(compiled, [(file, a) for file, all_of in files.items() for a in all_of]))
wrong = [f"{name} asks for the architecture, and no file here includes it" for name in sorted(asking - covered)]
for (file, architecture), done in results:
    if done.returncode != 0:
        wrong.append(f"{file} for sm_{architecture}:\n{done.stderr}")
print("\n".join(wrong) or f"{len(results)} compiled, {len(asking)} files ask for the architecture")
sys.exit(1 if wrong else 0)
