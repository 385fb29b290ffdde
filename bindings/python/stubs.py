#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the stub of the package tessera, for editors and type checkers, from the library's descriptions."""
import tessera

TYPES = {"input": "Any", "output": "Any", "real": "float", "integer": "int", "text": "Any", "choice": "str | bool"}
HEAD = '''# Made from the library's descriptions by bindings/python/stubs.py.
from typing import Any, Protocol
from ._functions import WrongResult as WrongResult
from ._integrate import Integral as Integral
from ._matmul import Finding
from ._program import Bench, Trace
from ._tables import Explanation

__version__: str
operations: dict[str, Any]

def load(file: Any) -> None: ...
def check(C: Any, A: Any, B: Any, *, arithmetic: str = ..., **options: Any) -> Finding: ...
def assert_matmul(C: Any, A: Any, B: Any, *, arithmetic: str = ..., **options: Any) -> None: ...
def devices() -> list[dict[str, Any]]: ...
def trace(file: Any, *files: Any, arguments: Any = ..., **flags: Any) -> Trace: ...
def bench(operation: Any, *words: str, **keywords: Any) -> Bench: ...
'''


def stub(name, function):
    kinds = {p["name"].replace("-", "_"): TYPES.get(p["kind"], "Any") for p in function.parameters}
    words = []
    for parameter in function.__signature__.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not any(word.startswith("*") for word in words):
            words.append("*")
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        optional = parameter.kind is parameter.KEYWORD_ONLY
        words.append(f"{stars}{parameter.name}: {kinds.get(parameter.name, 'Any')}{' | None = ...' if optional else ''}")
    result = "Integral" if name.startswith("integrate") else "Any"
    return "\n".join([f"class _{name}(Protocol):", f"    def __call__(self, {', '.join(words)}) -> {result}: ...",
                      f"    def explain(self, {', '.join(words)}) -> Explanation: ...", f"{name}: _{name}"])


print(HEAD)
print("\n\n".join(stub(name, function) for name, function in tessera.operations.items()))
