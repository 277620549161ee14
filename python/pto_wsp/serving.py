"""Attention over paged caches as serving code calls it: planned for a batch, run for every layer.

The programs are `decode.pto`, `extend.pto` and `cascade.pto` of `examples/attention`, which come with the
package.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import errors
from ._raise import argument_error
from .batchargs import (
    MOST,
    TABLE,
    copy_rows,
    count,
    length,
    most,
    named_table,
    numbers,
    of_type,
    refuse_more_queries,
    reshaped,
    scale,
    schedule_of,
    shared,
    short,
    without_gaps,
    write_in_place,
)
from .batcherrors import InWordsOf, told
from .dtypes import DType, bf16, dtype_of, f16, f32
from .expr import describe, is_word
from .hints import lacks
from .memory import empty
from .program import Program, launch_file
from .spans import caller_span

if TYPE_CHECKING:
    from . import _static
    from .runs import BoundProgram

__all__ = ["BatchCascade", "BatchDecode", "BatchPrefill"]

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "attention")
_ELEMENTS = {"f16": f16, "bf16": bf16, "f32": f32}


@dataclass(frozen=True, slots=True)
class _Planned:
    """What a plan is for."""

    program: Program
    dtype: DType
    table: dict[str, Any]
    """The integers, by name in the program."""
    values: dict[str, Any]
    """Parameters of the program."""
    shapes: dict[str, tuple[int, ...]]
    """Of `q`, `out` and `lse` as callers give them."""
    inner: dict[str, tuple[int, ...]]
    """The same as the program has them."""
    page: tuple[int, int, int]
    """The extents of a page, in the order of the layout."""
    page_size: int
    """The tokens of a page."""
    sees: str
    """What it is for, to people."""


class _Batch:
    """What all of these have: a program for a batch, bound to arrays."""

    __slots__ = ("_bound", "_copied", "_layout", "_last", "_plan", "_programs", "_room", "_threads")

    _FILE: str
    _CACHES: tuple[str, ...]
    _bound: BoundProgram | None
    _copied: tuple[Any, Any] | None
    """Where each run copies a `q` with gaps, and that `q`."""
    _last: tuple[Any, Any, Any, Any, Any]
    _plan: _Planned | None
    _programs: dict[str | None, Program]
    _room: tuple[Any, Any]

    def __init__(self, *, kv_layout: Literal["NHD", "HND"] = "NHD", num_threads: int = 0) -> None:
        """`kv_layout` is the order of tokens and heads in pages; `num_threads` are as in `compile`."""
        if not is_word(kv_layout, ("NHD", "HND")):
            raise argument_error(1262, f"`kv_layout` is {describe(kv_layout)}", 'give `"NHD"` or `"HND"`')
        self._layout = kv_layout
        self._threads = count(num_threads, "num_threads", 0, 1024)
        self._programs = {}
        self._plan = None
        self._forget()

    def _forget(self) -> None:
        self._bound = None
        self._copied = None
        self._last = (None, None, None, None, None)
        self._room = (None, None)

    def _program(self, schedule: str | None) -> Program:
        program = self._programs.get(schedule)
        if program is None:
            given: dict[str, Any] = {"kv_layout": self._layout, "num_threads": self._threads}
            if schedule is not None:
                given["schedule"] = schedule
            path = os.path.join(_FOLDER, self._FILE)
            program = self._programs[schedule] = launch_file(path, "cpu_sim", given)
        return program

    def _planned(
        self,
        schedule: str | None,
        table: dict[str, Any],
        values: dict[str, Any],
        heads: tuple[Any, Any, Any, Any],
        dtype: Any,
        rows: int,
    ) -> None:
        """Makes a plan; `rows` are the rows of `q`."""
        q_heads, kv_heads, head_dim, page_size = (
            count(value, name, 1, MOST)
            for value, name in zip(heads, ("q_heads", "kv_heads", "head_dim", "page_size"), strict=True)
        )
        if q_heads % kv_heads:
            raise argument_error(
                1262,
                f"{q_heads} query heads do not share {kv_heads} KV heads evenly",
                "give `q_heads` that are a multiple of `kv_heads`",
            )
        element = dtype_of(dtype)
        if element is None or element.name not in _ELEMENTS:
            raise argument_error(
                1251, f"`dtype` is {describe(dtype)}", "queries and caches are of `f16`, `bf16` or `f32`"
            )
        page = (page_size, kv_heads) if self._layout == "NHD" else (kv_heads, page_size)
        shapes = {
            "q": (rows, q_heads, head_dim),
            "out": (rows, q_heads, head_dim),
            "lse": (rows, q_heads),
        }
        shown = f"{q_heads} heads over {kv_heads} of {head_dim} {element}, pages of {page_size}"
        plan = _Planned(
            self._program(schedule),
            element,
            table,
            values,
            shapes,
            {name: self._inner(name, shape) for name, shape in shapes.items()},
            (*page, head_dim),
            page_size,
            shown,
        )
        self._check(plan)
        self._plan = plan
        self._forget()

    def _inner(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape that the program has for one of the caller's."""
        return shape

    def _check(self, plan: _Planned) -> None:
        """Refuses page tables that cannot be, before there is a cache."""
        given: dict[str, Any] = {**plan.table, **plan.values, "q": (plan.dtype.name, plan.inner["q"])}
        for cache in self._CACHES:
            starts = plan.table[f"{cache}.indptr"]
            used = int(starts[-1]) if len(starts) else 0
            pages = (most(plan.table[f"{cache}.indices"], used) + 1, *plan.page)
            given[f"{cache}.k"] = given[f"{cache}.v"] = (plan.dtype.name, pages)
        with InWordsOf(self, plan.page_size):
            plan.program._core.workspace_query(given, plan.program._run_options)

    def _current(self, call: str) -> _Planned:
        if self._plan is None:
            raise argument_error(
                1259, f"`{call}` comes before `plan`", "say what the batch is first: `plan(indptr, …)`"
            )
        return self._plan

    def run(self, q: Any, kv: tuple[Any, Any], out: Any = None, lse: Any = None) -> Any:
        """Attends: `kv` are the pages of keys and those of values. Gives `out`.

        `out` takes the results in f32, `lse` the log-sum-exps in base 2. Without them the results lie in an
        array of this object, which the next run writes again.
        """
        if type(kv) is not tuple or len(kv) != 2:
            raise self._not_a_pair(kv)
        k, v = kv
        last = self._last
        if self._bound is None or not (
            q is last[0]
            and k is last[1]
            and v is last[2]
            and (out is last[3] if out is not None else self._room[0] is last[3])
            and (lse is last[4] if lse is not None else self._room[1] is last[4])
        ):
            last = self._bind(q, k, v, out, lse)
        try:
            if self._copied is not None:
                copy_rows(*self._copied)
            self._bound()  # type: ignore[misc]
        except errors.WspError as error:
            raise told(self, error, self._current("run").page_size) from error.__cause__
        return last[3]

    def _bind(self, q: Any, k: Any, v: Any, out: Any, lse: Any) -> tuple[Any, Any, Any, Any, Any]:
        """Binds arrays of which one is another than before."""
        plan = self._current("run")
        if out is None or lse is None:
            self._make_room(plan)
        out = self._room[0] if out is None else out
        lse = self._room[1] if lse is None else lse
        given = (q, k, v, out, lse)
        arrays, copied = {}, self._copied
        for name, array, before in zip(("q", "k", "v", "out", "lse"), given, self._last, strict=True):
            if array is not before or self._bound is None:
                arrays.update(self._named(plan, name, array))
        if "q" in arrays:
            arrays["q"], copied = without_gaps(arrays["q"], copied)
        with InWordsOf(self, plan.page_size):
            if self._bound is None:
                self._bound = plan.program.bind(**arrays, **plan.table, **plan.values)
            else:
                self._bound.rebind(**arrays)
        self._last, self._copied = given, copied
        return given

    def _make_room(self, plan: _Planned) -> None:
        if self._room[0] is None:
            self._room = (empty(plan.shapes["out"], f32), empty(plan.shapes["lse"], f32))

    def _named(self, plan: _Planned, name: str, array: Any) -> dict[str, Any]:
        """An array, checked, by its names in the program."""
        array = shared(name, array)
        if name in ("k", "v"):
            shape = tuple(array.shape)
            if len(shape) != 4 or shape[1:] != plan.page:
                order = ("page_size", "kv_heads") if self._layout == "NHD" else ("kv_heads", "page_size")
                raise argument_error(
                    1253,
                    f"`{name}` has the shape {list(shape)}, and pages are {list(plan.page)}",
                    f"give `[pages, {order[0]}, {order[1]}, head_dim]`, or plan for what you have",
                )
            of_type(name, array, plan.dtype)
            return {f"{cache}.{name}": array for cache in self._CACHES}
        shape, inner = plan.shapes[name], plan.inner[name]
        if tuple(array.shape) not in (shape, inner):
            raise argument_error(
                1253,
                f"`{name}` has the shape {list(array.shape)}, and the plan is for {list(shape)}",
                "give an array of that shape, or plan for what you have",
            )
        of_type(name, array, plan.dtype if name == "q" else f32)
        if tuple(array.shape) != inner:
            array = reshaped(name, array, inner)
        return {"output" if name == "out" else name: array}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise lacks(self, name, "")

    @property
    def lengths(self) -> list[int]:
        """Tokens of each request, of its own pages, as the page table says at present. Errors:
        `ArgumentError` for a table that cannot be.
        """
        plan = self._current("lengths")
        pages, last = self._present(plan)
        return [int(n) for n in np.where(pages > 0, (pages - 1) * plan.page_size + last, 0)]

    def _present(self, plan: _Planned) -> tuple[Any, Any]:
        """How many pages requests have, and the tokens in their last ones, of the table that there is."""
        table = {name: plan.table[f"kv.{name}"] for name in TABLE}
        indptr, indices, last = (numbers(name, values).astype(np.int64) for name, values in table.items())
        pages, rows = np.diff(indptr), self._requests(plan)
        fits = (
            len(last) == len(pages) == rows
            and indptr[0] == 0
            and indptr[-1] <= len(indices)
            and bool(((pages >= 0) & (last >= (pages > 0)) & (last <= plan.page_size * (pages > 0))).all())
        )
        if not fits:
            self._check(plan)
            raise argument_error(
                1263,
                f"the page table is for {len(last)} requests, and the plan for {rows}",
                "call `plan` for other requests",
            )
        return pages, last

    def _requests(self, plan: _Planned) -> int:
        """How many requests a plan is for."""
        rows: int = plan.shapes["q"][0]
        return rows

    @staticmethod
    def _not_a_pair(kv: Any) -> Exception:
        return argument_error(
            1262,
            f"`kv` is {describe(kv)}, no pair of arrays",
            "give the pages of keys and those of values: `(k, v)`; of one array, `(kv[0], kv[1])`",
        )

    def __repr__(self) -> str:
        plan = self._plan
        return f"<{type(self).__name__}: {'no plan' if plan is None else plan.sees}>"


class _Growing(_Batch):
    """A batch in which every request gets one token more at each step."""

    __slots__ = ()

    _FROM_NONE: bool
    """Whether a request without pages has tokens all the same, so that it needs a page for one more."""

    def advance(self) -> None:
        """Every request has one token more: adds 1 to each element of the `last_page_len` that `plan` was
        given, in place. The next run sees it.

        A request of `BatchDecode` without pages is none that runs, and stays as it is. Errors: `PlanError`
        where a request has no room for a token in its last page, `ArgumentError` for a table that cannot be.
        Then nothing is changed: give the request a page, in place where `indices` has room or by another
        `plan`.
        """
        plan = self._current("advance")
        pages, last = self._present(plan)
        full = np.flatnonzero((last >= plan.page_size) | ((pages == 0) & self._FROM_NONE))
        if full.size:
            request, more = int(full[0]), int(full.size) - 1
            others = f", and so do {more} others" if more else ""
            raise errors.make(
                errors.PlanError,
                580,
                f"request {request} needs a page for one token more{others}",
                span=caller_span(),
                help=[
                    "give it one: write `indptr`, `indices` and `last_page_len` in place, where `indices` "
                    "has room, or call `plan` with others"
                ],
            )
        write_in_place("last_page_len", plan.table["kv.last_page_len"], last + (pages > 0))


for _method in (_Batch.__init__, _Batch.run, _Growing.advance):
    # So Python names it where it is given too much.
    _method.__qualname__ = f"Batch.{_method.__name__}"


class BatchDecode(_Growing):
    """Decoding: one query per request over a paged cache.

    `plan` says what the batch is, `run` attends, for each layer, `advance` counts the token that each request
    has then. One thread at a time may use it.
    """

    __slots__ = ()

    _FILE = "decode.pto"
    _FROM_NONE = False
    _CACHES = ("kv",)

    def plan(
        self,
        indptr: _static.Integers,
        indices: _static.Integers,
        last_page_len: _static.Integers,
        q_heads: int,
        kv_heads: int,
        head_dim: int,
        page_size: int,
        dtype: Any,
        *,
        splits: Literal["balanced", "whole"] | int = "balanced",
        sm_scale: float | None = None,
    ) -> None:
        """Plans for requests of which number `i` has the pages `indices[indptr[i] : indptr[i + 1]]` and
        `last_page_len[i]` tokens in the last of them.

        The three are kept, and what changes in them is seen by the next run. `splits` says how requests are
        cut into tasks: `"balanced"` gives every core as many tokens, a number cuts every so many tokens, so
        that the bits of a request do not depend on the others, `"whole"` does not cut. `sm_scale` is `1 /
        sqrt(head_dim)` unless it is given. Errors: `ArgumentError`.
        """
        schedule, values = schedule_of(splits)
        values.update(scale(sm_scale))
        table = named_table("kv", indptr, indices, last_page_len)
        heads = (q_heads, kv_heads, head_dim, page_size)
        self._planned(schedule, table, values, heads, dtype, length(last_page_len))

    def _inner(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape if name == "lse" else (*shape[:2], 1, shape[2])


class BatchCascade(_Growing):
    """Decoding of requests that all begin with the same tokens, whose pages are attended once for many
    requests at a time.
    """

    __slots__ = ()

    _FILE = "cascade.pto"
    _FROM_NONE = True
    _CACHES = ("kv", "prefix")

    def plan(
        self,
        prefix_indices: _static.Integers,
        prefix_last_page_len: int,
        indptr: _static.Integers,
        indices: _static.Integers,
        last_page_len: _static.Integers,
        q_heads: int,
        kv_heads: int,
        head_dim: int,
        page_size: int,
        dtype: Any,
        *,
        splits: Literal["balanced", "whole"] | int = "balanced",
        sm_scale: float | None = None,
    ) -> None:
        """As `BatchDecode.plan`, of requests that have the pages `prefix_indices` before their own, with
        `prefix_last_page_len` tokens in the last of them.
        """
        schedule, values = schedule_of(splits)
        values.update(scale(sm_scale))
        last = count(prefix_last_page_len, "prefix_last_page_len", 0, MOST)
        prefix = named_table("prefix", [0, length(prefix_indices)], prefix_indices, [last])
        table = {**named_table("kv", indptr, indices, last_page_len), **prefix}
        heads = (q_heads, kv_heads, head_dim, page_size)
        self._planned(schedule, table, values, heads, dtype, length(last_page_len))

    def _inner(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape if name == "lse" else (*shape[:2], 1, shape[2])


class BatchPrefill(_Batch):
    """Prompts, or the rest of them: the last tokens of each request ask, as many as it has queries, and each
    sees itself and what is before it.
    """

    __slots__ = ()

    _FILE = "extend.pto"
    _CACHES = ("kv",)

    def plan(
        self,
        q_indptr: _static.Integers,
        indptr: _static.Integers,
        indices: _static.Integers,
        last_page_len: _static.Integers,
        q_heads: int,
        kv_heads: int,
        head_dim: int,
        page_size: int,
        dtype: Any,
        *,
        sm_scale: float | None = None,
    ) -> None:
        """As `BatchDecode.plan`; the queries of request `i` are the rows `q_indptr[i]` up to `q_indptr[i +
        1]` of `q`.
        """
        starts = numbers("q_indptr", q_indptr)
        falls = np.flatnonzero(np.diff(starts) < 0)
        if len(starts) != length(last_page_len) + 1 or starts[0] != 0 or falls.size:
            what = f"falls at element {int(falls[0]) + 1}" if falls.size else f"is {short(starts)}"
            raise argument_error(
                1263,
                f"`q_indptr` {what}, for {length(last_page_len)} requests",
                "give where the queries of each request begin, and where the last ones end: `[0, 3, 5]`",
            )
        table = {"q_indptr": q_indptr, **named_table("kv", indptr, indices, last_page_len)}
        heads = (q_heads, kv_heads, head_dim, page_size)
        self._planned(None, table, scale(sm_scale), heads, dtype, int(starts[-1]))

    def _requests(self, plan: _Planned) -> int:
        return len(plan.table["q_indptr"]) - 1

    def _check(self, plan: _Planned) -> None:
        super()._check(plan)
        refuse_more_queries(plan.table, plan.page_size)

    def run(self, q: Any, kv: tuple[Any, Any], out: Any = None, lse: Any = None) -> Any:
        """As `BatchDecode.run`."""
        if self._bound is not None:
            plan = self._current("run")
            with InWordsOf(self, plan.page_size):
                changed = self._bound._core.has_changed()
            if changed:
                self._check(plan)
        return super().run(q, kv, out, lse)
