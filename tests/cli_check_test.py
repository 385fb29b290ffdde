#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tessera check`: files of NumPy's products, right and wrong."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy

PROGRAM = sys.argv[1]


class Check(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.random = numpy.random.default_rng(3)

    def file(self, name, array):
        path = pathlib.Path(self.folder.name) / f"{name}.npy"
        numpy.save(path, array)
        return str(path)

    def check(self, c, a, b, *flags):
        words = [self.file(name, array) for name, array in (("C", c), ("A", a), ("B", b))]
        done = subprocess.run([PROGRAM, "check", *words, *flags], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def normal(self, *shape, kind=numpy.float32):
        return self.random.standard_normal(shape).astype(kind)

    def test_right_products(self):
        for kind in (numpy.float32, numpy.float64):
            for shape in ((40, 30, 50), (1, 1, 1), (600, 500, 700)):
                m, n, k = shape
                a, b = self.normal(m, k, kind=kind), self.normal(k, n, kind=kind)
                code, text = self.check(a @ b, a, b)
                self.assertEqual(code, 0, text)
                self.assertIn("arithmetic: f32" if kind == numpy.float32 else "arithmetic: f64", text)
        a, b = self.normal(30, 40), self.normal(20, 40)
        self.assertEqual(self.check((a @ b.T), a, b, "--op-b", "transpose")[0], 0)
        self.assertEqual(self.check(numpy.asfortranarray(a @ b.T), numpy.asfortranarray(a), b.T)[0], 0)

    def test_i8_and_f16(self):
        a, b = (self.random.integers(-127, 127, shape, numpy.int8) for shape in ((33, 44), (44, 55)))
        c = a.astype(numpy.int32) @ b.astype(numpy.int32)
        self.assertEqual(self.check(c, a, b)[0], 0)
        code, text = self.check(c.astype(numpy.int16).astype(numpy.int32), a, b)
        self.assertEqual(code, 1)
        self.assertIn("wrap at 16 bits", text)
        a, b = self.normal(33, 44, kind=numpy.float16), self.normal(44, 55, kind=numpy.float16)
        c = a.astype(numpy.float32) @ b.astype(numpy.float32)
        self.assertEqual(self.check(c.astype(numpy.float16), a, b)[0], 0)
        self.assertEqual(self.check(c, a, b)[0], 0)  # C of f32

    def test_batches_and_epilogues(self):
        a, b, c0, bias = self.normal(3, 20, 30), self.normal(3, 30, 40), self.normal(3, 20, 40), self.normal(40)
        c = numpy.maximum(2 * a @ b + 0.5 * c0 + bias, 0)
        flags = ["--alpha", "2", "--beta", "0.5", "--activation", "relu",
                 "--c", self.file("C0", c0), "--bias", self.file("bias", bias)]
        code, text = self.check(c, a, b, *flags)
        self.assertEqual(code, 0, text)
        c[1] = numpy.maximum(2 * a[1] @ b[1] + 0.5 * c0[1], 0)
        code, text = self.check(c, a, b, *flags)
        self.assertEqual(code, 1, text)
        self.assertIn("entry 1", text)
        self.assertIn("the bias is forgotten", text)

    def test_json_and_errors(self):
        a, b = self.normal(32, 32), self.normal(32, 32)
        code, text = self.check(a @ b.T, a, b, "--json", "-")
        found = json.loads(text[text.index("{"):text.rindex("}") + 1])
        self.assertEqual(code, 1)
        self.assertFalse(found["right"])
        self.assertIn("B is transposed", found["cause"])
        self.assertEqual(self.check(a, a, b[:8])[0], 2)
        self.assertEqual(self.check(self.normal(3, 3), a, b)[0], 2)
        self.assertEqual(self.check(a @ b, a, b, "--arithmetic", "parts=4")[0], 2)
        code, text = self.check(a @ b, a, b, "--arithmetic", "tf32")
        self.assertEqual(code, 0)
        self.assertIn("arithmetic: tf32 products, sums in f32", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
