#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the tools of a GPU run write can go into results/ as it is: the program's report shows it.   tools_test.py PROGRAM"""
import contextlib
import io
import itertools
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

PROGRAM = os.path.abspath(sys.argv.pop(1))
TOOLS = pathlib.Path(__file__).resolve().parent.parent / "tools"
sys.path.insert(0, str(TOOLS))
import product_tables  # noqa: E402


class Results(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.file = os.path.join(self.folder.name, "result.json")

    def tearDown(self):
        self.folder.cleanup()

    def use(self, tool, *words):
        done = subprocess.run([sys.executable, TOOLS / tool, PROGRAM, self.file, *words], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(self.file) as file:
            return json.load(file)

    def shown(self):
        page = os.path.join(self.folder.name, "page.html")
        done = subprocess.run([PROGRAM, "report", self.file, "-o", page], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(page) as file:
            return file.read()

    def test_regions(self):
        made = self.use("cubature", "--devices", "cpu,simt", "--relative", "1e-3", "jump-5", "corner-peak-6")
        self.assertEqual([(row["integral"], row["device"], row["honest"]) for row in made["rows"]],
                         [(name, device, True) for name in ("jump-5", "corner-peak-6") for device in ("cpu", "simt")])
        self.assertEqual([device["label"] for device in made["devices"]], ["cpu", "simt"])
        page = self.shown()
        for text in ("jump-5", "corner-peak-6", "true error", made["git"]):
            self.assertTrue(text in page, text)

    def test_given_integrals(self):
        made = self.use("given_integrals", "S1", "O8", "D4", "M16")
        self.assertEqual([(row["id"], row["claims"], row["wrong"]) for row in made["rows"]],
                         [(name, True, False) for name in ("S1", "O8", "D4", "M16")])
        self.assertEqual(made["counts"]["one_variable"], {"integrals": 3, "claimed": 3, "to_tolerance": 3, "wrong_claims": 0})
        self.assertTrue("sqrt(x^2+y^2)" in self.shown())

    def test_bits(self):
        rungs = ("--rungs", "cpu,rules:simt,vegas")
        self.use("vegas_bits", *rungs, "exp(x)", "0", "1", "--relative", "1e-2")
        made = self.use("vegas_bits", *rungs, "x*y", "x=[0,1]", "y=[0,1]", "--relative", "1e-1")
        self.assertEqual([(row["formula"], row["same_bits"]) for row in made["rows"]], [("exp(x)", True), ("x*y", True)])
        self.assertTrue("same bits" in self.shown())


def rows_of(shape, ours, theirs, mode="burst", lies=("none", "transpose")):
    words = {"op-a": lies[0], "op-b": lies[1]}
    dims = dict(zip("mnk", shape))
    return [{"dims": dims, "words": words, "mode": mode, "variant": variant, "baseline": baseline, "median": median, "verified": "ok"}
            for variant, baseline, median in (("cluster", False, ours), ("cublas", True, theirs)) if median]


class Tables(unittest.TestCase):
    """The tables of the page on low precision, of made-up times."""

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()

    def write(self, name, rows):
        (self.folder / f"matmul-products-{name}.json").write_text(json.dumps({"rows": rows}))

    def test_means_and_leasts(self):
        rows = [row for mode in ("burst", "sustained") for at, shape in enumerate(product_tables.CUBES + product_tables.OTHERS)
                for row in rows_of(shape, 1, 2 if at % 2 == 0 else 0.5 if mode == "burst" else 2, mode)]
        self.write("bf16", rows)
        self.assertEqual(product_tables.tables("shapes", self.folder).splitlines()[2],
                         "| bf16 | 1.000 | 0.500 (1024³) | 2.000 | 2.000 (512³) | 1.03, 0.95: missed in bursts |")
        self.write("bf16", [row for row in rows if row["dims"]["m"] != 16384])
        self.assertIn("(11 shapes)", product_tables.tables("shapes", self.folder))

    def test_odd_sizes_layouts_and_small_ones(self):
        whole, past = product_tables.WHOLE, product_tables.PAST
        rows = rows_of(whole, 1, 1) + rows_of(past, 2, 3) + rows_of(past, 2, 1, "sustained") + rows_of((64, 64, 64), 4, 5)
        for lies in (("none", "none"), ("transpose", "none"), ("transpose", "transpose")):
            rows += rows_of(whole, 2, None, lies=lies)
        self.write("bf16", rows)
        self.write("bf16-graph", rows_of((64, 64, 64), 2, 1))
        share = past[0] * past[1] * past[2] / (2 * whole[0] ** 3)
        self.assertIn(f"1.500, 0.500; {share:.3f}", product_tables.tables("odd", self.folder))
        self.assertIn(f"| bf16 | 1.000, {share:.3f} | 0.500, n/a | 0.500, n/a | 0.500, n/a |", product_tables.tables("layouts", self.folder))
        self.assertIn("| bf16 | 1.250, 0.500 |", product_tables.tables("small", self.folder))

    def test_cold_inputs(self):
        shapes = product_tables.CUBES[:2]
        self.write("f32-cold", rows_of(shapes[0], 1, 1.5, lies=("none", "none")))
        self.write("f64-cold", rows_of(shapes[0], 1, 1) + rows_of(shapes[1], 2, 1))
        table = product_tables.tables("cold", self.folder).splitlines()
        self.assertIn("| strict f32, rows of B contiguous | 1.500 | 1.500 (512³) | 1 | 1, 0.93: met |", table)
        self.assertIn("| f64 | 0.707 | 0.500 (1024³) | 2 | 1, 0.93: missed |", table)
        self.assertIn("| i8 | n/a | n/a | 0 | 1.03, 0.95: not measured |", table)

    def test_what_tables_are_of_and_what_misses(self):
        first, second = product_tables.CUBES[:2]
        rows = rows_of(first, 1, 0.9) + rows_of(first, 1, 1, "sustained") + rows_of(second, 1, 0.96)
        rows[0]["verified"] = "unchecked"
        document = {"git": "1a2b3c4", "caches": "rotated", "rows": rows}
        (self.folder / "matmul-products-bf16.json").write_text(json.dumps({**document, "rows": [row | {"tuning": {"rotated": 1}} for row in rows]}))
        (self.folder / "matmul-products-i8.json").write_text(json.dumps({**document, "caches": "hot", "rows": rows_of(first, 1, 2)}))
        lines = product_tables.tables("source", self.folder).splitlines()
        self.assertEqual(lines[:3], ["- bf16: build 1a2b3c4, inputs rotated, and cuBLASLt's algorithms tried on such ones.",
                                     "- i8: build 1a2b3c4, inputs hot, which flatters small products, and cuBLASLt's algorithms tried on hot ones.",
                                     "- Results of 512³ were not checked; all others of ours were right."])
        self.assertIn("TF32", lines[3])
        self.assertEqual(product_tables.tables("missed", self.folder), "- bf16, 0.95: 512³ (0.900, 1.000).\n")

    def test_every_table_but_the_cold_ones_is_of_rotated_inputs(self):
        for name in product_tables.TYPES:
            for part, shapes, _, words in product_tables.plans_of(name):
                self.assertEqual(("--rotate" in words, "rotated=1" in words, "--cold" in words), (part != "cold", part != "cold", part == "cold"))
                self.assertTrue("--no-verify" not in words or shapes == [product_tables.LARGEST])

    def test_wrong_results_make_no_table(self):
        rows = rows_of(product_tables.WHOLE, 1, 1)
        rows[0]["verified"] = "wrong"
        self.write("bf16", rows)
        with self.assertRaises(SystemExit):
            product_tables.tables("shapes", self.folder)

    def test_a_baseline_that_is_wrong_is_told_and_gives_no_ratio(self):
        past = product_tables.PAST
        rows = rows_of(product_tables.WHOLE, 1, 1) + rows_of(past, 2, 3) + rows_of(past, 2, 5, "sustained")
        next(row for row in rows if row["baseline"] and row["median"] == 3)["verified"] = "wrong"
        self.write("bf16", rows)
        self.assertIn("n/a, 2.500;", product_tables.tables("odd", self.folder))
        self.assertIn("- cuBLASLt's results of bf16 at 4097×4099×4101 were beyond", product_tables.tables("source", self.folder))

    def test_benches_of_one_build_become_one_file(self):
        parts = []
        for op in ("none", "transpose"):
            parts.append(str(self.folder / f"{op}.json"))
            subprocess.run([PROGRAM, "bench", "matmul", "(m,n,k)=(8,9,10)", "--op-b", op, "--device", "cpu", "--variant", "naive", "--time", "0.01",
                            "--reps", "2", "--json", parts[-1]], check=True, capture_output=True)
        merged = self.folder / "both.json"
        product_tables.merge(merged, parts)
        self.assertEqual([row["words"]["op-b"] for row in json.loads(merged.read_text())["rows"]], ["none", "transpose"])
        done = subprocess.run([PROGRAM, "report", str(merged), "-o", str(self.folder / "page.html")], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        other = json.loads(pathlib.Path(parts[1]).read_text())
        other["git"] = "another"
        pathlib.Path(parts[1]).write_text(json.dumps(other))
        with self.assertRaises(SystemExit):
            product_tables.merge(merged, parts)

    def made_up_program(self):
        """Takes every bench for done, and notes it down."""
        program = self.folder / "tessera"
        program.write_text(f"""#!{sys.executable}
import json, pathlib, re, sys
words = sys.argv[1:]
if words == ["--version"]:
    sys.exit(print("tessera 0.1.0 (made-up)"))
after = lambda word: words[words.index(word) + 1]
lies = {{op: after("--" + op) for op in ("op-a", "op-b")}}
shapes = [dict(zip("mnk", map(int, shape))) for shape in re.findall(r"\\((\\d+),(\\d+),(\\d+)\\)", words[2])]
rows = [{{"dims": dims, "words": lies, "mode": mode, "variant": variant, "baseline": variant == "cublas", "median": 1, "verified": "ok"}}
        for dims in shapes for variant in after("--variant").split(",") for mode in ("burst", "sustained")[:1 + ("--sustained" in words)]]
pathlib.Path(after("--json")).write_text(json.dumps({{"git": "made-up", "argv": words, "rows": rows}}))
with open(sys.argv[0] + ".log", "a") as log:
    print(words[2], file=log)
""")
        program.chmod(0o755)
        return str(program)

    def benches(self):
        return (self.folder / "tessera.log").read_text().splitlines()

    def test_parts_of_the_tables_are_added_to_what_is_there(self):
        program, everything = self.made_up_program(), product_tables.PARTS
        self.assertEqual(product_tables.measure(program, self.folder, ["bf16"], ["small", "graphs"], math.inf), 0)
        self.assertEqual(len(self.benches()), 2)
        # A clock that goes on by ten seconds each time it is asked: one bench, which takes ten, and no second one.
        with unittest.mock.patch("time.monotonic", side_effect=itertools.count(0, 10)), contextlib.redirect_stdout(io.StringIO()) as told:
            self.assertEqual(product_tables.measure(program, self.folder, ["bf16"], everything, 35), 0)
        self.assertEqual([bench[:23] for bench in self.benches()[2:]], ["(m,n,k)=(512,512,512),("])
        self.assertIn("no time for bf16 shapes 16384³\n", told.getvalue())
        self.assertNotIn("small", told.getvalue())
        for _ in range(2):  # the rest; then nothing is left
            self.assertEqual(product_tables.measure(program, self.folder, ["bf16"], everything, math.inf), 0)
        self.assertEqual(len(self.benches()), len(set(self.benches())) + 2, "but for layouts, of which three have the same sizes")
        for kind in product_tables.TABLES:
            self.assertEqual(re.findall(r"\| bf16 \|.*n/a", product_tables.tables(kind, self.folder)), [])

    def test_results_of_another_build_are_not_added_to(self):
        program = self.made_up_program()
        (self.folder / "matmul-products-i8-graph.json").write_text(json.dumps({"git": "older", "rows": []}))
        with self.assertRaisesRegex(SystemExit, "another build than tessera 0.1.0 .made-up."):
            product_tables.measure(program, self.folder, ["bf16", "i8"], product_tables.PARTS, math.inf)
        self.assertFalse((self.folder / "tessera.log").exists())

    def test_counters_of_the_quickest_launch(self):
        names = ["ID", "Kernel Name", "Metric Name", "Metric Value"]
        lines = [",".join(f'"{name}"' for name in names)]
        for launch, duration in (("0", "1,800"), ("1", "1,741")):
            for metric, value in (("Duration", duration), ("Grid Size", "132"), ("SM Busy", "90.16")):
                lines.append(f'"{launch}","void tessera::matmul::multiply_tiles<(int)2>(T1)","{metric}","{value}"')
        for metric, value in (("Duration", "12"), ("Grid Size", "8")):
            lines.append(f'"2","void cublasLt::splitKreduce_kernel<32>(T1)","{metric}","{value}"')
        file = self.folder / "ncu.csv"
        file.write_text("==PROF== Connected\n" + "\n".join(lines) + "\n")
        for variant in ("cluster", "cublas"):
            done = subprocess.run([sys.executable, TOOLS / "counters", "table", variant, "bf16-4096", str(file)], capture_output=True, text=True, check=True)
            self.assertEqual(done.stdout.strip(), f"bf16-4096,{variant},multiply_tiles<2>(T1),1741,n/a,90.16" + ",n/a" * 9 + ",132")


unittest.main(verbosity=2)
