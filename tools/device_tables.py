# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/devices.md, each of several results whose files' names begin alike."""
import json
import pathlib


def read(file):
    return json.loads(pathlib.Path(file).read_text())


def milliseconds(seconds):
    return f"{seconds * 1e3:.1f} ms" if seconds >= 0.01 else f"{seconds * 1e3:.2f} ms"


def row_of(file, split):
    """The median of a split's runs; nothing: it is not measured."""
    path = pathlib.Path(file)
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    return next((row for row in rows if row["variant"] == f"split {split}"), None)


def rate(row):
    tera = row["gflops"] / 1e3
    return f"{tera:.0f} TFLOP/s" if tera >= 100 else f"{tera:.1f} TFLOP/s"


def together(prefix):
    """From host memory to host memory on one GPU and on two, by the plan, and on two by the queue."""
    lines = ["| product | one GPU | two | two, from a queue | runs |", "|---|--:|--:|--:|--:|"]
    for name, one, two, plain in (("f32 (strict), 16384³", "x1-f32", "x2-f32", None), ("the same with `--memory 512M`, a quarter of A and B", "x1-f32-512M", None, "x1-f32"),
                                  ("f64, 16384³", "x1-f64", "x2-f64", None), ("the same with `--memory 1536M`", "x1-f64-1536M", None, "x1-f64"),
                                  ("bf16, 32768³", "x1-bf16", "x2-bf16", None)):
        cells, runs = [], set()
        for which, split in ((one, "plan"), (two, "plan"), (two, "dynamic")):
            row = row_of(f"{prefix}-{which}.json", split) if which else None
            text = ""
            if row:
                text = milliseconds(row["median"]) + ", "
                text += f"{row['median'] / row_of(f'{prefix}-{plain}.json', 'plan')['median']:.2f} ×" if plain else rate(row)
                runs.add(row["samples"])
            cells.append(text)
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {', '.join(str(n) for n in sorted(runs))} |")
    return "\n".join(lines) + "\n"


def unlike(prefix):
    """Shares that were named against those that were found."""
    lines = ["| 44 : 132 multiprocessors | the best of the shares named | `auto` | `plan` | `dynamic` |", "|---|--:|--:|--:|--:|"]
    for name, which in (("f32, 16384³", "f32"), ("i32 in shared tiles, 3072³", "i32")):
        rows = read(f"{prefix}-{which}.json")["rows"]
        took = {row["variant"].removeprefix("split "): row["median"] for row in rows}
        named = {split: seconds for split, seconds in took.items() if ":" in split}
        best = min(named, key=named.get)
        cells = [f"{milliseconds(took[how])}, {took[how] / named[best]:.3f} ×" if how in took else "" for how in ("auto", "plan", "dynamic")]
        ends = [split for split in (next(iter(named)), list(named)[-1])]
        lines.append(f"| {name} | {milliseconds(named[best])} with {best}, of {len(named)} from {ends[0]} ({milliseconds(named[ends[0]])}) to {ends[1]} ({milliseconds(named[ends[1]])}) | "
                     + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def tables(name, prefix):
    return {"together": together, "unlike": unlike}[name](prefix)
