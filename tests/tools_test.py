#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the tools of a GPU run write can go into results/ as it is: the program's report shows it.   tools_test.py PROGRAM"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

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

    def test_bits(self):
        rungs = ("--rungs", "cpu,rules:simt,vegas")
        self.use("vegas_bits", *rungs, "exp(x)", "0", "1", "--relative", "1e-2")
        made = self.use("vegas_bits", *rungs, "x*y", "x=[0,1]", "y=[0,1]", "--relative", "1e-1")
        self.assertEqual([(row["formula"], row["same_bits"]) for row in made["rows"]], [("exp(x)", True), ("x*y", True)])
        self.assertTrue("same bits" in self.shown())


def rows_of(shape, ours, theirs, mode="burst", lies=("none", "transpose")):
    words = {"op-a": lies[0], "op-b": lies[1]}
    dims = dict(zip("mnk", shape))
    return [{"dims": dims, "words": words, "mode": mode, "variant": variant, "yardstick": yardstick, "median": median, "verified": "ok"}
            for variant, yardstick, median in (("cluster", False, ours), ("cublas", True, theirs)) if median]


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

    def test_wrong_results_make_no_table(self):
        rows = rows_of(product_tables.WHOLE, 1, 1)
        rows[0]["verified"] = "wrong"
        self.write("bf16", rows)
        with self.assertRaises(SystemExit):
            product_tables.tables("shapes", self.folder)

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

    def test_counters_of_the_quickest_launch(self):
        names = ["ID", "Kernel Name", "Metric Name", "Metric Value"]
        lines = [",".join(f'"{name}"' for name in names)]
        for launch, duration in (("0", "1,800"), ("1", "1,741")):
            for metric, value in (("Duration", duration), ("Grid Size", "132"), ("SM Busy", "90.16")):
                lines.append(f'"{launch}","void tessera::matmul::multiply_tiles<(int)2>(T1)","{metric}","{value}"')
        file = self.folder / "ncu.csv"
        file.write_text("==PROF== Connected\n" + "\n".join(lines) + "\n")
        done = subprocess.run([sys.executable, TOOLS / "counters", "table", "cluster", "bf16-4096", str(file)], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.strip(), "bf16-4096,cluster,multiply_tiles<2>(T1),1741,n/a,90.16" + ",n/a" * 9 + ",132")


unittest.main(verbosity=2)
