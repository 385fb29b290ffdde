# SPDX-License-Identifier: Apache-2.0
"""What tests of the program from outside share: running it, and small .npy files in a folder of their own."""
import os
import struct
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "build/tessera"


def run(*words, **environment):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=300,
                          env={**os.environ, **environment})


def wait_until(true, seconds=60):
    """Where a test waits for something to come about, however busy the machine is."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.01)


def processes_that_map(path):
    """How many have this file in their memory: programs that have begun to read it."""
    path, count = os.path.realpath(path), 0
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/maps", encoding="utf-8") as file:
                count += path in file.read()
        except OSError:  # it has ended, or is somebody else's
            pass
    return count


def save(path, rows, columns, value):
    """A .npy of float32 written by hand: this test needs no NumPy. Without a number of rows it is a vector."""
    shape, rows = ("(%d,)" % columns, 1) if rows is None else ("(%d, %d)" % (rows, columns), rows)
    text = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % shape
    text += " " * (-(len(text) + 11) % 64) + "\n"
    data = struct.pack("<%df" % (rows * columns), *(value(i, j) for i in range(rows) for j in range(columns)))
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data)


def load(path):
    with open(path, "rb") as file:
        content = file.read()
    data = content[10 + struct.unpack("<H", content[8:10])[0]:]
    return list(struct.unpack("<%df" % (len(data) // 4), data))


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        os.environ["XDG_CACHE_HOME"] = os.path.join(cls.folder.name, "cache")
        os.chdir(cls.folder.name)
        save("A.npy", 5, 3, lambda i, j: i + 2 * j)
        save("B.npy", 3, 4, lambda i, j: i - j)
        save("tall.npy", 4, 4, lambda i, j: 1)
        save("C0.npy", 5, 4, lambda i, j: i * j)
        save("-3", 3, 4, lambda i, j: i - j)
        with open("bad.npy", "wb") as file:
            file.write(b"\x93NUMPY\x01\x00\xff")

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        cls.folder.cleanup()

    def fails(self, code, message, *words, **environment):
        done = run(*words, **environment)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertIn(message, done.stderr)
        self.assertEqual(done.stdout, "")
        return done

    def passes(self, *words, **environment):
        done = run(*words, **environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done
