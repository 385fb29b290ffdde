#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package on a GPU, with arrays of PyTorch, CuPy and JAX; ends with 77 (skipped) where there is none.
  gpu_test.py FOLDER      that holds the package, such as build/python"""
import gc
import pathlib
import sys
import timeit
import unittest

sys.path.insert(0, str(pathlib.Path(sys.argv[1]).resolve()))

try:
    import torch
    if not torch.cuda.is_available():
        raise ImportError("PyTorch finds no GPU")
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
import tessera as ts  # noqa: E402
import tessera.torch  # noqa: E402

tessera.torch.register()


class Interface:
    """An array that has __cuda_array_interface__ alone."""

    def __init__(self, tensor):
        self.tensor, self.__cuda_array_interface__ = tensor, tensor.__cuda_array_interface__


def random(*shape, type=torch.float32):
    if type == torch.int8:
        return torch.randint(-128, 128, shape, dtype=type, device="cuda")
    return torch.randn(*shape, device="cuda").to(type)


def exact(a, b):
    return a.double() @ b.double()


class Torch(unittest.TestCase):
    def close(self, c, a, b, type):
        unit = {torch.float64: 2.0**-53, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}.get(type, 2.0**-24)
        sums = max(2.0**-24, unit) if type != torch.float64 else unit
        bound = sums * (a.shape[-1] + 2) * (a.double().abs() @ b.double().abs()) if type in (torch.float32, torch.float64) else \
            unit * exact(a, b).abs() + 2.0**-24 * (a.shape[-1] + 2) * (a.double().abs() @ b.double().abs())
        self.assertTrue(bool(((c.double() - exact(a, b)).abs() <= bound + 1e-30).all()))

    def test_types_layouts_and_stacks(self):
        for type in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
            for m, n, k in ((1, 1, 1), (64, 64, 64), (100, 70, 33), (1, 4096, 4096), (1000, 1, 500), (513, 257, 1029)):
                a, b = random(m, k, type=type), random(k, n, type=type)
                for x, y in ((a, b), (a.T.contiguous().T, b), (a, b.T.contiguous().T), (random(2 * m, k + 3, type=type)[::2, 3:], b)):
                    c = ts.matmul(x, y)
                    self.assertEqual((c.dtype, c.device.type, tuple(c.shape)), (type, "cuda", (m, n)))
                    self.close(c, x, y, type)
            a, b = random(3, 1, 20, 30, type=type), random(4, 30, 10, type=type)
            c = ts.matmul(a, b)
            self.assertEqual(tuple(c.shape), (3, 4, 20, 10))
            self.close(c, a, b, type)
        a, b = random(100, 200, type=torch.int8), random(200, 50, type=torch.int8)
        self.assertTrue(torch.equal(ts.matmul(a, b).cpu(), a.cpu().int() @ b.cpu().int()))
        a, b = random(64, 128).to(torch.float8_e4m3fn), random(128, 32).to(torch.float8_e4m3fn)
        b = b.T.contiguous().T
        ts.assert_matmul(ts.matmul(a, b), a, b)

    def test_out_options_and_refusals(self):
        a, b, table = random(50, 60), random(60, 40), torch.zeros(50, 400, device="cuda")
        ts.matmul(a, b, out=table[:, 100:140])
        self.close(table[:, 100:140], a, b, torch.float32)
        self.assertEqual(float(table[:, :100].abs().sum() + table[:, 140:].abs().sum()), 0)
        bias = random(40)
        torch.testing.assert_close(ts.matmul(a, b, alpha=0.5, bias=bias, activation="relu"), torch.relu(0.5 * (a @ b) + bias), rtol=1e-4, atol=1e-4)
        fine = ts.matmul(a, b, accuracy="f32")
        self.close(fine, a, b, torch.float32)
        with self.assertRaises((ValueError, RuntimeError, TypeError)):
            ts.matmul(a, b.cpu())
        with self.assertRaises(ValueError):
            ts.matmul(a, b, out=a[:, :40])
        self.assertEqual(ts.matmul.explain(a, b).device[:4], "cuda")

    def test_the_current_stream_is_followed_and_operands_stay_alive(self):
        slow = random(4096, 4096)
        for _ in range(5):
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                x = slow
                for _ in range(10):
                    x = x @ slow / 64
                c = ts.matmul(x, x.T)
                del x
                gc.collect()
                other = torch.full((4096, 4096), float("nan"), device="cuda")  # may take the memory of x, in stream order
                d = ts.matmul(c, slow)
            stream.synchronize()
            self.assertFalse(bool(torch.isnan(c).any() | torch.isnan(d).any()))
            torch.testing.assert_close(d, c @ slow, rtol=1e-3, atol=float(d.abs().max()) * 1e-4)
            del other

    def test_a_graph_captures_the_call(self):
        a, b, c = random(256, 512), random(512, 128), torch.empty(256, 128, device="cuda")
        ts.matmul(a, b, out=c)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            ts.matmul(a, b, out=c)
        a.normal_()
        graph.replay()
        torch.cuda.synchronize()
        self.close(c, a, b, torch.float32)

    def test_pictures(self):
        picture = torch.randint(0, 256, (300, 400, 3), dtype=torch.uint8, device="cuda")
        for result, host in ((ts.resize(picture, height=100, method="lanczos3"), ts.resize(picture.cpu(), height=100, method="lanczos3")),
                             (ts.filter(picture, kernel="laplacian8", abs=True), ts.filter(picture.cpu(), kernel="laplacian8", abs=True))):
            self.assertEqual(result.device.type, "cuda")
            self.assertLessEqual(int((result.cpu().int() - host.int()).abs().max()), 1)

    def test_the_operator_and_a_training_step(self):
        for shapes in (((3, 4), (4, 5)), ((4,), (4, 5)), ((2, 3, 4), (4, 5))):
            a, b = (torch.rand(shape, dtype=torch.float64, device="cuda", requires_grad=True) for shape in shapes)
            torch.library.opcheck(torch.ops.tessera.matmul, (a, b))
            torch.autograd.gradcheck(torch.ops.tessera.matmul, (a, b))

        def step(product):
            torch.manual_seed(0)
            x, y = torch.randn(512, 256, device="cuda"), torch.randn(512, 10, device="cuda")
            weights = [torch.randn(256, 128, device="cuda").div_(16).requires_grad_(), torch.randn(128, 10, device="cuda").div_(11).requires_grad_()]
            loss = (product(torch.relu(product(x, weights[0])), weights[1]) - y).square().mean()
            loss.backward()
            return [loss.detach(), *(w.grad for w in weights)]
        for product in (torch.ops.tessera.matmul, torch.compile(torch.ops.tessera.matmul, backend="aot_eager")):
            for mine, torchs in zip(step(product), step(torch.matmul)):
                torch.testing.assert_close(mine, torchs, rtol=1e-4, atol=1e-6)

    def test_checks(self):
        for type in (torch.float32, torch.bfloat16):
            a, b = random(700, 600, type=type), random(600, 500, type=type)
            c = ts.matmul(a, b)
            self.assertTrue(ts.check(c, a, b), ts.check(c, a, b).text)
            ts.assert_matmul(torch.matmul(a, b), a, b, arithmetic="" if type == torch.float32 else "parts=16")
            c[300, 200] += 1000 if type == torch.bfloat16 else 1
            found = ts.check(c, a, b)
            self.assertFalse(found)
            self.assertEqual(tuple(found.first[:2]), (300, 200))

    def test_the_call_takes_no_longer_than_torchs(self):
        a, b, c = random(64, 64), random(64, 64), torch.empty(64, 64, device="cuda")

        def microseconds(call):
            def some():
                for _ in range(200):
                    call()
                torch.cuda.synchronize()
            return min(timeit.repeat(some, number=1, repeat=15)) / 200 * 1e6
        new, given = microseconds(lambda: ts.matmul(a, b)), microseconds(lambda: ts.matmul(a, b, out=c))
        torchs, torchs_given = microseconds(lambda: torch.mm(a, b)), microseconds(lambda: torch.mm(a, b, out=c))
        print(f"64 × 64 of PyTorch on {torch.cuda.get_device_name()}: {new:.2f} µs a call, torch.mm {torchs:.2f}; with out= {given:.2f}, torch.mm {torchs_given:.2f}")
        self.assertLess(given, torchs_given)


class Others(unittest.TestCase):
    def test_cupy(self):
        try:
            import cupy
        except ImportError:
            self.skipTest("no CuPy")
        a, b = cupy.random.rand(200, 300), cupy.random.rand(300, 100)
        with cupy.cuda.Stream(non_blocking=True) as stream:
            x = a * 2
            c = ts.matmul(x, b)
            del x
            stream.synchronize()
        self.assertIsInstance(c, cupy.ndarray)
        self.assertTrue(bool(cupy.allclose(c, 2 * a @ b)))
        out = cupy.zeros((200, 100))
        self.assertIs(ts.matmul(a, b, out=out), out)
        self.assertTrue(bool(cupy.allclose(ts.matmul(a.T.copy().T, b[:, ::2]), a @ b[:, ::2])))
        self.assertTrue(bool(cupy.allclose(out, a @ b)))

    def test_jax(self):
        try:
            import jax
        except ImportError:
            self.skipTest("no JAX")
        a, b = (jax.random.normal(jax.random.key(i), shape) for i, shape in ((1, (200, 300)), (2, (300, 100))))
        c = ts.matmul(a, b)
        self.assertIsInstance(c, jax.Array)
        self.assertTrue(bool(jax.numpy.allclose(c, jax.numpy.matmul(a, b, precision="highest"), rtol=1e-4, atol=1e-4)))
        h = a.astype("bfloat16")
        self.assertEqual(str(ts.matmul(h, b.astype("bfloat16")).dtype), "bfloat16")

    def test_the_cuda_array_interface(self):
        a, b = random(30, 40), random(40, 20)
        with self.assertRaisesRegex(TypeError, "pass out="):
            ts.matmul(Interface(a), Interface(b))
        out = torch.zeros(30, 20, device="cuda")
        ts.matmul(Interface(a), Interface(b), out=Interface(out))
        torch.testing.assert_close(out, a @ b, rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=1)
