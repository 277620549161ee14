"""What type checkers see of elements, views, tiles and annotations; no module imports it at run time.

An element type is a class here, whose instances are tiles, and views and tensors of that type: so `x:
Tensor[f32, "rows", 64]` is an `f32`, which has the operators of a tile and is taken where a kernel says `In`
or `In[f32]`. Annotations with sizes are `typing.Annotated`, of which checkers read the first argument alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Any, ClassVar, Generic, Literal, NoReturn, Protocol, SupportsIndex, TypeAlias, overload

import numpy as np
from typing_extensions import Buffer as SupportsBuffer
from typing_extensions import Self, TypeVar

from .axes import Size
from .expr import Expr
from .views import TileSlice

Constexpr: TypeAlias = Any
DenseDyn: TypeAlias = Size | int
Integer: TypeAlias = int | Expr
Part: TypeAlias = Integer | slice[Any, Any, Any] | TileSlice | EllipsisType
Extent: TypeAlias = int | str | Expr
Shape: TypeAlias = Extent | tuple[Extent, ...] | list[Extent] | list[int] | list[str]

E = TypeVar("E", bound="Element")
DType: TypeAlias = "type[Element]"
Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

E_co = TypeVar("E_co", covariant=True, default=Any)


class Number:
    """An integer that a task gives, with what a kernel does with it: a `@python_kernel` has an `int`."""

    real: int
    imag: int
    numerator: int
    denominator: int

    def __index__(self) -> int: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __complex__(self) -> complex: ...
    def __trunc__(self) -> int: ...
    def __floor__(self) -> int: ...
    def __ceil__(self) -> int: ...
    def __round__(self, digits: int = ...) -> Any: ...
    def __add__(self, other: Any) -> Any: ...
    def __radd__(self, other: Any) -> Any: ...
    def __sub__(self, other: Any) -> Any: ...
    def __rsub__(self, other: Any) -> Any: ...
    def __mul__(self, other: Any) -> Any: ...
    def __rmul__(self, other: Any) -> Any: ...
    def __truediv__(self, other: Any) -> Any: ...
    def __rtruediv__(self, other: Any) -> Any: ...
    def __floordiv__(self, other: Any) -> Any: ...
    def __rfloordiv__(self, other: Any) -> Any: ...
    def __mod__(self, other: Any) -> Any: ...
    def __rmod__(self, other: Any) -> Any: ...
    def __divmod__(self, other: Any) -> Any: ...
    def __rdivmod__(self, other: Any) -> Any: ...
    def __pow__(self, other: Any, modulus: Any = None) -> Any: ...
    def __rpow__(self, other: Any, modulus: Any = None) -> Any: ...
    def __lshift__(self, other: Any) -> Any: ...
    def __rlshift__(self, other: Any) -> Any: ...
    def __rshift__(self, other: Any) -> Any: ...
    def __rrshift__(self, other: Any) -> Any: ...
    def __and__(self, other: Any) -> Any: ...
    def __rand__(self, other: Any) -> Any: ...
    def __or__(self, other: Any) -> Any: ...
    def __ror__(self, other: Any) -> Any: ...
    def __xor__(self, other: Any) -> Any: ...
    def __rxor__(self, other: Any) -> Any: ...
    def __neg__(self) -> Any: ...
    def __pos__(self) -> Any: ...
    def __abs__(self) -> Any: ...
    def __invert__(self) -> Any: ...
    def __lt__(self, other: Any) -> Any: ...
    def __le__(self, other: Any) -> Any: ...
    def __gt__(self, other: Any) -> Any: ...
    def __ge__(self, other: Any) -> Any: ...
    def bit_length(self) -> int: ...
    def bit_count(self) -> int: ...
    def conjugate(self) -> int: ...
    def as_integer_ratio(self) -> tuple[int, int]: ...
    def to_bytes(
        self, length: SupportsIndex = ..., byteorder: Literal["little", "big"] = ..., *, signed: bool = ...
    ) -> bytes: ...


class OfWorkload(Number):
    """An integer that a workload computes with: kernels take it for a number, Python cannot see it."""

    __index__: None  # type: ignore[assignment]
    __int__: None  # type: ignore[assignment]
    __float__: None  # type: ignore[assignment]
    __complex__: None  # type: ignore[assignment]
    __round__: None  # type: ignore[assignment]
    __truediv__: None  # type: ignore[assignment]
    __rtruediv__: None  # type: ignore[assignment]
    __pow__: None  # type: ignore[assignment]
    __rpow__: None  # type: ignore[assignment]
    __lshift__: None  # type: ignore[assignment]
    __rlshift__: None  # type: ignore[assignment]
    __rshift__: None  # type: ignore[assignment]
    __rrshift__: None  # type: ignore[assignment]


Scalar: TypeAlias = int | Number


class Tile:
    """A matrix that a kernel computes on: a value, which no operation changes."""

    rows: int
    cols: int
    shape: tuple[int, int]

    @property
    def T(self) -> Tile:
        """Rows as columns."""

    def __add__(self, other: Operand) -> Tile: ...
    def __radd__(self, other: Operand) -> Tile: ...
    def __sub__(self, other: Operand) -> Tile: ...
    def __rsub__(self, other: Operand) -> Tile: ...
    def __mul__(self, other: Operand) -> Tile: ...
    def __rmul__(self, other: Operand) -> Tile: ...
    def __truediv__(self, other: Operand) -> Tile: ...
    def __rtruediv__(self, other: Operand) -> Tile: ...
    def __floordiv__(self, other: Operand) -> Tile: ...
    def __rfloordiv__(self, other: Operand) -> Tile: ...
    def __neg__(self) -> Tile: ...
    def __and__(self, other: Operand) -> Tile: ...
    def __or__(self, other: Operand) -> Tile: ...
    def __xor__(self, other: Operand) -> Tile: ...
    def __invert__(self) -> Tile: ...
    def __eq__(self, other: Operand) -> Tile: ...  # type: ignore[override]
    def __ne__(self, other: Operand) -> Tile: ...  # type: ignore[override]
    def __lt__(self, other: Operand) -> Tile: ...
    def __le__(self, other: Operand) -> Tile: ...
    def __gt__(self, other: Operand) -> Tile: ...
    def __ge__(self, other: Operand) -> Tile: ...
    def __bool__(self) -> NoReturn: ...


class View(np.ndarray[Any, np.dtype[Any]]):
    """A region of a tensor, as a kernel has it; in a `@python_kernel` an array of NumPy."""

    @property
    def shape(self) -> tuple[int, ...]: ...  # type: ignore[override]
    @property
    def T(self) -> Self: ...
    @overload
    def __getitem__(self, index: slice[Any, Any, Any] | EllipsisType) -> Self: ...
    @overload
    def __getitem__(self, index: Any) -> Any: ...
    def __getitem__(self, index: Any) -> Any: ...  # type: ignore[override]
    def __setitem__(self, index: Any, value: Any) -> None: ...  # type: ignore[override]


Operand: TypeAlias = Tile | View | float


class In(View, Generic[E_co]):
    """A view that the kernel reads: `In`, `In[f32]`, or `In[Tensor[f32, 64, None]]`."""


class Out(View, Generic[E_co]):
    """A view that the kernel writes and does not read."""


class InOut(In[E_co], Out[E_co]):
    """A view that the kernel reads and writes."""


class Element(Tile, View):  # type: ignore[misc]
    """A tile, view or tensor of an element type."""

    name: ClassVar[str]
    kind: ClassVar[str]
    itemsize: ClassVar[int]  # type: ignore[assignment]
    is_float: ClassVar[bool]

    def __getitem__(self, index: Part | tuple[Part, ...]) -> Self: ...  # type: ignore[override]
    def __setitem__(self, index: Any, value: NoReturn) -> None: ...  # type: ignore[override]


class f16(Element, InOut["f16"]): ...  # type: ignore[misc]


class bf16(Element, InOut["bf16"]): ...  # type: ignore[misc]


class f8e4m3(Element, InOut["f8e4m3"]): ...  # type: ignore[misc]


class f8e5m2(Element, InOut["f8e5m2"]): ...  # type: ignore[misc]


class f32(Element, InOut["f32"]): ...  # type: ignore[misc]


class f64(Element, InOut["f64"]): ...  # type: ignore[misc]


class u8(Element, InOut["u8"]): ...  # type: ignore[misc]


class u16(Element, InOut["u16"]): ...  # type: ignore[misc]


class i8(Element, InOut["i8"]): ...  # type: ignore[misc]


class i16(Element, InOut["i16"]): ...  # type: ignore[misc]


class i32(Element, InOut["i32"]): ...  # type: ignore[misc]


class u32(Element, InOut["u32"]): ...  # type: ignore[misc]


class u64(Element, InOut["u64"]): ...  # type: ignore[misc]


class bool_(Element, InOut["bool_"]): ...  # type: ignore[misc]


class i64(Expr, Element, InOut["i64"]):  # type: ignore[misc]
    """Also what a workload has of integers: a table, an axis, an element of them."""

    size: Expr  # type: ignore[assignment]
    lengths: i64
    indptr: i64
    indices: i64


class Slot(i64):
    """An integer that tasks write and the workload reads."""

    def __init__(self, init: Integer = 0, *, name: str | None = None) -> None: ...


class _Array(Protocol):
    """An array of NumPy, PyTorch or others."""

    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...


OtherType: TypeAlias = str | np.dtype[Any] | type[np.generic]


@overload
def tensor(what: Shape, dtype: type[E], *, name: str | None = None) -> E: ...
@overload
def tensor(what: Shape, *, name: str | None = None) -> f32: ...
@overload
def tensor(what: Shape, dtype: OtherType, *, name: str | None = None) -> Any: ...
@overload
def tensor(what: _Array | SupportsBuffer, *, name: str | None = None) -> Any: ...
def tensor(what: Any, dtype: Any = ..., *, name: str | None = None) -> Any:
    """A tensor that a run binds: of a shape and an element type, or those of an array."""


@overload
def Buffer(shape: Shape, dtype: type[E], *, name: str | None = None) -> E: ...
@overload
def Buffer(shape: Shape, *, name: str | None = None) -> f32: ...
@overload
def Buffer(shape: Shape, dtype: OtherType, *, name: str | None = None) -> Any: ...
def Buffer(shape: Any, dtype: Any = ..., *, name: str | None = None) -> Any:
    """A tensor that the program owns."""


Integers: TypeAlias = Sequence[int] | np.ndarray[Any, Any]


def table(values: Integers | None = None, *, length: Extent | None = None, name: str | None = None) -> i64:
    """Integers that the workload itself reads."""
    raise NotImplementedError


Outer: TypeAlias = Extent | Any


def ragged(outer: Outer, lengths: Integers | i64, *, name: str | None = None) -> i64:
    """A ragged axis."""
    raise NotImplementedError


class CompressedRows(Protocol):
    """A matrix of SciPy in the format `csr`."""

    @property
    def format(self) -> str: ...
    @property
    def indptr(self) -> Any: ...
    @property
    def indices(self) -> Any: ...


@overload
def sparse(outer: Outer, matrix: CompressedRows, /, *, name: str | None = None) -> i64: ...
@overload
def sparse(
    outer: Outer, indptr: Integers | i64, indices: Integers | i64, *, name: str | None = None
) -> i64: ...
def sparse(outer: Any, indptr: Any, indices: Any = None, *, name: str | None = None) -> i64:
    """A sparse axis."""
    raise NotImplementedError
