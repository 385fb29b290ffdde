# SPDX-License-Identifier: Apache-2.0
"""What a program gets of a product's call, beside cuBLASLt's first heuristic and its best: matmul-call-GROUP-TYPE.json."""
import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys

TOOLS = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(TOOLS))
from product_tables import CUBES, LARGEST, OTHERS  # noqa: E402

loader = importlib.machinery.SourceFileLoader("shapes", str(TOOLS / "shapes"))
shapes = importlib.util.module_from_spec(importlib.util.spec_from_loader("shapes", loader))
loader.exec_module(shapes)

TYPES = {name: ["--element", name] for name in ("bf16", "f16", "e4m3", "i8", "f32", "f64")} | {
    name: ["--element", "f32", "--compute", name] for name in ("tf32", "tf32x3", "bf16x6", "f16x3")}
SEED = 2024  # plans are fitted on others; docs/calls_speed.md names the exceptions
GROUPS = {
    "listed": CUBES + OTHERS,
    "squares": [(side, side, side) for side in (64, 96, 128, 192, 256, 384, 512, 768, 1024)],
    # Few rows or columns; B, or A, exceeds the L2 in every type.
    "rows": [(1, 16384, 8192), (1, 8192, 28672), (2, 14336, 8192), (3, 16384, 8192), (4, 28672, 8192), (8, 16384, 8192), (12, 8192, 28672),
             (16, 16384, 8192), (16384, 1, 8192), (16384, 8, 8192), (28672, 16, 8192)],
    "random": shapes.random(SEED, 200),
    "large": [shape for shape in shapes.random(SEED, 2000) if min(shape) >= 1024][:50],
    "grid": shapes.grid(SEED, 300),
    "models": shapes.language_models(),
}


def words(group, name, path):
    sizes = [shape for shape in GROUPS[group] if shape != LARGEST or name not in ("f32", "f64")]  # those take the device too long
    return ["bench", "matmul", "--call", shapes.word(sizes), "--op-b", "transpose", *TYPES[name], "--device", "cuda", "--reps", "11",
            "--time", "0.3", "--json", str(path)]


def measure(tessera, folder, group, name, limit=560):
    """What is measured within so many seconds is kept. False where that is not all."""
    path = pathlib.Path(folder) / f"matmul-call-{group}-{name}.json"
    done = subprocess.run(["timeout", "--signal=INT", str(limit), tessera, *words(group, name, path)], check=False)
    if path.exists():
        path.write_text(a_line_a_row(json.loads(path.read_text())))
    return done.returncode == 0


def a_line_a_row(document):
    """The same document; there are too many rows for a line a number."""
    rows = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in document.pop("rows"))
    return json.dumps(document, indent=1, ensure_ascii=False)[:-2] + ',\n "rows": [\n' + rows + "\n ]\n}\n"
