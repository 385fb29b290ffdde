# SPDX-License-Identifier: Apache-2.0
"""Integrals of formulas and of callables."""
import json
import math
import numbers

from ._arrays import as_numpy
from ._functions import REQUESTS, Operation, python_name, word_of


class Integral:
    """An integral, or a batch of them: value, error, reason and converged, and what else the rule tells, such as evaluations."""

    def __init__(self, value, error, values):
        self.value, self.error = value, error
        self.__dict__.update(values)
        self.converged = self.reason == "converged"

    def __float__(self):
        return float(self.value)

    def __repr__(self):
        if not isinstance(self.value, float):
            return f"{self.value.size} integrals, {self.reason}"
        return f"{self.value!r} ± {self.error:.2g}, {self.reason}"


def limit_of(value):
    return value if isinstance(value, str) else repr(float(value))


def is_batch(value):
    return not isinstance(value, (str, numbers.Number, tuple)) and getattr(value, "shape", True) != ()


class Integrate(Operation):
    """integrate(FORMULA, FROM, TO), or with ranges: integrate("x*y", x=(0, 1), y=(0, "x")). A callable takes its limits in order:
    integrate(f, (0, 1), (0, 2))."""

    @property
    def __signature__(self):
        import inspect
        kinds = inspect.Parameter
        words = [p for p in super().__signature__.parameters.values() if p.kind is p.KEYWORD_ONLY]
        return inspect.Signature([kinds("integrand", kinds.POSITIONAL_ONLY), kinds("limits", kinds.VAR_POSITIONAL), *words,
                                  kinds("variables", kinds.VAR_KEYWORD)])

    def text(self):
        return f"""The integral of a formula or of a callable.

    integrate("x^a", 0, 1, a=2)                    a parameter
    integrate("x^a", 0, 1, a=numpy.arange(5))      a batch: an integral for each
    integrate("x*y", x=(0, 1), y=(0, "x"))         several variables; limits may be formulas
    integrate(f, 0, math.inf)                      a callable: it gets an array of points, or one at a time if it cannot
    integrate(f, (0, 1), (0, 2))                   of several variables, f(x, y)

Returns an Integral with value, error, reason ("converged", or why not), converged and what else the rule tells.
{super().text()}"""

    def compute(self, *args, **keywords):
        others, options = self.split(keywords)
        if any(is_batch(value) for value in others.values()):
            return self.batch(*args, others=others, options=options)
        bound = self.bind(args, keywords)
        call = self.call_for(bound)
        call.run(0, bound.callable is None)
        self.verify(bound, call)
        values = json.loads(call.outcome())["values"]
        value, error = values.pop("integral"), values.pop("error", None)
        return Integral(math.nan if value is None else value, math.inf if error is None else error, values)

    def split(self, keywords):
        """Returns the ranges and parameters of a formula, and the operation's options."""
        names = {*map(python_name, self.keyword_parameters()), *REQUESTS}
        if "out" in keywords:
            raise TypeError("integrate() has no out: it returns an Integral")
        return [{name: value for name, value in keywords.items() if (name in names) == wanted} for wanted in (False, True)]

    def bind(self, args, keywords):
        others, options = self.split(keywords)
        integrand, limits = args[0] if args else None, args[1:]
        if not callable(integrand):
            bound = super().bind((integrand,), {**options, "LIMITS": limits_text(limits, others)})
            bound.callable = None
            return bound
        if others:
            raise TypeError(f"integrate() got {', '.join(others)}, which is no option; variables of a callable have no names: give their limits in order")
        words = " ".join(f"x{i}=[{limit_of(low)},{limit_of(high)}]" for i, (low, high) in enumerate(ranges_of(limits)))
        bound = super().bind((), {**options, "LIMITS": words, "FORMULA": "0"})
        del bound.words["FORMULA"]
        bound.callable = Evaluator(integrand)
        return bound

    def call_for(self, bound):
        call = super().call_for(bound)
        if bound.callable is not None:
            call.callable(bound.callable)
        return call

    def batch(self, formula, *limits, others, options):
        import numpy
        from . import operations
        if callable(formula):
            raise TypeError("a batch takes a formula, not a callable")
        ranges = {name: value for name, value in others.items() if isinstance(value, (tuple, str))}
        parameters = {name: as_numpy(value) for name, value in others.items() if name not in ranges}
        columns = numpy.broadcast_arrays(*parameters.values())
        table = numpy.stack([column.ravel() for column in columns], axis=1).astype("float64", casting="same_kind")
        return operations["integrate_batch"](formula, limits_text(limits, ranges), parameters=",".join(parameters), P=table,
                                             shape=columns[0].shape, **options)


class IntegrateBatch(Operation):
    def compute(self, *args, shape=None, **keywords):
        bound = self.bind(args, keywords)
        call = self.call_for(bound)
        self.run(bound, call)
        values = json.loads(call.outcome())["values"]
        shaped = {name: array.reshape(shape) if shape is not None else array for name, array in bound.outputs.items()}
        value, error = shaped.pop("integrals"), shaped.pop("errors")
        return Integral(value, error, {**values, **shaped})


def limits_text(limits, others):
    """Spells positional limits, ranges and parameters as the library reads them."""
    if len(limits) == 1 or any(isinstance(limit, (tuple, list)) for limit in limits):
        limits = ranges_of(limits)
        if len(limits) > 1:
            raise TypeError("integrate() needs the names of several variables: x=(0, 1), y=(0, 2)")
        limits = limits[0]
    words = [limit_of(limit) for limit in limits]
    for name, value in others.items():
        is_range = isinstance(value, tuple)
        words.append(f"{name}=[{','.join(map(limit_of, value))}]" if is_range else f"{name}={word_of(value)}")
    return " ".join(words)


def ranges_of(limits):
    if len(limits) == 2 and not any(isinstance(limit, (tuple, list)) for limit in limits):
        return [limits]
    if limits and all(isinstance(limit, (tuple, list)) and len(limit) == 2 for limit in limits):
        return limits
    raise TypeError("integrate() needs two limits, or a range such as (0, 1) for each variable")


class Evaluator:
    """Calls a Python function for many points: with arrays, or, where it cannot take them, point by point."""

    def __init__(self, function):
        self.function, self.takes_arrays = function, None

    def __call__(self, points, values, dimensions):
        import numpy
        x = numpy.array(numpy.frombuffer(points).reshape(dimensions, -1))  # a copy, which the function may keep
        y = numpy.frombuffer(values)
        with numpy.errstate(all="ignore"):  # far out, where only the limit matters, a formula may overflow
            if self.takes_arrays is None and x.shape[1] > 1:
                self.takes_arrays = self.agree(x)
            if self.takes_arrays:
                y[:] = self.real(*x)
            else:
                y[:] = [float(self.real(*point)) for point in x.T.tolist()]

    def real(self, *point):
        import numpy
        value = self.function(*point)
        if numpy.iscomplexobj(value):
            raise TypeError("the integrand is complex: integrate its real and its imaginary part")
        return value

    def agree(self, x):
        """Returns True if the function takes arrays, and its values at the first and the last point are those of single calls."""
        try:
            y = self.real(*x)
            if getattr(y, "shape", None) != x.shape[1:]:
                return False
            alone = [float(self.real(*x[:, i].tolist())) for i in (0, -1)]
        except Exception:  # which a single point raises again, unless arrays are its reason
            return False
        return all(math.isclose(y[i], value, rel_tol=1e-6) or not math.isfinite(value) for i, value in zip((0, -1), alone))
