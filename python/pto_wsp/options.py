"""Options of `compile`: checked, and told apart by who takes them."""

from __future__ import annotations

import operator
import os
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from ._core import LIMITS, start_order
from ._raise import compile_error
from .expr import describe, is_word
from .hints import did_you_mean

if TYPE_CHECKING:

    class CompileOptions(TypedDict, total=False):
        """What `compile` takes beside a target."""

        num_threads: int
        num_aicpus: int
        expand: Literal["host", "bytecode"]
        optimization_level: Literal[0, 1, 2, 3]
        enable_profiling: bool
        enable_debug: bool
        seed: int
        replay: str | os.PathLike[str] | int | None
        cache: str | os.PathLike[str] | None

    class LaunchOptions(CompileOptions, total=False):
        """What the program of a host entry takes too."""

        schedule: str | None
        max_blocks: int | None
        kv_layout: Literal["NHD", "HND"] | None


_INTEGERS = {
    "num_threads": (0, LIMITS["MAX_THREADS"], "threads; 0 takes all cores"),
    "num_aicpus": (0, LIMITS["MAX_RUN_AICPUS"], "AICPUs that issue tasks; 0 lets the host do it"),
    "optimization_level": (0, 3, "0 runs tile operations in their plain form, 1 to 3 with vector units"),
    "seed": (0, 2**64 - 1, "for random choices of schedules"),
    "max_blocks": (1, 2**32 - 1, "what `PTO_GET_MAX_BLOCKS()` says"),
}
_TRUTHS = ("enable_profiling", "enable_debug")
_CHOICES = {"expand": ("host", "bytecode")}
_OF_LAUNCHES = ("schedule", "max_blocks", "kv_layout")
"""Options of host entries of files; of a workload these are said by the workload."""
_REFUSED = {
    "num_streams": "write `.streams(n)` on the workload",
    "grid": "leave it out: no target has a grid; `.dispatch(DispatchPolicy.affinity(key))` places tasks",
}
DEFAULTS: dict[str, Any] = {
    "num_threads": 0,
    "num_aicpus": 0,
    "expand": "host",
    "optimization_level": 2,
    "enable_profiling": False,
    "enable_debug": False,
    "seed": 0,
    "replay": None,
}
"""The options with the values that hold when they are not given."""


def checked_options(target: Any, given: dict[str, Any], also: tuple[str, ...] = ()) -> dict[str, Any]:
    """All options with their values. `num_streams`, `grid` and `cache` may be None, which says nothing. What
    is taken `also` is named where an option is unknown.
    """
    if not isinstance(target, str):
        raise compile_error(1221, f"`target` is {describe(target)}", help='write `target="cpu_sim"`')
    found = dict(DEFAULTS)
    for name, value in given.items():
        if name in _REFUSED:
            if value is not None:
                raise compile_error(
                    1222,
                    f"`{name}={value!r}` is not kept by target `{target}`",
                    notes="what belongs to a schedule is said by the workload",
                    help=_REFUSED[name],
                )
        elif name in _INTEGERS and name not in _OF_LAUNCHES:
            found[name] = _integer(name, value)
        elif name in _TRUTHS:
            if not isinstance(value, bool):
                raise compile_error(1221, f"`{name}` is {describe(value)}", help="give `True` or `False`")
            found[name] = value
        elif name in _CHOICES:
            if not is_word(value, _CHOICES[name]):
                choices = " or ".join(f'`"{choice}"`' for choice in _CHOICES[name])
                raise compile_error(1221, f"`{name}` is {describe(value)}", help=f"give {choices}")
            found[name] = value
        elif name == "replay":
            found[name] = order_of_starts(value)
        elif name == "cache":
            if value is not None:
                found[name] = _folder(value)
        else:
            raise _unknown(name, also)
    _agree(found)
    return {"target": target, **found}


def _agree(found: dict[str, Any]) -> None:
    """Refuses options of which one would be without effect beside another."""
    in_order = [
        f"{name}={found[name]!r}"
        for name, harmless in (("num_threads", 1), ("num_aicpus", 0), ("enable_profiling", False))
        if found[name] > harmless
    ]
    if found["replay"] is not None:
        in_order.append("replay")
        if found["num_aicpus"] and isinstance(found["replay"], int):
            raise compile_error(
                1225,
                "`replay` takes no seed with AICPUs, for which nothing is drawn",
                help='give the path of a trace of a run on as many AICPUs: `replay="t.pftrace"`',
            )
    if found["enable_debug"] and in_order:
        raise compile_error(
            1225,
            f"`{in_order[0]}` has no effect with `enable_debug=True`",
            notes="a program to debug runs its tasks one by one, in order, on the calling thread, and "
            "records no times",
            help="leave out one of the two",
        )
    if found["expand"] == "bytecode" and not found["num_aicpus"]:
        raise compile_error(
            1225,
            '`expand="bytecode"` has no effect without AICPUs',
            help="say how many generate the tasks: `num_aicpus=4`",
        )


def _integer(name: str, value: Any) -> int:
    least, most, meaning = _INTEGERS[name]
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or not least <= number <= most:
        raise compile_error(
            1221,
            f"`{name}` is {describe(value)}",
            notes=f"it is an int, {least} to {most}: {meaning}",
            help=f"give an int from {least} to {most}",
        )
    return number


def _unknown(name: str, also: tuple[str, ...]) -> Exception:
    known = [*DEFAULTS, "cache", *also]
    return compile_error(
        1220,
        f"`compile` has no option `{name}`",
        notes=f"options: {', '.join(f'`{option}`' for option in ['target', *known])}",
        help=did_you_mean(name, known)
        or (
            f"give a parameter of the file to a run: `program.execute({name}=…)`"
            if also
            else "leave it out, or say it with a method of the workload"
        ),
    )


def launch_options(target: Any, given: dict[str, Any]) -> dict[str, Any]:
    """All options of the host entry of a file with their values."""
    own = {name: given[name] for name in _OF_LAUNCHES if given.get(name) is not None}
    others = {name: value for name, value in given.items() if name not in _OF_LAUNCHES}
    options = checked_options(target, others, _OF_LAUNCHES)
    if "expand" in others:
        raise compile_error(
            1222,
            "`expand` has no meaning for the host entry of a file",
            notes="each AICPU runs its generators",
            help="leave it out: `num_aicpus` alone says that AICPUs generate the tasks",
        )
    schedule, layout = own.get("schedule"), own.get("kv_layout")
    if schedule is not None and not isinstance(schedule, str):
        raise compile_error(
            1221, f"`schedule` is {describe(schedule)}", help='give a name: `schedule="Split"`'
        )
    if layout is not None and not is_word(layout, ("NHD", "HND")):
        raise compile_error(1221, f"`kv_layout` is {describe(layout)}", help='give `"NHD"` or `"HND"`')
    if "max_blocks" in own:
        own["max_blocks"] = _integer("max_blocks", own["max_blocks"])
    return {**options, **own}


def order_of_starts(value: Any) -> Any:
    """What an order of starts is taken from: a seed, or the bytes of a trace."""
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**64:
        return value
    try:
        name = os.fspath(value)
    except TypeError:
        raise compile_error(
            1221,
            f"`replay` is {describe(value)}",
            help='give the path of a trace, `replay="t.pftrace"`, or a seed, `replay=7`',
        ) from None
    try:
        with open(name, "rb") as file:
            content = file.read()
    except OSError as error:
        raise compile_error(
            1221, f"the trace `{name}` cannot be read: {error.strerror}", help="give the path of a trace"
        ) from None
    return start_order(str(name), content)


def _folder(path: Any) -> str:
    """The path of a folder as text."""
    try:
        found = os.fspath(path)
    except TypeError:
        found = None
    if not isinstance(found, str) or not found:
        raise compile_error(
            1221, f"`cache` is {describe(path)}", help='give the path of a folder: `cache="plans"`'
        )
    return found


def compile_part(options: dict[str, Any]) -> dict[str, Any]:
    """What the compiler takes."""
    names = ("target", "optimization_level", "cache", *_OF_LAUNCHES)
    return {**{name: options[name] for name in names if name in options}, "num_aicpus": options["num_aicpus"]}


def run_part(options: dict[str, Any]) -> dict[str, Any]:
    """What a run takes."""
    return {
        "threads": options["num_threads"],
        "num_aicpus": options["num_aicpus"],
        "expand": options["expand"],
        "trace": options["enable_profiling"],
        "sequential": options["enable_debug"],
        "whole_outs": options["enable_debug"],
        "seed": options["seed"],
        "replay": options["replay"],
    }
