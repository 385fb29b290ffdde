#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products of NumPy, PyTorch, cuBLASLt, Triton, JAX and Tessera, which tessera.check() has to accept, and damaged ones, which it
has to find and name. A library that is missing is left out; without a GPU, the products are those of NumPy and Tessera.
  check_zoo.py [--package FOLDER] [--seed S] [--seconds T] [--large N] [--mutants N] [--libraries NAME,...] [--only PART:NUMBER]
Products of up to 512 rows and columns are drawn for T seconds, then N of 1024 to 8192 and N damaged ones, each for at most T
seconds. Every product is drawn from the seed and its number alone: --only repeats one, such as small:17. The program ends with
1 after a false alarm, an error of the check, or fewer found (99 %) or named (90 %) mutants than promised."""
import argparse
import collections
import ctypes
import math
import os
import random
import re
import sys
import time
import warnings

arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
arguments.add_argument("--package", help="folder that holds the package, such as build/python")
arguments.add_argument("--seed", default="1")
arguments.add_argument("--seconds", type=float, default=5)
for number in ("--large", "--mutants"):
    arguments.add_argument(number, type=int, default=0)
arguments.add_argument("--libraries", default="numpy,torch,cublaslt,triton,jax,tessera")
arguments.add_argument("--only", help="repeats one product: small, large or mutant, a colon, and its number")
flags = arguments.parse_args()
if flags.package:
    sys.path.insert(0, os.path.abspath(flags.package))
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import numpy  # noqa: E402
import tessera as ts  # noqa: E402

missing = {}
torch = triton = jax = None
try:
    import torch
    if not torch.cuda.is_available():
        missing["torch"], torch = "no GPU", None
except ImportError as reason:
    missing["torch"] = reason
try:
    if torch:
        import jax
        jax.config.update("jax_enable_x64", True)
except ImportError as reason:
    missing["jax"], jax = reason, None
try:
    if torch:
        import triton
        import triton.language as tl
except ImportError as reason:
    missing["triton"], triton = reason, None

warnings.simplefilter("ignore")
numpy.seterr(all="ignore")
TYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "e4m3": "float8_e4m3fn", "i8": "int8", "i32": "int32"}
KINDS = ("normal", "uniform", "cancelling", "wide", "special", "subnormal")
LEAST = {"f16": 16, "e4m3": 8, "f64": 1030}  # data of 2^-LEAST are subnormal; of other types, those of 2^-130
Product = collections.namedtuple("Product", "c a b arithmetic options note", defaults=({}, ""))


class Host:
    """Numbers drawn by NumPy, in arrays of the host."""
    library, types = numpy, ("f64", "f32", "f16", "i8")

    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        self.normal = lambda *shape: self.random.standard_normal(shape)
        self.uniform = lambda *shape: self.random.random(shape)
        self.whole = lambda low, end, *shape: self.random.integers(low, end, shape)

    def cast(self, x, type):
        return x.astype(TYPES[type])

    def packed(self, x):
        return numpy.ascontiguousarray(x)

    def full(self, shape, value, type):
        return numpy.full(shape, value, TYPES[type])


class Gpu:
    """Numbers drawn by PyTorch, in its tensors on the GPU."""
    library, types = torch, ("f64", "f32", "f16", "bf16", "i8")

    def __init__(self, seed):
        self.random = torch.Generator("cuda").manual_seed(seed)
        where = {"generator": self.random, "device": "cuda"}
        self.normal = lambda *shape: torch.randn(*shape, dtype=torch.float64, **where)
        self.uniform = lambda *shape: torch.rand(*shape, dtype=torch.float64, **where)
        self.whole = lambda low, end, *shape: torch.randint(low, end, shape, **where)

    def cast(self, x, type):
        return (x.clamp(-448, 448) if type == "e4m3" else x).to(getattr(torch, TYPES[type]))

    def packed(self, x):
        return x.contiguous()

    def full(self, shape, value, type):
        return torch.full(shape, value, dtype=getattr(torch, TYPES[type]), device="cuda")


class Draw:
    """The choices of one product."""

    def __init__(self, part, at, numbers=None):
        self.random, self.part, self.at = random.Random(f"{flags.seed}:{part}:{at}"), part, at
        self.library, self.numbers = None, numbers
        low, high = (1, 512) if part == "small" else (1024, 8192) if part == "large" else (20, 80)
        self.m, self.n, self.k = (self.size(low, high) for _ in range(3))
        if part == "large" and self.random.random() < 0.15:
            self.m, self.n, self.k = self.size(16, 256), self.size(16, 256), self.size(16384, 131072)
        if part == "mutant" and self.random.random() < 0.2:  # beyond the size at which every element is compared
            self.m, self.n, self.k = (self.size(550, 2000) for _ in range(3))
        if self.random.random() < 0.5:
            self.aligned(16)
        self.kind = self.random.choice(KINDS)

    def size(self, low, high):
        return round(math.exp(self.random.uniform(math.log(low), math.log(high))))

    def aligned(self, step, least=1):
        self.m, self.n, self.k = (max(least, (x + step - 1) // step) * step for x in (self.m, self.n, self.k))

    def on(self, numbers):
        self.numbers = numbers(self.random.getrandbits(40))

    def values(self, type):
        numbers, kind, choose, m, n, k = self.numbers, self.kind, self.random, self.m, self.n, self.k
        if type == "i8":
            a, b = numbers.whole(-127, 128, m, k), numbers.whole(-127, 128, k, n)
        else:
            of = numbers.uniform if kind == "uniform" else numbers.normal
            a, b = of(m, k), of(k, n)
        half = k // 2 * 2
        if kind == "cancelling":
            first, second = choose.choice(((slice(0, half // 2), slice(half // 2, half)), (slice(0, half, 2), slice(1, half, 2))))
            a[:, second], b[second] = a[:, first], -b[first]
        if type == "i8":
            return a, b
        if kind == "wide":
            reach = 3 if type == "e4m3" else choose.choice((6, 12))
            a, b = a * 2.0 ** numbers.whole(-reach, reach + 1, m, k), b * 2.0 ** numbers.whole(-reach, reach + 1, k, n)
        elif kind == "subnormal":
            least, share = LEAST.get(type, 130), choose.choice((1, 0.5))
            a, b = a * 2.0 ** -int(least * share), b * 2.0 ** -int(least - least * share)
        elif kind == "special":
            for x in (a, b):
                for _ in range(choose.randrange(1, 4)):
                    value = math.nan if type == "e4m3" else choose.choice((math.inf, -math.inf, math.nan))
                    x[choose.randrange(x.shape[0]), choose.randrange(x.shape[1])] = value
        return a, b

    def laid(self, x):
        way = self.random.randrange(4)
        if way == 1:
            return self.numbers.packed(x.T).T
        return self.numbers.library.concatenate((x, x), 1)[:, :x.shape[1]] if way == 2 else x

    def operands(self, type):
        a, b = (self.numbers.cast(x, type) for x in self.values(type))
        if type == "e4m3":
            return a, self.numbers.packed(b.T).T
        return self.laid(a), self.laid(b)

    def addends(self, type):
        """Draws C0, of C's type, with α and β."""
        c0 = self.numbers.cast(self.numbers.normal(self.m, self.n) * self.k ** 0.5, type)
        return {"alpha": self.random.choice((1, 0.5, -2)), "beta": self.random.choice((1, 0.5, -0.75)), "C0": c0}


# --- the libraries: each yields products, with the arithmetic by which it computed them ---

def of_numpy(draw):
    if draw.m * draw.n * draw.k > 3e10:
        draw.m, draw.n = draw.m % 1024 + 1, draw.n % 1024 + 1
    draw.on(Host)
    type = draw.random.choice(("f32", "f64", "i8") if draw.part == "large" else Host.types)  # NumPy's loops of f16 take too long
    a, b = draw.operands(type)
    yield Product(a.astype("int32") @ b.astype("int32") if type == "i8" and draw.k * draw.m * draw.n < 1e9 else
                  (a.astype("float64") @ b.astype("float64")).astype("int32") if type == "i8" else a @ b, a, b, "")


def switched(tf32=False, parts=False, short_sums=False):
    """Sets what PyTorch's products may do with f32, with parts of sums, and with sums of f16."""
    switches = torch.backends.cuda.matmul
    switches.allow_tf32 = tf32
    switches.allow_bf16_reduced_precision_reduction = switches.allow_fp16_reduced_precision_reduction = parts
    if short_sums or hasattr(switches, "allow_fp16_accumulation"):
        switches.allow_fp16_accumulation = short_sums


def of_torch(draw):
    type = draw.random.choice(("f32", "f32", "f64", "bf16", "bf16", "f16", "f16", "i8", "e4m3"))
    if type in ("i8", "e4m3"):
        draw.aligned(16, 2)
    draw.on(Gpu)
    a, b = draw.operands(type)
    tf32, parts, short = type == "f32" and draw.random.random() < 0.5, draw.random.random() < 0.5, type == "f16" and draw.random.random() < 0.3
    switched(tf32, parts, short)
    words = ["tf32"] * tf32 + ["parts=16"] * (parts and type in ("bf16", "f16")) + ["sums=f16"] * short
    how, options = draw.random.choice(("mm", "mm", "C0", "bias", "batch")), {}
    if type == "i8":
        c, how = torch._int_mm(a, b), "_int_mm"
    elif type == "e4m3":
        fast, rows = draw.random.random() < 0.5, draw.random.random() < 0.4
        sizes = ((draw.m, 1), (1, draw.n)) if rows else ((1,), (1,))
        scales = [(draw.numbers.uniform(*size) + 0.25).float() for size in sizes]
        out = torch.bfloat16 if rows else draw.random.choice((torch.bfloat16, torch.float16, torch.float32))
        c = torch._scaled_mm(a, b, *scales, out_dtype=out, use_fast_accum=fast)
        per = {} if rows else {"scale_a_per": "tensor", "scale_b_per": "tensor"}
        options, words, how = {"scale_a": scales[0].flatten(), "scale_b": scales[1].flatten(), **per}, ["fast"] * fast, f"_scaled_mm by rows {rows}"
    elif how == "C0":
        options = draw.addends(type)
        c = torch.addmm(options["C0"], a, b, alpha=options["alpha"], beta=options["beta"])
    elif how == "bias":
        options = {"bias": draw.numbers.cast(draw.numbers.normal(draw.n), type)}
        c = torch.addmm(options["bias"], a, b)
    elif how == "batch":
        a = torch.stack((a, a.flip(0)))
        c = torch.bmm(a, b.expand(2, *b.shape))
    else:
        c = torch.mm(a, b)
    switched()
    yield Product(c, a, b, ",".join(words), options, how)


class Heuristic(ctypes.Structure):
    _fields_ = [("algo", ctypes.c_uint64 * 8), ("workspace", ctypes.c_size_t), ("state", ctypes.c_int), ("waves", ctypes.c_float),
                ("reserved", ctypes.c_int * 4)]


class CublasLt:
    """The library that PyTorch has loaded."""
    SIZE = 64 << 20
    NUMBERS = {"f32": 0, "f64": 1, "f16": 2, "i8": 3, "i32": 10, "bf16": 14, "e4m3": 28}  # cudaDataType
    # The types of A, of C and of α, cublasComputeType_t, and the check's word.
    WAYS = {"f32": (["f32"], "f32", 68, ""), "tf32": (["f32"], "f32", 77, "tf32"), "f64": (["f64"], "f64", 70, ""),
            "bf16": (["bf16", "f32"], "f32", 68, ""), "f16": (["f16", "f32"], "f32", 68, ""), "f16 sums": (["f16"], "f16", 64, "sums=f16"),
            "i8": (["i32"], "i32", 72, ""), "e4m3": (["bf16", "f16", "f32"], "f32", 68, ""), "e4m3 fast": (["bf16", "f16", "f32"], "f32", 68, "fast")}

    def __init__(self):
        with open("/proc/self/maps", encoding="utf-8") as maps:
            self.library = ctypes.CDLL(next(line.split()[-1] for line in maps if "libcublasLt.so" in line))
        self.handle = self.made("Create")
        self.workspace = torch.empty(self.SIZE, dtype=torch.uint8, device="cuda")

    def status(self, name, *args):
        return getattr(self.library, "cublasLt" + name)(*args)

    def call(self, name, *args):
        status = self.status(name, *args)
        if status:
            raise RuntimeError(f"cublasLt{name} returns {status}")

    def made(self, name, *args):
        out = ctypes.c_void_p()
        self.call(name, ctypes.byref(out), *args)
        return out

    def set(self, name, to, attribute, value):
        self.call(name + "SetAttribute", to, attribute, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value)))

    def layout(self, x, type):
        """Returns the column-major layout of the transpose of x, and 1 if it is that of x itself."""
        by_rows = x.stride(1) == 1 and x.stride(0) >= x.shape[1]
        rows, cols, leading = (x.shape[1], x.shape[0], x.stride(0)) if by_rows else (x.shape[0], x.shape[1], x.stride(1))
        made = self.made("MatrixLayoutCreate", self.NUMBERS[type], ctypes.c_uint64(rows), ctypes.c_uint64(cols), ctypes.c_int64(max(leading, rows)))
        return made, int(not by_rows)

    def config(self, algo, attribute):
        value, written = ctypes.c_int32(-1), ctypes.c_size_t()
        self.status("MatmulAlgoConfigGetAttribute", algo, attribute, ctypes.byref(value), ctypes.c_size_t(4), ctypes.byref(written))
        return value.value

    def algorithms(self, draw, problem):
        """Returns the algorithms that the heuristic offers, and some of them with another number of parts of k."""
        preference = self.made("MatmulPreferenceCreate")
        self.set("MatmulPreference", preference, 1, ctypes.c_uint64(self.SIZE))  # MAX_WORKSPACE_BYTES
        offered, count = (Heuristic * 100)(), ctypes.c_int()
        status = self.status("MatmulAlgoGetHeuristic", self.handle, *problem, preference, 100, offered, ctypes.byref(count))
        self.call("MatmulPreferenceDestroy", preference)
        out = [offered[i] for i in range(count.value) if status == 0 and offered[i].state == 0]
        for one in out[:]:
            changed, checked = (ctypes.c_uint64 * 8)(*one.algo), Heuristic()
            if draw.random.random() < 0.3:
                self.status("MatmulAlgoConfigSetAttribute", changed, 2, ctypes.byref(ctypes.c_int32(draw.random.choice((2, 3, 5, 16)))), ctypes.c_size_t(4))
                self.status("MatmulAlgoConfigSetAttribute", changed, 3, ctypes.byref(ctypes.c_uint32(draw.random.choice((1, 2, 4)))), ctypes.c_size_t(4))
                if self.status("MatmulAlgoCheck", self.handle, *problem, changed, ctypes.byref(checked)) == 0 and checked.workspace <= self.SIZE:
                    out.append(Heuristic(changed, checked.workspace, 0, 0))
        return out if draw.part == "small" else draw.random.sample(out, min(len(out), 6))

    def products(self, draw):
        way = draw.random.choice(list(self.WAYS))
        results, scale, compute, word = self.WAYS[way]
        type, c_type = "f32" if way == "tf32" else way.split()[0], draw.random.choice(results)
        if type in ("i8", "e4m3"):
            draw.aligned(16)
        draw.on(Gpu)
        a, b = draw.operands(type)
        if type == "i8":
            b = b.T.contiguous().T
        whole = type in ("i8", "e4m3")  # without C0
        options = draw.addends(c_type) if not whole and draw.random.random() < 0.4 else {}
        factors = [draw.numbers.full((1,), options.get(name, 1 - i), scale).cpu() for i, name in enumerate(("alpha", "beta"))]
        c, made = draw.numbers.full((draw.m, draw.n), 77, c_type), []
        c0 = options.get("C0", c)
        operation = self.made("MatmulDescCreate", compute, self.NUMBERS[scale])
        try:
            for x, kind in ((b, type), (a, type), (c0, c_type)):  # Cᵀ = Bᵀ·Aᵀ
                made.append(self.layout(x, kind))
            for i in range(2):
                self.set("MatmulDesc", operation, 3 + i, ctypes.c_int32(made[i][1]))  # TRANSA, TRANSB
            if word == "fast":
                self.set("MatmulDesc", operation, 25, ctypes.c_int8(1))  # FAST_ACCUM
            (x, _), (y, _), (z, _) = made
            for place, one in enumerate(self.algorithms(draw, (operation, x, y, z, z))):
                c = draw.numbers.full((draw.m, draw.n), 77 if type == "i8" else math.nan, c_type)
                status = self.status("Matmul", self.handle, operation, *map(ctypes.c_void_p, (factors[0].data_ptr(), b.data_ptr())), x,
                                     ctypes.c_void_p(a.data_ptr()), y, *map(ctypes.c_void_p, (factors[1].data_ptr(), options.get("C0", c).data_ptr())), z,
                                     ctypes.c_void_p(c.data_ptr()), z, one.algo, ctypes.c_void_p(self.workspace.data_ptr()), ctypes.c_size_t(self.SIZE),
                                     ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
                if status:
                    failures[f"cublaslt: Matmul returns {status}"] += 1
                    continue
                names = {name: self.config(one.algo, i) for name, i in (("algorithm", 0), ("tile", 1), ("parts", 2), ("reduction", 3))}
                rounded = c_type in ("f16", "bf16") and names["parts"] > 1 and names["reduction"] in (1, 4)  # in C, or of its type
                words = [word] * bool(word) + [f"parts={names['parts']}"] * rounded
                yield Product(c, a, b, ",".join(words), options, f"{place} {names}")
        finally:
            for one, _ in made:
                self.call("MatrixLayoutDestroy", one)
            self.call("MatmulDescDestroy", operation)


def of_cublaslt(draw, kept=[]):  # noqa: B006
    if not kept:
        kept.append(CublasLt())
    yield from kept[0].products(draw)


if triton:
    @triton.jit(do_not_specialize=["m", "n", "k", "a_row", "a_col", "b_row", "b_col"])
    def dots(a, b, c, m, n, k, a_row, a_col, b_row, b_col, ROWS: tl.constexpr, COLS: tl.constexpr, DEPTH: tl.constexpr, PARTS: tl.constexpr,
             PRECISION: tl.constexpr, SUMS: tl.constexpr):
        row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
        col = tl.program_id(1).to(tl.int64) * COLS + tl.arange(0, COLS)
        total = tl.zeros((ROWS, COLS), dtype=SUMS)
        for first in range(tl.program_id(2) * DEPTH, k, DEPTH * PARTS):
            inner = (first + tl.arange(0, DEPTH)).to(tl.int64)
            x = tl.load(a + row[:, None] * a_row + inner[None, :] * a_col, mask=(row[:, None] < m) & (inner[None, :] < k), other=0.0)
            y = tl.load(b + inner[:, None] * b_row + col[None, :] * b_col, mask=(inner[:, None] < k) & (col[None, :] < n), other=0.0)
            total = tl.dot(x, y, total, input_precision=PRECISION, out_dtype=SUMS)
        to = c + row[:, None] * n + col[None, :]
        inside = (row[:, None] < m) & (col[None, :] < n)
        if PARTS == 1:
            tl.store(to, total.to(c.dtype.element_ty), mask=inside)
        else:
            tl.atomic_add(to, total.to(c.dtype.element_ty), mask=inside)


def of_triton(draw):
    type, precision, sums, results, word = draw.random.choice((
        ("bf16", "tf32", tl.float32, ["bf16", "f32"], ""), ("f16", "tf32", tl.float32, ["f16", "f32"], ""),
        ("f16", "tf32", tl.float16, ["f16"], "sums=f16"), ("f32", "tf32", tl.float32, ["f32"], "tf32"), ("f32", "tf32x3", tl.float32, ["f32"], "tf32x3"),
        ("f32", "ieee", tl.float32, ["f32"], ""), ("i8", "tf32", tl.int32, ["i32"], ""), ("e4m3", "tf32", tl.float32, ["f16", "f32"], "fast")))
    if precision == "ieee" and draw.part == "large":
        draw.m, draw.n = draw.m // 4 + 1, draw.n // 4 + 1
    draw.on(Gpu)
    a, b = draw.operands(type)
    c_type = draw.random.choice(results)
    rows, cols, depth = draw.random.choice(((32, 32, 32), (64, 32, 32)) if precision == "ieee" else ((16, 32, 32), (64, 64, 32), (128, 64, 64), (64, 128, 32)))
    parts = 1 if c_type == "bf16" else draw.random.choice((1, 1, 4))
    words = [word] * bool(word) + [f"parts={parts}"] * (parts > 1 and c_type == "f16")
    c = draw.numbers.full((draw.m, draw.n), 0 if parts > 1 else 77, c_type)
    dots[(triton.cdiv(draw.m, rows), triton.cdiv(draw.n, cols), parts)](
        a, b, c, draw.m, draw.n, draw.k, *a.stride(), *b.stride(), rows, cols, depth, parts, precision, sums, num_stages=2)
    yield Product(c, a, b, ",".join(words), {}, f"{precision}, tile {rows} × {cols} × {depth}, {parts} parts")


def of_jax(draw):
    few = random.Random(f"{flags.seed}:{draw.part}:{draw.random.randrange(12 if draw.part == 'small' else 3)}")  # a shape is compiled for long
    draw.m, draw.n, draw.k = (round(2 ** few.uniform(*((1, 9) if draw.part == "small" else (10, 12.5)))) for _ in range(3))
    draw.on(Gpu)
    type = draw.random.choice(("f32", "f32", "f64", "bf16", "f16", "i8"))
    a, b = (jax.dlpack.from_dlpack(draw.numbers.packed(draw.numbers.cast(x, type))) for x in draw.values(type))
    precision = draw.random.choice(("default", "high", "highest"))
    word = {"f32": "" if precision == "highest" else "tf32", "bf16": "parts=16", "f16": "parts=16"}.get(type, "")
    c = jax.numpy.matmul(a, b, precision=precision, preferred_element_type="int32" if type == "i8" else None)
    yield Product(c, a, b, word, {}, f"precision {precision}")


def of_tessera(draw):
    draw.on(Gpu if torch else Host)
    type = draw.random.choice(draw.numbers.types + (("e4m3",) if torch else ()))
    a, b = draw.operands(type)
    options, c_type = {}, "i32" if type == "i8" else type
    if type in ("bf16", "f16", "e4m3"):
        c_type = options["output_element"] = draw.random.choice((type if type != "e4m3" else "bf16", "f32"))
    if type == "f32":
        options["compute"] = draw.random.choice(("strict", "tf32", "tf32x3", "bf16x6", "f16x3"))
    if type == "e4m3":
        options["accumulate"] = draw.random.choice(("promote", "fast"))
    if c_type != "i32":
        options |= draw.addends(c_type) if draw.random.random() < 0.3 else {}
        if draw.random.random() < 0.3:
            options["bias"] = draw.numbers.cast(draw.numbers.normal(draw.n), c_type)
        if draw.random.random() < 0.2:
            options["activation"] = draw.random.choice(("relu", "gelu", "gelu-tanh", "silu"))
    yield Product(ts.matmul(a, b, **options), a, b, "", options)


# --- mutants ---

def computed(numbers, type, a, b, options, sums=None):
    """Returns the product with its epilogue: sums in f32 (f64, i32), or each rounded to `sums`."""
    wide, c_type = "f64" if type in ("f64", "i8") else "f32", "i32" if type == "i8" else type
    x, y = numbers.cast(a, wide), numbers.cast(b, wide)
    total = numbers.cast(x[:, :1] @ y[:1] if sums else x @ y, wide)
    for l in range(1, a.shape[1] if sums else 0):
        total = numbers.cast(numbers.cast(total + x[:, l:l + 1] * y[l:l + 1], sums), wide)
    total = total * options.get("alpha", 1)
    if "scale_a" in options:
        total = total * options["scale_a"][:, None] * options["scale_b"]
    if "C0" in options:
        total = total + options["beta"] * numbers.cast(options["C0"], wide)
    if "bias" in options:
        total = total + numbers.cast(options["bias"], wide)
    return numbers.cast(total * (total > 0) if "activation" in options else total, c_type)


class Mutant:
    """A right product, and the damaged ones that are made of it."""

    def __init__(self, draw, needs):
        numbers, choose = draw.numbers, draw.random
        self.numbers, self.random = numbers, choose
        named = [one for one in needs.split() if one in TYPES]
        self.type = named[0] if named else choose.choice([one for one in numbers.types if not ("relu" in needs or "scales" in needs) or one not in ("i8", "f64")])
        if "square" in needs:
            draw.m = draw.n = draw.k
        if "long" in needs:
            draw.k += 200
        draw.kind = choose.choice(KINDS[:2])
        self.a, self.b = draw.operands(self.type)
        self.k, self.options = draw.k, {}
        c_type = "i32" if self.type == "i8" else self.type
        if "C0" in needs:
            self.options = {**draw.addends(c_type), "alpha": 3, "beta": 2}
        if "bias" in needs:
            self.options["bias"] = numbers.cast(numbers.normal(draw.n) * draw.k ** 0.5 * (100 if c_type == "i32" else 1), c_type)
        if "scales" in needs:
            self.options |= {"scale_a": numbers.cast(numbers.uniform(draw.m) + 0.25, "f32"), "scale_b": numbers.cast(numbers.uniform(draw.n) + 0.25, "f32")}
        if "relu" in needs:
            self.options["activation"] = "relu"
        self.right = computed(numbers, self.type, self.a, self.b, self.options)

    def again(self, a=None, b=None, sums=None, **changed):
        options = {name: value for name, value in {**self.options, **changed}.items() if value is not None}
        return computed(self.numbers, self.type, self.a if a is None else a, self.b if b is None else b, options, sums)

    def slice(self):
        width = 8 << self.random.randrange(3)
        first = self.random.randrange(max(1, self.k // width)) * width
        return slice(first, first + width)

    def without(self, part):
        a = self.numbers.library.concatenate((self.a, self.a[:, :0]), 1)  # a copy
        a[:, part] = 0
        return a

    def twice(self, part):
        join = self.numbers.library.concatenate
        return self.again(join((self.a, self.a[:, part]), 1), join((self.b, self.b[part]), 0))

    def shifted(self, x, axis):
        return self.numbers.library.roll(x, self.random.choice((1, -1)), axis)

    def along_k(self):
        a = self.shifted(self.a, 1)
        a[:, 0 if bool((a[:, 1] == self.a[:, 0]).all()) else -1] = 0
        return self.again(a)

    def shortened(self, bits):
        """Computes with f32 operands of fewer bits; TF32 sometimes by PyTorch."""
        lib = self.numbers.library
        if bits == 13 and torch and self.random.random() < 0.5:
            switched(tf32=True)
            c = self.again()
            switched()
            return c
        return self.again(*((x.view(lib.int32) & -(1 << bits)).view(lib.float32) for x in map(self.numbers.packed, (self.a, self.b))))

    def short_sums(self, type):
        if type == "f16" and torch and self.random.random() < 0.5:
            switched(short_sums=True)
            c = torch.mm(self.a, self.b)
            switched()
            return c
        return self.again(sums=type)

    def tiles(self, wrong):
        """Returns the right product with one or two tiles of another one."""
        c = self.right * 1
        for _ in range(self.random.randrange(1, 3)):
            rows, cols = (self.random.choice((16, 32, 64)) for _ in range(2))
            i, j = (self.random.randrange((extent + step - 1) // step) * step for extent, step in zip(c.shape, (rows, cols)))
            c[i:i + rows, j:j + cols] = wrong[i:i + rows, j:j + cols]
        return c

    def filled(self, value):
        return self.tiles(self.numbers.full(tuple(self.right.shape), value, "i32" if self.type == "i8" else self.type))

    def one(self):
        c = self.right * 1
        i, j = (self.random.randrange(extent) for extent in c.shape)
        change = 2.0 ** self.random.uniform(-12, 4) * max(1.0, abs(float(c[i, j])))
        c[i, j] = float(c[i, j]) + (math.ceil(change) if self.type == "i8" else change)
        return c


# Each kind, the words of which the cause has one, what the product needs, and the damage.
MUTANTS = (
    ("tail of k missing", ["tail of k is missing"], "", lambda z: z.again(z.without(slice(z.k - z.random.randrange(1, 40) % z.k, None)))),
    ("first products missing", ["missing"], "", lambda z: z.again(z.without(slice(0, z.random.choice((8, 16)))))),
    ("slice of k missing", ["missing"], "", lambda z: z.again(z.without(z.slice()))),
    ("slice of k twice", ["added twice"], "", lambda z: z.twice(z.slice())),
    ("A transposed", ["A is transposed"], "square", lambda z: z.again(a=z.a.T)),
    ("B transposed", ["B is transposed"], "square", lambda z: z.again(b=z.b.T)),
    ("C transposed", ["C is transposed", "A and B are transposed"], "square", lambda z: z.numbers.packed(z.right.T)),
    ("A a row off", ["A is shifted", "C is shifted"], "", lambda z: z.again(a=z.shifted(z.a, 0))),
    ("B a column off", ["B is shifted", "C is shifted"], "", lambda z: z.again(b=z.shifted(z.b, 1))),
    ("A off along k", ["along k"], "", lambda z: z.along_k()),
    ("C0 forgotten", ["C0 is forgotten"], "C0", lambda z: z.again(C0=None)),
    ("C0 twice", ["C0 is applied twice"], "C0", lambda z: z.again(beta=4)),
    ("alpha forgotten", ["α is forgotten"], "C0", lambda z: z.again(alpha=1)),
    ("bias forgotten", ["bias is forgotten"], "bias", lambda z: z.again(bias=None)),
    ("bias twice", ["bias is applied twice"], "bias", lambda z: z.again(bias=2 * z.options["bias"])),
    ("scale forgotten", ["scale of A is forgotten"], "scales", lambda z: z.again(scale_a=z.options["scale_a"] * 0 + 1)),
    ("scale twice", ["scale of B is applied twice"], "scales", lambda z: z.again(scale_b=z.options["scale_b"] ** 2)),
    ("activation forgotten", ["activation is forgotten"], "relu", lambda z: z.again(activation=None)),
    ("sums in f16", ["sums are kept in f16", "rounded to f16"], "f16 long", lambda z: z.short_sums("f16")),
    ("sums in bf16", ["sums are kept in bf16", "rounded to bf16"], "bf16 long", lambda z: z.short_sums("bf16")),
    ("TF32 for f32", ["TF32"], "f32", lambda z: z.shortened(13)),
    ("bf16 for f32", ["products of bf16"], "f32", lambda z: z.shortened(16)),
    ("sums of i8 in 16 bits", ["wrap at 16 bits"], "i8", lambda z: z.numbers.cast((z.right + 32768) % 65536 - 32768, "i32")),
    ("zeros left", ["never written"], "", lambda z: z.filled(0)),
    ("garbage left", ["never written"], "", lambda z: z.filled(-107)),
    ("C0 left", ["never written"], "C0", lambda z: z.tiles(z.options["C0"])),
    ("NaN tile", ["NaN"], "f32", lambda z: z.filled(math.nan)),
    ("one wrong element", ["one wrong element"], "", lambda z: z.one()))


def ratio_of(found):
    return math.inf if found.error_over_bound is None else found.error_over_bound


def worst_ratio(z, wrong):
    """Returns how many bounds the element errs that differs most from the right product; 0: none differs."""
    numbers = z.numbers
    apart = abs(numbers.cast(wrong, "f64") - numbers.cast(z.right, "f64"))
    apart[apart != apart] = math.inf
    i, j = divmod(int(apart.argmax()), wrong.shape[1])
    if float(apart[i, j]) == 0:
        return 0
    cut = {"C0": lambda x: x[i:i + 1, j:j + 1], "bias": lambda x: x[j:j + 1], "scale_a": lambda x: x[i:i + 1], "scale_b": lambda x: x[j:j + 1]}
    options = {name: cut.get(name, lambda x: x)(value) for name, value in z.options.items()}
    return ratio_of(ts.check(wrong[i:i + 1, j:j + 1], z.a[i:i + 1], z.b[:, j:j + 1], **options))


def one_mutant(at, counts):
    kind, words, needs, damage = MUTANTS[at % len(MUTANTS)]
    draw = Draw("mutant", at)
    draw.on(Gpu if torch else Host)
    if "bf16" in needs.split() and not torch:
        return
    z = Mutant(draw, needs)
    accepted(draw, Product(z.right, z.a, z.b, "", z.options, f"before the damage: {kind}"), "right products of mutants")
    wrong = damage(z)
    if draw.random.random() < 0.3 and kind != "one wrong element":
        wrong = z.tiles(wrong)
    ratio = worst_ratio(z, wrong)
    if ratio == 0:
        return
    found = ts.check(wrong, z.a, z.b, **z.options)
    named = not found and any(word in found.cause for word in words)
    for of in (kind, "worst element above 4 bounds" if ratio > 4 else "worst element below 4 bounds"):
        for i, holds in enumerate((True, not found, named)):
            counts[of][i] += holds
    if ratio > 4 and not named:
        print(f"\n{'not found' if found else 'not named'}: mutant:{at}, {kind}, {z.type}, {draw.m} × {draw.n} × {draw.k}, error {ratio:.3g} bounds\n{found.text}")


# --- the runs ---

counts, failures, alarms = collections.Counter(), collections.Counter(), []


def failed(who, error):
    name = f"{who}: {type(error).__name__}: {str(error).strip().splitlines()[0][:200] if str(error).strip() else ''}"
    if not failures[name]:
        print(f"error: {name}", flush=True)
    failures[name] += 1
    if len(failures) > 200 or "illegal memory access" in name:
        sys.exit(f"check_zoo: {name}; the GPU or the program is broken")


def to_host(x):
    if torch and isinstance(x, torch.Tensor):
        x = x.cpu()
        return x if x.dtype in (torch.bfloat16, torch.float8_e4m3fn) else x.numpy()
    return numpy.asarray(x) if hasattr(x, "__array__") and hasattr(x, "shape") else x


def accepted(draw, product, library):
    where = "as it lies"
    if torch and draw.random.random() < 0.125:
        where, product = "copied to the host", product._replace(**{name: to_host(getattr(product, name)) for name in "cab"},
                                                               options={name: to_host(value) for name, value in product.options.items()})
    shown = {name: value if isinstance(value, (int, float, str)) else "drawn" for name, value in product.options.items()}
    told = (f"{draw.part}:{draw.at} with --seed {flags.seed}, {library}: {draw.m} × {draw.n} × {draw.k}, {draw.kind} data, {where}, arithmetic "
            f"'{product.arithmetic}', options {shown}, {product.note}, strides {[getattr(x, 'strides', None) or getattr(x, 'stride', tuple)() for x in product[:3]]}")
    try:
        found = ts.check(product.c, product.a, product.b, arithmetic=product.arithmetic, **product.options)
    except Exception as error:
        alarms.append(told)
        print(f"\nthe check fails: {type(error).__name__}: {error}\n  {told}", flush=True)
        return
    counts[library, re.sub(r"up to \d+ parts", "parts", found.arithmetic)] += 1
    counts["all", draw.kind if library in PRODUCTS else "mutants"] += 1
    if not found:
        alarms.append(told)
        print(f"\nfalse alarm: {told}\n{found.text}", flush=True)


PRODUCTS = {"numpy": of_numpy, "torch": of_torch, "cublaslt": of_cublaslt, "triton": of_triton, "jax": of_jax, "tessera": of_tessera}
available = [name for name in flags.libraries.split(",") if (torch or name in ("numpy", "tessera")) and name not in missing]


def one_product(part, at):
    draw = Draw(part, at)
    library = draw.random.choice(available)
    try:
        for product in PRODUCTS[library](draw):
            accepted(draw, product, library)
    except Exception as error:
        failed(library, error)


def main():
    for name, reason in missing.items():
        print(f"left out: {name} ({reason})")
    found = collections.defaultdict(lambda: [0, 0, 0])
    if flags.only:
        part, at = flags.only.split(":")
        runs = {part: range(int(at), int(at) + 1)}
    else:
        runs = {"small": range(10 ** 9), "large": range(flags.large), "mutant": range(flags.mutants)}
    for part, numbers in runs.items():
        started, done, before = time.monotonic(), 0, sum(n for (library, _), n in counts.items() if library != "all")
        for at in numbers:
            if time.monotonic() - started > flags.seconds:
                break
            if part == "mutant":
                try:
                    one_mutant(at, found)
                except Exception as error:
                    failed(f"mutant:{at}, {MUTANTS[at % len(MUTANTS)][0]}", error)
            else:
                one_product(part, at)
            done += 1
        checked = sum(n for (library, _), n in counts.items() if library != "all") - before
        print(f"{part}: {done} drawn, {checked} right products checked in {time.monotonic() - started:.0f} s, {len(alarms)} alarms so far", flush=True)
    for (library, what), count in sorted(counts.items()):
        print(f"{library:28} {what:72} {count:8}")
    for kind, (all, seen, named) in found.items():
        print(f"{kind:28} {seen:6} of {all} found, {named} named")
    for name, count in failures.items():
        print(f"{count:8} times {name}")
    large = found["worst element above 4 bounds"]
    short = large[1] < 0.99 * large[0] or large[2] < 0.9 * large[0]
    if short:
        print("fewer mutants are found or named than promised")
    print(f"{len(alarms)} false alarms")
    return 1 if alarms or short or any(name.startswith("mutant") for name in failures) else 0


sys.exit(main())
