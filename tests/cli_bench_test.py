#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bench, sweep, tune and compare from outside.   cli_bench_test.py PROGRAM"""
import json
import os
import signal
import subprocess
import sys
import time
import unittest

from cli_case import PROGRAM, Case, run, save


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
            self.assertIsNone(row["round_trip"], "a processor's is its kernel time")
        naive, ordered = told["rows"][:2]
        for name in ("ratio_serial", "ratio_previous"):
            if ordered[name] is None:
                self.assertIn("ambiguous", done.stderr)
            else:
                self.assertAlmostEqual(ordered[name], naive["median"] / ordered["median"])
        self.assertEqual((naive["ratio_serial"], naive["ratio_previous"], ordered["ratio_baseline"]), (1, None, 1))
        self.assertIn("mean × serial of the last two sizes", done.stderr)

    def test_fresh_processes_are_pooled(self):
        rows = json.loads(self.bench("m=16", "--device", "cpu", "--variant", "naive,ordered", "--reps", "3", "--processes", "4").stdout)["rows"]
        self.assertEqual([(r["variant"], r["samples"], r["verified"]) for r in rows], [("naive", 12, "ok"), ("ordered", 12, "ok")])
        for row in rows:
            self.assertTrue(row["minimum"] <= row["median"] <= row["p90"])
        self.fails(2, "--processes does not go with --resume", "bench", "matmul", "m=16", "--processes", "2", "--resume", "--json", "/tmp/no-such-file.json")

    def test_serial_rung_comes_along(self):
        rows = json.loads(self.bench("m=8", "n=8", "k=8", "--device", "simt", "--variant", "per_element", "--reps", "1").stdout)["rows"]
        self.assertEqual([(r["variant"], r["device"], r["serial"]) for r in rows],
                         [("naive", "cpu", True), ("per_element", "simt", False)])
        rows = json.loads(self.bench("m=8", "n=8", "k=8", "--device", "simt", "--variant", "per_element", "--reps", "1", "--no-serial").stdout)["rows"]
        self.assertEqual([r["variant"] for r in rows], ["per_element"])

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

    def test_a_table_fits_the_terminal(self):
        words = ("bench", "matmul", "m=16", "n=m", "k=m", "--device", "cpu", "--variant", "naive,ordered", "--reps", "5")

        def table(*more, **environment):
            done = run(*words, *more, **environment)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout.splitlines()
        narrow, wide = table(COLUMNS="80"), table("--wide", COLUMNS="80")
        rule = next(line for line in narrow if line.startswith("---"))
        self.assertLessEqual(len(rule), 80)
        self.assertTrue(any("left out; --wide shows" in line for line in narrow), narrow)
        self.assertGreater(len(next(line for line in wide if line.startswith("---"))), 80)
        for title in ("variant", "kernel time", "GFLOP/s", "verified"):
            self.assertIn(title, narrow[1])
        self.assertIn("GB/s", wide[1])
        self.assertNotIn("round trip", wide[1], "a processor's is its kernel time")

    def test_all_skipped_is_an_error(self):
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

    def test_sustained_rows_are_separate(self):
        done = self.bench("m=64", "n=m", "k=m", "--device", "cpu", "--variant", "ordered", "--no-serial", "--reps", "5", "--sustained", "0.05")
        rows = json.loads(done.stdout)["rows"]
        self.assertEqual([r["mode"] for r in rows], ["burst", "sustained"])
        self.assertEqual([r["verified"] for r in rows], ["ok", "ok"])
        self.assertIn("sustained", done.stderr)
        self.fails(2, "--sustained needs seconds", "bench", "matmul", "m=4", "n=4", "k=4", "--sustained=soon")

    def test_rotated_inputs_exceed_the_cache(self):
        done = self.bench("m=4096", "n=4096", "k=1", "--device", "cpu", "--variant", "naive", "--reps", "1", "--rotate")
        told = json.loads(done.stdout)
        row, cache = told["rows"][0], told["devices"][0]["cache_bytes"]
        self.assertEqual(told["caches"], "rotated")
        self.assertIn("inputs rotated", done.stderr)
        if cache == 0:  # a machine that does not tell
            self.assertIn("cache is not known", row["reason"])
        else:
            self.assertGreaterEqual(row["sets"] * row["bytes"], 2.5 * cache)
            self.assertEqual((row["launches"] % row["sets"], row["verified"]), (0, "ok"))
        self.fails(2, "one of the two", "bench", "matmul", "m=4", "n=4", "k=4", "--cold", "--rotate")

    def test_calls(self):
        done = self.bench("--call", "(m,n,k)=(8,9,10),(16,16,16)", "--op-b", "transpose", "--device", "cpu:threads=1", "--reps", "3")
        told = json.loads(done.stdout)
        self.assertEqual((told["kind"], told["launches"]), ("call", "plain"))
        ours = [row for row in told["rows"] if not row["baseline"]]
        self.assertEqual([row["dims"]["n"] for row in ours], [9, 16])
        for row in ours:
            self.assertEqual((sorted(row["calls"]), row["verified"], row["sets"]), (["host", "host_prepared"], "ok", 2))
            self.assertEqual(row["calls"]["host"]["median"], row["median"])
        for title in ("host, prepared", "verified"):
            self.assertIn(title, done.stderr)
        self.fails(2, "chooses by itself", "bench", "matmul", "m=4", "--call", "--variant", "simd")
        self.fails(2, "without --beta", "bench", "matmul", "m=4", "--call", "--device", "cpu", "--activation", "relu")
        done = self.passes("bench", "filter", "--call", "images=1", "height=4", "width=8", "channels=1", "--device", "cpu", "--reps", "3",
                           "--json", "-")
        row = json.loads(done.stdout)["rows"][0]
        self.assertEqual((sorted(row["calls"]), row["verified"]), (["host", "host_prepared"], "ok"))

    def test_resume_measures_only_missing_rows(self):
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
        self.assertRegex(done.stderr, r"\n32 .*not run \(1\)\n")
        self.assertIn("(1) needs 2048 threads in a block, the limit is 1024", done.stderr)

    def test_a_parameter_that_no_variant_has_is_refused(self):
        self.fails(2, "no variant asked for has a parameter 'dpth'; did you mean 'depth'?",
                   *"bench matmul m=8 --device cpu --variant blocked --tuning dpth=8".split())

    def test_compiled_tunings(self):
        done = self.sweep("m=8", "n=m", "k=m", "--variant", "coarsened", "--over", "tile=4,8", "--table", "unroll,prefetch,outputs,tile")
        self.assertEqual(len(json.loads(done.stdout)["rows"]), 24)
        self.assertRegex(done.stderr, r"unroll +prefetch +outputs +tile=4 +tile=8\n")

    def test_joint_axes_and_conditions(self):
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
        self.fails(2, "does not run on cpu: --device says where", "sweep", "matmul", *sizes, "--device", "cpu", "--variant", "per_element")
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

    def test_a_second_call_resumes_and_plain_calls_use_findings(self):
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
        self.assertTrue(all(row["verified"] == "ok" for row in told["rows"]))
        self.assertIn("8 of 8 configurations kept", done.stderr)
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

    def test_configurations_that_cannot_run_are_rows(self):
        done = self.passes("tune", "matmul", "m=16", "n=m", "k=m", "--device", "simt", "--variant", "coarsened", "--over", "tile=4,64",
                           "--reps", "1", "--cache", "rows.jsonl", "--json", "-")
        rows = json.loads(done.stdout)["rows"]
        self.assertEqual(len(rows), 13)
        self.assertEqual(sum("median" in row for row in rows), 12)
        self.assertIn("needs 4096 threads in a block, the limit is 1024", done.stderr)

    def test_an_interrupt_keeps_finished_trials(self):
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
        done = run("compare", "old.json", "slow.json", "--json", "-")
        self.assertEqual(done.returncode, 3, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual((told["kind"], [r["verdict"] for r in told["rows"]]), ("compare", ["slower"] * 2))

    def test_nothing_measured_is_an_error(self):
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

    def test_results_of_bench_can_be_compared(self):
        for name in ("one", "two"):
            self.passes("bench", "matmul", "m=32", "n=m", "k=m", "--device", "cpu", "--variant", "naive,ordered", "--reps", "5",
                        "--json", name + ".json")
        done = run("compare", "one.json", "two.json", "--threshold", "900")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, "2 same|the machine was not quiet")

    def test_a_busy_machine_gives_no_verdict(self):
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
        try:
            for name in ("one", "two"):
                done = self.passes("bench", "matmul", "m=96", "n=m", "k=m", "--device", "cpu:threads=1", "--variant",
                                   "naive,ordered", "--time", "0.5", "--json", name + ".json")
                self.assertIn("other programs took", done.stderr)
        finally:
            for one in busy:
                one.kill()
                one.wait()
        done = run("compare", "one.json", "two.json", "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        for row in json.loads(done.stdout)["rows"]:
            self.assertEqual(row["verdict"], "ambiguous", row)
            self.assertIn("the machine was not quiet", row["why"])


if __name__ == "__main__":
    unittest.main()
