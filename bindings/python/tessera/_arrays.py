# SPDX-License-Identifier: Apache-2.0
"""Arrays of other libraries: taking them without a copy, and making results in the caller's library."""
import functools
import sys

from . import _tessera

NAMES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i32": "int32", "i16": "int16", "i8": "int8",
         "u16": "uint16", "u8": "uint8", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}
TYPES = {name: type for type, name in NAMES.items()}
HOST, GPU = 1, 2  # DLPack's numbers of kinds of devices


def library_of(array):
    """Returns "numpy", "torch", "cupy" or "jax"; whatever else it is, results are NumPy's."""
    name = type(array).__module__.partition(".")[0]
    return {"torch": "torch", "cupy": "cupy", "jaxlib": "jax", "jax": "jax"}.get(name, "numpy")


def view_of(name, array):
    """Returns a View of the array's memory."""
    try:
        if hasattr(array, "filled"):
            raise TypeError("masked arrays are not taken")
        view = _tessera.view(array)
        if view is None and hasattr(array, "ctypes"):  # NumPy's, of a type for which it has neither format nor DLPack: bfloat16 of ml_dtypes
            view = view_of_memory(array, array.ctypes.data, array.shape, array.strides, array.dtype, HOST, not array.flags.writeable)
        if view is None and hasattr(array, "__dlpack__"):
            view = _tessera.view_of_capsule(capsule_of(array))
        if view is None and hasattr(array, "__cuda_array_interface__"):
            view = view_of_interface(array, array.__cuda_array_interface__)
    except TypeError as error:
        if "buffer format" in str(error) and hasattr(array, "dtype"):
            raise TypeError(f"{name} holds {array.dtype}, which no operation takes" + "; cast it, as to float64" * (array.dtype.kind in "biuf")) from None
        raise TypeError(f"{name}: {error}") from None
    except (ValueError, BufferError) as error:
        raise type(error)(f"{name}: {error}") from None
    if view is None:
        raise TypeError(f"{name} must be an array, not {type(array).__name__}")
    return view


def capsule_of(array):
    device, stream = array.__dlpack_device__(), None
    if device[0] == GPU:
        stream = stream_of(array) or 1  # 1: the default stream
    for words in ({"max_version": (1, 3)}, {}):
        try:
            return array.__dlpack__(stream=stream, **words) if stream else array.__dlpack__(**words)
        except TypeError:  # a library that knows no versions
            if not words:
                raise
    return None


def view_of_interface(array, interface):
    import numpy
    address, readonly = interface["data"]
    if interface.get("stream"):
        _tessera.synchronize(GPU, 0, interface["stream"])  # the work that makes the array
    type, shape = numpy.dtype(interface["typestr"]), tuple(interface["shape"])
    strides = interface.get("strides") or [step * type.itemsize for step in row_major(shape)]
    return view_of_memory(array, address or 0, shape, strides, type, GPU, readonly)


def view_of_memory(array, address, shape, strides, type, kind, readonly):
    """Returns a View of memory whose element type NumPy describes; strides are in bytes."""
    if not type.isnative or type.name not in TYPES:
        raise TypeError(f"elements of the type '{type}' are not taken")
    if any(stride % type.itemsize for stride in strides):
        raise ValueError("the strides are no multiples of the elements' size")
    return _tessera.view_of_parts(address, shape, tuple(stride // type.itemsize for stride in strides), TYPES[type.name], kind, 0, readonly, array)


def stream_of(array):
    """Returns the address of the stream in which the caller's library works; 0: the default, or none."""
    library = library_of(array)
    if library == "torch":
        return sys.modules["torch"].cuda.current_stream(array.device).cuda_stream
    if library == "cupy":
        return sys.modules["cupy"].cuda.get_current_stream().ptr
    return 0


def row_major(shape):
    strides, stride = [], 1
    for size in reversed(shape):
        strides.append(stride)
        stride *= size
    return tuple(reversed(strides))


def reshaped(view, shape, strides):
    """Returns the same memory in another shape; strides are in elements."""
    return _tessera.view_of_parts(view.address, tuple(shape), tuple(strides), view.type, *view.device, view.readonly, view)


def maker(like, shape, type):
    """Returns a function that makes arrays of this shape and type in the library of `like`, on its device."""
    library, name = library_of(like), NAMES[type]
    if library == "numpy" and hasattr(like, "__cuda_array_interface__"):
        raise TypeError(f"the result lies in a GPU's memory, and the library of the operands is not known: pass out=")
    if library == "torch":
        torch = sys.modules["torch"]
        return functools.partial(torch.empty, shape, dtype=getattr(torch, name), device=like.device)
    if library == "jax":
        import jax
        return functools.partial(jax_array, shape, jax.numpy.dtype(name), next(iter(like.devices())))
    if library == "cupy":
        return functools.partial(sys.modules["cupy"].empty, shape, name)
    import numpy
    return functools.partial(numpy.empty, shape, dtype_of(name))


def jax_array(shape, type, device):
    """Makes an array that nobody else has seen, so that it may still be written."""
    import jax
    return jax.device_put(jax.numpy.empty(shape, type), device).block_until_ready()


def dtype_of(name):
    import numpy
    if name == "bfloat16" or name.startswith("float8"):
        import ml_dtypes  # NumPy has no such type of its own
        return numpy.dtype(getattr(ml_dtypes, name))
    return numpy.dtype(name)


def cast(array, type):
    """Returns a copy of another element type."""
    if library_of(array) == "torch":
        return array.to(getattr(sys.modules["torch"], NAMES[type]))
    return (array if hasattr(array, "astype") else as_numpy(array)).astype(NAMES[type])


def module_of(array):
    library = library_of(array)
    if library == "numpy":
        import numpy
        return numpy
    return sys.modules["jax.numpy" if library == "jax" else library]


def packed(array):
    """Returns a row-major copy."""
    return array.contiguous() if library_of(array) == "torch" else module_of(array).ascontiguousarray(array)


def broadcasted(array, shape):
    return packed(module_of(array).broadcast_to(array, shape))


def as_numpy(values):
    import numpy
    return numpy.asarray(values)
