"""Axes: what loops of a workload run over."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._raise import trace_error
from .expr import Expr, as_expr, describe

if TYPE_CHECKING:
    from .tables import Table


class Size(Expr):
    """A launch-time size: an integer of at least 0, and at the same time the axis `[0, size)` of its name."""

    __slots__ = ()

    def __init__(self, name: str, span: Any = None) -> None:
        super().__init__("param", (name,), span)

    @property
    def name(self) -> str:
        """Its name, by which a run sets it and schedules name the axis."""
        return self.args[0]

    # What is done with a parameter that was meant as a tensor.

    if not TYPE_CHECKING:

        def __getitem__(self, item: Any) -> Any:
            raise self._no_tensor(f"`{self!r}` is indexed")

        @property
        def shape(self) -> Any:
            """It has none."""
            raise self._no_tensor(f"`.shape` of `{self!r}`")

        def __len__(self) -> int:
            raise self._no_tensor(f"`len()` of `{self!r}`")

    def _no_tensor(self, what: str) -> Exception:
        return trace_error(
            1003,
            what,
            notes="a parameter without an annotation is a size: one integer",
            help=f"if it is a tensor, annotate it: `{self!r}: Tensor[f32, …]`",
        )


class FixedSize(int):
    """A size that is bound: a Python int, and at the same time the axis `[0, n)` of its name."""

    axis_name: str | None

    def __new__(cls, value: int, axis_name: str | None = None) -> FixedSize:
        """The size `value` of the axis of a name."""
        self = super().__new__(cls, value)
        self.axis_name = axis_name
        return self


class _Subscripted(type):
    """What gives `Dense[4]` and `Dense[2:6]`."""

    def __getitem__(cls, item: Any) -> Dense:
        if isinstance(item, slice):
            if item.stop is None:
                raise trace_error(1011, "`Dense[lo:]` has no end", help="write `Dense[lo:hi]` or `Dense[n]`")
            start = 0 if item.start is None else item.start
            return Dense(start, item.stop, 1 if item.step is None else item.step)
        return Dense(item)

    def __iter__(cls) -> Any:
        raise _not_a_loop("Dense[n]")


class Dense(metaclass=_Subscripted):
    """The indices `[start, end)`: `Dense[4]` or `Dense[2:6]`.

    In a workload the ends may be expressions. `Dense[4]` is also given for a size:
    `attention(batch=Dense[4])`.
    """

    __slots__ = ("end", "name", "start", "step")

    def __init__(self, start: Any, end: Any = None, step: Any = 1, *, name: str | None = None) -> None:
        if end is None:
            start, end = 0, start
        self.start: Expr = as_expr(start, "the start of `Dense`")
        self.end: Expr = as_expr(end, "the end of `Dense`")
        self.step: Expr = as_expr(step, "the step of a range")
        self.name = name
        if self.step.op == "const" and self.step.args[0] < 1:
            raise trace_error(
                1014,
                f"the step of a range is {self.step.args[0]}",
                help="steps are at least 1; count backwards with the index: `n - 1 - i`",
            )

    @property
    def size(self) -> Expr | int:
        """How many indices there are between start and end."""
        size = self.end - self.start
        return size.args[0] if size.op == "const" else size

    def __repr__(self) -> str:
        if self.step.key != ("const", 1):
            return f"Dense[{self.start}:{self.end}:{self.step}]"
        return f"Dense[{self.start}:{self.end}]" if self.start.key != ("const", 0) else f"Dense[{self.end}]"

    def __iter__(self) -> Any:
        raise _not_a_loop(repr(self))


class DenseDyn:
    """A launch-time size, said explicitly: the annotation or value of a formal parameter, `def w(batch:
    DenseDyn)`.
    """

    __slots__ = ()

    def __init__(self, *given: Any, **named: Any) -> None:
        if given or named:
            raise trace_error(
                1017,
                "`DenseDyn(…)` says something of a size that a launch sets",
                help="annotate a parameter with it, `def w(n: DenseDyn):`, or give a size: `Dense[4]`",
            )

    def __repr__(self) -> str:
        return "DenseDyn"


class Outer:
    """What an inner axis lies under: a size by name or value, or a dense axis."""

    __slots__ = ("axis",)

    def __init__(self, axis: Any, what: str) -> None:
        if isinstance(axis, str):
            self.axis: Any = axis
        elif isinstance(axis, (Size, FixedSize)):
            self.axis = axis.name if isinstance(axis, Size) else axis
        elif isinstance(axis, Dense):
            self.axis = axis
        elif isinstance(axis, (Ragged, Sparse)):
            raise trace_error(1011, f"the outer axis of `{what}` is {axis!r}", help="the outer axis is dense")
        else:
            try:
                self.axis = FixedSize(operator.index(axis))
            except TypeError:
                raise trace_error(
                    1011,
                    f"the outer axis of `{what}` is {describe(axis)}",
                    help="give a size of the workload, its name, or `Dense[n]`",
                ) from None


class Ragged:
    """Under index `i` of a dense outer axis the indices `[0, lengths[i])`; made by `ragged`, or by the
    annotation `tok: Ragged[i64, "batch"]` of a parameter, whose name the table of lengths has.
    """

    __slots__ = ("lengths", "name", "outer")

    def __init__(self, *_: Any, **__: Any) -> None:
        from .tensors import annotation_called

        raise annotation_called("Ragged", 'tok: Ragged[i64, "batch"]', "tok = ragged(outer, lengths)")

    @classmethod
    def _made(cls, outer: Any, lengths: Table | Sequence[int], name: str | None = None) -> Ragged:
        self = object.__new__(cls)
        self.outer = Outer(outer, "ragged")
        self.lengths = _table(lengths)
        self.lengths._counts()
        self.name = name
        return self

    def __class_getitem__(cls, item: Any) -> RaggedSpec:
        return RaggedSpec("ragged", _outer_name(item, "Ragged"))

    def __getitem__(self, outer: Any) -> Row:
        return Row(self, as_expr(outer, f"the index of {self!r}"))

    def __repr__(self) -> str:
        return f"ragged({_shown(self.outer)}, {self.lengths.brief})"

    def __iter__(self) -> Any:
        raise _not_a_loop(self.name or "axis")


class Sparse:
    """Under index `i` of a dense outer axis the columns `indices[indptr[i] : indptr[i + 1]]` (compressed
    rows); made by `sparse`, or by the annotation `route: Sparse[i64, "batch"]` of a parameter, with the
    tables `route_indptr` and `route_indices`.
    """

    __slots__ = ("indices", "indptr", "name", "outer")

    def __init__(self, *_: Any, **__: Any) -> None:
        from .tensors import annotation_called

        raise annotation_called(
            "Sparse", 'route: Sparse[i64, "batch"]', "route = sparse(outer, indptr, indices)"
        )

    @classmethod
    def _made(
        cls,
        outer: Any,
        indptr: Table | Sequence[int],
        indices: Table | Sequence[int],
        name: str | None = None,
    ) -> Sparse:
        self = object.__new__(cls)
        self.outer = Outer(outer, "sparse")
        self.indptr = _table(indptr)
        self.indices = _table(indices)
        self.indptr._counts()
        self.name = name
        return self

    def __class_getitem__(cls, item: Any) -> RaggedSpec:
        return RaggedSpec("sparse", _outer_name(item, "Sparse"))

    def __getitem__(self, row: Any) -> Row:
        return Row(self, as_expr(row, f"the row of {self!r}"))

    def __repr__(self) -> str:
        return f"sparse({_shown(self.outer)}, {self.indptr.brief}, {self.indices.brief})"

    def __iter__(self) -> Any:
        raise _not_a_loop(self.name or "axis")


def ragged(outer: Any, lengths: Table | Sequence[int] | None = None, *, name: str | None = None) -> Ragged:
    """The axis that has, under index `i` of a dense outer axis, the indices `[0, lengths[i])`.

    `outer` is a size of the workload, its name, or `Dense[n]`; `lengths` is a `table` or integers.
    """
    if lengths is None:
        raise trace_error(
            1030,
            f"`ragged` is given {describe(outer)} and no lengths",
            help='give the size of the outer axis first: `ragged("batch", lengths)`',
        )
    return Ragged._made(outer, lengths, name)


def sparse(outer: Any, indptr: Any = None, indices: Any = None, *, name: str | None = None) -> Sparse:
    """The axis that has, under index `i` of a dense outer axis, the columns `indices[indptr[i] : indptr[i +
    1]]` (compressed rows), with tables or integers; `sparse(outer, matrix)` those of a matrix of SciPy in
    the format `csr`.
    """
    if indices is None:
        rows = compressed_rows(indptr)
        if rows is None:
            raise trace_error(
                1030,
                f"`sparse` is given {describe(indptr)} for `indptr`, and no `indices`",
                help="give `sparse(outer, indptr, indices)`, or a matrix of SciPy: `matrix.tocsr()`",
            )
        indptr, indices = rows
    return Sparse._made(outer, indptr, indices, name)


def compressed_rows(matrix: Any) -> tuple[Any, Any] | None:
    """Where rows begin and the columns of their elements, of a matrix as SciPy has them in the format `csr`;
    None of what is no sparse matrix. Those of another format are refused.
    """
    form = getattr(matrix, "format", None)
    if not isinstance(form, str) or not hasattr(matrix, "shape") or not hasattr(matrix, "nnz"):
        return None
    if form != "csr" or not hasattr(matrix, "indptr") or len(matrix.shape) != 2:
        raise trace_error(
            1030,
            f"a sparse matrix has the format `{form}`, and `Sparse` axes are rows",
            help="convert it: `matrix.tocsr()`",
        )
    _check_rows(matrix)
    return matrix.indptr, matrix.indices


def _check_rows(matrix: Any) -> None:
    """Refuses a matrix whose parts do not fit each other; what is no list or array is left to others."""
    rows, columns = matrix.shape
    starts, indices = matrix.indptr, matrix.indices
    if not (hasattr(starts, "__len__") and hasattr(indices, "__len__")):
        return
    if len(starts) != rows + 1 or starts[0] != 0:
        what = (
            f"its `indptr` is for {len(starts) - 1} rows, from {starts[0] if len(starts) else 'nothing'} on"
        )
    elif starts[-1] != len(indices):
        what = f"its rows end at {starts[-1]}, and it has {len(indices)} `indices`"
    elif len(indices) and int(max(indices.max() if hasattr(indices, "max") else max(indices), 0)) >= columns:
        what = "one of its `indices` is no column of it"
    else:
        return
    raise trace_error(
        1030,
        f"a sparse matrix of {rows} by {columns} does not fit itself: {what}",
        help="make it anew, `matrix.copy()`, and `matrix.prune()` where there is room behind the last row",
    )


def _table(values: Table | Sequence[int]) -> Table:
    from .tables import Table

    return values if isinstance(values, Table) else Table._made(values)


class RaggedSpec:
    """The annotation `Ragged[i64, "batch"]` or `Sparse[i64, "batch"]`."""

    __slots__ = ("kind", "outer")

    def __init__(self, kind: str, outer: str) -> None:
        self.kind = kind
        self.outer = outer

    def __call__(self, *_: Any, **__: Any) -> Any:
        from .tensors import annotation_called

        name, given = ("tok", "lengths") if self.kind == "ragged" else ("route", "indptr, indices")
        made = f"{name} = {self.kind}({self.outer!r}, {given})"
        raise annotation_called(repr(self), f"{name}: {self!r}", made)

    def __repr__(self) -> str:
        return f"{self.kind.capitalize()}[i64, {self.outer!r}]"


class Row:
    """A ragged or sparse axis under one index of its outer axis: `tok[b]`."""

    __slots__ = ("axis", "index")

    def __init__(self, axis: Ragged | Sparse, index: Expr) -> None:
        self.axis = axis
        self.index = index

    def __repr__(self) -> str:
        return f"{self.axis.name or self.axis!r}[{self.index!r}]"

    def __bool__(self) -> bool:
        raise trace_error(
            1002,
            f"Python cannot look at the indices of `{self!r}`",
            help="write `with P.when(axis.lengths[i] > 0):`",
        )

    def __iter__(self) -> Any:
        raise _not_a_loop(repr(self))


def _shown(outer: Outer) -> str:
    return repr(outer.axis)


def _outer_name(item: Any, what: str) -> str:
    from .tables import integers_first

    parts = integers_first(item, what)
    if len(parts) != 1 or not isinstance(parts[0], str):
        shown = describe(parts[0]) if len(parts) == 1 else f"{len(parts)} outer axes"
        raise trace_error(
            1017,
            f"`{what}[i64, …]` as an annotation takes the name of a size, not {shown}",
            help=f'write `{what}[i64, "batch"]`; with values, write `{what.lower()}(outer, …)`',
        )
    return parts[0]


def _not_a_loop(text: str) -> Exception:
    return trace_error(
        1039,
        f"`{text}` is iterated by Python",
        help=f"write `for i in P({text}):`, which stands for all iterations",
    )
