#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tessera bench … --resident`: resident_test.py PROGRAM_WITH_MADE_UP_DEVICES PROGRAM"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

DEVICES = ",".join(["cpu:threads=1"] * 3)


def run(*words, program=sys.argv[1]):
    environment = {**os.environ, "TESSERA_NO_CACHE": "1"}
    return subprocess.run([program, "bench", *words], capture_output=True, text=True, timeout=120, env=environment)


class Resident(unittest.TestCase):
    def measured(self, *words, devices=DEVICES):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "out.json")
            done = run("matmul", "m=150", "n=96", "k=210", "--devices", devices, "--reps", "2", "--json", str(out), *words)
            self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
            return json.loads(out.read_text())["rows"], done.stdout

    def test_all_together_and_one_alone_are_right(self):
        for element, size in (("f32", 4), ("bf16", 2)):
            rows, text = self.measured("--resident", "rows", "--element", element)
            self.assertEqual([row["verified"] for row in rows], ["ok", "ok"])
            self.assertEqual(rows[0]["device"].count("cpu"), 3)
            self.assertEqual(rows[1]["device"].count("cpu"), 1)
            # Each device has its own rows of B, 64 to 80, and copies the others'.
            self.assertEqual(rows[0]["bytes_from_peers"], 2 * 210 * 96 * size)
            self.assertEqual(rows[1]["bytes_from_peers"], 0)
            self.assertAlmostEqual(sum(part["share"] for part in rows[0]["split"]), 1)
            self.assertEqual(rows[1]["times_one"], 1)
            self.assertEqual(len(rows[0]["times"]), 2)
            self.assertIn("× one", text)

    def test_words_for_each_array_and_shares(self):
        rows, _ = self.measured("--resident", "columns,rows,columns", "--shares", "1:0:2")
        self.assertEqual(rows[0]["verified"], "ok")
        self.assertEqual([round(part["share"], 3) for part in rows[0]["split"]], [0.333, 0, 0.667])

    def test_what_cannot_be_is_told(self):
        for words, code, text in (
            (("--resident", "diagonals"), 2, "rows or columns"),
            (("--resident", "rows,columns"), 2, "A, B, C"),
            (("--resident", "rows", "--shares", "1:2"), 2, "2 shares for 3"),
            (("--shares", "1:2"), 2, "--resident"),
        ):
            done = run("matmul", "m=32", "n=32", "k=32", "--devices", DEVICES, *words)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(text, done.stderr)
        # What devices share in another way is not said to run on one; what does, is.
        for operation, words, text in (
            ("filter", ("images=1", "height=32", "width=32", "channels=1"), "from the host's memory they share"),
            ("matmul_batch", ("batch=4", "m=32", "n=32", "k=32"), "from the host's memory they share"),
            ("integrate", ("n=100",), "integrate runs on one device"),
            ("seamcarve", ("images=1", "height=32", "width=32", "channels=1", "rows=0", "columns=1"), "seamcarve runs on one device"),
        ):
            done = run(operation, *words, "--devices", DEVICES, "--resident", "rows")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(text, done.stderr)
            self.assertNotEqual("runs on one device" in done.stderr, "--devices" in done.stderr, done.stderr)

    def test_processors_are_no_such_devices(self):
        done = run("matmul", "m=32", "n=32", "k=32", "--devices", DEVICES, "--resident", "rows", program=sys.argv[2])
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("one thing after another", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
