#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws products of NumPy, PyTorch, cuBLASLt, Triton, JAX and Tessera, which tessera.check() must accept, and damaged ones, which it must find
and name. Libraries that are missing are left out; without a GPU, NumPy and Tessera remain.
Draws --small products of up to 512 rows and columns, --large of 1024 to 8192, and --mutants damaged ones, each part for at most --seconds.
A product depends on the seed and its number only: --only small:17 repeats one. Exits with 1 after a false alarm or an error of the check, and if
fewer than 99 % of the damaged products whose worst element errs by more than 4 bounds are found, or fewer than 90 % named."""
import argparse
import collections
import ctypes
import importlib
import math
import os
import random
import re
import sys
import time
import warnings

import numpy

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--package", default="", help="folder that holds the package, such as build/python")
for name, default in (("seed", 1), ("seconds", 5.0), ("small", 10 ** 9), ("large", 0), ("mutants", 0), ("libraries", "numpy,torch,cublaslt,triton,jax,tessera")):
    parser.add_argument(f"--{name}", type=type(default), default=default)
parser.add_argument("--only", help="PART:NUMBER, where the part is small, large or mutant")
flags = parser.parse_args()
sys.path[:0] = [os.path.abspath(flags.package)] * bool(flags.package)
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
warnings.simplefilter("ignore")
numpy.seterr(all="ignore")


def imported(name):
    try:
        return importlib.import_module(name)
    except Exception as error:
        print(f"left out: {name} ({error})")
    return None


torch = imported("torch")
if torch and not torch.cuda.is_available():
    print("left out: torch (it finds no GPU)")
    torch = None
jax, triton = (imported(name) if torch else None for name in ("jax", "triton"))
if jax:
    jax.config.update("jax_enable_x64", True)
if triton:
    import triton.language as tl
import tessera as ts  # noqa: E402

TYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "e4m3": "float8_e4m3fn", "i8": "int8", "i32": "int32"}
KINDS = ("normal", "uniform", "cancelling", "wide", "special", "subnormal")
SUBNORMAL = {"f16": 16, "e4m3": 8, "f64": 1030, "f32": 130, "bf16": 130}  # numbers of 2^-SUBNORMAL are
BITS = {"f64": 52, "f32": 23, "f16": 10, "bf16": 7, "i8": 0}
Product = collections.namedtuple("Product", "c a b arithmetic options note", defaults=({}, ""))


def type_of(lib, type):
    return getattr(lib, TYPES[type])


def cast(x, type):
    if isinstance(x, numpy.ndarray):
        return x.astype(TYPES[type])
    return (x.clamp(-448, 448) if type == "e4m3" else x).to(type_of(torch, type))


def packed(x):
    return numpy.ascontiguousarray(x) if isinstance(x, numpy.ndarray) else x.contiguous()


class Draw:
    """The random choices and numbers of one product. On a GPU PyTorch draws the numbers, else NumPy."""

    def __init__(self, part, at):
        self.random, self.part, self.at = random.Random(f"{flags.seed}:{part}:{at}"), part, at
        self.kind = self.random.choice(KINDS)
        low, high = {"small": (1, 512), "large": (1024, 8192), "mutant": (20, 80)}[part]
        if part == "mutant" and self.yes(0.2):  # beyond the size at which every element is compared
            low, high = (600, 2000) if torch else (560, 800)
        limits = ((16, 256), (16, 256), (16384, 131072)) if part == "large" and self.yes(0.15) else ((low, high),) * 3
        self.m, self.n, self.k = (round(math.exp(self.random.uniform(math.log(least), math.log(most)))) for least, most in limits)
        if self.yes(0.5):
            self.align()
        self.use(torch or numpy)

    def yes(self, chance):
        return self.random.random() < chance

    def align(self, least=1):
        self.m, self.n, self.k = (max(least, (x + 15) // 16) * 16 for x in (self.m, self.n, self.k))

    def use(self, lib):
        self.lib, seed = lib, self.random.getrandbits(40)
        self.types, self.where = ("f64", "f32", "f16", "i8") + ("bf16",) * (lib is not numpy), {} if lib is numpy else {"device": "cuda"}
        if lib is numpy:
            made = numpy.random.default_rng(seed)
            self.normal, self.uniform = (lambda *shape: made.standard_normal(shape)), (lambda *shape: made.random(shape))
            self.whole = lambda low, end, *shape: made.integers(low, end, shape)
        else:
            words = {"generator": torch.Generator("cuda").manual_seed(seed), **self.where}
            self.normal = lambda *shape: torch.randn(*shape, dtype=torch.float64, **words)
            self.uniform = lambda *shape: torch.rand(*shape, dtype=torch.float64, **words)
            self.whole = lambda low, end, *shape: torch.randint(low, end, shape, **words)

    def full(self, value, type):
        return self.lib.full((self.m, self.n), value, dtype=type_of(self.lib, type), **self.where)

    def values(self, type):
        kind, choose, shapes = self.kind, self.random, ((self.m, self.k), (self.k, self.n))
        of = self.uniform if kind == "uniform" else self.normal
        a, b = (self.whole(-127, 128, *shape) if type == "i8" else of(*shape) for shape in shapes)
        half = self.k // 2
        if kind == "cancelling":
            first, second = choose.choice(((slice(0, half), slice(half, 2 * half)), (slice(0, 2 * half, 2), slice(1, 2 * half, 2))))
            a[:, second], b[second] = a[:, first], -b[first]
        if kind == "wide" and type != "i8":
            reach = 3 if type == "e4m3" else choose.choice((6, 12))
            a, b = (x * 2.0 ** self.whole(-reach, reach + 1, *x.shape) for x in (a, b))
        elif kind == "subnormal" and type != "i8":
            least, both = SUBNORMAL[type], choose.choice((0, 0.5))
            a, b = a * 2.0 ** -int(least * (1 - both)), b * 2.0 ** -int(least * both)
        elif kind == "special" and type != "i8":
            for x in [a, b] * choose.randrange(1, 4):
                value = math.nan if type == "e4m3" else choose.choice((math.inf, -math.inf, math.nan))
                x[choose.randrange(x.shape[0]), choose.randrange(x.shape[1])] = value
        return a, b

    def operands(self, type):
        """Draws A and B in rows, in columns, or as a part of wider rows."""
        out = []
        for x in self.values(type):
            x, way = cast(x, type), self.random.randrange(4)
            if type == "e4m3":  # PyTorch and cuBLASLt take A in rows and B in columns only
                way = len(out)
            out.append(packed(x.T).T if way == 1 else self.lib.concatenate((x, x), 1)[:, :x.shape[1]] if way == 2 else x)
        return out

    def addends(self, type):
        c0 = cast(self.normal(self.m, self.n) * self.k ** 0.5, type)
        return {"alpha": self.random.choice((1, 0.5, -2)), "beta": self.random.choice((1, 0.5, -0.75)), "C0": c0}


# --- the libraries: each function yields products with the arithmetic that the library used ---

def of_numpy(draw):
    if draw.part == "large":
        draw.m, draw.n = min(draw.m, 1500), min(draw.n, 1500)
    draw.use(numpy)
    type = draw.random.choice(draw.types[:2] if draw.part == "large" else draw.types)  # products of f16 and i8 take too long
    a, b = draw.operands(type)
    yield Product(a.astype("int32") @ b.astype("int32") if type == "i8" else a @ b, a, b, "")


def switched(tf32=False, parts=False, short=False):
    """Sets what PyTorch may do: multiply f32 as TF32, round parts of sums to 16 bits, and add products of f16 in f16."""
    switches = torch.backends.cuda.matmul
    switches.allow_tf32 = tf32
    switches.allow_bf16_reduced_precision_reduction = switches.allow_fp16_reduced_precision_reduction = parts
    if hasattr(switches, "allow_fp16_accumulation"):
        switches.allow_fp16_accumulation = short


def of_torch(draw):
    type = draw.random.choice(("f32", "f32", "f64", "bf16", "bf16", "f16", "f16", "i8", "e4m3"))
    if type in ("i8", "e4m3"):
        draw.align(2)
    a, b = draw.operands(type)
    tf32, parts, short = type == "f32" and draw.yes(0.5), type in ("bf16", "f16") and draw.yes(0.5), type == "f16" and draw.yes(0.3)
    words, how, options = ["tf32"] * tf32 + ["parts=16"] * parts + ["sums=f16"] * short, draw.random.choice(("mm", "mm", "C0", "bias", "batch")), {}
    switched(tf32, parts, short)
    if type == "i8":
        c, how = torch._int_mm(a, b), "_int_mm"
    elif type == "e4m3":
        fast, rows = draw.yes(0.5), draw.yes(0.4)
        scales = [(draw.uniform(*size) + 0.25).float() for size in (((draw.m, 1), (1, draw.n)) if rows else ((1,), (1,)))]
        c = torch._scaled_mm(a, b, *scales, out_dtype=type_of(torch, "bf16" if rows else draw.random.choice(("bf16", "f16", "f32"))), use_fast_accum=fast)
        options = {"scale_a": scales[0].flatten(), "scale_b": scales[1].flatten(), **({} if rows else {"scale_a_per": "tensor", "scale_b_per": "tensor"})}
        words, how = ["fast"] * fast, "_scaled_mm"
    elif how == "C0":
        options = draw.addends(type)
        c = torch.addmm(options["C0"], a, b, alpha=options["alpha"], beta=options["beta"])
    elif how == "bias":
        options = {"bias": cast(draw.normal(draw.n), type)}
        c = torch.addmm(options["bias"], a, b)
    elif how == "batch":
        a = torch.stack((a, a.flip(0)))
        c = torch.bmm(a, b.expand(2, *b.shape))
    else:
        c = torch.mm(a, b)
    yield Product(c, a, b, ",".join(words), options, how)


class Algorithm(ctypes.Structure):  # cublasLtMatmulHeuristicResult_t
    _fields_ = [("algo", ctypes.c_uint64 * 8), ("workspace", ctypes.c_size_t), ("state", ctypes.c_int), ("waves", ctypes.c_float), ("reserved", ctypes.c_int * 4)]


def of_cublaslt(draw, kept={}):  # noqa: B006
    pointer, size = (lambda x: ctypes.c_void_p(x.data_ptr())), 64 << 20

    def status(name, *args):
        return getattr(kept["library"], "cublasLt" + name)(*args)

    def made(name, *args):
        out = ctypes.c_void_p()
        if code := status(name + "Create", ctypes.byref(out), *args):
            raise RuntimeError(f"cublasLt{name}Create returns {code}")
        return out

    def change(name, to, attribute, value):
        return status(name + "SetAttribute", to, attribute, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value)))

    def config(algo, attribute):
        value = ctypes.c_int32(-1)
        status("MatmulAlgoConfigGetAttribute", algo, attribute, ctypes.byref(value), ctypes.c_size_t(4), ctypes.byref(ctypes.c_size_t()))
        return value.value

    if not kept:
        with open("/proc/self/maps", encoding="utf-8") as maps:  # PyTorch has loaded it
            kept["library"] = ctypes.CDLL(next(line.split()[-1] for line in maps if "libcublasLt.so" in line))
        kept.update(handle=made(""), workspace=torch.empty(size, dtype=torch.uint8, device="cuda"))
    numbers = {"f32": 0, "f64": 1, "f16": 2, "i8": 3, "i32": 10, "bf16": 14, "e4m3": 28}  # cudaDataType
    # The types of A, of C, and of α and sums, cublasComputeType_t, and the check's word.
    type, results, scale, compute, word = draw.random.choice((
        ("f32", ["f32"], "f32", 68, ""), ("f32", ["f32"], "f32", 77, "tf32"), ("f64", ["f64"], "f64", 70, ""), ("bf16", ["bf16", "f32"], "f32", 68, ""),
        ("f16", ["f16", "f32"], "f32", 68, ""), ("f16", ["f16"], "f16", 64, "sums=f16"), ("i8", ["i32"], "i32", 72, ""),
        ("e4m3", ["bf16", "f16", "f32"], "f32", 68, ""), ("e4m3", ["bf16", "f16", "f32"], "f32", 68, "fast")))
    c_type, special = draw.random.choice(results), type in ("i8", "e4m3")
    if special:
        draw.align()
    a, b = draw.operands(type)
    if type == "i8":
        a, b = packed(a), packed(b.T).T
    options = draw.addends(c_type) if not special and draw.yes(0.4) else {}
    factors = [torch.full((1,), options.get(name, 1 - i), dtype=type_of(torch, scale)) for i, name in enumerate(("alpha", "beta"))]
    operation, layouts = made("MatmulDesc", compute, numbers[scale]), []
    for i, (x, of) in enumerate(((b, type), (a, type), (options.get("C0", draw.full(0, c_type)), c_type))):  # Cᵀ = Bᵀ·Aᵀ, in columns
        by_rows = x.stride(1) == 1 and x.stride(0) >= x.shape[1]
        rows, cols, leading = (*x.shape[::-1], x.stride(0)) if by_rows else (*x.shape, x.stride(1))
        layouts.append(made("MatrixLayout", numbers[of], ctypes.c_uint64(rows), ctypes.c_uint64(cols), ctypes.c_int64(max(leading, rows))))
        if i < 2:
            change("MatmulDesc", operation, 3 + i, ctypes.c_int32(not by_rows))  # TRANSA, TRANSB
    if word == "fast":
        change("MatmulDesc", operation, 25, ctypes.c_int8(1))  # FAST_ACCUM
    problem = (operation, *layouts, layouts[2])
    preference, offered, count = made("MatmulPreference"), (Algorithm * 100)(), ctypes.c_int()
    change("MatmulPreference", preference, 1, ctypes.c_uint64(size))  # MAX_WORKSPACE_BYTES
    if code := status("MatmulAlgoGetHeuristic", kept["handle"], *problem, preference, 100, offered, ctypes.byref(count)):
        failures[f"cublaslt: GetHeuristic returns {code} for {type} to {c_type}"] += 1
    algorithms = [one for one in offered[:count.value] if one.state == 0]
    for one in algorithms[:]:  # some of them with another number of parts of k, and another reduction
        if draw.yes(0.3):
            other, answer = (ctypes.c_uint64 * 8)(*one.algo), Algorithm()
            change("MatmulAlgoConfig", other, 2, ctypes.c_int32(draw.random.choice((2, 3, 5, 16))))
            change("MatmulAlgoConfig", other, 3, ctypes.c_uint32(draw.random.choice((1, 2, 4))))
            if status("MatmulAlgoCheck", kept["handle"], *problem, other, ctypes.byref(answer)) == 0 and answer.workspace <= size:
                algorithms.append(Algorithm(other))
    for place, one in enumerate(algorithms if draw.part == "small" else draw.random.sample(algorithms, min(len(algorithms), 6))):
        c = draw.full(77 if type == "i8" else math.nan, c_type)
        code = status("Matmul", kept["handle"], operation, pointer(factors[0]), pointer(b), layouts[0], pointer(a), layouts[1], pointer(factors[1]),
                      pointer(options.get("C0", c)), layouts[2], pointer(c), layouts[2], one.algo, pointer(kept["workspace"]), ctypes.c_size_t(size),
                      ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        if code:
            failures[f"cublaslt: Matmul returns {code}"] += 1
            continue
        parts, reduction = config(one.algo, 2), config(one.algo, 3)
        rounded = c_type in ("f16", "bf16") and parts > 1 and reduction in (1, 4)  # in C, or as C's type
        words = [word] * bool(word) + [f"parts={parts}"] * rounded
        note = f"algorithm {config(one.algo, 0)}, number {place} of the offered, tile {config(one.algo, 1)}, {parts} parts, reduction {reduction}"
        yield Product(c, a, b, ",".join(words), options, note)
    for name, one in (("MatmulPreference", preference), ("MatmulDesc", operation), *(("MatrixLayout", one) for one in layouts)):
        status(name + "Destroy", one)


if triton:
    @triton.jit(do_not_specialize=["m", "n", "k", "a_row", "a_col", "b_row", "b_col"])
    def dots(a, b, c, m, n, k, a_row, a_col, b_row, b_col, ROWS: tl.constexpr, COLS: tl.constexpr, DEPTH: tl.constexpr, PARTS: tl.constexpr,
             PRECISION: tl.constexpr, SUMS: tl.constexpr):
        row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
        col = tl.program_id(1).to(tl.int64) * COLS + tl.arange(0, COLS)[None, :]
        total = tl.zeros((ROWS, COLS), dtype=SUMS)
        for first in range(tl.program_id(2) * DEPTH, k, DEPTH * PARTS):
            inner = (first + tl.arange(0, DEPTH)).to(tl.int64)
            x = tl.load(a + row * a_row + inner[None, :] * a_col, mask=(row < m) & (inner[None, :] < k), other=0.0)
            y = tl.load(b + inner[:, None] * b_row + col * b_col, mask=(inner[:, None] < k) & (col < n), other=0.0)
            total = tl.dot(x, y, total, input_precision=PRECISION, out_dtype=SUMS)
        if PARTS == 1:
            tl.store(c + row * n + col, total.to(c.dtype.element_ty), mask=(row < m) & (col < n))
        else:
            tl.atomic_add(c + row * n + col, total.to(c.dtype.element_ty), mask=(row < m) & (col < n))


def of_triton(draw):
    type, precision, sums, results, word = draw.random.choice((
        ("bf16", "tf32", tl.float32, ["bf16", "f32"], ""), ("f16", "tf32", tl.float32, ["f16", "f32"], ""), ("f16", "tf32", tl.float16, ["f16"], "sums=f16"),
        ("f32", "tf32", tl.float32, ["f32"], "tf32"), ("f32", "tf32x3", tl.float32, ["f32"], "tf32x3"), ("f32", "ieee", tl.float32, ["f32"], ""),
        ("i8", "tf32", tl.int32, ["i32"], ""), ("e4m3", "tf32", tl.float32, ["f16", "f32"], "fast")))
    tiles = ((32, 32, 32),) if precision == "ieee" else ((16, 64, 32), (128, 64, 64))
    if precision == "ieee" and draw.part == "large":
        draw.m, draw.n = draw.m // 4 + 1, draw.n // 4 + 1
    (a, b), c_type, tile = draw.operands(type), draw.random.choice(results), draw.random.choice(tiles)
    parts = 1 if c_type == "bf16" else draw.random.choice((1, 1, 4))
    c = draw.full(77 if parts == 1 else 0, c_type)
    dots[(triton.cdiv(draw.m, tile[0]), triton.cdiv(draw.n, tile[1]), parts)](
        a, b, c, draw.m, draw.n, draw.k, *a.stride(), *b.stride(), *tile, parts, precision, sums, num_stages=2)
    words = [word] * bool(word) + [f"parts={parts}"] * (parts > 1 and c_type == "f16")
    yield Product(c, a, b, ",".join(words), {}, f"{precision}, tile {tile}, {parts} parts")


def of_jax(draw):
    few = random.Random(f"{flags.seed}:{draw.part}:{draw.random.randrange(6 if draw.part == 'small' else 3)}")  # each shape is compiled
    draw.m, draw.n, draw.k = (round(2 ** few.uniform(*((1, 9) if draw.part == "small" else (10, 12.5)))) for _ in range(3))
    type = draw.random.choice(("f32", "f32", "f64", "bf16", "f16", "i8"))
    if type == "i8":  # JAX 0.11.2 returns twice the product of i8 matrices such as 21 × 57 and 57 × 6
        draw.m, draw.n, draw.k = (max(64, size // 64 * 64) for size in (draw.m, draw.n, draw.k))
    precision = draw.random.choice(("default", "high", "highest")) if type == "f32" else None
    a, b = (jax.numpy.from_dlpack(packed(cast(x, type))) for x in draw.values(type))
    c = jax.numpy.matmul(a, b, precision=precision, preferred_element_type=numpy.int32 if type == "i8" else None)
    word = {"f32": "" if precision == "highest" else "tf32", "bf16": "parts=16", "f16": "parts=16"}.get(type, "")
    yield Product(c, a, b, word, {}, f"precision {precision}")


def of_tessera(draw):
    choice = draw.random.choice
    type = choice(draw.types + ("e4m3",) * (draw.lib is not numpy))
    (a, b), options, c_type = draw.operands(type), {}, "i32" if type == "i8" else type
    if type in ("bf16", "f16", "e4m3"):
        c_type = options["output_element"] = choice((type.replace("e4m3", "bf16"), "f32"))
    if type in ("f32", "e4m3"):
        options |= {"compute": choice(("strict", "tf32", "tf32x3", "bf16x6", "f16x3"))} if type == "f32" else {"accumulate": choice(("promoted", "fast"))}
    if c_type != "i32":
        options |= (draw.addends(c_type) if draw.yes(0.3) else {}) | ({"bias": cast(draw.normal(draw.n), c_type)} if draw.yes(0.3) else {}) | (
            {"activation": choice(("relu", "gelu", "gelu-tanh", "silu"))} if draw.yes(0.2) else {})
    yield Product(ts.matmul(a, b, **options), a, b, "", options)


PRODUCTS = {"numpy": of_numpy, "torch": of_torch, "cublaslt": of_cublaslt, "triton": of_triton, "jax": of_jax, "tessera": of_tessera}
available = [name for name in flags.libraries.split(",") if name in ("numpy", "tessera") or {"jax": jax, "triton": triton}.get(name, torch)]
counts, failures, alarms, misses = (collections.Counter() for _ in range(4))
broken = re.compile("illegal memory access|launch failure|device-side assert|misaligned address")  # after these the CUDA context is unusable


def to_host(x):
    if torch and isinstance(x, torch.Tensor):
        return x.cpu() if x.dtype in (torch.bfloat16, type_of(torch, "e4m3")) else x.cpu().numpy()
    return numpy.asarray(x) if hasattr(x, "shape") else x


def accepted(draw, product, library):
    on_host = torch and draw.yes(0.125)
    c, a, b, options = product.c, product.a, product.b, product.options
    if on_host:
        c, a, b, *options = map(to_host, (c, a, b, *options.values()))
        options = dict(zip(product.options, options))
    strides = [x.stride() if hasattr(x, "stride") else getattr(x, "strides", None) for x in (c, a, b)]
    shown = {name: "drawn" if hasattr(x, "shape") else x for name, x in options.items()}
    told = (f"{draw.part}:{draw.at} of --seed {flags.seed}: {library}, {draw.m} × {draw.n} × {draw.k}, {draw.kind} data, arithmetic '{product.arithmetic}', "
            f"options {shown}, {product.note}, strides {strides}" + ", on the host" * bool(on_host))
    arithmetic, answer, cause = "", "", ""
    try:
        found = ts.check(c, a, b, arithmetic=product.arithmetic, **options)
        arithmetic = re.sub(r"up to \d+ parts", "parts", found.arithmetic)
        answer, cause = "" if found else found.text, found.cause.partition(" (")[0] or "no cause"
    except Exception as error:
        answer, cause = f"the check fails: {type(error).__name__}: {error}", "the check fails"
        if broken.search(answer):
            raise
    counts[library, arithmetic] += 1
    counts["data", draw.kind] += 1
    if answer:
        alarm = f"{library}, {arithmetic or product.arithmetic}, {draw.kind} data: " + re.sub(r"-?[\d.]+(e[-+]\d+)?", "#", cause)
        alarms[alarm] += 1
        if alarms[alarm] <= 2:
            print(f"\nfalse alarm: {told}\n{answer}", flush=True)


# --- mutants ---

class Mutant:
    """A right product, from which damaged ones are made."""

    def __init__(self, draw, needs):
        self.lib, self.random = draw.lib, draw.random
        if torch:
            switched()
        named = [one for one in needs if one in TYPES]
        self.type = named[0] if named else draw.random.choice([one for one in draw.types if one not in ("i8", "f64") or not {"relu", "scales"} & set(needs)])
        self.c_type, self.wide = "i32" if self.type == "i8" else self.type, "f64" if self.type in ("f64", "i8") else "f32"
        if "square" in needs:
            draw.m = draw.n = draw.k
        draw.k += 200 * ("long" in needs)
        draw.kind = draw.random.choice(KINDS[:2])
        self.a, self.b = draw.operands(self.type)
        self.k, self.full = draw.k, lambda value: draw.full(value, self.c_type)
        self.o = {**draw.addends(self.c_type), "alpha": 3, "beta": 2} if "C0" in needs else {"activation": "relu"} if "relu" in needs else {}
        if "bias" in needs:
            self.o = {"bias": cast(draw.normal(draw.n) * draw.k ** 0.5 * (100 if self.type == "i8" else 1), self.c_type)}
        if "scales" in needs:
            self.o = {name: cast(draw.uniform(extent) + 0.25, "f32") for name, extent in (("scale_a", draw.m), ("scale_b", draw.n))}
        self.right = self.again()

    def again(self, a=None, b=None, sums=None, **changed):
        """Computes the product with other operands or options; each sum of products is rounded to `sums`."""
        o, wide = {**self.o, **changed}, self.wide
        x, y = cast(self.a if a is None else a, wide), cast(self.b if b is None else b, wide)
        total = x[:, :1] @ y[:1] if sums else x @ y
        for l in range(1, self.k if sums else 0):
            total = cast(cast(total + x[:, l:l + 1] * y[l:l + 1], sums), wide)
        total = total * o.get("alpha", 1)
        if "scale_a" in o:
            total = total * o["scale_a"][:, None] * o["scale_b"]
        if "C0" in o:
            total = total + o["beta"] * cast(o["C0"], wide)
        if "bias" in o:
            total = total + cast(o["bias"], wide)
        return cast(total * (total > 0) if o.get("activation") else total, self.c_type)

    def slice(self):
        width = 8 << self.random.randrange(2)
        first = self.random.randrange(self.k // width) * width
        return slice(first, first + width)

    def without(self, part):
        a = self.a * 1
        a[:, part] = 0
        return self.again(a)

    def twice(self, part):
        join = self.lib.concatenate
        return self.again(join((self.a, self.a[:, part]), 1), join((self.b, self.b[part]), 0))

    def shifted(self, x, axis, by=0):
        return self.lib.roll(x, by or self.random.choice((1, -1)), axis)

    def along_k(self):
        by = self.random.choice((1, -1))
        a = self.shifted(self.a, 1, by)
        a[:, 0 if by == 1 else -1] = 0
        return self.again(a)

    def shortened(self, bits):
        """Computes with operands that lose their last bits: PyTorch with TF32 in half of the cases."""
        if bits == 13 and torch and self.random.random() < 0.5:
            return switched(tf32=True) or self.again()
        lib = self.lib
        return self.again(*((packed(x).view(lib.int32) & -(1 << bits)).view(lib.float32) for x in (self.a, self.b)))

    def short_sums(self, type):
        if type == "f16" and torch and self.random.random() < 0.5:
            return switched(short=True) or torch.mm(self.a, self.b)
        return self.again(sums=type)

    def tiles(self, wrong):
        """Returns the right product with one or two tiles of another one."""
        c = self.right * 1
        for _ in range(self.random.randrange(1, 3)):
            rows, cols = (self.random.choice((16, 32, 64)) for _ in range(2))
            i, j = (self.random.randrange((extent + step - 1) // step) * step for extent, step in zip(c.shape, (rows, cols)))
            c[i:i + rows, j:j + cols] = wrong[i:i + rows, j:j + cols]
        return c

    def one(self):
        c = self.right * 1
        (i, j), unit = (self.random.randrange(extent) for extent in c.shape), 2.0 ** -BITS[self.type]
        c[i, j] = float(c[i, j]) + unit * math.ceil(max(abs(float(c[i, j])), 1) * 2.0 ** self.random.uniform(-BITS[self.type], 4) / unit)
        return c

    def worst_ratio(self, wrong):
        """Returns the error of the element that differs most from the right product, in bounds. Half a unit of C's 16 bits
        counts as a bound, too: the check's own bound is 0 where sums are nearly exact."""
        apart = abs(cast(wrong, "f64") - cast(self.right, "f64"))
        apart[apart != apart] = math.inf
        i, j = divmod(int(apart.argmax()), wrong.shape[1])
        cut = {"C0": lambda x: x[i:i + 1, j:j + 1], "bias": lambda x: x[j:j + 1], "scale_a": lambda x: x[i:i + 1], "scale_b": lambda x: x[j:j + 1]}
        options = {name: cut.get(name, lambda x: x)(x) for name, x in self.o.items()}
        ratio = ts.check(wrong[i:i + 1, j:j + 1], self.a[i:i + 1], self.b[:, j:j + 1], **options).error_over_bound
        ratio, error = math.inf if ratio is None else ratio, float(apart[i, j])
        if self.type in ("f16", "bf16") and error < math.inf:
            ratio = min(ratio, error * 2.0 ** (BITS[self.type] + 1) / max(abs(float(self.right[i, j])), 2.0 ** -14))
        return ratio if error else 0


# For each kind a pattern of the cause, the product's needs, and the damage.
MUTANTS = {
    "tail of k missing": ("tail of k is missing", "", lambda z: z.without(slice(z.k - z.random.randrange(1, min(z.k, 40)), None))),
    "first products missing": ("missing", "", lambda z: z.without(slice(0, z.random.choice((8, 16))))),
    "slice of k missing": ("missing", "", lambda z: z.without(z.slice())),
    "slice of k twice": ("added twice", "", lambda z: z.twice(z.slice())),
    "A transposed": ("A is transposed", "square", lambda z: z.again(a=z.a.T)),
    "B transposed": ("B is transposed", "square", lambda z: z.again(b=z.b.T)),
    "C transposed": ("C is transposed|A and B are transposed", "square", lambda z: packed(z.right.T)),
    "A a row off": ("A is shifted|C is shifted", "", lambda z: z.again(a=z.shifted(z.a, 0))),
    "B a column off": ("B is shifted|C is shifted", "", lambda z: z.again(b=z.shifted(z.b, 1))),
    "A off along k": ("along k", "", lambda z: z.along_k()),
    "C0 forgotten": ("C0 is forgotten", "C0", lambda z: z.again(beta=0)),
    "C0 twice": ("C0 is applied twice", "C0", lambda z: z.again(beta=4)),
    "α forgotten": ("α is forgotten", "C0", lambda z: z.again(alpha=1)),
    "bias forgotten": ("bias is forgotten", "bias", lambda z: z.again(bias=z.o["bias"] * 0)),
    "bias twice": ("bias is applied twice", "bias", lambda z: z.again(bias=2 * z.o["bias"])),
    "scale forgotten": ("scale of A is forgotten", "scales", lambda z: z.again(scale_a=z.o["scale_a"] * 0 + 1)),
    "scale twice": ("scale of B is applied twice", "scales", lambda z: z.again(scale_b=z.o["scale_b"] ** 2)),
    "activation forgotten": ("activation is forgotten", "relu", lambda z: z.again(activation=None)),
    "sums in f16": ("sums are kept in f16|rounded to f16", "f16 long", lambda z: z.short_sums("f16")),
    "sums in bf16": ("sums are kept in bf16|rounded to bf16", "bf16 long", lambda z: z.short_sums("bf16")),
    "TF32 for f32": ("TF32", "f32", lambda z: z.shortened(13)),
    "bf16 for f32": ("products of bf16", "f32", lambda z: z.shortened(16)),
    "sums of i8 in 16 bits": ("wrap at 16 bits", "i8", lambda z: cast((z.right + 32768) % 65536 - 32768, "i32")),
    "zeros left": ("never written", "", lambda z: z.tiles(z.full(0))),
    "garbage left": ("never written", "", lambda z: z.tiles(z.full(-107))),
    "C0 left": ("never written", "C0", lambda z: z.tiles(z.o["C0"])),
    "NaN tile": ("NaN", "f32", lambda z: z.tiles(z.full(math.nan))),
    "one wrong element": ("one wrong element", "", lambda z: z.one())}


def one_mutant(at, table):
    kind = list(MUTANTS)[at % len(MUTANTS)]
    words, needs, damage = MUTANTS[kind]
    draw = Draw("mutant", at)
    if needs.startswith("bf16") and draw.lib is numpy:
        return
    z = Mutant(draw, needs.split())
    accepted(draw, Product(z.right, z.a, z.b, "", z.o, f"before the damage '{kind}'"), "before damage")
    wrong = damage(z)
    if draw.yes(0.3) and kind != "one wrong element":
        wrong = z.tiles(wrong)
    ratio, found = z.worst_ratio(wrong), ts.check(wrong, z.a, z.b, **z.o)
    named = not found and re.search(words, found.cause) is not None
    seen = ratio > (math.inf if found.sees is None else found.sees)
    lines = [kind] + (["worst element above 4 bounds"] + ["and above what the check says it sees"] * seen if ratio > 4 else ["worst element below 4 bounds"])
    for line in lines if ratio > 0 else ():
        for i, holds in enumerate((True, not found, named)):
            table[line][i] += holds
    missed = ratio > 4 and not named
    misses[kind] += missed
    if missed and misses[kind] <= 2:
        print(f"\nnot {'found' if found else 'named'}: mutant:{at} of --seed {flags.seed}, {kind}, {z.type}, {draw.m} × {draw.n} × {draw.k}, "
              f"error {ratio:.3g} bounds\n{found.text}", flush=True)


def attempt(library, run):
    """Calls run(); counts an exception and prints it once. Returns False after an error that makes the GPU unusable."""
    try:
        run()
    except Exception as error:
        name = f"{library}: {type(error).__name__}: {str(error).strip().partition(chr(10))[0][:200]}"
        if not failures[name]:
            print(f"error: {name}", flush=True)
        failures[name] += 1
        return not broken.search(str(error))
    return True


def main():
    table = collections.defaultdict(lambda: [0, 0, 0])
    runs = {"small": range(flags.small), "large": range(flags.large), "mutant": range(flags.mutants)}
    if flags.only:
        part, at = flags.only.split(":")
        runs = {part: range(int(at), int(at) + 1)}
    works = True
    for part, numbers in runs.items():
        started, done = time.monotonic(), 0
        for at in numbers:
            if time.monotonic() - started > flags.seconds or not works:
                break
            if part == "mutant":
                works = attempt("mutant", lambda: one_mutant(at, table))
            elif (library := random.Random(f"{flags.seed}/{part}/{at}").choice(flags.libraries.split(","))) in available:
                works = attempt(library, lambda: [accepted(draw, product, library) for draw in [Draw(part, at)] for product in PRODUCTS[library](draw)])
            done += 1
        print(f"{part}: {done} drawn in {time.monotonic() - started:.0f} s; right products until now: {sum(counts.values()) // 2}, "
              f"false alarms: {sum(alarms.values())}", flush=True)
    for (library, what), count in sorted(counts.items()):
        print(f"{library:14} {what:72} {count:8}")
    for kind, (all_of_it, found, named) in table.items():
        print(f"{kind:38} {found:6} of {all_of_it} found, {named} named")
    for title, some in (("error", failures), ("false alarm", alarms)):
        for name, count in some.items():
            print(f"{count:6} times {title}: {name}")
    large, found, named = table["worst element above 4 bounds"]
    print(f"{sum(alarms.values())} false alarms")
    return 1 if not works or alarms or found < 0.99 * large or named < 0.9 * large or any(name.startswith("mutant") for name in failures) else 0


sys.exit(main())
