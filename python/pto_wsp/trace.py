"""The JSON document of a traced workload, which the compiled core reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ._raise import trace_error
from ._seam import Span
from .collect import Things, key_names
from .expr import Expr, Var, constant
from .keys import CostTask, call_key
from .linear import known_number
from .loopaxes import Axis, LoopAxes
from .names import Names, check_name, is_name, variable_of
from .nodes import (
    Blocks,
    Close,
    Cond,
    Consume,
    KernelEntry,
    Loop,
    Node,
    Pass,
    Pipeline,
    RaggedDomain,
    RangeDomain,
    Select,
    Task,
    While,
)
from .policies import DispatchPolicy
from .schedule import Directive, keys_of
from .tables import Cell, Table
from .tensors import Index, Part, Tensor, View, Whole
from .tracing import Trace
from .writer import Json, Writer

FORMAT = "pto-wsp-trace"
VERSION = 1


class Document(Writer):
    """A traced workload with its schedule, numbered and named: the same for the same source.

    `callables` are the Python kernels by the `key` of their bodies, `arrays` the arrays that tensors are
    bound to unless a run says otherwise.
    """

    def __init__(self, name: str, trace: Trace, directives: tuple[Directive, ...], span: Span | None) -> None:
        used = {found for directive in directives for key in keys_of(directive) for found in key_names(key)}
        super().__init__(trace, LoopAxes(trace, used))
        self.directives = directives
        self.names = Names()
        self.callables: dict[str, Callable[..., Any]] = {}
        self.arrays: dict[str, Any] = {}
        self.notes: list[str] = []
        self._tensors: dict[int, int] = {}
        self._labels: dict[int, int] = {}
        self._channels: dict[int, int] = {}
        self._kernel_ids: dict[int, int] = {}
        self._json = self._build(name, span)

    def to_json(self) -> bytes:
        """The document."""
        return json.dumps(self._json, separators=(",", ":"), check_circular=False).encode()

    # Collecting.

    def _build(self, name: str, span: Span | None) -> Json:
        things = Things(self.trace, self.directives, self.axes)
        for size in self.trace.sizes:
            if size not in self.trace.fixed:
                self._params[size] = len(self._params)
                self._claim(size, "size", self.trace.sizes[size])
        workload: Json = {"uses": self._uses(), "params": self._param_entries()}
        workload["tables"] = [self._table(table) for table in things.tables]
        tensors = [self._tensor(tensor) for tensor in things.tensors]
        slots = [self._slot(cell, len(tensors) + at) for at, cell in enumerate(things.slots)]
        workload["axes"] = [self._axis(axis) for axis in self.axes.axes]
        workload["tensors"] = tensors + [entry for entry, _ in slots]
        workload["slots"] = [entry for _, entry in slots]
        bodies: list[Json] = []
        workload["kernels"] = [self._kernel(entry, bodies) for entry in self.trace.kernels.values()]
        workload["workloads"] = [self._workload(name, span)]
        workload["schedules"] = self._schedule(span)
        files, spans = self.spans.document()
        return {
            "format": FORMAT,
            "version": VERSION,
            "files": files,
            "spans": spans,
            "workload": workload,
            "kernels": bodies,
        }

    def _claim(self, name: str, what: str, span: Span | None) -> None:
        """Takes a name that users type; two things of one name are an error."""
        taken = self.names.taken(name)
        if taken is not None:
            other, where = taken
            raise trace_error(
                1019,
                f"{what} and {other} are both called `{name}`",
                span=span,
                labels=[(where, f"the {other}")],
                help=f'give one another name: `name="{name}_2"`',
            )
        self.names.take(name, what, span)

    def _uses(self) -> list[Json]:
        paths = dict.fromkeys(
            entry.library for entry in self.trace.kernels.values() if entry.library is not None
        )
        declared = [entry for entry in self.trace.kernels.values() if entry.library is None]
        if len(paths) > 1 or (paths and declared):
            kinds = [f"`{path}`" for path in paths]
            kinds += (
                [f"kernel `{declared[0].kernel.name}` of Python"] if declared and declared[0].kernel else []
            )
            raise trace_error(
                1040,
                "kernels of several files in one workload",
                span=None,
                notes=f"it calls kernels of {' and '.join(kinds)}",
                help="a workload takes all its kernels from one `.pto` file, or all from Python",
            )
        return [{"path": path} for path in paths]

    def _param_entries(self) -> list[Json]:
        return [self._mark({"name": name}, self.trace.sizes[name]) for name in self._params]

    def _named(self, thing: Any, what: str, *, typed: bool) -> str:
        """The name of a tensor, table or slot; `typed` for those that users name in a run."""
        name = thing.name or variable_of(thing, tuple(self.trace.functions))
        if name is None or (not typed and (self.names.taken(name) is not None or not is_name(name))):
            return self.names.free(name or what)
        check_name(name, f"a {what}", thing.span)
        self._claim(name, what, thing.span)
        thing_name: str = name
        return thing_name

    def _table(self, table: Table) -> Json:
        self._tables[id(table)] = len(self._tables)
        self._kept.append(table)
        node: Json = {"name": self._named(table, "table", typed=True)}
        if table.length is not None:
            node["len"] = self._expr(self.trace.extent(table.length, "the length of a table", table.span))
        if table.values is not None:
            node["values"] = list(table.values)
        return self._mark(node, table.span)

    def _tensor(self, tensor: Tensor) -> Json:
        self._tensors[id(tensor)] = len(self._tensors)
        self._kept.append(tensor)
        name = self._named(tensor, "tensor", typed=tensor.storage == "argument")
        if tensor.array is not None:
            self.arrays[name] = tensor.array
        dims = [self._expr(dim) for dim in self.trace.dims(tensor)]
        node = {"name": name, "dtype": tensor.dtype.name, "dims": dims, "storage": tensor.storage}
        return self._mark(node, tensor.span)

    def _slot(self, cell: Cell, tensor: int) -> tuple[Json, Json]:
        self._tensors[id(cell)] = tensor
        self._slots[id(cell)] = len(self._slots)
        init = self._expr(self.trace.extent(cell.init, "the first value of a slot", cell.span))
        node = {
            "name": self._named(cell, "slot", typed=False),
            "dtype": "i64",
            "dims": [1],
            "storage": "temporary",
        }
        return self._mark(node, cell.span), self._mark({"tensor": tensor, "init": init}, cell.span)

    def _axis(self, axis: Axis) -> Json:
        self._axis_ids[id(axis)] = len(self._axis_ids)
        outer = {} if axis.outer is None else {"outer": self._axis_ids[id(axis.outer)]}
        kind: Json = {"k": axis.kind, **outer}
        if axis.kind == "dense":
            kind.update(start=self._expr(axis.parts[0]), end=self._expr(axis.parts[1]))
        elif axis.kind == "dense_dyn":
            kind["param"] = self._params[axis.parts[0]]
        elif axis.kind == "ragged":
            kind["lengths"] = self._tables[id(axis.parts[0])]
        else:
            kind.update(indptr=self._tables[id(axis.parts[0])], indices=self._tables[id(axis.parts[1])])
        return self._mark({"name": axis.wish, "kind": kind}, axis.span)

    # Kernels.

    def _kernel(self, entry: KernelEntry, bodies: list[Json]) -> Json:
        self._kernel_ids[id(entry)] = len(self._kernel_ids)
        if entry.library is not None or entry.specialisation is None:
            bodies.append({"body": "library"})
            node: Json = {
                "name": self.names.free(entry.scalars[0]),
                "library": True,
                "unit": entry.unit or "any",
            }
            return self._costed(node, entry, entry.scalars[0], {}, ())
        made = entry.specialisation
        compiled = getattr(made, "compiled", None)
        self.notes += compiled.notes if compiled is not None else ()
        body = made.body(self.spans)
        if body.get("body") == "python":
            key = self.names.free(made.name)
            body = {**body, "key": key}
            if made.callable is not None:
                self.callables[key] = made.callable
        bodies.append(body)
        params = [{"name": param, "kind": kind} for param, kind in made.params]
        node = {"name": made.name, "unit": made.unit, "params": params}
        scalars = [
            Expr("var", (Var(param, self.trace, at, None, None, None),))
            for at, param in enumerate(param for param, kind in made.params if kind == "scalar")
        ]
        own = sum(1 for param in (entry.kernel.signature if entry.kernel else ()) if param.kind == "scalar")
        coords, rest = scalars[: len(scalars) - own], scalars[len(scalars) - own :]
        self._vars = {scalar.args[0]: at for at, scalar in enumerate(scalars)}
        named = {scalar.args[0].name: scalar for scalar in rest}
        node = self._costed(
            node, entry, entry.kernel.name if entry.kernel else made.name, named, tuple(coords)
        )
        self._vars = {}
        return self._mark(node, made.span)

    def _costed(
        self, node: Json, entry: KernelEntry, name: str, scalars: dict[str, Expr], coords: tuple[Expr, ...]
    ) -> Json:
        """Gives a kernel its cost: what it declares, or what `TracePolicy.cycles(fn)` computes."""
        declared = entry.cost
        if callable(declared):
            function = declared
            declared = call_key(
                lambda _: function(*scalars.values()),
                None,
                f"the cost of kernel `{name}`",
                "it is integer arithmetic on the kernel's scalar parameters: `cost=lambda n: 100 + 2 * n`",
            )
        cycles = next(
            (directive.function for directive in self.directives if directive.function is not None), None
        )
        if cycles is not None:
            known = (
                constant(1)
                if declared is None
                else declared
                if isinstance(declared, Expr)
                else constant(declared)
            )
            task = CostTask(name, known, scalars, coords)
            help = "`fn` gives an integer: arithmetic on scalar parameters, `t.coord(n)` and `t.cost`"
            declared = call_key(cycles, task, "the function of `cycles`", help)
        if declared is not None:
            node["cost"] = self._expr(declared) if isinstance(declared, Expr) else declared
        return node

    # Statements.

    def _workload(self, name: str, span: Span | None) -> Json:
        self._var_entries: list[Json] = []
        self._label_entries: list[Json] = []
        self._label_names = Names()
        self._channel_entries: list[Json] = []
        self._channel_names = Names()
        body = self._block(self.trace.body)
        node = {
            "name": self.names.free(name),
            "params": 0,
            "vars": self._var_entries,
            "labels": self._label_entries,
            "channels": self._channel_entries,
            "body": body,
        }
        return self._mark(node, span)

    def _bind(self, var: Var) -> int:
        self._vars[var] = len(self._var_entries)
        name = var.name if is_name(var.name) else Names().free(var.name)
        self._var_entries.append(self._mark({"name": name}, var.span))
        return self._vars[var]

    def _block(self, nodes: list[Node]) -> list[Json]:
        return [self._mark(self._node(node), node.span) for node in nodes]

    def _node(self, node: Node) -> Json:
        match node:
            case Task():
                return self._task(node)
            case Loop():
                over = self._over(node)
                kind = "for_each" if node.ordered else "parallel_for"
                return {"k": kind, "var": self._bind(node.var), "over": over, "body": self._block(node.body)}
            case Select():
                return self._select(node)
            case Cond():
                then = {"k": "cond", "condition": self._expr(node.condition), "then": self._block(node.then)}
                return {**then, "otherwise": self._block(node.otherwise)}
            case While():
                head = {"k": "while", "condition": self._expr(node.condition), "max": self._expr(node.most)}
                return {**head, "body": self._block(node.body)}
            case Blocks():
                return {"k": node.kind, "blocks": [self._block(block) for block in node.blocks]}
            case Pipeline():
                processes = [
                    self._mark({"name": process.name, "body": self._block(process.body)}, process.span)
                    for process in node.processes
                ]
                return {"k": "pipeline", "processes": processes}
            case Pass():
                return {"k": "send", **self._arm(node)}
            case Consume():
                arms = [self._mark(self._arm(arm), arm.span) for arm in node.arms]
                return {"k": "consume", "all": node.all, "arms": arms}
            case Close():
                return {"k": "close", "channel": self._channel(node.channel)}

    def _arm(self, node: Pass) -> Json:
        head = {"channel": self._channel(node.channel), "var": self._bind(node.var)}
        return {**head, "body": self._block(node.body)}

    def _over(self, loop: Loop) -> Json:
        axis = self.axes.of.get(id(loop))
        if isinstance(loop.domain, RaggedDomain):
            assert axis is not None
            return {"k": "ragged", "id": self._axis_ids[id(axis)], "outer": self._expr(loop.domain.outer)}
        if axis is not None:
            return {"k": "axis", "id": self._axis_ids[id(axis)]}
        assert isinstance(loop.domain, RangeDomain)
        lo, hi, step = (self._expr(end) for end in (loop.domain.lo, loop.domain.hi, loop.domain.step))
        return (
            {"k": "range", "lo": lo, "hi": hi}
            if step == 1
            else {"k": "range", "lo": lo, "hi": hi, "step": step}
        )

    def _select(self, node: Select) -> Json:
        row = self._expr(node.row)
        result: Json = {"k": "select", "axis": self._axis_ids[id(self.axes.of[id(node)])], "row": row}
        result["var"] = self._bind(node.var)
        if node.position is not None:
            result["position"] = self._bind(node.position)
        return {**result, "body": self._block(node.body)}

    def _channel(self, channel: Any) -> int:
        if id(channel) not in self._channels:
            self._channels[id(channel)] = len(self._channel_entries)
            name = channel.name or variable_of(channel, tuple(self.trace.functions)) or "unnamed"
            depth = self._expr(self.trace.extent(channel.depth, "the depth of a channel", channel.span))
            self._channel_entries.append(
                self._mark({"name": self._channel_names.free(name), "depth": depth}, channel.span)
            )
        return self._channels[id(channel)]

    def _task(self, task: Task) -> Json:
        node: Json = {"k": "task", "kernel": self._kernel_ids[id(task.entry)]}
        node["args"] = [self._argument(name, value, task) for name, value in task.args]
        if task.after:
            node["after"] = [self._labels[id(handle)] for handle in task.after]
        if task.labelled:
            node["label"] = self._labels[id(task)] = len(self._label_entries)
            label = {"name": self._label_names.free(task.name)}
            self._label_entries.append(self._mark(label, task.span))
        return node

    def _argument(self, name: str | None, value: Expr | View, task: Task) -> Json:
        named = {} if name is None else {"name": name}
        if isinstance(value, Expr):
            return {**named, "scalar": self._expr(value)}
        ranges = [self._range(entry) for entry in value.ranges]
        while ranges and ranges[-1] == {"k": "whole"}:
            ranges.pop()
        node = {**named, "tensor": self._tensors[id(value.base)], "ranges": ranges}
        return self._mark(node, task.span)

    def _range(self, entry: Whole | Index | Part) -> Json:
        match entry:
            case Whole():
                return {"k": "whole"}
            case Index():
                return {"k": "index", "i": self._expr(entry.at)}
            case Part():
                length = known_number(entry.extent)
                if length is not None:
                    return {"k": "sized", "lo": self._expr(entry.lo), "len": length}
                return {"k": "range", "lo": self._expr(entry.lo), "hi": self._expr(entry.hi)}

    # Schedules.

    def _schedule(self, span: Span | None) -> list[Json]:
        if not self.directives:
            return []
        said = [self._mark(self._directive(directive), directive.span) for directive in self.directives]
        return [self._mark({"name": "", "directives": said}, span)]

    def _directive(self, directive: Directive) -> Json:
        node: Json = {}
        for key, value in directive.fields.items():
            if isinstance(value, Expr):
                node[key] = self._key(value, directive)
            elif isinstance(value, DispatchPolicy):
                node[key] = self._policy(value, directive)
            elif key == "policies":
                node[key] = [
                    self._policy(p, directive) if isinstance(p, DispatchPolicy) else {"k": "pool", "unit": p}
                    for p in value
                ]
            else:
                node[key] = value
        return node

    def _policy(self, policy: DispatchPolicy, directive: Directive) -> Json:
        if policy.key is not None:
            return {"k": policy.kind, "key": self._key(policy.key, directive)}
        if policy.kind == "static_partition":
            return {"k": policy.kind, "ranges": [list(part) for part in policy.ranges]}
        return {"k": policy.kind}
