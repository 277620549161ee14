"""Arithmetic of numbers with Python's meaning.

Integers are `i64` and checked, floats are `f32`, truth values `bool`. Operands that Python knows are computed
by Python. `//` and `%` round down as Python's do; where both operands are known not to be negative the plain
operators say the same.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeGuard

from .._seam import Span
from ..expr import FOLD
from ..spans import cause_of
from . import codes
from .emit import Expr, f32_literal, int_literal
from .operators import SIGNS
from .values import Const, Number, Scalar, Value, describe

if TYPE_CHECKING:
    from .context import Cx

I64 = (-(2**63), 2**63 - 1)

_MATH: dict[str, Callable[[float], float]] = {
    "exp": math.exp,
    "exp2": lambda v: 2.0**v,
    "log": lambda v: math.log(v) if v else -math.inf,
    "log2": lambda v: math.log2(v) if v else -math.inf,
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
}


def is_number(value: Value | None) -> TypeGuard[Number]:
    """True for integers, floats and truth values, known or not."""
    return isinstance(value, Scalar) or (isinstance(value, Const) and isinstance(value.value, int | float))


def kind(value: Number) -> str:
    """The type that the number has in a running kernel."""
    if isinstance(value, Scalar):
        return value.ty
    if isinstance(value.value, bool):
        return "bool"
    return "i64" if isinstance(value.value, int) else "f32"


def bounds(value: Number) -> tuple[int | None, int | None]:
    """What is known of an integer."""
    if isinstance(value, Scalar):
        return value.lo, value.hi
    return (value.value, value.value) if isinstance(value.value, int) else (None, None)


def expr(cx: Cx, value: Number, ty: str, span: Span) -> Expr:
    """The number as an expression of a type: `i64`, `u64`, `u32`, `i32`, `f32`, `f64` or `bool`. Conversions
    of integers are checked.
    """
    if isinstance(value, Const):
        return _literal(cx, value.value, ty, span)
    if value.ty == ty:
        return value.x
    x = value.x
    if x["k"] == "cast" and ty in ("u32", "i32") and _type(x["a"]) == ty:
        # It was widened to `i64` and is wanted as it was.
        return x["a"]
    return {"k": "cast", "a": x, "ty": ty, "s": span}


def _type(x: Expr) -> str | None:
    return "u32" if x["k"] in ("field", "tile_rows", "tile_cols") else x.get("ty")


def _literal(cx: Cx, value: Any, ty: str, span: Span) -> Expr:
    if ty == "bool":
        return {"k": "bool", "v": bool(value), "s": span}
    if ty == "f64" and abs(value) <= sys.float_info.max:
        return {"k": "float", "v": float(value), "ty": ty, "s": span}
    if ty in ("f32", "f64"):
        try:
            x = f32_literal(float(value), span)
        except OverflowError:
            raise cx.fault(
                codes.RANGE,
                f"{value} does not fit `f32`",
                span,
                notes=["the largest number of `f32` is 3.4028235e38"],
                help="write `math.inf` for an infinite value",
            ) from None
        return {**x, "ty": ty}
    lo, hi = {"i64": I64, "u64": (0, 2**64 - 1), "u32": (0, 2**32 - 1), "i32": (-(2**31), 2**31 - 1)}[ty]
    if not lo <= value <= hi:
        raise cx.fault(
            codes.RANGE,
            f"{value} does not fit `{ty}`",
            span,
            notes=[f"`{ty}` holds {lo} to {hi}"],
            help="use a number in that range",
        )
    return int_literal(int(value), ty, span)


def invariant(*values: Number) -> bool:
    """Whether a result of these operands is the same throughout a run."""
    return all(isinstance(v, Const) or v.invariant for v in values)


_CHAINED = 64
"""How many operators nest on the left side of each other before further ones make a chain."""
_CHAINS = ({"add", "sub"}, {"mul", "div", "rem"})
"""The operators of one chain: those of a sum, or of a product."""


def _make(op: str, a: Expr, b: Expr, ty: str, span: Span) -> Expr:
    alike = next((group for group in _CHAINS if op in group), ())
    if a["k"] == "chain" and a["ops"][0] in alike and a["ty"] == ty:
        return {**a, "ops": [*a["ops"], op], "of": [*a["of"], b], "s": span}
    if alike and _is_long(a):
        return {"k": "chain", "ops": [op], "of": [a, b], "ty": ty, "s": span}
    return {"k": op, "a": a, "b": b, "ty": ty, "s": span}


def _is_long(x: Expr) -> bool:
    """Whether operators stand on the left side of each other that are as many as make a chain."""
    for _ in range(_CHAINED):
        if "b" not in x:
            return False
        x = x["a"]
    return True


def binary(cx: Cx, op: str, a: Number, b: Number, span: Span) -> Number:
    """`a op b` for the operators of `SIGNS` except `matmul`."""
    if isinstance(a, Const) and isinstance(b, Const):
        return _by_python(cx, op, a, b, span)
    _require_numbers(cx, op, a, b, span)
    if op == "pow":
        return _power(cx, a, b, span)
    if op == "truediv":
        return _divide(cx, a, b, span)
    if kind(a) == "f32" or kind(b) == "f32":
        return _float(cx, op, a, b, span)
    if op == "floordiv":
        return _floor_divide(cx, a, b, span)
    if op == "mod":
        return _modulo(cx, a, b, span)
    if op in ("add", "sub") and isinstance(b, Const) and b.value == 0:
        return a
    if op in ("add", "mul") and isinstance(a, Const) and a.value == (0 if op == "add" else 1):
        return b
    x = _make(op, expr(cx, a, "i64", span), expr(cx, b, "i64", span), "i64", span)
    lo, hi = _int_bounds(op, bounds(a), bounds(b))
    return Scalar(x, "i64", lo, hi, invariant(a, b))


def _require_numbers(cx: Cx, op: str, a: Number, b: Number, span: Span) -> None:
    for operand in (a, b):
        if kind(operand) == "bool":
            raise cx.fault(
                codes.OPERAND,
                f"`{SIGNS.get(op, op)}` does not apply to a truth value",
                span,
                help="use `and`, `or`, `not`, or a conditional expression: `1 if c else 0`",
            )


def _by_python(cx: Cx, op: str, a: Const, b: Const, span: Span) -> Const:
    function = FOLD.get(op) or getattr(operator, op)
    try:
        return Const(function(a.value, b.value))
    except Exception as error:
        raise cx.fault(
            codes.COMPILE_TIME,
            f"`{SIGNS.get(op, op)}` of constants: {error}",
            span,
            notes=[f"the operands are {a.value!r} and {b.value!r}"],
            help="constants are computed by Python when the kernel is compiled: change them",
        ) from cause_of(error)


def _float(cx: Cx, op: str, a: Number, b: Number, span: Span) -> Number:
    if op not in ("add", "sub", "mul", "min", "max"):
        raise cx.fault(
            codes.OPERAND,
            f"`{SIGNS.get(op, op)}` does not apply to floats in a kernel",
            span,
            label=f"{describe(a)} and {describe(b)}",
            help="use `/` for a quotient of floats; `int(…)` makes an integer of one",
        )
    x = _make(op, expr(cx, a, "f32", span), expr(cx, b, "f32", span), "f32", span)
    return Scalar(x, "f32", invariant=invariant(a, b))


def _divide(cx: Cx, a: Number, b: Number, span: Span) -> Number:
    if kind(a) == "f32" or kind(b) == "f32":
        x = _make("div", expr(cx, a, "f32", span), expr(cx, b, "f32", span), "f32", span)
    else:
        # As doubles first: both integers are exact up to 2^53, and the quotient is then rounded to `f32`.
        wide = _make("div", expr(cx, a, "f64", span), expr(cx, b, "f64", span), "f64", span)
        x = {"k": "cast", "a": wide, "ty": "f32", "s": span}
    return Scalar(x, "f32", invariant=invariant(a, b))


def _refuse_zero(cx: Cx, op: str, b: Number, span: Span) -> None:
    if isinstance(b, Const) and b.value == 0:
        raise cx.fault(
            codes.COMPILE_TIME, f"`{SIGNS[op]}` by the constant 0", span, help="divide by another number"
        )


def _floor_divide(cx: Cx, a: Number, b: Number, span: Span) -> Number:
    _refuse_zero(cx, "floordiv", b, span)
    (a_lo, a_hi), (b_lo, _) = bounds(a), bounds(b)
    if b_lo is not None and b_lo >= 0 and a_lo is not None and a_lo >= 0:
        x = _make("div", expr(cx, a, "i64", span), expr(cx, b, "i64", span), "i64", span)
        hi = a_hi // max(b_lo, 1) if a_hi is not None else None
        return Scalar(x, "i64", 0, hi, invariant(a, b))
    if isinstance(b, Const) and b.value == 1:
        return Scalar(expr(cx, a, "i64", span), "i64", *bounds(a), invariant(a, b))
    if isinstance(b, Const) and 1 < b.value < 2**63:
        # floor(a / b) = -ceil(a / -b), and no step overflows where b is not 1.
        down = int_literal(-b.value, "i64", span)
        up = _make("ceildiv", expr(cx, a, "i64", span), down, "i64", span)
        return Scalar(_negated(up, span), "i64", invariant=invariant(a, b))
    a, b = cx.pin(a, "a", span), cx.pin(b, "b", span)
    ax, bx = expr(cx, a, "i64", span), expr(cx, b, "i64", span)
    # First of all, so that a divisor of 0 is said of the division.
    quotient = cx.pin(Scalar(_make("div", ax, bx, "i64", span), "i64"), "quotient", span).x
    rest = _make("rem", ax, bx, "i64", span)
    zero = int_literal(0, "i64", span)
    inexact = _make("ne", rest, zero, "bool", span)
    apart = _make(
        "ne", _make("lt", rest, zero, "bool", span), _make("lt", bx, zero, "bool", span), "bool", span
    )
    lower = _make("sub", quotient, int_literal(1, "i64", span), "i64", span)
    cond = _make("and", inexact, apart, "bool", span)
    return Scalar({"k": "select", "c": cond, "a": lower, "b": quotient, "ty": "i64", "s": span}, "i64")


def _modulo(cx: Cx, a: Number, b: Number, span: Span) -> Number:
    _refuse_zero(cx, "mod", b, span)
    (a_lo, _), (b_lo, b_hi) = bounds(a), bounds(b)
    hi = b_hi - 1 if b_hi is not None and b_hi > 0 else None
    if b_lo is not None and b_lo >= 0 and a_lo is not None and a_lo >= 0:
        x = _make("rem", expr(cx, a, "i64", span), expr(cx, b, "i64", span), "i64", span)
        return Scalar(x, "i64", 0, hi, invariant(a, b))
    a, b = cx.pin(a, "a", span), cx.pin(b, "b", span)
    bx = expr(cx, b, "i64", span)
    rest = cx.pin(Scalar(_make("rem", expr(cx, a, "i64", span), bx, "i64", span), "i64"), "rest", span)
    rx, zero = rest.x, int_literal(0, "i64", span)
    inexact = _make("ne", rx, zero, "bool", span)
    apart = _make(
        "ne", _make("lt", rx, zero, "bool", span), _make("lt", bx, zero, "bool", span), "bool", span
    )
    cond = _make("and", inexact, apart, "bool", span)
    moved = _make("add", rx, bx, "i64", span)
    lo = 0 if b_lo is not None and b_lo > 0 else None
    return Scalar(
        {"k": "select", "c": cond, "a": moved, "b": rx, "ty": "i64", "s": span},
        "i64",
        lo,
        hi if lo == 0 else None,
    )


def _power(cx: Cx, a: Number, b: Number, span: Span) -> Number:
    if not isinstance(b, Const) or b.value != 2:
        raise cx.fault(
            codes.OPERAND,
            "`**` takes the constant exponent 2 in a kernel",
            span,
            help="write products, or `pto.exp2(pto.log2(x) * y)` for a positive `x`",
        )
    a = cx.pin(a if isinstance(b.value, int) else to_float(cx, a, span), "base", span)
    return binary(cx, "mul", a, a, span)


def _negated(x: Expr, span: Span) -> Expr:
    return {"k": "neg", "a": x, "ty": x.get("ty", "i64"), "s": span}


def _int_bounds(
    op: str, a: tuple[int | None, int | None], b: tuple[int | None, int | None]
) -> tuple[int | None, int | None]:
    """Bounds of a result; arithmetic is checked, so that a result that exists obeys them."""
    (a_lo, a_hi), (b_lo, b_hi) = a, b

    def both(f: Callable[[int, int], int], p: int | None, q: int | None) -> int | None:
        return f(p, q) if p is not None and q is not None else None

    if op == "add":
        return both(operator.add, a_lo, b_lo), both(operator.add, a_hi, b_hi)
    if op == "sub":
        return both(operator.sub, a_lo, b_hi), both(operator.sub, a_hi, b_lo)
    if op == "mul" and a_lo is not None and b_lo is not None and a_lo >= 0 and b_lo >= 0:
        return a_lo * b_lo, both(operator.mul, a_hi, b_hi)
    if op == "min":
        his = [h for h in (a_hi, b_hi) if h is not None]
        return both(min, a_lo, b_lo), min(his) if his else None
    if op == "max":
        los = [low for low in (a_lo, b_lo) if low is not None]
        return max(los) if los else None, both(max, a_hi, b_hi)
    if op == "ceildiv" and a_lo is not None and b_lo is not None and a_lo >= 0 and b_lo >= 0:
        return 0, -(-a_hi // max(b_lo, 1)) if a_hi is not None else None
    return None, None


def compare(cx: Cx, op: str, a: Number, b: Number, span: Span) -> Number:
    """`a op b` for a comparison."""
    if isinstance(a, Const) and isinstance(b, Const):
        return _by_python(cx, op, a, b, span)
    kinds = {kind(a), kind(b)}
    if "bool" in kinds and (kinds != {"bool"} or op not in ("eq", "ne")):
        raise cx.fault(
            codes.OPERAND,
            f"`{SIGNS[op]}` does not compare {describe(a)} with {describe(b)}",
            span,
            help="use the truth value itself: `if c:` or `if not c:`",
        )
    ty = "bool" if kinds == {"bool"} else "f32" if "f32" in kinds else "i64"
    x = _make(op, expr(cx, a, ty, span), expr(cx, b, ty, span), "bool", span)
    return Scalar(x, "bool", invariant=invariant(a, b))


def negate(cx: Cx, a: Number, span: Span) -> Number:
    """`-a`"""
    if isinstance(a, Const):
        return Const(-a.value)
    _require_numbers(cx, "-", a, a, span)
    lo, hi = bounds(a)
    return Scalar(
        {"k": "neg", "a": a.x, "ty": a.ty, "s": span},
        a.ty,
        -hi if hi is not None else None,
        -lo if lo is not None else None,
        a.invariant,
    )


def truth(cx: Cx, value: Value, span: Span) -> Number:
    """The value as a condition: numbers are true when they are not 0."""
    if isinstance(value, Const):
        return Const(bool(value.value))
    if not isinstance(value, Scalar):
        raise cx.fault(
            codes.CONDITION,
            f"a condition must be a number, not {describe(value)}",
            span,
            help="reduce it to a number first: `pto.max(tile) > 0`; a view has its `shape`",
        )
    if value.ty == "bool":
        return value
    return compare(cx, "ne", value, Const(0.0 if value.ty == "f32" else 0), span)


def logical_not(cx: Cx, value: Value, span: Span) -> Number:
    """`not value`"""
    value = truth(cx, value, span)
    if isinstance(value, Const):
        return Const(not value.value)
    return Scalar({"k": "not", "a": value.x, "ty": "bool", "s": span}, "bool", invariant=value.invariant)


def function(cx: Cx, name: str, a: Number, span: Span) -> Number:
    """A function of one float; integers are converted. `abs` keeps integers."""
    if name in ("rsqrt", "recip"):
        base = function(cx, "sqrt", a, span) if name == "rsqrt" else a
        return binary(cx, "truediv", Const(1.0), base, span)
    if name == "relu":
        return binary(cx, "max", a, Const(0.0 if kind(a) == "f32" else 0), span)
    if name == "neg":
        return negate(cx, a, span)
    if isinstance(a, Const):
        try:
            return Const(abs(a.value) if name == "abs" else _MATH[name](a.value))
        except (ValueError, OverflowError) as error:
            raise cx.fault(
                codes.COMPILE_TIME, f"`{name}({a.value})`: {error}", span, help="change the constant"
            ) from cause_of(error)
    _require_numbers(cx, name, a, a, span)
    if name == "abs" and a.ty == "i64":
        a = cx.pin(a, "value", span)
        return binary(cx, "max", a, negate(cx, a, span), span)
    x = {"k": "math", "f": name, "a": expr(cx, a, "f32", span), "ty": "f32", "s": span}
    return Scalar(x, "f32", invariant=a.invariant)


def to_int(cx: Cx, a: Number, span: Span) -> Number:
    """`int(a)`: floats lose their fraction, as in Python."""
    if isinstance(a, Const):
        return Const(int(a.value))
    if a.ty == "bool":
        return select(a, Const(1), Const(0), cx, span)
    return a if a.ty == "i64" else Scalar(expr(cx, a, "i64", span), "i64", invariant=a.invariant)


def to_float(cx: Cx, a: Number, span: Span) -> Number:
    """`float(a)`"""
    if isinstance(a, Const):
        return Const(float(a.value))
    if a.ty == "bool":
        return select(a, Const(1.0), Const(0.0), cx, span)
    return a if a.ty == "f32" else Scalar(expr(cx, a, "f32", span), "f32", invariant=a.invariant)


def select(c: Scalar, a: Number, b: Number, cx: Cx, span: Span) -> Number:
    """`a if c else b`, of one type: an integer and a float give a float."""
    kinds = {kind(a), kind(b)}
    if "bool" in kinds and kinds != {"bool"}:
        raise cx.fault(
            codes.OPERAND,
            f"one side is {describe(a)} and the other {describe(b)}",
            span,
            help="make them one type",
        )
    ty = "bool" if kinds == {"bool"} else "f32" if "f32" in kinds else "i64"
    x = {"k": "select", "c": c.x, "a": expr(cx, a, ty, span), "b": expr(cx, b, ty, span), "ty": ty, "s": span}
    (a_lo, a_hi), (b_lo, b_hi) = bounds(a), bounds(b)
    lo = min(a_lo, b_lo) if ty == "i64" and a_lo is not None and b_lo is not None else None
    hi = max(a_hi, b_hi) if ty == "i64" and a_hi is not None and b_hi is not None else None
    return Scalar(x, ty, lo, hi, c.invariant and invariant(a, b))
