#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Studies of integrals from outside: what their tables and their remarks say.   integrate_study_test.py PROGRAM"""
import json
import math
import re
import unittest

import cli_case

CIRCLE = ("integrate", "sqrt(1-x^2)", "0", "1")


class Studies(cli_case.Case):
    def test_predictions_match_measurements(self):
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
        self.fails(2, "did you mean 'precision'", *CIRCLE, "--study", "precison", "--strips", "9", "--device", "cpu")

    def test_the_study_of_threads(self):
        done = self.passes(*CIRCLE, "--strips", "65536", "--scale", "4", "--device", "simt", "--study", "precision", "--json", "-")
        tables = json.loads(done.stdout)["tables"]
        self.assertEqual(len(tables), 2)
        self.assertEqual([c for c in tables[1]["columns"]][:3], ["block", "thread", "threads"])
        self.assertTrue(any("latency" in remark for remark in tables[1]["remarks"]))

    def test_a_study_of_the_circle_makes_only_valid_claims(self):
        for formula, said in (("sqrt(1-x^2)", True), ("exp(x)", False)):
            done = self.passes("integrate", formula, "0", "1", "--strips", "65536", "--device", "cpu", "--study", "precision", "--json", "-")
            remarks = " ".join(json.loads(done.stdout)["tables"][0]["remarks"])
            self.assertEqual("2√3" in remarks, said, formula)

    def test_remarks_on_drift_match_the_table(self):
        for formula, drifts in (("x^2", True), ("1", False)):
            done = self.passes("integrate", formula, "0", "1", "--strips", "65536*2", "--device", "cpu", "--study", "precision", "--json", "-")
            table = json.loads(done.stdout)["tables"][0]
            remarks = " ".join(table["remarks"])
            self.assertEqual("accumulator drifts" in remarks, drifts, formula + ": " + remarks)
            self.assertEqual("does not drift" in remarks, not drifts, formula)
            self.assertEqual("leaves nothing out" in remarks, not drifts, formula)
            self.assertEqual("What cures it" in remarks, drifts, formula)
            if drifts:
                row = table["rows"][-1]
                unit = 2 ** -24 if row[2] < 1 else 2 ** -23
                unit /= 2 if row[2] < 0.5 else 1
                told = float(re.search(r"strips it is (\S+) units", remarks).group(1))
                self.assertAlmostEqual(abs(row[3] - row[-1]) / unit / told, 1, delta=0.06)

    def remarks_of(self, formula, limits, *more):
        done = self.passes("integrate", formula, *limits, "--strips", "65536*2", "--device", "cpu", "--study", "precision", "--json", "-", *more)
        return " ".join(json.loads(done.stdout)["tables"][0]["remarks"])

    def test_a_study_reports_cancellation(self):
        for formula, limits in (("sin(x)", ("0", "2*pi")),):
            remarks = self.remarks_of(formula, limits)
            self.assertIn("Samples cancel", remarks)
            self.assertNotIn("Neighbouring samples", remarks)
            units = float(re.search(r"(?:it is|at most) (?:at most )?(\S+) units", remarks).group(1))
            self.assertLess(units, 1e3, remarks)  # of the integral of |f|, not of nearly nothing
        self.assertNotIn("Samples cancel", self.remarks_of("x^2", ("0", "1")))

    def test_a_study_separates_errors_of_abscissae_and_sum(self):
        remarks = self.remarks_of("x^2", ("0", "0.7"), "--abscissa", "accumulated")
        self.assertIn("the abscissae's error", remarks)
        self.assertNotIn("Neighbouring samples", remarks)

    def test_remarks_on_threads_match_the_table(self):
        done = self.passes(*CIRCLE, "--strips", "65536*2", "--scale", "4", "--device", "simt", "--study", "precision", "--json", "-")
        table = json.loads(done.stdout)["tables"][1]
        off = [abs(row[table["columns"].index("error")]) for row in table["rows"]]
        remarks = " ".join(table["remarks"])
        self.assertEqual("not from row to row" in remarks, min(off) < off[-1] / 2 < off[0] / 4, remarks)

    def test_a_study_ignores_nothing(self):
        for words in (("--sum", "kahan"), ("--relative", "1e-3"), ("--absolute", "1e-3"), ("--element", "f32"), ("--roots", "fast"),
                      ("--scale-at", "term"), ("--variant", "simd"), ("--tuning", "block=3"), ("--check",), ("-o", "never.npy")):
            said = "--output" if words[0] == "-o" else words[0]
            self.fails(2, said, *CIRCLE, "--strips", "65536", "--device", "cpu", "--study", "precision", *words)


if __name__ == "__main__":
    unittest.main()
