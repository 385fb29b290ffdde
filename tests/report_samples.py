# SPDX-License-Identifier: Apache-2.0
"""Result files of every kind, made up, with what a report must bear: markup in names, holes, failures. And some that
the program itself has just measured."""
import math

HOSTILE = "</script><script>window.broken = 1</script><img src=x onerror='window.broken = 2'>\"&"
WORK = 2 * 1024**3


def document(kind, rows, **more):
    return {"schema": 1, "kind": kind, "operation": "product", "date": "2030-01-02T03:04:05Z",
            "argv": ["tessera", kind, HOSTILE], "version": "1.0", "git": "0123abc", "compiler": "g++", "flags": "-O3",
            "machine": {"processor": "a processor", "system": "a system", "threads": 2, "memory_bytes": 1 << 30},
            "devices": [{"label": "cuda:0", "name": "A GPU",
                         "ceilings": {"memory_gbps": 4000, "gflops": {"f32": 60000}}}],
            "rows": rows, **more}


def row(variant, place, gflops, tuning=None, **more):
    median = WORK / gflops / 1e9 if gflops else None
    return {"dims": {"m": 1024, "n": 1024, "k": 1024}, "element": "f32", "ladder": "gpu", "place": place,
            "variant": variant, "tuning": tuning or {}, "device": "cuda:0", "baseline": False, "serial": False,
            "median": median, "q1": median and median * 0.99, "q3": median and median * 1.02,
            "minimum": median and median * 0.98, "samples": 20, "gflops": gflops, "bytes": 12 * 1024**2,
            "gbps": median and 12 * 1024**2 / median / 1e9, "verified": "ok" if gflops else "unchecked", **more}


def bench():
    rows = [row("library", 0, 50000, baseline=True), row("first", 1, 17), row("better", 3, 3800, {"x": 16}),
            row("better", 3, 3000, {"x": 32}), row("best", 10, 48000, ratio_baseline=0.96, roofline=0.8, ceiling="arithmetic"),
            row("broken", 11, 9000, verified="wrong"), row(HOSTILE, 12, None, reason=HOSTILE)]
    small = [{**r, "dims": {"m": 256, "n": 256, "k": 256}} for r in rows]
    return document("bench", small + rows)


def sweep():
    rows = []
    for x in (4, 8, 16, 32, 64):
        for y in (1, 2, 4, 8, 16, 32):
            if x * y > 1024:
                rows.append(row("swept", 3, None, {"x": x, "y": y}, reason=f"a block has {x * y} threads, most are 1024"))
            else:
                rows.append(row("swept", 3, 900 + 3000 * math.exp(-((math.log2(x * y) - 7) ** 2) / 6), {"x": x, "y": y}))
    return document("sweep", rows)


def tune():
    rows = [row("tuned", 8, None if i % 9 == 4 else 1000 + (i * 7919 % 101) * 20, {"tile": 4 << i % 4, "unroll": i % 3},
                **({"reason": "does not launch"} if i % 9 == 4 else {})) for i in range(40)]
    return document("tune", rows)


def trace():
    def traced(variant, place, sectors, cgma, conflicts, findings):
        requests = 1 << 20
        lines = [("for (int l = 0; l < k; ++l)", {}),
                 ("  sum = multiply_add(a(row, l), b(l, col), sum);",
                  {"global_load.requests": requests, "global_load.sectors": requests * sectors}),
                 ("  shared.a[y][x] = " + HOSTILE, {"shared_store.wavefronts": requests / 8}),
                 ("c(row, col) = sum;", {"global_store.sectors": 8192})]
        return {"dims": {"m": 256, "n": 256, "k": 256}, "element": "f32", "ladder": "gpu", "place": place,
                "variant": variant, "tuning": {"x": 32, "y": 32}, "device": "simt",
                "counters": {"global_load.requests": requests, "global_load.sectors": requests * sectors,
                             "global_load.sectors_per_request": sectors, "shared_load.requests": requests,
                             "shared_load.wavefronts": requests + conflicts, "shared_load.conflicts": conflicts,
                             "barriers": 512, "cgma": cgma, "occupancy": 1.0},
                "lines": [{"file": "kernel.simt.cu", "line": 30 + i, "text": text, **counters}
                          for i, (text, counters) in enumerate(lines)],
                "findings": findings}
    race = {"kind": "race", "file": HOSTILE, "line": 41, "text": "thread (3,0) reads what thread (4,0) writes " + HOSTILE}
    return document("trace", [traced("scattered", 2, 16.5, 1, 0, []), traced("tiled", 5, 4, 16, 400000, [race])],
                    devices=[{"label": "simt", "name": "executor"}])


def split():
    return document("bench", [row("shared_out", 20, 90000, split=[
        {"device": "cuda:0", "share": 0.51, "seconds": 0.0021, "gflops": 46000},
        {"device": "cuda:1", "share": 0.49, "seconds": 0.0019, "gflops": 44000}])])


def study():
    strips = [65536 * 2 ** i for i in range(6)]
    rows = [[n, -1.2 * n ** -1.5, 3.14, 1e-12 * n, [0.1, 0.2, 0.15], -3e-8, None if n == strips[2] else 4e-9] for n in strips]
    threads = [[1, 4 ** i, 4 ** i, [1 / 4 ** i] * 5, 4 ** i, 1.0, 3.14, 1e-5] for i in range(3)]
    return document("study", [], study="precision", tables=[
        {"title": "Float against double " + HOSTILE, "columns": ["strips", "predicted error", "float, plain", "its error", "its time", "pairwise", HOSTILE],
         "shows": ["digits", "error", "digits", "error", "seconds", "error", "error"], "rows": rows, "remarks": ["It drifts. " + HOSTILE]},
        {"title": "Threads", "columns": ["block", "thread", "threads", "time", "gain", "efficiency", "result", "error"],
         "shows": ["digits", "digits", "digits", "seconds", "ratio", "ratio", "digits", "error"], "rows": threads, "remarks": []}])


# What each verb writes, of small problems on the executor.
MEASURED = {
    "sweep": ("sweep", "matmul", "m=32", "n=m", "k=m", "--device", "simt", "--variant", "per_element", "--reps", "3",
              "--over", "x=8:64:x2", "--over", "y=1:32:x2"),
    "tune": ("tune", "matmul", "m=32", "n=m", "k=m", "--device", "simt", "--variant", "coarsened", "--reps", "2",
             "--over", "tile=4,8,64"),
    "trace": ("trace", "matmul", "m=64", "n=m", "k=m", "--variant", "per_element,shared_tiles"),
}


def measured(run, folder):
    """Runs each, and gives the files' paths by name. `run` takes the program's words."""
    out = {}
    for name, words in MEASURED.items():
        out[name] = folder / f"measured_{name}.json"
        cache = ("--cache", folder / "measured_cache.jsonl") if name == "tune" else ()
        run(*words, *cache, "--json", out[name])
    return out


ALL = {"bench": bench, "sweep": sweep, "tune": tune, "trace": trace, "split": split, "study": study}
