# SPDX-License-Identifier: Apache-2.0
"""Two versions of the program measured in turn, earlier, present, present, earlier: versions.json. `pack BUILD EARLIER_BUILD` packs both.
A call's graph, stream and host time above an empty launch each have a ratio or a difference; other commands have the ratio of medians."""
import json
import math
import os
import pathlib
import statistics
import subprocess

import bundle
import calls

SHAPES = calls.shapes.word(calls.shapes.random(7017, 12) + [(side, side, side) for side in (64, 256, 1024, 4096)])
CALL = ["--call", "--device", "cuda", "--no-verify", "--reps", "11", "--time", "0.1"]
PLAIN = ["--device", "cuda", "--no-serial", "--no-verify", "--graph", "--time", "0.3"]
PICTURE = ["images=1", "height=4096", "width=4096", "channels=3"]
COMMANDS = {f"call-{name}": ["matmul", SHAPES, "--op-b", "transpose", *words, *CALL] for name, words in calls.TYPES.items()
            if name in ("bf16", "f16", "e4m3", "i8", "tf32", "f32", "f64")} | {
    "call-filter": ["filter", *PICTURE, *CALL],
    "call-resize": ["resize", "images=1", "from_height=4096", "from_width=4096", "channels=3", "--scale", "0.5", *CALL],
    "filter": ["filter", *PICTURE, "--kernel", "gaussian", "--size", "9", *PLAIN],
    "resize": ["resize", "images=1", "from_height=4096", "from_width=4096", "channels=3", "--scale", "0.47", *PLAIN],
    "refocus": ["refocus", "rows=17", "cols=17", "height=400", "width=700", "channels=3", "--slope", "1.37", *PLAIN],
    "pi": ["integrate", "sqrt(1-x^2)", "0", "1", "--strips", "16777216", "--scale", "4", *PLAIN],
}
ORDER = ("earlier", "present", "present", "earlier")
MOST_RATIO, MOST_HOST_SECONDS = 1.02, 1e-7


def key_of(row):
    return json.dumps([row["dims"], row["element"], row.get("words"), row["baseline"], row["variant"] if "calls" not in row else ""], sort_keys=True)


def times_of(row):
    """Seconds by kind: of a call its graph, its stream and its host's time, with that of an empty launch; else the median."""
    kinds = row.get("calls")
    if not kinds:
        return {"median": row["median"]}
    return {name: kinds[name]["median"] for name in ("graph", "stream", "host", "host_empty") if name in kinds}


def compare(runs):
    """`runs`: (version, rows of its JSON) in the order of measuring. Returns the rows that both have, each kind's times by version (the
    least of its runs), and a summary by kind: the geometric mean of present over earlier; for the host's time
    above an empty launch the median difference in seconds."""
    seen = {}
    for version, rows in runs:
        for row in rows:
            if not row["baseline"] and "median" in row:  # else it could not be measured
                entry = seen.setdefault(key_of(row), {"dims": row["dims"], "element": row["element"], "variants": {}, "times": {}})
                entry["variants"][version] = [row["variant"], row["tuning"]]
                for kind, seconds in times_of(row).items():
                    entry["times"].setdefault(kind, {}).setdefault(version, []).append(seconds)
    rows = [row for row in seen.values() if len(row["variants"]) == 2]
    kinds = {}
    for row in rows:
        for kind, times in row["times"].items():
            times.update({version: min(times[version]) for version in ("earlier", "present")})
            kinds.setdefault(kind, []).append(times)
    summary = {kind: math.exp(sum(math.log(one["present"] / one["earlier"]) for one in times) / len(times))
               for kind, times in kinds.items() if not kind.startswith("host")}
    if "host_empty" in kinds:
        above = [{version: host[version] - empty[version] for version in empty} for host, empty in zip(kinds["host"], kinds["host_empty"])]
        summary["host"] = statistics.median(one["present"] - one["earlier"] for one in above)
    return rows, summary


def holds(summary):
    return bool(summary) and all(value <= (MOST_HOST_SECONDS if kind == "host" else MOST_RATIO) for kind, value in summary.items())


def measure(folder, names=tuple(COMMANDS)):
    """Writes versions.json after each command. True where every command's summary holds."""
    programs = {"present": bundle.FOLDER, "earlier": bundle.FOLDER / "earlier"}
    if not (programs["earlier"] / "tessera").exists():
        print("no earlier version is packed")
        return False
    out, passed = {}, True
    for name in names:
        runs = []
        for version in ORDER:
            path = pathlib.Path(folder) / "version.json"
            libraries = f"{programs[version]}:{os.environ['LD_LIBRARY_PATH']}"
            done = subprocess.run([programs[version] / "tessera", "bench", *COMMANDS[name], "--json", path], stdout=subprocess.DEVNULL,
                                  env=os.environ | {"LD_LIBRARY_PATH": libraries}, timeout=120, check=False)
            passed = passed and done.returncode == 0
            if path.exists():
                runs.append((version, json.loads(path.read_text())["rows"]))
                path.unlink()
        rows, summary = compare(runs)
        out[name] = {"summary": summary, "other_choice": sum(row["variants"]["present"] != row["variants"]["earlier"] for row in rows), "rows": rows}
        passed = holds(summary) and passed
        print(name, len(rows), "rows", {kind: round(value * (1e6 if kind == "host" else 1), 3) for kind, value in summary.items()},
              "" if holds(summary) else "BEYOND THE BAR", f"{out[name]['other_choice']} other choices" if out[name]["other_choice"] else "", flush=True)
        (pathlib.Path(folder) / "versions.json").write_text(json.dumps(out, indent=1))
    return passed
