# SPDX-License-Identifier: Apache-2.0
"""Matrix products, integrals and pictures on GPUs and CPUs, and what GPU kernels do, explained.

    C = tessera.matmul(A, B)                         NumPy, PyTorch, CuPy, JAX in; the same out
    r = tessera.integrate("sqrt(1-x^2)", 0, 1)       r.value, r.error, r.reason
    small = tessera.resize(picture, height=400)      arrays and Pillow pictures
    tessera.trace("homework.cu")                     what races and what is slow, without a GPU
    tessera.bench("matmul", m=[512, 1024])           a table

help(tessera.matmul) tells every option; tessera.operations lists what there is."""
import os as _os
import platform as _platform
import sys as _sys

if _sys.platform != "linux" or _platform.machine() != "x86_64":
    raise ImportError(f"tessera runs on Linux with an x86-64 processor, not on {_sys.platform} with {_platform.machine()}")
try:
    from . import _tessera
except ImportError as error:
    raise ImportError(f"tessera's library cannot be loaded: {error}") from error

from ._functions import WrongResult, operation_of
from ._integrate import Integral
from ._matmul import assert_matmul, check
from ._program import bench, trace

__version__ = _tessera.text("version")
operations = {}


def _describe():
    """Makes a function of each operation that the library describes."""
    import json
    for description in json.loads(_tessera.text("operations")):
        name = description["name"]
        if name not in operations:
            operations[name] = globals()[name] = operation_of(description)
    globals()["__all__"] = sorted(["Integral", "WrongResult", "assert_matmul", "bench", "check", "devices", "load", "operations", "trace", *operations])


def load(file):
    """Loads a plug-in: a shared library with further rungs or operations."""
    for function in operations.values():
        function.forget()
    _tessera.load(_os.fspath(file))
    _describe()


def devices():
    """Returns what calls may run on, each device as a dict."""
    import json
    return json.loads(_tessera.text("devices"))


_describe()
