"""Kernels that are Python functions: what they are called with for each task."""

from __future__ import annotations

import ast
import sys
import threading
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from .._arrays import to_memoryview, to_numpy
from .._seam import ViewSpec, caller_span
from ..errors import KernelError
from . import codes
from .compile import never_stored
from .source import Source
from .twice import FAULT_OF_A_TASK, call_twice, may_read

if TYPE_CHECKING:
    from .kernel import Param

_called = threading.local()
"""The coordinates that `run` of a task function is called with on each thread where no program calls it."""


def current_coord(n: int) -> int:
    """Coordinate `n` of the task whose Python kernel runs on this thread."""
    coords = _core.task_coords()
    if coords is None:
        coords = getattr(_called, "coords", None)
    if coords is None:
        raise codes.kernel_error(
            codes.OUTSIDE,
            "`pto.coord` stands in kernels only",
            caller_span(),
            help="call it in a function with `@kernel` or `@python_kernel`",
        )
    if not isinstance(n, int) or not 0 <= n < len(coords):
        raise codes.kernel_error(
            codes.COORDINATE,
            f"there is no coordinate {n!r}",
            caller_span(),
            notes=[f"the call of the kernel has {len(coords)}"],
            help="`k[b, h](…)` has coordinates 0 and 1",
        )
    return coords[n]


def task_function(
    source: Source,
    ncoords: int,
    params: Sequence[Param],
    views: Sequence[ViewSpec],
    constants: dict[str, Any],
) -> Callable[..., None]:
    """What runs a task: its function on arrays, numbers and constants, by name. Of each array it is to be
    given the dimensions that `keep` lists: the others are indexed. The first `ncoords` scalars are its
    coordinates, which `current_coord` gives. With `debug` an `Out` whose elements it computes from what was
    there is an error, for integers too.

    The function itself is called with arrays of NumPy where `direct` says how, see `_direct`.
    """

    function = source.function
    outs = {param.name: param.span for param in params if param.type.kind == "out"}
    forgotten = never_used(source, list(outs))
    doubtful = may_read(source, list(outs))

    def refuse(returned: Any) -> None:
        raise returned_value(function.__name__, function, returned)

    def call(arguments: dict[str, Any]) -> None:
        returned = function(**arguments)
        if returned is not None:
            refuse(returned)

    scalar = [param.name for param in params if param.type.kind == "scalar"]
    numbers = list(enumerate(scalar, ncoords))
    arrays = [param.name for param in params if param.type.kind not in ("scalar", "constexpr")]

    def run(regions: Sequence[Any], scalars: Sequence[int], debug: bool = False) -> None:
        arguments = constants.copy()
        for at, name in numbers:
            arguments[name] = scalars[at]
        try:
            for name, region in zip(arrays, regions, strict=True):
                arguments[name] = to_numpy(region)
        except ImportError:
            arguments.update(zip(arrays, map(to_memoryview, regions), strict=True))
        outer = getattr(_called, "coords", None)
        _called.coords = scalars[:ncoords]
        try:
            if debug and doubtful:
                seen = [(name, arguments[name], name in doubtful) for name in arrays]
                call_twice(lambda: call(arguments), seen, FAULT_OF_A_TASK, f"kernel `{source.name}`")
            else:
                call(arguments)
        finally:
            _called.coords = outer
        if forgotten is not None:
            raise never_stored(source.name, forgotten, outs[forgotten], f"`{forgotten}[...] = value`")

    run.keep = [view.keep for view in views]  # type: ignore[attr-defined]
    run.ncoords = ncoords  # type: ignore[attr-defined]
    given = {
        **{name: ("array", n) for n, name in enumerate(arrays)},
        **{name: ("scalar", at) for at, name in numbers},
        **{name: ("constant", value) for name, value in constants.items()},
    }
    direct = _direct(function, given) if forgotten is None else None
    run.direct = None if direct is None else (function, direct, refuse)  # type: ignore[attr-defined]
    return run


def _direct(function: Any, given: dict[str, tuple[str, Any]]) -> list[tuple[str, Any]] | None:
    """What each parameter of a function is given, in order; None for one that has to be called by name."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    return [given[name] for name in names] if set(names) == set(given) else None


def returned_value(name: str, function: Any, returned: Any) -> KernelError:
    """The error of a function that gives its values back in place of writing them."""
    code = function.__code__
    line = code.co_firstlineno
    return codes.kernel_error(
        codes.RETURN,
        f"`{name}` returns {type(returned).__name__}, which goes nowhere",
        (code.co_filename, line, 0, line, 0),
        help="write into the arrays it is given: `y[...] = value`",
    )


_SEES_ALL = {"locals", "vars", "eval", "exec"}
"""Functions that see variables without their names."""

_FACTS = frozenset("dtype flags itemsize nbytes ndim shape size strides".split())
"""Attributes of an array that are no views of it."""

_COPYING = frozenset(
    "all any argmax argmin argsort astype copy cumsum dot flatten item max mean min nonzero prod std sum "
    "tobytes tolist var".split()
)
"""Methods of an array that give something of its own."""

_VIEWING = frozenset("ravel reshape squeeze swapaxes transpose view".split())
"""Methods of an array that may give a view of it."""

_LOOKING = (abs, bool, float, int, isinstance, len, print, repr, str, sum, type)
"""Functions that change none of their arguments, and give something of their own."""

_CHOOSING = (max, min)
"""Functions that change none of their arguments, and give one of them, or a view of one."""


def never_used(source: Source, outs: Sequence[str]) -> str | None:
    """An `Out` whose array the function cannot have written: nothing stores to it, and nothing that might
    gets hold of it, as in `y = y + x`.
    """
    nodes = list(ast.walk(source.tree))
    parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
    shadowed = _shadowed(nodes)
    names = [node for node in nodes if isinstance(node, ast.Name) and node not in shadowed]
    if any(node.id in _SEES_ALL for node in names):
        return None
    # `y += x` writes into the array.
    targets = [node.target for node in nodes if isinstance(node, ast.AugAssign)]
    written = {target.id for target in targets if isinstance(target, ast.Name)}
    # Others may see what a global variable holds.
    written |= {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    loads: dict[str, list[ast.AST]] = {}
    for node in names:
        if isinstance(node.ctx, ast.Load):
            loads.setdefault(node.id, []).append(node)
    return next((name for name in outs if not _Uses(parents, loads, written, source).may_write(name)), None)


class _Uses:
    """What a function does with one array, which its variables may hold."""

    def __init__(
        self,
        parents: dict[ast.AST, ast.AST],
        loads: dict[str, list[ast.AST]],
        written: set[str],
        source: Source,
    ) -> None:
        self._parents = parents
        self._loads = loads
        self._written = written
        self._source = source
        self._seen: set[str] = set()

    def may_write(self, name: str) -> bool:
        """Whether something that a variable is used for may write to the array that it holds."""
        if name in self._written:
            return True
        if name in self._seen:
            return False
        self._seen.add(name)
        return any(self._use_may_write(node) for node in self._loads.get(name, ()))

    def _use_may_write(self, node: ast.AST) -> bool:
        """Whether what is done with an array, or with a view of it, may write to it."""
        while True:
            at = self._parents[node]
            match at:
                case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.AugAssign() | ast.Expr():
                    return False
                case ast.FormattedValue():
                    return False
                case ast.Subscript(value=value, ctx=ast.Load()) if value is node:
                    node = at
                case ast.Subscript(slice=index) if index is node:
                    return False
                case ast.Attribute(attr=name, ctx=ast.Load()):
                    call = self._parents[at]
                    if isinstance(call, ast.Call) and call.func is at:
                        # `astype(…, copy=False)` may give the array itself.
                        if name not in _VIEWING and (name != "astype" or not _may_keep(call)):
                            return name not in _COPYING
                        node = call
                    elif name == "T":
                        node = at
                    else:
                        return name not in _FACTS
                case ast.Call(args=args) if node in args and _is_one_of(at, _CHOOSING, self._source):
                    node = at
                case ast.IfExp(test=test):
                    if node is test:
                        return False
                    node = at
                case ast.Tuple(elts=values) | ast.List(elts=values) if names := _unpacked(
                    self._parents[at], at
                ):
                    return self.may_write(names[values.index(node)])
                case ast.Call(args=args) if node in args:
                    return not _only_looks(at, self._source)
                case ast.Assign(targets=targets) if all(isinstance(t, ast.Name) for t in targets):
                    # Other names of the same array, wherever the function has them.
                    return any(self.may_write(t.id) for t in targets if isinstance(t, ast.Name))
                case _:
                    return True


_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _shadowed(nodes: Sequence[ast.AST]) -> set[ast.AST]:
    """The names within comprehensions, and within lambdas, that stand for variables of their own."""
    found: set[ast.AST] = set()
    for node in nodes:
        if isinstance(node, _COMPREHENSIONS):
            bound = [name for each in node.generators for name in ast.walk(each.target)]
            own = {name.id for name in bound if isinstance(name, ast.Name)}
            outside = set(ast.walk(node.generators[0].iter))
        elif isinstance(node, ast.Lambda):
            arguments = node.args
            own = {each.arg for each in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]}
            outside = {part for each in arguments.defaults for part in ast.walk(each)}
            outside |= {part for each in arguments.kw_defaults if each for part in ast.walk(each)}
        else:
            continue
        names = [name for name in ast.walk(node) if isinstance(name, ast.Name)]
        found |= {name for name in names if name.id in own and name not in outside}
    return found


def _may_keep(call: ast.Call) -> bool:
    """Whether a call of `astype` may give the array itself: it says `copy`."""
    return len(call.args) > 4 or any(keyword.arg in (None, "copy") for keyword in call.keywords)


def _unpacked(at: ast.AST, value: ast.AST) -> list[str] | None:
    """The variables that the elements of a value go to, as in `y, z = a, y`; None for others."""
    if not isinstance(at, ast.Assign) or at.value is not value or len(at.targets) != 1:
        return None
    target = at.targets[0]
    if not isinstance(target, (ast.Tuple, ast.List)) or not isinstance(value, (ast.Tuple, ast.List)):
        return None
    names = [each.id for each in target.elts if isinstance(each, ast.Name)]
    whole = len(names) == len(target.elts) == len(value.elts)
    return names if whole and not any(isinstance(each, ast.Starred) for each in value.elts) else None


def _only_looks(call: ast.Call, source: Source) -> bool:
    """Whether a call gives something of its own and leaves its arguments as they are."""
    if _is_one_of(call, _LOOKING, source):
        return True
    function: Any = _found(call.func, source)
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(function, numpy.ufunc):
        return False
    plain = all(keyword.arg not in (None, "out") for keyword in call.keywords)
    return plain and len(call.args) <= function.nin and not any(isinstance(a, ast.Starred) for a in call.args)


def _is_one_of(call: ast.Call, functions: Sequence[Any], source: Source) -> bool:
    """Whether a call is one of one of these functions."""
    function = _found(call.func, source)
    return any(function is known for known in functions)


def _found(node: ast.expr, source: Source) -> Any:
    """What a name, or an attribute of a module, stands for; None for others."""
    if isinstance(node, ast.Name):
        return source.lookup(node.id)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        owner = source.lookup(node.value.id)
        return getattr(owner, node.attr, None) if isinstance(owner, types.ModuleType) else None
    return None
