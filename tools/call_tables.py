# SPDX-License-Identifier: Apache-2.0
"""The tables of what a program gets of a product's call, beside cuBLASLt's first heuristic and its best: of
results/MACHINE/call/matmul-call-GROUP-TYPE.json, which tools/gpu measures."""
import json
import math
import pathlib

from product_tables import TYPES, shape_of, text_of

GROUPS = {"listed": "listed shapes", "squares": "squares, 64³ to 1024³", "random": "random shapes", "grid": "sides of powers of two and 12288", "rows": "1 to 16 rows or columns", "models": "products of language models"}
GOOD = 0.9  # of cuBLASLt's best


def label(name):
    """B is transposed in all of them."""
    return TYPES.get(name + "-columns", TYPES[name])[0]


class Shape:
    """One product: medians in seconds, of ours and of the two kinds of cuBLASLt's; by where they were measured."""

    def __init__(self):
        self.ours, self.first, self.best = {}, {}, {}

    def ratio(self, other, kind):
        return getattr(self, other)[kind] / self.ours[kind]


def shapes_of(file):
    """Those that both have. A product that is wrong has no place in a table."""
    shapes = {}
    for row in json.loads(file.read_text())["rows"]:
        shape = shapes.setdefault(shape_of(row), Shape())
        if row.get("verified") == "wrong" and not row["baseline"]:
            raise SystemExit(f"{file.name}: {text_of(shape_of(row))} is wrong")
        medians = {kind: call["median"] for kind, call in row.get("calls", {}).items()}
        if not row["baseline"]:
            shape.ours = medians
        elif row.get("tuning", {}).get("first"):
            shape.first = medians
        else:
            shape.best = medians
    return {shape: one for shape, one in shapes.items() if all("graph" in kind for kind in (one.ours, one.first, one.best))}


def file_of(folder, group, name):
    return pathlib.Path(folder) / "call" / f"matmul-call-{group}-{name}.json"


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def measured(folder):
    """The files that there are: group, type's name, shapes."""
    for group in GROUPS:
        for name in TYPES:
            file = file_of(folder, group, name)
            shapes = shapes_of(file) if file.exists() else {}
            if shapes:
                yield group, name, shapes


def baseline_of(folder):
    """cuBLASLt with its versions, where the files name them."""
    files = [file for file in (file_of(folder, group, name) for group in GROUPS for name in TYPES) if file.exists()]
    versions = {row["library"] for file in files for row in json.loads(file.read_text())["rows"] if "library" in row}
    return " ".join(["cuBLASLt", *sorted(versions)]) if versions else ""


def speed(folder):
    lines = [f"| {baseline_of(folder)} | | shapes | × first, stream | graph | × best, stream | graph | least | ≥ 0.9 of the best |", "|---|---|--:|--:|--:|--:|--:|---|--:|"]
    known = None
    for group, name, shapes in measured(folder):
        heading, known = "" if group == known else GROUPS[group], group
        least = min(shapes, key=lambda shape: shapes[shape].ratio("best", "graph"))
        cells = [f"{mean([one.ratio(other, kind) for one in shapes.values()]):.3f}" for other in ("first", "best") for kind in ("stream", "graph")]
        good = sum(one.ratio("best", "graph") >= GOOD for one in shapes.values()) / len(shapes)
        lines.append(f"| {heading} | {label(name)} | {len(shapes)} | {' | '.join(cells)} | "
                     f"{shapes[least].ratio('best', 'graph'):.2f} ({text_of(least)}) | {good:.0%} |")
    return lines


def host(folder):
    """Of the squares, whose launches the device is done with before the next comes."""
    lines = [f"| | plain, µs | prepared, µs | empty launch, µs | {baseline_of(folder) or 'cuBLASLt'}, µs |", "|---|--:|--:|--:|--:|"]
    for group, name, shapes in measured(folder):
        if group != "squares":
            continue
        plain, prepared, empty, library = ([getattr(one, who)[kind] * 1e6 for one in shapes.values()]
                                           for who, kind in (("ours", "host"), ("ours", "host_prepared"), ("ours", "host_empty"), ("first", "host")))
        between = [f"{min(of):.1f} to {max(of):.1f}" for of in (plain, prepared, empty, library)]
        lines.append(f"| {label(name)} | {' | '.join(between)} |")
    return lines


def others(folder):
    """Of pictures: OPERATION-call.json, as `bench OPERATION --call --json` leaves it."""
    lines = ["| | | plain, µs | prepared, µs | empty launch, µs |", "|---|---|--:|--:|--:|"]
    for operation in ("filter", "resize"):
        for row in json.loads((pathlib.Path(folder) / operation / f"{operation}-call.json").read_text())["rows"]:
            cells = [f"{row['calls'][kind]['median'] * 1e6:.1f}" for kind in ("host", "host_prepared", "host_empty")]
            lines.append(f"| {operation} | {row['dims']['height']} × {row['dims']['width']} | {' | '.join(cells)} |")
    return lines


TABLES = {"speed": speed, "host": host, "others": others}


def tables(kind, folder):
    return "\n".join(TABLES[kind](folder)) + "\n"
