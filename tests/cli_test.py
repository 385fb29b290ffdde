#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The program from outside: exit codes, messages, streams, files.   cli_test.py PROGRAM"""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from cli_case import PROGRAM, Case, load, run, save


class Words(Case):
    def test_help_and_version(self):
        text = self.passes("--help").stdout
        for part in ("verify", "bench", "matmul", "Exit codes", "130  interrupted", "TESSERA_SOME_FLAG"):
            self.assertIn(part, text)
        self.assertTrue(self.passes("--version").stdout.startswith("tessera "))
        for verb in ("list", "devices", "verify", "bench", "compare", "report", "matmul"):
            self.assertIn("Exit codes", self.passes(verb, "--help").stdout, verb)

    def test_help_comes_from_the_signature(self):
        text = self.passes("matmul", "--help").stdout
        for part in ("--alpha", "--beta", "--c FILE", "--op-a none|transpose", "A[m,k] B[k,n]"):
            self.assertIn(part, text)

    def test_nearest_names(self):
        self.fails(2, "did you mean 'matmul'?", "matmull", "A.npy")
        self.fails(2, "did you mean 'verify'?", "verfy")
        self.fails(2, "did you mean 'matmul'?", "bench", "matmil", "m=4")
        self.fails(2, "did you mean 'naive'?", "matmul", "A.npy", "B.npy", "--variant", "naiv")
        self.fails(2, "did you mean 'shared_tiles'?", "bench", "matmul", "m=4", "n=4", "k=4", "--variant", "shared_tile")
        self.fails(2, "did you mean '--variant'?", "matmul", "A.npy", "B.npy", "--varient", "naive")
        self.fails(2, "did you mean 'transpose'?", "matmul", "A.npy", "B.npy", "--op-a", "transpos")
        self.fails(2, "did you mean 'simt'?", "matmul", "A.npy", "B.npy", "--device", "simd")
        self.fails(2, "there is f32, f64", "matmul", "A.npy", "B.npy", "--element", "float")
        for word, meant in (("fitler", "filter"), ("--hlp", "--help"), ("integrate_bacth", "integrate_batch")):
            self.fails(2, "did you mean '%s'?" % meant, word)
        for meant, *words in (("--help", "matmul", "--hlp"), ("--help", "bench", "--hepl"), ("--kernel", "code", "--kernell", "Tiles"),
                              ("--kernel", "filter", "x.png", "--kernell", "box"), ("--split", "matmul", "A.npy", "B.npy", "--splti", "auto"),
                              ("dynamic", "matmul", "A.npy", "B.npy", "--devices", "cpu,cpu", "--split", "dynamc"),
                              ("local", "tune", "matmul", "m=4", "n=4", "k=4", "--device", "cpu", "--search", "locl"),
                              ("simpson", "integrate", "x", "0", "1", "--rule", "simpsn"), ("f32", "matmul", "A.npy", "B.npy", "--element", "f31"),
                              ("aside", "resize", "x.png", "--width", "3", "--height", "3", "--alpha", "asid"),
                              ("cpu/simd", "matmul", "A.npy", "B.npy", "--variant", "cpu/smd")):
            self.fails(2, "did you mean '%s'?" % meant, *words)
        self.fails(2, "no command is given", )

    def test_sizes(self):
        self.fails(2, "the size m is missing", "bench", "matmul", "n=4", "k=4")
        self.fails(2, "given twice", "bench", "matmul", "m=4", "m=5", "n=4", "k=4")
        self.fails(2, "never reaches", "bench", "matmul", "m=4:8:0", "n=4", "k=4")
        self.fails(2, "not known", "bench", "matmul", "m=4", "n=4", "k=4", "width=3")
        self.fails(2, "nothing is called", "bench", "matmul", "m=n", "n=m", "k=4")

    def test_environment(self):
        self.fails(5, "cuda", "matmul", "A.npy", "B.npy", TESSERA_DEVICE="cuda:77")
        self.fails(5, "cannot be used", "matmul", "A.npy", "B.npy", "--device", "gpu:77")
        out = self.passes("matmul", "A.npy", "B.npy", TESSERA_VARIANT="naive", TESSERA_CHECK="1").stdout
        self.assertIn("cpu/naive", out)
        self.assertIn("verified", out)


class AfterTheProgramAlone(unittest.TestCase):
    """`make demo` builds the program; what else a command needs is built by cmake at its first use."""

    def test_trace_builds_the_traced_kernels(self):
        folder = os.path.dirname(PROGRAM)
        if not os.path.exists(os.path.join(folder, "libtessera_traced.so")):
            self.skipTest("this build has no traced kernels")
        with tempfile.TemporaryDirectory() as bare:
            for name in os.listdir(folder):
                if name == "tessera" or re.fullmatch(r"libtessera(_thread)?\.so.*", name):
                    shutil.copy2(os.path.join(folder, name), bare, follow_symlinks=False)
            open(os.path.join(bare, "CMakeCache.txt"), "w", encoding="utf-8").close()
            tools = os.path.join(bare, "tools")
            os.mkdir(tools)
            with open(os.path.join(tools, "cmake"), "w", encoding="utf-8") as stub:
                stub.write(f'#!/bin/sh\n[ "$4" = tessera_traced ] && cp "{folder}/libtessera_traced.so" "$2"\n')
            os.chmod(stub.name, 0o755)

            def trace(path):
                return subprocess.run([os.path.join(bare, "tessera"), "trace", "matmul", "m=32", "n=m", "k=m", "--variant", "shared_tiles"],
                                      capture_output=True, text=True, timeout=300, env={**os.environ, "PATH": path})
            without = trace("/nowhere")
            self.assertEqual(without.returncode, 5, without.stderr)
            self.assertIn("they could not be built", without.stderr)
            first, second = trace(tools + os.pathsep + os.environ["PATH"]), trace("/nowhere")
            for done in (first, second):
                self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("building the traced kernels, once", first.stderr)
            self.assertNotIn("building", second.stderr)


class Products(Case):
    expected = [sum((i + 2 * l) * (l - j) for l in range(3)) for i in range(5) for j in range(4)]

    def test_product(self):
        for device in ("cpu", "simt"):
            out = self.passes("matmul", "A.npy", "B.npy", "-o", device + ".npy", "--device", device, "--check")
            self.assertEqual(load(device + ".npy"), self.expected)
            self.assertIn("verified", out.stdout)
            self.assertEqual(out.stderr, "")

    def test_epilogues(self):
        save("of_columns.npy", None, 4, lambda _, j: 10 * j - 5)
        save("of_rows.npy", None, 5, lambda _, i: 3 - 7 * i)
        sums = [[sum((i + 2 * l) * (l - j) for l in range(3)) for j in range(4)] for i in range(5)]
        for device in ("cpu", "simt"):
            words = ("matmul", "A.npy", "B.npy", "--device", device, "--check", "--activation", "relu", "-o", "D.npy")
            self.passes(*words, "--bias", "of_columns.npy")
            self.assertEqual(load("D.npy"), [max(0, sums[i][j] + 10 * j - 5) for i in range(5) for j in range(4)])
            self.passes(*words, "--bias", "of_rows.npy", "--bias-along", "rows", "--c", "C0.npy", "--beta", "2")
            self.assertEqual(load("D.npy"), [max(0, sums[i][j] + 2 * i * j + 3 - 7 * i) for i in range(5) for j in range(4)])
        self.assertIn("a pass over C after the rung", self.passes("list", "matmul", "-v").stdout)

    def test_accuracy_leads_to_an_arithmetic(self):
        out = self.passes("matmul", "A.npy", "B.npy", "--accuracy", "f32").stdout
        self.assertRegex(out, r"arithmetic  strict f32, within \S+ of \|A\|\|B\| if roundings are independent, \S+ at worst")
        save("wide.npy", 2, 300, lambda i, j: i + j)
        save("high.npy", 300, 2, lambda i, j: i - j)
        out = self.passes("matmul", "wide.npy", "high.npy", "--accuracy", "f32", "--device", "simt", "--variant", "f16x3", "--check").stdout
        self.assertRegex(out, r"arithmetic  f16x3, within [^;]+; where f16 lacks the range, bf16x6, within [^;]+; by rungs without it, [^;]*strict f32, within")
        save("thin.npy", 2, 0, lambda i, j: 0)
        save("flat.npy", 0, 2, lambda i, j: 0)
        self.assertIn("arithmetic  strict f32", self.passes("matmul", "thin.npy", "flat.npy", "--accuracy", "f32").stdout)
        self.fails(2, "the smallest at k = 300 is ", "matmul", "wide.npy", "high.npy", "--accuracy", "1e-8")
        self.fails(2, "--accuracy takes f32, f64 or a number above 0, not 'good'", "matmul", "wide.npy", "high.npy", "--accuracy", "good")

    def test_executor_is_no_gpu(self):
        self.assertIn("executor wall time", self.passes("matmul", "A.npy", "B.npy", "--device", "simt").stdout)

    def test_scalars_and_order_of_words(self):
        self.passes("matmul", "-o", "C.npy", "A.npy", "--alpha", "-2", "B.npy", "--variant", "cpu/naive")
        self.assertEqual(load("C.npy"), [-2 * x for x in self.expected])

    def test_expression_is_no_flag(self):
        self.passes("matmul", "A.npy", "-3", "-o", "C.npy")
        self.assertEqual(load("C.npy"), self.expected)

    def test_times_of_a_first_call(self):
        out = self.passes("matmul", "A.npy", "B.npy", "-o", "C.npy", "--device", "cpu").stdout
        for title in ("read", "compute (cold)", "write"):
            self.assertIn(title, out)
        self.assertNotIn("round trip", out)
        told = json.loads(self.passes("matmul", "A.npy", "B.npy", "--device", "cpu", "--json", "-").stdout)["seconds"]
        self.assertIsNone(told["round_trip"])
        self.assertIsNone(told["write"])
        self.assertGreater(told["read"], 0)

    def test_unknown_endings_are_refused(self):
        self.fails(2, "nothing is written as .txt files", "matmul", "A.npy", "B.npy", "-o", "C.txt")
        self.passes("matmul", "A.npy", "B.npy", "-o", "/dev/null")

    def test_an_estimate_without_an_error_is_no_value(self):
        done = run("integrate", "1/x", "0", "1")
        self.assertEqual(done.returncode, 7)
        self.assertIn("no value: ", done.stdout)
        self.assertNotIn("inf", done.stdout.replace("infinit", ""))

    def test_nothing_written(self):
        self.assertIn("nothing was written", self.passes("matmul", "A.npy", "B.npy").stdout)

    def test_mistakes_leave_the_old_file(self):
        self.passes("matmul", "A.npy", "B.npy", "-o", "old.npy")
        before = load("old.npy")
        self.fails(2, "k = 4", "matmul", "A.npy", "tall.npy", "-o", "old.npy")
        self.fails(2, "bad.npy", "matmul", "A.npy", "bad.npy", "-o", "old.npy")
        self.fails(2, "none.npy: No such file", "matmul", "none.npy", "B.npy", "-o", "old.npy")
        self.fails(2, "file for B is missing", "matmul", "A.npy")
        self.fails(2, "one file too many", "matmul", "A.npy", "B.npy", "B.npy")
        self.fails(2, "one output too many", "matmul", "A.npy", "B.npy", "-o", "x.npy", "-o", "y.npy")
        self.assertEqual(load("old.npy"), before)

    def test_impossible_scalars(self):
        self.fails(2, "--beta 2 needs C0, which was not given; --c gives it", "matmul", "A.npy", "B.npy", "--beta", "2")
        self.fails(2, "needs C0", "bench", "matmul", "m=4", "n=4", "k=4", "--beta", "2", "--device", "cpu")
        self.passes("matmul", "A.npy", "B.npy", "--beta", "0.0")
        self.passes("matmul", "A.npy", "B.npy", "--beta", "2", "--c", "C0.npy")
        self.fails(2, "not a number that f32 can hold", "matmul", "A.npy", "B.npy", "--alpha", "1e-60")
        for word in ("nan", "inf", "-inf"):
            self.fails(2, "needs a finite number", "matmul", "A.npy", "B.npy", "--alpha", word)

    def test_unwritable_output(self):
        done = run("matmul", "A.npy", "B.npy", "-o", "no/such/folder/C.npy")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no/such/folder", done.stderr)

    def test_json(self):
        done = self.passes("matmul", "A.npy", "B.npy", "--variant", "naive", "--check", "--json", "-")
        told = json.loads(done.stdout)
        self.assertEqual((told["schema"], told["kind"], told["variant"]), (1, "run", "naive"))
        self.assertEqual(told["dims"], {"k": 3, "m": 5, "n": 4})
        self.assertTrue(told["check"]["passed"])
        self.assertIn("cpu/naive", done.stderr)


class Listing(Case):
    def test_list_as_json(self):
        told = json.loads(self.passes("list", "--json", "-").stdout)
        self.assertEqual(told["kind"], "list")
        self.assertIn("matmul", [one["operation"] for one in told["operations"]])
        ladder = json.loads(self.passes("list", "matmul", "--json", "-").stdout)["operations"][0]["ladder"]
        simd = next(rung for rung in ladder if rung["variant"] == "simd")
        self.assertIn({"device": "cpu", "here": True, "reason": None}, simd["runs"])
        self.assertIn("f32", simd["elements"])
        for rung in ladder:
            self.assertTrue(rung["runs"] or rung["reason"], rung["variant"])

    def test_list(self):
        self.assertIn("matmul", self.passes("list").stdout)
        short = self.passes("list", "matmul").stdout
        for part in ("naive", "shared_tiles", "warp_tiles", "runs here"):
            self.assertIn(part, short)
        self.assertNotIn("Ideas", short)
        text = self.passes("list", "matmul", "-v").stdout
        for part in ("Ideas", "Operand layouts", "The others read any layout directly, without a pass before"):
            self.assertIn(part, text)
        self.assertRegex(text, r"cpu/simd +f64 f32 f16 bf16 i32 i8 e4m3 e5m2 +direct +direct +transposed on load +transposed on load +the same")
        self.assertNotIn("Operand layouts", self.passes("list", "filter", "-v").stdout)

    def test_list_of_sizes_says_why_a_rung_is_not_taken(self):
        small = ("images=1", "height=64", "width=64", "channels=3")
        for words in (("filter", *small, "--device", "simt"), ("--device", "simt", "-v", "filter", *small)):
            told = json.loads(self.passes("list", *words, "--json", "-").stdout)["choices"][0]
            rungs = {rung["variant"]: rung for rung in told["rungs"]}
            self.assertEqual([name for name, rung in rungs.items() if rung["taken"]], ["packed"])
            self.assertIn("131072 samples", rungs["streamed"]["held_back"])
            self.assertIn("column times a row", rungs["separable"]["cannot"])
        self.assertIn("held back: another rung is faster", self.passes("list", "filter", *small, "--device", "simt").stdout)
        self.assertNotIn("held back", self.passes("list", "matmul", "m=64", "n=m", "k=m", "--device", "cpu").stdout)
        self.assertIn("strips = 100", self.passes("list", "integrate", "x^2", "0", "1", "--strips", "100").stdout)

    def test_ceilings_are_measured_and_remembered(self):
        self.assertEqual(json.loads(self.passes("devices", "--json", "-", XDG_CACHE_HOME="/nowhere/at/all").stdout)["rows"][0]["ceilings"], None)
        self.passes("devices", "--measure")
        told = json.loads(self.passes("devices", "--json", "-").stdout)
        self.assertEqual((told["kind"], told["rows"][0]["label"]), ("devices", "cpu"))
        self.assertGreater(told["rows"][0]["ceilings"]["gflops"]["f32"], 0)
        self.assertIsNone(told["rows"][1]["ceilings"])
        self.assertIn("GB/s", self.passes("devices").stdout)

    def test_devices(self):
        text = self.passes("devices").stdout
        self.assertIn("cpu", text)
        self.assertIn("simt", text)
        if "cuda is not usable" in text:
            self.fails(5, "cuda", "matmul", "A.npy", "B.npy", "--device", "cuda")
            self.fails(5, "cuda", "bench", "matmul", "m=4", "n=4", "k=4", "--device", "cuda")


class Tracing(Case):
    def setUp(self):
        done = run("trace", "matmul", "m=8", "n=8", "k=8", "--variant", "per_element")
        if "not built by g++" in done.stdout or "sanitizers" in done.stdout:
            self.assertEqual(done.returncode, 5)
            self.skipTest(done.stdout)

    def test_nothing_is_reported_for_an_empty_grid(self):
        done = self.passes("trace", "matmul", "m=0", "n=8", "k=8", "--variant", "per_element", "--json", "-")
        row = json.loads(done.stdout)["rows"][0]
        self.assertEqual((row["blocks"], row["occupancy"], row["counters"]["occupancy"]), (0, None, None))
        self.assertNotIn("0 %", done.stderr)

    def test_known_counts(self):
        done = self.passes("trace", "matmul", "m=256", "n=256", "k=256", "--element", "f32", "--variant",
                           "uncoalesced,per_element", "--tuning", "x=32,y=32", "--json", "-")
        told = json.loads(done.stdout)
        self.assertEqual((told["kind"], told["schema"]), ("trace", 1))
        uncoalesced, per_element = (row["counters"] for row in told["rows"])
        self.assertEqual((uncoalesced["global_load.requests"], uncoalesced["global_load.sectors"],
                          uncoalesced["global_load.sectors_per_request"]), (1048576, 17301504, 16.5))
        self.assertEqual((per_element["global_load.requests"], per_element["global_load.sectors_per_request"]),
                         (1048576, 2.5))
        for row in told["rows"]:
            self.assertEqual((row["findings"], row["blocks"], row["blocks_traced"]), ([], 64, 64))
            self.assertEqual(sum(line.get("global_load.requests", 0) for line in row["lines"]), 1048576)
        self.assertIn("16.5", done.stderr)

    def test_why(self):
        done = self.passes("trace", "matmul", "m=256", "n=256", "k=256", "--tuning", "x=32,y=32",
                           "--schedule", "ascending", "--why", "uncoalesced", "per_element")
        self.assertIn("global loads: 2.5 instead of 16.5 sectors per request: 6.6 times fewer", done.stdout)
        done = self.passes("trace", "matmul", "m=64", "n=64", "k=64", "--why", "per_element", "shared_tiles")
        self.assertIn("shared loads:", done.stdout)
        self.assertIn("barriers", done.stdout)
        self.fails(2, "leave out --variant", "trace", "matmul", "m=8", "n=8", "k=8", "--variant", "per_element", "--why", "a", "b")

    def test_lines(self):
        done = self.passes("trace", "matmul", "m=32", "n=32", "k=32", "--variant", "shared_tiles", "--lines")
        if "(unknown)" in done.stdout:
            self.skipTest("this build has no libdw")
        for part in ("gpu_05_shared_tiles.simt.cu:", "shared_store", "shared.a[y][x] = "):
            self.assertIn(part, done.stdout)

    def test_arrays(self):
        done = self.passes("trace", "matmul", "m=256", "n=m", "k=m", "--variant", "uncoalesced", "--tuning", "x=32,y=32",
                           "--element", "f32", "--arrays", "--json", "-")
        counts = {(at["array"], at["access"]): at["sectors_per_request"] for at in json.loads(done.stdout)["rows"][0]["arrays"]}
        self.assertEqual(counts, {("A", "global_load"): 32, ("B", "global_load"): 1, ("C", "global_store"): 32})
        self.assertRegex(done.stderr, r"(?m)^A +global_load .* 32")

    def test_sampled_traces_are_marked(self):
        done = self.passes("trace", "matmul", "m=128", "n=m", "k=m", "--variant", "shared_tiles", "--blocks", "5", "--json", "-")
        row = json.loads(done.stdout)["rows"][0]
        self.assertEqual((row["blocks"], row["blocks_traced"]), (64, 5))
        self.assertEqual(row["counters"]["barriers"], 5 * 16)
        self.assertIn("5 of 64 blocks were traced", done.stderr)

    def test_a_gpu_only_rung_is_described_by_its_code(self):
        if run("code", "--kernel", "WarpTiles").returncode != 0:
            self.skipTest("this build has no CUDA")
        done = self.passes("trace", "matmul", "m=64", "n=64", "k=64", "--why", "vectorized", "warp_tiles")
        for told in ("by the compiler's code alone", "registers of a thread: ", "runs on cuda, not on simt"):
            self.assertIn(told, done.stdout)
        self.assertRegex(done.stdout, r"gpu/warp_tiles .* \d+ +\d+ +\S.*\d\n")
        self.passes("trace", "matmul", "m=64", "n=64", "k=64", "--variant", "warp_tiles")

    def test_untraceable_variants(self):
        done = run("trace", "matmul", "m=8", "n=8", "k=8", "--variant", "naive")
        self.assertEqual(done.returncode, 5)
        self.assertIn("runs on cpu, not on simt", done.stdout)
        self.fails(2, "schedule", "trace", "matmul", "m=8", "n=8", "k=8", "--schedule", "sideways")
        self.fails(2, "sizes are missing", "trace", "matmul")


class Verifying(Case):
    def test_verify(self):
        both = json.loads(self.passes("verify", "matmul", "--device", "cpu", "--variant", "naive,simd", "--element", "i32", "--quick", "--json", "-").stdout)
        self.assertEqual({row["variant"] for row in both["rows"]}, {"naive", "simd"})
        done = self.passes("verify", "matmul", "--device", "cpu", "--variant", "naive", "--element", "i32", "--quick", "--json", "-")
        told = json.loads(done.stdout)
        self.assertEqual([(r["variant"], r["failed"]) for r in told["rows"]], [("naive", 0)])
        self.assertGreater(told["rows"][0]["passed"], 0)
        self.assertIn("0 failed", done.stderr)

    def test_nothing_verified_is_an_error(self):
        done = run("verify", "matmul", "--device", "simt", "--variant", "naive")
        self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main()
