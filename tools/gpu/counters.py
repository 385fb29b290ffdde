# SPDX-License-Identifier: Apache-2.0
"""Nsight Compute's counters of products, ours and cuBLASLt's, as lines of comma-separated values.
A kernel is profiled alone, at the clock that the device takes by itself. Of a kernel launched again and again the quickest
launch counts; of cuBLASLt, which tries its algorithms, the quickest kernel of the first twelve."""
import csv
import io
import re
import shutil
import subprocess
import sys

SECTIONS = ["SpeedOfLight", "ComputeWorkloadAnalysis", "MemoryWorkloadAnalysis", "WarpStateStats", "LaunchStats"]
# A column of the table, and ncu's metric.
COLUMNS = [("Duration [ns]", "Duration"), ("SM Frequency [Hz]", "SM Frequency"), ("SM Busy [%]", "SM Busy"),
           ("Executed Ipc Active", "Executed Ipc Active"), ("L1/TEX Cache Throughput [%]", "L1/TEX Cache Throughput"),
           ("L2 Cache Throughput [%]", "L2 Cache Throughput"), ("DRAM Throughput [%]", "DRAM Throughput"),
           ("Mem Pipes Busy [%]", "Mem Pipes Busy"), ("L2 Hit Rate [%]", "L2 Hit Rate"),
           ("Warp Cycles Per Issued Instruction", "Warp Cycles Per Issued Instruction"),
           ("Registers Per Thread", "Registers Per Thread"), ("Block Size", "Block Size"), ("Grid Size", "Grid Size")]
HEADER = ["product", "variant", "kernel", *(name for name, _ in COLUMNS)]
OURS = "regex:multiply_tiles|multiply_blocks|realign_copy|transpose_copy|entry"
TF32 = ["f32", "--compute", "tf32"]
FAST = ["e4m3", "--accumulate", "fast"]
# Name, sizes, element and what belongs to it, variants.
BOTH = ["cluster", "cublas"]
PRODUCTS = [
    ("bf16-512", "512,512,512", ["bf16"], BOTH),
    ("bf16-2048", "2048,2048,2048", ["bf16"], BOTH),
    ("bf16-4096", "4096,4096,4096", ["bf16"], BOTH),
    ("bf16-4096x7168x2048", "4096,7168,2048", ["bf16"], BOTH),
    ("bf16-8192x8192x512", "8192,8192,512", ["bf16"], BOTH),
    ("bf16-1024x1024x16384", "1024,1024,16384", ["bf16"], BOTH),
    ("bf16-4095x4097x4093", "4095,4097,4093", ["bf16"], BOTH),
    ("bf16-4104", "4104,4104,4104", ["bf16"], BOTH),
    ("e4m3-4096", "4096,4096,4096", ["e4m3"], BOTH),
    ("e4m3-8192", "8192,8192,8192", ["e4m3"], BOTH),
    ("e4m3-8192x8192x512", "8192,8192,512", ["e4m3"], BOTH),
    ("e4m3-4095x4097x4093", "4095,4097,4093", ["e4m3"], ["cluster"]),
    ("e4m3 fast-8192x8192x512", "8192,8192,512", FAST, BOTH),
    ("e4m3 fast-1024x1024x16384", "1024,1024,16384", FAST, BOTH),
    ("i8-4096", "4096,4096,4096", ["i8"], BOTH),
    ("i8-4095x4097x4093", "4095,4097,4093", ["i8"], ["cluster"]),
    ("tf32-4096", "4096,4096,4096", TF32, BOTH),
    ("tf32-4096x7168x2048", "4096,7168,2048", TF32, BOTH),
    ("tf32-4095x4097x4093", "4095,4097,4093", TF32, BOTH),
    ("f64-4096", "4096,4096,4096", ["f64"], ["tensor_cores", "cublas"]),
    ("f64-8192x8192x512", "8192,8192,512", ["f64"], ["tensor_cores", "cublas"]),
    ("f32-2048t", "2048,2048,2048", ["f32"], ["warp_tiles", "cublas"]),
    ("f32-64x7168x2112t", "64,7168,2112", ["f32"], ["warp_tiles", "cublas"]),
    ("f32-128x4096x7168t", "128,4096,7168", ["f32"], ["warp_tiles", "cublas"]),
]


def number(text):
    return float(text.replace(",", ""))


def shortened(kernel):
    """Without what all kernels have in common: the first 60 characters tell them apart."""
    kernel = re.sub(r"tessera::(\w+::)*|\b\w+::(?=[A-Z])|\((int|bool)\)", "", kernel)
    kernel = re.sub(r"^void ", "", kernel)
    return kernel[:60]


def launches_of(text):
    """Each profiled launch: its kernel's name and its metrics."""
    start = text.find('"ID"')
    if start < 0:
        return []
    found = {}
    for row in csv.DictReader(io.StringIO(text[start:])):
        launch = found.setdefault(row["ID"], {"kernel": row["Kernel Name"]})
        launch[row["Metric Name"]] = row["Metric Value"]
    return list(found.values())


def lines_of(product, variant, launches):
    """One line for each kernel and grid, of its quickest launch; of cuBLASLt the quickest of all."""
    best = {}
    for launch in launches:
        # What adds up the parts of a sum is a kernel of its own, and no product.
        if "splitKreduce" in launch["kernel"] or not number(launch.get("Duration", "nan")) > 0:
            continue
        key = "" if variant == "cublas" else (launch["kernel"], launch.get("Grid Size"))
        if key not in best or number(launch["Duration"]) < number(best[key]["Duration"]):
            best[key] = launch
    return [[product, variant, shortened(one["kernel"]),
             *(one.get(metric, "n/a").replace(",", "") for _, metric in COLUMNS)] for one in best.values()]


def profiled(ncu, tessera, sizes, element, variant):
    kernels = ["--kernel-name", OURS, "--launch-count", "6"] if variant != "cublas" else ["--launch-count", "12"]
    words = [ncu, "--clock-control", "none", "--csv", "--page", "details", "--print-units", "base", *kernels]
    for section in SECTIONS:
        words += ["--section", section]
    words += [tessera, "bench", "matmul", f"(m,n,k)=({sizes})", "--op-b", "transpose", "--device", "cuda", "--no-serial",
              "--no-verify", "--profile", "--reps", "2", "--time", "0.01", "--variant", variant, "--element", *element]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        print(f"counters: {variant} {sizes}: {(done.stdout + done.stderr)[-500:]}", file=sys.stderr)
    return launches_of(done.stdout)


def measure(tessera, path):
    """Profiles every product into a file; false where one gave nothing."""
    ncu = shutil.which("ncu") or "/usr/local/cuda/bin/ncu"
    complete = True
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(HEADER)
        for product, sizes, element, variants in PRODUCTS:
            for variant in variants:
                lines = lines_of(product, variant, profiled(ncu, tessera, sizes, element, variant))
                complete = complete and bool(lines)
                table.writerows(lines)
                file.flush()
    return complete
