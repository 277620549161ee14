"""Integer expressions of workloads: values that are known when tasks are generated, not when Python runs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from ._raise import trace_error
from ._seam import Span
from .hints import number_help, operator_error, truth_error
from .spans import caller_span

_I64 = range(-(2**63), 2**63)
_MOST_NODES = 100_000
"""The largest expression; one that reuses its own value again and again would grow without end."""
_MOST_HEIGHT = 128
"""How deep operations nest, as in the program that is made of them."""
_TOO_DEEP: dict[str, dict[str, str]] = {
    "number": {
        "notes": "a sum or product that grows by a term at a time may have any number of terms: `x + i`",
        "help": "take a part of it from a table or a slot, or compute it in a kernel",
    },
    "condition": {
        "notes": "a chain of conditions nests by one for each `&` or `|`",
        "help": "join conditions in pairs, `(a & b) & (c & d)`; for `&` write `with P.when(a), P.when(b):`",
    },
}
"""What to say of operations that nest too deeply."""
_CHAINED = _MOST_HEIGHT // 2
"""From which height on an operand is the beginning of a chain, which a further operator makes no higher."""
_CHAINS = ({"add", "sub"}, {"mul"})
"""The operations that make one chain: those of a sum, or of a product."""

_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and": "&", "or": "|",
}  # fmt: skip
_FUNCTIONS = {"min": "P.min", "max": "P.max", "ceildiv": "P.ceildiv"}
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


class Var:
    """A variable of a loop, a selection or a channel. Its identity is this object; names may repeat."""

    __slots__ = ("closed", "hi", "lo", "name", "serial", "span", "trace")

    def __init__(
        self, name: str, trace: object, serial: int, lo: Expr | None, hi: Expr | None, span: Span | None
    ) -> None:
        self.name = name
        self.trace = trace
        self.serial = serial
        self.lo = lo
        self.hi = hi
        self.span = span
        self.closed = False


@dataclass(frozen=True, slots=True, eq=False)
class SlotRead:
    """Before which statement of a trace an expression of a slot was made."""

    cell: Any
    trace: Any
    statement: int


if TYPE_CHECKING:
    from ._static import OfWorkload
else:
    OfWorkload = object


class Expr(OfWorkload):
    """An integer that is known when tasks are generated: a size, a loop index, an element of a table, or
    computed of these.

    `+ - * // % - == != < <= > >=`, `P.min`, `P.max`, `P.ceildiv` and `P.select` give expressions; `//` and
    `%` round as Python does. Python itself cannot look at the value: `if`, `range()`, `float()` and such
    raise a `TraceError`.
    """

    __slots__ = (
        "_args",
        "_count",
        "_key",
        "_linear",
        "_terms",
        "height",
        "nodes",
        "op",
        "read",
        "span",
        "vars",
    )

    op: str
    """`const`, `param`, `var`, `slot`, `table`, `len`, `key`, `neg`, `not`, `choose`, an operation of two
    operands, or `chain`: a sum or product of any length from left to right, whose arguments are the first
    operand and then, in turn, an operation and its right operand.
    """
    nodes: int
    height: int
    read: tuple[SlotRead, ...]
    """Where the slots in it were read; empty for a slot by itself, which is read where it is used."""

    def __init__(
        self,
        op: str,
        args: tuple[Any, ...] | list[Any],
        span: Span | None = None,
        chain: Expr | None = None,
    ) -> None:
        """`chain` is the chain that the last two arguments are added to, if there is one. A list of arguments
        may grow behind those that it has now.
        """
        operands = [arg for arg in args if isinstance(arg, Expr)] if chain is None else [chain, args[-1]]
        self.op = op
        self._args = args if isinstance(args, tuple) else None
        self._terms = args
        self._count = len(args)
        self.span = span
        self.nodes = 1 + sum(operand.nodes for operand in operands)
        self.height = 1 + max((operand.height for operand in operands), default=0)
        if chain is not None:
            self.height = max(chain.height, 1 + args[-1].height)
        if op == "var":
            self.vars: frozenset[Var] = frozenset(args)
        else:
            self.vars = (
                frozenset().union(*(operand.vars for operand in operands)) if operands else frozenset()
            )
        self._key: Any = None
        self._linear: Any = None
        self.read = _reads(operands)
        if self.height > _MOST_HEIGHT:
            raise trace_error(
                1034,
                f"the operations of an expression nest more than {_MOST_HEIGHT} deep",
                **_TOO_DEEP["condition" if op in ("and", "or") else "number"],
            )
        if self.nodes > _MOST_NODES:
            raise trace_error(
                1034,
                f"an expression has more than {_MOST_NODES} operations",
                notes="an expression that is computed from itself several times doubles at each step",
                help="compute it in a kernel, in a table, or from fewer terms",
            )

    def __reduce__(self) -> tuple[Any, ...]:
        if type(self).__init__ is not Expr.__init__ or self.vars:
            return super().__reduce__()
        return (type(self), (self.op, self.args, self.span))

    @property
    def args(self) -> tuple[Any, ...]:
        """Operands, and what else the operation takes."""
        if self._args is None:
            self._args = tuple(self._terms[: self._count])
        return self._args

    def extended(self, op: str, right: Expr) -> Expr:
        """A chain with one more operation. One that grows has its terms once, whatever its length."""
        terms = self._terms
        if not isinstance(terms, list) or len(terms) != self._count:
            terms = [*self.args]
        terms += (op, right)
        return Expr("chain", terms, caller_span(), self)

    def goes_on(self, alike: set[str]) -> bool:
        """Whether it is a chain of one of these operations."""
        return self.op == "chain" and self._terms[1] in alike

    @property
    def key(self) -> Any:
        """Hashable; equal for expressions of equal form."""
        if self._key is None:
            self._key = (self.op, *(arg.key if isinstance(arg, Expr) else arg for arg in self.args))
        return self._key

    def steps(self) -> Iterable[tuple[str, Expr]]:
        """The operations of a chain with their right operands."""
        return zip(self.args[1::2], self.args[2::2], strict=True)

    def __repr__(self) -> str:
        text = text_of(self)
        return text if len(text) <= 300 else f"{text[:200]} … {text[-50:]}"

    def __str__(self) -> str:
        if _names_a_loop(self):
            raise self._refuse("str()", "a key of a schedule is computed from integers")
        return text_of(self)

    def __hash__(self) -> int:
        raise self._refuse("hash", "a set or a dictionary cannot look at it", "keep expressions in a list")

    # Arithmetic.

    def __add__(self, other: Any) -> Expr:
        return binary("add", self, other)

    def __radd__(self, other: Any) -> Expr:
        return binary("add", other, self)

    def __sub__(self, other: Any) -> Expr:
        return binary("sub", self, other)

    def __rsub__(self, other: Any) -> Expr:
        return binary("sub", other, self)

    def __mul__(self, other: Any) -> Expr:
        return binary("mul", self, other)

    def __rmul__(self, other: Any) -> Expr:
        return binary("mul", other, self)

    def __floordiv__(self, other: Any) -> Expr:
        return binary("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Expr:
        return binary("floordiv", other, self)

    def __mod__(self, other: Any) -> Expr:
        return binary("mod", self, other)

    def __rmod__(self, other: Any) -> Expr:
        return binary("mod", other, self)

    def __divmod__(self, other: Any) -> tuple[Expr, Expr]:
        return binary("floordiv", self, other), binary("mod", self, other)

    def __rdivmod__(self, other: Any) -> tuple[Expr, Expr]:
        return binary("floordiv", other, self), binary("mod", other, self)

    def __neg__(self) -> Expr:
        if self.op == "const":
            return constant(-self.args[0])
        return Expr("neg", (self,), caller_span())

    def __pos__(self) -> Expr:
        return self

    def __eq__(self, other: Any) -> Cond:  # type: ignore[override]
        return compare("eq", self, other)

    def __ne__(self, other: Any) -> Cond:  # type: ignore[override]
        return compare("ne", self, other)

    def __lt__(self, other: Any) -> Cond:
        return compare("lt", self, other)

    def __le__(self, other: Any) -> Cond:
        return compare("le", self, other)

    def __gt__(self, other: Any) -> Cond:
        return compare("gt", self, other)

    def __ge__(self, other: Any) -> Cond:
        return compare("ge", self, other)

    # What Python cannot do with a value that it does not know.

    def __bool__(self) -> NoReturn:
        raise truth_error(self)

    if not TYPE_CHECKING:

        def __index__(self) -> int:
            raise self._refuse("an int", "Python needs the number itself here", number_help())

        def __int__(self) -> int:
            raise self._refuse("int()", "Python needs the number itself here", number_help())

        def __float__(self) -> float:
            raise self._refuse(
                "float()", "workloads compute with integers", "compute with floats in a kernel"
            )

        def __round__(self, digits: Any = None) -> Any:
            raise self._refuse("round()", "it is an integer", "leave `round` out")

        def __iter__(self) -> Any:
            raise self._refuse("a sequence", "it is one integer", f"write `for i in P({self!r}):`")

        def __len__(self) -> int:
            raise self._refuse("len()", "it is one integer", "leave `len` out")

        def __truediv__(self, other: Any) -> Any:
            raise operator_error("/", "write `//`, or `P.ceildiv(a, b)` to round up")

        __rtruediv__ = __truediv__

        def __pow__(self, other: Any, modulus: Any = None) -> Any:
            raise operator_error("**", "write the product: `n * n`")

        __rpow__ = __pow__

        def __lshift__(self, other: Any) -> Any:
            raise operator_error("<<", "multiply by a power of two: `n * 8`")

        __rlshift__ = __lshift__

        def __rshift__(self, other: Any) -> Any:
            raise operator_error(">>", "divide by a power of two: `n // 8`")

        __rrshift__ = __rshift__

        def __and__(self, other: Any) -> Any:
            if isinstance(other, Cond):
                raise operator_error("&", f"write `({self!r} != 0) & …`: `&` joins conditions")
            raise operator_error("&", "`&` joins conditions; for the low bits write `n % 8`")

        def __rand__(self, other: Any) -> Any:
            return self.__and__(other)

        def __or__(self, other: Any) -> Any:
            raise operator_error("|", "`|` joins conditions: `(a != 0) | (b != 0)`")

        __ror__ = __or__

        def __xor__(self, other: Any) -> Any:
            raise operator_error("^", "`a != b` of two conditions is their exclusive or")

        __rxor__ = __xor__

        def __invert__(self) -> Any:
            raise operator_error("~", f"`~` negates conditions: `{self!r} == 0`")

    def __abs__(self) -> Expr:
        return binary("max", self, -self)

    def _refuse(self, what: str, why: str, help: str = "") -> Exception:
        return trace_error(
            1003,
            f"`{self!r}` is used as {what}" if what.startswith("a") else f"`{what}` of `{self!r}`",
            label="its value is known when tasks are generated, not when Python runs",
            notes=why,
            help=[help] if help else [],
        )


def _reads(operands: list[Expr]) -> tuple[SlotRead, ...]:
    """The places at which the operands of an expression read slots: here, where an operand is a slot."""
    found = {read: None for operand in operands for read in operand.read}
    cells = [operand.args[0] for operand in operands if operand.op == "slot"]
    if cells:
        from .tracing import current_or_none

        trace = current_or_none()
        if trace is not None:
            found.update((SlotRead(cell, trace, trace.statements), None) for cell in cells)
    return tuple(found)


class Cond(Expr):
    """A condition: a comparison, or conditions joined by `&`, `|` and `~`."""

    __slots__ = ()

    def __and__(self, other: Any) -> Cond:
        return _join("and", self, other)

    def __rand__(self, other: Any) -> Cond:
        return _join("and", other, self)

    def __or__(self, other: Any) -> Cond:
        return _join("or", self, other)

    def __ror__(self, other: Any) -> Cond:
        return _join("or", other, self)

    def __invert__(self) -> Cond:
        return Cond("not", (self,), caller_span())


def reads_slot(expr: Expr) -> bool:
    """Whether a slot is in an expression."""
    return expr.op == "slot" or any(reads_slot(arg) for arg in expr.args if isinstance(arg, Expr))


def _names_a_loop(expr: Expr) -> bool:
    """Whether an expression is of a key, where text of it would be taken for its value."""
    return expr.op == "key" or any(_names_a_loop(arg) for arg in expr.args if isinstance(arg, Expr))


def constant(value: int, span: Span | None = None) -> Expr:
    """The expression of a number of 64 bits."""
    check_bits(value, "compute it in a kernel")
    return Expr("const", (value,), span)


def check_bits(value: int, help: str) -> None:
    """Refuses a number of more than 64 bits with sign."""
    if value not in _I64:
        raise trace_error(
            1034,
            f"{value} is not an integer of 64 bits",
            notes=f"they are {-(2**63)} to {2**63 - 1}",
            help=help,
        )


def as_expr(value: Any, what: str = "the operand") -> Expr:
    """An integer or expression as an expression; `what` names it in the error."""
    if isinstance(value, Expr):
        return value
    try:
        return constant(operator.index(value))
    except TypeError:
        raise trace_error(
            1004,
            f"{what} is {describe(value)}, not an integer",
            help="workloads compute with integers: sizes, loop indices, elements of tables, and Python's int",
        ) from None


def describe(value: Any) -> str:
    """A value of the user for a message: its type, and itself where that is short."""
    name = type(value).__name__
    try:
        text = repr(value)
    except Exception:
        return f"a value of type `{name}`"
    return f"`{text}` ({name})" if len(text) <= 30 and "\n" not in text else f"a value of type `{name}`"


def is_word(value: Any, words: Iterable[str]) -> bool:
    """Whether a value is one of these strings; arrays compare with strings element by element."""
    return isinstance(value, str) and value in words


def in_order(values: Any) -> list[Any]:
    """What a list, a tuple or another collection with an order holds. Raises `TypeError` for others."""
    if isinstance(values, (str, bytes, bytearray, Set, Mapping)):
        raise TypeError("it has no elements in an order")
    return list(values)


def const_of(value: Any) -> int | None:
    """The number that an expression is, or None."""
    if isinstance(value, Expr):
        return value.args[0] if value.op == "const" else None
    return operator.index(value)


# What operators of numbers give that Python knows.
FOLD: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv,
    "mod": operator.mod, "min": min, "max": max, "ceildiv": lambda a, b: -(-a // b),
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge,
    "bitand": operator.and_, "bitor": operator.or_, "bitxor": operator.xor,
    "shl": operator.lshift, "shr": operator.rshift,
}  # fmt: skip


def binary(op: str, left: Any, right: Any) -> Expr:
    """`left op right` with what is plain about it computed: numbers, and steps that change nothing."""
    name = _SIGNS.get(op) or _FUNCTIONS[op]
    a, b = as_expr(left, f"an operand of `{name}`"), as_expr(right, f"an operand of `{name}`")
    x, y = const_of(a), const_of(b)
    if op in ("floordiv", "mod", "ceildiv") and y == 0:
        raise trace_error(
            1044,
            f"`{name}` by 0",
            help="divide by an expression that is not 0, or by a size",
        )
    if x is not None and y is not None:
        return constant(FOLD[op](x, y), caller_span())
    # A slot by itself is read where it is used, an expression of it as it is here.
    if (op, y) in (("add", 0), ("sub", 0), ("mul", 1), ("floordiv", 1), ("ceildiv", 1)) and a.op != "slot":
        return a
    if (op, x) in (("add", 0), ("mul", 1)) and b.op != "slot":
        return b
    return _operation(op, a, b)


def _operation(op: str, a: Expr, b: Expr) -> Expr:
    """`a op b`; where one side is high, a sum or a product is a chain."""
    alike = next((group for group in _CHAINS if op in group), None)
    # The sides of `-` do not change places.
    sides = () if alike is None else ((a, b),) if op == "sub" else ((a, b), (b, a))
    for left, right in sides:
        if left.goes_on(alike):
            return left.extended(op, right)
        if left.height >= _CHAINED:
            return Expr("chain", (left, op, right), caller_span())
    return Expr(op, (a, b), caller_span())


def compare(op: str, left: Any, right: Any) -> Cond:
    """The condition `left op right`."""
    if right is None or isinstance(right, str):
        raise trace_error(
            1004, f"`{left!r}` is compared with {describe(right)}", help="compare integers: `i == 0`, `i < n`"
        )
    what = f"an operand of `{_SIGNS[op]}`"
    return Cond(op, (as_expr(left, what), as_expr(right, what)), caller_span())


def _join(op: str, left: Any, right: Any) -> Cond:
    sides = [constant(int(side)) if isinstance(side, bool) else side for side in (left, right)]
    for side in sides:
        if not isinstance(side, Cond) and not (isinstance(side, Expr) and side.op == "const"):
            shown = repr(side) if isinstance(side, Expr) else describe(side)
            raise trace_error(
                1004,
                f"an operand of `{_SIGNS[op]}` is no condition: {shown}",
                help=f"`{_SIGNS[op]}` binds tighter than comparisons: write `(a < b) {_SIGNS[op]} (c < d)`",
            )
    return Cond(op, tuple(sides), caller_span())


def condition_of(value: Any, what: str) -> Expr:
    """What `P.when` and others take: a condition, or an integer that holds when it is not 0."""
    if isinstance(value, bool):
        return constant(int(value))
    return as_expr(value, what)


def choose(condition: Any, then: Any, otherwise: Any) -> Expr:
    """`then` where the condition holds, else `otherwise`."""
    test = condition_of(condition, "the condition of `P.select`")
    a, b = as_expr(then, "a value of `P.select`"), as_expr(otherwise, "a value of `P.select`")
    if test.op == "const":
        return a if test.args[0] else b
    cls = Cond if isinstance(a, Cond) and isinstance(b, Cond) else Expr
    return cls("choose", (test, a, b), caller_span())


def substitute(expr: Expr, leaf: Any) -> Expr:
    """The expression with each leaf that `leaf(expr)` gives an expression for replaced by it."""
    found = leaf(expr)
    if found is not None:
        return found
    if not any(isinstance(arg, Expr) for arg in expr.args):
        return expr
    args = tuple(substitute(arg, leaf) if isinstance(arg, Expr) else arg for arg in expr.args)
    return (Cond if isinstance(expr, Cond) else Expr)(expr.op, args, expr.span)


_LEVELS = {
    "or": 1,
    "and": 2,
    **dict.fromkeys(_COMPARISONS, 3),
    "add": 4,
    "sub": 4,
    "mul": 5,
    "floordiv": 5,
    "mod": 5,
}


def text_of(expr: Expr, level: int = 0) -> str:
    """The expression as Python writes it."""
    op, args = expr.op, expr.args
    if op in _LEVELS:
        own = _LEVELS[op]
        text = f"{text_of(args[0], own)} {_SIGNS[op]} {text_of(args[1], own + 1)}"
        return f"({text})" if own < level else text
    if op == "chain":
        own = _LEVELS[args[1]]
        steps = (f" {_SIGNS[step]} {text_of(arg, own + 1)}" for step, arg in expr.steps())
        text = text_of(args[0], own) + "".join(steps)
        return f"({text})" if own < level else text
    if op in _FUNCTIONS:
        return f"{_FUNCTIONS[op]}({text_of(args[0])}, {text_of(args[1])})"
    if op == "choose":
        return "P.select({}, {}, {})".format(*(text_of(arg) for arg in args))
    if op in ("neg", "not"):
        return ("-" if op == "neg" else "~") + text_of(args[0], 6)
    if op == "table":
        return f"{args[0].shown}[{text_of(args[1])}]"
    if op == "len":
        return f"{args[0].shown}.size"
    if op == "var":
        return args[0].name
    if op == "slot":
        return args[0].shown
    if op == "key":
        return f"t.{args[0]}" if len(args) == 1 else f"t.{args[0]}[{text_of(args[1])}]"
    return str(args[0])
