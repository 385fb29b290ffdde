#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package: products, integrals, pictures, traces, arrays of other libraries, threads, processes, leaks.
  python_test.py FOLDER      that holds the package, such as build/python"""
import array
import ast
import contextlib
import copy
import ctypes
import io
import math
import multiprocessing
import pathlib
import pickle
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import timeit
import types
import unittest
import unittest.mock
import warnings
import zipfile

FOLDER = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(FOLDER))
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

import numpy as np  # noqa: E402
import tessera as ts  # noqa: E402


def without_copies():
    """Fails a test if an operand is copied."""
    stop = contextlib.ExitStack()
    for module, name in (("tessera._functions", "packed"), ("tessera._matmul", "broadcasted"), ("tessera._matmul", "cast")):
        stop.enter_context(unittest.mock.patch(f"{module}.{name}", side_effect=AssertionError("a copy was made")))
    return stop


def bound_of(a, b, type):
    """Returns bounds on the error of f32 or f64 sums, element by element."""
    unit = np.finfo(type).eps
    return (a.shape[-1] + 2) * unit * (np.abs(a.astype("longdouble")) @ np.abs(b.astype("longdouble"))) + np.finfo(type).tiny


class Checks(unittest.TestCase):
    def test_products_of_numpy(self):
        rng = np.random.default_rng(5)
        for type in ("f4", "f8", "i4"):
            a, b = ((20 * rng.standard_normal(shape)).astype(type) for shape in ((3, 20, 30), (3, 30, 40)))
            for x, y in ((a, b), (a[0], b[0]), (a[0], b[0, :, 0]), (a[:, ::2], b), (a, b[0])):
                found = ts.check(x @ y, x, y)
                self.assertTrue(found, found)
                self.assertIn({"f4": "f32", "f8": "f64", "i4": "i32"}[type], found.arithmetic)
                ts.assert_matmul(x @ y, x, y)

    def test_wrong_products(self):
        a, b, bias = (np.random.default_rng(6).standard_normal(shape).astype("f4") for shape in ((48, 48), (48, 48), 48))
        self.assertTrue(ts.check(2 * a @ b.T + bias, a, b, op_b="transpose", alpha=2, bias=bias))
        self.assertIn("bias is forgotten", ts.check(a @ b, a, b, bias=bias).cause)
        self.assertIn("A is transposed", ts.check(a.T @ b, a, b).cause)
        found = ts.check((a @ b).astype("f2").astype("f4"), a, b)
        self.assertIn("f16", found.cause)
        self.assertTrue(ts.check((a.astype("f2").astype("f4") @ b.astype("f2").astype("f4")).astype("f2"), a.astype("f2"), b.astype("f2")))
        with self.assertRaisesRegex(AssertionError, "cause: A is transposed"):
            ts.assert_matmul(a.T @ b, a, b)
        for wrong in ({"arithmetic": "sums=f16"}, {"arithmetic": "e4m3"}, {"bias": bias[1:]}):
            with self.assertRaises(ValueError):
                ts.check(a @ b, a, b, **wrong)
        with self.assertRaisesRegex(ValueError, "C has the shape"):
            ts.check(a[1:] @ b, a, b)


class Products(unittest.TestCase):
    def judged(self, a, b, c):
        exact = a.astype("longdouble") @ b.astype("longdouble")
        self.assertEqual(np.shape(c), np.shape(exact))
        self.assertEqual(c.dtype, np.result_type(a, b))
        self.assertTrue((np.abs(c - exact) <= bound_of(a, b, c.dtype)).all(), (a.shape, a.strides, b.shape, b.strides))

    def test_500_random_products(self):
        chosen, rng = random.Random(1), np.random.default_rng(1)

        def operand(shape, type):
            """An array of this shape: packed, transposed, a slice, reversed, or of every other element."""
            kind = chosen.randrange(5)
            if kind == 0 or len(shape) < 2:
                return rng.standard_normal([2 * size for size in shape]).astype(type)[tuple(slice(None, size) for size in shape)]
            if kind == 1:
                return rng.standard_normal((*shape[:-2], shape[-1], shape[-2])).astype(type).swapaxes(-1, -2)
            if kind == 2:
                return rng.standard_normal((*shape[:-1], 2 * shape[-1])).astype(type)[..., ::2]
            if kind == 3:
                return rng.standard_normal(shape).astype(type)[..., ::-1, :]
            return rng.standard_normal(shape).astype(type)

        for i in range(500):
            m, n, k = (chosen.choice([0, 1, 2, 3, 7, 16, 33, 65]) for _ in range(3))
            stack = chosen.choice([(), (), (), (2,), (3, 2), (0,), (1, 4)])
            left, right = (stack[chosen.randrange(len(stack) + 1):] for _ in range(2))
            left, right = (tuple(chosen.choice([1, size]) if chosen.random() < 0.2 else size for size in part) for part in (left, right))
            a = operand((*left, m, k) if chosen.random() < 0.9 else (k,), chosen.choice(["f4", "f8"]))
            b = operand((*right, k, n) if chosen.random() < 0.9 else (k,), chosen.choice(["f4", "f8"]))
            with self.subTest(i):
                self.judged(a, b, ts.matmul(a, b))
                self.judged(a, b, ts.matmul(a, b))  # perhaps by the remembered call

    def test_views_are_not_copied(self):
        a, b = np.random.rand(30, 40), np.random.rand(50, 40)
        with without_copies():
            for x, y in ((a, b.T), (a[::2, ::-1], b.T[::-1]), (a[3:, 5:], b.T[5:, 1:9]), (np.stack([a, a])[:, ::3], b.T)):
                self.judged(x, y, ts.matmul(x, y))

    def test_scales_are_applied_in_one_order(self):
        rng = np.random.default_rng(7)
        for _ in range(30):
            m, n, k = rng.integers(1, 40, 3)
            a, b = (rng.integers(-9, 9, shape).astype("float16") for shape in ((m, k), (k, n)))
            words = {"alpha": rng.random() * 3, "scale_a": rng.random(m, "float32"), "scale_b": rng.random(n, "float32"), "output_element": "f32"}
            by_columns = ts.matmul(a, b, out=np.empty((n, m), "float32").T, **words)
            for c in (ts.matmul(a, b, **words), ts.matmul(a, b, variant="naive", **words)):
                np.testing.assert_array_equal(by_columns, c)

    def test_a_remembered_call_is_the_same_product(self):
        a, b = np.random.rand(2, 8, 8), np.random.rand(2, 8, 8)
        out = np.empty((8, 8))
        first = ts.matmul(a[0], b[0])
        try:
            ts.matmul(a[0], b[0], out=out), ts.matmul(a[0], b[0], accuracy="f64")
            ts.matmul.compute = None  # whatever is not remembered fails
            np.testing.assert_array_equal(ts.matmul(a[0], b[0]), first)
            self.judged(a[1], b[1], ts.matmul(a[1], b[1]))
            self.assertIs(ts.matmul(a[1], b[1], out=out), out)
            self.judged(a[1], b[1], out)
            self.judged(a[1], b[1], ts.matmul(a[1], b[1], accuracy="f64"))
            for other in (lambda: ts.matmul(a[0], b[0].T), lambda: ts.matmul(a[0], b[0].astype("f4")), lambda: ts.matmul(a[0], b[0], accuracy="f32"),
                          lambda: ts.matmul(a[0][:4], b[0]), lambda: ts.matmul(a[0], b[0], check=True)):
                self.assertRaises(TypeError, other)
        finally:
            del ts.matmul.compute
        frozen = a[0].copy()
        frozen.flags.writeable = False
        self.judged(frozen, b[0], ts.matmul(frozen, b[0]))
        with self.assertRaisesRegex(ValueError, "out is read-only"):
            ts.matmul(a[0], b[0], out=frozen)
        with self.assertRaisesRegex(ValueError, "overlaps A"):
            ts.matmul(a[0], b[0], out=a[0])

    def test_out(self):
        a, b = np.random.rand(4, 3, 5).astype("f4"), np.random.rand(5, 6).astype("f4")
        wide, tall = np.zeros((4, 3, 12), "f4"), np.zeros((8, 3, 6), "f4")
        for out in (np.zeros((4, 3, 6), "f4"), wide[..., ::2], wide[..., 6:], tall[::2], np.zeros((4, 6, 3), "f4").swapaxes(1, 2),
                    np.zeros((2, 2, 9, 6), "f4")[:, :, ::3].reshape(4, 3, 6)):
            self.assertIs(ts.matmul(a, b, out=out), out)
            self.judged(a, b, out)
        split = np.zeros((2, 3, 3, 6), "f4")[:, :2]  # no single stride leads through its stack
        self.judged(a.reshape(2, 2, 3, 5), b, ts.matmul(a.reshape(2, 2, 3, 5), b, out=split))
        vector = np.zeros(12, "f4")[::2]
        self.judged(a[0, 0], b, ts.matmul(a[0, 0], b, out=vector))
        self.judged(b.T, a[0, 0], ts.matmul(b.T, a[0, 0], out=vector))

    def test_mistakes_are_told_in_pythons_words(self):
        a, b = np.ones((3, 4)), np.ones((4, 5))
        for error, message, call in (
                (ValueError, r"A has the shape \(3, 4\) and B \(3, 4\): 4 columns do not match 3 rows", lambda: ts.matmul(a, a)),
                (ValueError, "cannot be broadcast together", lambda: ts.matmul(np.ones((2, 3, 4)), np.ones((3, 4, 5)))),
                (ValueError, "at least one dimension", lambda: ts.matmul(np.float64(1), b)),
                (ValueError, r"out has the shape \(3, 4\), but the result has \(3, 5\)", lambda: ts.matmul(a, b, out=np.ones((3, 4)))),
                (TypeError, "out holds float32, but the result is of float64", lambda: ts.matmul(a, b, out=np.ones((3, 5), "f4"))),
                (TypeError, "A holds complex128, which no operation takes", lambda: ts.matmul(a.astype(complex), b)),
                (TypeError, "A holds int64, which no operation takes; cast it", lambda: ts.matmul([[1, 2], [3, 4]], a)),
                (TypeError, "A holds >f8", lambda: ts.matmul(a.astype(">f8"), b)),
                (TypeError, "A holds int32 and B float64; cast one of them", lambda: ts.matmul(a.astype("i4"), b)),
                (TypeError, r"A: elements of the type 'datetime64\[s\]' are not taken", lambda: ts.matmul(np.zeros((3, 4), "M8[s]"), b)),
                (TypeError, "A must be an array, not str", lambda: ts.matmul("a", b)),
                (TypeError, "masked", lambda: ts.matmul(np.ma.ones((3, 4)), b)),
                (TypeError, r"filter\(\) takes elements of uint8, .* not float64", lambda: ts.filter(a, kernel="box")),
                (TypeError, "needs two limits", lambda: ts.integrate(math.exp, 0)),
                (TypeError, "names of several variables", lambda: ts.integrate("x*y", (0, 1), (0, 1))),
                (TypeError, "missing the argument 'B'", lambda: ts.matmul(a)),
                (TypeError, "takes 2 positional arguments but 3 were given", lambda: ts.matmul(a, b, a)),
                (TypeError, "unexpected keyword argument 'acuracy'. Did you mean 'accuracy'", lambda: ts.matmul(a, b, acuracy=1)),
                (TypeError, "unexpected keyword argument 'acuracy'", lambda: ts.matmul(a, b, acuracy=None)),
                (TypeError, "multiple values for argument 'A'", lambda: ts.matmul(a, b, A=a)),
                (ValueError, "did you mean 'naive'", lambda: ts.matmul(a, b, variant="nave")),
                (ValueError, "activation cannot be 'rely'", lambda: ts.matmul(a, b, activation="rely")),
                (RuntimeError, "cannot be used", lambda: ts.matmul(a, b, device="cuda:99"))):
            with self.subTest(message), self.assertRaisesRegex(error, message):
                call()

    def test_options(self):
        a, b, bias = np.random.rand(3, 4).astype("f4"), np.random.rand(4, 5).astype("f4"), np.random.rand(5).astype("f4")
        np.testing.assert_allclose(ts.matmul(a, b, alpha=-2, bias=bias, activation="relu", check=True), np.maximum(-2 * (a @ b) + bias, 0), rtol=1e-5)
        np.testing.assert_allclose(ts.matmul(a.T.copy(), b, op_a="transpose"), a @ b, rtol=1e-5)
        np.testing.assert_allclose(ts.matmul(a.tolist(), b.astype("f8")), a @ b, rtol=1e-5)
        np.testing.assert_allclose(ts.matmul(a, b, alpha=np.array(2.0), check=np.True_), 2 * (a @ b), rtol=1e-5)
        self.assertEqual(ts.matmul(a.astype("i1"), b.astype("i1")).dtype, np.int32)
        self.assertEqual(ts.matmul(a.astype("f2"), b.astype("f2")).dtype, np.float16)

    def test_explain(self):
        told = ts.matmul.explain(np.random.rand(8, 8), np.random.rand(8, 8))
        self.assertIn(told.variant, repr(told))
        self.assertGreater(told.bound, 0)
        self.assertEqual(sum(row["taken"] == "yes" for row in told), 1)
        self.assertIn("<table>", told._repr_html_())
        self.assertEqual(ts.matmul.explain(np.ones((8, 8)), np.ones((8, 8)), variant="naive").variant, "naive")
        self.assertEqual(ts.matmul.explain(np.ones((2, 8, 8)), np.ones(8, "f4")).choice["operation"], "matmul_batch")

    def test_small_products_take_no_longer_than_numpys(self):
        a, b, c = np.random.rand(8, 8), np.random.rand(8, 8), np.zeros((8, 8))
        calls = {"numpy": lambda: a @ b, "new": lambda: ts.matmul(a, b), "out": lambda: ts.matmul(a, b, out=c)}
        times = {name: [] for name in calls}
        for _ in range(30):  # in turn, so that whatever else runs meets them alike
            for name, call in calls.items():
                times[name].append(timeit.timeit(call, number=1000))
        least = {name: min(seconds) for name, seconds in times.items()}
        self.assertLess(least["new"], 1.5 * least["numpy"])
        self.assertLess(least["out"], 1.2 * least["numpy"])

    def test_large_products_can_be_interrupted(self):
        a = np.ones((1500, 1500), "f4")
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        start = time.monotonic()
        try:
            with self.assertRaises(KeyboardInterrupt):
                ts.matmul(a, a, device="simt", variant="per_element")
        finally:
            signal.signal(signal.SIGALRM, before)
        self.assertLess(time.monotonic() - start, 5)


class Integrals(unittest.TestCase):
    def test_formulas(self):
        r = ts.integrate("x^a", 0, 1, a=2)
        self.assertAlmostEqual(r.value, 1 / 3, delta=r.error)
        self.assertEqual(ts.integrate("x^a", (0, 1), a=2, check=True).value, r.value)
        self.assertAlmostEqual(ts.integrate("x^2", 0, 1, strips=1e3).value, 1 / 3, places=4)  # a float that is a whole number
        with self.assertRaisesRegex(ValueError, "a callable has no rungs"):
            ts.integrate.explain(math.exp, 0, 1)
        self.assertTrue(r.converged and r.evaluations > 0 and "converged" in repr(r))
        self.assertAlmostEqual(float(ts.integrate("x*y", x=(0, 1), y=(0, "x"))), 1 / 8)
        self.assertAlmostEqual(ts.integrate("exp(-x^2)", -math.inf, np.inf).value ** 2, math.pi)
        self.assertIn("diverges", ts.integrate("1/x", 0, 1).reason)

    def test_batches(self):
        a = np.linspace(0, 5, 1000).reshape(10, 100)
        r = ts.integrate("b*x^a", 0, 1, a=a, b=2.0)
        self.assertEqual(r.value.shape, a.shape)
        np.testing.assert_allclose(r.value, 2 / (1 + a), rtol=1e-9)
        self.assertTrue((np.abs(r.value - 2 / (1 + a)) <= r.error).all() and r.reason == "converged")

    def test_callables_get_arrays_or_single_points(self):
        shapes = set()

        def gaussian(x):
            shapes.add(np.shape(x))
            return np.exp(-x * x)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            r = ts.integrate(gaussian, 0, np.inf)
        self.assertAlmostEqual(r.value, math.sqrt(math.pi) / 2, delta=r.error + 1e-15)
        self.assertTrue(any(shape and shape[0] > 1 for shape in shapes))
        self.assertAlmostEqual(ts.integrate(math.exp, 0, 1).value, math.e - 1)
        self.assertAlmostEqual(ts.integrate(lambda x: 1 if x < 1 else 2, 0, 2, points=1).value, 3)
        self.assertAlmostEqual(ts.integrate(lambda x: 5, 0, 2).value, 10)
        self.assertAlmostEqual(ts.integrate(lambda x: x / np.max(x), 1, 2).value, 1)  # as of single points
        self.assertAlmostEqual(ts.integrate(lambda x, y: x * y, (0, 1), (0, 2)).value, 1)
        self.assertAlmostEqual(ts.integrate(lambda x: {0: 3.0}[int(x.imag) if isinstance(x, float) else "array"], 0, 1).value, 3)
        kept = []
        ts.integrate(lambda x: kept.append(x) or x, 0, 1)
        self.assertTrue(all(np.isfinite(x).all() for x in kept))

    def test_exceptions_and_interrupts_of_callables_arrive(self):
        class Mine(Exception):
            pass

        def fails(x):
            raise Mine
        with self.assertRaises(Mine):
            ts.integrate(fails, 0, 1)

        def interrupted(x):
            signal.raise_signal(signal.SIGINT)
            return x
        with self.assertRaises(KeyboardInterrupt):
            ts.integrate(interrupted, 0, 1)
        with self.assertRaisesRegex(ValueError, "could not convert string to float"):
            ts.integrate(lambda x: "text", 0, 1)
        for complex_one in (lambda x: np.exp(1j * x), lambda x: complex(x, 1)):
            with self.assertRaisesRegex(TypeError, "the integrand is complex"):
                ts.integrate(complex_one, 0, 1)
        with self.assertRaisesRegex(TypeError, "complex128"):
            ts.integrate("x^a", 0, 1, a=np.array([1j]))
        with self.assertRaisesRegex(TypeError, "have no names"):
            ts.integrate(math.exp, 0, 1, k=2)
        with self.assertRaisesRegex(ValueError, "are for formulas: a callable runs in the calling thread"):
            ts.integrate(math.exp, 0, 1, check=True)
        with self.assertRaisesRegex(ValueError, "strips are for formulas"):
            ts.integrate(math.exp, 0, 1, strips=100)


class Pictures(unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(1)

    def test_arrays_of_two_three_and_four_dimensions(self):
        image = self.rng.integers(0, 255, (2, 12, 15, 3), "u1")
        whole = ts.filter(image, kernel="gaussian", size=5)
        np.testing.assert_array_equal(ts.filter(image[1], kernel="gaussian", size=5), whole[1])
        np.testing.assert_array_equal(ts.filter(image[1, :, :, 2], kernel="gaussian", size=5), whole[1, :, :, 2])
        np.testing.assert_array_equal(ts.filter(image[0, ::2, 1:9], kernel="box"), ts.filter(image[0, ::2, 1:9].copy(), kernel="box"))
        weights = np.array([[0, 1, 0], [1, -4, 1], [0, 1, 2]])
        for kernel in (weights, weights.tolist()):
            np.testing.assert_array_equal(ts.filter(image, kernel=kernel), ts.filter(image, kernel="0 1 0; 1 -4 1; 0 1 2"))
        out = np.zeros((12, 15, 3), "u1")
        self.assertIs(ts.filter(image[0], kernel="box", out=out), out)
        np.testing.assert_array_equal(out, ts.filter(image[0], kernel="box"))

    def test_300_resizes_and_filters_beside_pillow_and_opencv(self):
        try:
            from PIL import Image, ImageFilter
        except ImportError:
            self.skipTest("no python3-pil: nothing to compare with")
        methods = {"nearest": Image.Resampling.NEAREST, "box": Image.Resampling.BOX, "linear": Image.Resampling.BILINEAR,
                   "hamming": Image.Resampling.HAMMING, "cubic": Image.Resampling.BICUBIC, "lanczos3": Image.Resampling.LANCZOS}
        chosen = random.Random(1)
        for i in range(150):
            mode = chosen.choice(["L", "RGB", "RGBA", "LA"])
            size, to = ([chosen.randrange(1, 60) for _ in range(2)] for _ in range(2))
            samples = self.rng.integers(0, 255, (size[1], size[0], len(mode)) if mode != "L" else (size[1], size[0]), "u1")
            image, (name, method) = Image.fromarray(samples, mode), chosen.choice(list(methods.items()))
            with self.subTest(i, mode=mode, size=size, to=to, method=name):
                result = ts.resize(image, width=to[0], height=to[1], method=name)
                self.assertEqual(result.mode, mode)
                np.testing.assert_array_equal(np.asarray(result), np.asarray(image.resize(to, method)))
        for i in range(75):
            samples = self.rng.integers(0, 255, (chosen.randrange(5, 40), chosen.randrange(5, 40)), "u1")
            weights = [chosen.randrange(-4, 5) for _ in range(9)]
            kernel = "; ".join(" ".join(map(str, weights[row * 3: row * 3 + 3])) for row in range(3))
            # Pillow's weights begin with the lowest row.
            expected = Image.fromarray(samples).filter(ImageFilter.Kernel((3, 3), weights[6:] + weights[3:6] + weights[:3], 1))
            with self.subTest(i, kernel=kernel):
                result = ts.filter(samples, kernel=kernel)
                np.testing.assert_array_equal(result[1:-1, 1:-1], np.asarray(expected)[1:-1, 1:-1])  # Pillow leaves edges alone
        try:
            import cv2
        except ImportError:
            print("no python3-opencv: filters are compared with Pillow alone", file=sys.stderr)
            return
        for i in range(75):
            samples = self.rng.integers(0, 255, (chosen.randrange(5, 40), chosen.randrange(5, 40), 3), "u1")
            weights = self.rng.integers(-4, 5, (3, 5)).astype("f4")
            result = ts.filter(samples, kernel="; ".join(" ".join(map(str, row)) for row in weights))
            with self.subTest(i, weights=weights):
                np.testing.assert_array_equal(result, cv2.filter2D(samples, -1, weights))

    def test_pillows_pictures_stay_pictures(self):
        try:
            from PIL import Image
        except ImportError:
            self.skipTest("no python3-pil")
        samples = self.rng.integers(0, 255, (20, 30, 4), "u1")
        image = Image.fromarray(samples)
        result = ts.filter(image, kernel="box")
        self.assertEqual((result.mode, result.size), ("RGBA", (30, 20)))
        np.testing.assert_array_equal(np.asarray(result)[..., 3], samples[..., 3])  # alpha is kept apart
        self.assertEqual(ts.resize(image.convert("P"), width=7).mode, "RGB")
        self.assertEqual(ts.filter(image.convert("L"), kernel="laplacian8", abs=True).mode, "L")
        self.assertIsInstance(ts.filter(image, output_element="f32"), np.ndarray)
        self.assertEqual(ts.filter.explain(image).variant, ts.filter.explain(samples).variant)


class Program(unittest.TestCase):
    def test_a_trace(self):
        t = ts.trace(str(ROOT / "examples/homework.cu"))
        self.assertEqual([finding["what"] for finding in t.errors], ["race"])
        self.assertIn("homework.cu:17: error: race", repr(t))
        self.assertIn("0 of 999 steps are wrong", t.output)
        self.assertTrue(t.launches and "<iframe" in t._repr_html_() and "homework.cu" in t.page.html)
        with self.assertRaisesRegex(ValueError, "nothing.cu"):
            ts.trace("nothing.cu")
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "echo.cu")
            source.write_text("#include <cstdio>\n__global__ void nothing() {}\n"
                              "int main(int n, char** words) { nothing<<<1, 1>>>(); std::printf(\"%d %s \\xe4\\n\", n, words[1]); }\n")
            self.assertEqual(ts.trace(source, arguments="10 20").output, "3 10 \ufffd\n")  # whatever bytes a program prints

    def test_a_notebook_shows_that_a_run_goes_on(self):
        told = io.StringIO()
        with unittest.mock.patch.dict(sys.modules, ipykernel=types.ModuleType("ipykernel")), contextlib.redirect_stderr(told):
            ts.bench("matmul", m=256, n=256, k=256, variant=["naive", "simd"], device="cpu", time=1, reps=200, no_serial=True)
        self.assertRegex(told.getvalue(), r"^\rbench: [12] s")
        self.assertRegex(told.getvalue(), r"\r *\r$")

    def test_measurements(self):
        b = ts.bench("matmul", m=[16, 32], n="m", k="m", element="f32", variant=["simd", "naive"], device="cpu", time=0.05, no_serial=True)
        self.assertEqual({(row["sizes"], row["rung"]) for row in b},
                         {(f"k={size} m={size} n={size}", rung) for size in (16, 32) for rung in ("04 simd", "01 naive")})
        self.assertIn("<svg", b.report().html)
        self.assertEqual(len(ts.bench(ts.matmul, m=np.array([16, 32]), n=16, k=16, variant="simd", device="cpu", time=0.05, no_serial=True)), 2)
        with self.assertRaises(KeyError):
            _ = b["speed"]
        self.assertTrue(ts.bench("integrate", "4/(1+x^2)", "0 1", strips=1000, device="cpu", time=0.05)["verified"])
        self.assertIn("GFLOP/s", repr(b))
        with self.assertRaisesRegex(ValueError, "no operation is called 'matmil'"):
            ts.bench("matmil", m=2)
        with self.assertRaises(ValueError):
            ts.bench("matmul", m="two")


class Capsule:
    """An array that has DLPack alone."""

    def __init__(self, array, versions=True):
        self.array, self.versions = array, versions

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **words):
        if words and not self.versions:
            raise TypeError("unexpected keyword argument")
        return self.array.__dlpack__()


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


class Exchange(ctypes.Structure):
    BORROW = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Tensor))
    _fields_ = [("version", ctypes.c_uint32 * 2), ("previous", ctypes.c_void_p), ("allocate", ctypes.c_void_p), ("take", ctypes.c_void_p),
                ("give", ctypes.c_void_p), ("borrow", BORROW), ("stream", ctypes.c_void_p)]


class Arrays(unittest.TestCase):
    a, b = np.random.rand(6, 7), np.random.rand(7, 8)

    def test_dlpack(self):
        for versions in (True, False):
            with without_copies():
                np.testing.assert_allclose(ts.matmul(Capsule(self.a, versions), Capsule(self.b.T.copy().T)), self.a @ self.b)

    def test_the_exchange_interface_of_a_type(self):
        borrowed = []

        def borrow(this, out):
            borrowed.append(this)
            numbers = ctypes.c_int64 * 2
            this.kept = numbers(*this.array.shape), numbers(*(stride // 8 for stride in this.array.strides))
            out[0] = Tensor(this.array.ctypes.data, (1, 0), 2, 2, 64, 1, *(ctypes.cast(part, ctypes.POINTER(ctypes.c_int64)) for part in this.kept), 0)
            return 0
        api = Exchange((1, 3), None, None, None, None, Exchange.BORROW(borrow), None)
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

        class Exchanging:
            __dlpack_c_exchange_api__ = make(ctypes.addressof(api), b"dlpack_exchange_api", None)

            def __init__(self, array):
                self.array = array
        for _ in range(3):
            np.testing.assert_allclose(ts.matmul(Exchanging(self.a), Exchanging(self.b)), self.a @ self.b)
        self.assertGreaterEqual(len(borrowed), 6)
        learning = Exchanging(self.a)
        learning.requires_grad = True
        with self.assertRaisesRegex(ValueError, "A: it requires gradients"):
            ts.matmul(learning, Exchanging(self.b))

    def test_the_buffer_protocol(self):
        flat = array.array("d", self.a.ravel())
        self.assertAlmostEqual(float(ts.matmul(memoryview(flat), flat)), float(self.a.ravel() @ self.a.ravel()))
        rows = ((ctypes.c_double * 7) * 6)(*map(tuple, self.a))  # whose buffer has no strides
        np.testing.assert_allclose(ts.matmul(rows, self.b), self.a @ self.b)

    def test_types_that_numpy_has_from_ml_dtypes(self):
        class Rounded:
            """An array of bfloat16 as NumPy shows it: without a buffer, and with a __dlpack__ that refuses."""

            def __init__(self, array):
                self.bits = (np.ascontiguousarray(array, "f4").view("u4") >> 16).astype("u2")
                self.shape, self.strides, self.flags, self.ctypes = array.shape, self.bits.strides, self.bits.flags, self.bits.ctypes
                self.dtype = types.SimpleNamespace(name="bfloat16", itemsize=2, isnative=True)

            def __dlpack__(self, **_):
                raise BufferError("bfloat16")
        np.testing.assert_allclose(ts.matmul(Rounded(self.a), Rounded(self.b), output_element="f32"), self.a @ self.b, rtol=2e-2)

    def test_an_array_on_a_gpu_is_refused_without_one(self):
        class OnGpu:
            __cuda_array_interface__ = {"data": (4096, False), "shape": (7, 8), "typestr": "<f8", "version": 3}
        uneven, other = OnGpu(), OnGpu()
        uneven.__cuda_array_interface__ = {**OnGpu.__cuda_array_interface__, "strides": (65, 8)}
        other.__cuda_array_interface__ = {**OnGpu.__cuda_array_interface__, "typestr": ">f8"}
        with self.assertRaisesRegex(ValueError, "B: the strides are no multiples"):
            ts.matmul(self.a, uneven)
        with self.assertRaisesRegex(TypeError, "B: elements of the type '>f8'"):
            ts.matmul(self.a, other)
        if any(device["label"].startswith("cuda") for device in ts.devices()):
            self.skipTest("there is a GPU")
        with self.assertRaisesRegex((RuntimeError, ValueError), "GPU|different devices|no CUDA"):
            ts.matmul(self.a, OnGpu())

    def test_torch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("no PyTorch")
        a, b = torch.from_numpy(self.a), torch.from_numpy(self.b.T.copy()).T
        with without_copies():
            c = ts.matmul(a, b)
        self.assertIsInstance(c, torch.Tensor)
        torch.testing.assert_close(c, a @ b)
        out = torch.empty_like(c)
        self.assertIs(ts.matmul(a, b, out=out), out)
        torch.testing.assert_close(out, a @ b)
        torch.testing.assert_close(ts.matmul(a.bfloat16(), b.bfloat16()), a.bfloat16() @ b.bfloat16(), rtol=2e-2, atol=2e-2)
        torch.testing.assert_close(ts.matmul(torch.ones(2, 1, 3, 4), torch.ones(5, 4, 6)), torch.full((2, 5, 3, 6), 4.0))
        with self.assertRaises((BufferError, RuntimeError)):
            ts.matmul(a.clone().requires_grad_(), b)

    def test_torchs_operator(self):
        try:
            import torch
        except ImportError:
            self.skipTest("no PyTorch")
        import tessera.torch
        if not hasattr(torch.library, "register_autograd"):
            with self.assertRaisesRegex(RuntimeError, "PyTorch 2.4"):
                tessera.torch.register()
            return
        tessera.torch.register()
        for shapes in (((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((2, 3, 4), (4, 5)), ((4,), (4,))):
            a, b = (torch.rand(shape, dtype=torch.float64, requires_grad=True) for shape in shapes)
            torch.library.opcheck(torch.ops.tessera.matmul, (a, b))
            torch.autograd.gradcheck(torch.ops.tessera.matmul, (a, b))


def in_a_process(seed):
    a = np.random.default_rng(seed).random((200, 200))
    return bool(np.allclose(ts.matmul(a, a), a @ a))


def resident_kilobytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4


class Surroundings(unittest.TestCase):
    def test_threads(self):
        wrong = []

        def repeat(seed):
            rng = np.random.default_rng(seed)
            for size in [8, 40, 8, 130] * 25:
                a = rng.random((size, size))
                if not np.allclose(ts.matmul(a, a), a @ a):
                    wrong.append(size)
        threads = [threading.Thread(target=repeat, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_processes_by_fork_and_spawn(self):
        self.assertTrue(in_a_process(0))
        for way in ("fork", "spawn"):
            with multiprocessing.get_context(way).Pool(2) as pool:
                self.assertEqual(pool.map(in_a_process, range(4)), [True] * 4)

    def test_100_000_calls_leave_nothing(self):
        a, b, c = np.random.rand(8, 8), np.random.rand(8, 8), np.zeros((8, 8))
        image = np.ones((8, 8), "u1")
        bad = np.ones((3, 8))

        def repeat(count):
            for _ in range(count):
                ts.matmul(a, b), ts.matmul(a, b, out=c), ts.matmul(a, b, accuracy="f64")
                ts.filter(image, kernel="box")

        def slowly(count):
            for _ in range(count):
                with contextlib.suppress(ValueError):
                    ts.matmul(a, bad)
                ts.matmul(a, b, check=True), ts.integrate("x", 0, 1), ts.integrate(abs, 0, 1), ts.matmul.explain(a, b)
        grown = []
        for _ in range(3):  # the first rounds may still fill caches
            before = resident_kilobytes()
            repeat(12_500), slowly(300)
            grown.append(resident_kilobytes() - before)
        self.assertLess(min(grown), 500)

    def test_operands_are_not_kept(self):
        before = sys.getrefcount(None)
        a = np.random.rand(9, 9)
        count = sys.getrefcount(a)
        ts.matmul(a, a), ts.matmul(a, a), ts.matmul(a, a, variant="naive"), ts.filter(a.astype("f4"), kernel="box")
        self.assertEqual(sys.getrefcount(a), count)
        self.assertLess(abs(sys.getrefcount(None) - before), 300)

    def test_help_is_complete(self):
        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            help(ts.matmul)
        for parameter in ts.matmul.parameters:
            if parameter["kind"] != "value":
                self.assertIn(parameter["name"].replace("-", "_"), told.getvalue())
        self.assertIn("matmul(A, B, *, C0=None, alpha=1.0", told.getvalue())
        self.assertIn("float32", told.getvalue())
        self.assertNotIn("--", "".join(function.__doc__ for function in ts.operations.values()))

    def test_functions_are_pickled_by_name(self):
        self.assertIs(pickle.loads(pickle.dumps(ts.matmul)), ts.matmul)
        self.assertIs(copy.deepcopy(ts.filter), ts.filter)

    def test_stubs_name_every_operation(self):
        tree = ast.parse((FOLDER / "tessera/__init__.pyi").read_text())
        named = {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}
        self.assertLessEqual(set(ts.operations), named)
        self.assertTrue((FOLDER / "tessera/py.typed").exists())

    def test_the_import_is_quick(self):
        code = "import time; start = time.process_time(); import tessera; print(time.process_time() - start)"  # whatever else runs
        times = [float(subprocess.run([sys.executable, "-c", code], cwd=FOLDER, check=True, capture_output=True, text=True).stdout) for _ in range(3)]
        self.assertLess(min(times), 0.15)

    def test_the_wheel_serves_other_pythons(self):
        wheel = next(FOLDER.glob("tessera-*-cp311-abi3-*.whl"))
        entries = {entry.filename: entry for entry in zipfile.ZipFile(wheel).infolist()}
        self.assertEqual(entries["tessera/_native/bin/tessera"].external_attr >> 16, 0o100755)  # as pip wants it
        for part in ("tessera/_tessera.abi3.so", "tessera/_native/lib/libtessera_c.so.1", "tessera/_native/bin/tessera", "tessera/__init__.pyi",
                     "tessera/_native/licences/tessera"):
            self.assertIn(part, entries)
        self.assertLess(wheel.stat().st_size, 45e6)
        for name in (name for name in entries if re.search(r"/(_tessera|libtessera.*)\.so|/bin/tessera", name) and not name.endswith(".so")
                     or name.endswith(".abi3.so")):
            with self.subTest(name):
                told = subprocess.run(["readelf", "-d", FOLDER / name], check=True, capture_output=True, text=True).stdout
                path = re.search(r"\(RPATH\).*\[(.*)\]", told)
                self.assertTrue(path, told)
                found = [(FOLDER / name).parent / place.replace("$ORIGIN/", "").replace("$ORIGIN", ".") for place in path[1].split(":")]
                for needed in re.findall(r"\(NEEDED\).*\[(.*)\]", told):
                    if not re.match(r"ld-linux|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so", needed):
                        self.assertTrue(any((place / needed).exists() for place in found), needed)
        for python in ("python3.12", "python3.13", "python3.14"):
            if not shutil.which(python) or subprocess.run([python, "--version"], capture_output=True, check=False).returncode:
                continue
            done = subprocess.run([python, "-c", "import tessera; print(tessera.integrate('x^2', 0, 3))"], cwd=FOLDER, capture_output=True, text=True,
                                  check=False)
            self.assertRegex(done.stdout, "^9.0", f"{python}: {done.stderr}")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
