"""Formal parameters of workload functions: what their annotations say, and which values they take."""

from __future__ import annotations

import ast
import inspect
import operator
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from ._raise import moved, trace_error
from ._seam import REQUIRED, Span
from .axes import Dense, DenseDyn, FixedSize, Ragged, RaggedSpec, Row, Sparse, compressed_rows
from .errors import WspError
from .expr import Expr, describe
from .names import check_name
from .pipes import Channel
from .postponed import evaluated, method_of
from .spans import span_of_function, span_of_node, tree_of
from .tables import Slot, Table, TableSpec
from .tensors import Indexable, Tensor, TensorSpec, said
from .tracing import Trace


@dataclass(frozen=True, slots=True)
class Formal:
    """A formal parameter.

    `kind` is `size`, `constexpr`, `tensor` (a value that must be given), or the annotation's `TensorSpec`,
    `TableSpec`, `RaggedSpec`.
    """

    name: str
    kind: Any
    default: Any
    keyword_only: bool
    span: Span | None

    @property
    def is_constexpr(self) -> bool:
        """Whether it takes any Python value."""
        return self.kind == "constexpr"

    def text(self) -> str:
        """It as a signature writes it."""
        words = {"size": "", "constexpr": ": Constexpr", "tensor": ": Tensor"}
        kind = words[self.kind] if isinstance(self.kind, str) else f": {self.kind!r}"
        default = "" if self.default is REQUIRED else f" = {self.default!r}"
        return f"{self.name}{kind}{default}"


def formals_of(function: Callable[..., Any], scope: dict[str, Any]) -> tuple[Formal, ...]:
    """The formal parameters of a workload function; `scope` are the variables where it is decorated."""
    if hasattr(function, "specialise") and hasattr(function, "name"):
        raise trace_error(
            1016,
            f"`{function.name}` is a kernel already, and no workload",
            help="a workload is a function of its own, which calls the kernel: "
            f"`for i in P(n): {function.name}[i](…)`",
        )
    if not inspect.isfunction(function):
        raise trace_error(
            1016,
            f"`workload` decorates a function, not {describe(function)}",
            help="write `@workload` above a `def`",
        )
    where = span_of_function(function)
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        raise trace_error(
            1043,
            f"workload `{function.__name__}` is a generator or coroutine",
            span=where,
            help="write a plain `def`",
        )
    owner = method_of(function)
    if owner is not None:
        first = function.__code__.co_varnames[0]
        raise trace_error(
            1049,
            f"workload `{function.__name__}` is a method of `{owner}`",
            span=where,
            notes=f"`{first}` would be a size, which a run binds",
            help=f"decorate a function inside of a method, where it sees `{first}`, or leave `{first}` out",
        )
    places = _places(function)
    return tuple(
        _formal(function, parameter, scope, places.get(parameter.name, where))
        for parameter in inspect.signature(function).parameters.values()
    )


def _places(function: Callable[..., Any]) -> dict[str, Span]:
    code = function.__code__
    source = tree_of(code.co_filename, code)
    for node in source.functions if source else ():
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        if first == code.co_firstlineno and getattr(node, "name", "") == code.co_name:
            args = [
                *node.args.posonlyargs,
                *node.args.args,
                *node.args.kwonlyargs,
                node.args.vararg,
                node.args.kwarg,
            ]
            return {arg.arg: span_of_node(code.co_filename, arg) for arg in args if isinstance(arg, ast.arg)}
    return {}


def _formal(
    function: FunctionType, parameter: inspect.Parameter, scope: dict[str, Any], span: Span | None
) -> Formal:
    if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
        stars = "*" if parameter.kind is inspect.Parameter.VAR_POSITIONAL else "**"
        raise trace_error(
            1017,
            f"`{stars}{parameter.name}` of workload `{function.__name__}`",
            span=span,
            help="name each parameter; a tuple goes into one parameter with the annotation `Constexpr`",
        )
    kind = _kind(_annotation(function, parameter, scope, span), parameter, span)
    if kind != "constexpr" and kind != "tensor":
        check_name(parameter.name, "a parameter of a workload", span)
    default = REQUIRED if parameter.default is inspect.Parameter.empty else parameter.default
    return Formal(parameter.name, kind, default, parameter.kind is inspect.Parameter.KEYWORD_ONLY, span)


def _annotation(
    function: FunctionType, parameter: inspect.Parameter, scope: dict[str, Any], span: Span | None
) -> Any:
    """The annotation; under `from __future__ import annotations` it is text, evaluated where the function
    stands.
    """
    annotation = parameter.annotation
    if not isinstance(annotation, str):
        return annotation
    try:
        return evaluated(annotation, function, scope)
    except WspError as problem:
        raise moved(problem, span) from None
    except Exception as problem:
        raise trace_error(
            1017,
            f"the annotation `{annotation}` of `{parameter.name}` cannot be evaluated: {problem}",
            span=span,
            help="import what it names where the workload is defined",
        ) from problem


def _kind(annotation: Any, parameter: inspect.Parameter, span: Span | None) -> Any:
    if annotation in (inspect.Parameter.empty, int, Dense, DenseDyn) or isinstance(annotation, DenseDyn):
        return "size"
    if isinstance(annotation, TensorSpec) and None in annotation.dims:
        raise trace_error(
            1017,
            f"an extent of `{parameter.name}` is None, which kernels alone may say",
            span=span,
            help='give a number, or the name of a size: `Tensor[f16, "batch", 128]`',
        )
    if isinstance(annotation, (TensorSpec, TableSpec, RaggedSpec)):
        return annotation
    if annotation in (Table, Ragged, Sparse):
        rest = "..." if annotation is Table else '"batch"'
        raise trace_error(
            1017,
            f"the annotation of `{parameter.name}` is `{annotation.__name__}` alone",
            span=span,
            help=f"write `{parameter.name}: {annotation.__name__}[i64, {rest}]`",
        )
    if annotation is Tensor:
        return "tensor"
    if _is_constexpr(annotation):
        return "constexpr"
    raise trace_error(
        1017,
        f"the annotation of `{parameter.name}` is {describe(annotation)}",
        span=span,
        help=[
            "no annotation declares a size",
            'others: `Constexpr`, `Tensor[f16, "batch", 128]`, `Table[i64, "batch"]`, '
            '`Ragged[i64, "batch"]`, `Sparse[i64, "batch"]`',
        ],
    )


def _is_constexpr(annotation: Any) -> bool:
    from .kernels.annotations import Constexpr

    return annotation is Constexpr or getattr(annotation, "kind", None) == "constexpr"


def bind(
    name: str,
    formals: tuple[Formal, ...],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    bound: dict[str, Any],
) -> dict[str, Any]:
    """Values by the names of parameters; `bound` are those that have one already."""
    shown = f"its signature: `{signature_text(name, formals)}`"
    free = [formal for formal in formals if formal.name not in bound]
    positional = [formal for formal in free if not formal.keyword_only]
    if len(args) > len(positional):
        raise trace_error(
            1015,
            f"workload `{name}` takes {len(positional)} arguments here, not {len(args)}",
            notes=shown,
            help=f"leave the last one out; a size that is bound stays bound: `{name}` is a value of its own",
        )
    values = dict(zip((formal.name for formal in positional), args, strict=False))
    for key, value in kwargs.items():
        if key in values or key in bound:
            raise trace_error(
                1015,
                f"`{key}` of workload `{name}` is given twice",
                notes=shown,
                help="give it once; a call of a bound workload does not bind again",
            )
        if all(formal.name != key for formal in formals):
            raise trace_error(
                1015,
                f"`{key}` is no parameter of workload `{name}`",
                notes=shown,
                help=[
                    f"its parameters: {', '.join(f'`{formal.name}`' for formal in formals) or 'none'}",
                    *_given_to_a_run(name, key, value),
                ],
            )
        values[key] = value
    return {
        formal.name: checked(name, formal, values[formal.name]) for formal in formals if formal.name in values
    }


def _given_to_a_run(workload: str, name: str, value: Any) -> list[str]:
    """What to write where an array is bound."""
    if isinstance(value, (Indexable, Expr)) or not hasattr(value, "shape"):
        return []
    return [f"arrays are given to a run: `{workload}.compile().execute({name}={name.lower()})`"]


def signature_text(name: str, formals: tuple[Formal, ...]) -> str:
    """A workload's signature."""
    return f"{name}({', '.join(formal.text() for formal in formals)})"


def checked(workload: str, formal: Formal, value: Any) -> Any:
    """A value as the function sees it."""
    if formal.is_constexpr:
        if isinstance(value, Expr):
            raise _wrong(
                workload, formal, value, "its annotation `Constexpr` asks for a value that Python knows"
            )
        return value
    if isinstance(formal.kind, TensorSpec) or formal.kind == "tensor":
        return _tensor(workload, formal, value)
    if isinstance(formal.kind, TableSpec):
        if isinstance(value, Table):
            return value
        if isinstance(value, (Expr, Indexable, str)) or not hasattr(value, "__iter__"):
            raise _wrong(workload, formal, value, "it is a table: `table([3, 1])` or integers")
        return Table._made(value, name=formal.name)
    if isinstance(formal.kind, RaggedSpec):
        wanted = Ragged if formal.kind.kind == "ragged" else Sparse
        rows = compressed_rows(value) if wanted is Sparse else None
        if rows is not None:
            return Sparse._made(formal.kind.outer, *rows, name=formal.name)
        if not isinstance(value, wanted):
            raise _wrong(workload, formal, value, f"it is an axis `{formal.kind.kind}(outer, …)`")
        return value
    return _size(workload, formal, value)


def _size(workload: str, formal: Formal, value: Any) -> Any:
    if value is DenseDyn or isinstance(value, DenseDyn):
        return DenseDyn()
    if isinstance(value, Dense):
        if value.start.key == ("const", 0) and value.step.key == ("const", 1) and value.end.op == "const":
            return FixedSize(value.end.args[0], formal.name)
        return Dense(value.start, value.end, value.step, name=formal.name)
    if isinstance(value, (Expr, Indexable, Table, Ragged, Sparse, Row, Channel)):
        return value
    try:
        number = operator.index(value)
    except TypeError:
        raise _wrong(
            workload, formal, value, "it is a size: an int, `Dense[n]`, an axis, a tensor or a table"
        ) from None
    if isinstance(value, bool):
        raise _wrong(workload, formal, value, "it is a size")
    if not 0 <= number < 2**63:
        raise trace_error(
            1016,
            f"size `{formal.name}` of workload `{workload}` is {number}",
            notes="sizes are at least 0",
            help="give 0 or more",
        )
    return FixedSize(number, formal.name)


def extents_of(formals: tuple[Formal, ...]) -> set[str]:
    """The names of sizes that annotations of parameters say."""
    said: set[Any] = set()
    for formal in formals:
        kind = formal.kind
        said.update(kind.dims if isinstance(kind, TensorSpec) else ())
        said.add(kind.length if isinstance(kind, TableSpec) else None)
        said.add(kind.outer if isinstance(kind, RaggedSpec) else None)
    return {name for name in said if isinstance(name, str)}


def constant_extent(workload: str, formal: Formal, value: Any) -> int:
    """The value of a `Constexpr` whose name is an extent of another parameter."""
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if isinstance(value, bool) or not 0 <= number < 2**63:
        raise trace_error(
            1016,
            f"`{formal.name}` of workload `{workload}` is {describe(value)}, and an extent of another "
            "parameter",
            labels=[(formal.span, "the parameter")],
            help=f"give an int from 0, or name the extent otherwise than `{formal.name}`",
        )
    return number


def _wrong(workload: str, formal: Formal, value: Any, why: str) -> Exception:
    shown = said(value)
    return trace_error(
        1016,
        f"`{formal.name}` of workload `{workload}` is given {shown}",
        notes=why,
        labels=[(formal.span, "the parameter")],
        help=[]
        if formal.is_constexpr
        else _given_to_a_run(workload, formal.name if formal.kind != "size" else "X", value)
        or [f"for any other Python value annotate it: `{formal.name}: Constexpr`"],
    )


def _tensor(workload: str, formal: Formal, value: Any) -> Any:
    if not isinstance(value, (Indexable, Slot)):
        raise _wrong(
            workload, formal, value, "it is a tensor: `tensor(shape, dtype)`, `tensor(array)` or a view"
        )
    if isinstance(formal.kind, TensorSpec) and isinstance(value, Indexable):
        spec = formal.kind
        dtype = value.dtype  # type: ignore[attr-defined]
        ndim = value.ndim  # type: ignore[attr-defined]
        if dtype != spec.dtype or ndim != len(spec.dims):
            raise _wrong(
                workload,
                formal,
                value,
                f"it is declared `{spec!r}`; this one has {ndim} dimensions of `{dtype!r}`",
            )
        shape = value.shape  # type: ignore[attr-defined]
        for at, (wanted, has) in enumerate(zip(spec.dims, shape, strict=True)):
            if isinstance(wanted, int) and isinstance(has, int) and wanted != has:
                raise _wrong(workload, formal, value, f"it is declared `{spec!r}`; dimension {at} is {has}")
    return value


def launch_value(trace: Trace, formal: Formal) -> Any:
    """What a parameter without a value stands for: something that a run binds."""
    kind = formal.kind
    if kind == "size":
        return trace.size(formal.name, formal.span)
    if isinstance(kind, TensorSpec):
        tensor = Tensor._made(kind.dims, kind.dtype, formal.name)
        tensor.span = formal.span
        trace.dims(tensor)
        trace.tensors.append(tensor)
        return tensor
    if isinstance(kind, TableSpec):
        return _launch_table(trace, formal.name, kind.length, formal.span)
    if isinstance(kind, RaggedSpec):
        outer = trace.size(kind.outer, formal.span)
        if kind.kind == "ragged":
            return Ragged._made(
                kind.outer, _launch_table(trace, formal.name, kind.outer, formal.span), name=formal.name
            )
        rows = _launch_table(trace, f"{formal.name}_indptr", outer + 1, formal.span)
        columns = _launch_table(trace, f"{formal.name}_indices", None, formal.span)
        return Sparse._made(kind.outer, rows, columns, name=formal.name)
    return REQUIRED


def _launch_table(trace: Trace, name: str, length: Any, span: Span | None) -> Table:
    table = Table._made(length=length, name=name)
    table.span = span
    trace.tables.append(table)
    return table
