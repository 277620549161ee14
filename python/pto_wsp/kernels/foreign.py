"""Kernels that are Python functions: what they are called with for each task."""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._seam import ViewSpec, caller_span
from . import codes
from .compile import never_stored
from .source import Source

if TYPE_CHECKING:
    from .kernel import Param

_task = threading.local()
"""The coordinates of the Python kernel that runs on each thread."""


def current_coord(n: int) -> int:
    """Coordinate `n` of the task whose Python kernel runs on this thread."""
    coords = getattr(_task, "coords", None)
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
) -> Callable[[Sequence[Any], Sequence[int]], None]:
    """What runs a task: arrays without the dimensions that are indexed, then numbers and constants, by
    name.
    """

    function = source.function
    outs = {param.name: param.span for param in params if param.type.kind == "out"}
    forgotten = never_used(source, list(outs))

    def run(boxes: Sequence[Any], scalars: Sequence[int]) -> None:
        from .._arrays import to_memoryview, to_numpy

        numbers = iter(scalars[ncoords:])
        given = iter(zip(boxes, views, strict=True))
        arguments = dict(constants)
        for param in params:
            if param.type.kind == "scalar":
                arguments[param.name] = next(numbers)
            elif param.type.kind != "constexpr":
                box, view = next(given)
                arguments[param.name] = _array(box, view, to_numpy, to_memoryview)
        outer = getattr(_task, "coords", None)
        _task.coords = tuple(scalars[:ncoords])
        try:
            returned = function(**arguments)
        finally:
            _task.coords = outer
        if returned is not None:
            code = function.__code__
            line = code.co_firstlineno
            raise codes.kernel_error(
                codes.RETURN,
                f"`{function.__name__}` returns {type(returned).__name__}, which goes nowhere",
                (code.co_filename, line, 0, line, 0),
                help="write into the arrays it is given: `y[...] = value`",
            )
        if forgotten is not None:
            raise never_stored(source.name, forgotten, outs[forgotten], f"`{forgotten}[...] = value`")

    return run


_SEES_ALL = {"locals", "vars", "eval", "exec"}
"""Functions that see variables without their names."""


def never_used(source: Source, outs: Sequence[str]) -> str | None:
    """An `Out` whose array the function cannot have written: it is never looked at, as in `y = x * 2`."""
    nodes = list(ast.walk(source.tree))
    names = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)}
    # `y += x` writes into the array.
    targets = [node.target for node in nodes if isinstance(node, ast.AugAssign)]
    names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return None if names & _SEES_ALL else next((name for name in outs if name not in names), None)


def _array(
    box: Any, view: ViewSpec, to_numpy: Callable[[Any], Any], to_memoryview: Callable[[Any], Any]
) -> Any:
    try:
        array = to_numpy(box)
    except ImportError:
        # Without NumPy there are no views of fewer dimensions: those that are indexed stay, with one element.
        return to_memoryview(box)
    index = tuple(slice(None) if d in view.keep else 0 for d in range(array.ndim))
    return array[index]
