#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NumPy and the library read each other's .npy files: npy_numpy_test.py PATH/TO/npy_roundtrip

NumPy writes, the program reads and writes, NumPy reads back; elements are compared bit by bit, as
every bit pattern (NaN payloads, -0.0, subnormals) must survive.
"""
import itertools
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

ROUNDTRIP = ""
SHAPES = [(), (0, 4), (7,), (3, 5), (2, 3, 4)]


def random_bits(dtype, shape, order):
    count = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    data = np.random.default_rng(count).integers(0, 256, count, dtype=np.uint8)
    return np.array(data.view(dtype).reshape(shape), order=order)


def save(path, array, version):
    with open(path, "wb") as file:
        np.lib.format.write_array(file, array, version=version)


class NumpyTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.source = pathlib.Path(folder.name) / "in.npy"
        self.result = pathlib.Path(folder.name) / "out.npy"

    def run_program(self, *words):
        command = [ROUNDTRIP, str(self.source), str(self.result), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def roundtrip(self, *words):
        ran = self.run_program(*words)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return np.load(self.result, allow_pickle=False)

    def assert_same_bits(self, got, wanted):
        self.assertEqual(got.shape, wanted.shape)
        self.assertEqual(got.dtype, wanted.dtype.newbyteorder("="))
        self.assertEqual(got.tobytes(), wanted.astype(wanted.dtype.newbyteorder("=")).tobytes())

    def test_every_element_order_and_shape(self):
        names = {"f8": "f64", "f4": "f32", "f2": "f16", "i4": "i32", "i1": "i8", "u1": "u8"}
        for (code, element), byte_order, order, shape in itertools.product(names.items(), "<>", "CF", SHAPES):
            with self.subTest(code=code, byte_order=byte_order, order=order, shape=shape):
                array = random_bits(byte_order + code, shape, order)
                save(self.source, array, (1, 0))
                got = self.roundtrip(element)
                self.assert_same_bits(got, array)
                if len(shape) > 1 and array.size:
                    self.assertEqual(got.flags.f_contiguous, array.flags.f_contiguous)

    def test_every_version(self):
        for major, order in itertools.product((1, 2, 3), "CF"):
            with self.subTest(version=major, order=order):
                array = random_bits("<f4", (3, 5), order)
                save(self.source, array, (major, 0))
                self.assert_same_bits(self.roundtrip(), array)

    def test_bf16_is_two_untyped_bytes(self):
        array = random_bits("<u2", (3, 5), "C")
        np.save(self.source, array.view("V2"))
        got = self.roundtrip("bf16")
        self.assertEqual((got.dtype, got.tobytes()), (np.dtype("V2"), array.tobytes()))
        self.assertIn(b"'<V2'", self.result.read_bytes())

    def test_results_can_be_mapped(self):
        np.save(self.source, random_bits("<f8", (33, 65), "C"))
        self.roundtrip()
        mapped = np.load(self.result, mmap_mode="r")
        self.assertTrue(mapped.flags.aligned)
        self.assertEqual(mapped.offset % 64, 0)

    def test_the_first_of_several_arrays(self):
        with open(self.source, "wb") as file:
            np.save(file, np.arange(4, dtype=np.float32))
            np.save(file, np.arange(9, dtype=np.float64))
        self.assert_same_bits(self.roundtrip(), np.arange(4, dtype=np.float32))

    def test_refusals_say_what_to_do(self):
        refused = {
            "int64": "astype('int32')", "uint64": "astype('int32')",
            "uint32": "astype('int32')", "bool": "astype('uint8')",
            "longdouble": "astype('float64')", "complex64": "complex64", "complex128": "complex128",
            "S3": "text", "U3": "text", "M8[s]": "dates", "m8[s]": "durations", "V2": "--element bf16",
            "O": "Python objects", "i4,f4": "structured", "V5": "unknown type",
        }
        for dtype, hint in refused.items():
            with self.subTest(dtype=dtype):
                np.save(self.source, np.zeros(3, dtype))
                ran = self.run_program()
                self.assertEqual(ran.returncode, 2)
                self.assertTrue(ran.stderr.startswith(f"{self.source}: "), ran.stderr)
                self.assertIn(hint, ran.stderr)
                self.assertFalse(self.result.exists())

    def test_an_archive_is_named_as_such(self):
        with open(self.source, "wb") as file:
            np.savez(file, a=np.zeros(3))
        ran = self.run_program()
        self.assertEqual(ran.returncode, 2)
        self.assertIn(".npz", ran.stderr)


if __name__ == "__main__":
    ROUNDTRIP = sys.argv.pop(1)
    unittest.main()
