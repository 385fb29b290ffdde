#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a user sees of a wrong result.   faults_test.py PROGRAM (with the wrong rungs of tests/faults)"""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
WRONG = ("off_by_one", "unwritten", "no_number", "shorter")
HARMFUL = ("past_end", "changes_input")


def run(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=300)


def save(path, rows, columns, value):
    text = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % (rows, columns)
    text += " " * (-(len(text) + 11) % 64) + "\n"
    data = struct.pack("<%df" % (rows * columns), *(value(i, j) for i in range(rows) for j in range(columns)))
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data)


class WrongResults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        os.chdir(cls.folder.name)
        save("A.npy", 4, 8, lambda i, j: 1 / (3 + i + j))

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        cls.folder.cleanup()

    def old_file(self):
        with open("old.npy", "wb") as file:
            file.write(b"what was there")

    def assert_old_file(self):
        with open("old.npy", "rb") as file:
            self.assertEqual(file.read(), b"what was there")
        self.assertEqual(sorted(os.listdir(".")), ["A.npy", "old.npy"], "nothing is left beside it")

    def test_the_command_refuses_to_write_it(self):
        self.old_file()
        for variant in WRONG:
            done = run("twice", "A.npy", "-o", "old.npy", "--device", "cpu", "--variant", variant, "--check")
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn("wrong result: ", done.stdout)
            self.assertNotIn("written to", done.stdout)
            self.assert_old_file()

    def test_the_first_elements_with_both_values(self):
        done = run("twice", "A.npy", "--device", "cpu", "--variant", "off_by_one", "--check")
        found = re.search(r"\[1,2\] is ([\d.]+), should be ([\d.]+) ± 0\n", done.stdout)
        self.assertTrue(found, done.stdout)
        self.assertAlmostEqual(float(found[1]), 1 + 2 / 6, places=6)
        self.assertAlmostEqual(float(found[2]), 2 / 6, places=6)
        self.assertIn("[1,2] is nan", run("twice", "A.npy", "--variant", "cpu/unwritten", "--check").stdout)
        shown = run("twice", "A.npy", "--device", "cpu", "--variant", "shorter", "--check").stdout
        self.assertEqual(len(re.findall(r"should be", shown)), 10)

    def test_block_and_thread(self):
        self.old_file()
        done = run("twice", "A.npy", "-o", "old.npy", "--device", "simt", "--variant", "wrong_thread", "--check")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"\[1,6\] is .*, by thread \(2,1,0\) of block \(1,0,0\)")
        self.assert_old_file()

    def test_json_says_so(self):
        done = run("twice", "A.npy", "--device", "cpu", "--variant", "off_by_one", "--check", "--json", "-")
        self.assertEqual(done.returncode, 1)
        self.assertIs(json.loads(done.stdout)["check"]["passed"], False)

    def test_a_right_result_passes(self):
        self.assertEqual(run("twice", "A.npy", "--device", "cpu", "--variant", "right", "--check").returncode, 0)

    def test_verify(self):
        for device, variants in (("cpu", WRONG + ("outside",)), ("simt", ("wrong_thread",))):
            for variant in variants:
                done = run("verify", "twice", "--device", device, "--variant", variant)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn("FAILED", done.stdout)
                self.assertIn("wrong result", done.stdout)
        self.assertEqual(run("verify", "twice", "--device", "cpu", "--variant", "right").returncode, 0)

    def test_verify_finds_writes_outside_outputs(self):
        for device, variant, told in (("cpu", "past_end", "a write outside B: 4 bytes, from 0 bytes behind its end"),
                                      ("simt", "past_end", "a write outside B: 4 bytes, from 0 bytes behind its end"),
                                      ("cpu", "changes_input", "a write to the input A")):
            done = run("verify", "twice", "--device", device, "--variant", variant, "--json", "harm.json")
            self.assertEqual(done.returncode, 4, done.stdout)
            self.assertIn("FAILED", done.stdout)
            self.assertIn(told, done.stdout)
            with open("harm.json") as file:
                row = json.load(file)["rows"][0]
            os.remove("harm.json")
            self.assertEqual((row["passed"], row["failed"]), (0, row["harmed"]))
        self.assertEqual(run("verify", "twice", "--device", "cpu").returncode, 4, "worse than a wrong result")

    def test_bench(self):
        done = run("bench", "twice", "m=6", "n=7", "--device", "cpu", "--reps", "2", "--json", "-")
        self.assertEqual(done.returncode, 4, done.stdout)
        told = {row["variant"]: row["verified"] for row in json.loads(done.stdout)["rows"]}
        self.assertEqual(told, {"right": "ok", "outside": "ok", **{name: "wrong" for name in WRONG + HARMFUL}})
        self.assertIn("wrong result", done.stderr)
        for variant in WRONG:
            self.assertEqual(run("bench", "twice", "m=6", "n=7", "--variant", variant, "--device", "cpu", "--reps", "1").returncode, 1)


if __name__ == "__main__":
    unittest.main()
