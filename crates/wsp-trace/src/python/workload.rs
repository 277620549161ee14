//! Workloads of the Python package: WSP1000-WSP1099, its schedules, options and saved programs: WSP1200-WSP1249.

use wsp_diag::{Code, CodeInfo};

/// What workload functions do.
pub(crate) const CODES: &[CodeInfo] = &[
    CodeInfo {
        code: Code(1000),
        title: "the source of a workload is not at hand",
        explanation: "\
Python runs the body of a loop over `P(…)` once, so what differs between iterations is looked for in the source. Text given
to `exec` or `python -c` has none. Put the workload into a file or a notebook cell.",
    },
    CodeInfo {
        code: Code(1001),
        title: "`P(…)` does not head its statement",
        explanation: "\
`P(…)`, `P.seq(…)`, `P.sel(…)` and `P.loop(…)` stand directly behind `in` of a `for`; `P.when(…)`, `P.otherwise()`, `P.pipe()`,
`P.process(…)`, `send()` and `consume()` directly behind `with`. In a list, a comprehension, `zip` or a variable one iteration
would be taken for all.",
    },
    CodeInfo {
        code: Code(1002),
        title: "Python looks at the truth of a value that it does not know",
        explanation: "\
Sizes, loop indices and elements of tables are known when tasks are generated. Instead of `if` write `with P.when(c):` and
`with P.otherwise():`, instead of `a if c else b` `P.select(c, a, b)`, instead of `while` `for _ in P.loop(c, max_rounds):`,
instead of `and`, `or`, `not` the operators `&`, `|`, `~`. For a choice that Python makes bind the value before:
`w(n=4)`, or a parameter with the annotation `Constexpr`.",
    },
    CodeInfo {
        code: Code(1003),
        title: "Python needs the number that an expression stands for",
        explanation: "\
`range(n)`, `int(n)`, `float(n)`, `items[n]`, sets and dictionaries need a number when the workload is traced, and `n` is known
only when tasks are generated. Loops over it are `for i in P(n):`. Bind the size before (`w(n=4)`), or annotate the parameter
with `Constexpr`, to have a Python int.",
    },
    CodeInfo {
        code: Code(1004),
        title: "an operation that integers of workloads do not have",
        explanation: "\
Integers have `+ - * // %`, comparisons, `P.min`, `P.max`, `P.ceildiv` and `P.select`; conditions have `&`, `|`, `~`, which bind
tighter than comparisons: `(a < b) & (c < d)`. Real numbers belong into kernels.",
    },
    CodeInfo {
        code: Code(1005),
        title: "a jump out of a loop or branch",
        explanation: "\
`break`, `continue`, `return` and `yield` in a loop over `P(…)` or under `P.when(…)` would happen once, while the workload is
traced, and not where the condition holds in a run. Put what is conditional under `with P.when(condition):`; rounds until a
value is reached are `for _ in P.loop(condition, max_rounds):`.",
    },
    CodeInfo {
        code: Code(1006),
        title: "a variable changes from one iteration to the next",
        explanation: "\
The body of a loop over `P(…)` is traced once for all iterations, so a Python variable, list or dictionary cannot carry
something from one to the next. Compute it from the index. What tasks compute goes to a tensor, a `Buffer` or a `Slot`. A few
iterations that Python itself should run are a loop over `range(4)`.",
    },
    CodeInfo {
        code: Code(1007),
        title: "a variable of a loop or branch is read behind it",
        explanation: "\
Which value a variable has behind a loop depends on how many iterations it has, behind a branch on its condition; the trace
knows neither. Use it inside. `P.select(c, a, b)` chooses between two values, `n - 1` is the last index of `P(n)`.",
    },
    CodeInfo {
        code: Code(1008),
        title: "a loop index is used outside its loop",
        explanation: "\
An expression names the index of a loop that has ended, or of another workload, for example through a list. It has no value
there. Use it inside the loop.",
    },
    CodeInfo {
        code: Code(1009),
        title: "`P.otherwise()` without `P.when(…)`",
        explanation: "\
`with P.otherwise():` stands directly behind the block of `with P.when(condition):`, on the same level, once. For a second
condition put another `with P.when(…):` into it.",
    },
    CodeInfo {
        code: Code(1010),
        title: "a block is left by an exception that is caught outside",
        explanation: "\
An exception left a loop or branch before its end, and the workload went on; tasks of the block would be missing. Let the
exception pass, or catch it inside the block.",
    },
    CodeInfo {
        code: Code(1011),
        title: "no axis",
        explanation: "\
`P(…)` takes sizes, `Dense[n]`, `Ragged`, ints, expressions, `range` and `P.range(lo, hi, step)`; `P.sel` takes rows of `Sparse`.
Tensors and tables are looped over by index: `for i in P(n): … x[i] …`.",
    },
    CodeInfo {
        code: Code(1012),
        title: "an inner axis without an index of its outer axis",
        explanation: "\
A ragged or sparse axis has indices under each index of its outer axis. It takes that of the enclosing loop over the outer axis,
if there is exactly one; else say it: `P(tok[b])`, `P.sel(route[b])`.",
    },
    CodeInfo {
        code: Code(1013),
        title: "not as many loop variables as indices",
        explanation: "\
`for i, j in P(n, m):` has a variable per axis, `for e, p in P.sel(row).enumerate():` two, `for _ in P.loop(c, n):` one that
has no value.",
    },
    CodeInfo {
        code: Code(1014),
        title: "a step below 1",
        explanation: "Ranges go up, by at least 1. To go down, compute the index: `n - 1 - i`.",
    },
    CodeInfo {
        code: Code(1015),
        title: "arguments of a workload",
        explanation: "\
An argument is surplus, given twice, or missing. Sizes, tensors, tables and axes may stay open until a run; a `Constexpr` may
not, and in another workload nothing may.",
    },
    CodeInfo {
        code: Code(1016),
        title: "a value that a parameter of a workload does not take",
        explanation: "\
A parameter without annotation is a size: an int of at least 0, `Dense[n]`, or an axis, tensor or table. One with an annotation
takes what that says; `Constexpr` takes any Python value.",
    },
    CodeInfo {
        code: Code(1017),
        title: "an annotation or parameter that workloads do not have",
        explanation: "\
Annotations are `Constexpr`, `Tensor[f16, \"batch\", 128]`, `Table[\"batch\"]`, `Ragged[\"batch\"]`, `Sparse[\"batch\"]`; none
declares a size. Parameters have names: no `*args`, no `**kwargs`.",
    },
    CodeInfo {
        code: Code(1018),
        title: "something has no usable name",
        explanation: "\
Sizes, tensors, tables and processes are called by identifiers, because calls give them values by name. The name of a tensor is
`name=`, else that of its variable.",
    },
    CodeInfo {
        code: Code(1019),
        title: "two things of one name",
        explanation: "\
Two sizes, tensors or tables of a workload have the same name, so a call could not tell them apart. Give one another name:
`Tensor(…, name=\"X2\")`.",
    },
    CodeInfo {
        code: Code(1020),
        title: "outside of a workload",
        explanation: "\
Calls of kernels, `P`, views of tensors and channels mean something while a workload is traced only: in the function under
`@workload`, and functions that it calls. And a workload is not compiled while another one is traced.",
    },
    CodeInfo {
        code: Code(1021),
        title: "arguments of a kernel",
        explanation: "The call of a kernel has an argument that is surplus, given twice, or missing. They are bound as Python does.",
    },
    CodeInfo {
        code: Code(1022),
        title: "an argument of a kernel of another kind",
        explanation: "\
`In`, `Out` and `InOut` parameters take tensors and views, `Scalar` integers, `Constexpr` values that Python knows. An array is
declared with `Tensor(shape, dtype)` and bound in a run, or used as `tensor(array)`.",
    },
    CodeInfo {
        code: Code(1023),
        title: "a subscript with too many entries",
        explanation: "More dimensions are indexed than the tensor or view has, or `...` stands there twice.",
    },
    CodeInfo {
        code: Code(1024),
        title: "a slice with a step",
        explanation: "Tasks read and write regions without gaps. Give the kernel the region, and take every n-th element there.",
    },
    CodeInfo {
        code: Code(1025),
        title: "an index outside its tensor",
        explanation: "\
An index or slice cannot lie inside the dimension, or does not for some iteration of its loop. Negative numbers count from the
end, as in Python; negative expressions do not. `tile(i, n)` stops at the end of the dimension.",
    },
    CodeInfo {
        code: Code(1026),
        title: "a view that may not lie inside the view it is of",
        explanation: "\
A run checks regions against tensors, not against the views that they were cut from; so what is cut from a part must be known to
lie inside it. Index the tensor itself, or use bounds that show it.",
    },
    CodeInfo {
        code: Code(1027),
        title: "a malformed subscript",
        explanation: "Subscripts of tensors are integers, slices `lo:hi`, `...`, and `tile(i, n)` with `n` at least 1.",
    },
    CodeInfo {
        code: Code(1028),
        title: "a malformed tensor",
        explanation: "\
A tensor has 1 to 6 extents, each an int, the name of a size or an expression over sizes, and an element type `f16`, `bf16`,
`f32`, `f64`, `u8`, `u16`, `i32`, `u32`, `i64` or `u64`.",
    },
    CodeInfo {
        code: Code(1029),
        title: "a size with two values",
        explanation: "\
Workloads that are combined bind sizes of one name to different numbers. Shapes that say the name would have two meanings.
Give the parameters different names.",
    },
    CodeInfo {
        code: Code(1030),
        title: "a malformed table",
        explanation: "\
A table holds integers of 64 bits; lengths and row starts are not negative. `Table([3, 1])` has values, `Table(length=\"batch\")`
is bound by a run.",
    },
    CodeInfo {
        code: Code(1031),
        title: "`combine` or `sequential` of something else",
        explanation: "\
They take workloads, and in a workload also functions without arguments. There a call generates tasks at once, so write
`combine(lambda: first(i), lambda: second(i))`.",
    },
    CodeInfo {
        code: Code(1032),
        title: "a workload is nested too deep",
        explanation: "\
Calls of workloads or statements in each other are nested deeper than programs are. A recursion ends by values that Python
knows: annotate its parameter with `Constexpr`.",
    },
    CodeInfo {
        code: Code(1033),
        title: "a workload with too many statements",
        explanation: "A Python loop over `range(n)` writes its statements n times. `for i in P(n):` is one statement for any n.",
    },
    CodeInfo {
        code: Code(1034),
        title: "an expression or number too large",
        explanation: "\
An expression that is computed from itself again and again grows without end; numbers have 64 bits. Compute it in a kernel, or
put its values into a table.",
    },
    CodeInfo {
        code: Code(1035),
        title: "`after` names no task",
        explanation: "`after=[t]` takes what calls of kernels in the same workload return: `t = k(…)`, then `k2(…, after=[t])`.",
    },
    CodeInfo {
        code: Code(1036),
        title: "a part of a pipeline is out of place",
        explanation: "\
`with P.pipe():` holds `with P.process(\"name\"):` only, and these hold the loops and tasks; `send()`, `consume()` and `close()` stand in
processes. Pipelines do not nest, and processes of one have different names. `with P.select_channel():` holds
`with channel.consume() as tile:` only.",
    },
    CodeInfo {
        code: Code(1037),
        title: "`P.pipe` with an axis",
        explanation: "\
Stages of a loop that overlap are processes with channels between them: `with P.pipe():`. To bound how many tasks run at once,
use `.pipeline_depth(n)` of the schedule.",
    },
    CodeInfo {
        code: Code(1038),
        title: "a malformed channel",
        explanation: "`Channel((64, 128), f32, depth=2)` is a ring of `depth` tiles, at least 1; `Channel(depth=2)` passes tokens only.",
    },
    CodeInfo {
        code: Code(1039),
        title: "Python iterates or measures a tensor, table or axis",
        explanation: "\
They have no elements while a workload is traced. Loop over indices: `for i in P(n): … x[i] …`; the number of elements of a table
is `t.size`, the extents of a tensor `x.shape`.",
    },
    CodeInfo {
        code: Code(1040),
        title: "kernels of several files in one workload",
        explanation: "A workload takes all its kernels from one `.pto` file, or all from Python.",
    },
    CodeInfo {
        code: Code(1041),
        title: "a coordinate that is no integer",
        explanation: "The subscript of a kernel gives the task its coordinates, which are integers: `k[b, h](…)`.",
    },
    CodeInfo {
        code: Code(1042),
        title: "an assignment to elements of a tensor",
        explanation: "A workload says which tasks there are. What they compute stands in kernels: `pto.store(y, …)`.",
    },
    CodeInfo {
        code: Code(1043),
        title: "a workload gives a value",
        explanation: "The function of a workload is a plain `def` without a value: no `return x`, no `yield`, no `async`. Values come out through tensors.",
    },
    CodeInfo { code: Code(1044), title: "a division by 0", explanation: "The divisor of `//`, `%` or `P.ceildiv` is the number 0." },
    CodeInfo {
        code: Code(1045),
        title: "no such kernel in a `.pto` file",
        explanation: "\
`load(\"file.pto\")` has the kernels of the file as attributes. Their arguments are integers: the fields of the descriptor, in
order or by name.",
    },
    CodeInfo {
        code: Code(1046),
        title: "an extent that depends on tasks",
        explanation: "\
Tensors, tables, channels and first values of slots are made once per run, before any task. Their sizes are computed from sizes
and numbers only.",
    },
    CodeInfo {
        code: Code(1047),
        title: "an expression of a slot is used behind a task that writes the slot",
        explanation: "\
A workload reads a slot where an expression of it is used, and not where Python made the expression: `old = s + 1`, a task that
writes `s`, then `P.when(old > 1)` would see what the task wrote. Write the expression where it is used. For the value of before,
let a task copy it to another slot first.",
    },
    CodeInfo {
        code: Code(1048),
        title: "the file of a workload has changed",
        explanation: "\
Loops and branches of a workload are checked in its text. The text of its file, which is read when a function in it is decorated, says
something else than what Python runs: the file was changed after it was imported, or an import hook has rewritten its functions. Start
Python again, import the module anew, or leave it out of the hook.",
    },
    CodeInfo {
        code: Code(1049),
        title: "a workload is a method",
        explanation: "\
The parameters of a workload are sizes, tensors and tables, which a run binds; `self` would be a size. Decorate a function inside of a
method, which sees `self` as a variable around it, or leave `self` out.",
    },
    CodeInfo {
        code: Code(1050),
        title: "a name that a workload does not know",
        explanation: "\
The function of a workload uses a name that is no variable of it, nothing around it and no builtin. A size that a run sets is a
parameter: write it into the signature, `def w(rows: DenseDyn)`. Others have to be defined before the workload is compiled.",
    },
];

/// What schedules, options and saved programs say.
pub(crate) const SCHEDULE_CODES: &[CodeInfo] = &[
    CodeInfo {
        code: Code(1200),
        title: "a schedule says something twice",
        explanation: "\
Each method of a schedule, each setting of `task_graph` and each scope of `pipeline_depth` is said once. Every call gives a
workload of its own, so that another schedule starts from the unscheduled one.",
    },
    CodeInfo {
        code: Code(1201),
        title: "a key is opaque",
        explanation: "\
A key is traced once to an expression, not called for each task: it is integer arithmetic on loop indices and tables, such as
`lambda t: t.batch`, `lambda t: t.get(\"batch\") * 8 + t.h` or `lambda t: lens[t.batch]`. `hash()`, dictionaries, `if` and real
numbers need values that are not there.",
    },
    CodeInfo {
        code: Code(1202),
        title: "a key gives no integer",
        explanation: "The function of a key raised an exception, or gave something that is no integer. Accepted are forms such as `lambda t: t.batch * 8 + t.h`.",
    },
    CodeInfo {
        code: Code(1203),
        title: "a schedule names a loop that the workload does not have",
        explanation: "\
Keys name loops by their variable or by the parameter of their axis; `t.size(\"n\")` names a size, `t.lens[…]` a table that is a
parameter. The message lists what there is.",
    },
    CodeInfo {
        code: Code(1204),
        title: "a schedule names two loops, one in the other",
        explanation: "The name means two loops around one task. Give their variables different names, and name one of them.",
    },
    CodeInfo {
        code: Code(1205),
        title: "a schedule names a loop that is no axis",
        explanation: "\
A loop whose range has a step, or depends on an outer loop or a slot, is no axis, so a schedule cannot speak of its index. Name
an outer loop, or loop over a size and leave out the rest with `P.when(…)`.",
    },
    CodeInfo {
        code: Code(1206),
        title: "a key asks for the kernel",
        explanation: "\
One key holds for the tasks of all kernels. `@kernel(unit=…, cost=…)` and `TracePolicy.cycles(lambda t: …)` are per kernel.",
    },
    CodeInfo {
        code: Code(1207),
        title: "a part of a workload has a schedule",
        explanation: "One schedule holds for all tasks of a program. Schedule the outermost workload: `combine(a, b).streams(4)`.",
    },
    CodeInfo {
        code: Code(1208),
        title: "a number or word that a schedule does not take",
        explanation: "A count, mode, scope or range is outside of what the message lists.",
    },
    CodeInfo {
        code: Code(1209),
        title: "a policy of another kind",
        explanation: "Each setting takes its own kind of policy: `deps=Deps.…`, `ready=ReadyPolicy.…`, `dispatch(DispatchPolicy.…)`.",
    },
    CodeInfo {
        code: Code(1210),
        title: "cycles ask for what a kernel does not have",
        explanation: "\
The function of `TracePolicy.cycles` is traced for each kernel, and computes from its scalar parameters by name, coordinates
`t.coord(n)`, `t.cost` and the name `t.kernel`.",
    },
    CodeInfo {
        code: Code(1211),
        title: "bounds and policies of `dispatch_threshold` do not fit",
        explanation: "Bounds increase, and there is one policy more than bounds: below the first, between each two, and from the last on.",
    },
    CodeInfo {
        code: Code(1212),
        title: "a workload is thrown away",
        explanation: "\
Methods of schedules, a call of a workload outside of another one, `combine` and `sequential` change nothing: each gives another workload.
Nothing was made of the one that was given at this line: it was neither compiled nor printed nor asked for anything, so what the line says
has no effect. Keep it: `attention = attention.dispatch(…)`. The warning is a `pto_wsp.errors.ThrownAwayWarning`, which is also given for
a run of `execute_async` that failed and that nothing waited for, and for one that the end of the script stops.",
    },
    CodeInfo {
        code: Code(1220),
        title: "an option of `compile` that does not exist",
        explanation: "The message lists the options. What belongs to a schedule is a method of the workload.",
    },
    CodeInfo {
        code: Code(1221),
        title: "a value that an option of `compile` does not take",
        explanation: "The message names the option and its range.",
    },
    CodeInfo {
        code: Code(1222),
        title: "an option of `compile` that the target does not keep",
        explanation: "No option is accepted and ignored. The message says what to write instead.",
    },
    CodeInfo {
        code: Code(1223),
        title: "what cannot be saved",
        explanation: "\
Kernels that are Python functions are not part of the bytes of a program, nor are arrays. Write them with `@kernel`, or save the
source and compile it again. Workloads and kernels are pickled by the name of their function in its module, and one that is made in another
function has none. Runs, bound programs, simulations and task graphs have memory and threads of their process: give another process what they are made of.",
    },
    CodeInfo {
        code: Code(1224),
        title: "no run was profiled",
        explanation: "\
A trace shows the last run whose times were recorded: compile with `enable_profiling=True` or say `TracePolicy.measured()`, and
run the program, or `simulate` it.",
    },
    CodeInfo {
        code: Code(1225),
        title: "options of `compile` of which one would be without effect",
        explanation: "No option is accepted and ignored: leave out one of the two.",
    },
    CodeInfo {
        code: Code(1230),
        title: "bytes that are no program",
        explanation: "\
`Program.from_bytes` reads what `to_bytes` wrote. These bytes begin otherwise, end early, are larger than programs are, or have
been changed.",
    },
    CodeInfo {
        code: Code(1231),
        title: "a program of another version",
        explanation: "The bytes were written by another version of the package. Compile the workload again.",
    },
];
