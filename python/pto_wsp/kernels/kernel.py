"""Kernels as objects: the decorators, signatures, specialisations and calls."""

from __future__ import annotations

import inspect
import operator
import re
import sys
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, overload

from .. import _seam
from .._pickled import name_of, named
from .._raise import trace_error
from .._seam import REQUIRED, ConstexprArg, ParamSpec, ScalarArg, Span, SpanTable, ViewSpec
from ..dtypes import DTYPES, dtype_of
from ..errors import WspError
from ..expr import is_word
from ..postponed import evaluated, method_of, scope_at
from ..spans import span_of_node
from ..thrown import warning_when_gone
from . import codes
from .annotations import ParamType, param_type
from .compile import Compiled, compile_kernel
from .foreign import task_function
from .reads import is_constant
from .source import Source, source_of
from .values import ViewParam

if TYPE_CHECKING:
    from ..expr import Expr
    from ..tracing import Task

    Coordinate = int | Expr
    Unit = Literal["vector", "cube", "any", "host"]
    Cost = int | Callable[..., Any] | None

Given = typing.ParamSpec("Given")
"""What calls of a kernel give: the parameters of its function."""

__all__ = ["Kernel", "PythonKernel", "kernel", "python_kernel"]

UNITS = ("vector", "cube", "any", "host")

_MOST = 512
"""Specialisations that a kernel keeps, with the objects that are their constants."""

Arg = ViewSpec | ScalarArg | ConstexprArg


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of a kernel: its name, its annotation, its default, and where it stands."""

    name: str
    type: ParamType
    default: Any
    span: Span


@dataclass(frozen=True, slots=True)
class Specialised:
    """A kernel for one coordinate count, one set of constants and one shape of views;
    `_seam.Specialisation`.
    """

    key: Any
    name: str
    params: tuple[tuple[str, str], ...]
    unit: str
    cost: int | Callable[..., Any] | None
    span: Span | None
    callable: Callable[..., Any] | None
    compiled: Compiled | None

    def is_current(self) -> bool:
        """Whether compiling again would certainly give the same."""
        return self.compiled is None or self.compiled.is_current()

    def is_like(self, other: Specialised) -> bool:
        """Whether both have the same compiled body; texts are compared, as 1, 1.0 and True are equal."""
        if self.compiled is None or other.compiled is None:
            return self.compiled is other.compiled
        return repr(self.compiled.entry) == repr(other.compiled.entry)

    def body(self, spans: SpanTable) -> dict[str, Any]:
        """`kernels[i]` of the trace."""
        if self.compiled is not None:
            return self.compiled.body(spans)
        return {"body": "none" if self.callable is None else "python"}


class BaseKernel(Generic[Given]):
    """What compiled and Python kernels have in common."""

    what = "kernel"

    def __init__(self, function: Any, unit: str, cost: Any, scope: dict[str, Any], at: Span | None) -> None:
        self.source: Source = source_of(function, self.what, at)
        _check_unit(self.source, unit)
        self.function = function
        self.name: str = function.__name__
        self.unit = unit
        self.cost = _cost_of(self.source, cost)
        self.params = _parameters(self.source, scope)
        self.signature: list[ParamSpec] = [ParamSpec(p.name, p.type.kind, p.default) for p in self.params]
        self.__doc__ = function.__doc__
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__
        self.__wrapped__ = function
        self._made: dict[Any, Specialised] = {}
        self._compilations = 0

    def __copy__(self) -> BaseKernel:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> BaseKernel:
        return self

    @overload
    def __call__(self, *args: Given.args, **kwargs: Given.kwargs) -> Task: ...
    @overload
    def __call__(self, *args: Any, after: Task | Sequence[Task], **kwargs: Any) -> Task: ...
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Adds a task without coordinates to the workload that is being traced."""
        return _record(self, (), args, kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return (named, name_of(self, "kernel"))

    def __getitem__(self, coords: Coordinate | tuple[Coordinate, ...]) -> BoundKernel[Given]:
        """The kernel for a task with these coordinates: `k[b, h](…)`."""
        return BoundKernel(self, coords if isinstance(coords, tuple) else (coords,))

    def __iter__(self) -> Any:
        """Refuses it: Python would ask for a kernel with coordinate 0, 1, 2 and so on, without an end."""
        call = f"{self.name}[i]({', '.join(param.name for param in self.params)})"
        raise trace_error(1021, f"kernel `{self.name}` has no elements", help=f"a task of it is `{call}`")

    def specialise(self, ncoords: int, args: Sequence[Arg], call: Span | None) -> Specialised:
        """The kernel for these arguments, one per parameter; `KernelError` when they are not what
        annotations ask for.
        """
        for param, arg in zip(self.params, args, strict=True):
            _check_argument(self.name, param, arg, call)
        key = (ncoords, *(_key(self.name, p, a, call) for p, a in zip(self.params, args, strict=False)))
        made = self._made.get(key)
        if made is None or not made.is_current():
            fresh = self._specialise(ncoords, args, (key, self._compilations))
            if made is not None and fresh.is_like(made):
                fresh = replace(fresh, key=made.key)
            else:
                self._compilations += 1
            made = fresh
        # The one that was asked for last stands last.
        self._made.pop(key, None)
        self._made[key] = made
        if len(self._made) > _MOST:
            self._made.pop(list(self._made)[0], None)
        return made

    def _specialise(self, ncoords: int, args: Sequence[Arg], key: Any) -> Specialised:
        raise NotImplementedError

    def _task_params(self, ncoords: int) -> tuple[tuple[str, str], ...]:
        taken = {p.name for p in self.params}
        coords = []
        for n in range(ncoords):
            name = f"coord_{n}"
            while name in taken:
                name += "_"
            coords.append((name, "scalar"))
        rest = [(p.name, p.type.kind) for p in self.params if p.type.kind != "constexpr"]
        return (*coords, *rest)

    def __repr__(self) -> str:
        decorator = "@kernel" if self.what == "kernel" else "@python_kernel"
        params = ", ".join(_param_text(p) for p in self.params)
        head = f"{decorator}\ndef {self.name}({params})"
        texts = [made.compiled.text(self.name) for made in self._made.values() if made.compiled is not None]
        return "\n\n".join([head, *texts])


class Kernel(BaseKernel[Given]):
    """A function that is compiled for the device; made by `@kernel`."""

    def _specialise(self, ncoords: int, args: Sequence[Arg], key: Any) -> Specialised:
        compiled = None
        if not self.source.is_declaration:
            constants = {
                p.name: a.value
                for p, a in zip(self.params, args, strict=False)
                if isinstance(a, ConstexprArg)
            }
            views = _views(self.params, args)
            scalars = {name: n for n, (name, kind) in enumerate(_scalars(self._task_params(ncoords)))}
            keep = tuple(a.keep for a in args if isinstance(a, ViewSpec))
            compiled = compile_kernel(self.source, views, keep, scalars, ncoords, constants)
        return Specialised(
            key,
            self.name,
            self._task_params(ncoords),
            self.unit,
            self.cost,
            self.source.span,
            None,
            compiled,
        )

    def source_ir(self, /, *, coords: int = 0, **example: Any) -> str:
        """The function that the kernel is compiled to for these arguments, as text.

        Views are given by arrays of their shape and type, or anything else with `shape` and `dtype`; scalars
        by any integer.
        """
        args: list[Arg] = []
        for param in self.params:
            value = example.pop(param.name, param.default)
            args.append(_example(self.name, param, value))
        if example:
            names = ", ".join(f"`{name}`" for name in example)
            raise codes.kernel_error(
                codes.ARGUMENTS,
                f"{names}: no parameter of `{self.name}`",
                self.source.span,
                help=f"its parameters are {', '.join(p.name for p in self.params)}",
            )
        made = self.specialise(coords, args, self.source.span)
        return (
            made.compiled.text(self.name) if made.compiled is not None else f"// `{self.name}` has no body\n"
        )


class PythonKernel(BaseKernel[Given]):
    """A Python function that is called for each task with arrays; made by `@python_kernel`. Calling
    `k.function(…)` runs it here.
    """

    what = "python_kernel"

    def _specialise(self, ncoords: int, args: Sequence[Arg], key: Any) -> Specialised:
        constants = {
            p.name: a.value for p, a in zip(self.params, args, strict=False) if isinstance(a, ConstexprArg)
        }
        views = [a for a in args if isinstance(a, ViewSpec)]
        run = task_function(self.source, ncoords, self.params, views, constants)
        return Specialised(
            key, self.name, self._task_params(ncoords), self.unit, self.cost, self.source.span, run, None
        )


class BoundKernel(Generic[Given]):
    """A kernel and the coordinates of a task; calling it adds the task."""

    __slots__ = ("_gone", "coords", "kernel")

    def __init__(self, kernel: BaseKernel[Given], coords: tuple[Any, ...] = ()) -> None:
        self.kernel = kernel
        self.coords = coords
        name = kernel.name
        self._gone = warning_when_gone(
            f"`{name}[…]` is thrown away: a kernel with coordinates adds a task when it is called; "
            f"write `{name}[…](…)`",
            _seam.caller_span(),
            _seam.when_trace_failed(),
        )

    @overload
    def __call__(self, *args: Given.args, **kwargs: Given.kwargs) -> Task: ...
    @overload
    def __call__(self, *args: Any, after: Task | Sequence[Task], **kwargs: Any) -> Task: ...
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Adds a task to the workload that is being traced."""
        self._gone.forget()
        return _record(self.kernel, self.coords, args, kwargs)

    def __repr__(self) -> str:
        return f"<kernel {self.kernel.name} at {list(self.coords)!r}>"


def _record(
    kernel: BaseKernel, coords: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    after = kwargs.pop("after", ()) if all(p.name != "after" for p in kernel.params) else ()
    after = (after,) if not isinstance(after, list | tuple) else after
    return _seam.record_task(kernel, coords, args, kwargs, tuple(after), None)


@overload
def kernel(function: Callable[Given, Any], *, unit: Unit = "any", cost: Cost = None) -> Kernel[Given]: ...
@overload
def kernel(*, unit: Unit = "any", cost: Cost = None) -> Callable[[Callable[Given, Any]], Kernel[Given]]: ...
def kernel(function: Any = None, *, unit: Any = "any", cost: Any = None) -> Any:
    """Compiles a function to a kernel: `@kernel`, or `@kernel(unit="vector", cost=120)`.

    `unit` is where its tasks run (`vector`, `cube`, or `any`); `cost` their cycles for simulations, a number
    or a function of the scalar parameters.
    """
    return _decorate(Kernel, function, unit, cost)


@overload
def python_kernel(
    function: Callable[Given, Any], *, unit: Unit = "any", cost: Cost = None
) -> PythonKernel[Given]: ...
@overload
def python_kernel(
    *, unit: Unit = "any", cost: Cost = None
) -> Callable[[Callable[Given, Any]], PythonKernel[Given]]: ...
def python_kernel(function: Any = None, *, unit: Any = "any", cost: Any = None) -> Any:
    """Makes a kernel of a Python function, which is called for every task with NumPy arrays that are views
    of the task's regions.
    """
    return _decorate(PythonKernel, function, unit, cost)


def _decorate(cls: type[BaseKernel], function: Any, unit: str, cost: Any) -> Any:
    at = _seam.caller_span()
    scope = scope_at(sys._getframe(2))
    if function is not None:
        return cls(function, unit, cost, scope, at)
    return Options(lambda later: cls(later, unit, cost, scope, at))


class Options:
    """A decorator with options, to which the function is given."""

    __slots__ = ("_made",)

    def __init__(self, made: Callable[[Any], Any]) -> None:
        self._made = made

    def __call__(self, function: Any) -> Any:
        return self._made(function)


def _check_unit(source: Source, unit: Any) -> None:
    if not is_word(unit, UNITS):
        raise codes.kernel_error(
            codes.BAD_OPTION,
            f"`unit` of kernel `{source.name}`",
            source.span,
            help='write `unit="vector"`, `unit="cube"`, `unit="any"` or `unit="host"`',
        )


_MOST_CYCLES = 2**63 - 1
"""What an integer of an expression holds."""


def _cost_of(source: Source, cost: Any) -> int | Callable[..., Any] | None:
    """What a kernel costs; any whole number is an int."""
    if cost is None or callable(cost):
        return cost  # type: ignore[no-any-return]
    try:
        cycles = -1 if isinstance(cost, bool) else operator.index(cost)
    except TypeError:
        cycles = -1
    if not 0 <= cycles <= _MOST_CYCLES:
        raise codes.kernel_error(
            codes.BAD_OPTION,
            f"`cost={cost!r}` of kernel `{source.name}`",
            source.span,
            help=[
                "give cycles, a whole number from 0 to 2**63 - 1, or a function of the scalars: "
                "`lambda n: 10 * n`"
            ],
        )
    return cycles


def _parameters(source: Source, scope: dict[str, Any]) -> tuple[Param, ...]:
    tree = source.tree.args
    spans = {
        a.arg: span_of_node(source.filename, a) for a in (*tree.posonlyargs, *tree.args, *tree.kwonlyargs)
    }
    owner = method_of(source.function)
    if owner is not None:
        first = source.code.co_varnames[0]
        raise codes.kernel_error(
            codes.METHOD,
            f"kernel `{source.name}` is a method of `{owner}`",
            source.span,
            notes=[f"a task gives its kernel regions and numbers, and no `{first}`"],
            help=f"decorate a function inside of a method, where it sees `{first}`, or leave `{first}` out",
        )
    params = []
    for parameter in inspect.signature(source.function).parameters.values():
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            star = tree.vararg if parameter.kind is inspect.Parameter.VAR_POSITIONAL else tree.kwarg
            raise codes.kernel_error(
                codes.PARAMETER_FORM,
                f"`{parameter.name}` of kernel `{source.name}` takes any number of arguments",
                span_of_node(source.filename, star),
                help="a kernel has a fixed list of parameters: name them one by one",
            )
        span = spans[parameter.name]
        if parameter.annotation is inspect.Parameter.empty:
            raise codes.kernel_error(
                codes.NO_ANNOTATION,
                f"`{parameter.name}` of kernel `{source.name}` has no annotation",
                span,
                help=f"write `{parameter.name}: In`, `Out`, `InOut`, `Scalar` or `Constexpr`",
            )
        annotation = _annotation(source, parameter, scope, span)
        default = REQUIRED if parameter.default is inspect.Parameter.empty else parameter.default
        _check_default(source, parameter.name, annotation, default, span)
        params.append(Param(parameter.name, annotation, default, span))
    return tuple(params)


def _annotation(source: Source, parameter: inspect.Parameter, scope: dict[str, Any], span: Span) -> ParamType:
    annotation, note, said = (
        parameter.annotation,
        "",
        ["views may say more: `In[f32]`, `In[Tensor[f32, 64, None]]`"],
    )
    try:
        annotation = evaluated(annotation, source.function, scope)
    except WspError as error:
        note = error.message
        # Other annotations are those of workloads, which their help is about.
        if re.match(r"[\w.]*\b(In|Out|InOut|Scalar|Tile)\b", str(annotation)) and error.code != "WSP1017":
            said = error.help
    except Exception as error:
        note = str(error)
    found = param_type(annotation) if not note else None
    if found is None:
        shown = (
            parameter.annotation
            if isinstance(parameter.annotation, str)
            else getattr(annotation, "__name__", repr(annotation))
        )
        raise codes.kernel_error(
            codes.BAD_ANNOTATION,
            f"`{shown}` is no annotation of a kernel parameter",
            span,
            notes=[note] if note else (),
            help=[
                f"write `{parameter.name}: In`, `Out`, `InOut`, `Scalar` or `Constexpr`",
                *said,
            ],
        )
    return found


def _check_default(source: Source, name: str, annotation: ParamType, default: Any, span: Span) -> None:
    if default is REQUIRED or annotation.kind == "constexpr":
        return
    is_size = isinstance(default, int) and not isinstance(default, bool) and 0 <= default < 2**32
    if annotation.kind == "scalar" and is_size:
        return
    what = (
        "a Scalar is a whole number from 0 to 4294967295"
        if annotation.kind == "scalar"
        else "a view has no default"
    )
    raise codes.kernel_error(
        codes.BAD_DEFAULT,
        f"`{name}` of kernel `{source.name}` cannot have the default {default!r}",
        span,
        notes=[what],
        help=f"leave the default out, or declare `{name}: Constexpr`",
    )


def _check_argument(kernel: str, param: Param, arg: Arg, call: Span | None) -> None:
    if not isinstance(arg, ViewSpec):
        return
    want = param.type
    declared = [(param.span, "declared here")]
    if want.dtype is not None and want.dtype.name != arg.dtype:
        raise codes.kernel_error(
            codes.ARGUMENT_VIEW,
            f"`{param.name}` of `{kernel}` takes {want.dtype} elements and is given {arg.dtype}",
            call,
            labels=declared,
            help="declare the tensor with that type, or leave the type out of the annotation",
        )
    if want.dims is None:
        return
    if len(want.dims) != len(arg.keep):
        raise codes.kernel_error(
            codes.ARGUMENT_VIEW,
            f"`{param.name}` of `{kernel}` takes {len(want.dims)} dimensions and is given {len(arg.keep)}",
            call,
            labels=declared,
            help="an index drops a dimension and a slice keeps it: `X[i]` and `X[i:i+1]`",
        )
    for number, (need, have) in enumerate(zip(want.dims, arg.extents, strict=False)):
        if need is not None and have is not None and need != have:
            raise codes.kernel_error(
                codes.ARGUMENT_VIEW,
                f"dimension {number} of `{param.name}` of `{kernel}` is {need} and is given {have}",
                call,
                labels=declared,
                help="slice the tensor, or write None for an extent that may differ",
            )


def _views(params: Sequence[Param], args: Sequence[Arg]) -> tuple[ViewParam, ...]:
    views: list[ViewParam] = []
    for param, arg in zip(params, args, strict=False):
        if not isinstance(arg, ViewSpec):
            continue
        dims = param.type.dims or (None,) * len(arg.extents)
        extents = tuple(
            have if have is not None else need for have, need in zip(arg.extents, dims, strict=False)
        )
        views.append(
            ViewParam(
                param.name, len(views), param.type.kind, DTYPES[arg.dtype], extents, arg.most, param.span
            )
        )
    return tuple(views)


def _scalars(params: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [entry for entry in params if entry[1] == "scalar"]


def _key(kernel: str, param: Param, arg: Arg, call: Span | None) -> Any:
    if not isinstance(arg, ConstexprArg):
        return arg
    try:
        hash(arg.value)
    except TypeError:
        raise codes.kernel_error(
            codes.ARGUMENT_VIEW,
            f"`{param.name}` of `{kernel}` is given a {type(arg.value).__name__}, which cannot be a constant",
            call,
            labels=[(param.span, "declared here")],
            help="give numbers, strings, element types, functions, or tuples of them",
        ) from None
    return _constant_key(arg.value)


def _constant_key(value: Any) -> Any:
    """Equal only for values that compile to the same: 1, 1.0 and True differ, so do 0.0 and -0.0, and two
    objects that say that they are equal.
    """
    if type(value) is tuple:
        return (tuple, tuple(map(_constant_key, value)))
    return (type(value), repr(value)) if is_constant(value) else _Same(value)


class _Same:
    """An object, equal to itself alone."""

    __slots__ = ("_of",)

    def __init__(self, of: Any) -> None:
        self._of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._of is other._of

    def __hash__(self) -> int:
        return id(self._of)


def _example(kernel: str, param: Param, value: Any) -> Arg:
    if param.type.kind == "constexpr" and value is not REQUIRED:
        return ConstexprArg(value)
    if param.type.kind == "scalar":
        return ScalarArg()
    if isinstance(value, ViewSpec):
        return value
    dtype = dtype_of(getattr(value, "dtype", None))
    shape = getattr(value, "shape", None)
    if dtype is None or not isinstance(shape, tuple):
        raise codes.kernel_error(
            codes.ARGUMENTS,
            f"`{param.name}` of `{kernel}` needs an example",
            param.span,
            help=f"give an array: `source_ir({param.name}=numpy.zeros((64, 128), numpy.float32))`",
        )
    extents = tuple(int(n) for n in shape)
    return ViewSpec(dtype.name, tuple(range(len(extents))), extents, extents)


def _param_text(param: Param) -> str:
    words = {"in": "In", "out": "Out", "inout": "InOut", "scalar": "Scalar", "constexpr": "Constexpr"}
    text = f"{param.name}: {words[param.type.kind]}"
    if param.type.dims is not None:
        text += f"[Tensor[{', '.join(map(str, (param.type.dtype, *param.type.dims)))}]]"
    elif param.type.dtype is not None and param.type.kind != "scalar":
        text += f"[{param.type.dtype}]"
    return text if param.default is REQUIRED else f"{text} = {param.default!r}"
