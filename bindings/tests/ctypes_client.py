# SPDX-License-Identifier: Apache-2.0
"""Tessera by ctypes alone: what a binding of another language has to do."""
import ctypes
import json

TYPES = {"<f8": (2, 64), "<f4": (2, 32), "<f2": (2, 16), "<i4": (0, 32), "<i2": (0, 16), "|i1": (0, 8), "<u2": (1, 16), "|u1": (1, 8)}


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Outcome(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("variant", ctypes.c_char_p), ("device", ctypes.c_char_p), ("kernel_seconds", ctypes.c_double),
                ("total_seconds", ctypes.c_double), ("checked", ctypes.c_int32), ("reserved", ctypes.c_int32)]


CALLABLE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double))
PROGRESS = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_double)


def tensor_of(array):
    """Returns a tensor of a NumPy array, which it keeps alive."""
    code, bits = TYPES[array.dtype.str]
    numbers = ctypes.c_int64 * array.ndim
    strides = numbers(*(stride // array.itemsize for stride in array.strides))
    out = Tensor(array.ctypes.data, 1, 0, array.ndim, code, bits, 1, numbers(*array.shape), strides, 0)
    out.array = array
    return out


class Tessera:
    def __init__(self, file):
        self.library = library = ctypes.CDLL(file)
        for name in ("tessera_version", "tessera_last_error", "tessera_operations", "tessera_devices", "tessera_call_outcome", "tessera_call_explain"):
            getattr(library, name).restype = ctypes.c_char_p
        library.tessera_call_create.restype = ctypes.c_void_p
        library.tessera_call_array.restype = ctypes.POINTER(Tensor)
        library.tessera_interface_version.restype = ctypes.c_uint32

    def raise_last(self):
        raise ValueError(self.library.tessera_last_error().decode())

    def checked(self, status):
        if status != 0:
            self.raise_last()

    def operations(self):
        return {one["name"]: one for one in json.loads(self.library.tessera_operations())}


class Call:
    def __init__(self, tessera, operation):
        self.tessera, self.kept = tessera, {}
        self.handle = ctypes.c_void_p(tessera.library.tessera_call_create(operation.encode()))
        if not self.handle:
            tessera.raise_last()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tessera.library.tessera_call_destroy(self.handle)

    def _set(self, what, *values):
        self.tessera.checked(getattr(self.tessera.library, f"tessera_call_{what}")(self.handle, *values))
        return self

    def array(self, name, array):
        self.kept[name] = tensor_of(array)
        return self._set("set_array", name.encode(), ctypes.byref(self.kept[name]))

    def option(self, name, value):
        return self._set("set_option", name.encode(), str(value).encode())

    def request(self, name, value):
        return self._set("set_request", name.encode(), value.encode())

    def callable(self, function):
        def values_at(_, count, dimensions, points, values):
            for i in range(count):
                values[i] = function(*(points[d * count + i] for d in range(dimensions)))
            return 0
        self.kept["callable"] = CALLABLE(values_at)
        return self._set("set_callable", self.kept["callable"], None)

    def progress(self, function):
        self.kept["progress"] = PROGRESS(lambda _, seconds: int(bool(function(seconds))))
        return self._set("set_progress", self.kept["progress"], None)

    def run(self):
        outcome = Outcome(struct_size=ctypes.sizeof(Outcome))
        self._set("run", None, ctypes.byref(outcome))
        return outcome

    def run_again(self, *addresses):
        return self._set("run_again", None, (ctypes.c_void_p * len(addresses))(*addresses), ctypes.c_size_t(len(addresses)))

    def result(self, name):
        """Returns shape and address of an array of the call."""
        tensor = self.tessera.library.tessera_call_array(self.handle, name.encode())
        if not tensor:
            self.tessera.raise_last()
        return tuple(tensor.contents.shape[d] for d in range(tensor.contents.ndim)), tensor.contents.data

    def json(self, what):
        text = getattr(self.tessera.library, f"tessera_call_{what}")(self.handle)
        return json.loads(text) if text else self.tessera.raise_last()
