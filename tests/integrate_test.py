#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Integrals from outside: digits, streams, tables, studies, and what is refused.   integrate_test.py PROGRAM"""
import json
import math
import os
import re
import subprocess
import sys
import tempfile
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

    def test_devices_agree_to_the_last_bit(self):
        words = (*CIRCLE, "--strips", "65536", "--scale", "4")
        self.assertEqual(self.value(*words, "--device", "cpu"),
                         self.value(*words, "--device", "simt", "--variant", "strips_per_thread", "--tuning", "block=7,thread=33"))

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
                           "naive,strips_per_thread", "--over", "block=1:16:x4", "--over", "thread=1:64:x8", "--reps", "2", "--table")
        self.assertRegex(done.stdout, r"cpu/naive")
        self.assertRegex(done.stdout, r"× serial")
        self.assertRegex(done.stdout, r"block \\ thread +1 +8 +64")
        self.assertRegex(done.stdout, r'integrate "sqrt\(1-x\^2\)" 0 1 strips = 2000, f64 on simt')

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

    def test_the_study_predicts_what_it_measures(self):
        done = self.passes(*CIRCLE, "--strips", "65536*2", "--scale", "4", "--device", "cpu", "--study", "precision", "--json", "-")
        table = json.loads(done.stdout)["tables"][0]
        names = table["columns"]
        for strips, row in zip((65536, 131072), table["rows"]):
            self.assertEqual(row[0], strips)
            self.assertAlmostEqual(row[1], 4 * math.sqrt(2) * -0.20788622497735457 * strips ** -1.5, delta=1e-11)
            self.assertAlmostEqual(row[-1], row[1], delta=1e-12)
            self.assertEqual(len(row[names.index("its time")]), 5)
        self.assertAlmostEqual(table["rows"][1][2], 3.141611099, delta=1e-9)
        self.assertTrue(any("h^1.5" in remark for remark in table["remarks"]))
        self.fails("did you mean 'precision'", *CIRCLE, "--study", "precison", "--strips", "9", "--device", "cpu")

    def test_the_study_of_threads(self):
        done = self.passes(*CIRCLE, "--strips", "65536", "--scale", "4", "--device", "simt", "--study", "precision", "--json", "-")
        tables = json.loads(done.stdout)["tables"]
        self.assertEqual(len(tables), 2)
        self.assertEqual([c for c in tables[1]["columns"]][:3], ["block", "thread", "threads"])
        self.assertTrue(any("latency" in remark for remark in tables[1]["remarks"]))

    def test_a_study_says_of_the_circle_only_what_holds_for_it(self):
        for formula, said in (("sqrt(1-x^2)", True), ("exp(x)", False)):
            done = self.passes("integrate", formula, "0", "1", "--strips", "65536", "--device", "cpu", "--study", "precision", "--json", "-")
            remarks = " ".join(json.loads(done.stdout)["tables"][0]["remarks"])
            self.assertEqual("2√3" in remarks, said, formula)

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

    def test_help_keeps_names_and_words_apart(self):
        self.assertRegex(self.passes("integrate", "--help").stdout, r"(?m)^  integral +the integral")


if __name__ == "__main__":
    unittest.main()
