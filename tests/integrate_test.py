#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Integrals from outside: digits, streams, tables, sweeps, and what is refused.   integrate_test.py PROGRAM"""
import concurrent.futures
import json
import math
import re
import struct
import unittest

import cli_case
from cli_case import run

CIRCLE = ("integrate", "sqrt(1-x^2)", "0", "1")


def save(path, values):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({len(values)},), }}".ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}d", *values))


class Integrals(cli_case.Case):
    def refused(self, message, *words):
        self.fails(2, message, *words)

    def values(self, *words, code=0):
        done = run(*words, "--json", "-")
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads(done.stdout)["values"]

    def value(self, *words):
        return self.values(*words)["integral"]

    def on_cpu(self, *words, code=0):
        return self.values("integrate", *words, "--device", "cpu", code=code)

    # --- trapezoid sums ---

    def test_the_note_s_digits(self):
        words = (*CIRCLE, "--strips", "65536", "--scale", "4", "--device", "cpu")
        self.assertAlmostEqual(self.value(*words), 3.141592583496, delta=1e-12)
        text = self.passes(*words).stdout
        self.assertEqual(float(re.search(r"integral +(\S+)", text)[1]), self.value(*words))  # every digit is printed
        self.assertRegex(text, r"evaluations +65537")

    def test_devices_agree_to_the_last_bit(self):
        words = (*CIRCLE, "--strips", "65536", "--scale", "4")
        self.assertEqual(self.value(*words, "--device", "cpu"),
                         self.value(*words, "--device", "simt", "--variant", "strips_per_thread", "--tuning", "block=7,thread=33"))

    def test_a_sum_reports_its_error(self):
        words = ("--strips", "65536", "--scale", "4", "--device", "cpu")
        values = self.values(*CIRCLE, *words)
        off = abs(values["integral"] - math.pi)
        self.assertLessEqual(off, values["error"])
        self.assertLess(values["error"], 1.2 * off)
        self.assertEqual((values["exponent"], values["by"]), (1.5, "trapezoid"))
        self.assertTrue(values["reason"].startswith("as asked"))
        self.assertIn("reason       converged", self.passes(*CIRCLE, *words, "--absolute", "1e-6").stdout)
        short = run(*CIRCLE, *words, "--relative", "1e-9")
        self.assertEqual(short.returncode, 7, short.stderr)
        self.assertIn("more strips", short.stdout)

    def test_the_error_of_a_sum_is_honest(self):
        for formula, limits, strips, right in (("exp(cos(x))", ("0", "2*pi"), 40, 7.954926521012846), ("x<0.3", ("0", "1"), 1000, 0.3),
                                               ("x^3", ("-1", "1"), 7, 0), ("1/(1+1e8*(x-0.3)^2)", ("0", "1"), 5000, 3.1409450293e-4),
                                               ("x", ("0", "1"), 1, 0.5), ("sin(1000*x)", ("0", "pi"), 500, 0)):
            for more in ((), ("--element", "f32", "--sum", "plain", "--abscissa", "accumulated")):
                values = self.on_cpu(formula, *limits, "--strips", str(strips), *more)
                self.assertLessEqual(abs(values["integral"] - right), values["error"] + 1e-13, (formula, more))

    def test_an_overflowing_sum_suggests_a_remedy(self):
        words = ("integrate", "3e38*(1-x/1000)", "0", "0.5", "--strips", "65536", "--element", "f32", "--device", "cpu")
        values = self.values(*words, code=7)
        self.assertTrue(values["reason"].startswith("too large"), values["reason"])
        self.assertIn("--scale-at term", values["why"])
        self.assertLess(abs(self.value(*words, "--scale-at", "term") - 1.499625e38), 1e32)

    def test_default_strips_are_reported(self):
        reason = self.on_cpu(*CIRCLE[1:], "--rule", "trapezoid")["reason"]
        self.assertEqual(reason, "as asked: the trapezoid sum; no --strips were named, so 16777216")
        self.assertEqual(self.on_cpu(*CIRCLE[1:], "--strips", "1e4")["evaluations"], 10001)

    def test_sweep_prints_the_list_and_the_table_beside_the_host(self):
        done = self.passes("sweep", *CIRCLE, "--strips", "2000", "--scale", "4", "--device", "cpu,simt", "--variant",
                           "naive,strips_per_thread", "--over", "block=1:16:x4", "--over", "thread=1:64:x8", "--reps", "2", "--times", "--table")
        self.assertRegex(done.stdout, r"cpu/naive")
        self.assertRegex(done.stdout, r"× serial")
        self.assertRegex(done.stdout, r"block \\ thread +1 +8 +64")
        self.assertRegex(done.stdout, r"kernel time\nblock \\ thread")
        self.assertRegex(done.stdout, r"beside it: naive on cpu.*, [0-9.]+ .?s")

    def test_an_impossible_launch_shape_gives_a_reason(self):
        done = self.passes("sweep", *CIRCLE, "--strips", "100", "--device", "simt", "--variant", "strips_per_thread",
                           "--over", "block=1,2", "--over", "thread=512:2048:x2", "--reps", "1", "--table", "block,thread")
        self.assertIn("not run", done.stdout)
        self.assertIn("thread = 2048 is not within 1 to 1024", done.stdout)

    def test_bench_takes_ranges_of_strips(self):
        self.assertIn("strips = 200", self.passes("bench", *CIRCLE, "strips=100,200", "--device", "cpu", "--reps", "2").stdout)

    def test_the_executor_finds_no_race(self):
        done = self.passes("trace", *CIRCLE, "--strips", "300", "--variant", "warp_sums,one_launch", "--tuning", "block=3,thread=64")
        self.assertIn("one_launch", done.stdout)

    def test_tune_searches_launches(self):
        done = self.passes("tune", "integrate", "x^2", "0", "1", "--strips", "4096", "--device", "simt", "--variant", "grid_stride",
                           "--over", "block=1,4", "--over", "thread=32,64", "--cache", "t.jsonl", "--time", "1")
        self.assertIn("4 of 4 configurations kept", done.stdout)

    # --- rules ---

    def test_a_rule_is_not_replaced_by_a_sum(self):
        words = ("bench", *CIRCLE, "--scale", "4", "--device", "cpu,simt", "--reps", "2", "--variant", "naive,simd,rules,one_launch", "--json", "-")
        rows = json.loads(self.passes(*words).stdout)["rows"]
        self.assertEqual({row["variant"]: "median" in row for row in rows},
                         {"naive": False, "simd": False, "rules": True, "one_launch": False})
        self.assertEqual({row["verified"] for row in rows if row["variant"] == "rules"}, {"ok"})
        self.refused("trapezoid sums only", *CIRCLE, "--device", "simt", "--variant", "one_launch")

    def test_floats_are_floats_in_rules_too(self):
        values = self.on_cpu(*CIRCLE[1:], "--scale", "4", "--element", "f32")
        self.assertLessEqual(abs(values["integral"] - math.pi), values["error"])
        self.assertEqual(values["reason"], "converged")
        short = self.on_cpu(*CIRCLE[1:], "--scale", "4", "--element", "f32", "--relative", "1e-12", code=7)
        self.assertTrue(short["reason"].startswith("roundoff"))

    def test_caps_hold(self):
        for rule in ("auto", "quasi_random", "vegas", "genz_malik"):
            values = self.on_cpu("sin(40*x*y)", "x=[0,1]", "y=[0,1]", "--rule", rule, "--most-evaluations", "1000", code=7)
            self.assertEqual(values["reason"], "cap reached: evaluations", rule)
            self.assertLessEqual(values["evaluations"], 1000, rule)

    def test_checks_pass(self):
        for words in (("exp(-x)", "0", "inf"), ("exp(-x^2)", "-inf", "inf"), ("1/(1+x^2)", "-inf", "0"), (*CIRCLE[1:], "--strips", "1000")):
            self.assertIn("verified", self.passes("integrate", *words, "--device", "cpu", "--check").stdout, words)

    def test_json_holds_the_options(self):
        done = self.passes("integrate", "k*exp(x)", "0", "1", "k=3", "--relative", "1e-8", "--device", "cpu", "--json", "-")
        asked = json.loads(done.stdout)["arguments"]
        self.assertEqual((asked["FORMULA"], asked["LIMITS"], asked["rule"], asked["relative"]), ("k*exp(x)", "0 1 k=3", "auto", "1e-8"))

    def test_a_check_uses_other_points_and_says_what_they_exclude(self):
        done = self.passes("integrate", "1+exp(-((x-0.618)/1e-5)^2)*1e5", "0", "1", "--device", "cpu", "--check").stdout
        self.assertRegex(done, r"verified: \d+ other points, in long double: no feature wider than \S+ was missed")
        self.assertAlmostEqual(float(re.search(r"integral +(\S+)", done)[1]), 1 + math.sqrt(math.pi), delta=1e-9)
        # Gauss-Kronrod alone misses it: the check does not.
        done = run("integrate", "1+exp(-((x-0.618)/1e-5)^2)*1e5", "0", "1", "--rule", "gauss_kronrod", "--device", "cpu", "--check")
        self.assertNotIn("verified", done.stdout)
        self.assertIn("wrong result", done.stdout + done.stderr)
        # An answer that cannot be checked is printed first.
        done = run("integrate", "x^2+sin(100/(x+0.001))+abs(sin(1000*x))", "0", "1", "--device", "cpu", "--check")
        self.assertRegex(done.stdout, r"integral +0\.97773926")
        self.assertIn("not checked: this integral is too hard", done.stderr)
        self.assertEqual(done.returncode, 2)

    def test_the_same_digits_on_a_busy_machine(self):
        words = ("integrate", "if(x^2+y^2<1,1,0)", "x=[0,1]", "y=[0,1]", "--most-evaluations", "4e6", "--device", "cpu")
        alone = self.values(*words, code=7)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            for values in pool.map(lambda _: self.values(*words, code=7), range(6)):
                self.assertEqual(values, alone)
        stopped = self.values(*words, "--most-seconds", "1e-3", code=7)
        self.assertEqual(stopped["reason"], "cap reached: time (another run may end elsewhere)")

    def test_limits_hold_parameters_and_earlier_variables(self):
        for right, *words in ((4.5, "x", "0", "b", "b=3"), (4.5, "x", "x=[b-3,b]", "b=3"), (1 / 8, "x*y", "0", "1", "y=[0,x]"),
                              (1 / 8, "x*y", "x=[0,1]", "y=[0,x]"), (1 / 48, "x*y*z", "x=[0,1]", "y=[0,x]", "z=[0,y]"),
                              (math.pi, "1", "x=[-1,1]", "y=[-sqrt(1-x^2),sqrt(1-x^2)]"), (0.5, "exp(-y)", "x=[0,b]", "y=[x,inf]", "b=log(2)"),
                              (2, "abs(x-c)", "0", "2*c", "c=sqrt(2)", "--points", "c")):
            values = self.on_cpu(*words)
            self.assertAlmostEqual(values["integral"], right, delta=2e-6 * right, msg=words)
        self.refused("nothing gives a value to 'b'", "integrate", "b*x", "0", "1")
        self.refused("A limit may hold parameters, such as b=3, and variables before it", "integrate", "x", "0", "b")
        self.refused("'y' at column 1\n  y\n  ^\n  A limit may hold", "integrate", "x*y", "x=[0,y]", "y=[0,1]")
        self.refused("infinity is written inf", "integrate", "exp(-x)", "0", "infinity")
        self.refused("neither the formula nor a limit holds c", "integrate", "x", "0", "1", "c=2")
        self.refused("infinity is written inf", "integrate", "x*infinity", "0", "1")

    def test_an_empty_range_gives_0(self):
        for words in (("x^-0.5", "0", "0"), ("1/x", "0", "0", "--rule", "gauss_kronrod"), ("x^-0.5*y^-2", "x=[0,0]", "y=[0,1]")):
            values = self.on_cpu(*words)
            self.assertEqual((values["integral"], values["error"], values["reason"]), (0, 0, "converged"), words)

    # --- tables of samples ---
        self.assertEqual(self.on_cpu("1/x", "0", "0", "--strips", "100")["integral"], 0)

    def test_samples_need_no_tolerance(self):
        n = 202
        save("x.npy", [math.pi * i / (n - 1) for i in range(n)])
        save("y.npy", [math.sin(math.pi * i / (n - 1)) for i in range(n)])
        words = ("y", "--x", "x.npy", "--y", "y.npy")
        values = self.on_cpu(*words)
        self.assertTrue(values["reason"].startswith("as asked"), values["reason"])
        self.assertLessEqual(abs(values["integral"] - 2), values["error"])
        self.assertEqual(self.on_cpu(*words, "--relative", "1e-3")["reason"], "converged")
        self.assertNotEqual(self.on_cpu(*words, "--relative", "1e-14", code=7)["reason"], "converged")

    def test_a_sample_that_is_no_number_is_reported_with_its_index(self):
        for bad, rule in ((math.inf, "auto"), (-math.inf, "trapezoid"), (math.nan, "simpson")):
            save("x.npy", [0, 1, 2, 3, 4, 5])
            save("y.npy", [1, 1, bad, 1, 1, 1])
            values = self.on_cpu("y", "--x", "x.npy", "--y", "y.npy", "--rule", rule, code=7)
            self.assertEqual(values["reason"], "non-finite value at x = 2", (bad, rule))
            self.assertIsNone(values["error"])

    # --- many integrals ---

    def test_a_batch_reports_how_many_converged(self):
        words = ("integrate_batch", "x^k", "0", "1", "--parameters", "k=-0.9:4", "--n", "9", "--device", "cpu")
        values = self.values(*words, "--check")
        self.assertEqual((values["converged"], values["reason"]), (9, "converged"))
        self.assertLessEqual(values["worst"], 1e-10)
        values = self.values("integrate_batch", "1/x", "k", "1", "--parameters", "k=0:1", "--n", "3", "--device", "cpu", code=7)
        self.assertEqual((values["converged"], values["reason"]), (2, "not converged: 1 singularity suspected"))
        self.refused("--n is missing", "integrate_batch", "x^k", "0", "1", "--parameters", "k=1:2", "--device", "cpu")

    # --- what is refused, and help ---

    def test_invalid_options_are_refused(self):
        tail = ("--device", "cpu", "--strips", "8")
        for message, *words in (
                ("limits are missing", "integrate", "x"), ("0 or more", *CIRCLE, "--relative", "-1e-3"), ("0 or more", *CIRCLE, *tail, "--relative", "-1"),
                ("out of its range", *CIRCLE, "--strips", "-3", "--device", "cpu"), ("the FORMULA is missing", "integrate", *tail),
                ("--scal", *CIRCLE, "--scal", "4", *tail), ("--sum is for a trapezoid sum", *CIRCLE, "--sum", "kahan"),
                ("--x 0: No such file", "integrate", "--x", "0", "1"),
                ("a power is x^2) at column 2\n  x²\n   ^", "integrate", "x²", "0", "1")):
            self.refused(message, *words)

    def test_negative_formulas_and_limits_are_no_flags(self):
        self.assertAlmostEqual(self.value("integrate", "-x^2", "-1", "-0.5", "--strips", "1000", "--device", "cpu"), -7 / 24, delta=1e-6)
        self.assertAlmostEqual(self.value("integrate", "-t", "t=[-pi/2,0]", "--strips", "10", "--device", "cpu"), math.pi ** 2 / 8, delta=1e-12)
        self.assertAlmostEqual(self.value("integrate", "x", "1", "0"), -0.5, delta=1e-12)

    def test_help_marks_numbers(self):
        self.assertRegex(self.passes("integrate", "--help").stdout, r"--relative NUMBER +the error")


if __name__ == "__main__":
    unittest.main()
