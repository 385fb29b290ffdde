#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tessera code` against what the assembler itself says, where nvcc is there.   code_test.py PROGRAM"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = """
struct alignas(16) Four { float x, y, z, w; };
__global__ void tiles(float* a, const float* b, Four* c, const Four* d, double* e, const double2* g) {
  __shared__ float s[32][32];
  __shared__ double t[64];
  const int i = threadIdx.x;
  s[i][0] = b[i]; t[i] = e[i] + g[i].x * g[i].y; c[i] = d[i];
  __syncthreads();
  float sum = 0;
  #pragma unroll
  for (int j = 0; j < 32; ++j) sum = fmaf(s[j][i], s[i][j], sum);
  a[i] = sum + b[i + 64];
  e[i] = t[63 - i];
}
__global__ void __launch_bounds__(1024, 2) spilling(float* a, int n) {
  float x[64];
  #pragma unroll
  for (int i = 0; i < 64; ++i) x[i] = a[i * 1024 + threadIdx.x];
  for (int k = 0; k < n; ++k) {
    #pragma unroll
    for (int i = 0; i < 64; ++i) x[i] = fmaf(x[i], x[(i * 7 + 1) & 63], a[i]);
  }
  #pragma unroll
  for (int i = 0; i < 64; ++i) a[i * 1024 + threadIdx.x] = x[i];
}
"""


def same(what, got, wanted):
    if got != wanted:
        sys.exit(f"{what}: {got} instead of {wanted}")


def code(program, path, *words):
    done = subprocess.run([program, "code", path, "--json", "-", *words], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return {row["kernel"].split("(")[0]: row for row in json.loads(done.stdout)["rows"]}


def assembler_says(text):
    """Of each kernel: registers, bytes of stack, spills and shared memory, as ptxas -v prints them."""
    out = {}
    for part in text.split("Compiling entry function '")[1:]:
        def figure(pattern):
            found = re.search(pattern, part)
            return int(found[1]) if found else 0
        out[re.match(r"_Z\d+([a-z]+)", part)[1]] = {
            "registers": figure(r"Used (\d+) registers"), "stack_bytes": figure(r"(\d+) bytes stack frame"),
            "spill_store_bytes": figure(r"(\d+) bytes spill stores"), "spill_load_bytes": figure(r"(\d+) bytes spill loads"),
            "shared_bytes": figure(r"(\d+) bytes smem")}
    return out


program = os.path.abspath(sys.argv[1])
nvcc = shutil.which("nvcc", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin:/opt/cuda/bin")
if nvcc is None:
    print("no nvcc: skipped")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    source, cubin = folder / "k.cu", folder / "k.cubin"
    source.write_text(SOURCE)
    for architecture in ("80", "90a"):
        said = subprocess.run([nvcc, f"-arch=sm_{architecture}", "-cubin", "-Xptxas", "-v", "-o", str(cubin), str(source)],
                              capture_output=True, text=True, timeout=300)
        if said.returncode != 0:
            print("nvcc does not work: skipped\n" + said.stderr)
            sys.exit(77)
        kernels, wanted = code(program, str(cubin)), assembler_says(said.stderr)
        same("kernels", sorted(kernels), ["spilling", "tiles"])
        for name, figures in wanted.items():
            for key, value in figures.items():
                same(f"sm_{architecture} {name} {key}", kernels[name][key], value)
        assert wanted["spilling"]["spill_load_bytes"] > 0, "the kernel that should spill does not"
        tiles = kernels["tiles"]
        same("architecture", tiles["architecture"], int(architecture.rstrip("a")))
        same("FMA", tiles["fma32"], 32)
        same("barriers", tiles["barriers"], 1)
        same("global stores", tiles["global_store"], {"narrow": 0, "32": 1, "64": 1, "128": 1})
        same("global loads of 128", tiles["global_load"]["128"], 2)
        shared = tiles["shared_load"]
        same("bytes that a lane loads from shared memory", 4 * shared["32"] + 8 * shared["64"] + 16 * shared["128"], 4 * 64 + 8)
        assert shared["128"] > 0, "the assembler joined no loads"
    for word, meant in (("tilse", "did you mean 'tiles'?"), ("conquering", "there is spilling, tiles")):
        done = subprocess.run([program, "code", str(cubin), "--kernel", word], capture_output=True, text=True, timeout=120)
        same("exit code for a kernel that is not there", done.returncode, 2)
        assert meant in done.stderr, done.stderr
    # As programs hold it: compressed as nvcc likes, and not at all; PTX beside it, and PTX alone.
    one = code(program, str(cubin))
    for mode in ("none", "default"):
        built = folder / f"{mode}.o"
        subprocess.run([nvcc, "-gencode", "arch=compute_75,code=compute_75", "-gencode", "arch=compute_90a,code=sm_90a",
                        f"--compress-mode={mode}", "-c", "-o", str(built), str(source)], check=True, timeout=300)
        done = subprocess.run([program, "code", str(built)], capture_output=True, text=True, timeout=120)
        if done.returncode != 0 and mode == "default" and "compressed in a way" in done.stderr:
            continue  # a build without the library that unpacks
        for name, row in code(program, str(built)).items():
            same(f"{mode} {name}", {**row, "symbol": ""}, {**one[name], "symbol": ""})
    ptx = folder / "ptx.o"
    subprocess.run([nvcc, "-gencode", "arch=compute_75,code=compute_75", "-c", "-o", str(ptx), str(source)], check=True, timeout=300)
    done = subprocess.run([program, "code", str(ptx)], capture_output=True, text=True, timeout=120)
    same("exit code for PTX alone", done.returncode, 2)
    assert "holds PTX only" in done.stderr, done.stderr
    # Damage of what is compressed.
    whole = (folder / "default.o").read_bytes()
    start = whole.find(b"\x28\xb5\x2f\xfd")
    for at in range(max(start, 0), min(start + 4000, len(whole)), 211):
        (folder / "bad.o").write_bytes(whole[:at] + bytes([whole[at] ^ 0xff]) + whole[at + 1:])
        done = subprocess.run([program, "code", str(folder / "bad.o")], capture_output=True, text=True, timeout=120)
        if done.returncode not in (0, 2):
            sys.exit(f"byte {at} damaged: exit code {done.returncode}\n{done.stderr}")
