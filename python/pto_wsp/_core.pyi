"""The compiled core. Use the package `pto_wsp`, not this module."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

__version__: str

_Place: TypeAlias = tuple[str, int, int, int, int]

def render(
    code: int,
    message: str,
    *,
    span: _Place | None = None,
    label: str = "",
    labels: Sequence[tuple[_Place, str]] = (),
    notes: Sequence[str] = (),
    help: Sequence[str] = (),
    sources: Mapping[str, str] = ...,
) -> dict[str, Any]:
    """One finding as a record: its parts, its place, and its text under `rendered`."""

def explain(code: int) -> str | None:
    """What a code means and what to do."""

def check(trace: bytes) -> str:
    """The `.wsp` text of the workload in a trace, which is checked."""

def kernel_text(trace: bytes, index: int) -> str:
    """The text of the body of kernel `index` of a trace, which is checked."""

def library(path: str) -> dict[str, Any]:
    """What a `.pto` file has: `kernels` (`name`, `fields`), `arrays`, `params`, `entry`."""

def load_program(path: str, *, options: Mapping[str, Any] | None = None) -> Program:
    """Compiles the host entry of a `.pto` file."""

def compile(
    trace: bytes,
    *,
    options: Mapping[str, Any] | None = None,
    callables: Mapping[str, Callable[[tuple[KernelArray, ...], tuple[int, ...]], object]] | None = None,
    library_dir: str | None = None,
) -> Program:
    """Compiles a trace. Options: `target`, `schedule`, `max_blocks`, `kv_layout`, `cache`,
    `optimization_level`."""

def new_array(dtype: str, shape: Sequence[int]) -> KernelArray:
    """An array of zeros that begins at a page of memory."""

def task_coords() -> list[int] | None:
    """Coordinates of the task whose Python kernel runs on this thread; None outside of tasks."""

def stop_all() -> None:
    """Stops all runs that go on and waits for their ends."""

def task_graph_text(source: str, name: str, folder: str) -> TaskGraph:
    """Reads a unit of task graphs as text; paths of files that it uses are relative to `folder`."""

def task_graph_bytes(data: bytes, name: str, folder: str) -> TaskGraph:
    """Reads a unit of task graphs as bytes."""

class TaskGraph:
    """A unit of task graphs.

    Kernels are `entry`, `function`, `args` (`name`, `direction`, `dtype`, `dims`) each; files of kernels are
    `files` and `params`.
    """

    def text(self) -> str:
        """The unit as text."""

    def to_bytes(self) -> bytes:
        """The unit as bytes."""

    def check(self, kernels: Sequence[Mapping[str, Any]], files: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What is wrong with the unit, or probably not meant: records."""

    def run(
        self, kernels: Sequence[Mapping[str, Any]], files: Mapping[str, Any], given: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Runs the unit: `outputs`, `written`, `stats`, `peak`, `notes`.

        Given are `inputs`, `scalars`, `events`, `threads`, `devices`, `memory`, `record`.
        """

    def simulate(
        self, kernels: Sequence[Mapping[str, Any]], files: Mapping[str, Any], given: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Runs the unit in virtual time, on copies, given the same: what `Program.simulate` gives."""

class Recorded:
    """When and where the tasks of a run ran, and what they waited for."""

    @property
    def tasks(self) -> int:
        """How many tasks."""

    def file(self, extension: str) -> bytes | None:
        """As a file of a trace: `json` or `pftrace`."""

    def page(self, name: str, other: tuple[str, bytes] | None = None) -> bytes:
        """As a page, with another trace beside it: its name, and the bytes of its file."""

class StartOrder:
    """The order of starts of a recorded run."""

def start_order(name: str, bytes: bytes) -> StartOrder:
    """The order of starts in the bytes of a trace file, which is called `name` in messages."""

class Program:
    """A compiled workload. It may be used from several threads at once; each run is separate.

    Options of runs: `threads` (0: as many as the machine has), `window`, `seed`, `trace`, `sequential`,
    `plain`, `num_aicpus`, `expand` (`"host"`, `"bytecode"`), `replay` (a seed, or what `start_order` gives).
    """

    def execute(
        self,
        named: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        seconds: float | None = None,
    ) -> Figures:
        """Runs the program on arrays, tables and sizes by name, in place, and gives its figures. A run of
        more `seconds` fails.
        """

    def make_plan(
        self,
        named: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        capacity: tuple[int, int] | None = None,
    ) -> Plan:
        """A plan of a host entry. An array may be given as element type and extents: `("f16", (4, 16))`."""

    def workspace_query(
        self, named: Mapping[str, Any] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[int, int, int, int]:
        """What a plan needs: descriptors, words, bytes and slots of workspace."""

    def execute_plan(
        self, plan: Plan, named: Mapping[str, Any] | None = None, options: Mapping[str, Any] | None = None
    ) -> Figures:
        """Runs a plan and gives its figures."""

    def start(
        self,
        named: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        seconds: float | None = None,
    ) -> Run:
        """Starts a run on a thread of its own, which fails when it takes more `seconds`."""

    def prepare(
        self, named: Mapping[str, Any] | None = None, options: Mapping[str, Any] | None = None
    ) -> Prepared:
        """Checks and binds everything once, for any number of runs."""

    def fast_path(self, options: Mapping[str, Any], ended: Callable[[Any, Figures], Any]) -> FastPath | None:
        """The fast path of `execute` with these options, whose result is what `ended` makes of the program
        and the figures; None where no run can begin.
        """

    def graph(
        self, named: Mapping[str, Any] | None = None, *, deps: str | None = None, missed: bool = False
    ) -> dict[str, Any]:
        """Tasks and edges: `kernels`, `tasks` (u32), `edges` (pairs of u32), `tensors`, `missed`."""

    def simulate(
        self,
        named: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        model: tuple[str, str | None] | None = None,
    ) -> dict[str, Any]:
        """Runs the workload in virtual time: what `graph` gives, `makespan`, and lists by task.

        `model` is the name of a machine model, or the name and the text of its file.
        """

    def transfer(self, named: Mapping[str, Any] | None = None, aicpus: int = 1) -> dict[str, Any]:
        """The bytes that a launch on this many AICPUs transfers."""

    def implementation(self, options: Mapping[str, Any] | None = None) -> list[tuple[str, str]]:
        """What runs the tasks, as pairs of a part and what it is."""

    def explain(self) -> dict[str, Any]:
        """What the target does with the schedule, the kernels and what runs for them."""

    def on_device(self, aicpus: int) -> tuple[bytes, list[bytes]]:
        """The workload as bytecode, and what each of so many AICPUs gets beside it."""

    def recorded(self) -> Recorded | None:
        """When and where tasks ran in the last run that recorded it; none before."""

    @property
    def notes(self) -> list[str]:
        """What the compilation warns of."""

    @property
    def tensors(self) -> list[dict[str, Any]]:
        """Tensors: `name`, `dtype`, `dims`, `role` (`argument`, `temporary`, `slot`), `written`."""

    @property
    def tables(self) -> list[dict[str, Any]]:
        """Tables: `name`, `inline`."""

    @property
    def params(self) -> list[dict[str, Any]]:
        """Sizes: `name`, `derived`, `default`."""

    @property
    def library(self) -> list[tuple[str, str]]:
        """What a used file takes: names with what each is."""

    @property
    def compile_ns(self) -> int:
        """Nanoseconds that the compilation took."""

class Plan:
    """Descriptors of a launch, ready to run."""

    def advance(self, lengths: object = None) -> int | None:
        """Brings it up to date: words changed in place, None when the generators ran again."""

    def regenerate(self) -> None:
        """Runs the generators again."""

    def words(self) -> KernelArray:
        """Its words: where they lie if its room is fixed, else a copy."""

    def descriptors(self) -> list[tuple[int, str, int, int]]:
        """Stage, name of the type, first word and number of words of each descriptor."""

    def need(self) -> tuple[int, int, int, int]:
        """Descriptors, words, bytes and slots of workspace."""

    def lengths(self) -> dict[str, list[int]]:
        """Tokens per request of each cache."""

    def tiles(self) -> dict[str, int]:
        """The tile of each axis that was set or chosen."""

    def costs(self) -> bytes:
        """Elements that each descriptor reads, as words of 64 bits."""

    def balance(self, cores: int) -> tuple[float, float]:
        """The fullest core over the mean: consecutive descriptors, and longest first."""

    def is_current_for(
        self,
        program: Program,
        named: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> bool:
        """Whether the program would run it with these arguments."""

    @property
    def generated_ns(self) -> int:
        """Nanoseconds that the generators took when they ran last."""

class Run:
    """A run that goes on while Python does other things."""

    def done(self) -> bool:
        """Whether it has ended, well or not."""

    def progress(self) -> tuple[int, int | None, list[tuple[str, float]], bool]:
        """Tasks that have ended, all tasks where their number is known, those that run with their seconds,
        and whether it stops when these have ended.
        """

    def wait(self, timeout: float | None = None) -> Figures | None:
        """Waits for the end and gives the figures; `None` when `timeout` seconds pass before."""

    def ends(self) -> None:
        """Waits for the end, well or not."""

    def cancel(self) -> None:
        """Stops the run when the tasks that have started are over; it then fails with an `ExecutionError`."""

class Figures:
    """The figures of a run."""

    @property
    def tasks(self) -> int:
        """Tasks that ran."""

    @property
    def threads(self) -> int:
        """Threads that ran tasks; 0 where the caller's did."""

    @property
    def run_ns(self) -> int:
        """From the start of the run to the end of its last task."""

    @property
    def compile_ns(self) -> int:
        """Nanoseconds that the compilation of its program took."""

    @property
    def streams(self) -> int:
        """Streams of the schedule; 0 without."""

    def details(self) -> dict[str, Any]:
        """All of them by name."""

class Prepared:
    """A program with its arguments checked and bound, to be run again and again, by one thread at a time."""

    def __call__(self) -> None:
        """Runs the program; the arrays hold the results then."""

    def has_changed(self) -> bool:
        """Whether a table or a size has other values than those that the last run or exchange saw."""

    def rebind(self, named: Mapping[str, Any]) -> None:
        """Exchanges arrays, tables and sizes by name; what is not named stays. Nothing is compiled again."""

    def stats(self) -> Figures:
        """The figures of the last run."""

class KernelArray:
    """Elements in memory: the region of a tensor that a task was given, or an array that a run made."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def readonly(self) -> bool: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def address(self) -> int: ...

LIMITS: dict[str, int]
"""The limits of the system by name, those of `wsp config`."""

class Public:
    """A function that people call: what it raises is given to `told` with the function and its arguments, and
    what that gives is raised.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        told: Callable[..., BaseException],
        fast: tuple[str, Callable[..., BaseException]] | None = None,
    ) -> None: ...
    def __call__(self, *args: Any, **named: Any) -> Any: ...

class Reading:
    """A claim to read an array, which errors call `name`, until `end`: no run writes it meanwhile."""

    def __init__(self, name: str, array: Any) -> None: ...
    def end(self) -> None:
        """Gives the claim back."""

class FastPath:
    """The fast path of `Program.execute`."""

class WhenGone:
    """Calls a function when it goes, unless an exception is on its way through the frame that held it."""

    def __init__(self, call: Callable[[], object]) -> None: ...
    def forget(self) -> None:
        """Leaves the call out."""
