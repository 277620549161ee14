"""Types of elements: of tensors, of tiles, and of the numbers that a kernel computes with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = [
    "DTYPES",
    "DType",
    "bf16",
    "bool_",
    "dtype_of",
    "f16",
    "f32",
    "f64",
    "f8e4m3",
    "f8e5m2",
    "i8",
    "i16",
    "i32",
    "i64",
    "u8",
    "u16",
    "u32",
    "u64",
]


@dataclass(frozen=True, slots=True)
class DType:
    """An element type: its name as the IR spells it, what it holds, and its size in bytes."""

    name: str
    kind: Literal["float", "int", "uint", "bool"]
    itemsize: int

    def __repr__(self) -> str:
        return self.name

    @property
    def is_float(self) -> bool:
        """True for real numbers, False for integers and truth values."""
        return self.kind == "float"


f16 = DType("f16", "float", 2)
"""IEEE half precision: 11 significant bits, up to 65504."""
bf16 = DType("bf16", "float", 2)
"""bfloat16: 8 significant bits, the range of `f32`."""
f8e4m3 = DType("f8e4m3", "float", 1)
"""OCP FP8 E4M3 (`float8_e4m3fn`): 4 significant bits, up to 448, no infinity."""
f8e5m2 = DType("f8e5m2", "float", 1)
"""OCP FP8 E5M2: 3 significant bits, up to 57344."""
f32 = DType("f32", "float", 4)
"""IEEE single precision."""
f64 = DType("f64", "float", 8)
"""IEEE double precision."""
u8 = DType("u8", "uint", 1)
"""Integers of 8 bits, without a sign."""
u16 = DType("u16", "uint", 2)
"""Integers of 16 bits, without a sign."""
i8 = DType("i8", "int", 1)
"""Integers of 8 bits."""
i16 = DType("i16", "int", 2)
"""Integers of 16 bits."""
i32 = DType("i32", "int", 4)
"""Integers of 32 bits."""
u32 = DType("u32", "uint", 4)
"""Integers of 32 bits, without a sign."""
i64 = DType("i64", "int", 8)
"""Integers of 64 bits."""
u64 = DType("u64", "uint", 8)
"""Integers of 64 bits, without a sign."""
bool_ = DType("bool", "bool", 1)
"""Truth values, a byte each: 0 and 1."""

DTYPES: dict[str, DType] = {
    d.name: d for d in (f16, bf16, f8e4m3, f8e5m2, f32, f64, u8, u16, i32, u32, i64, u64, i8, i16, bool_)
}
"""All element types by name."""

_OTHER_NAMES = {
    "float16": f16,
    "half": f16,
    "bfloat16": bf16,
    "float8_e4m3": f8e4m3,
    "float8_e4m3fn": f8e4m3,
    "float8_e5m2": f8e5m2,
    "float32": f32,
    "float64": f64,
    "bool_": bool_,
    "int8": i8,
    "int16": i16,
    "uint8": u8,
    "uint16": u16,
    "int32": i32,
    "uint32": u32,
    "int64": i64,
    "uint64": u64,
}


def dtype_of(value: Any) -> DType | None:
    """The element type that `value` names: a `DType`, its name (`"f32"`, `"float32"`), or a NumPy type;
    None for others.
    """
    if isinstance(value, DType):
        return value
    if not isinstance(value, str):
        value = getattr(value, "name", None) or getattr(value, "__name__", None)
    if not isinstance(value, str):
        return None
    return DTYPES.get(value) or _OTHER_NAMES.get(value)
