# SPDX-License-Identifier: Apache-2.0
"""The tables of products' speed beside cuBLASLt's, of results/MACHINE/products/, which tools/gpu measures."""
import json
import math
import pathlib
import sys

# Shapes that decide: cubes, short and tall ones. Then sizes that are multiples of nothing, or of 8 alone.
CUBES = [(n, n, n) for n in (512, 1024, 2048, 4096, 8192, 16384)]
OTHERS = [(64, 7168, 2112), (128, 4096, 7168), (4096, 7168, 2048), (16, 8192, 8192), (8192, 8192, 512), (1024, 1024, 16384)]
ODD = [(4095, 4097, 4093), (4097, 4099, 4101), (4104, 4104, 4104), (5000, 4111, 4500)]
WHOLE, LARGEST = (4096, 4096, 4096), (16384, 16384, 16384)

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


def shape_of(row):
    return tuple(row["dims"][size] for size in "mnk")


def lies_of(row):
    return tuple(row["words"].get(op, "none") for op in ("op-a", "op-b"))


class Type:
    """The rows of one type, of files that there may be; medians in seconds."""

    def __init__(self, name, *files):
        self.name, self.title, self.own, self.aim = name, TYPES[name][0], TYPES[name][2], TYPES[name][4]
        self.ours, self.theirs, self.wrong, self.theirs_wrong, self.unchecked, self.of, self.libraries = {}, {}, [], [], set(), set(), set()
        for file in files:
            document = json.loads(file.read_text()) if file.exists() else {"rows": []}
            for row in document["rows"]:
                if row["baseline"]:
                    self.libraries |= {row["library"]} if "library" in row else set()
                    self.of.add((document.get("git"), document.get("caches"), bool(row.get("tuning", {}).get("rotated"))))
            for row in document["rows"]:
                if row.get("verified") == "wrong":  # of a baseline: told, and no ratio; of ours: no table
                    (self.theirs_wrong if row["baseline"] else self.wrong).append((row["variant"], shape_of(row)))
                if row.get("verified") == "unchecked" and row.get("median"):
                    self.unchecked.add(text_of(shape_of(row)))
                if row.get("median") and row["verified"] != "wrong":
                    key = (shape_of(row), row["mode"], lies_of(row))
                    (self.theirs if row["baseline"] else self.ours)[key] = row["median"]

    def ratio(self, shape, mode="burst"):
        key = (shape, mode, self.own)
        return self.theirs[key] / self.ours[key] if key in self.ours and key in self.theirs else None

    def speed(self, shape):
        """Multiply-adds in a second, in bursts."""
        key = (shape, "burst", self.own)
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
        libraries = sorted(set().union(*(one.libraries for one in group)))
        told += f" (cuBLASLt {', '.join(libraries)})" if libraries else ""
        lines.append(f"- {', '.join(one.title for one in group)}: {told}.")
    unchecked = sorted({shape for one in types for shape in one.unchecked})
    if unchecked:
        lines.append(f"- Results of {', '.join(unchecked)} were not checked; all others of ours were right.")
    outside = [f"{one.title} at {', '.join(sorted({text_of(shape) for _, shape in one.theirs_wrong}))}" for one in types if one.theirs_wrong]
    if outside:
        lines.append(f"- cuBLASLt's results of {', of '.join(outside)} were beyond [what rounding may take](products.md#how-far-a-result-may-be-from-the-exact-one): no ratio there.")
    there = {one.name for one in types}
    missing = [title for name, (title, *_) in TYPES.items() if name not in there]
    if missing:
        lines.append(f"- Not measured: {', '.join(missing)}.")
    return lines


PARTS = ("f16x3", "tf32x3", "bf16x6")  # arithmetics of f32 by parts


def called(file):
    """Of each shape what the public call takes, which rung it goes to, and what cuBLASLt's strict f32 takes at best; medians in seconds."""
    out = {}
    for row in json.loads(file.read_text())["rows"] if file.exists() else []:
        if row.get("verified") == "wrong":
            sys.exit(f"{file.name}: wrong results of {row['variant']} at {text_of(shape_of(row))}")
        if not row.get("median"):
            continue
        one = out.setdefault(shape_of(row), {"theirs": math.inf})
        if row["baseline"]:
            one["theirs"] = min(one["theirs"], row["median"])
        else:
            one["ours"], one["rung"] = row["median"], row["variant"]
    return {shape: one for shape, one in out.items() if "ours" in one and one["theirs"] < math.inf}


def mean_text(ratios):
    return f"{math.prod(ratios) ** (1 / len(ratios)):.2f}, the least {min(ratios):.2f}"


def parts_table(folder):
    """The public call of f32 by parts, its passes over both operands included, beside strict f32."""
    of = {name: called(folder / "call" / f"matmul-call-listed-{name}.json") for name in PARTS}
    lines = ["| | " + " | ".join(f"{name}, TFLOP/s | × strict" for name in PARTS) + " |", "|---|" + "--:|--:|" * len(PARTS)]
    for shape in CUBES + OTHERS:
        cells = []
        for name in PARTS:
            one = of[name].get(shape)
            if one is None:
                cells.append("n/a | n/a")
                continue
            taken = "" if one["rung"] == name else f" ({one['rung']})"
            cells.append(f"{2e-12 * math.prod(shape) / one['ours']:.1f}{taken} | {one['theirs'] / one['ours']:.2f}")
        lines.append(f"| {text_of(shape)} | {' | '.join(cells)} |")
    lines.append("")
    for name in PARTS:
        listed = {shape: one for shape, one in of[name].items() if min(shape) >= 1024}
        large, random = (called(folder / "call" / f"matmul-call-{group}-{name}.json") for group in ("large", "random"))
        taken = {shape: one for shape, one in random.items() if one["rung"] == name}
        for what, some in (("listed shapes of 1024 and more each way", listed), ("random ones of 1024 and more each way", large),
                           (f"of {len(random)} random ones of all sizes, the others go to strict f32", taken)):
            if some:
                lines.append(f"- {name}, {len(some)} {what}: geometric mean {mean_text([one['theirs'] / one['ours'] for one in some.values()])}.")
    return lines


TABLES = {"source": source_text, "shapes": shapes_table, "odd": odd_table}


def tables(kind, folder):
    folder = pathlib.Path(folder)
    if kind == "parts":
        return "\n".join(parts_table(folder)) + "\n"
    types = [Type(name, *(folder / "products" / f"matmul-products-{name}{end}.json" for end in ("", "-odd"))) for name in TYPES]
    types = [one for one in types if one.ours or one.wrong]
    for one in types:
        if one.wrong:
            sys.exit(f"{one.name}: wrong results: {one.wrong}")
    return "\n".join(TABLES[kind](types)) + "\n"
