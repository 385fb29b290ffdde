#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the tools of a GPU run write can go into results/ as it is: the program's report shows it.   tools_test.py PROGRAM"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
TOOLS = pathlib.Path(__file__).resolve().parent.parent / "tools"


class Results(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.file = os.path.join(self.folder.name, "result.json")

    def tearDown(self):
        self.folder.cleanup()

    def use(self, tool, *words):
        done = subprocess.run([sys.executable, TOOLS / tool, PROGRAM, self.file, *words], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(self.file) as file:
            return json.load(file)

    def shown(self):
        page = os.path.join(self.folder.name, "page.html")
        done = subprocess.run([PROGRAM, "report", self.file, "-o", page], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(page) as file:
            return file.read()

    def test_regions(self):
        made = self.use("cubature", "--devices", "cpu,simt", "--relative", "1e-3", "jump-5", "corner-peak-6")
        self.assertEqual([(row["integral"], row["device"], row["honest"]) for row in made["rows"]],
                         [(name, device, True) for name in ("jump-5", "corner-peak-6") for device in ("cpu", "simt")])
        self.assertEqual([device["label"] for device in made["devices"]], ["cpu", "simt"])
        page = self.shown()
        for text in ("jump-5", "corner-peak-6", "true error", made["git"]):
            self.assertTrue(text in page, text)

    def test_bits(self):
        rungs = ("--rungs", "cpu,rules:simt,vegas")
        self.use("vegas_bits", *rungs, "exp(x)", "0", "1", "--relative", "1e-2")
        made = self.use("vegas_bits", *rungs, "x*y", "x=[0,1]", "y=[0,1]", "--relative", "1e-1")
        self.assertEqual([(row["formula"], row["same_bits"]) for row in made["rows"]], [("exp(x)", True), ("x*y", True)])
        self.assertTrue("same bits" in self.shown())


unittest.main(verbosity=2)
