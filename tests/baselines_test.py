#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Baselines that --load brings.   plugins_test.py PROGRAM PLUGIN CLASS"""
import json
import math
import subprocess
import sys
import unittest

PROGRAM, PLUGIN = sys.argv.pop(1), sys.argv.pop(1)


def run(*words):
    return subprocess.run([PROGRAM, "--load", PLUGIN, *words], capture_output=True, text=True, timeout=300, check=False)


def values(*words):
    done = run("integrate", *words, "--json", "-")
    return done.returncode, json.loads(done.stdout)["values"]


class Gsl(unittest.TestCase):
    def gsl(self, *words):
        return values(*words, "--variant", "gsl", "--device", "cpu")

    def test_it_is_listed_as_a_baseline(self):
        self.assertRegex(run("list", "integrate").stdout, r"00 +gsl")

    def test_its_rules_by_range(self):
        for words, right, rule in ((("sqrt(1-x^2)", "0", "1", "--scale", "4"), math.pi, "qags"),
                                   (("exp(-x^2)", "-inf", "inf"), math.sqrt(math.pi), "qagi"),
                                   (("exp(-x)", "0", "inf"), 1, "qagiu"),
                                   (("exp(x)", "-inf", "0"), 1, "qagil"),
                                   (("exp(x)", "1", "0"), 1 - math.e, "qags"),
                                   (("exp(x)", "0", "1", "--rule", "gauss_kronrod"), math.e - 1, "qag"),
                                   (("abs(x-0.3)", "0", "1", "--points", "0.3"), 0.29, "qagp")):
            code, told = self.gsl(*words)
            self.assertEqual(code, 0, words)
            self.assertAlmostEqual(told["integral"], right, delta=1e-8, msg=words)
            self.assertEqual(told["by"], rule)
            self.assertEqual(told["reason"], "converged")

    def test_it_reports_a_missed_tolerance(self):
        code, told = self.gsl("1/x", "0", "1")
        self.assertEqual(code, 7)
        self.assertNotEqual(told["reason"], "converged")

    def test_it_refuses_unsupported_options(self):
        for words in (("x", "0", "1", "--strips", "8"), ("x*y", "x=[0,1]", "y=[0,1]"), ("x", "0", "1", "--rule", "simpson")):
            done = run("integrate", *words, "--variant", "gsl", "--device", "cpu")
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIn("GSL", done.stderr)


class FastMath(unittest.TestCase):
    WORDS = ("--device", "cpu", "--variant", "gcc_fast_math")

    def test_it_adds_the_circle(self):
        code, told = values("sqrt(1-x^2)", "0", "1", "--scale", "4", "--strips", "65536", *self.WORDS)
        self.assertEqual(code, 0)
        self.assertAlmostEqual(told["integral"], 3.141592583496, delta=1e-11)

    def test_it_refuses_other_integrands(self):
        done = run("integrate", "x", "0", "1", "--strips", "8", *self.WORDS)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("sqrt(1-x^2) alone", done.stderr)


if __name__ == "__main__":
    wanted = sys.argv.pop(1)
    unittest.main(argv=[sys.argv[0], wanted])
