#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong in a call on several devices, from outside: killed devices, checks, interrupts.   devices_failures_test.py PROGRAM"""
import json
import os
import signal
import subprocess
import time
import unittest

import numpy as np

import cli_case
import devices_case
from devices_case import UNLIKE
from png_files import save_png


class Failures(devices_case.Case):
    def test_a_killed_device_loses_nothing(self):
        _, alone = self.product("--device", "simt", "--variant", "shared_tiles")
        # Each has its share, lest a device that begins late gets no part to fail at.
        for words in (("--split", "1:1"), ("--split", "3:1", "--protect")):
            told, together = self.product("--devices", UNLIKE, "--variant", "shared_tiles", "--fault", "kill:1@2", "--check", *words)
            self.assertEqual(alone, together)
            self.assertIn("(device 1) failed, and others did its parts: its process was ended by a signal: Killed", told)
            self.assertIn("verified", told)
        said = self.fails(5, "no device is left", "matmul", "left.npy", "right.npy", "--devices", UNLIKE, "--split", "1:1", "--fault", "kill:0@1,kill:1@1").stderr
        for device in (0, 1):
            self.assertIn(f"(device {device}): its process was ended by a signal: Killed", said)
        self.fails(2, "numbered from 0 to 1", "matmul", "left.npy", "right.npy", "--devices", UNLIKE, "--fault", "kill:2@1")
        for word in ("kill", "kill:1", "kill:1@0", "kill:1@2:3", "flip:1@2", "kill:x@1"):
            self.fails(2, "write kill:DEVICE@PART", "matmul", "left.npy", "right.npy", "--devices", UNLIKE, "--fault", word)

    def test_protected_parts_are_checked(self):
        told, _ = self.product("--devices", "cpu:threads=1,cpu:threads=1", "--split", "1:1", "--protect", "--json", "run.json")
        with open("run.json", encoding="utf-8") as file:
            run = json.load(file)
        self.assertEqual([part["checked"] for part in run["parts"]], [part["parts"] for part in run["parts"]])
        self.assertTrue(all(part["check_seconds"] > 0 and part["wrong"] == 0 for part in run["parts"]))
        self.assertIn("checked by this machine's processors", told)
        np.save("columns.npy", np.asfortranarray(self.b))
        self.passes("matmul", "left.npy", "columns.npy", "-o", "out.npy", "--devices", "cpu:threads=1,cpu:threads=1", "--protect", "--fault", "kill:0@1",
                    "--split", "1:1", "--check")
        np.testing.assert_allclose(np.load("out.npy"), self.a @ self.b, rtol=1e-4, atol=1e-4)

    def test_report_files_do_not_replace_outputs(self):
        before = self.bytes_of("left.npy")
        call = ("matmul", "left.npy", "right.npy", "-o", "kept.npy")
        os.symlink("left.npy", "link.npy")
        for devices in (("--devices", "cpu:threads=1"), ("--device", "cpu:threads=1")):
            self.fails(2, "--json left.npy is one of the files to be read", *call, *devices, "--json", "left.npy")
            self.fails(2, "--json ./kept.npy is what -o names", *call, *devices, "--json", "./kept.npy")
        devices = ("--devices", "cpu:threads=1")
        for flag in ("--timeline",):
            self.fails(2, f"{flag} link.npy is one of the files to be read", *call, *devices, flag, "link.npy")
            self.fails(2, f"{flag} kept.npy is what -o names", *call, *devices, flag, "kept.npy")
        self.fails(2, "--timeline same is what --json names", *call, *devices, "--json", "same", "--timeline", "same")
        self.fails(2, "--json bias.npy is one of the files", *call, "--bias", "bias.npy", "--json", "bias.npy")
        self.assertFalse(os.path.exists("kept.npy"))
        self.assertEqual(self.bytes_of("left.npy"), before)
        save_png("told.png", np.zeros((8, 8, 3), np.uint8))
        for words in (("told.png", "-o", "apart.png"), ("tol*.png", "-o", "{name}_apart.png")):
            self.fails(2, "--timeline told.png is one of the files", "filter", *words, "--kernel", "box", *devices, "--timeline", "told.png")
        self.fails(2, "--json told_apart.png is what -o names", "filter", "tol*.png", "-o", "{name}_apart.png", "--kernel", "box", "--devices", "cpu:threads=1,cpu:threads=1",
                   "--json", "told_apart.png")
        self.passes(*call, *devices, "--json", "/dev/null", "--timeline", "/dev/null")
        self.passes(*call, "--devices", "cpu:threads=1,cpu:threads=1", "--json", "read.json")
        before = self.bytes_of("read.json")
        self.fails(2, "-o read.json is one of the files to be read", "report", "read.json", "-o", "read.json")
        self.fails(2, "--json read.json is one of the files to be read", "compare", "read.json", "other.json", "--json", "read.json")
        self.fails(2, "--json read.json is one of the files to be read", "code", "read.json", "--json", "read.json")
        self.assertEqual(self.bytes_of("read.json"), before)

    def test_a_missed_fault_is_reported(self):
        call = ("matmul", "left.npy", "right.npy", "--devices", "cpu:threads=1,cpu:threads=1", "--split", "1:1", "--json", "parts.json")
        done = self.passes(*call, "--fault", "kill:1@99")
        with open("parts.json", encoding="utf-8") as file:
            parts = json.load(file)["parts"][1]["parts"]
        self.assertEqual(done.stderr, f"warning: fault kill:1@99 did not happen: device 1 had {parts} parts\n")
        os.makedirs("one", exist_ok=True)
        save_png("one/0.png", np.zeros((8, 8, 3), np.uint8))
        save_png("one/1.png", np.zeros((8, 8, 3), np.uint8))
        done = self.passes("filter", "one/*.png", "--kernel", "box", "--devices", "cpu:threads=1,cpu:threads=1", "--split", "1:1", "--fault", "kill:0@2",
                           "-o", "one_{name}.png")
        self.assertIn("warning: fault kill:0@2 did not happen: device 0 had 1 part\n", done.stderr)

    def test_an_interrupt_ends_a_call_at_once(self):
        # Zeros, which take no room on the disk: parts of several seconds.
        np.lib.format.open_memmap("square.npy", "w+", np.float32, (4096, 4096)).flush()
        words = ("matmul", "square.npy", "square.npy", "--devices", "cpu:threads=1,cpu:threads=1", "--variant", "naive", "-o", "half.npy")
        for more in ((), ("--protect",)):
            with subprocess.Popen([cli_case.PROGRAM, *words, *more], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as running:
                cli_case.wait_until(lambda: cli_case.processes_that_map("square.npy") == 1)
                time.sleep(0.5)
                at = time.monotonic()
                running.send_signal(signal.SIGINT)
                running.communicate(timeout=120)
            self.assertLess(time.monotonic() - at, 3)
            self.assertEqual(running.returncode, 130)
            self.assertEqual([name for name in os.listdir(".") if "half" in name], [])


if __name__ == "__main__":
    unittest.main(verbosity=1)
