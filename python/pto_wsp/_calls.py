"""Calls of public functions whose arguments do not fit the parameters."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Sequence
from inspect import Parameter
from typing import Any

from ._raise import argument_error
from .errors import WspError
from .expr import describe
from .hints import did_you_mean

_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_MANY = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def misfit(function: Any, args: Sequence[Any], named: Mapping[str, Any]) -> WspError | None:
    """The error of a call that gives other arguments than the function has parameters; None of one that
    fits.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    name, owner = function.__qualname__.removesuffix(".__init__").lstrip("_"), None
    if parameters and parameters[0].name in ("self", "cls") and args:
        owner = args[0] if isinstance(args[0], type) else type(args[0])
        name = ".".join([owner.__name__.lstrip("_"), *name.split(".")[1:]])
        parameters, args = parameters[1:], args[1:]
    wrong = _wrong(parameters, args, named)
    if wrong is None:
        return None
    message, help = wrong
    return argument_error(1273, f"`{name}` {message}", help or _how(name, owner, parameters))


def of_another(function: Any, args: Sequence[Any]) -> WspError | None:
    """The error of a method that is called with an object of another class; None of other calls."""
    name, _, method = function.__qualname__.rpartition(".")
    owner = getattr(sys.modules.get(function.__module__), name, None)
    if not isinstance(owner, type) or not args or isinstance(args[0], (owner, type)):
        return None
    message = f"`{function.__qualname__}` is called on {describe(args[0])}, no `{name}`"
    return argument_error(1273, message, f"call it on one: `{name.lower()}.{method}(…)`")


_MADE_BY = {
    "Advance": "`plan.advance()`",
    "Balance": "`plan.balance(cores)`",
    "Block": "a call of a function under `@graph.kernel(…)`",
    "Graph": "`program.graph(…)`",
    "GraphRun": "`graph.run(…)`",
    "PlanDescriptor": "`plan.descriptors`",
    "PlanNeed": "`program.workspace_query(…)`",
    "Progress": "`run.progress`",
    "Simulation": "`program.simulate(…)`",
    "Stats": "`program.execute(…)`",
    "Task": "a call of a kernel in a workload: `k[i](x, y)`",
    "Workload": "`@workload` above a function",
}
"""What gives objects that people do not make by a name."""


def _how(name: str, owner: type | None, parameters: Sequence[Parameter]) -> str:
    """What to write in place of a call."""
    if owner is not None and name == owner.__name__:
        if name in _MADE_BY:
            return f"it comes from {_MADE_BY[name]}"
        made = [key for key, value in vars(owner).items() if isinstance(value, (staticmethod, classmethod))]
        if made:
            return "write " + ", ".join(f"`{name}.{key}(…)`" for key in made if key[0] != "_")
    return f"its parameters: `{name}({_written(parameters)})`"


def _wrong(
    parameters: Sequence[Parameter], args: Sequence[Any], named: Mapping[str, Any]
) -> tuple[str, str] | None:
    """What is wrong with arguments, and what to write where that is not the whole call."""
    kinds = {each.kind for each in parameters}
    places = [each.name for each in parameters if each.kind in _BY_POSITION]
    names = [each.name for each in parameters if each.kind not in (Parameter.POSITIONAL_ONLY, *_MANY)]
    unknown = [name for name in named if name not in names]
    if unknown and Parameter.VAR_KEYWORD not in kinds:
        return f"has no parameter `{unknown[0]}`", did_you_mean(unknown[0], names)
    if len(args) > len(places) and Parameter.VAR_POSITIONAL not in kinds:
        most = f"at most {len(places)}" if places else "none"
        more = "argument" if len(args) == 1 else "arguments"
        return f"is given {len(args)} {more} without a name and takes {most}", ""
    given = places[: len(args)]
    twice = [name for name in given if name in named and name in names]
    if twice:
        return f"is given `{twice[0]}` twice, by its place and by its name", ""
    missing = [
        each.name
        for each in parameters
        if each.default is Parameter.empty and each.kind not in _MANY and each.name not in {*given, *named}
    ]
    if missing:
        return f"is not given {', '.join(f'`{name}`' for name in missing)}", ""
    return None


def _written(parameters: Sequence[Parameter]) -> str:
    """Parameters as they stand in a definition, without their types."""
    shown = [each for each in parameters if not each.name.startswith("_")]
    plain = [each.replace(annotation=Parameter.empty) for each in shown]
    return str(inspect.Signature(plain))[1:-1]
