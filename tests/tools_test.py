#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the tools of a GPU run write can go into results/ as it is: the program's report shows it.   tools_test.py PROGRAM"""
import json
import os
import pathlib
import runpy
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
TOOLS = pathlib.Path(__file__).resolve().parent.parent / "tools"
sys.path[:0] = [str(TOOLS), str(TOOLS / "gpu")]
sys.dont_write_bytecode = True
import calls  # noqa: E402
import counters  # noqa: E402
import plans  # noqa: E402
import product_tables  # noqa: E402
import products  # noqa: E402
import versions  # noqa: E402


class Results(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.file = os.path.join(self.folder.name, "result.json")

    def tearDown(self):
        self.folder.cleanup()

    def use(self, tool, *words):
        done = subprocess.run([sys.executable, TOOLS / "gpu" / "integrals.py", tool, PROGRAM, self.file, *words], capture_output=True, text=True,
                              timeout=120, check=False)
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
        made = self.use("given", "S1", "O8", "D4", "M16")
        self.assertEqual([(row["id"], row["claims"], row["wrong"]) for row in made["rows"]],
                         [(name, True, False) for name in ("S1", "O8", "D4", "M16")])
        self.assertEqual(made["counts"]["one_variable"], {"integrals": 3, "claimed": 3, "to_tolerance": 3, "wrong_claims": 0})
        self.assertTrue("sqrt(x^2+y^2)" in self.shown())

    def test_bits(self):
        made = self.use("vegas", "cpu:rules,simt:vegas", "exp(x)")
        self.assertEqual([(row["formula"], row["same_bits"]) for row in made["rows"]], [("exp(x)", True)])
        self.assertTrue("same bits" in self.shown())


def rows_of(shape, ours, theirs, mode="burst", lies=("none", "transpose")):
    words = {"op-a": lies[0], "op-b": lies[1]}
    dims = dict(zip("mnk", shape))
    return [{"dims": dims, "words": words, "mode": mode, "variant": variant, "baseline": baseline, "median": median, "verified": "ok"}
            for variant, baseline, median in (("cluster", False, ours), ("cublas", True, theirs)) if median]


class Versions(unittest.TestCase):
    """The plan that measures two versions in turn."""

    @staticmethod
    def row(graph, host, variant="cluster"):
        kinds = {"graph": graph, "stream": 2 * graph, "host": host, "host_empty": 3e-6}
        return {"dims": {"m": 64}, "element": "bf16", "words": {}, "baseline": False, "variant": variant, "tuning": {}, "median": graph,
                "calls": {name: {"median": seconds} for name, seconds in kinds.items()}}

    def compared(self, earlier, present):
        return versions.compare([("earlier", [earlier]), ("present", [present]), ("present", [present]), ("earlier", [earlier])])

    def test_equal(self):
        rows, summary = self.compared(self.row(1e-5, 4e-6), self.row(1.01e-5, 4.05e-6))
        self.assertEqual(len(rows), 1)
        self.assertAlmostEqual(summary["graph"], 1.01)
        self.assertAlmostEqual(summary["host"], 5e-8)
        self.assertTrue(versions.holds(summary))

    def test_slower(self):
        for present in (self.row(1.03e-5, 4e-6), self.row(1e-5, 4.2e-6)):
            self.assertFalse(versions.holds(self.compared(self.row(1e-5, 4e-6), present)[1]))
        self.assertFalse(versions.holds(versions.compare([("earlier", [self.row(1, 1)])])[1]))

    def test_another_choice(self):
        rows, _ = self.compared(self.row(1e-5, 4e-6), self.row(1e-5, 4e-6, "few_rows"))
        self.assertNotEqual(rows[0]["variants"]["earlier"], rows[0]["variants"]["present"])


class Tables(unittest.TestCase):
    """The tables of the page on low precision, of made-up times."""

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        (self.folder / "products").mkdir()

    def tearDown(self):
        self.temporary.cleanup()

    def write(self, name, rows):
        (self.folder / "products" / f"matmul-products-{name}.json").write_text(json.dumps({"rows": rows}))

    def test_means_and_minima(self):
        rows = [row for mode in ("burst", "sustained") for at, shape in enumerate(product_tables.CUBES + product_tables.OTHERS)
                for row in rows_of(shape, 1, 2 if at % 2 == 0 else 0.5 if mode == "burst" else 2, mode)]
        self.write("bf16", rows)
        self.assertEqual(product_tables.tables("shapes", self.folder).splitlines()[2],
                         "| bf16 | 1.000 | 0.500 (1024³) | 2.000 | 2.000 (512³) | 1.03, 0.95: missed in bursts |")
        self.write("bf16", [row for row in rows if row["dims"]["m"] != 16384])
        self.assertIn("(11 shapes)", product_tables.tables("shapes", self.folder))

    def test_odd_sizes(self):
        whole, past = product_tables.WHOLE, (4097, 4099, 4101)
        self.write("bf16", rows_of(whole, 1, 1) + rows_of(past, 2, 3) + rows_of(past, 2, 1, "sustained"))
        share = past[0] * past[1] * past[2] / (2 * whole[0] ** 3)
        self.assertIn(f"1.500, 0.500; {share:.3f}", product_tables.tables("odd", self.folder))

    def test_tables_list_their_sources_and_gaps(self):
        first, second = product_tables.CUBES[:2]
        rows = rows_of(first, 1, 0.9) + rows_of(first, 1, 1, "sustained") + rows_of(second, 1, 0.96)
        rows[0]["verified"] = "unchecked"
        document = {"git": "1a2b3c4", "caches": "rotated", "rows": rows}
        (self.folder / "products" / "matmul-products-bf16.json").write_text(json.dumps({**document, "rows": [row | {"tuning": {"rotated": 1}} for row in rows]}))
        (self.folder / "products" / "matmul-products-i8.json").write_text(json.dumps({**document, "caches": "hot", "rows": rows_of(first, 1, 2)}))
        lines = product_tables.tables("source", self.folder).splitlines()
        self.assertEqual(lines[:3], ["- bf16: build 1a2b3c4, inputs rotated, and cuBLASLt's algorithms tried on such ones.",
                                     "- i8: build 1a2b3c4, inputs hot, which flatters small products, and cuBLASLt's algorithms tried on hot ones.",
                                     "- Results of 512³ were not checked; all others of ours were right."])
        self.assertIn("TF32", lines[3])

    def test_wrong_results_make_no_table(self):
        rows = rows_of(product_tables.WHOLE, 1, 1)
        rows[0]["verified"] = "wrong"
        self.write("bf16", rows)
        with self.assertRaises(SystemExit):
            product_tables.tables("shapes", self.folder)

    def test_a_wrong_baseline_is_reported_and_gives_no_ratio(self):
        past = (4097, 4099, 4101)
        rows = rows_of(product_tables.WHOLE, 1, 1) + rows_of(past, 2, 3) + rows_of(past, 2, 5, "sustained")
        next(row for row in rows if row["baseline"] and row["median"] == 3)["verified"] = "wrong"
        self.write("bf16", rows)
        self.assertIn("n/a, 2.500;", product_tables.tables("odd", self.folder))
        self.assertIn("- cuBLASLt's results of bf16 at 4097×4099×4101 were beyond", product_tables.tables("source", self.folder))

    def test_measurements_make_every_table(self):
        """Every plan names a file of the tables, and a bench of several shapes in one layout, of rotated inputs."""
        for name in product_tables.TYPES:
            ends = set()
            for end, shapes, layout, words in products.plans_of(name):
                ends.add(end)
                self.assertTrue(shapes and set(layout) <= {"none", "transpose"})
                self.assertIn("--rotate", words)
                self.assertTrue("--no-verify" not in words or shapes == [product_tables.LARGEST])
            self.assertEqual(ends, {"", "-odd"})

    def test_plans_are_commands_that_the_program_understands(self):
        """Each with its sizes replaced by none: the verb, the operation and every flag are known."""
        os.environ["OUT"] = str(self.folder)
        for name, steps in plans.PLANS.items():
            for step in steps:
                if not isinstance(step, str) or step.startswith("3?"):
                    continue
                words = plans.command(step)[1:]
                done = subprocess.run([PROGRAM, *words, "--help"], capture_output=True, text=True, check=False)
                flags = {word.split("=")[0] for word in words if word.startswith("--")}
                self.assertEqual(done.returncode, 0, f"{name}: {step}: {done.stderr}")
                self.assertEqual([flag for flag in sorted(flags) if flag not in done.stdout], [], f"{name}: {step}")

    def test_shapes_that_nobody_listed(self):
        drawn = calls.shapes.random(7, 200)
        self.assertEqual(drawn[:10], calls.shapes.random(7, 10))
        self.assertNotEqual(drawn, calls.shapes.random(8, 200))
        for at, shape in enumerate(drawn):
            self.assertTrue(10**6 <= shape[0] * shape[1] * shape[2] <= 10**12 and all(1 <= side <= 16384 for side in shape), shape)
            self.assertTrue(at % 3 == 2 or all(side == 1 or side % (64, 8)[at % 3] == 0 for side in shape), shape)
        self.assertIn((64, 28672, 4096), calls.shapes.language_models())
        printed = subprocess.run([TOOLS / "shapes", "random", "7", "3"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(printed, calls.shapes.word(drawn[:3]) + "\n")

    def test_the_program_takes_two_hundred_shapes(self):
        small = [shape for shape in calls.shapes.random(7, 8000) if max(shape) < 512][:200]
        self.assertEqual(len(small), 200)
        line = calls.words("random", "f32", self.folder / "call.json")
        line = [calls.shapes.word(small) if word.startswith("(") else "cpu:threads=1" if word == "cuda" else "1" if word == "11" else word for word in line]
        done = subprocess.run([PROGRAM, *line, "--no-verify"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({product_tables.shape_of(row) for row in json.loads((self.folder / "call.json").read_text())["rows"]}, set(small))

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
            lines = counters.lines_of("bf16-4096", variant, counters.launches_of(file.read_text()))
            self.assertEqual([",".join(line) for line in lines], [f"bf16-4096,{variant},multiply_tiles<2>(T1),1741,n/a,90.16" + ",n/a" * 9 + ",132"])


class Lines(unittest.TestCase):
    def test_a_code_line_is_neither_blank_nor_comment(self):
        size = runpy.run_path(str(TOOLS / "size"))
        counts = {"a.cpp": 6, "b.py": 3, "c": 1, "tests/d.hpp": 1, "e_test.cpp": 0, "f.md": None}
        files = {"a.cpp": '// one\n#include <b>\n\n/* two\n   three */\nint a = 1\'000;  // four\nchar c = \'"\';  // five\n'
                          'auto d = "/* no comment */";\nauto e = R"(\n// no comment)";\n',
                 "b.py": '#!/usr/bin/env python3\n"""one\ntwo"""\n# three\ndef b():\n    """four"""\n\n    return """\n# no comment"""\n',
                 "c": "#!/bin/sh\n# one\n\necho '#'  # two\n", "tests/d.hpp": "int d;\n", "e_test.cpp": "// one\n", "f.md": "one\n"}
        for path, text in files.items():
            counted = size["sizes"]([("ops/x/" + path, text)])
            self.assertEqual({key: of.code for key, of in counted.items()},
                             {} if counts[path] is None else {("ops/x", path in ("tests/d.hpp", "e_test.cpp")): counts[path]}, path)

    def test_a_change_is_printed(self):
        size = runpy.run_path(str(TOOLS / "size"))
        then, now = (size["sizes"]([("tools/a.py", text)]) for text in ("a = 1\n", "a = 1\nb = 2\n"))
        self.assertIn("+1", size["table"](now, then))


unittest.main(verbosity=2)
