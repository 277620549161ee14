"""What tasks read and write: tensors, buffers, and views of them."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, ClassVar

from ._raise import trace_error
from ._seam import Span
from .axes import FixedSize, Size
from .dtypes import DType, dtype_of, f32
from .expr import Expr, describe, in_order
from .hints import lacks
from .spans import caller_span
from .texts import text_of

MAX_RANK = 6
"""The most dimensions of a tensor."""


class Named:
    """Something with a name of its own, else with that of the variable that holds it."""

    __slots__ = ("name", "span")

    _what: ClassVar[str] = ""
    """What it is called where it has no name, if that is not the name of its class."""

    def __init__(self, name: str | None) -> None:
        if name is not None and not isinstance(name, str):
            raise trace_error(
                1018,
                f"a name is a string, not {describe(name)}",
                help='write `name="X"`',
            )
        self.name = name
        self.span: Span | None = caller_span()
        if self.span is not None:
            text_of(self.span[0])

    @property
    def shown(self) -> str:
        """Its name where it has one, else what it is."""
        if self.name is not None:
            return self.name
        from .names import variable_of

        return variable_of(self) or self._what or type(self).__name__.lower()


class Indexable:
    """What a task can be given: indexing makes views of it."""

    __slots__ = ()

    shown: Any
    """It as it is written."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            has = "it has `shape`, `ndim` and `dtype`, and parts, `X[i]`; all else is done in a kernel"
            raise lacks(self, name, has)

    def whole(self) -> View:
        """The view of all of it."""
        raise NotImplementedError

    def __getitem__(self, item: Any) -> View:
        from .views import index

        return index(self.whole(), item)

    def __setitem__(self, item: Any, value: Any) -> None:
        raise trace_error(
            1042,
            f"an assignment to an element of `{self.shown}`",
            notes="a workload says which tasks there are; what they compute stands in kernels",
            help="write a kernel that stores it: `pto.store(y, …)`",
        )

    def __iter__(self) -> Any:
        raise trace_error(
            1039,
            f"`{self.shown}` is iterated by Python",
            help="write a loop over its index: `for i in P(n): … x[i] …`",
        )

    def __len__(self) -> int:
        raise trace_error(1039, f"`len({self.shown})`", help="`.shape[0]` is its first extent")

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise trace_error(
            1039,
            f"`{self.shown}` is no array",
            notes="a tensor of a workload stands for an array that a run binds",
            help="give the array to `program.execute(…)`",
        )

    def __bool__(self) -> bool:
        raise trace_error(
            1002, f"Python cannot look at the elements of `{self.shown}`", help="read a `Slot` or a `Table`"
        )

    def _is_no_number(self, *_: Any) -> Any:
        raise trace_error(
            1004,
            f"a workload does not compute with the elements of `{self.shown}`",
            help="compute in a kernel; for a condition read a `Table`, or a `Slot` that a task writes",
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _is_no_number
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = _is_no_number
    __rmatmul__ = __neg__ = __lt__ = __le__ = __gt__ = __ge__ = _is_no_number


class TensorSpec:
    """The annotation `Tensor[f16, "batch", 128]`: a launch-time tensor with the name of the parameter. In
    `In[…]` of a kernel an extent may be None, which is any.
    """

    __slots__ = ("dims", "dtype")

    def __init__(self, dtype: DType, dims: tuple[Any, ...]) -> None:
        self.dtype = dtype
        self.dims = dims

    def __call__(self, *_: Any, **__: Any) -> Any:
        dims = ", ".join(map(repr, self.dims))
        value = f"X = tensor(({dims}{',' if len(self.dims) == 1 else ''}), {self.dtype!r})"
        raise annotation_called(repr(self), f"X: {self!r}", value)

    def __repr__(self) -> str:
        return f"Tensor[{', '.join([repr(self.dtype), *map(repr, self.dims)])}]"


class Tensor(Named, Indexable):
    """An array that a run binds; made by `tensor`, or by the annotation `q: Tensor[f16, "batch", 128]` of a
    parameter, whose name it has.
    """

    __slots__ = ("array", "dims", "dtype")

    storage = "argument"

    def __init__(self, *_: Any, **__: Any) -> None:
        raise annotation_called("Tensor", 'X: Tensor[f32, "rows", 64]', 'X = tensor(("rows", 64), f32)')

    @classmethod
    def _made(cls, shape: Any, dtype: Any = f32, name: str | None = None) -> Tensor:
        self = object.__new__(cls)
        self._fill(shape, dtype, name)
        return self

    def _fill(self, shape: Any, dtype: Any, name: str | None) -> None:
        Named.__init__(self, name)
        self.dims = _dims(shape)
        self.dtype = _dtype(dtype)
        self.array: Any = None

    def __class_getitem__(cls, item: Any) -> TensorSpec:
        parts = item if isinstance(item, tuple) else (item,)
        known = _dims([1 if dim is None else dim for dim in parts[1:]])
        dims = (None if dim is None else at for dim, at in zip(parts[1:], known, strict=True))
        return TensorSpec(_dtype(parts[0]), tuple(dims))

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    @property
    def shape(self) -> tuple[Any, ...]:
        """Its extents: ints, and in a workload expressions, else names."""
        from .tracing import current_or_none

        trace = current_or_none()
        dims = self.dims if trace is None else trace.dims(self)
        return tuple(plain(dim) for dim in dims)

    def whole(self) -> View:
        """The view of all of it."""
        from .tracing import current

        dims = current("a view of a tensor").dims(self)
        return View(self, tuple(Whole(dim) for dim in dims))

    def __repr__(self) -> str:
        return f"{self.shown}: {region_text(self)}"


class Buffer(Tensor):
    """A tensor that the program owns: zeros at each run, written and read by tasks, never bound."""

    __slots__ = ()

    storage = "temporary"

    def __init__(self, shape: Any, dtype: Any = f32, *, name: str | None = None) -> None:
        self._fill(shape, dtype, name)

    def __class_getitem__(cls, item: Any) -> TensorSpec:
        raise trace_error(
            1017, "`Buffer[…]` is no annotation", help="make it: `tmp = Buffer((64, 128), f32)`"
        )


def annotation_called(name: str, parameter: str, value: str) -> Exception:
    """The error of a call of what is an annotation."""
    return trace_error(
        1017,
        f"`{name}` is the annotation of a parameter, and makes nothing",
        help=[f"write `{value}`", f"as a parameter of a workload: `{parameter}`"],
    )


def tensor(what: Any, dtype: Any = None, *, name: str | None = None) -> Tensor:
    """A tensor that a run binds: `X = tensor(("seq", 512), f32)`, or one of an array's shape and type,
    `X = tensor(x)`, which is bound to that array unless a run gives another one.

    A shape has 1 to 6 extents: ints, names of launch-time sizes, and in a workload also expressions of sizes.
    Elements are `f32` where no type is said. Its name is `name`, else that of the variable.
    """
    if isinstance(what, (int, str, Expr, tuple, list)):
        return Tensor._made(what, f32 if dtype is None else dtype, name)
    if dtype is not None:
        raise trace_error(
            1028,
            "an array has an element type, and `tensor` is given another",
            help="leave it out, `tensor(x)`, or give a shape: `tensor(x.shape, f32)`",
        )
    return _of_array(what, name)


def _of_array(array: Any, name: str | None) -> Tensor:
    shape = getattr(array, "shape", None)
    dtype = getattr(array, "dtype", None)
    if isinstance(array, Tensor) or not isinstance(shape, tuple) or dtype is None:
        view = _memory(array)
        shape, dtype = view.shape or (), _FORMATS.get(view.format)
        if dtype is None:
            raise trace_error(
                1028,
                f"elements of format `{view.format}` have no element type here",
                help="convert it to one of `f16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool`",
            )
    else:
        dtype = str(dtype).removeprefix("torch.")
    result = Tensor._made(tuple(operator.index(extent) for extent in shape), dtype, name)
    result.array = array
    return result


_FORMATS = {
    "e": "f16", "f": "f32", "d": "f64", "?": "bool", "b": "i8", "h": "i16", "B": "u8", "H": "u16", "i": "i32",
    "I": "u32", "l": "i64", "q": "i64", "L": "u64", "Q": "u64",
}  # fmt: skip


def _memory(array: Any) -> memoryview:
    try:
        return memoryview(array)
    except TypeError:
        raise trace_error(
            1028,
            f"`tensor(…)` takes a shape or an array, not {describe(array)}",
            help='give the shape of an array that comes later, `tensor(("rows", 64), f32)`, or an array',
        ) from None


class Whole:
    """All of a dimension."""

    __slots__ = ("extent",)

    def __init__(self, extent: Expr) -> None:
        self.extent = extent


class Index:
    """One index of a dimension, which the view does not have."""

    __slots__ = ("at",)

    def __init__(self, at: Expr) -> None:
        self.at = at


class Part:
    """The indices `[lo, hi)` of a dimension, `extent` of them."""

    __slots__ = ("extent", "hi", "lo")

    def __init__(self, lo: Expr, hi: Expr, extent: Expr) -> None:
        self.lo = lo
        self.hi = hi
        self.extent = extent


class View(Indexable):
    """A region of a tensor, as tasks read and write it; made by indexing tensors and views."""

    __slots__ = ("base", "ranges")

    def __init__(self, base: Any, ranges: tuple[Whole | Index | Part, ...]) -> None:
        self.base = base
        self.ranges = ranges

    def __eq__(self, other: Any) -> bool:
        if self is other:
            return True
        raise trace_error(
            1002,
            f"Python cannot compare the elements of `{self.shown}`",
            notes="the view stands for elements that a run computes",
            help="compare in a kernel; a workload compares sizes, indices, tables and slots",
        )

    def __hash__(self) -> int:
        return id(self)

    def whole(self) -> View:
        """The view itself."""
        return self

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.base.dtype

    @property
    def kept(self) -> list[int]:
        """The dimensions of the tensor that the view has."""
        return [dim for dim, entry in enumerate(self.ranges) if not isinstance(entry, Index)]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.kept)

    @property
    def shape(self) -> tuple[Any, ...]:
        """Its extents: ints where they are known, else expressions."""
        return tuple(plain(self.ranges[dim].extent) for dim in self.kept)  # type: ignore[union-attr]

    @property
    def shown(self) -> str:
        """The view as it is written."""
        parts = []
        for entry in self.ranges:
            if isinstance(entry, Whole):
                parts.append(":")
            else:
                parts.append(repr(entry.at) if isinstance(entry, Index) else f"{entry.lo!r}:{entry.hi!r}")
        while parts and parts[-1] == ":":
            parts.pop()
        base = self.base.shown
        return f"{base}[{', '.join(parts)}]" if parts else base

    def __repr__(self) -> str:
        return f"{self.shown}: {region_text(self)}"


def said(value: Any) -> str:
    """What a call is given, for a message: a region or an expression as it is written, others as they are."""
    if isinstance(value, Indexable):
        return f"`{value.shown}`"
    return f"`{value!r}`" if isinstance(value, Expr) else describe(value)


def region_text(region: Tensor | View) -> str:
    """Element type and extents."""
    return f"{region.dtype}[{', '.join(map(str, region.shape))}]"


def plain(extent: Any) -> Any:
    """A number as an int, another expression as it is."""
    if isinstance(extent, Expr) and extent.op == "const":
        return extent.args[0]
    return extent


def _dtype(value: Any) -> DType:
    found = dtype_of(value)
    if found is None:
        raise trace_error(
            1028,
            f"{describe(value)} is no element type",
            help="element types of `pto_wsp`: "
            "`f16 bf16 f8e4m3 f8e5m2 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool_`",
        )
    return found


def _dims(shape: Any) -> tuple[Any, ...]:
    if isinstance(shape, (int, str, Expr)):
        shape = (shape,)
    try:
        dims = tuple(extent_of(extent, "an extent of a tensor") for extent in in_order(shape))
    except TypeError:
        raise trace_error(
            1028, f"a shape is a tuple, not {describe(shape)}", help='write `("seq", 512)`'
        ) from None
    if not 1 <= len(dims) <= MAX_RANK:
        raise trace_error(
            1028,
            f"a tensor of {len(dims)} dimensions",
            notes=f"a tensor has 1 to {MAX_RANK} dimensions",
            help="merge dimensions that tasks do not index"
            if dims
            else 'say its extents: `("rows", 64)`, as an annotation `Tensor[f32, "rows", 64]`',
        )
    return dims


def extent_of(extent: Any, what: str) -> int | str | Expr:
    """An extent: an int, the name of a size, or an expression."""
    if isinstance(extent, Size):
        return extent
    if isinstance(extent, Expr):
        return plain(extent)
    if isinstance(extent, FixedSize):
        return int(extent)
    if isinstance(extent, str):
        from .names import check_name

        check_name(extent, "a size")
        return extent
    try:
        value = operator.index(extent)
    except TypeError:
        raise trace_error(
            1028,
            f"{what} is {describe(extent)}",
            help='it is an int, the name of a size (`"seq"`), or an expression',
        ) from None
    if isinstance(extent, bool) or not 0 <= value < 2**32:
        raise trace_error(
            1028,
            f"{what} is {extent}",
            notes="extents are 0 to 4294967295",
            help="give 0 or more, or the name of a size",
        )
    return value
