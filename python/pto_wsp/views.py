"""Indexing: which region of its tensor a view of a view is, checked where sizes are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._raise import trace_error
from .expr import Cond, Expr, as_expr, binary, constant, describe
from .linear import at_most, linear, lower_bound, simplified, upper_bound
from .tensors import Index, Part, View, Whole, plain

if TYPE_CHECKING:
    from ._static import Integer


class TileSlice:
    """`tile(i, n)` in a subscript: the indices from `i * n` to `i * n + n` or the end of the dimension."""

    __slots__ = ("at", "end", "length", "start")

    def __init__(self, at: Expr, length: Expr, start: Expr, end: Expr | None) -> None:
        self.at = at
        self.length = length
        self.start = start
        self.end = end

    def __repr__(self) -> str:
        parts = [self.at, self.length]
        if self.end is not None or self.start.key != ("const", 0):
            parts += [self.start] if self.end is None else [self.start, self.end]
        return f"tile({', '.join(map(repr, parts))})"


def tile(index: Integer, length: Integer, start: Integer = 0, end: Integer | None = None) -> TileSlice:
    """In a subscript `X[tile(i, 64)]`: tile `i` of 64 indices of a dimension, the last one cut at its end.

    `tile(i, n, lo, hi)` counts tiles of the indices `lo` up to `hi`, such as the rows of one sequence.
    """
    size = as_expr(length, "the length of a tile")
    if size.op == "const" and size.args[0] < 1:
        raise trace_error(
            1027, f"a tile of {size.args[0]} indices", help="tiles have at least 1 index: `tile(i, 64)`"
        )
    return TileSlice(
        as_expr(index, "the number of a tile"),
        size,
        as_expr(start, "the start of a range of tiles"),
        None if end is None else as_expr(end, "the end of a range of tiles"),
    )


def index(view: View, item: Any) -> View:
    """The view `view[item]`."""
    entries = _entries(view, item if isinstance(item, tuple) else (item,))
    ranges = list(view.ranges)
    for dim, entry in zip(view.kept, entries, strict=False):
        ranges[dim] = _Dimension(view, dim).apply(entry)
    return View(view.base, tuple(ranges))


def _entries(view: View, item: tuple[Any, ...]) -> list[Any]:
    """One entry per kept dimension that the subscript has one for."""
    given = [entry for entry in item if entry is not Ellipsis]
    if len(given) < len(item) - 1:
        raise trace_error(
            1023, "two `...` in a subscript", help="one `...` stands for all dimensions between"
        )
    if len(given) > view.ndim:
        raise trace_error(
            1023,
            f"`{view.shown}` has {view.ndim} dimensions, and {len(given)} are indexed",
            notes=f"its shape is {_shape(view)}",
            help=f"index at most {view.ndim}",
        )
    for at, entry in enumerate(item):
        if entry is Ellipsis:
            return [*item[:at], *[slice(None)] * (view.ndim - len(given)), *item[at + 1 :]]
    return given


def _shape(view: View) -> str:
    return "(" + ", ".join(str(extent) for extent in view.shape) + ("," if view.ndim == 1 else "") + ")"


class _Dimension:
    """One dimension of a view that is indexed."""

    def __init__(self, view: View, dim: int) -> None:
        from .tracing import current_or_none

        entry = view.ranges[dim]
        assert not isinstance(entry, Index)
        self.view = view
        self.entry = entry
        self.position = view.kept.index(dim)
        self.extent: Expr = entry.extent
        trace = current_or_none()
        self.idle = trace is not None and trace.idle()
        """Whether no iteration takes the subscript, so that no index is outside."""

    def apply(self, item: Any) -> Whole | Index | Part:
        if isinstance(item, TileSlice):
            return self.tile(item)
        if isinstance(item, slice):
            return self.slice(item)
        if item is None or isinstance(item, (bool, str, float, list)):
            raise trace_error(
                1027,
                f"{describe(item)} in a subscript of `{self.view.shown}`",
                help="subscripts are integers, `lo:hi`, `...`, and `tile(i, n)`",
            )
        if isinstance(item, Cond):
            raise trace_error(
                1027,
                f"condition `{item!r}` in a subscript of `{self.view.shown}`",
                notes="in NumPy a condition in a subscript chooses elements, which no region does",
                help="for the index 1 where it holds, else 0, write `P.select(condition, 1, 0)`",
            )
        return self.index(self.from_end(as_expr(item, f"an index of `{self.view.shown}`")))

    def from_end(self, value: Expr) -> Expr:
        """A negative number counts from the end, as in Python."""
        if value.op == "const" and value.args[0] < 0:
            return simplified(self.extent + value)
        most = upper_bound(value)
        if most is not None and most < 0 and not self.idle:
            raise self.outside(f"`{value!r}` is negative", "only numbers count from the end: `x[-1]`")
        return value

    def index(self, at: Expr) -> Index:
        if self.idle:
            return Index(self.shifted(at))
        worst = _attained(at)
        if at_most(self.extent, at) or _below_zero(at):
            raise self.outside(f"index `{at!r}` is outside it", "indices are 0 to the extent - 1")
        number = plain(self.extent)
        if worst is not None and isinstance(number, int) and (worst[1] >= number or worst[0] < 0):
            reach = worst[1] if worst[1] >= number else worst[0]
            raise self.outside(
                f"index `{at!r}` reaches {reach}", "shorten the loop, or index another dimension"
            )
        self.inside(at, at + 1)
        return Index(self.shifted(at))

    def slice(self, item: slice) -> Whole | Part:
        if item.step is not None and not (isinstance(item.step, int) and item.step == 1):
            raise trace_error(
                1024,
                f"a slice of `{self.view.shown}` has the step {item.step!r}",
                notes="a task reads and writes regions without gaps",
                help="give the kernel the region, and take every n-th element there",
            )
        if item.start is None and item.stop is None:
            return self.entry
        lo = constant(0) if item.start is None else self.from_end(as_expr(item.start, "the start of a slice"))
        hi = self.extent if item.stop is None else self.from_end(as_expr(item.stop, "the end of a slice"))
        if self.idle:
            return self.part(lo, hi)
        span = linear(hi).plus(linear(lo), -1).value
        if span is not None and span < 0:
            raise self.outside(f"`{lo!r}:{hi!r}` ends before it starts", "write `lo:hi` with `lo <= hi`")
        if at_most(self.extent + 1, hi) or _below_zero(lo):
            raise self.outside(
                f"`{lo!r}:{hi!r}` is not inside it", "`tile(i, n)` stops at the end of the dimension"
            )
        worst = _attained(hi)
        number = plain(self.extent)
        if worst is not None and isinstance(number, int) and worst[1] > number:
            raise self.outside(
                f"`{lo!r}:{hi!r}` reaches {worst[1]}", "`tile(i, n)` stops at the end of the dimension"
            )
        self.inside(lo, hi)
        return self.part(lo, hi)

    def tile(self, item: TileSlice) -> Part:
        lo = item.start + item.at * item.length
        hi = lo + item.length
        end = self.extent if item.end is None else item.end
        if self.idle:
            return self.part(lo, hi)
        if at_most(self.extent, lo) and not at_most(self.extent, constant(0)):
            raise self.outside(
                f"`{item!r}` starts at or behind its end", "count tiles with `P.ceildiv(extent, n)`"
            )
        if not at_most(hi, end):
            hi = binary("min", hi, end)
        if at_most(self.extent + 1, hi):
            raise self.outside(f"`{item!r}` ends behind its end", "give an end inside: `tile(i, n, lo, hi)`")
        self.inside(lo, hi)
        return self.part(lo, hi)

    def part(self, lo: Expr, hi: Expr) -> Part:
        return Part(self.shifted(lo), self.shifted(hi), simplified(hi - lo))

    def shifted(self, at: Expr) -> Expr:
        """An index of the view as one of the tensor."""
        return simplified(self.entry.lo + at) if isinstance(self.entry, Part) else simplified(at)

    def inside(self, lo: Expr, hi: Expr) -> None:
        """Requires what lies inside a part: a run checks regions against tensors, not views of them."""
        if isinstance(self.entry, Whole):
            return
        least = lower_bound(lo)
        if least is None or least < 0 or not at_most(hi, self.extent):
            raise trace_error(
                1026,
                f"`{lo!r}:{hi!r}` may lie outside dimension {self.position} of `{self.view.shown}`",
                notes=f"its extent there is `{self.extent!r}`; regions are checked against tensors, not "
                "against views",
                help="index the tensor itself, or use a bound that shows it, such as `for j in P(extent // "
                "n)`",
            )

    def outside(self, what: str, help: str) -> Exception:
        return trace_error(
            1025,
            f"{what}: dimension {self.position} of `{self.view.shown}` has the extent {self.extent!r}",
            help=help,
        )


def _below_zero(value: Expr) -> bool:
    most = upper_bound(value)
    return most is not None and most < 0


def _attained(value: Expr) -> tuple[int, int] | None:
    """The least and greatest value where the index of one loop with known bounds decides it, and the loop has
    iterations.

    None where a condition around the subscript may leave iterations out.
    """
    form = linear(value)
    if len(form.terms) != 1:
        return None
    ((count, term),) = form.terms.values()
    if term.op != "var":
        return None
    var = term.args[0]
    if var.lo is None or var.hi is None or not var.trace.unconditional_since(var):
        return None
    lo, hi = linear(var.lo).value, linear(var.hi).value
    if lo is None or hi is None or hi < lo:
        return None
    ends = (form.constant + count * lo, form.constant + count * hi)
    return (min(ends), max(ends))


def most(extent: Expr) -> int | None:
    """A number of 32 bits that the extent never exceeds, or None."""
    value = upper_bound(extent)
    return value if value is not None and 0 <= value < 2**32 else None
