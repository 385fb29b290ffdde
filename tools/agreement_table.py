# SPDX-License-Identifier: Apache-2.0
"""Joins what the executor counted with what Nsight Compute (ncu) counted, and says why they differ."""
import csv
import re

LOAD, STORE = "_pipe_lsu_mem_global_op_ld.sum", "_pipe_lsu_mem_global_op_st.sum"
TURNS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_"

# Our counter, ncu's metrics that are its sum, and whether equality is asked for. What is only informative counts
# something related: the hardware's conflicts hold other stalls of the same unit, its flops the kernel's own arithmetic.
PAIRS = [
    ("global_load.requests", ["l1tex__t_requests" + LOAD], True),
    ("global_load.sectors", ["l1tex__t_sectors" + LOAD], True),
    ("global_store.requests", ["l1tex__t_requests" + STORE], True),
    ("global_store.sectors", ["l1tex__t_sectors" + STORE], True),
    ("global.sectors", ["memory_l2_theoretical_sectors_global"], True),
    ("global.ideal_sectors", ["memory_l2_theoretical_sectors_global_ideal"], False),
    ("shared_load.requests", ["smsp__inst_executed_op_shared_ld.sum"], True),
    ("shared_load.wavefronts", [TURNS + "ld.sum"], True),
    ("shared_store.requests", ["smsp__inst_executed_op_shared_st.sum"], True),
    ("shared_store.wavefronts", [TURNS + "st.sum"], True),
    ("shared.wavefronts", ["memory_l1_wavefronts_shared"], True),
    ("shared.ideal_wavefronts", ["memory_l1_wavefronts_shared_ideal"], False),
    ("shared_load.conflicts", [CONFLICTS + "ld.sum"], False),
    ("shared_store.conflicts", [CONFLICTS + "st.sum"], False),
    ("flops", ["smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
               "2*smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"], False),
    ("warps", ["smsp__warps_launched.sum"], True),
    ("threads_per_block", ["launch__block_size"], True),
    ("shared_bytes", ["launch__shared_mem_per_block_static", "launch__shared_mem_per_block_dynamic"], True),
    ("registers", ["launch__registers_per_thread"], True),
    ("occupancy", ["sm__maximum_warps_per_active_cycle_pct"], True),
]
SUMS = {"global": ("global_load", "global_store", "global_atomic"), "shared": ("shared_load", "shared_store", "shared_atomic")}


def metrics():
    return {m.removeprefix("2*") for _, names, _ in PAIRS for m in names}


def without_permission(names):
    """Those that ncu collects by instrumenting the kernel, or knows from the launch: no counter of the hardware."""
    return [n for n in names if re.match(r"(memory_|launch__|smsp__sass_)", n)]


def number(text):
    """ncu's cell: 1,048,576 or 16.5, perhaps with instances behind; n/a and the like are nothing."""
    match = re.match(r"\s*(-?[\d,]+(?:\.\d+)?(?:[eE][+-]?\d+)?)", text or "")
    if not match or not re.search(r"\d", match[1]):
        return None
    return float(match[1].replace(",", ""))


def launches(text):
    """The kernels of ncu's raw page, in order: {"kernel": name, metric: number or None}."""
    lines = [line for line in (text or "").splitlines() if line.startswith('"')]
    start = next((i for i, line in enumerate(lines) if '"Kernel Name"' in line), None)
    if start is None:
        return []
    rows = list(csv.reader(lines[start:]))
    head, out = rows[0], []
    for row in rows[1:]:
        cells = dict(zip(head, row))
        if not cells.get("Kernel Name"):  # the units
            continue
        out.append({"kernel": cells["Kernel Name"], **{m: number(cells.get(m)) for m in metrics()}})
    return out


def ours(counters, code, name):
    if name == "registers":
        return code.get("registers") if code else None
    if name in counters:
        return counters[name]
    space, _, what = name.partition(".")
    parts = [counters[f"{part}.{what}"] for part in SUMS.get(space, ()) if f"{part}.{what}" in counters]
    return sum(parts) if parts and None not in parts else None


def theirs(launch, names):
    values = [launch.get(n.removeprefix("2*")) for n in names]
    if None in values:
        return None
    total = sum(v * (2 if n.startswith("2*") else 1) for v, n in zip(values, names))
    return total / 100 if names[0].endswith("_pct") else total


def widths(code, kind):
    counts = [(code[kind][w], w) for w in ("narrow", "32", "64", "128") if code[kind][w]]
    return " + ".join(f"{n}×{'8–16' if w == 'narrow' else w}" for n, w in counts) or "none"


LEAST_REGISTERS = 16  # that a GPU of these capabilities sets aside for a thread


def wide_loads(code):
    return code["shared_load"]["64"] + code["shared_load"]["128"]


def explain(name, mine, gpu, counters, code, exact=()):
    """Why two counts differ, as far as the code and the kernel's other counts, of which `exact` agree, tell;
    'unexplained' is an answer."""
    kind, _, what = name.partition(".")
    if name == "registers" and mine is not None and mine < gpu == LEAST_REGISTERS:
        return f"a launch sets aside {LEAST_REGISTERS} registers a thread, though the code needs {mine}"
    if name == "flops":
        return "ours are what the problem needs; the GPU's are what the kernel executes, scaling the result included"
    if what == "conflicts":
        return "the hardware's counter holds other stalls of the same unit too; its wavefronts are the count to trust"
    if what.startswith("ideal"):
        return "the ideal is defined otherwise: ours packs the bytes asked for, ncu's asks for one sector or turn per lane's share"
    if code is None:
        return "unexplained: the program holds no code for this GPU that could tell"
    if name == "occupancy":
        return f"ours takes {code['registers']} registers a thread and the multiprocessor's limits for granted"
    kinds = [kind] if isinstance(code.get(kind), dict) else ["shared_load", "shared_store"] if kind == "shared" else ["global_load", "global_store"]
    if what == "wavefronts" and gpu < mine and kind != "shared_store" and "shared_load.requests" in exact and wide_loads(code):
        return ("of loads wider than 4 bytes, quarters or halves of a warp share a turn where neighbouring lanes want the same"
                f" bytes; ours counts a turn for each. The requests agree; the code: shared loads {widths(code, 'shared_load')}")
    if what == "requests" and gpu > mine and f"{kind}.wavefronts" in exact:
        return ("instructions that no lane takes part in count there too (both sides of a branch, made predicates); the wavefronts,"
                f" which only lanes at work cause, agree. The code: {kind.replace('_', ' ')}s {widths(code, kind)}")
    listed = ", ".join(f"{k.replace('_', ' ')}s {widths(code, k)}" for k in kinds)
    if gpu < mine:
        if any(code[k]["64"] + code[k]["128"] for k in kinds):
            return f"the compiler joined accesses, as its code shows: {listed}; so fewer are made than the source says"
        return f"the compiler made fewer or narrower accesses than the source says; its code: {listed}"
    spilled = code["spill_load_bytes"] + code["spill_store_bytes"]
    if kind.startswith("global") and spilled:
        return f"registers ran out: {spilled} bytes of spills stand in the code"
    if counters.get("divergent_requests"):
        return "lanes that parted came together later than they could, so the GPU makes more requests"
    return f"unexplained; the compiler's code: {listed}"


def classify(mine, gpu, equal):
    if mine is None or gpu is None:
        return "n/a"
    if abs(mine - gpu) <= 1e-9 * max(abs(mine), abs(gpu)):
        return "exact"
    if not equal:
        return "informative"
    if max(abs(mine), abs(gpu)) > 0 and abs(mine - gpu) <= 0.01 * max(abs(mine), abs(gpu)):
        return "close"
    return "differs"


def compare(kernel, group, counters, code, launch):
    out, exact = [], set()
    for name, names, equal in PAIRS:
        mine, gpu = ours(counters, code, name), theirs(launch, names)
        if (not mine and not gpu) or (mine is None and name != "registers"):  # none of it, or nothing that we would claim
            continue
        cls = classify(mine, gpu, equal)
        row = {"group": group, "kernel": kernel, "counter": name, "executor": mine, "gpu": gpu,
               "metrics": [n.removeprefix("2*") for n in names], "class": cls}
        exact |= {name} if cls == "exact" else set()
        out.append(row)
    for row in out:
        if row["class"] not in ("exact", "n/a"):
            row["why"] = explain(row["counter"], row["executor"], row["gpu"], counters, code, exact)
    return out


def code_for(document, kernel, capability):
    """The kernel of the program's list that was made from this type, and that a GPU of this capability runs."""
    found = [r for r in (document or {}).get("rows", []) if kernel and f"<{kernel}," in r["kernel"]
             and r["architecture"] <= capability and r["architecture"] // 10 == capability // 10]
    return max(found, key=lambda r: r["architecture"], default=None)


def join(raw):
    rows, notes = [], list(raw.get("notes", []))
    profiled = launches(raw.get("calibration_csv"))
    counted = raw.get("calibration") or []
    if len(profiled) == len(counted):
        for row, launch in zip(counted, profiled):
            code = code_for(raw.get("calibration_code"), row["kernel"], raw.get("capability", 90))
            rows += compare(row["variant"], "calibration", row["counters"], code, launch)
    else:
        notes.append(f"calibration: {len(profiled)} of {len(counted)} kernels were profiled"
                     + (f": {raw['calibration_failed'].strip()[-300:]}" if raw.get("calibration_failed") else ""))
    for row in raw.get("trace", {}).get("rows", []):
        mine = raw.get("kernels", {}).get(row["variant"])
        if mine is None or "counters" not in row:
            continue
        found = launches(mine["csv"])
        if len(found) != 1:
            notes.append(f"{row['variant']}: {len(found)} launches were profiled instead of one"
                         + (f": {mine['failed'].strip()[-300:]}" if mine.get("failed") else ""))
            continue
        rows += compare(row["variant"], "ladder", row["counters"], row.get("code"), found[0])
    return {"schema": 1, "kind": "agreement", "device": raw.get("device", ""), "ncu": (raw.get("ncu") or "").strip().splitlines()[-1:],
            "git": raw.get("trace", {}).get("git"), "size": raw.get("size"), "element": raw.get("element"), "notes": notes, "rows": rows}


def shown(value):
    if value is None:
        return "n/a"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.4g}"


def tally_of(rows):
    """For how many of the kernels that have it each counter is exact."""
    exact = {}
    for r in rows:
        if r["class"] != "n/a":
            exact.setdefault(r["counter"], []).append(r["class"] == "exact")
    whole = [name for name, found in exact.items() if all(found)]
    part = [f"{name} {sum(found)} of {len(found)}" for name, found in exact.items() if not all(found)]
    return [f"- {title}: {', '.join(names)}" for title, names in (("exact for every kernel", whole), ("for others", part)) if names]


def markdown(table):
    classes = [r["class"] for r in table["rows"]]
    tally = ", ".join(f"{classes.count(c)} {c.replace('differs', 'different')}" for c in ("exact", "close", "informative", "differs", "n/a") if c in classes)
    out = ["# The executor against a GPU", "",
           f"What `tessera trace` counts beside what Nsight Compute counts of the same kernels on {table['device'] or 'a GPU'}: {tally}.",
           "`tools/agreement` measures and writes this page. *exact*: equal; *close*: within 1%; *informative*: the GPU's counter is a",
           "related one, and equality is not expected; *differs*: more than 1% apart. Rows that are not exact say why, from the GPU's code",
           "itself; a number in brackets stands for a reason given above. Exact counts are tallied by counter; `results/` holds all numbers.", ""]
    out += [f"- {note}" for note in table["notes"]] + ([""] if table["notes"] else [])
    for group, title in (("calibration", "Calibration kernels"), ("ladder", f"The ladder at {table['size']}³, {table['element']}")):
        rows = [r for r in table["rows"] if r["group"] == group]
        if not rows:
            continue
        out += [f"## {title}", "", *tally_of(rows), ""]
        other = {}  # what differs alike is one row
        for r in rows:
            if r["class"] != "exact":
                other.setdefault((r["counter"], r["executor"], r["gpu"], r["class"], r.get("why", "")), []).append(r["kernel"])
        if other:
            out += ["| kernel | counter | executor | GPU | class | why |", "|---|---|--:|--:|---|---|"]
            seen = []  # a reason is written once, then by its number
            for (counter, executor, gpu, kind, why), kernels in other.items():
                if why and why not in seen:
                    seen.append(why)
                    why = f"({len(seen)}) {why}"
                elif why:
                    why = f"({seen.index(why) + 1})"
                out.append(f"| {'; '.join(kernels)} | {counter} | {shown(executor)} | {shown(gpu)} | {kind} | {why} |")
            out.append("")
    return "\n".join(out)
