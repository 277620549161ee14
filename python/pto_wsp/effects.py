"""What a block changes that outlives it: by its own statements, and by the functions that it calls.

Functions are looked into where their source lies in the same file as the block.
"""

from __future__ import annotations

import ast
import functools
import inspect
import io
import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import FrameType, FunctionType, MethodType, ModuleType
from typing import Any

from ._core import Public
from .liveness import stores
from .spans import Function, node_of_function

_MUTATORS = frozenset(
    "add append appendleft clear difference_update discard extend extendleft fill insert intersection_update "
    "move_to_end pop popitem popleft put remove resize reverse rotate setdefault sort subtract "
    "symmetric_difference_update update".split()
)
"""Methods by which lists, dictionaries, sets and arrays change."""

_OF_ARGUMENT = frozenset(
    "delattr heapify heappop heappush heappushpop heapreplace insort insort_left insort_right next setattr "
    "shuffle".split()
)
"""Functions that change their first argument."""

_MOST_CALLS = 8
"""How deep calls are followed."""

Lookup = Callable[[str], Any]
_UNKNOWN = object()


@dataclass(frozen=True, slots=True)
class Change:
    """A change of what a variable holds; `way` are the functions that lead to it."""

    name: str
    at: ast.AST
    way: tuple[str, ...] = ()


@dataclass(slots=True)
class _Summary:
    """What a function changes: variables around it, and its parameters."""

    outer: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    parameters: dict[str, tuple[str, ...]] = field(default_factory=dict)


def changes(body: list[ast.stmt], frame: FrameType) -> Iterator[Change]:
    """The changes that a block of the function of `frame` makes to variables that it does not make itself."""

    local = dict(frame.f_locals)

    def lookup(name: str) -> Any:
        return local.get(name, frame.f_globals.get(name, _UNKNOWN))

    filename = frame.f_code.co_filename
    made = _made(body)
    for node in own_nodes(body):
        for change in _changes_at(node, lookup, filename, 0):
            if change.name not in made:
                yield change
        if isinstance(node, Function):
            for name, way in _summary(node, lookup, filename, 1).outer:
                if name not in made:
                    yield Change(name, node, (_name_of(node), *way))


def own_nodes(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a block without those of functions in it."""
    stack: list[ast.AST] = list(reversed(list(body)))
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, Function):
            stack.extend(reversed(list(ast.iter_child_nodes(node))))


def _made(body: list[ast.stmt]) -> set[str]:
    """The variables that a block assigns something of its own: not another name of what was there before."""
    made = set(stores(body))
    while True:
        aliases = {name for name, source in _renamings(body) if name in made and source not in made}
        if not aliases:
            return made
        made -= aliases


def _renamings(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """`a = b`, `a = b.c[d]`, `for a in b`: the name, and whose contents it then has."""
    for node in own_nodes(body):
        if isinstance(node, ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
        elif isinstance(node, (ast.For, ast.NamedExpr)):
            pairs = [(node.target, node.iter if isinstance(node, ast.For) else node.value)]
        else:
            continue
        for target, value in pairs:
            base = _base(value)
            if isinstance(target, ast.Name) and base is not None:
                yield target.id, base.id


def _base(node: ast.AST | None) -> ast.Name | None:
    """The variable in whose contents an expression lies."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        node = node.value
    return node if isinstance(node, ast.Name) else None


def _changes_at(node: ast.AST, lookup: Lookup, filename: str, depth: int) -> Iterator[Change]:
    """The changes by one node itself, and by the function that it calls."""
    targets: Iterable[ast.AST] = ()
    if isinstance(node, (ast.Assign, ast.Delete)):
        targets = node.targets
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        targets = [node.target]
    for target in targets:
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        for part in parts:
            base = _base(part)
            if base is not None and not isinstance(part, (ast.Name, ast.Starred)):
                yield Change(base.id, node)
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        found = lookup(node.id)
        if hasattr(type(found), "__next__") and not isinstance(found, io.IOBase):
            # An iterator: whatever looks at it takes from it.
            yield Change(node.id, node)
    if isinstance(node, ast.Call):
        yield from _changes_by_call(node, lookup, filename, depth)


def _changes_by_call(node: ast.Call, lookup: Lookup, filename: str, depth: int) -> Iterator[Change]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    first = _base(node.args[0]) if node.args else None
    if name in _OF_ARGUMENT and first is not None:
        yield Change(first.id, node)
        return
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
    function = _resolve(node.func, lookup)
    base = _base(receiver)
    if _draws(function, _resolve(receiver, lookup)):
        drawn = base if base is not None else node.func
        yield Change(getattr(drawn, "id", name), node)
        return
    if name in _MUTATORS and base is not None and not _is_namespace(_resolve(receiver, lookup), function):
        yield Change(base.id, node)
        return
    if depth >= _MOST_CALLS:
        return
    for arg in (node.func, *node.args, *(keyword.value for keyword in node.keywords)):
        passed = function if arg is node.func else _resolve(arg, lookup)
        if arg is not node.func and _draws(passed, _resolve(getattr(arg, "value", None), lookup)):
            # `map(rng.integers, …)`
            yield Change(getattr(_base(arg), "id", name), node)
        plain = _plain(passed)
        tree = _tree_in(plain, filename)
        if plain is None or tree is None:
            continue
        given = _given(node, function, tree) if passed is function else {}
        values = {parameter: _resolve(value, lookup) for parameter, value in given.items()}
        summary = _summary(tree, _scope(plain, passed, values), filename, depth + 1)
        for outer, way in summary.outer:
            yield Change(outer, node, (plain.__name__, *way))
        defaults = _defaults(plain)
        yield from _changed_arguments(node, _name_of(tree), given, defaults, summary)


def _draws(function: Any, owner: Any) -> bool:
    """Whether a call takes the next number of a generator of random numbers, which has another one then."""
    while isinstance(function, functools.partial):
        function = function.func
    if getattr(function, "__module__", None) == "secrets" or function is os.urandom:
        return True
    generator = owner if owner is not _UNKNOWN and not isinstance(owner, ModuleType) else None
    if generator is None:
        generator = getattr(function, "__self__", None)
    modules = [getattr(cls, "__module__", None) for cls in type(generator).__mro__]
    return any(module == "random" or str(module).startswith("numpy.random.") for module in modules)


def _given(node: ast.Call, function: Any, tree: Function) -> dict[str, ast.expr]:
    """What a call gives the parameters of the function that it calls, where its text says it."""
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
    bound = [receiver] if isinstance(function, MethodType) else [node.func] if _is_instance(function) else []
    plain = list(itertools.takewhile(lambda arg: not isinstance(arg, ast.Starred), node.args))
    names = [arg.arg for arg in (*tree.args.posonlyargs, *tree.args.args)]
    pairs = [*zip(names, [*bound, *plain], strict=False), *((k.arg, k.value) for k in node.keywords)]
    return {name: value for name, value in pairs if name is not None and value is not None}


def _changed_arguments(
    node: ast.Call, name: str, given: dict[str, ast.expr], defaults: dict[str, Any], summary: _Summary
) -> Iterator[Change]:
    """The changes of what a call gives a function, and of the defaults of what it does not give."""
    for parameter, way in summary.parameters.items():
        base = _base(given.get(parameter))
        if base is not None:
            yield Change(base.id, node, (name, *way))
        elif parameter not in given and not isinstance(defaults.get(parameter), _CONSTANT):
            yield Change(parameter, node, (name, *way))


_CONSTANT = (type(None), bool, int, float, complex, str, bytes, tuple, frozenset)
"""Types of defaults that no call changes."""


def _defaults(function: FunctionType) -> dict[str, Any]:
    """The defaults of parameters, which are the same objects in all calls."""
    defaults = function.__defaults__ or ()
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return {
        **dict(zip(names[len(names) - len(defaults) :], defaults, strict=True)),
        **(function.__kwdefaults__ or {}),
    }


def changes_of(function: Any) -> Iterator[str]:
    """The variables around a function, its defaults and the object whose method it is that a call changes."""
    plain = _plain(function)
    tree = None if plain is None else node_of_function(plain)
    if plain is None or tree is None:
        return
    summary = _summary(tree, _scope(plain, function, {}), plain.__code__.co_filename, 1)
    yield from (name for name, _ in summary.outer)
    kept = {name for name, value in _defaults(plain).items() if not isinstance(value, _CONSTANT)}
    if isinstance(function, MethodType) or _is_instance(function):
        kept.update(plain.__code__.co_varnames[:1])
    yield from (name for name in summary.parameters if name in kept)


def _tree_in(function: FunctionType | None, filename: str) -> Function | None:
    """The syntax tree of a function of a file."""
    if function is None or function.__code__.co_filename != filename:
        return None
    return node_of_function(function)


def _summary(node: Function, lookup: Lookup, filename: str, depth: int) -> _Summary:
    """What a call of a function changes."""
    found = _Summary()
    body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else list(node.body)
    parameters = {arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
    nodes = list(own_nodes(body))
    shared = {name for n in nodes if isinstance(n, (ast.Nonlocal, ast.Global)) for name in n.names}
    own = (set(stores(body)) | parameters) - shared
    aliases = _aliases(body, own - parameters)

    def inside(name: str) -> Any:
        if name in aliases:
            return _resolve(aliases[name], inside)
        return _UNKNOWN if name in own - parameters else lookup(name)

    def add(name: str, way: tuple[str, ...]) -> None:
        while name in aliases and (base := _base(aliases[name])) is not None:
            name = base.id
        if name in parameters:
            found.parameters.setdefault(name, way)
        elif name not in own:
            found.outer.append((name, way))

    for at in nodes:
        if isinstance(at, ast.Name) and isinstance(at.ctx, ast.Store) and at.id in shared:
            found.outer.append((at.id, ()))
        for change in _changes_at(at, inside, filename, depth):
            add(change.name, change.way)
        if isinstance(at, Function) and depth < _MOST_CALLS:
            for name, way in _summary(at, inside, filename, depth + 1).outer:
                add(name, (_name_of(at), *way))
    return found


def _aliases(body: list[ast.AST], own: set[str]) -> dict[str, ast.expr]:
    """`a = b`, `a = b.c[d]`: names that are assigned once and are others of what is not made here."""
    assigned = [n.id for n in own_nodes(body) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    found: dict[str, ast.expr] = {}
    for node in own_nodes(body):
        base = _base(node.value) if isinstance(node, ast.Assign) else None
        if base is None or (base.id in own and base.id not in found):
            continue
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id in own and assigned.count(target.id) == 1:
                found[target.id] = node.value
    return found


def _resolve(node: ast.AST | None, lookup: Lookup) -> Any:
    """The object that a name or attribute stands for, where no code of the user runs to find it."""
    if isinstance(node, ast.Name):
        return lookup(node.id)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        held, index = _resolve(node.value, lookup), node.slice.value
        if type(held) in (list, tuple) and isinstance(index, int) and -len(held) <= index < len(held):
            return held[index]
        return held.get(index, _UNKNOWN) if type(held) is dict else _UNKNOWN
    if not isinstance(node, ast.Attribute):
        return _UNKNOWN
    owner = _resolve(node.value, lookup)
    if owner is _UNKNOWN:
        return _UNKNOWN
    found = inspect.getattr_static(owner, node.attr, _UNKNOWN)
    if isinstance(found, classmethod):
        return MethodType(found.__func__, owner)
    if isinstance(found, staticmethod):
        return found.__func__
    if isinstance(found, FunctionType) and not isinstance(owner, (type, ModuleType)):
        return MethodType(found, owner)
    return found


def _plain(function: Any) -> FunctionType | None:
    from .workload import Workload

    if isinstance(function, Workload):
        function = function.function
    if isinstance(function, MethodType):
        function = function.__func__
    if _is_instance(function):
        function = inspect.getattr_static(type(function), "__call__")
    if isinstance(function, Public):
        function = inspect.unwrap(function)
    return function if isinstance(function, FunctionType) else None


def _is_instance(function: Any) -> bool:
    """Whether a call runs the `__call__` that a class in Python defines."""
    if isinstance(function, (FunctionType, MethodType, type)):
        return False
    return isinstance(inspect.getattr_static(type(function), "__call__", None), (FunctionType, Public))


def _is_namespace(owner: Any, function: Any) -> bool:
    """Whether `owner.add(…)` calls what is kept under a name, instead of a method."""
    from .library import Library
    from .workload import Workload

    return (
        isinstance(owner, (ModuleType, type, Library))
        or isinstance(function, Workload)
        or hasattr(function, "specialise")
    )


def _scope(function: FunctionType, called: Any, given: dict[str, Any]) -> Lookup:
    """What names stand for in a function: the object whose method is called, what parameters are given or
    have as defaults, and what is around it.
    """
    first = function.__code__.co_varnames[:1] if function.__code__.co_argcount else ()
    owner = (
        called.__self__ if isinstance(called, MethodType) else called if _is_instance(called) else _UNKNOWN
    )

    code = function.__code__
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    known = {**_defaults(function), **given}

    def lookup(name: str) -> Any:
        if name in first and owner is not _UNKNOWN:
            return owner
        if name in parameters:
            return known.get(name, _UNKNOWN)
        if name in function.__code__.co_freevars:
            cell = (function.__closure__ or ())[function.__code__.co_freevars.index(name)]
            try:
                return cell.cell_contents
            except ValueError:
                return _UNKNOWN
        return function.__globals__.get(name, _UNKNOWN)

    return lookup


def _name_of(node: Function) -> str:
    return "lambda" if isinstance(node, ast.Lambda) else node.name
