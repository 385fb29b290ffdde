# SPDX-License-Identifier: Apache-2.0
"""Measures what tools/product_tables.py makes tables of: matmul-products-TYPE.json and matmul-products-TYPE-odd.json. A file
that is there already is resumed, so several calls of one build make it together."""
import math
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from product_tables import CUBES, LARGEST, ODD, OTHERS, TYPES  # noqa: E402

LARGE = 3e10  # multiply-adds


def plans_of(name):
    """The benches of a type: the end of the file's name, shapes, layouts of A and B, more flags."""
    own = TYPES[name][2]
    # rotated=1 is the tuning of cuBLASLt that tries its algorithms on such inputs, too.
    rotated = ["--rotate", "--tuning", "rotated=1"]
    short = [*rotated, "--reps", "15", "--pause", "0.005", "--sustained", "0.4"]
    long = [*rotated, "--reps", "10", "--pause", "0.02", "--sustained", "0.6"]  # large products heat the device up
    several = [shape for shape in CUBES + OTHERS if shape != LARGEST]
    large = [shape for shape in several if math.prod(shape) >= LARGE]
    yield "", [shape for shape in several if shape not in large], own, short
    yield "", large, own, long
    # 16384³ takes the host long to check, and doubles and strict f32 the device long to compute.
    if own[1] == "transpose" and name not in ("f64", "f32-columns"):
        yield "", [LARGEST], own, ["--no-verify", *long]
    yield "-odd", ODD, own, long


def measure(tessera, folder):
    """False where a bench failed; the others go on."""
    passed = True
    for name, (_, variant, _, words, _) in TYPES.items():
        for end, shapes, layout, more in plans_of(name):
            sizes = "(m,n,k)=" + ",".join("(%d,%d,%d)" % shape for shape in shapes)
            done = subprocess.run([tessera, "bench", "matmul", sizes, "--op-a", layout[0], "--op-b", layout[1], "--device", "cuda", "--no-serial",
                                   "--variant", "cublas," + variant, "--time", "60", *words, *more, "--resume",
                                   "--json", f"{folder}/matmul-products-{name}{end}.json"], timeout=300, check=False)
            passed = passed and done.returncode == 0
    return passed
