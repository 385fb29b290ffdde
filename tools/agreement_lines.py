# SPDX-License-Identifier: Apache-2.0
"""What `tessera trace` counts for each line of other people's programs beside what Nsight Compute counts on a GPU. The
programs are those of tests/own_files/compared.json; tools/gpu/lines.py is the part that runs on the GPU machine."""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "tests" / "own_files" / "compared.json"
BUILDS = {"plain": ["-Xptxas", "-O0"], "optimized": []}
# Our counts, and what ncu calls them for an instruction.
COUNTS = {"requests": "inst_executed", "sectors": "memory_l2_theoretical_sectors_global", "lines": "memory_l1_tag_requests_global"}
ACCESS = {"LD": "read", "ST": "write", "RED": "atomic", "ATOM": "atomic"}
# Differs from run to run and from machine to machine: device names, paths, and what is derived from the clock.
VARYING = [(r"NVIDIA \w+( \w+ HBM\w+)?", "DEVICE"), (r"(?<!\S)/\S+", "PATH"), (r"\d+\.\d+(?= \(?(G\w+/s|m?s|msec)\b)", "TIME")]


def build(programs, folder, tessera):
    """FOLDER/BUILD: the programs by nvcc; FOLDER/tessera: what tessera counts, and what the programs write under it. What is
    there already is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(PROGRAMS, folder)
    (folder / "tessera").mkdir(exist_ok=True)
    for program in json.loads(PROGRAMS.read_text())["programs"]:
        name, files, place = program["name"], program["files"], programs / program["folder"]
        include = ["-I", str(programs / "cuda-samples" / "Common")]
        for kind, flags in BUILDS.items():
            (folder / kind).mkdir(exist_ok=True)
            if not (folder / kind / name).exists():
                subprocess.run(["nvcc", "-w", "-lineinfo", "-gencode=arch=compute_90a,code=sm_90a", *include, *flags, *files,
                                "-o", str(folder / kind / name)], cwd=place, check=True)
        end = ["--", *program.get("arguments", [])]
        if (folder / "tessera" / f"{name}.out").exists():
            continue
        subprocess.run([tessera, "trace", *files, *include, "--json", str(folder / "tessera" / f"{name}.json"), *end], cwd=place,
                       check=True, stdin=subprocess.DEVNULL, capture_output=True)
        done = subprocess.run([tessera, "run", *files, *include, *end], cwd=place, check=True, stdin=subprocess.DEVNULL, capture_output=True)
        (folder / "tessera" / f"{name}.out").write_bytes(done.stdout)
        print(name, flush=True)


def kernel_name(name):
    """Of ncu's `void k<(int)32, (bool)1>(float *)` and of our `k<32, true>`."""
    name = re.sub(r"^void |\((unsigned )?(int|bool|long|char)\)", "", name).partition("(")[0]
    return re.sub(r"\btrue\b", "1", re.sub(r"\bfalse\b", "0", name)).replace(" ", "")


def access_of(sass):
    words = sass.split()
    return ACCESS[words[words[0].startswith("@")].split(".")[0].removesuffix("G")]


def by_line(accesses):
    """(file, line, access): [counts by name, its instructions]."""
    out = {}
    for each in accesses:
        counts, instructions = out.setdefault((each["file"], each["line"], each["access"]), [collections.Counter(), []])
        instructions.append(each)
        for name in COUNTS:
            counts[name] += int(each[name])
    return out


def ours(launch):
    return by_line({**site, "file": os.path.basename(site["file"]), "access": site["act"]} for site in launch["sites"] if site["space"] == "global")


def theirs(launch):
    """Lines of the toolkit's own headers apart: an inlined function's accesses carry its place there."""
    lines = by_line({**each, "access": access_of(each["sass"]), "headers": "/targets/" in each["file"], "file": os.path.basename(each["file"]),
                     **{name: each.get(metric, 0) for name, metric in COUNTS.items()}} for each in launch["accesses"])
    return lines, [place for place, (_, instructions) in lines.items() if instructions[0]["headers"]]


def explain(mine, gpu, instructions):
    if mine is None or gpu is None:
        return "unexplained: only one of the two has this access"
    idle = any(each["sass"].startswith("@") and each["thread_inst_executed_true"] < each["thread_inst_executed"] for each in instructions)
    if idle and gpu["requests"] > mine["requests"] and all(gpu[name] == mine[name] for name in ("sectors", "lines")):
        return "a branch became a predicate: the instruction counts also where no lane takes part; sectors and lines agree"
    return "unexplained"


def compare(traced, launch):
    """Rows of one kernel, without the names of program, kernel and build."""
    mine, (gpu, headers) = ours(traced), theirs(launch)
    for place in sorted({*mine, *gpu} - {*headers}):
        left, (right, instructions), why = mine.get(place, [None])[0], gpu.get(place, (None, [])), None
        if right is None:  # perhaps under the name of a header
            found = [each for each in headers if each[2] == place[2] and gpu[each][0] == left]
            if found:
                headers.remove(found[0])
                right, why = left, f"nvcc names its header's line, {found[0][0]}:{found[0][1]}, ours the line that calls it; the counts agree"
        if left != right:
            why = explain(left, right, instructions)
        yield {"file": place[0], "line": place[1], "access": place[2], "executor": left, "gpu": right, "equal": why is None, **({"why": why} if why else {})}
    for place in headers:
        yield {"file": place[0], "line": place[1], "access": place[2], "executor": None, "gpu": gpu[place][0], "equal": False, "why": explain(None, gpu[place][0], [])}


def matrices(text):
    """The matrices that a program prints, each after a line with its name."""
    return {name: [[float(word) for word in line.split()] for line in rows.strip().splitlines()]
            for name, rows in re.findall(r"^(\w):\n((?:[-\d. ]+\n)+)", text, re.M)}


def is_product(text):
    found = matrices(text)
    if set(found) != {"A", "B", "C"}:
        return False
    a, b, c = (found[name] for name in "ABC")
    return [len(c), len(c[0])] == [len(a), len(b[0])] and all(
        abs(c[i][j] - sum(x * row[j] for x, row in zip(a[i], b))) < 1e-6 * (2 + len(b)) for i in range(len(c)) for j in range(len(c[0])))


def masked(text):
    for pattern, word in VARYING:
        text = re.sub(pattern, word, text)
    return text


def output(mine, gpu):
    """How what a program wrote on the GPU and on the executor compare."""
    if masked(mine) == masked(gpu):
        return "equal"
    return "C = A·B in both" if is_product(mine) and is_product(gpu) else "differs"


def join(raw, folder):
    listed = json.loads((folder / "compared.json").read_text())
    table = {"schema": 1, "kind": "own_files_lines", "device": raw["device"], "ncu": raw["ncu"],
             "git": subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip(),
             "repositories": listed["repositories"], "programs": [], "rows": []}
    for program in listed["programs"]:
        name = program["name"]
        traced = json.loads((folder / "tessera" / f"{name}.json").read_text())["launches"]
        written = output((folder / "tessera" / f"{name}.out").read_text(), raw["outputs"][name]["out"])
        first = {}
        for launch in traced:
            first.setdefault(kernel_name(launch["kernel"]), launch)
        table["programs"].append({**program, "kernels": len(first), "output": written})
        for kind in BUILDS:
            profiled = {kernel_name(launch["kernel"]): launch for launch in raw["launches"][kind][name]}
            if profiled.keys() != first.keys():
                sys.exit(f"{name}: the kernels traced and profiled differ: {sorted({*first} ^ {*profiled})}")
            for kernel, launch in profiled.items():
                if first[kernel]["traced"] != "whole" or any(first[kernel][size] != launch[size] for size in ("grid", "block")):
                    sys.exit(f"{name}: {kernel} was not traced whole, or launched otherwise")
                table["rows"] += [{"program": name, "kernel": first[kernel]["kernel"], "build": kind, **row} for row in compare(first[kernel], launch)]
    return table


def equal_of(rows):
    return f"{sum(row['equal'] for row in rows)} of {len(rows)}"


def counts(row, side):
    return "none" if row[side] is None else " / ".join(f"{row[side][name]:,}" for name in COUNTS)


def markdown(table):
    plain, optimized = ([row for row in table["rows"] if row["build"] == kind] for kind in BUILDS)
    written = [program["output"] for program in table["programs"]]
    drawn = [program["name"] for program in table["programs"] if program["output"] not in ("equal", "differs")]
    products = f"; {', '.join(drawn)} draws its matrices by the clock, and C = A·B holds in both outputs" if drawn else ""
    out = ["## Other people's programs, line by line", "",
           f"Requests, sectors and 128-byte lines of each line's global accesses, in the first launch of each kernel of {len(table['programs'])} unmodified",
           f"programs on {table['device']}: equal for {equal_of(plain)} lines as `ptxas -O0` compiles them, {equal_of(optimized)} as nvcc optimizes.",
           "ncu's counts are " + ", ".join(f"`{metric}`" for metric in COUNTS.values()) + ".",
           f"Output is equal for {written.count('equal')} of {len(written)}, apart from times, paths and device names{products}.", "",
           "| program | kernels | equal, `-O0` | equal, optimized | output |", "|---|--:|--:|--:|---|"]
    for program in table["programs"]:
        each = [equal_of([row for row in rows if row["program"] == program["name"]]) for rows in (plain, optimized)]
        link = f"https://github.com/{table['repositories'][program['folder'].partition('/')[0]]}"
        out.append(f"| [{program['name']}]({link}) | {program['kernels']} | {each[0]} | {each[1]} | {program['output']} |")
    other = [row for row in table["rows"] if not row["equal"]]
    if other:
        out += ["", "| line | access | build | executor | GPU | why |", "|---|---|---|--:|--:|---|"]
        out += [f"| {r['file']}:{r['line']} | {r['access']} | {r['build']} | {counts(r, 'executor')} | {counts(r, 'gpu')} | {r['why']} |" for r in other]
    return "\n".join(out) + "\n"
