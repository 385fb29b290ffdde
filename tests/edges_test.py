#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The program at the edges of what files, streams and machines allow.   edges_test.py PROGRAM"""
import os
import re
import signal
import struct
import subprocess
import time
import unittest

import cli_case
import cli_test


def save_empty(path, shape):
    """A .npy of float32 of any shape that has no elements."""
    text = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (shape,)
    text += " " * (-(len(text) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())


def run_binary(*words, **streams):
    return subprocess.run([cli_case.PROGRAM, *words], timeout=300, **streams)


class Sizes(cli_case.Case):
    def test_a_product_larger_than_any_memory(self):
        save_empty("tall.npy", "(2147483648, 0)")
        save_empty("wide.npy", "(0, 2147483648)")
        for device in ("cpu", "simt"):
            self.fails(2, "larger than any memory", "matmul", "tall.npy", "wide.npy", "-o", "o.npy", "--device", device)
        self.assertFalse(os.path.exists("o.npy"))

    def test_a_shape_that_python_would_not_read(self):
        save_empty("leading.npy", "(05, 0)")
        self.fails(2, "leading.npy", "matmul", "leading.npy", "B.npy")

    def test_the_quotient_that_overflows_64_bits(self):
        for size in ("(0-9223372036854775807-1)/(0-1)", "-(0-9223372036854775807-1)"):
            self.fails(2, "larger than 2^63", "bench", "matmul", "m=" + size, "n=4", "k=4")


class Tunings(cli_case.Case):
    def test_supported_elements_are_listed(self):
        words = ("matmul", "A.npy", "B.npy", "--device")
        self.fails(2, "it takes no tuning", *words, "cpu", "--variant", "simd", "--tuning", "tile=9")
        self.fails(2, "it has tile=4, 8, 16, 32", *words, "simt", "--variant", "shared_tiles", "--tuning", "tile=9")
        self.fails(2, "did you mean 'tile'?", *words, "simt", "--variant", "shared_tiles", "--tuning", "tiel=8")


class Devices(cli_case.Case):
    def test_devices_is_device(self):
        out = self.passes("matmul", "A.npy", "B.npy", "--devices", "simt").stdout
        self.assertIn("executor wall time", out)
        self.assertIn("simt", self.passes("verify", "matmul", "--devices", "simt,cpu:threads=1", "--quick", "--variant",
                                          "per_element").stdout)
        self.assertIn("simt", self.passes("bench", "matmul", "m=4", "n=4", "k=4", "--devices", "simt", "--variant",
                                          "per_element", "--reps", "1").stdout)

    def test_indivisible_calls_run_on_one_device(self):
        for words in ("cpu,simt", "all"):
            self.fails(2, "sharpest runs on one", "sharpest", "A.npy", "--device", words)
            self.fails(2, "integrate runs on one", "integrate", "x", "0", "1", "--device", words)
        self.assertIn("matmul together", self.passes("matmul", "A.npy", "B.npy", "--device", "cpu,simt").stdout)

    def test_several_gpus(self):
        if "cuda is not usable" in self.passes("devices").stdout:
            for words in ("cuda:0-3", "cuda:1,cuda:0"):
                self.fails(5, "cuda", "verify", "matmul", "--device", words)
                self.fails(5, "cuda", "bench", "matmul", "m=4", "n=4", "k=4", "--device", words)
        for words in ("cuda:3-0", "cuda:0-", "cuda:x-1"):
            self.fails(2, "--device " + words + " is not a range of devices", "verify", "matmul", "--device", words)

    def test_messages_name_the_flag(self):
        for words in ("cpu:threads=", "cpu:threads=0", "cpu:threads=x", "simt:threads=3000000"):
            self.fails(2, "--device " + words + ": threads= needs a whole number", "matmul", "A.npy", "B.npy",
                       "--device", words)
        self.fails(2, "--device cpu:threads=100000: this machine has", "matmul", "A.npy", "B.npy", "--device", "cpu:threads=100000")
        if "cuda is not usable" in self.passes("devices").stdout:
            self.fails(5, "cuda cannot be used", "matmul", "A.npy", "B.npy", "--device", "gpu")
        self.fails(2, "--kernel '': its value is missing", "filter", "A.npy", "--kernel", "")
        self.fails(2, "--device cuda:: cuda: needs a whole number", "matmul", "A.npy", "B.npy", "--device", "cuda:")


class Listing(cli_case.Case):
    def test_a_reason_is_printed_once(self):
        text = self.passes("list", "matmul").stdout
        table, notes = text.split("Ideas")[0], re.findall(r"^\[(\d+)\] (.+)$", text, re.M)
        for number, reason in notes:
            self.assertIn("[%s]" % number, table)
            self.assertEqual(text.count(reason), 1)
        self.assertEqual(len({reason for _, reason in notes}), len(notes))

    def test_elements_of_all_choices(self):
        ladder = self.passes("list", "matmul").stdout.split("Ideas")[0]
        for line in ladder.splitlines():
            if re.search(r"\bwarp_tiles\b.* f\d\d", line):
                self.assertIn("f64", line)


class Streams(cli_case.Case):
    def test_a_full_disk_behind_standard_output(self):
        with open("/dev/full", "w") as full:
            for words in (["bench", "matmul", "m=4", "n=4", "k=4", "--device", "cpu", "--variant", "naive", "--json", "-"],
                          ["matmul", "A.npy", "B.npy"], ["list"], ["matmul", "A.npy", "B.npy", "-o", "-"]):
                done = run_binary(*words, stdout=full, stderr=subprocess.PIPE, text=True)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn("No space left", done.stderr)
                self.assertNotIn("internal", done.stderr)

    def test_an_array_to_standard_output(self):
        with open("out.npy", "wb") as out:
            done = run_binary("matmul", "A.npy", "B.npy", "-o", "-", stdout=out, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("GFLOP/s", done.stderr)
        self.assertEqual(cli_case.load("out.npy"), cli_test.Products.expected)
        self.assertFalse(os.path.exists("-"))
        self.fails(2, "one thing", "matmul", "A.npy", "B.npy", "-o", "-", "--json", "-")

    def test_no_array_to_a_terminal(self):
        leader, follower = os.openpty()
        done = run_binary("matmul", "A.npy", "B.npy", "-o", "-", stdout=follower, stderr=subprocess.PIPE, text=True)
        os.close(leader)
        os.close(follower)
        self.assertEqual(done.returncode, 2)
        self.assertIn("terminal", done.stderr)

    def test_unwritable_outputs_are_reported_before_the_work(self):
        self.fails(2, "no/such", "matmul", "A.npy", "B.npy", "-o", "no/such/C.npy")
        self.fails(2, "no/such", "matmul", "A.npy", "B.npy", "--json", "no/such/C.json")
        # Each would take minutes.
        self.fails(2, "no/such", "verify", "matmul", "--device", "simt", "--json", "no/such/C.json")
        self.fails(2, "no/such", "bench", "matmul", "m=4000", "n=m", "k=m", "--device", "cpu", "--variant", "naive",
                   "--time", "600", "--json", "no/such/C.json")

    def test_the_parent_sees_the_signal(self):
        words = ["bench", "matmul", "m=4:4000:1", "n=m", "k=m", "--device", "cpu", "--variant", "naive", "--reps", "3",
                 "--json", "part.json"]
        program = subprocess.Popen([cli_case.PROGRAM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while not os.path.exists("part.json") and time.monotonic() < deadline:
            time.sleep(0.01)
        program.send_signal(signal.SIGTERM)
        program.communicate(timeout=60)
        self.assertEqual(program.returncode, -signal.SIGTERM)
        self.assertEqual([name for name in os.listdir(".") if name.startswith(".tessera")], [])


if __name__ == "__main__":
    unittest.main()
