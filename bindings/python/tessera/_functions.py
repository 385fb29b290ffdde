# SPDX-License-Identifier: Apache-2.0
"""Functions made from the library's descriptions of its operations."""
import atexit
import collections
import json
import os
import time

from . import _tessera
from ._arrays import HOST, NAMES, as_numpy, library_of, maker, packed, reshaped, stream_of, view_of
from ._pictures import Picture
from ._tables import Explanation

REQUESTS = {"device": "where: auto, cpu, simt, cuda, cuda:1; cpu:threads=2", "variant": "the rung to use",
            "tuning": "its parameters: \"NAME=N,…\"", "check": "verifies the result; raises WrongResult"}
QUICK, LONG = 2e5, 1e9  # operations: below, the interpreter's lock is kept; above, Ctrl-C is watched for


class WrongResult(ArithmeticError):
    """A result that `check=True` found to be wrong."""


def python_name(parameter):
    return parameter["name"].replace("-", "_")


def word_of(value):
    """Spells a value as on the command line; a table's rows are apart by semicolons."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple, range)):
        return (";" if any(isinstance(part, (list, tuple)) for part in value) else ",").join(map(word_of, value))
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def default_of(parameter):
    try:
        return {"real": float, "integer": int}[parameter["kind"]](parameter["default"])
    except (KeyError, ValueError):  # a text, or an expression of sizes
        return parameter.get("default") or None


class Bound:
    """The arguments of one call by their kinds."""

    def __init__(self, args, keywords):
        self.args, self.keywords = args, keywords
        self.arrays, self.outputs, self.words, self.requests = {}, {}, {}, {}
        self.views, self.copied = {}, False

    def like(self):
        """Returns the array whose library and device results take."""
        return next(iter(self.arrays.values()), None)


class Operation(_tessera.Function):
    """A function of the library; help() of it tells its parameters."""

    def __init__(self, description):
        self.description = description
        self.parameters = description["parameters"]
        self.__name__ = self.__qualname__ = description["name"]
        self.__module__ = "tessera"
        self.of_kind = collections.defaultdict(list)
        for parameter in self.parameters:
            self.of_kind[parameter["kind"]].append(parameter)
        self.arrays = [p["name"] for p in self.parameters if p["kind"] in ("input", "output")]
        self.positional = [p for p in self.parameters if p.get("positional") or (p["kind"] == "input" and not p["optional"])]
        self.__doc__ = self.text()

    def __repr__(self):
        return f"<tessera.{self.__name__}: {self.description['summary']}>"

    def __reduce__(self):
        return self.__name__  # pickled by name, as functions are

    def keyword_parameters(self):
        return [p for p in self.parameters if p not in self.positional and p["kind"] != "value"]

    @property
    def __signature__(self):
        import inspect
        kinds = inspect.Parameter
        out = [kinds(python_name(p), kinds.POSITIONAL_OR_KEYWORD) for p in self.positional]
        names = [python_name(p) for p in self.keyword_parameters() if p["kind"] != "output"]
        defaults = {python_name(p): default_of(p) for p in self.parameters}
        out += [kinds(name, kinds.KEYWORD_ONLY, default=defaults[name]) for name in names]
        out += [kinds(name, kinds.KEYWORD_ONLY, default=None) for name in [*self.output_names(), *REQUESTS] if name not in names]
        return inspect.Signature(out)

    def output_names(self):
        names = [python_name(p) for p in self.of_kind["output"] if p["extents"]]
        return ["out"] if len(names) == 1 else names

    def text(self):
        """Returns what help() shows."""
        lines = [self.description["summary"][0].upper() + self.description["summary"][1:] + ".", ""]
        for p in [*self.positional, *self.keyword_parameters()]:
            shape = f" [{', '.join(p['extents'])}]" if p.get("extents") else ""
            options = f" ({' | '.join(p['options'])})" if p.get("options") else ""
            default = f" [{p['default']}]" if p.get("default") and not p.get("options") else ""
            kind = " (result)" if p["kind"] == "output" else ""
            lines.append(f"    {python_name(p)}{shape}{kind}: {p['help']}{options}{default}")
        lines += [f"    {name}: {text}" for name, text in REQUESTS.items()]
        if self.output_names() == ["out"]:
            lines.append("    out: an array for the result, which is then returned")
        lines += ["", "Element types: " + ", ".join(NAMES[e] for e in self.description["elements"]) + "."]
        return "\n".join(lines)

    # --- from Python's arguments to a call ---

    def bind(self, args, keywords):
        bound = Bound(args, keywords)
        named = {python_name(p): p for p in self.parameters if p["kind"] != "value"}
        if len(args) > len(self.positional):
            raise TypeError(f"{self.__name__}() takes {len(self.positional)} positional arguments but {len(args)} were given")
        given = dict(zip((python_name(p) for p in self.positional), args))
        for name, value in keywords.items():
            if name in given:
                raise TypeError(f"{self.__name__}() got multiple values for argument '{name}'")
            given[name] = value
        for name, value in given.items():
            parameter = named.get(name)
            if value is None and (parameter or name in ("out", *REQUESTS)):
                continue
            if name == "out" and self.output_names() == ["out"]:
                bound.outputs[self.of_kind["output"][0]["name"]] = value
            elif parameter is None and name in REQUESTS:
                bound.requests[name] = word_of(value)
            elif parameter is None:
                import difflib
                near = difflib.get_close_matches(name, [*named, *REQUESTS, "out"], 1)
                raise TypeError(f"{self.__name__}() got an unexpected keyword argument '{name}'" + (f". Did you mean '{near[0]}'?" if near else ""))
            else:
                where = {"input": bound.arrays, "output": bound.outputs}.get(parameter["kind"])
                if where is None:
                    bound.words[parameter["name"]] = word_of(value)
                else:
                    where[parameter["name"]] = as_numpy(value) if isinstance(value, (list, tuple)) else value
        missing = [python_name(p) for p in self.positional if p["name"] not in bound.arrays and p["name"] not in bound.words and p["name"] != "LIMITS"]
        if missing:
            raise TypeError(f"{self.__name__}() is missing the argument{'s' * (len(missing) > 1)} " + ", ".join(f"'{name}'" for name in missing))
        bound.picture = Picture.of(self, bound)
        return bound

    def call_for(self, bound):
        bound.views = {name: self.view_in(bound, name, array) for name, array in bound.arrays.items()}
        return self.call_of(bound)

    def call_of(self, bound, name=None):
        first = next((bound.views[p["name"]] for p in self.positional if p["name"] in bound.views), None)
        if first is not None and first.type not in self.description["elements"]:
            taken = ", ".join(NAMES[element] for element in self.description["elements"])
            raise TypeError(f"{self.__name__}() takes elements of {taken}, not {NAMES.get(first.type, first.type)}")
        call = _tessera.Call(name or self.__name__)
        for word, value in bound.words.items():
            call.option(word, value)
        for word, value in bound.requests.items():
            call.request(word, value)
        for array, view in bound.views.items():
            call.set(array, view)
        return call

    def view_in(self, bound, name, array):
        """Returns a View as the operation wants it, perhaps of a copy."""
        parameter = next(p for p in self.parameters if p["name"] == name)
        view = view_of(python_name(parameter), array)
        if not parameter.get("picture") or len(view.shape) < 2:
            return view
        wanted = (1,) if len(view.shape) == 2 else (view.shape[-1], 1)
        if view.strides[-len(wanted):] != wanted:  # the samples of a row must follow each other
            view, bound.copied = view_of(name, packed(array)), True
        if len(view.shape) < 4:
            shape, strides = (view.shape, view.strides) if len(view.shape) == 3 else ((*view.shape, 1), (*view.strides, 1))
            view = reshaped(view, (1, *shape), (shape[0] * strides[0], *strides))
        return view

    def result_shape(self, bound, name, shape):
        """Returns the shape that the caller sees of a result: pictures have as many dimensions as the first one given."""
        parameter = next(p for p in self.of_kind["output"] if p["name"] == name)
        first = getattr(bound.like(), "shape", None)
        if parameter.get("picture") and first is not None and len(first) < 4:
            return shape[1:3] if len(first) == 2 else shape[1:]
        return shape

    # --- the call ---

    def compute(self, *args, **keywords):
        bound = self.bind(args, keywords)
        call = self.call_for(bound)
        results = self.run(bound, call)
        if bound.picture:
            results = [bound.picture.restored(result) for result in results]
        elif not bound.copied:
            self.remember_call(bound, call, QUICK + 1)
        if len(results) == 1:
            return results[0]
        return collections.namedtuple(f"{self.__name__}_result", map(python_name, self.of_kind["output"]))(*results)

    def run(self, bound, call):
        """Makes the results that the caller has not given, runs, and returns them."""
        call.plan()
        plans = {parameter["name"]: call.array(parameter["name"]) for parameter in self.of_kind["output"]}
        for name, planned in plans.items():
            shape = self.result_shape(bound, name, planned.shape)
            view = self.output(bound, name, shape, planned.type)
            if len(shape) < len(planned.shape):  # one picture
                strides = view.strides if len(shape) == 3 else (*view.strides, 1)
                view = reshaped(view, planned.shape, (shape[0] * strides[0], *strides))
            bound.views[name] = view
            call.set(name, view)
        self.launch(bound, call)
        return [bound.outputs[p["name"]] for p in self.of_kind["output"]]

    def output(self, bound, name, shape, type):
        """Returns a View of what the result goes to: the array that the caller has given, or a new one."""
        out = bound.outputs.get(name)
        if out is None:
            out = bound.outputs[name] = maker(bound.like(), shape, type)()
            return view_of("out", out)
        view = view_of("out", out)
        if view.readonly or library_of(out) == "jax":
            raise ValueError("out is read-only")
        if tuple(view.shape) != tuple(shape):
            raise ValueError(f"out has the shape {view.shape}, but the result has {tuple(shape)}")
        if view.type != type:
            raise TypeError(f"out holds {NAMES.get(view.type, view.type)}, but the result is of {NAMES[type]}")
        return view

    def device_of(self, bound):
        devices = {view.device for view in bound.views.values() if view.address and 0 not in view.shape}
        if len(devices) > 1:
            raise ValueError("the arrays lie on different devices: " + ", ".join(
                f"{name} on {'the host' if view.device[0] == HOST else f'GPU {view.device[1]}'}" for name, view in bound.views.items()))
        return next(iter(devices), (HOST, 0))

    def launch(self, bound, call, work=LONG):
        device = self.device_of(bound)
        stream = stream_of(bound.like()) if device[0] != HOST else 0
        call.run(stream, work >= LONG)
        if device[0] != HOST and library_of(bound.like()) not in ("torch", "cupy"):
            _tessera.synchronize(*device, stream)  # the caller's library does not wait for this stream
        self.verify(bound, call)
        call.release()

    def verify(self, bound, call):
        check = json.loads(call.outcome())["check"] if bound.requests.get("check") == "yes" else None
        if check and not check["passed"]:
            raise WrongResult(check["description"])

    def remember_call(self, bound, call, work):
        """Has later calls with such arguments made by this planned call, without a line of Python."""
        inputs, outputs = [p["name"] for p in self.positional], self.of_kind["output"]
        if len(bound.args) != len(inputs) or set(bound.arrays) != set(inputs) or len(outputs) != 1 or bound.requests or work >= LONG:
            return
        result, make = bound.outputs[outputs[0]["name"]], None
        if bound.keywords.get("out") is None:
            make = maker(bound.like(), tuple(result.shape), view_of("out", result).type)
        slots = tuple(self.arrays.index(name) for name in [*inputs, outputs[0]["name"]])
        self.remember(bound.args, bound.keywords, call, slots, len(self.arrays), make, work > QUICK)

    def explain(self, *args, **keywords):
        """Tells which rung would compute this call, why, and how far rounding may take the result."""
        return Explanation(json.loads(self.call_for(self.bind(args, keywords)).explain()))


def operation_of(description):
    from ._integrate import Integrate, IntegrateBatch
    from ._matmul import Matmul
    of_its_own = {"matmul": Matmul, "integrate": Integrate, "integrate_batch": IntegrateBatch}
    return of_its_own.get(description["name"], Operation)(description)


@atexit.register
def wait_for_runs():
    """Runs that Ctrl-C has left use the library, which must not go before they end. A second Ctrl-C does not wait."""
    try:
        while _tessera.runs_left():
            time.sleep(0.05)
    except KeyboardInterrupt:
        os._exit(130)
