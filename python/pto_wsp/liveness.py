"""Which variables of a function are still read: a backward analysis of its syntax tree.

Names stand for variables. A name with `@` before it is read as an argument `after=…` only, where the handle
of the last task is meant. Where the analysis is not exact it takes more for read than is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from .spans import Function

Live = frozenset[str]
_NOTHING: Live = frozenset()
_TryStar = getattr(ast, "TryStar", ast.Try)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def loads(node: ast.AST | None, prefix: str = "") -> set[str]:
    """The names that an expression or nested function reads from outside of it."""
    if node is None:
        return set()
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Store) else {prefix + node.id}
    if isinstance(node, ast.keyword) and node.arg == "after":
        return loads(node.value, "@")
    found: set[str] = set()
    for child in inside(node):
        found |= loads(child, prefix)
    if isinstance(node, _COMPREHENSIONS):
        for generator in node.generators:
            found -= _both(stores([generator.target]))
    if isinstance(node, Function):
        own = {arg.arg for arg in _arguments(node.args)}
        if not isinstance(node, ast.Lambda):
            shared = {
                name for n in ast.walk(node) if isinstance(n, (ast.Nonlocal, ast.Global)) for name in n.names
            }
            own |= set(stores(node.body)) - shared
        found -= _both(own)
    return found


def inside(node: ast.AST) -> Iterable[ast.AST]:
    """The children of a node; of an operator its operands with those of the operators on its left, of which
    there may be thousands.
    """
    if not isinstance(node, ast.BinOp):
        return ast.iter_child_nodes(node)
    operands: list[ast.AST] = []
    first: ast.expr = node
    while isinstance(first, ast.BinOp):
        operands.append(first.right)
        first = first.left
    return [first, *reversed(operands)]


def _arguments(args: ast.arguments) -> list[ast.arg]:
    rest = [arg for arg in (args.vararg, args.kwarg) if arg is not None]
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *rest]


def _both(names: Iterable[str]) -> set[str]:
    return {form for name in names for form in (name, f"@{name}")}


def stores(nodes: Iterable[ast.AST]) -> list[str]:
    """The names that statements or targets assign, in order; of functions in them what they share and their
    own name.
    """
    found: list[str] = []
    for node in nodes:
        _collect(node, found)
    return list(dict.fromkeys(found))


def _collect(node: ast.AST, found: list[str]) -> None:
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, (ast.Store, ast.Del)):
            found.append(node.id)
        return
    if isinstance(node, Function):
        shared = {
            name for n in ast.walk(node) if isinstance(n, (ast.Nonlocal, ast.Global)) for name in n.names
        }
        if not isinstance(node, ast.Lambda):
            found.append(node.name)
            found.extend(name for name in stores(node.body) if name in shared)
        return
    if isinstance(node, _COMPREHENSIONS):
        found.extend(n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr))
        return
    if isinstance(node, ast.ClassDef):
        found.append(node.name)
        return
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        found.extend((alias.asname or alias.name).split(".")[0] for alias in node.names)
    if isinstance(node, ast.ExceptHandler) and node.name:
        found.append(node.name)
    if isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
        found.append(node.name)
    if isinstance(node, ast.MatchMapping) and node.rest:
        found.append(node.rest)
    for child in inside(node):
        _collect(child, found)


@dataclass(frozen=True, slots=True)
class _Exits:
    """What is read after the jumps of a block."""

    after_break: Live = _NOTHING
    after_continue: Live = _NOTHING
    after_return: Live = _NOTHING


@dataclass(slots=True)
class Flow:
    """What is read behind each loop and `with` of a function."""

    _after: dict[ast.AST, Live] = field(default_factory=dict)

    @staticmethod
    def of(function: Function | ast.Module) -> Flow:
        """The analysis of a function."""
        return _analyse(function)

    def after(self, node: ast.AST) -> Live:
        """The names that are read behind a statement before they are assigned again."""
        return self._after.get(node, _NOTHING)

    def entering(self, body: list[ast.stmt]) -> set[str]:
        """The names that a block reads before it has assigned them on every way."""
        return set(Flow().block(body, _NOTHING, _Exits()))

    def block(self, body: list[ast.stmt], after: Live, exits: _Exits) -> Live:
        """What is read from the beginning of a block, given what is read behind it."""
        for statement in reversed(body):
            after = self.statement(statement, after, exits)
        return after

    def statement(self, node: ast.stmt, after: Live, exits: _Exits) -> Live:
        """What is read from the beginning of a statement."""
        self._after[node] = self._after.get(node, _NOTHING) | after
        match node:
            case ast.If():
                then, other = self.block(node.body, after, exits), self.block(node.orelse, after, exits)
                return then | other | loads(node.test)
            case ast.For() | ast.AsyncFor():
                return self.loop(node, stores([node.target]), after, exits) | loads(node.iter)
            case ast.While():
                return self.loop(node, [], after | loads(node.test), exits) | loads(node.test)
            case ast.With() | ast.AsyncWith():
                own = _both(stores(item.optional_vars for item in node.items if item.optional_vars))
                heads = set().union(*(loads(item) for item in node.items))
                return (self.block(node.body, after, exits) - own) | heads
            case ast.Try() | _TryStar():
                return self.attempt(node, after, exits)
            case ast.ClassDef():
                return self.block(node.body, after, exits) | loads(node)
            case ast.Match():
                cases = (
                    self.block(c.body, after, exits) | loads(c.pattern) | loads(c.guard) for c in node.cases
                )
                return after.union(loads(node.subject), *cases)
            case ast.Return():
                return exits.after_return | loads(node.value)
            case ast.Break():
                return exits.after_break
            case ast.Continue():
                return exits.after_continue
            case ast.Raise():
                return frozenset(loads(node))
            case ast.AugAssign():
                read = {node.target.id} if isinstance(node.target, ast.Name) else loads(node.target)
                return after | read | loads(node.value)
            case ast.Assign() | ast.AnnAssign() if node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                plain = [target for target in targets if isinstance(target, (ast.Name, ast.Tuple, ast.List))]
                return (after - _both(_direct(plain))) | loads(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return (after - _both([node.name])) | loads(node)
            case _:
                return after | loads(node)

    def loop(
        self, node: ast.For | ast.AsyncFor | ast.While, own: list[str], after: Live, exits: _Exits
    ) -> Live:
        """A loop: what an iteration reads may be read by the next."""
        behind = self.block(node.orelse, after, exits)
        head = behind
        while True:
            inner = _Exits(after, head, exits.after_return)
            body = self.block(node.body, head, inner) - _both(own)
            if body <= head:
                return head
            head |= body

    def attempt(self, node: ast.Try, after: Live, exits: _Exits) -> Live:
        """A `try`: any of its statements may be the last before a handler."""
        final = self.block(node.finalbody, after, exits)
        handlers = final.union(
            *(self.block(handler.body, final, exits) | loads(handler.type) for handler in node.handlers)
        )
        return self.block(node.body, self.block(node.orelse, final, exits), exits) | handlers


def _direct(targets: Iterable[ast.expr]) -> list[str]:
    """The plain names of targets, which they certainly assign."""
    found: list[str] = []
    for target in targets:
        if isinstance(target, ast.Name):
            found.append(target.id)
        elif isinstance(target, ast.Starred):
            found.extend(_direct([target.value]))
        elif isinstance(target, (ast.Tuple, ast.List)):
            found.extend(_direct(target.elts))
    return found


@lru_cache(maxsize=256)
def _analyse(function: Function | ast.Module) -> Flow:
    flow = Flow()
    body: list[ast.stmt] = [] if isinstance(function, ast.Lambda) else function.body
    shared = {
        name
        for node in ast.walk(function)
        if isinstance(node, (ast.Global, ast.Nonlocal))
        for name in node.names
    }
    after = frozenset(stores(body)) if isinstance(function, ast.Module) else frozenset(shared)
    flow.block(body, after, _Exits(after_return=after))
    return flow
