//! The codes of the rules.

wsp_diag::codes! {
    pub(in crate::workload) TOO_DEEP = 760, "workload nested too deeply",
        "\
Statements, those of called workloads included, or the levels of an expression nest deeper than a limit (`wsp config`
prints it). Later steps recurse as deep as a workload nests. Flatten the calls, or name parts of the expression.";
    pub(in crate::workload) UNKNOWN_ID = 761, "unknown id in a workload",
        "\
An id of the module is no index of its table. Text never makes such a module; one made by hand does.";
    pub(in crate::workload) NAME = 762, "bad or double name in a workload",
        "\
A name is no name, or two things that share a table of names have the same one. Labels of a workload, parameters of a
kernel and schedules each have names of their own; one schedule may be without.";
    pub(in crate::workload) PARAM_ORDER = 763, "parameter used before its declaration",
        "\
The default or value of a parameter uses itself or a later parameter. Values are computed from top to bottom: move the
declaration up.";
    pub(in crate::workload) MISPLACED_VALUE = 764, "value that cannot stand here",
        "\
Extents, lengths of tables and first values of slots are over parameters; bounds of axes also over tables; costs over
parameters and the kernel's integers; schedules over parameters, tables and axes; workloads over everything but axes.
An axis has a value in schedules only: in a workload use the variable of the loop over it. Operators of bits (`&`, `|`,
`^`, `<<`, `>>`) are those of kernels; builders can put one into a module of their own, text cannot.";
    pub(in crate::workload) VARIABLE = 765, "variable outside its scope",
        "\
A variable of a workload is used outside the loop that binds it, or is bound twice or never. Text never makes such a
module; builders do when a loop's variable is kept and used after the loop.";
    pub(in crate::workload) TABLE = 766, "elements of a table",
        "\
A table with a fixed number of elements is given another number of them.";
    pub(in crate::workload) AXIS = 767, "outer axis",
        "\
The outer axis of a ragged or sparse axis must stand before it and be dense, since its index selects a row.";
    pub(in crate::workload) TENSOR = 768, "rank of a tensor",
        "\
A tensor has at least one dimension and at most six. A single value is `f32[1]`.";
    pub(in crate::workload) SLOT = 769, "slot and its tensor",
        "\
A slot is held by a tensor `i64[1]` of its own, and slots stand in the order of their tensors. Text never makes another
module.";
    pub(in crate::workload) KERNEL = 770, "parameters of a kernel",
        "\
A kernel takes more integers or tensors than a task can have (`wsp config` prints the limits), or a module has more kernels
than ids.";
    pub(in crate::workload) NO_LIBRARY = 771, "kernel without parameters",
        "\
A kernel that is declared without `( )` is one of a used file, and the file uses none. `kernel k();` is a kernel without
arguments.";
    pub(in crate::workload) ARGUMENT_COUNT = 772, "number of arguments of a task",
        "\
A task gives each parameter of its kernel one argument. The message shows the declaration.";
    pub(in crate::workload) ARGUMENT_KIND = 773, "kind of an argument",
        "\
A kernel's `in`, `out` and `inout` parameters take tensors or regions of them, the others integers; the fields of a
descriptor are integers. Often two arguments are swapped.";
    pub(in crate::workload) ARGUMENT_NAME = 774, "named argument",
        "\
Fields of a descriptor may be set by name: `attn(row = i, first = 0);`, named ones after the others and each once. Arguments
of a kernel that is declared in the file come in the order of its parameters.";
    pub(in crate::workload) RANK = 775, "too many bounds",
        "\
A region has more bounds than its tensor has dimensions.";
    pub(in crate::workload) SLOT_CYCLE = 776, "slot read in its own task's bounds",
        "\
A task writes a slot and one of its bounds reads that slot. Bounds are known before a task runs. Use two slots.";
    pub(in crate::workload) ITERATION = 777, "loop over an axis",
        "\
`for i in b` runs over a dense axis, `for k in tok[i]` over the part of a ragged axis under index `i` of its outer axis, and
`select e in nz[i]` over row `i` of a sparse axis.";
    pub(in crate::workload) STEP = 778, "step below 1",
        "\
Steps of ranges are at least 1. To count down, compute with `n - 1 - i`.";
    pub(in crate::workload) CALL = 779, "call of a workload",
        "\
A workload calls earlier ones only, with one value for each formal argument, so that calls always end. Repeat with `for`
or `while`.";
    pub(in crate::workload) LABEL = 780, "label of a task",
        "\
Labels of a module made by hand stand in the order of their tasks, one each, and `after` names earlier ones.";
    pub(in crate::workload) ENTRY = 781, "entry of a workload file",
        "\
The workload named `main` runs, else the last; it takes no arguments: nothing calls it.";
    pub(in crate::workload) DOUBLE_DIRECTIVE = 782, "double statement of a schedule",
        "\
Each statement and each setting of `task_graph` stands once in a schedule, `pipeline_depth` once per scope, and
`task_window` is the same as `window` of `task_graph`. Write several schedules and choose with `--schedule NAME`.";
    pub(in crate::workload) THRESHOLDS = 783, "thresholds",
        "\
`dispatch_threshold(metric, [t0, t1], [p0, p1, p2])` takes increasing thresholds and one policy more than thresholds.";
    pub(in crate::workload) COUNT = 784, "count of a schedule",
        "\
Streams, gates, windows, batches and workers of a pool are at least 1, or nothing would ever run; some have a largest
value, which the message says.";
    pub(in crate::workload) PARTITION = 785, "static partition",
        "\
The parts of `static_partition([0..10, 10..20])` are half-open ranges of task numbers, one per worker, that begin at 0 and
join, so that every task has one worker.";
    pub(in crate::workload) NEEDS = 786, "statement without effect",
        "\
A statement acts only together with another that the schedule does not have, as `stream_by` does with `streams(n)`: without it
the statement would be ignored. The message names both.";
    pub(in crate::workload) AFTER_UNUSED = 787, "`after` without effect",
        "\
Tasks are ordered by their data. `after` adds an order only with `deps = explicit` or `deps = hybrid`, which no schedule of
the file has. This is a warning.";
    /// Reported by the builders.
    pub(in crate::workload) FOREIGN_HANDLE = 788, "handle of another module or workload",
        "\
A program that builds a module uses a tensor, parameter, kernel or the like of another module, or a loop's variable or a
label of another workload, or a kernel's parameter that does not exist. Handles are used where they were made.";
    pub CHANNEL = 789, "use of a channel",
        "\
A channel belongs to one pipeline. In it one process sends to the channel and one consumes from it, so that the order of its
tokens does not depend on whose turn it is; the process that sends may close it, once, behind its last `send`. Its depth is at
least 0. A `select` over channels has an arm for each. What takes tokens until a channel is closed may send to it where it closes it, too: else it
would never end.";
    pub(in crate::workload) PROCESS = 790, "place of a pipeline, `send`, `consume` or `close`",
        "\
`send`, `consume` and `close` stand in a process of a pipeline, and a process holds no pipeline of its own, nor calls a workload that
has one. Inside the process they stand in no `for`, `while` or `sequential`: these are ordered scopes, which cannot stay open
while other processes go on. Write `parallel for`; the tasks of its iterations wait for each other by the slots that they use.";
    pub(in crate::workload) CHANNEL_END = 791, "channel with one end",
        "\
Nothing sends to the channel, or nothing consumes from it. A process that consumes from a channel without sends waits for
ever; sends to a channel that is not consumed from wait once its slots are full.";
    pub(in crate::workload) SAME_KEY = 792, "key without an axis",
        "\
The key of `priority` or `stream_by` names no axis, so every task has the same: the order is that of becoming ready, or all tasks
go to one stream. Name an axis, as in `priority(row)`, or leave the statement out. This is a warning.";
    /// Reported by linking as well, of tensors of used files.
    pub LAYOUT = 793, "layout that a tensor cannot have",
        "\
A `layout` or `relayout` says of each dimension of a tensor `replicate`, `shard(x)` or `shard(y)`, and an axis of the grid
stands in it once: the tiles along it hold one dimension in parts, or (`pending`) parts of a sum.";
    /// Reported by runs in virtual time as well.
    pub COST = 866, "cost is no number of cycles",
        "\
The `cost` of a kernel gives a negative number for some task, or a task would end after 2^64 cycles.
Virtual time counts whole cycles from 0. `wsp check` has one worker run all tasks, and warns of their sum: on several a run may end before.";
}
