#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/agreement: what ncu prints is read, joined with what the executor counted, and differences explained.
  agreement_test.py [PROGRAM CALIBRATION_COUNTS]"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools"))
import agreement_lines as lines  # noqa: E402
import agreement_table as table  # noqa: E402

FIXED = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size",
         "Device", "CC"]
REQUESTS, SECTORS = "l1tex__t_requests" + table.LOAD, "l1tex__t_sectors" + table.LOAD
SHARED = "smsp__inst_executed_op_shared_ld.sum"
CONFLICTS = table.CONFLICTS + "ld.sum"
OCCUPANCY = "sm__maximum_warps_per_active_cycle_pct"
ZERO = {"narrow": 0, "32": 0, "64": 0, "128": 0}
CODE = {"registers": 36, "spill_load_bytes": 0, "spill_store_bytes": 0, "global_load": {**ZERO, "32": 3},
        "global_store": {**ZERO, "32": 1}, "shared_load": {**ZERO, "32": 32, "128": 8}, "shared_store": {**ZERO, "32": 2}}


def page(metrics, *rows):
    """ncu's raw page: a few words of its own, the names, the units, a row for each launch."""
    def line(cells):
        return ",".join(f'"{c}"' for c in cells)
    units = [""] * len(FIXED) + ["sector"] * len(metrics)
    out = ['==PROF== Connected to process 7 (/x/tessera)', '==PROF== Profiling "entry" - 0: 0%....50%....100% - 9 passes',
           line(FIXED + metrics), line(units)]
    for i, (name, values) in enumerate(rows):
        out.append(line([str(i), "7", "tessera", "here", name, "1", "7", "(32, 32, 1)", "(8, 8, 1)", "0", "9.0"] + values))
    return "\n".join(out) + "\n==PROF== Disconnected\n"


def raw(metrics, rows, counters, code=CODE):
    return {"device": "NVIDIA H200, 580.1", "ncu": "NVIDIA (R) Nsight\nVersion 2025.3", "size": 256, "element": "f32",
            "calibration": [], "calibration_csv": page([]), "trace": {"git": "abc", "rows": [
                {"variant": "tiles", "counters": counters, "code": code}]},
            "kernels": {"tiles": {"csv": page(metrics, *rows), "failed": None}}}


def only(document, counter):
    return next(r for r in document["rows"] if r["counter"] == counter)


class Reading(unittest.TestCase):
    def test_names_units_rows(self):
        text = page([REQUESTS, SECTORS, OCCUPANCY], ("void entry<A<float>, B>(T2)", ["1,048,576", "17301504", "93.75"]),
                    ("other", ["n/a", "", "(!) n/a"]))
        first, second = table.launches(text)
        self.assertEqual(first["kernel"], "void entry<A<float>, B>(T2)")
        self.assertEqual((first[REQUESTS], first[SECTORS], first[OCCUPANCY]), (1048576, 17301504, 93.75))
        self.assertEqual((second[REQUESTS], second[SECTORS], second[OCCUPANCY]), (None, None, None))
        self.assertIsNone(first[SHARED])

    def test_instances_behind_a_sum(self):
        self.assertEqual(table.number("640 (0: 320; 16: 320)"), 640)
        self.assertEqual(table.number("1.5e+06"), 1.5e6)
        self.assertIsNone(table.number("nan"))
        self.assertIsNone(table.number("-"))

    def test_nothing_profiled(self):
        self.assertEqual(table.launches(None), [])
        self.assertEqual(table.launches("==ERROR== ERR_NVGPUCTRPERM\n"), [])
        document = table.join({**raw([], [], {}), "kernels": {"tiles": {"csv": None, "failed": "ERR_NVGPUCTRPERM"}}})
        self.assertEqual(document["rows"], [])
        self.assertIn("ERR_NVGPUCTRPERM", document["notes"][0])


class Joining(unittest.TestCase):
    counters = {"global_load.requests": 1000, "global_load.sectors": 4000, "shared_load.requests": 1048576,
                "shared_load.conflicts": 0, "occupancy": 0.75, "divergent_requests": 0}

    def joined(self, metrics, values, counters=None, code=CODE):
        return table.join(raw(metrics, [("entry", values)], counters or self.counters, code))

    def test_classes(self):
        document = self.joined([REQUESTS, SECTORS, SHARED, CONFLICTS, OCCUPANCY], ["1000", "4010", "655,360", "12", "75"])
        self.assertEqual(only(document, "global_load.requests")["class"], "exact")
        self.assertNotIn("why", only(document, "global_load.requests"))
        self.assertEqual(only(document, "global_load.sectors")["class"], "close")
        self.assertEqual(only(document, "shared_load.requests")["class"], "differs")
        self.assertEqual(only(document, "shared_load.conflicts")["class"], "informative")
        self.assertEqual(only(document, "occupancy")["class"], "exact")

    def test_the_witness_explains_joined_loads(self):
        why = only(self.joined([SHARED], ["655360"]), "shared_load.requests")["why"]
        self.assertIn("joined", why)
        self.assertIn("32×32 + 8×128", why)

    def test_other_reasons(self):
        plain = {**CODE, "shared_load": {**ZERO, "32": 2}}
        self.assertIn("fewer", only(self.joined([SHARED], ["9"], code=plain), "shared_load.requests")["why"])
        self.assertIn("unexplained", only(self.joined([SHARED], ["9999999"], code=plain), "shared_load.requests")["why"])
        self.assertIn("unexplained", only(self.joined([SHARED], ["9"], code=None), "shared_load.requests")["why"])
        parted = {**self.counters, "divergent_requests": 5}
        self.assertIn("parted", only(self.joined([REQUESTS], ["2000"], parted), "global_load.requests")["why"])
        spilled = {**CODE, "spill_load_bytes": 64}
        self.assertIn("spills", only(self.joined([REQUESTS], ["2000"], code=spilled), "global_load.requests")["why"])

    def test_other_counters_are_explained(self):
        turns, stored, stored_turns = table.TURNS + "ld.sum", "smsp__inst_executed_op_shared_st.sum", table.TURNS + "st.sum"
        counters = {**self.counters, "shared_load.wavefronts": 4000, "shared_store.requests": 10, "shared_store.wavefronts": 40}
        same = self.joined([SHARED, turns, stored, stored_turns], ["1048576", "2000", "20", "40"], counters)
        self.assertIn("neighbouring lanes", only(same, "shared_load.wavefronts")["why"])
        self.assertIn("no lane takes part", only(same, "shared_store.requests")["why"])
        other = self.joined([SHARED, turns, stored, stored_turns], ["9", "2000", "20", "41"], counters)
        self.assertIn("joined", only(other, "shared_load.wavefronts")["why"])
        self.assertIn("unexplained", only(other, "shared_store.requests")["why"])

    def test_registers_are_allocated_in_units(self):
        metric = "launch__registers_per_thread"
        few = only(self.joined([metric], ["16"], code={**CODE, "registers": 10}), "registers")
        self.assertIn("sets aside 16", few["why"])
        more = only(self.joined([metric], ["40"], code={**CODE, "registers": 10}), "registers")
        self.assertIn("unexplained", more["why"])

    def test_a_missing_metric_is_not_zero(self):
        row = only(self.joined([REQUESTS], ["n/a"]), "global_load.requests")
        self.assertEqual((row["gpu"], row["class"]), (None, "n/a"))

    def test_sums_of_ours_and_theirs(self):
        counters = {**self.counters, "global_store.sectors": 500, "flops": 30}
        document = self.joined(["memory_l2_theoretical_sectors_global", *table.PAIRS[14][1][:2],
                                "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"], ["4500", "4", "6", "10"], counters)
        self.assertEqual(only(document, "global.sectors")["class"], "exact")
        self.assertEqual(only(document, "flops")["gpu"], 30)

    def test_two_launches_are_not_one(self):
        document = table.join(raw([REQUESTS], [("entry", ["1000"])] * 2, self.counters))
        self.assertEqual(document["rows"], [])
        self.assertIn("2 launches", document["notes"][0])

    def test_calibration_goes_by_order(self):
        given = {**raw([], [], {}), "kernels": {}, "calibration": [
            {"variant": "copy", "kernel": "k::Copy<1, 0>", "counters": {"global_load.requests": 512}},
            {"variant": "wide", "kernel": "k::Wide", "counters": {"global_load.requests": 512}}],
            "calibration_code": {"rows": [{**CODE, "kernel": "void entry<k::Wide, P>(P)", "architecture": a, "registers": a}
                                          for a in (80, 90, 120)]}}
        both = table.join({**given, "calibration_csv": page([REQUESTS], ("entry", ["512"]), ("entry", ["256"]))})
        self.assertEqual([r["class"] for r in both["rows"] if r["counter"] == "global_load.requests"], ["exact", "differs"])
        self.assertIn("code", [r for r in both["rows"] if r["class"] == "differs"][0]["why"])
        self.assertEqual([r["executor"] for r in both["rows"] if r["counter"] == "registers"], [90])
        one = table.join({**given, "calibration_csv": page([REQUESTS], ("entry", ["512"]))})
        self.assertEqual(one["rows"], [])
        self.assertIn("1 of 2", one["notes"][0])

    def test_without_permission_only_unprivileged_counters(self):
        left = table.without_permission(table.metrics())
        self.assertIn("memory_l2_theoretical_sectors_global", left)
        self.assertIn("launch__registers_per_thread", left)
        self.assertFalse([m for m in left if m.startswith(("l1tex__", "sm__"))])

    def test_the_page(self):
        text = table.markdown(self.joined([REQUESTS, SHARED], ["1000", "655360"]))
        self.assertIn("- exact for every kernel: global_load.requests\n- for others: shared_load.requests 0 of 1\n", text)
        self.assertIn("| tiles | shared_load.requests | 1,048,576 | 655,360 | differs | (1) the compiler joined", text)
        self.assertIn("NVIDIA H200", text)


def site(line, act, requests, sectors, lines_, space="global"):
    return {"file": "/a/b/own.cu", "line": line, "act": act, "space": space, "requests": requests, "sectors": sectors, "lines": lines_}


def instruction(line, sass, requests, sectors, lines_, file="/elsewhere/own.cu", lanes=(32, 32)):
    return {"file": file, "line": line, "sass": sass, lines.COUNTS["requests"]: requests, lines.COUNTS["sectors"]: sectors,
            lines.COUNTS["lines"]: lines_, "thread_inst_executed": lanes[0], "thread_inst_executed_true": lanes[1]}


class Lines(unittest.TestCase):
    def compared(self, sites, instructions):
        return list(lines.compare({"sites": sites}, {"accesses": instructions}))

    def test_instructions_of_a_line_are_summed_by_access(self):
        rows = self.compared([site(5, "read", 4, 16, 4), site(5, "read", 4, 8, 4), site(5, "write", 4, 16, 4), site(5, "read", 9, 0, 0, "shared")],
                             [instruction(5, "LDG.E R1, [R2]", 4, 16, 4), instruction(5, "@P0 LD.E R1, [R4]", 4, 8, 4), instruction(5, "STG.E [R2], R1", 4, 16, 4)])
        self.assertEqual([("read", True), ("write", True)], [(row["access"], row["equal"]) for row in rows])
        self.assertEqual({"requests": 8, "sectors": 24, "lines": 8}, rows[0]["gpu"])

    def test_a_predicate_explains_requests_alone(self):
        mine, idle = [site(5, "read", 4, 16, 4)], (256, 100)
        self.assertIn("predicate", self.compared(mine, [instruction(5, "@!P1 LDG.E R1, [R2]", 8, 16, 4, lanes=idle)])[0]["why"])
        for other in (instruction(5, "@!P1 LDG.E R1, [R2]", 8, 17, 4, lanes=idle), instruction(5, "LDG.E R1, [R2]", 8, 16, 4, lanes=idle),
                      instruction(5, "@!P1 LDG.E R1, [R2]", 2, 16, 4, lanes=idle)):
            self.assertEqual("unexplained", self.compared(mine, [other])[0]["why"])

    def test_a_line_of_the_toolkits_header_is_the_callers(self):
        header = "/cuda/targets/x86_64-linux/include/sm_atomics.hpp"
        rows = self.compared([site(5, "atomic", 4, 4, 4)], [instruction(84, "REDG.E.ADD [R2], R1", 4, 4, 4, header)])
        self.assertEqual([(5, False)], [(row["line"], row["equal"]) for row in rows])
        self.assertIn("sm_atomics.hpp:84", rows[0]["why"])
        rows = self.compared([site(5, "atomic", 4, 4, 4)], [instruction(84, "REDG.E.ADD [R2], R1", 8, 4, 4, header)])
        self.assertEqual([(5, None), (84, None)], [(row["line"], row["gpu"] and row["executor"]) for row in rows])

    def test_kernels_have_the_same_name_on_both_sides(self):
        self.assertEqual(lines.kernel_name("void sum<int, (unsigned int)256, (bool)1>(const T1 *, unsigned int)"), lines.kernel_name("sum<int, 256, true>"))
        self.assertNotEqual(lines.kernel_name("sum<int, 256, true>"), lines.kernel_name("sum<int, 256, false>"))

    def test_output_is_equal_except_for_varying_fields(self):
        told = "/bin/a Starting\nDevice 0: NVIDIA H{}\n{} GB/s, Time = {} ms, Size = 64\nresult {}\n"
        self.assertEqual("equal", lines.output(told.format("200", 0.5, 12.25, 3), told.format("100 80GB HBM3", 300.1, 0.01, 3)))
        self.assertEqual("differs", lines.output(told.format("200", 0.5, 12.25, 3), told.format("200", 0.5, 12.25, 4)))

    def test_a_product_is_checked_by_its_printed_values(self):
        told = "A:\n{} 2.0 \n\nB:\n3.0 \n4.0 \n\nC:\n{} \n\n"
        self.assertEqual("C = A·B in both", lines.output(told.format("1.0", "11.0"), told.format("2.0", "14.0")))
        self.assertEqual("differs", lines.output(told.format("1.0", "11.0"), told.format("2.0", "14.1")))


# Answers as ncu would: it knows all metrics but one, refuses one that it listed, and counts 512 of everything.
FAKE_NCU = """#!/usr/bin/env python3
import os, sys
words = sys.argv[1:]
if words == ["--version"]:
    print("NVIDIA (R) Nsight Compute\\nVersion 0")
elif words == ["--query-metrics"]:
    for name in os.environ["FAKE_METRICS"].split(","):
        if "warps_launched" not in name:
            print(name.split(".")[0].ljust(60) + "Counter  a count")
else:
    value = lambda flag: words[words.index(flag) + 1]
    metrics, log = value("--metrics").split(","), open(value("--log-file"), "w")
    assert not any("warps_launched" in m for m in metrics)
    hardware = [m for m in metrics if m.startswith(("l1tex__", "sm__", "smsp__inst"))]
    if os.environ["FAKE_PERMISSION"] == "no" and hardware:
        sys.exit(print("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission", file=log) or 1)
    if any("threads_per" in m or "block_size" in m for m in metrics):
        sys.exit(print("==ERROR== Failed to find metric launch__block_size", file=log) or 1)
    count = 20 if words[-1].endswith("calibration") else 1
    line = lambda cells: print(",".join('"%s"' % c for c in cells), file=log)
    print("==PROF== Connected", file=log)
    line(["ID", "Kernel Name"] + metrics)
    line(["", ""] + ["unit"] * len(metrics))
    for i in range(count):
        line([i, "void entry<K>(P)"] + ["512"] * len(metrics))
"""


class Measuring(unittest.TestCase):
    def measured(self, permission):
        program, counts = (os.path.abspath(w) for w in PROGRAMS)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "bundle").mkdir()
            for to, source in (("tessera", program), ("calibration_counts", counts), ("calibration", "/bin/true")):
                os.symlink(source, folder / "bundle" / to)
            for tool, text in (("ncu", FAKE_NCU), ("nvidia-smi", "#!/bin/sh\necho 'Some GPU, 1.0, 8.9'\n")):
                (folder / tool).write_text(text)
                (folder / tool).chmod(0o755)
            words = {"PATH": f"{folder}:{os.environ['PATH']}", "OUT": str(folder), "FAKE_PERMISSION": permission,
                     "FAKE_METRICS": ",".join(sorted(table.metrics()))}
            done = subprocess.run([sys.executable, str(ROOT / "tools" / "agreement"), "measure", str(folder / "bundle")],
                                  capture_output=True, text=True, timeout=500, env={**os.environ, **words})
            self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)
            return json.loads((folder / "agreement-raw.json").read_text()), done.stdout

    def test_from_the_programs_to_the_page(self):
        raw, page = self.measured("yes")
        document = table.join(raw)
        self.assertIn("warps_launched", raw["notes"][0])
        self.assertTrue(any("launch__block_size" in n for n in raw["notes"]), raw["notes"])
        self.assertEqual((document["device"], raw["capability"]), ("Some GPU, 1.0", 89))
        kernels = {r["kernel"] for r in document["rows"]}
        self.assertTrue({"copy", "triangle", "per_element", "shared_tiles", "vectorized"} <= kernels, kernels)
        copies = {r["counter"]: r["class"] for r in document["rows"] if r["kernel"] == "copy"}
        self.assertEqual((copies["global_load.requests"], copies["global_load.sectors"]), ("exact", "differs"))
        self.assertRegex(page, r"(every kernel|others):.*global_load\.requests")  # exact ones are tallied

    def test_without_permission(self):
        raw, _ = self.measured("no")
        self.assertTrue(any("ERR_NVGPUCTRPERM" in n for n in raw["notes"]), raw["notes"])
        rows = {(r["kernel"], r["counter"]): r for r in table.join(raw)["rows"]}
        self.assertEqual(rows["copy", "global_load.requests"]["class"], "n/a")
        self.assertEqual(rows["copy", "global.sectors"]["gpu"], 512)


if __name__ == "__main__":
    PROGRAMS, sys.argv[1:] = sys.argv[1:3], sys.argv[3:]
    if not PROGRAMS:
        del Measuring
    unittest.main()
