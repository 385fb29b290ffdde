#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What docs/low-precision.md says of products' speed: measured, and made into tables.
  tools/product_tables.py measure TESSERA FOLDER [NAME…]   on a GPU: FOLDER/matmul-products-NAME.json and …-NAME-graph.json of each type
  tools/product_tables.py merge OUT.json IN.json…          files of `tessera bench` of one build and machine as one
  tools/product_tables.py show FOLDER                      all tables
tools/readme_tables puts the tables into the page, and its test holds them to the files."""
import json
import math
import pathlib
import subprocess
import sys

# Shapes that decide: cubes, short and tall ones. Then sizes that are multiples of nothing, or of 8 alone.
CUBES = [(n, n, n) for n in (512, 1024, 2048, 4096, 8192, 16384)]
OTHERS = [(64, 7168, 2112), (128, 4096, 7168), (4096, 7168, 2048), (16, 8192, 8192), (8192, 8192, 512), (1024, 1024, 16384)]
ODD = [(4095, 4097, 4093), (4097, 4099, 4101), (4104, 4104, 4104), (5000, 4111, 4500)]
SMALL = [(n, n, n) for n in (64, 128, 256)]
WHOLE, LARGEST, PAST = (4096, 4096, 4096), (16384, 16384, 16384), (4097, 4099, 4101)
OPS = ("none", "transpose")

# Of a name: what it is called, our variant, how A and B are stored, words, and what is aimed at: the mean, the least.
TYPES = {
    "bf16": ("bf16", "cluster", ("none", "transpose"), ["--element", "bf16"], (1.03, 0.95)),
    "f16": ("f16", "cluster", ("none", "transpose"), ["--element", "f16"], (1.03, 0.95)),
    "e4m3": ("e4m3, promoted", "cluster", ("none", "transpose"), ["--element", "e4m3"], (1.03, 0.95)),
    "e4m3-fast": ("e4m3 fast", "cluster", ("none", "transpose"), ["--element", "e4m3", "--accumulate", "fast"], (1.03, 0.95)),
    "i8": ("i8", "cluster", ("none", "transpose"), ["--element", "i8"], (1.03, 0.95)),
    "tf32": ("TF32", "cluster", ("none", "transpose"), ["--element", "f32", "--compute", "tf32"], (1.0, 0.93)),
    "f64": ("f64", "tensor_cores", ("none", "transpose"), ["--element", "f64"], (1.0, 0.93)),
    "f32": ("strict f32, rows of B contiguous", "warp_tiles", ("none", "none"), ["--element", "f32"], (1.0, 0.93)),
    "f32-columns": ("strict f32, columns of B contiguous", "warp_tiles", ("none", "transpose"), ["--element", "f32"], (1.0, 0.93)),
}
ONE_BUILD = ("kind", "operation", "git", "machine", "compiler", "flags", "cuda", "seed", "distribution", "caches", "launches")


def sizes_of(shapes):
    return "(m,n,k)=" + ",".join("(%d,%d,%d)" % shape for shape in shapes)


def plans_of(name):
    """What is measured of a type: a name, shapes, how operands lie, more words."""
    _, _, own, _, _ = TYPES[name]
    # 16384³ takes the host long to check, and doubles and strict f32 the device long to compute.
    if own[1] == "transpose" and name not in ("f64", "f32-columns"):
        yield "largest", [LARGEST], own, ["--no-verify", "--pause", "0.02", "--sustained", "0.6"]
    yield "shapes", [s for s in CUBES + OTHERS if s != LARGEST] + ODD, own, ["--pause", "0.02", "--sustained", "0.6"]
    yield "small", SMALL, own, []
    for lies in ((a, b) for a in OPS for b in OPS):
        if lies != own and name not in ("f32-columns", "e4m3-fast", "f16"):
            yield "layout-%s-%s" % lies, [WHOLE, PAST], lies, ["--no-verify", "--pause", "0.01"]
    yield "graph", SMALL + [(512, 512, 512)], own, ["--graph"]


def measure(tessera, folder, names):
    status = 0
    for name in names or TYPES:
        _, variant, _, words, _ = TYPES[name]
        parts = []
        for part, shapes, (op_a, op_b), more in plans_of(name):
            file = folder / f"part-{name}-{part}.json"
            done = subprocess.run([tessera, "bench", "matmul", sizes_of(shapes), "--op-a", op_a, "--op-b", op_b, "--device", "cuda",
                                   "--no-serial", "--variant", "cublas," + variant, "--time", "0.25", *words, *more, "--json", str(file)],
                                  capture_output=True, text=True, timeout=300, check=False)
            if done.returncode != 0:
                status = 1
                print(f"{name} {part}: {done.returncode}: {(done.stdout + done.stderr)[-600:]}", file=sys.stderr)
            if file.exists():
                parts.append((part == "graph", file))
        for graph, end in ((False, ""), (True, "-graph")):
            files = [file for of_graph, file in parts if of_graph == graph]
            if files:
                merge(folder / f"matmul-products-{name}{end}.json", files)
        for _, file in parts:
            file.unlink()
    return status


def merge(out, files):
    documents = [json.loads(pathlib.Path(file).read_text()) for file in files]
    first = documents[0]
    for document, file in zip(documents, files):
        for what in ONE_BUILD:
            if document.get(what) != first.get(what):
                sys.exit(f"{file}: another {what} than {files[0]}")
    merged = dict(first, rows=[row for document in documents for row in document["rows"]])
    merged["parts"] = [document["argv"] for document in documents]
    pathlib.Path(out).write_text(json.dumps(merged) + "\n")


def shape_of(row):
    return tuple(row["dims"][size] for size in "mnk")


def lies_of(row):
    return tuple(row["words"].get(op, "none") for op in ("op-a", "op-b"))


class Type:
    """The rows of one type; medians in seconds."""

    def __init__(self, folder, name):
        self.name, self.title, self.own, self.aim = name, TYPES[name][0], TYPES[name][2], TYPES[name][4]
        self.ours, self.theirs, self.graph, self.wrong = {}, {}, {}, []
        for end, graph in (("", False), ("-graph", True)):
            file = folder / f"matmul-products-{name}{end}.json"
            for row in json.loads(file.read_text())["rows"] if file.exists() else []:
                if row.get("verified") == "wrong":
                    self.wrong.append((row["variant"], shape_of(row)))
                if row.get("median") and row["verified"] != "wrong":
                    key = (shape_of(row), row["mode"], lies_of(row), graph)
                    (self.theirs if row["yardstick"] else self.ours)[key] = row["median"]

    def ratio(self, shape, mode="burst", graph=False, lies=None):
        key = (shape, mode, lies or self.own, graph)
        return self.theirs[key] / self.ours[key] if key in self.ours and key in self.theirs else None

    def speed(self, shape, mode="burst", lies=None):
        """Multiply-adds in a second."""
        key = (shape, mode, lies or self.own, False)
        return math.prod(shape) / self.ours[key] if key in self.ours else None


def figure(value):
    return "n/a" if value is None else f"{value:.3f}"


def text_of(shape):
    m, n, k = shape
    return f"{m}³" if m == n == k else f"{m}²×{k}" if m == n else f"{m}×{n}×{k}"


def summary(one, mode):
    """Geometric mean and least of the shapes that decide, and how many there are."""
    ratios = {shape: one.ratio(shape, mode) for shape in CUBES + OTHERS}
    ratios = {shape: ratio for shape, ratio in ratios.items() if ratio}
    if not ratios:
        return None
    least = min(ratios, key=ratios.get)
    return math.prod(ratios.values()) ** (1 / len(ratios)), ratios[least], least, len(ratios)


def told(aim, mean, least, shapes):
    missed = [mode for mode, (m, l) in (("burst", (mean[0], least[0])), ("sustained", (mean[1], least[1])))
              if not (m >= aim[0] and l >= aim[1])]
    verdict = "met" if not missed else "missed" if len(missed) == 2 else f"missed in {missed[0]}s" if missed == ["burst"] else "missed, sustained"
    return f"{aim[0]:g}, {aim[1]:g}: {verdict}" + (f" ({shapes} shapes)" if shapes != 12 else "")


def shapes_table(types):
    lines = ["| | burst | least | sustained | least | aim: mean, least |", "|---|--:|--:|--:|--:|---|"]
    for one in types:
        burst, sustained = summary(one, "burst"), summary(one, "sustained")
        if burst is None or sustained is None:
            continue
        cells = [f"{mean:.3f} | {least:.3f} ({text_of(shape)})" for mean, least, shape, _ in (burst, sustained)]
        aim = told(one.aim, (burst[0], sustained[0]), (burst[1], sustained[1]), burst[3])
        lines.append(f"| {one.title} | {' | '.join(cells)} | {aim} |")
    return lines


def odd_table(types):
    """× cuBLASLt in bursts and sustained; behind it the speed as a share of our own 4096³ in bursts."""
    lines = ["| | " + " | ".join(text_of(shape) for shape in ODD) + " |", "|---|" + "--:|" * len(ODD)]
    for one in types:
        whole = one.speed(WHOLE)
        cells = []
        for shape in ODD:
            own = one.speed(shape)
            share = own / whole if own and whole else None
            cells.append(f"{figure(one.ratio(shape))}, {figure(one.ratio(shape, 'sustained'))}; {figure(share)}")
        lines.append(f"| {one.title} | {' | '.join(cells)} |")
    return lines


def layouts_table(types):
    """Our speed in bursts as a share of the type's own best layout of 4096³."""
    lines = ["| | " + " | ".join(f"A {'across' if a == 'transpose' else 'along'}, B {'along' if b == 'transpose' else 'across'}"
                                 for a in OPS for b in reversed(OPS)) + " |", "|---|" + "--:|" * 4]
    for one in types:
        speeds = {(lies, shape): one.speed(shape, lies=lies) for lies in ((a, b) for a in OPS for b in OPS) for shape in (WHOLE, PAST)}
        whole = [speed for (_, shape), speed in speeds.items() if shape == WHOLE and speed]
        if len(whole) < 4:
            continue
        cells = [", ".join(figure(speeds[lies, shape] and speeds[lies, shape] / max(whole)) for shape in (WHOLE, PAST))
                 for lies in ((a, b) for a in OPS for b in reversed(OPS))]
        lines.append(f"| {one.title} | {' | '.join(cells)} |")
    return lines


def small_table(types):
    """× cuBLASLt, launched one by one and in graphs."""
    shapes = SMALL + [(512, 512, 512)]
    lines = ["| | " + " | ".join(text_of(shape) for shape in shapes) + " |", "|---|" + "--:|" * len(shapes)]
    for one in types:
        cells = [f"{figure(one.ratio(shape))}, {figure(one.ratio(shape, graph=True))}" for shape in shapes]
        lines.append(f"| {one.title} | {' | '.join(cells)} |")
    return lines


TABLES = {"shapes": shapes_table, "odd": odd_table, "layouts": layouts_table, "small": small_table}


def tables(kind, folder):
    types = [Type(pathlib.Path(folder), name) for name in TYPES]
    for one in types:
        if one.wrong:
            sys.exit(f"{one.name}: wrong results: {one.wrong}")
    return "\n".join(TABLES[kind]([one for one in types if one.ours])) + "\n"


def main(words):
    if len(words) >= 3 and words[0] == "measure" and not set(words[3:]) - set(TYPES):
        return measure(words[1], pathlib.Path(words[2]), words[3:])
    if len(words) >= 3 and words[0] == "merge":
        merge(words[1], words[2:])
        return 0
    if len(words) == 2 and words[0] == "show":
        for kind in TABLES:
            print(tables(kind, words[1]))
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
