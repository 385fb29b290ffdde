#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What docs/low-precision.md says of products' speed: measured, and made into tables.
  tools/product_tables.py measure TESSERA FOLDER [NAME…]   on a GPU: FOLDER/matmul-products-NAME.json, -NAME-graph.json of each type, inputs rotated
                          [--only PART,…] [--seconds N]    some parts of it (cold: -NAME-cold.json); as much as fits. What the files lack is
                                                           measured and added, so that several calls make the tables.
  tools/product_tables.py merge OUT.json IN.json…          files of `tessera bench` of one build and machine as one
  tools/product_tables.py show FOLDER                      all tables
tools/readme_tables puts the tables into the page, and its test holds them to the files."""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import time

# Shapes that decide: cubes, short and tall ones. Then sizes that are multiples of nothing, or of 8 alone.
CUBES = [(n, n, n) for n in (512, 1024, 2048, 4096, 8192, 16384)]
OTHERS = [(64, 7168, 2112), (128, 4096, 7168), (4096, 7168, 2048), (16, 8192, 8192), (8192, 8192, 512), (1024, 1024, 16384)]
ODD = [(4095, 4097, 4093), (4097, 4099, 4101), (4104, 4104, 4104), (5000, 4111, 4500)]
SMALL = [(n, n, n) for n in (64, 128, 256)]
LARGE = 3e10  # multiply-adds
ESTIMATE = "60"  # seconds that a bench may take: more than any does, so that the program needs small products alone to know that
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
PARTS = ("shapes", "odd", "small", "graphs", "layouts", "cold")  # in this order, each of all types; the last by its name alone
ENDS = {"cold": "-cold", "graphs": "-graph", "odd": "-odd"}  # of files of their own
ONE_BUILD = ("kind", "operation", "git", "machine", "compiler", "flags", "cuda", "seed", "distribution", "caches", "launches")


def sizes_of(shapes):
    return "(m,n,k)=" + ",".join("(%d,%d,%d)" % shape for shape in shapes)


def plans_of(name):
    """What is measured of a type, a bench each: its part, shapes, how operands lie, more words."""
    _, _, own, _, _ = TYPES[name]
    # A device that has rested, and one that has not; large ones need both longer.
    rotated = ["--rotate", "--tuning", "rotated=1"]  # the second of cuBLASLt, which no other variant has: its tries are of such inputs, too
    long, short = ([*rotated, "--reps", reps, "--pause", pause, "--sustained", sustained]
                   for reps, pause, sustained in (("10", "0.02", "0.6"), ("15", "0.005", "0.4")))
    several = [shape for shape in CUBES + OTHERS if shape != LARGEST]
    large = [shape for shape in several if math.prod(shape) >= LARGE]
    yield "shapes", [shape for shape in several if shape not in large], own, short
    yield "shapes", large, own, long
    # 16384³ takes the host long to check, and doubles and strict f32 the device long to compute.
    if own[1] == "transpose" and name not in ("f64", "f32-columns"):
        yield "shapes", [LARGEST], own, ["--no-verify", *long]
    yield "odd", ODD, own, long
    yield "small", SMALL, own, [*rotated, "--reps", "15"]
    yield "graphs", SMALL + [(512, 512, 512)], own, ["--graph", *rotated, "--reps", "15"]
    for lies in ((a, b) for a in OPS for b in OPS):
        if lies != own and name not in ("f32-columns", "e4m3-fast", "f16"):
            yield "layouts", [WHOLE, PAST], lies, [*rotated, "--reps", "10", "--pause", "0.01"]
    yield "cold", several, own, ["--cold", "--reps", "10", "--pause", "0.02"]


def lacking(file, shapes, lies):
    """Of these shapes, those that a file has nothing of."""
    rows = json.loads(file.read_text())["rows"] if file.exists() else []
    there = {(shape_of(row), lies_of(row)) for row in rows}
    return [shape for shape in shapes if (shape, lies) not in there]


def check_builds(tessera, folder, names):
    """Files of another build are not added to, and that is found out before anything is measured."""
    told = subprocess.run([tessera, "--version"], capture_output=True, text=True, check=True).stdout
    for file in (folder / f"matmul-products-{name}{end}.json" for name in names for end in ("", *ENDS.values())):
        if file.exists() and f"({json.loads(file.read_text())['git']})" not in told:
            sys.exit(f"{file} is of another build than {told.strip()}")


def bench(tessera, name, shapes, lies, more, file):
    """What went wrong, in words, or nothing."""
    _, variant, _, words, _ = TYPES[name]
    try:
        done = subprocess.run([tessera, "bench", "matmul", sizes_of(shapes), "--op-a", lies[0], "--op-b", lies[1], "--device", "cuda",
                               "--no-serial", "--variant", "cublas," + variant, "--time", ESTIMATE, *words, *more, "--json", str(file)],
                              capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired as late:
        return str(late)
    return f"{done.returncode}: {(done.stdout + done.stderr)[-600:]}" if done.returncode != 0 else ""


def measure(tessera, folder, names, only, seconds):
    check_builds(tessera, folder, names)
    status, left, longest, begun = 0, [], 0, time.monotonic()
    plans = [(name, plan) for part in PARTS if part in only for name in names for plan in plans_of(name) if plan[0] == part]
    for name, (part, shapes, lies, more) in plans:
        out = folder / f"matmul-products-{name}{ENDS.get(part, '')}.json"
        shapes = lacking(out, shapes, lies)
        if not shapes:
            continue
        before = time.monotonic()
        if before - begun + longest > seconds:
            left.append(f"{name} {part} {' '.join(text_of(shape) for shape in shapes)}")
            continue
        file = folder / f"part-{name}-{part}.json"
        wrong = bench(tessera, name, shapes, lies, more, file)
        longest = max(longest, time.monotonic() - before)
        if wrong:
            status = 1
            print(f"{name} {part}: {wrong}", file=sys.stderr)
        if file.exists():
            merge(out, [out, file] if out.exists() else [file])
            file.unlink()
    for what in left:
        print("no time for", what)
    return status


def build_of(document):
    """What results of one build and machine have in common."""
    return {what: document.get(what) for what in ONE_BUILD} | {"GPU": [device.get("name") for device in document.get("devices") or []]}


def word_of(word):
    return pathlib.Path(word).name if word.startswith("/") else word


def merge(out, files):
    documents = [json.loads(pathlib.Path(file).read_text()) for file in files]
    first = build_of(documents[0])
    for document, file in zip(documents, files):
        for what, value in build_of(document).items():
            if value != first[what]:
                sys.exit(f"{file}: another {what} than {files[0]}")
    merged = dict(documents[0], rows=[row for document in documents for row in document["rows"]])
    # Of files their names: where they lay is one machine's matter.
    merged["argv"] = [word_of(word) for word in merged["argv"]]
    merged["parts"] = [[word_of(word) for word in part] for document in documents for part in document.get("parts", [document["argv"]])]
    whole = pathlib.Path(f"{out}.new")
    whole.write_text(json.dumps(merged) + "\n")
    whole.replace(out)


def shape_of(row):
    return tuple(row["dims"][size] for size in "mnk")


def lies_of(row):
    return tuple(row["words"].get(op, "none") for op in ("op-a", "op-b"))


class Type:
    """The rows of one type, of files that there may be; medians in seconds."""

    def __init__(self, name, file, of_graphs, of_odd=None):
        self.name, self.title, self.own, self.aim = name, TYPES[name][0], TYPES[name][2], TYPES[name][4]
        self.ours, self.theirs, self.wrong, self.theirs_wrong, self.unchecked, self.of = {}, {}, [], [], set(), set()
        for file, graph in ((file, False), (of_graphs, True), (of_odd, False)):
            document = json.loads(file.read_text()) if file is not None and file.exists() else {"rows": []}
            for row in document["rows"]:
                if row["baseline"]:
                    self.of.add((document.get("git"), document.get("caches"), bool(row.get("tuning", {}).get("rotated"))))
            for row in document["rows"]:
                if row.get("verified") == "wrong":  # of a baseline: told, and no ratio; of ours: no table
                    (self.theirs_wrong if row["baseline"] else self.wrong).append((row["variant"], shape_of(row)))
                if row.get("verified") == "unchecked" and row.get("median"):
                    self.unchecked.add(text_of(shape_of(row)))
                if row.get("median") and row["verified"] != "wrong":
                    key = (shape_of(row), row["mode"], lies_of(row), graph)
                    (self.theirs if row["baseline"] else self.ours)[key] = row["median"]

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


def source_text(types):
    """Of which builds, inputs and types all tables are, and what none of them has."""
    held = {"rotated": "inputs rotated", "hot": "inputs hot, which flatters small products", "cold": "the L2 flushed before each sample"}
    groups = {}
    for one in types:
        groups.setdefault(tuple(sorted(one.of, key=str)), []).append(one)
    lines = []
    for of, group in groups.items():
        alike = {}
        for git, caches, tried in of:
            alike.setdefault((caches, tried), []).append(git)
        told = " and ".join(f"build{'s' if len(gits) > 1 else ''} {' and '.join(map(str, gits))}, {held.get(caches, caches)}, and cuBLASLt's algorithms tried on {'such' if tried else 'hot'} ones"
                            for (caches, tried), gits in alike.items())
        lines.append(f"- {', '.join(one.title for one in group)}: {told}.")
    unchecked = sorted({shape for one in types for shape in one.unchecked})
    if unchecked:
        lines.append(f"- Results of {', '.join(unchecked)} were not checked; all others of ours were right.")
    outside = [f"{one.title} at {', '.join(sorted({text_of(shape) for _, shape in one.theirs_wrong}))}" for one in types if one.theirs_wrong]
    if outside:
        lines.append(f"- cuBLASLt's results of {', of '.join(outside)} were beyond [what rounding may take](#how-far-a-result-may-be-from-the-exact-one): no ratio there.")
    there = {one.name for one in types}
    missing = [title for name, (title, *_) in TYPES.items() if name not in there]
    if missing:
        lines.append(f"- Not measured: {', '.join(missing)}.")
    return lines


def missed_text(types):
    """Each shape that falls short of the least that is aimed at, in bursts or sustained."""
    lines = []
    for one in types:
        short = []
        for shape in CUBES + OTHERS:
            ratios = [one.ratio(shape, mode) for mode in ("burst", "sustained")]
            if any(ratio is not None and not ratio >= one.aim[1] for ratio in ratios):
                short.append(f"{text_of(shape)} ({figure(ratios[0])}, {figure(ratios[1])})")
        if short:
            lines.append(f"- {one.title}, {one.aim[1]:g}: {'; '.join(short)}.")
    return (lines or ["- None of those that were measured."]) + [line for one in types for line in square_text(one)]


def square_text(one):
    """What is aimed at in bursts at 8192³ alone: 1.03 ×, and as much as the quickest hand-written kernel that is known."""
    shape, times, teraflops = (8192, 8192, 8192), 1.03, 824
    ratio = one.ratio(shape)
    if one.name not in ("bf16", "f16") or ratio is None:
        return []
    own = 2 * one.speed(shape) / 1e12
    verdict = "met" if ratio >= times and own >= teraflops else "missed"
    return [f"- {one.title} at 8192³ in bursts, {times:g} and {teraflops} TFLOP/s: {figure(ratio)} and {own:.0f} TFLOP/s, {verdict}."]


def cold_table(types):
    """Bursts with the L2 flushed before each sample; of all types, measured or not."""
    lines = ["| | burst | least | shapes | aim: mean, least |", "|---|--:|--:|--:|---|"]
    for one in types:
        of_one = summary(one, "burst")
        if of_one is None:
            lines.append(f"| {one.title} | n/a | n/a | 0 | {one.aim[0]:g}, {one.aim[1]:g}: not measured |")
            continue
        mean, least, shape, shapes = of_one
        verdict = "met" if mean >= one.aim[0] and least >= one.aim[1] else "missed"
        lines.append(f"| {one.title} | {mean:.3f} | {least:.3f} ({text_of(shape)}) | {shapes} | {one.aim[0]:g}, {one.aim[1]:g}: {verdict} |")
    return lines


TABLES = {"source": source_text, "shapes": shapes_table, "missed": missed_text, "odd": odd_table, "layouts": layouts_table, "small": small_table, "cold": cold_table}


def tables(kind, folder):
    folder = pathlib.Path(folder)
    if kind == "cold":
        types = [Type(name, folder / f"matmul-products-{name}-cold.json", None) for name in TYPES]
    else:
        types = [Type(name, *(folder / f"matmul-products-{name}{end}.json" for end in ("", "-graph", "-odd"))) for name in TYPES]
        types = [one for one in types if one.ours or one.wrong]
    for one in types:
        if one.wrong:
            sys.exit(f"{one.name}: wrong results: {one.wrong}")
    return "\n".join(TABLES[kind](types)) + "\n"


def some_of(known):
    """Of an argument: names of these, with commas between."""
    def parse(text):
        names = text.split(",")
        if set(names) - set(known):
            raise argparse.ArgumentTypeError(f"{text}: some of {', '.join(known)}")
        return names
    return parse


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("tessera")
    measuring.add_argument("folder", type=pathlib.Path)
    measuring.add_argument("names", nargs="*", metavar="NAME", help=", ".join(TYPES))
    measuring.add_argument("--only", type=some_of(PARTS), default=PARTS[:-1], metavar="PART,…", help=", ".join(PARTS))
    measuring.add_argument("--seconds", type=float, default=math.inf)
    merging = commands.add_parser("merge")
    merging.add_argument("out")
    merging.add_argument("files", nargs="+")
    commands.add_parser("show").add_argument("folder")
    words = parser.parse_args()
    if words.command == "measure":
        if set(words.names) - set(TYPES):
            measuring.error(f"NAME: some of {', '.join(TYPES)}")
        return measure(words.tessera, words.folder, words.names or list(TYPES), words.only, words.seconds)
    if words.command == "merge":
        merge(words.out, words.files)
    else:
        print("\n".join(tables(kind, words.folder) for kind in TABLES))
    return 0


if __name__ == "__main__":
    sys.exit(main())
