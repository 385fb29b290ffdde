# SPDX-License-Identifier: Apache-2.0
"""The matrix product, with the rules of NumPy's @, and the check of anybody's product."""
import json
import math
import types

from . import _tessera
from ._arrays import HOST, NAMES, as_numpy, broadcasted, cast, maker, packed, reshaped, row_major, stream_of, view_of
from ._functions import Operation

ORDER = ["bf16", "f16", "f32", "f64"]  # of promotion; bf16 and f16 together are f32


class Matmul(Operation):
    def compute(self, *args, **keywords):
        bound = self.bind(args, keywords)
        call = self.call_for(bound)
        call.plan()
        name, stack, shape, matrix = bound.product
        type = call.array("C").type
        view = self.output(bound, "C", shape, type)
        strides, aside = matrix_strides(view.strides, matrix, stack), None
        if strides is None:  # no single step leads from matrix to matrix
            aside = maker(bound.like(), shape, type)()
            view, strides = view_of("out", aside), matrix_strides(row_major(shape), matrix, stack)
        bound.views["C"] = reshaped(view, matrix, strides)
        call.set("C", bound.views["C"])
        work = 2.0 * math.prod(matrix) * bound.views["A"].shape[-1]
        self.launch(bound, call, work)
        if aside is not None:
            bound.outputs["C"][...] = aside
        elif not bound.copied and name == self.__name__:
            self.remember_call(bound, call, work)
        return bound.outputs["C"]

    def call_for(self, bound):
        bound.views = {name: view_of(name, array) for name, array in bound.arrays.items()}
        self.promote(bound, bound.views)
        bound.product = self.shapes(bound, bound.views)
        return self.call_of(bound, bound.product[0])

    def promote(self, bound, views):
        types = views["A"].type, views["B"].type
        if types[0] == types[1]:
            return
        if set(types) <= {"e4m3", "e5m2"}:
            bound.words["element-b"] = types[1]
            return
        if not set(types) <= set(ORDER):
            raise TypeError("matmul: A holds {} and B {}; cast one of them".format(*(NAMES.get(type, type) for type in types)))
        wanted = "f32" if set(types) == {"bf16", "f16"} else max(types, key=ORDER.index)
        for name in ("A", "B"):
            if views[name].type != wanted:
                bound.arrays[name] = cast(bound.arrays[name], wanted)
                views[name], bound.copied = view_of(name, bound.arrays[name]), True

    def shapes(self, bound, views):
        """Returns the operation and the shapes of the result: what the caller sees, and the operation's. Vectors and stacks
        become views as the operation takes them."""
        a, b = views["A"], views["B"]
        given = a.shape, b.shape
        if not (a.shape and b.shape):
            raise ValueError("matmul: A and B need at least one dimension")
        if len(a.shape) == 1:
            a = reshaped(a, (1, *a.shape), (max(1, a.shape[0] * a.strides[0]), *a.strides))
        if len(b.shape) == 1:
            b = reshaped(b, (*b.shape, 1), (*b.strides, 1))
        (m, k), (rows, n) = (view.shape[:-3:-1] if bound.words.get(word) == "transpose" else view.shape[-2:]
                             for view, word in ((a, "op-a"), (b, "op-b")))
        if k != rows:
            raise ValueError(f"matmul: A has the shape {given[0]} and B {given[1]}: {k} columns do not match {rows} rows")
        batch = broadcast(a.shape[:-2], b.shape[:-2], given)
        for name, view in (("A", a), ("B", b)):
            views[name] = self.stacked(bound, name, view, batch) if batch else view
        shape = (*batch, *((m,) if len(given[0]) > 1 else ()), *((n,) if len(given[1]) > 1 else ()))
        return "matmul_batch" if batch else "matmul", batch, shape, (*((math.prod(batch),) if batch else ()), m, n)

    def stacked(self, bound, name, view, batch):
        lead = view.shape[:-2]
        if not lead:
            return view  # one matrix for all
        steps = [step if size != 1 else 0 for size, step in zip(lead, view.strides)]
        step = collapsed(batch, [0] * (len(batch) - len(lead)) + steps)
        if step is None:
            view, step = view_of(name, broadcasted(bound.arrays[name], (*batch, *view.shape[-2:]))), view.shape[-2] * view.shape[-1]
            bound.copied = True
        return reshaped(view, (math.prod(batch), *view.shape[-2:]), (step, *view.strides[-2:]))


class Finding(types.SimpleNamespace):
    """What check() found: right, cause, text, wrong, first, error_over_bound, sees, arithmetic. True if C is right."""

    def __bool__(self):
        return self.right

    def __str__(self):
        return self.text


def check(C, A, B, *, arithmetic="", **options):
    """Says of a product, whoever computed it, if it is as right as its arithmetic allows. options: those of matmul, such as
    transposes, alpha, C0, bias, scales and activation. arithmetic: docs/check.md lists it; None: as Tessera computes. Arrays of
    a GPU are checked there."""
    from . import operations
    function = operations["matmul"]
    C = as_numpy(C) if isinstance(C, (list, tuple)) else C
    bound = function.bind((A, B), options)
    view = view_of("C", C)
    if view_of("A", bound.arrays["A"]).type not in ("f64", "f32", "i32"):
        bound.words.setdefault("output-element", view.type)
    call = function.call_for(bound)
    call.request("arithmetic", arithmetic or "")
    _, stack, shape, matrix = bound.product
    if tuple(view.shape) != tuple(shape):
        raise ValueError(f"C has the shape {tuple(view.shape)}, but the product has {tuple(shape)}")
    strides = matrix_strides(view.strides, matrix, stack)
    if strides is None:
        view, strides = view_of("C", packed(C)), matrix_strides(row_major(shape), matrix, stack)
    bound.views["C"] = reshaped(view, matrix, strides)
    call.set("C", bound.views["C"])
    device = function.device_of(bound)
    if device[0] != HOST:
        _tessera.synchronize(*device, stream_of(C))  # the check works in the default stream
    return Finding(**json.loads(call.check()))


def assert_matmul(C, A, B, **options):
    """Raises AssertionError, with the answer of check(), unless C is right."""
    __tracebackhide__ = True  # pytest shows the caller's line
    found = check(C, A, B, **options)
    if not found:
        raise AssertionError(found.text)


def broadcast(a, b, given):
    """Returns the common shape of two stacks, as NumPy finds it."""
    length, out = max(len(a), len(b)), []
    for x, y in zip((1,) * (length - len(a)) + a, (1,) * (length - len(b)) + b):
        if x != y and 1 not in (x, y):
            raise ValueError(f"matmul: the stacks of the shapes {given[0]} and {given[1]} cannot be broadcast together")
        out.append(y if x == 1 else x)
    return tuple(out)


def collapsed(shape, strides):
    """Returns the stride of these dimensions taken as one; None: they have none."""
    step, reach = None, None
    for size, stride in reversed([*zip(shape, strides)]):
        if size == 1:
            continue
        if reach is not None and stride != reach:
            return None
        step, reach = stride if step is None else step, stride * size
    return step or 0


def matrix_strides(strides, matrix, stack):
    """Returns the strides of a result, whose first `stack` dimensions are one in the operation's array; None: it has none."""
    tail = strides[len(stack):]
    if len(tail) < 2:  # of vectors: the dimension that is left out has size 1
        tail = (max(1, matrix[-1] * tail[0]), *tail) if tail and matrix[-2] == 1 else (*tail, 1, 1)[:2]
    step = collapsed(stack, strides)
    return None if step is None else (step, *tail) if stack else tail
