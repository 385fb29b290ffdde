#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the stub of the package tessera, for editors and type checkers, from the library's descriptions."""
import tessera

TYPES = {"input": "Any", "output": "Any", "real": "float", "integer": "int", "text": "Any", "choice": "str | bool"}
HEAD = '''# Made from the library's descriptions by bindings/python/stubs.py.
from typing import Any, Protocol
from ._functions import WrongResult as WrongResult
from ._integrate import Integral as Integral
from ._program import Bench, Trace
from ._tables import Explanation

__version__: str
operations: dict[str, Any]

def load(file: str) -> None: ...
def devices() -> list[dict[str, Any]]: ...
def trace(*files: str, arguments: Any = ..., **flags: Any) -> Trace: ...
def bench(operation: str, *words: str, **keywords: Any) -> Bench: ...
'''


def stub(name, function):
    kinds = {p["name"].replace("-", "_"): TYPES.get(p["kind"], "Any") for p in function.parameters}
    words = []
    for parameter in function.__signature__.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in words:
            words.append("*")
        optional = " = ..." if parameter.kind is parameter.KEYWORD_ONLY or name.startswith("integrate") and parameter.name != "FORMULA" else ""
        words.append(f"{parameter.name}: {kinds.get(parameter.name, 'Any')}{' | None' if optional else ''}{optional}")
    result = "Integral" if name.startswith("integrate") else "Any"
    if name.startswith("integrate"):
        words = ["FORMULA: Any", "*LIMITS: Any", *words[words.index("*") + 1:], "**variables: Any"]
    lines = [f"class _{name}(Protocol):", f"    def __call__(self, {', '.join(words)}) -> {result}: ..."]
    lines.append(f"    def explain(self, {', '.join(words)}) -> Explanation: ...")
    return "\n".join([*lines, f"{name}: _{name}"])


print(HEAD)
print("\n\n".join(stub(name, function) for name, function in tessera.operations.items()))
