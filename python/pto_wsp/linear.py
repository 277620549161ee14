"""What is known about expressions before a run: normal form as a sum of terms, bounds, and the sign of
operands of `//` and `%`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .expr import Cond, Expr, constant

_STEPS = 60
"""Most replacements of a term by its bound; what needs more counts as unknown."""


@dataclass(frozen=True, slots=True)
class Linear:
    """`constant` plus the sum of `factor * term`; terms are variables, sizes and what is not linear, by their
    keys.
    """

    constant: int
    terms: dict[Any, tuple[int, Expr]]

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        """This plus `factor` times the other."""
        terms = dict(self.terms)
        for key, (count, term) in other.terms.items():
            total = terms.get(key, (0, term))[0] + factor * count
            if total:
                terms[key] = (total, term)
            else:
                terms.pop(key, None)
        return Linear(self.constant + factor * other.constant, terms)

    def times(self, factor: int) -> Linear:
        """This times a number."""
        if factor == 0:
            return Linear(0, {})
        return Linear(
            self.constant * factor, {key: (count * factor, term) for key, (count, term) in self.terms.items()}
        )

    def without(self, key: Any) -> Linear:
        """This without one term."""
        return Linear(self.constant, {other: entry for other, entry in self.terms.items() if other != key})

    @property
    def value(self) -> int | None:
        """The number that this is, or None."""
        return None if self.terms else self.constant


def linear(expr: Expr) -> Linear:
    """The normal form of an expression."""
    if expr._linear is None:
        expr._linear = _linear(expr)
    return expr._linear


def _linear(expr: Expr) -> Linear:
    op, args = expr.op, expr.args
    if op == "const":
        return Linear(args[0], {})
    if op == "neg":
        return linear(args[0]).times(-1)
    if op in ("add", "sub"):
        return linear(args[0]).plus(linear(args[1]), 1 if op == "add" else -1)
    if op == "chain" and args[1] != "mul":
        return _sum(linear(args[0]), expr.steps())
    if op in ("mul", "chain"):
        product: Linear | None = linear(args[0])
        for factor in (linear(arg) for arg in (args[1:] if op == "mul" else args[2::2])):
            product = None if product is None else _times(product, factor)
        if product is not None:
            return product
    if op in ("floordiv", "ceildiv"):
        exact = _exact_quotient(linear(args[0]), linear(args[1]).value)
        if exact is not None:
            return exact
    return Linear(0, {expr.key: (1, expr)})


def _sum(first: Linear, steps: Iterable[tuple[str, Expr]]) -> Linear:
    """A form plus and minus those of expressions, in one dictionary."""
    constant, terms = first.constant, dict(first.terms)
    for op, expr in steps:
        form, factor = linear(expr), 1 if op == "add" else -1
        constant += factor * form.constant
        for key, (count, term) in form.terms.items():
            total = terms.pop(key, (0, term))[0] + factor * count
            if total:
                terms[key] = (total, term)
    return Linear(constant, terms)


def _times(a: Linear, b: Linear) -> Linear | None:
    """The product, where one of them is a number."""
    if a.value is not None:
        return b.times(a.value)
    return None if b.value is None else a.times(b.value)


def _exact_quotient(form: Linear, divisor: int | None) -> Linear | None:
    """The form divided by a number that divides all of it."""
    if not divisor or form.constant % divisor or any(count % divisor for count, _ in form.terms.values()):
        return None
    terms = {key: (count // divisor, term) for key, (count, term) in form.terms.items()}
    return Linear(form.constant // divisor, terms)


def difference(a: Expr, b: Expr) -> int | None:
    """`a - b` where it is the same number for all values, else None."""
    return linear(a).plus(linear(b), -1).value


def at_most(a: Expr, b: Expr) -> bool:
    """Whether `a <= b` holds for all values that can occur."""
    most = bound(linear(a).plus(linear(b), -1), upper=True)
    return most is not None and most <= 0


def upper_bound(expr: Expr) -> int | None:
    """A number that the expression never exceeds, or None."""
    return bound(linear(expr), upper=True)


def lower_bound(expr: Expr) -> int | None:
    """A number that the expression is never below, or None."""
    return bound(linear(expr), upper=False)


def bound(form: Linear, *, upper: bool) -> int | None:
    """A bound of a form from above or below, or None where none is found."""
    return _Search(upper).run(form)


class _Search:
    """Replaces term after term by its bound: first what holds other terms, then variables from the innermost,
    then sizes.

    Each replacement is exact in the terms that are left, so that what cancels out cancels out.
    """

    def __init__(self, upper: bool) -> None:
        self.upper = upper
        self.steps = _STEPS

    def run(self, form: Linear) -> int | None:
        if not form.terms:
            return form.constant
        self.steps -= 1
        if self.steps < 0:
            return None
        key, (count, term) = max(form.terms.items(), key=lambda entry: _rank(entry[1][1]))
        rest = form.without(key)
        return self.replace(rest, count, term)

    def replace(self, rest: Linear, count: int, term: Expr) -> int | None:
        up = self.upper == (count > 0)  # whether the bound of the term from above is asked for
        op, args = term.op, term.args
        if op == "var":
            side = args[0].hi if up else args[0].lo
            return None if side is None else self.run(rest.plus(linear(side), count))
        if op in ("min", "max"):
            results = [self.run(rest.plus(linear(arg), count)) for arg in args]
            return self.either(results) if (op == "min") == up else self.both(results)
        if op == "choose":
            return self.both([self.run(rest.plus(linear(arg), count)) for arg in args[1:]])
        if op in ("floordiv", "ceildiv"):
            scaled = self.quotient(count, term, up)
            if scaled is not None:
                return self.run(rest.plus(scaled))
        side = _interval(term)[1 if up else 0]
        return None if side is None else self.run(Linear(rest.constant + count * side, rest.terms))

    def quotient(self, count: int, term: Expr, up: bool) -> Linear | None:
        """A bound of `count * (a // n)` in multiples of `a`, where `n` divides `count`."""
        divisor = linear(term.args[1]).value
        if divisor is None or divisor <= 0 or count % divisor:
            return None
        slack = 0
        if term.op == "floordiv" and not up:
            slack = 1 - divisor
        if term.op == "ceildiv" and up:
            slack = divisor - 1
        return linear(term.args[0]).plus(Linear(slack, {})).times(count // divisor)

    def either(self, results: list[int | None]) -> int | None:
        known = [result for result in results if result is not None]
        if not known:
            return None
        return min(known) if self.upper else max(known)

    def both(self, results: list[int | None]) -> int | None:
        known = [result for result in results if result is not None]
        if len(known) < len(results):
            return None
        return max(known) if self.upper else min(known)


def _rank(term: Expr) -> tuple[int, int]:
    if term.op in ("param", "slot", "key"):
        return (0, 0)
    if term.op == "var":
        return (1, term.args[0].serial)
    return (2, term.nodes)


def _interval(term: Expr) -> tuple[int | None, int | None]:
    """Numbers that a term which is not linear lies between."""
    op, args = term.op, term.args
    if isinstance(term, Cond) or op == "not":
        return (0, 1)
    if op in ("param", "len"):
        return (0, None)
    if op == "table":
        return (0 if args[0].counts else None, None)
    if op == "mod":
        divisor = linear(args[1])
        least = bound(divisor, upper=False)
        if least is None or least <= 0:
            return (None, None)
        most = bound(divisor, upper=True)
        return (0, None if most is None else most - 1)
    if op in ("floordiv", "ceildiv"):
        divisor_value = linear(args[1]).value
        lo, hi = lower_bound(args[0]), upper_bound(args[0])
        if divisor_value is not None and divisor_value > 0:
            up = 0 if op == "floordiv" else divisor_value - 1
            ends = [None if side is None else (side + up) // divisor_value for side in (lo, hi)]
            return (ends[0], ends[1])
        least = lower_bound(args[1])
        if lo is not None and lo >= 0 and least is not None and least > 0:
            return (0, hi)
        return (None, None)
    if op == "mul" or (op == "chain" and args[1] == "mul"):
        low, high = 1, 1
        for factor in args if op == "mul" else args[::2]:
            least, most = lower_bound(factor), upper_bound(factor)
            if least is None or least < 0:
                return (None, None)
            low = low * least
            high = None if high is None or most is None else high * most
        return (low, high)
    return (None, None)


def quotient_plain(term: Expr) -> bool:
    """Whether `a // b` or `a % b` is the same with rounding towards zero: `a` is not negative and `b`
    positive.
    """
    a, b = lower_bound(term.args[0]), lower_bound(term.args[1])
    return a is not None and a >= 0 and b is not None and b > 0


def known_number(expr: Expr) -> int | None:
    """The number that an expression always is, or None."""
    return linear(expr).value


def simplified(expr: Expr) -> Expr:
    """The number where the expression always is one, else the expression."""
    value = linear(expr).value
    return expr if value is None or expr.op == "const" else constant(value, expr.span)
