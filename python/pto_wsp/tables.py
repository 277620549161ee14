"""Integers that the workload itself reads: tables, and slots that tasks write."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from ._raise import trace_error
from .dtypes import dtype_of, i64
from .expr import Expr, as_expr, check_bits, describe, in_order
from .spans import caller_span
from .tensors import Named, annotation_called, extent_of

_MOST_SHOWN = 8
"""Values that the text of a table has."""


class TableSpec:
    """The annotation `Table[i64, "batch"]`: a launch-time table with the name of the parameter."""

    __slots__ = ("length",)

    def __init__(self, length: Any) -> None:
        self.length = length

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise annotation_called(repr(self), f"lens: {self!r}", "lens = table([3, 1])")

    def __repr__(self) -> str:
        return f"Table[i64, {'...' if self.length is None else repr(self.length)}]"


class Table(Named):
    """Integers that the workload itself reads: `lens[b]` is an expression, `lens.size` the number of
    elements. Made by `table`, or by the annotation `lens: Table[i64, "batch"]` of a parameter, whose name it
    has; `Table[i64, ...]` has any number of elements.
    """

    __slots__ = ("counts", "length", "values")

    def __init__(self, *_: Any, **__: Any) -> None:
        raise annotation_called("Table", 'lens: Table[i64, "batch"]', "lens = table([3, 1])")

    @classmethod
    def _made(cls, values: Iterable[int] | None = None, length: Any = None, name: str | None = None) -> Table:
        self = object.__new__(cls)
        Named.__init__(self, name)
        self.values = None if values is None else _integers(values)
        self.length = None if length is None else extent_of(length, "the length of a table")
        self.counts = self.values is not None and all(value >= 0 for value in self.values)
        if self.values is not None and isinstance(self.length, int) and self.length != len(self.values):
            raise trace_error(
                1030,
                f"a table of length {self.length} is given {len(self.values)} values",
                help="leave `length` out; the values say it",
            )
        return self

    def __class_getitem__(cls, item: Any) -> TableSpec:
        parts = integers_first(item, "Table")
        if len(parts) > 1:
            raise trace_error(1017, f"a table of {len(parts)} dimensions", help='write `Table[i64, "batch"]`')
        if not parts:
            raise trace_error(
                1017,
                "`Table[i64]` does not say how many elements there are",
                help='write `Table[i64, "batch"]`, or `Table[i64, ...]` for any number',
            )
        return TableSpec(None if parts[0] is ... else extent_of(parts[0], "the length of a table"))

    def _counts(self) -> None:
        """Marks it as lengths or row starts, which a run refuses to be negative."""
        negative = None if self.values is None else next((v for v in self.values if v < 0), None)
        if negative is not None:
            raise trace_error(
                1030, f"a table of lengths holds {negative}", help="lengths and row starts are at least 0"
            )
        self.counts = True

    def __getitem__(self, index: Any) -> Expr:
        if isinstance(index, slice):
            raise trace_error(
                1023, f"a slice of table `{self.shown}`", help="tables are read element by element: `lens[b]`"
            )
        at = as_expr(index, f"the index of table `{self.shown}`")
        number = at.args[0] if at.op == "const" else None
        size = None if self.values is None else len(self.values)
        if number is not None and (number < 0 or (size is not None and number >= size)):
            has = "" if size is None else f"; it has {size} elements"
            raise trace_error(
                1025, f"index {number} is outside table `{self.shown}`{has}", help="indices count from 0"
            )
        return Expr("table", (self, at), caller_span())

    @property
    def size(self) -> Expr:
        """The number of its elements."""
        return Expr("len", (self,), caller_span())

    def __len__(self) -> int:
        raise trace_error(1003, f"`len({self.shown})`", help=f"write `{self.shown}.size`")

    def __iter__(self) -> Any:
        raise trace_error(
            1039,
            f"table `{self.shown}` is iterated by Python",
            help=f"write `for i in P({self.shown}.size): … {self.shown}[i] …`",
        )

    def __repr__(self) -> str:
        if self.values is None:
            return (
                f"{self.shown}: table of {'any number of' if self.length is None else self.length} integers"
            )
        first = ", ".join(map(str, self.values[:_MOST_SHOWN]))
        return (
            f"{self.shown}: [{first}]" if len(self.values) <= _MOST_SHOWN else f"{self.shown}: [{first}, …]"
        )

    @property
    def brief(self) -> str:
        """Its name where it has one, else its elements."""
        return repr(self).removeprefix("table: ") if self.shown == "table" else self.shown


def table(values: Iterable[int] | None = None, *, length: Any = None, name: str | None = None) -> Table:
    """Integers that the workload itself reads: `table([3, 1])`, which a run may replace;
    `table(length="batch")` must be bound and have that many, `table()` any number. Its name is `name`, else
    that of the variable.
    """
    return Table._made(values, length, name)


def integers_first(item: Any, what: str) -> tuple[Any, ...]:
    """What an annotation of integers says behind its element type, which is `i64`."""
    parts = item if isinstance(item, tuple) else (item,)
    if not parts or dtype_of(parts[0]) is not i64:
        shown = ", ".join(repr(part) if isinstance(part, str) else str(part) for part in parts)
        size = parts[0] if parts and isinstance(parts[0], str) else "batch"
        raise trace_error(
            1017,
            f"`{what}[{shown}]` does not say `i64` first",
            notes="type checkers take the first name for the type of the parameter",
            help=f'write `{what}[i64, "{size}"]`',
        )
    return parts[1:]


class Cell(Named):
    """The identity of a slot: its tensor of one `i64`."""

    __slots__ = ("init",)

    _what = "slot"
    dtype = i64

    def __init__(self, init: Expr, name: str | None) -> None:
        super().__init__(name)
        self.init = init

    def __repr__(self) -> str:
        return self.shown


class Slot(Expr):
    """An integer that tasks write and the workload reads: `again = Slot(1)`.

    As an argument of a kernel it is a tensor `i64[1]`; in expressions its value, once every earlier task that
    writes it is complete. `init` is its value before, at each run.
    """

    __slots__ = ()

    def __init__(self, init: Any = 0, *, name: str | None = None) -> None:
        value = as_expr(init, "the first value of a slot")
        super().__init__("slot", (Cell(value, name),))

    @property
    def cell(self) -> Cell:
        """What names it in the program."""
        return self.args[0]


def _listed(values: Any) -> Any:
    """The elements of an array of truth values, which are no integers of Python, as such."""
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    return values.tolist() if kind == "b" and getattr(values, "ndim", 0) == 1 else values


def _integers(values: Iterable[int]) -> tuple[int, ...]:
    try:
        result = tuple(operator.index(value) for value in in_order(_listed(values)))
    except TypeError:
        raise trace_error(
            1030,
            f"a table of {describe(values)}",
            help="a table holds integers: `table([3, 1])`; declare one that a run binds with "
            '`table(length="batch")`',
        ) from None
    for value in result:
        check_bits(value, "a table holds integers of 64 bits with sign: give it numbers of that range")
    return result
