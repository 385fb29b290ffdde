#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Goldens can fail: a changed rung, tuning, reason, message or field of JSON is reported, a lost or new key too, and
wanted differences pass only as they are written.   fail_test.py CHOICES PROGRAM"""
import json
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

import compare
from compare import Wanted, differences

CHOICES, PROGRAM = sys.argv[1:3]
NOTHING = Wanted("")
WANTED = Wanted((compare.HERE / "wanted.txt").read_text())
SECTION = "matmul/f32"


class Choices(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        made = compare.choices_of(CHOICES, [SECTION])
        cls.enterClassContext(unittest.mock.patch("compare.choices_of", return_value=made))
        cls.recorded, cls.digests = compare.read_choices(compare.RECORDED / "choices.xz")
        cls.key = next(key for key, text in cls.recorded.items() if key.startswith(f"{SECTION} ") and " simt" in key and "; " in text)

    def found(self, wanted=WANTED, **changes):
        recorded = self.recorded | {self.key: changes["text"]} if "text" in changes else dict(self.recorded)
        digests = self.digests | changes.get("digests", {})
        return compare.compare_choices(CHOICES, wanted, [SECTION], (recorded, digests))[0]

    def test_recorded_behaviour_passes(self):
        self.assertEqual(self.found(), [])

    def test_a_changed_rung_tuning_or_reason_is_reported_with_its_problem(self):
        rung, rest = self.recorded[self.key].split(" ", 1)
        for text in ("another " + rest, f"{rung}[tile=7] {rest}", f"{rung} {rest} or not", rest):
            found = self.found(text=text)
            self.assertEqual(len(found), 1)
            self.assertIn(self.key, found[0])
            for sign, side in (("-", text), ("+", self.recorded[self.key])):
                self.assertIn(sign + WANTED.applied("choices", f"{self.key} of ", side), found[0])
            self.assertRegex(found[0], r"of m=\d+ n=\d+ k=\d+")

    def test_other_problems_are_reported(self):
        self.assertIn("the generator of choices.cpp has changed", self.found(digests={SECTION: "0"})[0])


class Calls(unittest.TestCase):
    MESSAGE, JSON = "tessera matmul A.npy B.npy --variant naiv", "tessera list matmul_batch --json -"

    @classmethod
    def setUpClass(cls):
        cls.observed = compare.outcomes_of(PROGRAM, [cls.MESSAGE, cls.JSON])

    def changed(self, call, old, new):
        self.assertIn(old, self.observed[call])
        recorded = self.observed | {call: self.observed[call].replace(old, new, 1)}
        return differences("calls", recorded, self.observed, NOTHING)

    def test_each_change_is_reported(self):
        for call, old, new in ((self.MESSAGE, "did you mean 'naive'?", "did you mean 'simd'?"), (self.MESSAGE, "exit 2", "exit 0"),
                               (self.JSON, '"kind": "list"', '"kind": "ladder"'), (self.JSON, '"place":', '"rung":')):
            found = self.changed(call, old, new)
            self.assertEqual(len(found), 1)
            self.assertIn(call, found[0])
            self.assertIn(old, found[0])
            self.assertIn(new, found[0])

    def test_new_and_missing_keys_are_reported(self):
        less = {self.MESSAGE: self.observed[self.MESSAGE]}
        self.assertIn("is not recorded", differences("calls", less, self.observed, NOTHING)[0])
        self.assertIn("is missing now", differences("calls", self.observed, less, NOTHING)[0])

    def test_masks_hide_numbers_and_no_fields(self):
        text = json.dumps({"seconds": [1, 2], "rows": [{"median": 3.5, "variant": "naive"}]})
        masked = json.loads(compare.told(self.JSON, text))
        self.assertEqual(masked, {"seconds": ["<number>", "2 of them"], "rows": [{"median": "<number>", "variant": "naive"}]})


class Files(unittest.TestCase):
    def test_recordings_are_read_as_they_were_written(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "file"
            outcomes = {"tessera list": "exit 0\nstdout\n  a\n  \n  $ b\n", "tessera": "exit 2\n"}
            compare.write_calls(path, outcomes)
            self.assertEqual(compare.read_calls(path), outcomes)
            choices = {"s/f32 1 cpu": "a[b=1] 0 | c: d", "s/f32 1 simt": "a[b=1] 0 | c: d", "s/f32 2 all": "error: e"}
            problems = {"s/f32 1": "m=1", "s/f32 2": "m=2"}
            compare.write_choices(path, choices, problems)
            self.assertEqual(compare.read_choices(path), (choices, {"s/f32": compare.digest(problems, "s/f32")}))

    def test_nothing_is_recorded_twice(self):
        for part, program in (("choices", CHOICES), ("calls", PROGRAM)):
            with self.assertRaisesRegex(compare.Mistake, "is not made again"):
                compare.record(part, program)

    def test_a_wanted_difference_is_one_and_has_a_reason(self):
        rule = "where: calls *\nrecorded: 33\nnow: 34\nwhy: one more\n"
        recorded, observed = {"a": "k = 33", "b": "k = 5"}, {"a": "k = 34", "b": "k = 5"}
        self.assertEqual(differences("calls", recorded, observed, Wanted(rule)), [])
        self.assertEqual(len(differences("calls", recorded, recorded, Wanted(rule))), 1, "it is not optional")
        self.assertEqual(len(differences("choices", recorded, observed, Wanted(rule))), 1, "of another part")
        with self.assertRaises(compare.Mistake):
            Wanted("where: calls *\nrecorded: 33\nnow: 34\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
