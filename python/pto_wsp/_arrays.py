"""What a Python kernel sees of its task's regions: NumPy arrays, or memoryviews; never a copy."""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._core import KernelArray

__all__ = ["element_type", "to_memoryview", "to_numpy", "view"]

_FORMATS = {
    "f16": "e",
    "f32": "f",
    "f64": "d",
    "bf16": "H",
    "f8e4m3": "B",
    "f8e5m2": "B",
    "u8": "B",
    "u16": "H",
    "bool": "?",
    "i8": "b",
    "i16": "h",
    "i32": "i",
    "u32": "I",
    "i64": "q",
    "u64": "Q",
}
"""Formats of elements as module ``struct`` writes them; bf16 and the 8-bit floats have none and are
seen as their bits."""


_OF_ML_DTYPES = {
    "bf16": ("bfloat16", "uint16"),
    "f8e4m3": ("float8_e4m3fn", "uint8"),
    "f8e5m2": ("float8_e5m2", "uint8"),
}
"""What elements that NumPy does not have are called in ``ml_dtypes``, and the integers of their size."""


def view(array: KernelArray) -> Any:
    """``array`` as a NumPy array where NumPy is installed, as a ``memoryview`` elsewhere."""
    try:
        return to_numpy(array)
    except ImportError:
        return to_memoryview(array)


def to_numpy(array: KernelArray) -> Any:
    """``array`` as a NumPy array over the same memory, read-only where the kernel may only read.

    Elements of bf16 and the 8-bit floats have the type of ``ml_dtypes`` where it is installed, else they are
    ``uint16`` and ``uint8``: their bits. Raises ``ImportError`` without NumPy.
    """
    # Called for every task: an `import` takes longer.
    numpy: Any = sys.modules.get("numpy")
    if numpy is None:
        import numpy
    seen = numpy.asarray(array)
    return seen if seen.dtype.kind != "V" else seen.view(element_type(array.dtype))


def element_type(name: str) -> Any:
    """What ``to_numpy`` gives elements of a type as: a ``numpy.dtype``. Raises ``ImportError`` without it."""
    import numpy

    if name not in _OF_ML_DTYPES:
        return numpy.dtype(_FORMATS[name])
    known, bits = _OF_ML_DTYPES[name]
    try:
        import ml_dtypes
    except ImportError:
        return numpy.dtype(bits)
    return numpy.dtype(getattr(ml_dtypes, known))


def to_memoryview(array: KernelArray) -> memoryview:
    """``array`` as a memoryview over the same memory, read-only where the kernel may only read.

    Elements of bf16 and the 8-bit floats are seen as their bits. Raises ``BufferError`` for a region whose
    elements do not lie next to each other, which takes NumPy.
    """
    expected = array.nbytes
    for extent, stride in zip(array.shape, array.strides, strict=False):
        expected //= max(extent, 1)
        if extent > 1 and stride != expected:
            raise BufferError("elements of this region are not next to each other; install NumPy to see it")
    memory = (ctypes.c_char * array.nbytes).from_address(array.address)
    # The ctypes object is what the memoryview holds: it holds what keeps the memory.
    memory._owner = array
    shape = list(array.shape)
    flat = memoryview(memory).cast("B")
    form = _FORMATS[array.dtype]
    seen = flat.cast(form, shape) if array.nbytes and shape else flat.cast(form)
    return seen.toreadonly() if array.readonly else seen
