#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The program from outside: exit codes, messages, streams, files.   cli_test.py PROGRAM"""
import csv
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from xml.etree import ElementTree

PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "build/tessera"


def run(*words, **environment):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=300,
                          env={**os.environ, **environment})


def save(path, rows, columns, value):
    """A .npy of float32 written by hand: this test needs no NumPy."""
    text = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % (rows, columns)
    text += " " * (-(len(text) + 11) % 64) + "\n"
    data = struct.pack("<%df" % (rows * columns), *(value(i, j) for i in range(rows) for j in range(columns)))
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data)


def load(path):
    with open(path, "rb") as file:
        content = file.read()
    data = content[10 + struct.unpack("<H", content[8:10])[0]:]
    return list(struct.unpack("<%df" % (len(data) // 4), data))


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        os.environ["XDG_CACHE_HOME"] = os.path.join(cls.folder.name, "cache")
        os.chdir(cls.folder.name)
        save("A.npy", 5, 3, lambda i, j: i + 2 * j)
        save("B.npy", 3, 4, lambda i, j: i - j)
        save("tall.npy", 4, 4, lambda i, j: 1)
        save("C0.npy", 5, 4, lambda i, j: i * j)
        save("-3", 3, 4, lambda i, j: i - j)
        with open("bad.npy", "wb") as file:
            file.write(b"\x93NUMPY\x01\x00\xff")

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        cls.folder.cleanup()

    def fails(self, code, message, *words, **environment):
        done = run(*words, **environment)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertIn(message, done.stderr)
        self.assertEqual(done.stdout, "")
        return done

    def passes(self, *words, **environment):
        done = run(*words, **environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done


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
        self.fails(2, "element", "matmul", "A.npy", "B.npy", "--element", "f31")
        self.fails(2, "what is to be done", )

    def test_sizes(self):
        self.fails(2, "the size k is missing", "bench", "matmul", "m=4", "n=4")
        self.fails(2, "given twice", "bench", "matmul", "m=4", "m=5", "n=4", "k=4")
        self.fails(2, "never reaches", "bench", "matmul", "m=4:8:0", "n=4", "k=4")
        self.fails(2, "not known", "bench", "matmul", "m=4", "n=4", "k=4", "width=3")
        self.fails(2, "nothing is called", "bench", "matmul", "m=n", "n=m", "k=4")

    def test_environment(self):
        self.fails(5, "cuda", "matmul", "A.npy", "B.npy", TESSERA_DEVICE="cuda:77")
        out = self.passes("matmul", "A.npy", "B.npy", TESSERA_VARIANT="naive", TESSERA_CHECK="1").stdout
        self.assertIn("cpu/naive", out)
        self.assertIn("verified", out)


class Products(Case):
    expected = [sum((i + 2 * l) * (l - j) for l in range(3)) for i in range(5) for j in range(4)]

    def test_product(self):
        for device in ("cpu", "simt"):
            out = self.passes("matmul", "A.npy", "B.npy", "-o", device + ".npy", "--device", device, "--check")
            self.assertEqual(load(device + ".npy"), self.expected)
            self.assertIn("verified", out.stdout)
            self.assertEqual(out.stderr, "")

    def test_executor_is_no_gpu(self):
        self.assertIn("executor wall time", self.passes("matmul", "A.npy", "B.npy", "--device", "simt").stdout)

    def test_scalars_and_order_of_words(self):
        self.passes("matmul", "-o", "C.npy", "A.npy", "--alpha", "-2", "B.npy", "--variant", "cpu/naive")
        self.assertEqual(load("C.npy"), [-2 * x for x in self.expected])

    def test_expression_is_no_flag(self):
        self.passes("matmul", "A.npy", "-3", "-o", "C.npy")
        self.assertEqual(load("C.npy"), self.expected)

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

    def test_scalars_that_cannot_be_meant(self):
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
    def test_list(self):
        self.assertIn("matmul", self.passes("list").stdout)
        text = self.passes("list", "matmul").stdout
        for part in ("naive", "shared_tiles", "warp_tiles", "runs here", "Ideas"):
            self.assertIn(part, text)

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


class Benching(Case):
    def bench(self, *words):
        return self.passes("bench", "matmul", *words, "--json", "-")

    def test_rows(self):
        done = self.bench("m=16:32:x2", "n=m", "k=2*m", "--device", "cpu", "--variant", "naive,ordered", "--reps", "5", "--vs", "ordered")
        told = json.loads(done.stdout)
        self.assertEqual([(r["dims"]["m"], r["dims"]["k"], r["variant"]) for r in told["rows"]],
                         [(16, 32, "naive"), (16, 32, "ordered"), (32, 64, "naive"), (32, 64, "ordered")])
        for row in told["rows"]:
            self.assertEqual(row["verified"], "ok")
            self.assertEqual((row["samples"], len(row["seconds"])), (5, 5))
            self.assertTrue(row["minimum"] <= row["q1"] <= row["median"] <= row["q3"])
            self.assertAlmostEqual(row["gflops"] * row["median"], 2e-9 * row["dims"]["m"] ** 2 * row["dims"]["k"])
            self.assertEqual(row["round_trip"], row["median"])
        naive, ordered = told["rows"][:2]
        self.assertAlmostEqual(ordered["ratio_serial"], naive["median"] / ordered["median"])
        self.assertAlmostEqual(ordered["ratio_previous"], ordered["ratio_serial"])
        self.assertEqual((naive["ratio_serial"], naive["ratio_previous"], ordered["ratio_yardstick"]), (1, None, 1))
        self.assertIn("mean × serial of the last two sizes", done.stderr)

    def test_serial_rung_comes_along(self):
        rows = json.loads(self.bench("m=8", "n=8", "k=8", "--device", "simt", "--variant", "per_element", "--reps", "1").stdout)["rows"]
        self.assertEqual([(r["variant"], r["device"], r["serial"]) for r in rows],
                         [("naive", "cpu", True), ("per_element", "simt", False)])
        rows = json.loads(self.bench("m=8", "n=8", "k=8", "--device", "simt", "--variant", "per_element", "--reps", "1", "--no-serial").stdout)["rows"]
        self.assertEqual([r["variant"] for r in rows], ["per_element"])

    def test_factorial_with_a_cell_that_cannot_run(self):
        done = self.passes("bench", "matmul", "m=16", "n=16", "k=16", "--device", "simt", "--variant", "coarsened", "--pivot", "tile", "--reps", "1")
        self.assertIn("tile=16", done.stdout)
        self.assertIn("n/a", done.stdout)
        self.assertIn("needs 4096 threads in a block, the most is 1024", done.stdout)

    def test_a_roofline_and_a_closing_sentence(self):
        done = self.bench("m=64", "n=m", "k=m", "--device", "cpu", "--variant", "naive,ordered", "--reps", "5")
        told = json.loads(done.stdout)
        self.assertGreater(told["devices"][0]["ceilings"]["memory_gbps"], 0)
        row = told["rows"][0]
        self.assertEqual((row["bytes"], row["mode"]), (3 * 4 * 64 * 64, "burst"))
        self.assertIn(row["ceiling"], ("memory", "arithmetic"))
        self.assertTrue(0 < row["roofline"])
        self.assertAlmostEqual(row["gbps"] * row["median"], 1e-9 * row["bytes"])
        self.assertRegex(done.stderr, r"ordered ran [\d.]+ ± [\d.]+ times faster than naive on cpu\.")

    def test_all_skipped_is_no_success(self):
        done = run("bench", "matmul", "m=8", "n=8", "k=8", "--device", "simt", "--variant", "ordered")
        self.assertEqual(done.returncode, 5)
        self.assertIn("runs on cpu, not on simt", done.stdout)

    def test_too_slow_is_na_with_an_estimate(self):
        done = run("bench", "matmul", "m=1024", "n=m", "k=m", "--device", "cpu", "--variant", "naive", "--time", "0.02", "--json", "-")
        self.assertEqual(done.returncode, 5)
        told = json.loads(done.stdout)
        serial = told["rows"][0]
        self.assertTrue(serial["serial"] and serial["estimated_seconds"] > 0.02)
        self.assertIn("--time", serial["reason"])
        self.assertNotIn("median", serial)

    def test_sustained_is_told_apart(self):
        done = self.bench("m=64", "n=m", "k=m", "--device", "cpu", "--variant", "ordered", "--no-serial", "--reps", "5", "--sustained", "0.05")
        rows = json.loads(done.stdout)["rows"]
        self.assertEqual([r["mode"] for r in rows], ["burst", "sustained"])
        self.assertEqual([r["verified"] for r in rows], ["ok", "ok"])
        self.assertIn("sustained", done.stderr)
        self.fails(2, "--sustained needs seconds", "bench", "matmul", "m=4", "n=4", "k=4", "--sustained=soon")

    def test_resume_measures_only_what_is_missing(self):
        words = ["bench", "matmul", "n=m", "k=m", "--device", "cpu", "--no-serial", "--reps", "5", "--json", "kept.json", "--resume"]
        self.passes(*words, "m=8", "--variant", "naive")
        with open("kept.json") as file:
            first = json.load(file)["rows"]
        self.passes(*words, "m=8,9", "--variant", "naive,ordered")
        self.passes(*words, "m=7", "--variant", "naive")
        with open("kept.json") as file:
            told = json.load(file)["rows"]
        self.assertEqual(sorted((r["dims"]["m"], r["variant"]) for r in told),
                         [(7, "naive"), (8, "naive"), (8, "ordered"), (9, "naive"), (9, "ordered")])
        kept = [r for r in told if r["dims"]["m"] == 8 and r["variant"] == "naive"][0]
        self.assertEqual(kept["seconds"], first[0]["seconds"])
        self.fails(2, "seed", *words, "m=8", "--seed", "5")
        self.fails(2, "--resume needs --json", "bench", "matmul", "m=4", "n=4", "k=4", "--resume")

    def test_shards_cover_everything_once(self):
        sizes = []
        for shard in ("1/2", "2/2"):
            rows = json.loads(self.bench("m=2:5:1", "n=m", "k=m", "--device", "cpu", "--variant", "naive", "--reps", "1", "--shard", shard).stdout)["rows"]
            sizes += [r["dims"]["m"] for r in rows]
        self.assertEqual(sorted(sizes), [2, 3, 4, 5])

    def test_interrupt(self):
        words = ["bench", "matmul", "m=4:4000:1", "n=m", "k=m", "--device", "cpu", "--variant", "naive", "--reps", "3", "--json", "part.json"]
        program = subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while not os.path.exists("part.json") and time.monotonic() < deadline:
            time.sleep(0.01)
        program.send_signal(signal.SIGINT)
        program.communicate(timeout=60)
        self.assertEqual(program.returncode, 130)
        with open("part.json") as file:
            self.assertGreater(len(json.load(file)["rows"]), 0)


class Sweep(Case):
    def sweep(self, *words):
        return self.passes("sweep", "matmul", *words, "--device", "simt", "--reps", "1", "--json", "-")

    def test_launch_shapes_against_each_other(self):
        done = self.sweep("m=32", "n=m", "k=m", "--variant", "per_element", "--over", "x=16:64:x2", "--over", "y=1,32", "--table", "y,x")
        told = json.loads(done.stdout)
        self.assertEqual(told["kind"], "sweep")
        self.assertEqual([(r["tuning"]["x"], r["tuning"]["y"]) for r in told["rows"]],
                         [(16, 1), (16, 32), (32, 1), (32, 32), (64, 1), (64, 32)])
        self.assertEqual([r["verified"] for r in told["rows"]], ["ok"] * 5 + ["unchecked"])
        self.assertRegex(done.stderr, r"y \\ x +16 +32 +64\n")
        self.assertRegex(done.stderr, r"\n32 .*n/a \(1\)\n")
        self.assertIn("(1) needs 2048 threads in a block, the most is 1024", done.stderr)

    def test_compiled_tunings(self):
        done = self.sweep("m=8", "n=m", "k=m", "--variant", "coarsened", "--over", "tile=4,8", "--table", "unroll,prefetch,outputs,tile")
        self.assertEqual(len(json.loads(done.stdout)["rows"]), 24)
        self.assertRegex(done.stderr, r"unroll +prefetch +outputs +tile=4 +tile=8\n")

    def test_axes_that_go_together_and_conditions(self):
        done = self.sweep("(m,n,k)=(8,8,8),(16,4,2)", "--variant", "per_element", "--over", "(x,y)=(4,2),(2,8)", "--where", "x*m<=32")
        rows = json.loads(done.stdout)["rows"]
        self.assertEqual([(r["dims"]["m"], r["tuning"]["x"], r["tuning"]["y"]) for r in rows], [(8, 4, 2), (8, 2, 8), (16, 2, 8)])
        self.assertIn("1 of 2 configurations kept; 1 dropped by x*m<=32", done.stderr)

    def test_a_stopped_sweep_goes_on(self):
        words = ["sweep", "matmul", "m=96", "n=m", "k=m", "--device", "simt", "--variant", "per_element", "--over", "x=1:32:x2",
                 "--over", "y=1:32:x2", "--reps", "3", "--json", "stopped.json", "--resume"]
        program = subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not os.path.exists("stopped.json"):
            time.sleep(0.01)
        program.send_signal(signal.SIGINT)
        out, _ = program.communicate(timeout=120)
        self.assertEqual(program.returncode, 130, out)
        with open("stopped.json") as file:
            first = {str(r["tuning"]): r["seconds"] for r in json.load(file)["rows"] if r.get("seconds")}
        self.assertTrue(0 < len(first) < 36, len(first))
        done = self.passes(*words, "--table", "y,x")
        self.assertRegex(done.stderr, r"\d+ rows are of 2.*: ratios to the others are not of one run")
        with open("stopped.json") as file:
            told = json.load(file)
        self.assertEqual((told["kind"], len(told["rows"])), ("sweep", 36))
        after = {str(r["tuning"]): r["seconds"] for r in told["rows"]}
        self.assertTrue(all(after.values()))
        for tuning, seconds in first.items():
            self.assertEqual(after[tuning], seconds, "kept as it was")
        self.fails(2, "results of sweep, not of bench", "bench", *words[1:9], "--no-serial", *words[-3:])

    def test_mistakes(self):
        sizes = ("m=1", "n=1", "k=1")
        self.fails(2, "not on cpu: say so with --device", "sweep", "matmul", *sizes, "--device", "cpu", "--variant", "per_element")
        self.fails(2, "which variant?", "sweep", "matmul", *sizes)
        self.fails(2, "a parameter 'q'", "sweep", "matmul", *sizes, "--device", "cpu", "--variant", "blocked", "--over", "q=1")
        self.fails(2, "'x'", "sweep", "matmul", *sizes, "--device", "cpu", "--variant", "blocked", "--table", "x,depth")
        self.fails(2, "is no comparison", "sweep", "matmul", *sizes, "--device", "cpu", "--variant", "blocked", "--where", "depth")
        done = run("sweep", "matmul", *sizes, "--device", "simt", "--variant", "per_element", "--over", "x=2048")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("x = 2048 is not within 1 to 1024", done.stdout)


class Tune(Case):
    words = ("tune", "matmul", "m=32", "n=m", "k=m", "--device", "simt", "--variant", "per_element",
             "--over", "x=4:32:x2", "--over", "y=2,8", "--reps", "5", "--json", "-", "--cache")

    def lines(self, path):
        with open(path) as file:
            return [json.loads(line) for line in file]

    def test_a_second_call_goes_on_and_plain_calls_use_what_was_found(self):
        part = self.passes(*self.words, "stopped.jsonl", "--budget", "3")
        told = json.loads(part.stdout)
        self.assertEqual(told["kind"], "tune")
        self.assertEqual((told["decisions"][0]["tried"], told["decisions"][0]["complete"]), (3, False))
        done = self.passes(*self.words, "stopped.jsonl")
        told = json.loads(done.stdout)
        decision = told["decisions"][0]
        self.assertEqual((decision["tried"], decision["known"], decision["complete"]), (8, 3, True))
        self.assertTrue(decision["settled"])
        self.assertEqual(len(told["rows"]), 8)
        self.assertTrue(all(0 < row["occupancy"] <= 1 and row["verified"] == "ok" for row in told["rows"]))
        self.assertEqual(decision["prediction"]["n"], 8)
        self.assertRegex(done.stderr, r"predicted order against the measured one: Spearman .*, n = 8")
        self.assertIn("8 of 8 configurations kept", done.stderr)
        if run("trace", "matmul", "m=8", "n=8", "k=8", "--variant", "per_element").returncode == 0:
            self.assertEqual((decision["counted"], decision["prediction_by_occupancy"]["n"]), (8, 8))
            self.assertIn("counted beforehand, on the executor: 8 configurations", done.stderr)
            self.assertRegex(done.stderr, r"n = 8; by occupancy alone: Spearman")
        choice = [line for line in self.lines("stopped.jsonl") if line["kind"] == "choice"][-1]
        self.assertEqual((choice["variant"], choice["tuning"]), (decision["winner"]["variant"], decision["winner"]["tuning"]))
        self.assertEqual(choice["verified"], "ok")
        self.assertTrue(choice["median"] > 0 and choice["error_over_bound"] <= 1 and choice["date"])
        save("P.npy", 32, 32, lambda i, j: i - j)
        call = ("matmul", "P.npy", "P.npy", "--device", "simt", "--check", "--json", "-")
        tuned = json.loads(self.passes(*call, TESSERA_CACHE="stopped.jsonl").stdout)
        self.assertEqual((tuned["tuned"], tuned["variant"], tuned["tuning"]), (True, choice["variant"], choice["tuning"]))
        for words, environment in ((("--no-cache",), {}), ((), {"TESSERA_NO_CACHE": "1"}), (("--variant", "per_element"), {})):
            plain = json.loads(self.passes(*call, *words, TESSERA_CACHE="stopped.jsonl", **environment).stdout)
            self.assertFalse(plain["tuned"])

    def test_searches_and_conditions(self):
        for search in ("random", "local"):
            done = self.passes(*self.words, search + ".jsonl", "--search", search, "--seed", "5", "--where", "x*y<=64")
            self.assertEqual(json.loads(done.stdout)["decisions"][0]["tried"], 6)
            self.assertIn("6 of 8 configurations kept; 2 dropped by x*y<=64", done.stderr)

    def test_few_samples_decide_nothing(self):
        done = self.passes(*(w if w != "5" else "1" for w in self.words), "few.jsonl", "--budget", "2")
        self.assertIn("not kept for later calls: that takes 5 samples", done.stderr)
        self.assertFalse(json.loads(done.stdout)["decisions"][0]["settled"])
        self.assertEqual([line["kind"] for line in self.lines("few.jsonl") if line["kind"] == "choice"], [])

    def test_what_cannot_run_is_a_row(self):
        done = self.passes("tune", "matmul", "m=16", "n=m", "k=m", "--device", "simt", "--variant", "coarsened", "--over", "tile=4,64",
                           "--promising", "50", "--reps", "1", "--cache", "rows.jsonl", "--json", "-")
        rows = json.loads(done.stdout)["rows"]
        self.assertEqual(len(rows), 13)
        self.assertEqual(sum("median" in row for row in rows), 6)
        self.assertEqual(sum("--promising" in row.get("reason", "") for row in rows), 6)
        self.assertIn("needs 4096 threads in a block, the most is 1024", done.stderr)

    def test_an_interrupt_keeps_what_is_done(self):
        words = ["tune", "matmul", "m=128", "n=m", "k=m", "--device", "simt", "--variant", "per_element", "--reps", "20", "--json", "part.json",
                 "--cache", "part.jsonl"]
        program = subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (os.path.exists("part.jsonl") and any(l["kind"] == "trial" for l in self.lines("part.jsonl"))):
            time.sleep(0.05)
        program.send_signal(signal.SIGINT)
        out, _ = program.communicate(timeout=120)
        self.assertEqual(program.returncode, 130, out)
        self.assertIn("the same command goes on", out)
        self.assertIn("is the fastest so far", out)
        done = self.passes(*words, "--budget", "1")
        self.assertIn("known from an earlier call", done.stdout)
        with open("part.json") as file:
            self.assertGreater(json.load(file)["decisions"][0]["known"], 0)

    def test_mistakes(self):
        self.fails(2, "no search is called 'clever'", *self.words, "c.jsonl", "--search", "clever")
        self.fails(2, "--budget", *self.words, "c.jsonl", "--budget", "soon")
        done = self.passes(*self.words, "/dev/null/tuning.jsonl", "--budget", "1")
        self.assertIn("could not be kept", done.stderr)


class Comparing(Case):
    def result(self, path, factor=1.0, **changes):
        """A result as bench writes it, its times multiplied."""
        document = {"schema": 1, "kind": "bench", "operation": "matmul", "machine": {"processor": "p"}, "caches": "hot",
                    "devices": [{"label": "cpu", "name": "p", "driver": None}], **changes}
        document["rows"] = [{"dims": {"m": 4}, "element": "f32", "ladder": "cpu", "variant": name, "tuning": {}, "device": "cpu",
                             "threads": 1, "verified": "ok", "seconds": [factor * (1 + i / 1000) for i in range(9)]}
                            for name in ("naive", "ordered")]
        with open(path, "w") as file:
            json.dump(document, file)

    def test_verdicts_and_exit_codes(self):
        self.result("old.json")
        self.result("slow.json", 1.2)
        self.result("fast.json", 0.8)
        done = self.passes("compare", "old.json", "old.json")
        self.assertIn("2 same", done.stdout)
        self.assertIn("2 faster", self.passes("compare", "old.json", "fast.json").stdout)
        self.assertIn("2 same", self.passes("compare", "old.json", "slow.json", "--threshold", "30").stdout)
        done = run("compare", "old.json", "slow.json", "--json", "-", "--junit", "slow.xml")
        self.assertEqual(done.returncode, 3, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual((told["kind"], [r["verdict"] for r in told["rows"]]), ("compare", ["slower"] * 2))
        with open("slow.xml") as file:
            self.assertIn('failures="2"', file.read())

    def test_nothing_measured_is_no_pass(self):
        self.result("old.json")
        self.result("now.json")
        for path, old, new in (("none.json", "now.json", ()), ("half.json", "now.json", ("naive",))):
            with open(old) as file:
                document = json.load(file)
            for row in document["rows"]:
                if row["variant"] not in new:
                    row.update(seconds=[], verified="unchecked", reason="needs a GPU")
            with open(path, "w") as file:
                json.dump(document, file)
        for words in (("old.json", "none.json"), ("none.json", "old.json")):
            done = run("compare", *words)
            self.assertEqual(done.returncode, 5, done.stdout + done.stderr)
        self.assertIn("2 gone", run("compare", "old.json", "none.json").stdout)
        self.assertIn("1 same, 1 gone", self.passes("compare", "old.json", "half.json").stdout)

    def test_other_machines_are_refused(self):
        self.result("old.json")
        self.result("other.json", machine={"processor": "q"})
        self.fails(2, "processor differs", "compare", "old.json", "other.json")
        done = self.passes("compare", "old.json", "other.json", "--force")
        self.assertIn("processor differs", done.stderr)
        with open("none.json", "w") as file:
            file.write("{}")
        self.fails(2, "holds no results", "compare", "old.json", "none.json")
        self.fails(2, "which two", "compare", "old.json")
        self.fails(2, "absent.json", "compare", "old.json", "absent.json")

    def test_what_bench_writes_can_be_compared(self):
        for name in ("one", "two"):
            self.passes("bench", "matmul", "m=32", "n=m", "k=m", "--device", "cpu", "--variant", "naive,ordered", "--reps", "5",
                        "--json", name + ".json", "--csv", name + ".csv", "--junit", name + ".xml")
        done = run("compare", "one.json", "two.json", "--threshold", "900")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 same", done.stdout)
        with open("one.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([r["variant"] for r in rows], ["naive", "ordered"])
        self.assertEqual(rows[0]["problem"], "k=32 m=32 n=32")
        self.assertEqual(rows[0]["power_w"], "n/a")
        self.assertTrue(0 < float(rows[0]["roofline"]))
        self.assertEqual(ElementTree.parse("one.xml").getroot().attrib["failures"], "0")


class Tracing(Case):
    def setUp(self):
        done = run("trace", "matmul", "m=8", "n=8", "k=8", "--variant", "per_element")
        if "not built by g++" in done.stdout or "sanitizers" in done.stdout:
            self.assertEqual(done.returncode, 5)
            self.skipTest(done.stdout)

    def test_of_no_block_nothing_is_known(self):
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

    def test_samples_say_so(self):
        done = self.passes("trace", "matmul", "m=128", "n=m", "k=m", "--variant", "shared_tiles", "--blocks", "5", "--json", "-")
        row = json.loads(done.stdout)["rows"][0]
        self.assertEqual((row["blocks"], row["blocks_traced"]), (64, 5))
        self.assertEqual(row["counters"]["barriers"], 5 * 16)
        self.assertIn("5 of 64 blocks were traced", done.stderr)

    def test_a_rung_for_gpus_alone_is_told_by_its_code(self):
        if run("code", "--kernel", "WarpTiles").returncode != 0:
            self.skipTest("this build has no CUDA")
        done = self.passes("trace", "matmul", "m=64", "n=64", "k=64", "--why", "vectorized", "warp_tiles")
        for told in ("by the compiler's code alone", "registers of a thread: ", "runs on cuda, not on simt"):
            self.assertIn(told, done.stdout)
        self.assertRegex(done.stdout, r"gpu/warp_tiles .* \d+ +\d+ +\S.*\d\n")
        self.passes("trace", "matmul", "m=64", "n=64", "k=64", "--variant", "warp_tiles")

    def test_what_cannot_be_traced(self):
        done = run("trace", "matmul", "m=8", "n=8", "k=8", "--variant", "naive")
        self.assertEqual(done.returncode, 5)
        self.assertIn("runs on cpu, not on simt", done.stdout)
        self.fails(2, "schedule", "trace", "matmul", "m=8", "n=8", "k=8", "--schedule", "sideways")
        self.fails(2, "sizes are missing", "trace", "matmul")


class Verifying(Case):
    def test_verify(self):
        done = self.passes("verify", "matmul", "--device", "cpu", "--variant", "naive", "--element", "i32", "--quick", "--json", "-")
        told = json.loads(done.stdout)
        self.assertEqual([(r["variant"], r["failed"]) for r in told["rows"]], [("naive", 0)])
        self.assertGreater(told["rows"][0]["passed"], 0)
        self.assertIn("0 failed", done.stderr)

    def test_nothing_verified_is_no_success(self):
        done = run("verify", "matmul", "--device", "simt", "--variant", "naive")
        self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main()
