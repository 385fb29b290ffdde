#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Integrals from outside: digits, streams, tables, studies, and what is refused.   integrate_test.py PROGRAM"""
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
CIRCLE = ("integrate", "sqrt(1-x^2)", "0", "1")


def run(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=300, check=False)


class Integrals(unittest.TestCase):
    def passes(self, *words):
        done = run(*words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done

    def fails(self, message, *words, code=2):
        done = run(*words)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertIn(message, done.stderr)
        self.assertEqual(done.stdout, "")

    def value(self, *words):
        return json.loads(self.passes(*words, "--json", "-").stdout)["values"]["integral"]

    def test_the_note_s_digits(self):
        value = self.value(*CIRCLE, "--strips", "65536", "--scale", "4", "--device", "cpu")
        self.assertAlmostEqual(value, 3.141592583496, delta=1e-12)

    def test_every_digit_is_printed(self):
        text = self.passes(*CIRCLE, "--strips", "65536", "--scale", "4", "--device", "cpu").stdout
        printed = re.search(r"integral +(\S+)", text)[1]
        self.assertEqual(float(printed), self.value(*CIRCLE, "--strips", "65536", "--scale", "4", "--device", "cpu"))
        self.assertRegex(text, r"evaluations +65537")

    def test_a_sum_that_overflows_says_what_holds_it(self):
        words = ("integrate", "3e38*(1-x/1000)", "0", "0.5", "--strips", "65536", "--element", "f32", "--device", "cpu")
        told = run(*words).stdout
        self.assertRegex(told, r"reason +too large")
        self.assertRegex(told, r"why .*--scale-at term")
        value = self.value(*words, "--scale-at", "term")
        self.assertLess(abs(value - 1.499625e38), 1e32)

    def test_devices_agree_to_the_last_bit(self):
        words = (*CIRCLE, "--strips", "65536", "--scale", "4")
        self.assertEqual(self.value(*words, "--device", "cpu"),
                         self.value(*words, "--device", "simt", "--variant", "strips_per_thread", "--tuning", "block=7,thread=33"))

    def test_strips_tell_their_error_and_keep_their_value(self):
        words = ("--strips", "65536", "--scale", "4", "--device", "cpu")
        told = json.loads(self.passes(*CIRCLE, *words, "--json", "-").stdout)["values"]
        off = abs(told["integral"] - math.pi)
        self.assertLessEqual(off, told["error"])
        self.assertLess(told["error"], 1.2 * off)
        self.assertEqual(told["exponent"], 1.5)
        self.assertEqual(told["by"], "trapezoid")
        self.assertTrue(told["reason"].startswith("as asked"))
        self.assertIn("reason       converged", self.passes(*CIRCLE, *words, "--absolute", "1e-6").stdout)
        short = run(*CIRCLE, *words, "--relative", "1e-9")
        self.assertEqual(short.returncode, 7, short.stderr)
        self.assertIn("more strips", short.stdout)

    def test_the_error_of_strips_is_honest(self):
        for formula, limits, strips, right in (("exp(cos(x))", ("0", "2*pi"), 40, 7.954926521012846), ("x<0.3", ("0", "1"), 1000, 0.3),
                                               ("x^3", ("-1", "1"), 7, 0), ("1/(1+1e8*(x-0.3)^2)", ("0", "1"), 5000, 3.1409450293e-4),
                                               ("x", ("0", "1"), 1, 0.5), ("sin(1000*x)", ("0", "pi"), 500, 0)):
            for more in ((), ("--element", "f32"), ("--sum", "plain"), ("--abscissa", "accumulated")):
                told = json.loads(self.passes("integrate", formula, *limits, "--strips", str(strips), "--device", "cpu", *more, "--json", "-").stdout)["values"]
                self.assertLessEqual(abs(told["integral"] - right), told["error"] + 1e-13, (formula, more))

    def test_the_rule_says_why_no_gpu(self):
        self.assertIn("on one core; ", self.passes(*CIRCLE).stdout.replace("Gauss-Kronrod from other points agrees to 0; ", ""))
        self.assertIn("a GPU would be slower", self.passes(*CIRCLE).stdout)

    def told(self, *words, code=0):
        done = run("integrate", *words, "--device", "cpu", "--json", "-")
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads(done.stdout)["values"]

    def test_rules_for_swinging_tails_by_name(self):
        for rule in ("oscillating", "epsilon"):
            told = self.told("sin(x)/x", "0", "inf", "--rule", rule, "--relative", "1e-9")
            self.assertAlmostEqual(told["integral"], math.pi / 2, delta=1e-9)
            self.assertEqual((told["by"], told["reason"]), (rule, "converged"))
            self.assertAlmostEqual(self.told("cos(x)/(1+x^2)", "-inf", "0", "--rule", rule)["integral"], math.pi / 2 / math.e, delta=1e-9)
            self.assertIn("does not swing", self.told("exp(-x)", "0", "inf", "--rule", rule, code=7)["why"])
            self.fails("one infinite limit", "integrate", "sin(x)", "0", "1", "--rule", rule)
        self.assertIn("epsilon may serve", self.told("sin(x^2)", "0", "inf", "--rule", "oscillating", code=7)["why"])

    def test_tails_that_swing_without_a_change_of_sign_are_right_or_refused(self):
        for formula, limits, right in (("sin(x)^2/x^2", ("0", "inf"), math.pi / 2), ("abs(sin(x))/x^2", ("1", "inf"), 0.774430)):
            done = run("integrate", formula, *limits, "--most-evaluations", "2e5", "--json", "-")
            told = json.loads(done.stdout)["values"]
            self.assertIn(done.returncode, (0, 7))
            self.assertLessEqual(abs(told["integral"] - right), told["error"] + 1e-6)

    def test_no_peak_is_told_where_there_is_none(self):
        for words in (("sin(x)", "0", "10"), ("1/(1+x^2)", "-inf", "inf"), ("exp(-x^2)", "-inf", "inf")):
            self.assertNotIn("narrow", self.told(*words)["why"], words)
        self.assertIn("narrow", self.told("1/(1+(1e6*(x-0.3))^2)", "0", "1")["why"])

    def test_doubt_has_no_error_of_zero(self):
        told = self.told("0*x", "0", "1", code=7)
        self.assertEqual(told["integral"], 0)
        self.assertIn(told["error"], (None, "inf", math.inf))
        self.assertAlmostEqual(self.told("exp(-x^2)", "-1e300", "1e300")["integral"], math.sqrt(math.pi), delta=1e-9)

    def test_what_is_too_large_is_no_number_that_converged(self):
        for words in (("1e10*x", "0", "1", "--scale", "1e300"), ("1e300+x", "x=[0,1e5]", "y=[0,1e5]"), ("1e307*cos(x/1e3)", "0", "100"),
                      ("1e37*x", "0", "1", "--element", "f32", "--scale", "1e3")):
            self.assertTrue(self.told(*words, code=7)["reason"].startswith("too large"), words)
        for words in (("1e38*x", "0", "10"), ("x*1e30*1e30", "0", "1"), ("exp(100*x)", "0", "1")):
            self.assertTrue(self.told(*words, "--element", "f32", code=7)["reason"].startswith("non-finite"), words)
        self.assertAlmostEqual(self.told("1e308", "x=[0,1]", "y=[0,1]", "z=[0,1]", "w=[0,1]")["integral"] / 1e308, 1, delta=1e-6)

    def test_floats_are_floats_in_rules_too(self):
        short = self.told(*CIRCLE[1:], "--scale", "4", "--element", "f32", "--relative", "1e-12", code=7)
        self.assertTrue(short["reason"].startswith("roundoff"))
        for words, right in ((("sin(x+1e8)", "0", "1"), math.cos(1e8) - math.cos(1e8 + 1)), (("(x+1e8)-1e8+y", "x=[0,1]", "y=[0,1]"), 1)):
            told = self.told(*words, "--element", "f32", code=7)
            self.assertTrue(told["reason"].startswith("roundoff"), words)
            self.assertLessEqual(abs(told["integral"] - right), told["error"] + 1e-4, words)
        told = self.told(*CIRCLE[1:], "--scale", "4", "--element", "f32")
        self.assertLessEqual(abs(told["integral"] - math.pi), told["error"])
        self.assertEqual(told["reason"], "converged")

    def test_the_cap_that_was_reached_is_named(self):
        for rule in ("auto", "quasi_random", "vegas", "genz_malik"):
            for most in (10, 1000, 5000):
                told = self.told("sin(40*x*y)", "x=[0,1]", "y=[0,1]", "--rule", rule, "--most-evaluations", str(most), code=7)
                self.assertEqual(told["reason"], "cap reached: evaluations", (rule, most))
                self.assertLessEqual(told["evaluations"], most, rule)
        self.assertEqual(self.told("x*y>0.3", "x=[0,1]", "y=[0,1]", "--most-seconds", "0.001", code=7)["reason"], "cap reached: time")

    def test_no_width_needs_a_finite_height_of_several_variables_too(self):
        for formula, y in (("1/y", "[0,0]"), ("x/y", "[0,0]"), ("log(y)*x", "[-1,-1]"), ("x*y", "[inf,inf]")):
            self.assertIn("non-finite", self.told(formula, "x=[0,1]", "y=" + y, code=7)["reason"], formula)
        self.assertEqual(self.told("x*y", "x=[0,1]", "y=[2,2]")["integral"], 0)

    def test_help_says_what_is_a_number(self):
        text = self.passes("integrate", "--help").stdout
        self.assertRegex(text, r"--relative NUMBER +the error")
        self.assertNotIn("TEXT", text)
        columns = {re.match(r"  -\S+( \S+)? +", line).end() for line in text.splitlines() if re.match(r"  -\S+ \S*… +\S", line)}
        self.assertEqual(columns, {34}, "a flag with … keeps the column")

    def test_infinite_ranges_are_checked_too(self):
        for words in (("exp(-x)", "0", "inf"), ("exp(-x^2)", "-inf", "inf"), ("1/(1+x^2)", "-inf", "0"), ("exp(-x)/sqrt(x)", "0", "inf"),
                      ("exp(-abs(x-1))", "inf", "-inf")):
            self.assertIn("verified", self.passes("integrate", *words, "--check").stdout, words)
        self.fails("too hard for the check", "integrate", "sin(x)/x", "0", "inf", "--check")

    def test_every_bad_input_has_its_words(self):
        self.assertAlmostEqual(self.value("integrate", "x", "1", "0"), -0.5, delta=1e-12)
        self.assertAlmostEqual(self.value("integrate", "x", "1", "0", "--strips", "8", "--device", "cpu"), -0.5, delta=1e-12)
        self.fails("not a number", "integrate", "x", "0/0", "1")
        self.fails("limits are missing", "integrate", "x")
        self.fails("stands alone", "integrate", "x", "1")
        self.fails("write x=[0,1]", "integrate", "x", "[0,1]")
        self.fails("write x=[0,1]", "integrate", "x*y", "[0,1]", "y=[0,1]")
        self.fails("0 or more", *CIRCLE, "--relative", "-1e-3")
        self.fails("0 or more", *CIRCLE, "--absolute", "-1")
        self.fails("more than 0", *CIRCLE, "--relative", "0")
        self.fails("0 or more", *CIRCLE, "--strips", "8", "--relative", "-1", "--device", "cpu")
        self.fails("out of its range", *CIRCLE, "--strips", "-3", "--device", "cpu")
        self.fails("'y'", "integrate", "x*y", "0", "1")
        self.fails("'t'", "integrate", "t", "x=[0,1]")
        self.fails("bound twice", "integrate", "x", "0", "1", "x=[0,1]")
        self.fails("bound twice", "integrate", "x", "0", "1", "x=3")
        self.fails("holds no x", "integrate", "t", "t=[0,1]", "0", "1")
        self.fails("holds no x", "integrate", "y", "0", "1", "y=3")
        self.assertEqual(self.value("integrate", "3", "0", "1"), 3)
        self.fails("longer than the largest", "integrate", "x", "-1e308", "1e308")

    def test_richardson_is_called_so(self):
        self.assertRegex(self.passes(*CIRCLE, "--rule", "richardson").stdout, r"by +richardson")

    def test_checks_see_the_peaks_that_rules_see(self):
        for words in (["exp(-((x-50.3)/1e-5)^2)", "0", "100", "--relative", "1e-6"],
                      ["exp(-((x-17.77)/3e-4)^2)+exp(-((x-61.2)/1e-3)^2)", "0", "100"],
                      ["exp(-(x-1e3)^2)", "0", "1e150"], ["exp(-((x-0.3)/1e-4)^2)", "0", "1"],
                      ["exp(-x)+1e-5*exp(-((x-3)/0.01)^2)", "0", "10"], ["1/x", "1e-300", "1"]):
            self.assertIn("verified", self.passes("integrate", *words, "--check").stdout, words)

    def test_check_passes(self):
        self.assertIn("verified", self.passes(*CIRCLE, "--strips", "1000", "--device", "cpu", "--check").stdout)

    def test_negative_formulas_and_limits_are_no_flags(self):
        value = self.value("integrate", "-x^2", "-1", "-0.5", "--strips", "1000", "--device", "cpu")
        self.assertAlmostEqual(value, -7 / 24, delta=1e-6)
        self.assertAlmostEqual(self.value("integrate", "-t", "t=[-pi/2,0]", "--strips", "10", "--device", "cpu"), math.pi ** 2 / 8, delta=1e-12)

    def test_what_means_nothing_is_refused(self):
        tail = ("--device", "cpu", "--strips", "8")
        self.fails("the FORMULA is missing", "integrate", *tail)
        self.fails("out of its range", *CIRCLE, "--strips", "0", "--device", "cpu")
        self.fails("not a number", "integrate", "x", "0", "inf-inf", *tail)
        self.fails("finite limits", "integrate", "x", "0", "inf", *tail)
        self.fails("limits are missing", "integrate", "x", *tail)
        self.fails("y", "integrate", "x+y", "0", "1", *tail)
        self.fails("column", "integrate", "sqrt(", "0", "1", *tail)
        self.fails("one range, not 2", "integrate", "x*y", "x=[0,1]", "y=[0,1]", *tail)
        self.fails("--scal", *CIRCLE, "--scal", "4", *tail)

    def test_sweep_prints_the_list_and_the_table_beside_the_host(self):
        done = self.passes("sweep", *CIRCLE, "--strips", "2000", "--scale", "4", "--device", "cpu,simt", "--variant",
                           "naive,strips_per_thread", "--over", "block=1:16:x4", "--over", "thread=1:64:x8", "--reps", "2", "--times", "--table")
        self.assertRegex(done.stdout, r"cpu/naive")
        self.assertRegex(done.stdout, r"× serial")
        self.assertRegex(done.stdout, r"block \\ thread +1 +8 +64")
        self.assertRegex(done.stdout, r'integrate "sqrt\(1-x\^2\)" 0 1 strips = 2000, f64 on simt')

        self.assertRegex(done.stdout, r"kernel time\nblock \\ thread")
        self.assertRegex(done.stdout, r"beside it: naive on cpu.*, [0-9.]+ .?s")

    def test_a_file_is_told_with_its_flag(self):
        self.fails("--x 0: No such file", "integrate", "--x", "0", "1")

    def test_no_value_has_no_sign(self):
        for words in (("1/x", "0", "0"), ("1/x", "0", "0", "--strips", "10"), ("x", "inf", "inf")):
            done = run("integrate", *words, "--device", "cpu")
            self.assertEqual(done.returncode, 7)
            self.assertRegex(done.stdout, r"integral +nan")

    def test_a_shape_that_cannot_run_says_why(self):
        done = self.passes("sweep", *CIRCLE, "--strips", "100", "--device", "simt", "--variant", "strips_per_thread",
                           "--over", "block=1,2", "--over", "thread=512:2048:x2", "--reps", "1", "--table", "block,thread")
        self.assertIn("n/a", done.stdout)
        self.assertIn("thread = 2048 is not within 1 to 1024", done.stdout)

    def test_bench_takes_ranges_of_strips(self):
        done = self.passes("bench", *CIRCLE, "strips=100,200", "--device", "cpu", "--reps", "2")
        self.assertIn("strips = 200", done.stdout)

    def test_the_executor_finds_no_race(self):
        done = self.passes("trace", *CIRCLE, "--strips", "300", "--variant", "warp_sums,one_launch", "--tuning", "block=3,thread=64")
        self.assertIn("one_launch", done.stdout)

    def test_tune_searches_launches(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.passes("tune", "integrate", "x^2", "0", "1", "--strips", "4096", "--device", "simt", "--variant", "grid_stride",
                               "--over", "block=1,4", "--over", "thread=32,64", "--cache", os.path.join(folder, "t.jsonl"), "--time", "1")
        self.assertIn("4 of 4 configurations kept", done.stdout)

    def test_a_rule_in_single_precision_tells_what_that_loses(self):
        for formula, right in (("exp(x)", math.e - 1), ("x/3", 1 / 6)):
            values = json.loads(self.passes("integrate", formula, "0", "1", "--element", "f32", "--json", "-").stdout)["values"]
            self.assertLessEqual(abs(values["integral"] - right), values["error"], formula)
            self.assertLess(values["error"], 1e-6)

    def test_the_condition_of_a_positive_integrand_is_one(self):
        values = json.loads(self.passes("integrate", "x*y*z", "x=[0,1]", "y=[0,1]", "z=[0,1]", "--rule", "genz_malik", "--json", "-").stdout)["values"]
        self.assertAlmostEqual(values["condition"], 1, delta=1e-9)
        for rule, more in (("trapezoid", ("--strips", "1000")), ("simpson", ())):
            self.assertEqual(self.told("x^2", "0", "1", "--rule", rule, *more)["condition"], 1, rule)

    def test_a_batch_tells_how_many_came_how_far(self):
        words = ("integrate_batch", "x^k", "0", "1", "--parameters", "k=-0.9:4", "--n", "9", "--device", "cpu")
        values = json.loads(self.passes(*words, "--check", "--json", "-").stdout)["values"]
        self.assertEqual((values["converged"], values["reason"]), (9, "converged"))
        self.assertLessEqual(values["worst"], 1e-10)
        done = run("integrate_batch", "1/x", "k", "1", "--parameters", "k=0:1", "--n", "3", "--device", "cpu", "--json", "-")
        self.assertEqual(done.returncode, 7, done.stderr)
        values = json.loads(done.stdout)["values"]
        self.assertEqual((values["converged"], values["reason"]), (2, "not converged: 1 singularity suspected"))
        self.fails("--n is missing", "integrate_batch", "x^k", "0", "1", "--parameters", "k=1:2", "--device", "cpu")

    def test_a_rule_that_falls_short_says_what_to_try(self):
        odd = self.told("x^3", "-1", "1", code=7)
        self.assertRegex(odd["why"], r"--absolute [0-9.e-]+ would be met")
        self.assertNotIn("GPU", odd["why"])
        told = self.told("x^3", "-1", "1", "--absolute", re.search(r"--absolute (\S+) would", odd["why"])[1])
        self.assertEqual(told["reason"], "converged")
        self.assertIn("1/distance", self.told("1/x", "0", "1", code=7)["why"])
        self.assertIn("--most-evaluations", self.told("sin(1e6*x)", "0", "1", "--most-evaluations", "2e4", code=7)["why"])

    def test_what_other_points_were_for_is_said(self):
        self.assertRegex(self.told("exp(x)", "0", "1")["why"], r"before, \d+ points looked for peaks")

    def test_the_executor_heeds_its_time(self):
        began = time.monotonic()
        for rung in ("one_thread", "strips_per_thread", "grid_stride", "warp_sums", "one_launch"):
            done = run(*CIRCLE, "--strips", "65536*65536*16", "--device", "simt", "--variant", rung, "--most-seconds", "0.3", "--json", "-")
            self.assertEqual(done.returncode, 7, done.stderr)
            told = json.loads(done.stdout)["values"]
            self.assertEqual((told["reason"], told["integral"]), ("cap reached: time", None))
        self.assertLess(time.monotonic() - began, 30)

    def test_no_points_are_none(self):
        self.assertIn('"": none', self.passes("integrate", "--help").stdout)
        self.assertEqual(self.value("integrate", "abs(x-0.3)", "0", "1", "--points", ""), self.value("integrate", "abs(x-0.3)", "0", "1"))
        for nothing in (",", "0.5,"):
            self.assertEqual(run("integrate", "x", "0", "1", "--points", nothing).returncode, 2)

    def test_rules_by_name_claim_nothing_wrong(self):
        for formula, limits, exact, relative, rule in (
                ("abs(x-0.72)", ("0", "1"), 0.2984, 1e-10, "richardson"), ("max(0,x-0.234)", ("0", "1"), 0.766 ** 2 / 2, 1e-4, "richardson"),
                ("1/sqrt(abs(x-0.47))", ("0", "1"), 2 * (math.sqrt(0.47) + math.sqrt(0.53)), 1e-2, "simpson"),
                ("if(x<0.265,x,1+x)", ("0", "1"), 1.235, 1e-8, "richardson"), ("cos(202*x)", ("0", "1"), math.sin(202) / 202, 1e-2, "gauss_kronrod"),
                ("exp(-2.2e5*(x-2.825)^2)", ("-inf", "inf"), math.sqrt(math.pi / 2.2e5), 1e-2, "tanh_sinh"),
                ("exp(-8.3e5*(x-0.376)^2)", ("-inf", "inf"), math.sqrt(math.pi / 8.3e5), 1e-4, "gauss_kronrod")):
            told = json.loads(run("integrate", formula, *limits, "--rule", rule, "--relative", str(relative), "--json", "-").stdout)["values"]
            self.assertTrue(told["reason"] != "converged" or abs(told["integral"] - exact) <= relative * abs(exact), (formula, rule, told))

    def test_strips_that_nobody_named_are_told(self):
        told = self.told("sqrt(1-x^2)", "0", "1", "--rule", "trapezoid")
        self.assertEqual(told["reason"], "as asked: the trapezoid sum; no --strips were named, so 16777216")
        self.assertNotIn("no --strips", self.passes(*CIRCLE, "--strips", "1e3", "--device", "cpu").stdout)

    def test_a_rule_is_not_answered_by_a_sum_of_strips(self):
        words = ("bench", *CIRCLE, "--scale", "4", "--device", "cpu,simt", "--reps", "2", "--variant", "naive,simd,rules,one_launch", "--json", "-")
        for tolerance in ((), ("--relative", "1e-12")):
            rows = json.loads(self.passes(*words, *tolerance).stdout)["rows"]
            timed = {row["variant"]: "median" in row for row in rows}
            self.assertEqual(timed, {"naive": False, "simd": False, "rules": True, "one_launch": False})
            self.assertEqual({row["verified"] for row in rows if row["variant"] == "rules"}, {"ok"})
        rows = json.loads(self.passes("bench", "integrate", "x^0.1", "0", "1", "--strips", "4096", "--reps", "2", "--device", "cpu",
                                      "--variant", "simd", "--no-serial", "--json", "-").stdout)["rows"]
        self.assertEqual([row["verified"] for row in rows], ["ok"])  # as that sum, which is off by more than any rule may be
        self.fails("--strips asks for a sum", *CIRCLE, "--device", "simt")
        self.fails("ask for the sum that this variant adds up", *CIRCLE, "--device", "simt", "--variant", "one_launch")

    def test_samples_need_no_tolerance(self):
        for n, code in ((202, 0), (3, 0)):
            with tempfile.TemporaryDirectory() as folder:
                paths = []
                for name, values in (("x", [math.pi * i / (n - 1) for i in range(n)]), ("y", [math.sin(math.pi * i / (n - 1)) for i in range(n)])):
                    paths.append(os.path.join(folder, name + ".npy"))
                    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({n},), }}".ljust(117) + "\n"
                    with open(paths[-1], "wb") as file:
                        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{n}d", *values))
                words = ("y", "--x", paths[0], "--y", paths[1])
                told = self.told(*words, code=code)
                self.assertTrue(told["reason"].startswith("as asked"), told["reason"])
                self.assertEqual(self.told(*words, "--relative", "1e-14", code=7)["reason"][:8], "the rule")
                if n > 4:
                    self.assertLessEqual(abs(told["integral"] - 2), told["error"])
                    self.assertEqual(self.told(*words, "--relative", "1e-3")["reason"], "converged")

    def test_a_sample_that_is_no_number_is_told_by_its_place(self):
        for bad, formula, place in ((math.inf, "y", "x = 2"), (-math.inf, "y", "x = 2"), (math.nan, "y", "x = 2"), (1e300, "y^2", "x = 2")):
            for rule in ("auto", "trapezoid", "simpson"):
                with tempfile.TemporaryDirectory() as folder:
                    paths = []
                    for name, values in (("x", [0, 1, 2, 3, 4, 5]), ("y", [1, 1, bad, 1, 1, 1])):
                        paths.append(os.path.join(folder, name + ".npy"))
                        header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({len(values)},), }}".ljust(117) + "\n"
                        with open(paths[-1], "wb") as file:
                            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}d", *values))
                    told = self.told(formula, "--x", paths[0], "--y", paths[1], "--rule", rule, code=7)
                    self.assertEqual(told["reason"], "non-finite value at " + place, (bad, rule))
                    self.assertIsNone(told["error"])
                    self.assertIn("would be ignored", run("integrate", formula, "--x", paths[0], "--y", paths[1], "--sum", "kahan").stderr)

    def test_json_has_what_was_asked(self):
        done = self.passes("integrate", "k*exp(x)", "0", "1", "k=3", "--relative", "1e-8", "--device", "cpu", "--json", "-")
        asked = json.loads(done.stdout)["arguments"]
        self.assertEqual((asked["FORMULA"], asked["LIMITS"], asked["rule"], asked["relative"]), ("k*exp(x)", "0 1 k=3", "auto", "1e-8"))

    def test_whole_numbers_have_powers_of_ten(self):
        told = self.told(*CIRCLE[1:], "--strips", "1e4")
        self.assertEqual(told["evaluations"], 10001)
        self.told("x*y", "x=[0,1]", "y=[0,1]", "--rule", "quasi_random", "--random-seed", "1e3")
        self.assertNotIn("EXPRESSION", self.passes("integrate", "--help").stdout)

    def test_other_signs_are_shown_with_what_is_meant(self):
        self.fails("a power is x^2) at column 2\n  x²\n   ^", "integrate", "x²", "0", "1")
        self.fails("a product is 2*x) at column 2\n  2×x\n   ^", "integrate", "2×x", "0", "1")

    def test_help_keeps_names_and_words_apart(self):
        self.assertRegex(self.passes("integrate", "--help").stdout, r"(?m)^  integral +the integral")


if __name__ == "__main__":
    unittest.main()
