"""Task graphs: units of the task-graph instruction set, with kernels of `.pto` files and of Python.

A `TaskGraph` is a unit as text (`.tg`) or bytes (`.ptog`). Kernels that it names are entries of the files
that it uses, or functions::

    graph = TaskGraph.from_file("scale.tg")

    @graph.kernel("scale_entry", In[f32], Out[f32])
    def scale(block, x, y):
        part = np.array_split(np.arange(x.size), block.blocks)[block.block]
        y[part] = 2 * x[part]

    y = graph.run({"X": x})["Y"]
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from . import _core
from ._arrays import view
from ._pickled import OfThisProcess, not_pickled
from ._raise import PlacedAtCaller, argument_error
from ._seam import Span
from .errors import Diagnostic, KernelError
from .expr import describe
from .files import path_of, read, read_text, refuse_other_kinds
from .hints import did_you_mean
from .kernels.annotations import param_type
from .kernels.compile import never_stored
from .kernels.foreign import never_used, returned_value
from .kernels.source import source_of
from .kernels.twice import FAULT_OF_A_BLOCK, call_twice, may_read
from .options import order_of_starts
from .results import Simulation, simulation_of

__all__ = ["Block", "GraphRun", "TaskGraph"]

_AT_CALLER = PlacedAtCaller()
_OPTIONS = ("scalars", "events", "threads", "devices", "memory", "enable_debug", "replay")
_BAD_OPTION, _WRONG_VALUE = 1264, 1262
_Function = TypeVar("_Function", bound=Callable[..., object])

_BYTES_MAGIC = (b"GOTP", b"PTOG")
"""How `.ptog` files begin, in either order of bytes: the second is refused with an explanation."""


@dataclass(frozen=True, slots=True)
class Block:
    """Which block of a kernel runs: block `block` of `blocks`, on device `device` of `devices`.

    `kernel` is the kernel's name in its graph, `iteration` what `TG_INVOKE` gave, 0 of a launch.
    """

    kernel: str
    block: int
    blocks: int
    iteration: int
    device: int
    devices: int


@dataclass(frozen=True, slots=True)
class GraphRun:
    """What a run gave: `run["Y"]` is the array of an external tensor that the unit writes.

    `stats` counts launches, kernels, dispatches, blocks, copies (with releases of memory) and checkpoints;
    `peak` is the most memory in use, in bytes, by device; `notes` are warnings and notes as text.
    """

    outputs: dict[str, Any] = field(repr=False)
    stats: dict[str, int]
    peak: list[int]
    notes: list[str]

    def __getitem__(self, name: str) -> Any:
        """The array of the tensor `name`. Raises `KeyError` for a tensor that the unit does not write."""
        if name not in self.outputs:
            written = ", ".join(f"`{each}`" for each in self.outputs) or "no external tensor"
            raise KeyError(f"{name!r}: the unit writes {written}")
        return self.outputs[name]


class TaskGraph(OfThisProcess):
    """A unit of task graphs with its kernels. Made by `from_text`, `from_file` or `from_bytes`."""

    __slots__ = ("_core", "_files", "_functions", "_params")

    def __init__(self, unit: Any = None) -> None:
        if not isinstance(unit, _core.TaskGraph):
            help = "read one: `TaskGraph.from_file(path)`, or give its text: `TaskGraph.from_text(text)`"
            raise argument_error(_WRONG_VALUE, "a `TaskGraph` is not made by its name", help)
        self._core = unit
        self._functions: dict[str, dict[str, Any]] = {}
        self._files: list[str] = []
        self._params: dict[str, int] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        help = "pickle its bytes, `graph.to_bytes()`, and read them there: `TaskGraph.from_bytes(data)`"
        raise not_pickled("a `TaskGraph`", help)

    def __repr__(self) -> str:
        names = re.findall(r"^\s*TG_BEGIN\(\s*(\w+)", self.text(), re.MULTILINE)
        return f"<task graph {', '.join(names)}>"

    @classmethod
    def from_text(cls, text: str, name: str = "<text>", folder: str | os.PathLike[str] = ".") -> TaskGraph:
        """The unit that `text` says.

        `name` is what messages call it; paths of files that it uses are relative to `folder`. Raises
        `CompileError`.
        """
        if not isinstance(text, str):
            raise argument_error(
                _WRONG_VALUE,
                f"the text of a unit is {describe(text)}",
                "give a string, or read a file: `TaskGraph.from_file(path)`",
            )
        with _AT_CALLER:
            about = path_of(name, 'name="unit.tg"'), path_of(folder, 'folder="units"')
            return cls(_core.task_graph_text(_whole(text), *about))

    @classmethod
    def from_bytes(
        cls, data: bytes, name: str = "<bytes>", folder: str | os.PathLike[str] = "."
    ) -> TaskGraph:
        """The unit that the bytes of a `.ptog` file say. Raises `FormatError`."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise argument_error(
                _WRONG_VALUE,
                f"the bytes of a unit are {describe(data)}",
                "give what `graph.to_bytes()` gave, or read a file: `TaskGraph.from_file(path)`",
            )
        with _AT_CALLER:
            about = path_of(name, 'name="unit.ptog"'), path_of(folder, 'folder="units"')
            return cls(_core.task_graph_bytes(bytes(data), *about))

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> TaskGraph:
        """The unit in a `.tg` or `.ptog` file. Raises `ArgumentError` for what is no file of text or bytes,
        `CompileError` and `FormatError`.
        """
        name = path_of(path, 'TaskGraph.from_file("unit.tg")')
        refuse_other_kinds(name, (".tg", ".ptog"))
        data = read(name)
        folder = os.path.dirname(name) or "."
        if data[:4] in _BYTES_MAGIC or name.endswith(".ptog"):
            return cls.from_bytes(data, name, folder)
        return cls.from_text(read_text(name), name, folder)

    def kernel(self, entry: str, *args: Any) -> Callable[[_Function], _Function]:
        """Makes a function the kernel of the entry symbol `entry`; it runs once per block.

        There is an annotation per argument, in the order of `MC_BIND` indices: `In[f32]`,
        `Out[f32, 64, None]`, `InOut[i32]`; without a type elements are `u8`. The function takes the `Block`
        and an array per argument: a view of exactly the bytes bound, of one dimension unless the annotation
        says extents, read-only for `In`. Raises `ArgumentError` for other annotations, for an entry symbol
        that has a function, and for a function that takes another number of arguments.
        """
        if not isinstance(entry, str):
            raise argument_error(
                _BAD_OPTION,
                f"the entry symbol is {describe(entry)}",
                'write `@graph.kernel("double_entry", In[f32], Out[f32])`',
            )
        described = [_argument(at, annotation) for at, annotation in enumerate(args)]

        def decorate(function: _Function) -> _Function:
            if entry in self._functions:
                raise argument_error(
                    _BAD_OPTION, f"`{entry}` has a function already", "give each entry symbol one function"
                )
            names = _takes(function, len(args))
            forgotten, doubtful = _uses_of_outs(function, described)
            # The text of a lambda is not looked at: what it returns is.
            is_lambda = getattr(function, "__name__", "") == "<lambda>"

            def call(block: tuple[Any, ...], arrays: tuple[Any, ...], debug: bool = False) -> None:
                views = [*map(view, arrays)]

                def once() -> None:
                    returned = function(Block(*block), *views)
                    if is_lambda and returned is not None and not any(returned is each for each in views):
                        raise returned_value(entry, function, returned)

                if debug:
                    marked = [
                        (name, each, at in doubtful)
                        for at, (name, each) in enumerate(zip(names, views, strict=True))
                    ]
                    call_twice(once, marked, FAULT_OF_A_BLOCK, f"kernel `{block[0]}`")
                else:
                    once()
                if forgotten is not None:
                    raise never_stored(entry, *forgotten, f"`{forgotten[0]}[...] = value`")

            named = [{**each, "name": name} for each, name in zip(described, names, strict=True)]
            self._functions[entry] = {"entry": entry, "function": call, "args": named}
            return function

        return decorate

    def use(self, path: str | os.PathLike[str], **params: int | float | bool) -> TaskGraph:
        """Adds the kernels of a `.pto` file to those that the unit uses itself, and sets parameters.

        Returns the graph. The file is read when the graph is checked or run.
        """
        name = path_of(path, 'graph.use("kernels.pto")')
        refuse_other_kinds(name, (".pto",))
        self._files.append(name)
        self._params.update(params)
        return self

    def set(self, **params: int | float | bool) -> TaskGraph:
        """Sets parameters of used files. Returns the graph."""
        self._params.update(params)
        return self

    def check(self) -> list[Diagnostic]:
        """What is wrong with the unit, or probably not meant: errors, warnings and notes."""
        return [Diagnostic.of(record) for record in self._core.check(self._kernels(), self._used())]

    def run(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        scalars: Mapping[str, int] | None = None,
        events: Iterable[str] = (),
        threads: int = 0,
        devices: int = 1,
        memory: int | None = None,
        enable_debug: bool = False,
        replay: str | os.PathLike[str] | int | None = None,
        **unknown: Any,
    ) -> GraphRun:
        """Runs the unit from its beginning.

        `inputs` are arrays for external tensors, and for tensors that kernels name themselves; they are
        used where they lie, written ones too, unless there are gaps between their elements: those are copied.
        External tensors that the unit writes begin with zeros if they are not given. `scalars` are
        values of `arg` and `host` declarations, `events` those external events that are signalled, `threads`
        0 is as many as the machine has, `memory` bounds the bytes of a device. Results do not depend on
        `threads`. A unit without `TG_LAUNCH` and `TG_INVOKE` launches each of its graphs once.

        With `enable_debug` blocks run one by one, and it is recorded what they store: `notes` say of each
        external tensor that the unit writes how many elements nothing has written.

        With `replay` blocks start in the order of a run before, each on its worker: that of the trace with
        this path (`wsp run FILE --trace`), or, of a seed, that of a run in virtual time with it. `threads`
        are those of that run, which 0 is, or 1.

        Raises `CompileError` for what is wrong with the unit, `ArgumentError` for inputs that do not fit,
        `KernelError` for kernels that fail, `ExecutionError` for runs that cannot go on.
        """
        if unknown:
            raise _unknown("run", next(iter(unknown)))
        if not isinstance(enable_debug, bool):
            raise argument_error(
                _BAD_OPTION, f"`enable_debug` is {describe(enable_debug)}", "give `True` or `False`"
            )
        if enable_debug and threads not in (0, 1):
            raise argument_error(
                _BAD_OPTION,
                f"`threads={threads!r}` has no effect with `enable_debug=True`, which runs blocks one by one",
                "leave out one of the two",
            )
        if enable_debug and replay is not None:
            raise argument_error(
                _BAD_OPTION,
                "`replay` has no effect with `enable_debug=True`, which runs blocks one by one",
                "leave out one of the two",
            )
        threads = 1 if enable_debug else threads
        order = order_of_starts(replay)
        given = _given("run", inputs, scalars, events, threads, devices, memory, enable_debug, order)
        arrays = given["inputs"]
        with _AT_CALLER:
            found = self._core.run(self._kernels(enable_debug), self._used(), given)
        outputs = {name: view(array) for name, array in found["outputs"].items()}
        outputs.update({name: arrays[name] for name in found["written"]})
        return GraphRun(outputs, found["stats"], found["peak"], found["notes"])

    def simulate(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        scalars: Mapping[str, int] | None = None,
        events: Iterable[str] = (),
        threads: int = 0,
        devices: int = 1,
        memory: int | None = None,
        **unknown: Any,
    ) -> Simulation:
        """Runs the unit in virtual time, on copies of `inputs`, which it leaves as they are.

        Its kernels run, because conditions may load what they store. Tasks of the simulation are blocks,
        copies and releases, on `threads` workers and the cores of each device. A block takes a cycle for each
        four bytes of what its kernel is bound to, its share of them; a copy one for each four bytes. The edge
        to a task is from the block with whose end it became ready. Takes and raises what `run` does.
        """
        if unknown:
            raise _unknown("simulate", next(iter(unknown)))
        given = _given("simulate", inputs, scalars, events, threads, devices, memory, False)
        with _AT_CALLER:
            return simulation_of(self._core.simulate(self._kernels(), self._used(), given))

    def text(self) -> str:
        """The unit as text."""
        return self._core.text()

    def to_bytes(self) -> bytes:
        """The unit as the bytes of a `.ptog` file."""
        return self._core.to_bytes()

    def _kernels(self, debug: bool = False) -> list[dict[str, Any]]:
        each = self._functions.values()
        return [{**k, "function": partial(k["function"], debug=True)} for k in each] if debug else list(each)

    def _used(self) -> dict[str, Any]:
        return {"files": self._files, "params": self._params}


def _uses_of_outs(function: Any, described: list[dict[str, Any]]) -> tuple[tuple[str, Span] | None, set[int]]:
    """The name of an `Out` argument that the function never looks at, and its place; none without a text. The
    numbers of those that it may read.
    """
    outs = [at for at, each in enumerate(described) if each["direction"] == "out"]
    try:
        source = source_of(function, "python_kernel")
    except KernelError:
        return None, set(outs)
    names = source.code.co_varnames[1 : source.code.co_argcount]
    named = {names[at]: at for at in outs if at < len(names)}
    found = never_used(source, list(named))
    doubtful = {named[name] for name in may_read(source, list(named))}
    doubtful |= {at for at in outs if at >= len(names)}
    return (None if found is None else (found, source.span)), doubtful


def _argument(at: int, annotation: Any) -> dict[str, Any]:
    """An argument as the compiled core takes it."""
    kind = param_type(annotation)
    if kind is None or kind.kind not in ("in", "out", "inout"):
        raise argument_error(
            _BAD_OPTION,
            f"the annotation of argument {at} is {describe(annotation)}",
            "write `In[f32]`, `Out[f32]` or `InOut[f32]`",
        )
    return {
        "direction": kind.kind,
        "dtype": kind.dtype.name if kind.dtype else "u8",
        "dims": None if kind.dims is None else list(kind.dims),
    }


def _whole(text: str) -> str:
    """A text that can be said in UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeError as fault:
        raise argument_error(
            _WRONG_VALUE, f"the text of a unit is no UTF-8: {fault}", "leave the character out"
        ) from None
    return text


def _takes(function: Any, arguments: int) -> list[str]:
    """The names of the arrays that a function is called with behind the block; refuses what cannot be."""
    try:
        found = inspect.signature(function).bind(*range(arguments + 1))
        each = [name for name, value in found.arguments.items() if isinstance(value, int)]
        rest = [f"argument {at}" for at in range(max(0, len(each) - 1), arguments)]
        return [*each[1:], *rest]
    except (TypeError, ValueError) as fault:
        names = ", ".join(["block", *(f"x{at}" for at in range(arguments))])
        called = getattr(function, "__name__", describe(function))
        raise argument_error(
            _BAD_OPTION,
            f"`{called}` cannot be called with a block and {arguments} arrays: {fault}",
            f"write `def {called}({names}):`, or give an annotation per argument",
        ) from None


def _given(
    call: str,
    inputs: Any,
    scalars: Any,
    events: Any,
    threads: int,
    devices: int,
    memory: int | None,
    record: bool,
    replay: Any = None,
) -> dict[str, Any]:
    """What a run is given, as the compiled core takes it."""
    return {
        "inputs": _by_name(call, "inputs", inputs, '{"X": x}'),
        "scalars": _by_name(call, "scalars", scalars, '{"n": 3}'),
        "events": _names("events", events),
        "threads": threads,
        "devices": devices,
        "memory": memory,
        "record": record,
        "replay": replay,
    }


def _by_name(call: str, what: str, given: Any, example: str) -> dict[str, Any]:
    """What is given by name."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise argument_error(
            _WRONG_VALUE, f"`{what}` is {describe(given)}", f"write `graph.{call}({example})`"
        )
    return dict(given)


def _names(what: str, given: Any) -> list[str]:
    """A list of names."""
    try:
        names = None if isinstance(given, (str, bytes)) else list(given)
    except TypeError:
        names = None
    if names is None or not all(isinstance(name, str) for name in names):
        raise argument_error(
            _WRONG_VALUE, f"`{what}` are {describe(given)}", f'give a list of names: `{what}=["E"]`'
        )
    return names


def _unknown(call: str, name: str) -> Exception:
    """The error of an option that `run` or `simulate` does not have."""
    of_runs = ("enable_debug", "replay")
    options = _OPTIONS if call == "run" else [each for each in _OPTIONS if each not in of_runs]
    meant = did_you_mean(name, options)
    return argument_error(
        1260,
        f"`{call}` takes no argument `{name}`",
        meant or f'give arrays by name in one dictionary: `graph.{call}({{"{name}": {name.lower()}}})`',
    )
