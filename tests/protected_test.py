#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Devices that copy behind computing, each in a process of its own: made up of threads.   protected_test.py PROGRAM WORKER"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

PROGRAM, WORKER = sys.argv[1:3]
DEVICES = "cpu:threads=1,cpu:threads=1"


class Protected(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        random = np.random.default_rng(5)
        cls.a, cls.b = random.normal(size=(900, 300)).astype(np.float32), random.normal(size=(300, 700)).astype(np.float32)
        np.save(cls.path("left.npy"), cls.a)
        np.save(cls.path("right.npy"), cls.b)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    def product(self, *words):
        done = subprocess.run([PROGRAM, "matmul", "left.npy", "right.npy", "-o", "out.npy", "--json", "run.json", *words], cwd=self.folder.name,
                              env={**os.environ, "TESSERA_WORKER": WORKER, "TESSERA_NO_CACHE": "1"}, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        with open(self.path("run.json"), encoding="utf-8") as file:
            run = json.load(file)
        with open(self.path("out.npy"), "rb") as file:
            return run, done.stdout, file.read()

    def alone(self):
        return self.product("--device", "cpu:threads=1")[2]

    def test_the_next_part_arrives_while_one_is_computed(self):
        run, told, bits = self.product("--devices", DEVICES, "--protect", "--check")
        self.assertEqual(bits, self.alone())
        self.assertIn("verified", told)
        self.assertEqual(run["protect"]["parts_by_checksums"], sum(part["parts"] for part in run["parts"]))
        ahead = copied = 0
        for device in (0, 1):
            spans = [span for span in run["timeline"] if span["device"] == device]
            computed = sorted((span["first"], span["last"]) for span in spans if span["deed"] == "compute")
            copies = sorted(span["first"] for span in spans if span["deed"] == "copy in")
            copied += len(copies)
            ahead += sum(any(first <= copy < last for first, last in computed) for copy in copies)
            self.assertTrue(all(span["first"] <= span["last"] <= run["seconds"]["round_trip"] * 1.01 for span in spans))
        self.assertGreater(ahead, 0)
        # What has been read is kept: later parts bring nothing new.
        self.assertLess(copied, sum(part["parts"] for part in run["parts"]))

    def test_what_fails_loses_neither_of_the_parts_that_it_had(self):
        wanted = self.alone()
        for fault, words, said in (("kill:1@3", ("--split", "1:1"), "its process was ended by a signal: Killed"),
                                   ("fail:0@2", ("--split", "1:1"), "a failure that was asked for"),
                                   ("hang:0@2", ("--limit", "4", "--split", "1:1"), "it did not answer within 4 s"),
                                   ("flip:0@1,flip:1@2:20", ("--protect", "--split", "1:1"), "did not fit"),
                                   ("strew:0@2:3,swap:1@1", ("--protect", "--split", "1:1"), "the part was computed again")):
            _, told, bits = self.product("--devices", DEVICES, "--fault", fault, "--check", *words)
            self.assertEqual(bits, wanted, fault)
            self.assertIn(said, told)
            self.assertIn("verified", told)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
