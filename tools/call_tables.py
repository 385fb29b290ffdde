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
        self.ours, self.first, self.best, self.variant, self.bytes = {}, {}, {}, "", 0

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
            shape.ours, shape.variant, shape.bytes = medians, row["variant"], row["bytes"]
        elif row.get("tuning", {}).get("first"):
            shape.first = medians
        else:
            shape.best = medians
    return {shape: one for shape, one in shapes.items() if all("graph" in kind for kind in (one.ours, one.first, one.best))}


def file_of(folder, group, name):
    return pathlib.Path(folder) / "call" / f"matmul-call-{group}-{name}.json"


def build(folder, group, name):
    return json.loads(file_of(folder, group, name).read_text())["git"]


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


def speed(folder):
    lines = ["| | | shapes | × first, stream | graph | × best, stream | graph | least | ≥ 0.9 of the best | build |", "|---|---|--:|--:|--:|--:|--:|---|--:|---|"]
    for group, name, shapes in measured(folder):
        least = min(shapes, key=lambda shape: shapes[shape].ratio("best", "graph"))
        cells = [f"{mean([one.ratio(other, kind) for one in shapes.values()]):.3f}" for other in ("first", "best") for kind in ("stream", "graph")]
        good = sum(one.ratio("best", "graph") >= GOOD for one in shapes.values()) / len(shapes)
        lines.append(f"| {GROUPS[group]} | {label(name)} | {len(shapes)} | {' | '.join(cells)} | "
                     f"{shapes[least].ratio('best', 'graph'):.2f} ({text_of(least)}) | {good:.0%} | {build(folder, group, name)} |")
    return lines


def host(folder):
    """Of the squares, whose launches the device is done with before the next comes."""
    lines = ["| | plain, µs | prepared, µs | empty launch, µs | prepared above it, mean | most | cuBLASLt, µs |", "|---|--:|--:|--:|--:|--:|--:|"]
    for group, name, shapes in measured(folder):
        if group != "squares":
            continue
        plain, prepared, empty, library = ([getattr(one, who)[kind] * 1e6 for one in shapes.values()]
                                           for who, kind in (("ours", "host"), ("ours", "host_prepared"), ("ours", "host_empty"), ("first", "host")))
        above = [one - least for one, least in zip(prepared, empty)]
        between = [f"{min(of):.1f} to {max(of):.1f}" for of in (plain, prepared, empty, library)]
        lines.append(f"| {label(name)} | {' | '.join(between[:3])} | {sum(above) / len(above):.1f} | {max(above):.1f} | {between[3]} |")
    return lines


def worst(folder, count=10):
    """Of the random shapes, in graphs."""
    lines = ["| | × best |", "|---|---|"]
    for group, name, shapes in measured(folder):
        if group != "random":
            continue
        last = sorted(shapes, key=lambda shape: shapes[shape].ratio("best", "graph"))[:count]
        lines.append(f"| {label(name)} | " + ", ".join(f"{text_of(shape)} {shapes[shape].ratio('best', 'graph'):.2f}" for shape in last) + " |")
    return lines


def bandwidth(folder):
    """Of few rows: what is read and written in a second of a graph, as a share of what a copy in the device's memory reads and writes."""
    copy = json.loads((pathlib.Path(folder) / "matmul" / "matmul.json").read_text())["devices"][0]["ceilings"]["memory_gbps"] * 1e9
    lines = ["| | Tessera | least | cuBLASLt's best |", "|---|--:|---|--:|"]
    for group, name, shapes in measured(folder):
        if group != "rows":
            continue
        ours, best = ({shape: one.bytes / getattr(one, who)["graph"] / copy for shape, one in shapes.items()} for who in ("ours", "best"))
        least = min(ours, key=ours.get)
        lines.append(f"| {label(name)} | {mean(ours.values()):.2f} | {ours[least]:.2f} ({text_of(least)}) | {mean(best.values()):.2f} |")
    return lines


def others(folder):
    """Of pictures: OPERATION-call.json, as `bench OPERATION --call --json` leaves it."""
    lines = ["| | | plain, µs | prepared, µs | empty launch, µs |", "|---|---|--:|--:|--:|"]
    for operation in ("filter", "resize"):
        for row in json.loads((pathlib.Path(folder) / operation / f"{operation}-call.json").read_text())["rows"]:
            cells = [f"{row['calls'][kind]['median'] * 1e6:.1f}" for kind in ("host", "host_prepared", "host_empty")]
            lines.append(f"| {operation} | {row['dims']['height']} × {row['dims']['width']} | {' | '.join(cells)} |")
    return lines


TABLES = {"speed": speed, "host": host, "worst": worst, "bandwidth": bandwidth, "others": others}


def tables(kind, folder):
    return "\n".join(TABLES[kind](folder)) + "\n"
