# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of --batch-invariant: products of language models with few and with many rows, with the option and without it in turn."""
import json
import math
import pathlib
import subprocess
import time

import calls

TYPES = ("bf16", "f16", "e4m3", "tf32", "f32")
ROWS = (1, 4, 16, 32, 64, 512, 2048, 8192)
LARGEST_WEIGHTS = 20000 * 8192  # larger ones need no split sums, and their random numbers take minutes
ORDER = ((), ("--batch-invariant",), ("--batch-invariant",), ())
LEAST_MEAN, LEAST = 0.97, 0.85


def weights():
    return sorted({(n, k) for _, n, k in calls.shapes.language_models() if n * k <= LARGEST_WEIGHTS}, key=lambda one: one[0] * one[1])


def times_of(path):
    """Returns a call's seconds in a graph and its variant, by its number of rows; calls that were not measured are left out."""
    rows = json.loads(path.read_text())["rows"]
    return {row["dims"]["m"]: (row["calls"]["graph"]["median"], row["variant"])
            for row in rows if not row["baseline"] and "graph" in row.get("calls", {})}


def measure(tessera, folder, name, limit=570):
    """Writes matmul-invariant-TYPE.json: the time without the option over that with it. Returns True if the mean and the least are large enough."""
    out, end, path = [], time.monotonic() + limit, pathlib.Path(folder) / "run.json"
    for n, k in weights():
        seen = [{}, {}]
        for option in ORDER:
            words = ["bench", "matmul", "--call", calls.shapes.word([(m, n, k) for m in ROWS]), "--op-b", "transpose", *calls.TYPES[name],
                     "--device", "cuda", "--no-verify", "--reps", "9", "--time", "0.05", *option, "--json", str(path)]
            path.unlink(missing_ok=True)
            left = end - time.monotonic()
            if left < 1 or subprocess.run(["timeout", "--signal=INT", str(left), tessera, *words], stdout=subprocess.DEVNULL, check=False).returncode:
                break
            for m, one in times_of(path).items():
                seen[bool(option)][m] = min(one, seen[bool(option)].get(m, one))
        for m in ROWS:
            if m in seen[0] and m in seen[1]:
                out.append({"m": m, "n": n, "k": k, "ratio": seen[0][m][0] / seen[1][m][0], "free": seen[0][m], "invariant": seen[1][m]})
                print("%5d × %5d × %5d  %.2f  %.1f µs %s, %.1f µs %s" % (m, n, k, out[-1]["ratio"], *(x for one in seen for x in (one[m][0] * 1e6, one[m][1]))),
                      flush=True)
    path.unlink(missing_ok=True)
    if not out:
        return False
    mean, least = math.exp(sum(math.log(one["ratio"]) for one in out) / len(out)), min(one["ratio"] for one in out)
    print(f"{name}: {len(out)} products, mean {mean:.3f}, least {least:.2f}", flush=True)
    (pathlib.Path(folder) / f"matmul-invariant-{name}.json").write_text(
        calls.a_line_a_row({"mean": mean, "least": least, "rows": out}))
    return mean >= LEAST_MEAN and least >= LEAST
