"""Pipelines of workloads: processes, and channels that pass tiles between them."""

from __future__ import annotations

from typing import Any

from . import checks
from ._raise import trace_error
from ._seam import Span
from .dtypes import f32
from .expr import Expr, as_expr, binary, constant, describe
from .names import check_name
from .nodes import Close, Consume, Pass, Pipeline, Process
from .spans import caller_span
from .tensors import Buffer, Named
from .tracing import current


class Channel(Named):
    """A ring of tiles between two processes of a pipeline.

    `Channel((64, 128), f32, depth=2)` has `depth` tiles of this shape, in a buffer of the program;
    `Channel(depth=2)` passes tokens only. `with ch.send() as tile:` is the next free one, `with ch.consume()
    as tile:` the next filled one.
    """

    __slots__ = ("depth", "dtype", "ring", "shape")

    def __init__(
        self, shape: Any = None, dtype: Any = f32, *, depth: Any = None, name: str | None = None
    ) -> None:
        super().__init__(name)
        if depth is None:
            raise trace_error(
                1038, "a channel without `depth`", help="say how many tiles it holds: `Channel(…, depth=2)`"
            )
        self.depth = as_expr(depth, "the depth of a channel")
        if self.depth.op == "const" and self.depth.args[0] < 0:
            raise trace_error(
                1038,
                f"a channel of depth {self.depth.args[0]}",
                help="it holds tiles, or none: with `depth=0` a sender waits until its tile is taken",
            )
        self.shape = shape
        self.dtype = dtype
        self.ring: Buffer | None = None
        if shape is not None:
            dims = shape if isinstance(shape, (tuple, list)) else (shape,)
            self.ring = Buffer((slots(self.depth), *dims), dtype, name=name)
            self.ring.span = self.span

    def send(self) -> PassBlock:
        """`with ch.send() as tile:` the next free tile, which the tasks inside write; it is passed on when
        they are complete.
        """
        return PassBlock("send", self)

    def consume(self, *, all: bool = False) -> PassBlock:
        """`with ch.consume() as tile:` the next filled tile, which the tasks inside read; it is free when
        they are complete. With `all=True` for every tile, until the channel is closed and empty.
        """
        return PassBlock("consume", self, all)

    def close(self) -> None:
        """No tile is sent any more; those that were can still be consumed."""
        trace = current(f"`{self.shown}.close()`")
        span = caller_span()
        if trace.process() is None:
            raise outside(f"{self.shown}.close()", span)
        trace.add(Close(self, span))

    def __repr__(self) -> str:
        tiles = (
            "tokens" if self.ring is None else f"{self.ring.dtype}[{', '.join(map(str, self.ring.dims[1:]))}]"
        )
        return f"{self.shown}: channel of {self.depth!r} {tiles}"


def slots(depth: Expr) -> Any:
    """The tiles of a channel: one waits to be taken where it holds none."""
    return max(depth.args[0], 1) if depth.op == "const" else binary("max", depth, 1)


def truth(value: Any) -> bool:
    """The value of `all=`."""
    if not isinstance(value, bool):
        raise trace_error(1036, f"`all` is {describe(value)}", help="write `all=True`, or leave it out")
    return value


def outside(what: str, span: Span | None) -> Exception:
    return trace_error(
        1036,
        f"`{what}` outside of a process",
        span=span,
        help='channels pass tiles between processes: `with P.pipe():`, in it `with P.process("load"):`',
    )


class PipeBlock:
    """`with P.pipe():`."""

    def __init__(self) -> None:
        self.trace = current("`P.pipe()`")
        self.span = caller_span()
        checks.with_statement("P.pipe()")
        self._block: Any = None

    def __enter__(self) -> None:
        if self.trace.process() is not None:
            raise trace_error(
                1036,
                "a pipeline in a process of another",
                span=self.span,
                help="end the outer pipeline first, or add processes to it",
            )
        node = Pipeline(self.span)
        self.trace.add(node)
        self._block = self.trace.block([], node)
        self._block.__enter__()

    def __exit__(self, kind: Any, *rest: Any) -> None:
        if kind is not None:
            self.trace.broken("a pipeline", self.span)
        self._block.__exit__(None, None, None)


class ProcessBlock:
    """`with P.process("name"):`."""

    def __init__(self, name: Any) -> None:
        self.trace = current("`P.process(…)`")
        self.span: Span | None = caller_span()
        checks.with_statement("P.process(…)")
        if not isinstance(name, str):
            raise trace_error(
                1036, f"the name of a process is {describe(name)}", help='write `P.process("load")`'
            )
        check_name(name, "a process")
        self.name = name
        self._block: Any = None

    def __enter__(self) -> None:
        pipeline = self.trace.open[-1].owner
        if not isinstance(pipeline, Pipeline):
            raise trace_error(
                1036,
                f"process `{self.name}` outside of a pipeline",
                span=self.span,
                help="processes stand directly under `with P.pipe():`",
            )
        earlier = next((process for process in pipeline.processes if process.name == self.name), None)
        if earlier is not None:
            raise trace_error(
                1036,
                f"two processes are called `{self.name}`",
                span=self.span,
                labels=[(earlier.span, "the first")],
                help="give each process of a pipeline a name of its own",
            )
        process = Process(self.name, self.span)
        pipeline.processes.append(process)
        self._block = self.trace.block(process.body, process)
        self._block.__enter__()

    def __exit__(self, kind: Any, *rest: Any) -> None:
        if kind is not None:
            self.trace.broken("a process", self.span)
        self._block.__exit__(None, None, None)


class SelectBlock:
    """`with P.select_channel():`."""

    def __init__(self, all: bool) -> None:
        self.trace = current("`P.select_channel()`")
        self.span = caller_span()
        checks.with_statement("P.select_channel()")
        self.all = truth(all)
        self._node: Any = None
        self._block: Any = None

    def __enter__(self) -> None:
        if self.trace.process() is None:
            raise outside("P.select_channel()", self.span)
        self._node = Consume(self.all, self.span)
        self.trace.add(self._node)
        self._block = self.trace.block([], self._node)
        self._block.__enter__()

    def __exit__(self, kind: Any, *rest: Any) -> None:
        self._block.__exit__(None, None, None)
        if kind is not None:
            self.trace.broken("a selection", self.span)
        elif not self._node.arms:
            raise trace_error(
                1036,
                "a selection without arms",
                span=self.span,
                help="give it one for each channel: `with channel.consume() as tile:`",
            )


class PassBlock:
    """`with channel.send() as tile:` or `with channel.consume() as tile:`."""

    def __init__(self, kind: str, channel: Channel, all: bool = False) -> None:
        self.kind = kind
        self.channel = channel
        self.trace = current(f"`{channel.shown}.{kind}()`")
        self.span = caller_span()
        checks.with_statement(f"{channel.shown}.{kind}()")
        self.all = truth(all)
        self._node: Any = None
        self._block: Any = None

    def __enter__(self) -> Any:
        trace = self.trace
        if trace.process() is None:
            raise outside(f"{self.channel.shown}.{self.kind}()", self.span)
        depth = trace.extent(self.channel.depth, "the depth of a channel", self.span)
        var = trace.variable(
            f"{self.channel.shown}_slot", constant(0), as_expr(slots(depth), "") - 1, self.span
        )
        self._node = Pass(self.kind, self.channel, var, self.span, self.channel.ring)
        selection = trace.open[-1].owner
        if self.kind == "send":
            trace.add(self._node)
        elif isinstance(selection, Consume) and not self.all:
            selection.arms.append(self._node)
        else:
            trace.add(Consume(self.all, self.span, [self._node]))
        self._block = trace.block(self._node.body, self._node)
        self._block.__enter__()
        return None if self.channel.ring is None else self.channel.ring[Expr("var", (var,), self.span)]

    def __exit__(self, kind: Any, *rest: Any) -> None:
        self._node.var.closed = True
        if kind is not None:
            self.trace.broken("a channel's block", self.span)
        self._block.__exit__(None, None, None)
