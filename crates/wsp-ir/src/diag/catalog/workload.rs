//! Reading and checking workloads: reading and names 700 to 759, the verifier 760 to 799.

use super::{Code, CodeInfo};

/// The codes of this group.
pub(super) const CODES: &[CodeInfo] = &[
    CodeInfo {
        code: Code(700),
        title: "workload file too large",
        explanation: "\
A `.wsp` file has more bytes than a source file may have (`wsp config` prints the limit). Long tables are bound at launch:
declare `table t[n];` and pass `--input t=t.npy`.",
    },
    CodeInfo {
        code: Code(701),
        title: "too many errors in a workload file",
        explanation: "\
More errors were found than are printed. They are shown in source order, so repair the first ones and read the file
again; later ones often follow from them.",
    },
    CodeInfo {
        code: Code(702),
        title: "unexpected character in a workload file",
        explanation: "\
A character starts no token of the language: `#`, `$`, a single `&` or `|`, a typographic quote or dash, a non-breaking
space, a control character. Delete it or type the plain ASCII character.",
    },
    CodeInfo {
        code: Code(703),
        title: "comment without an end in a workload file",
        explanation: "\
A `/*` has no `*/` before the end of the file. Comments do not nest: the first `*/` ends a comment.
Close the comment, or use `//`, which ends with its line.",
    },
    CodeInfo {
        code: Code(704),
        title: "misplaced or unfinished string",
        explanation: "\
A `\"` has no partner on its line, or a string stands where a value is needed. Strings name files in `use \"kernels.pto\";`
and stand nowhere else. Inside one, `\\` is a backslash and `\"` a quote.",
    },
    CodeInfo {
        code: Code(705),
        title: "malformed number in a workload file",
        explanation: "\
A word that starts with a digit is no integer. Integers are written `42`, `0x2A` or `1_000_000`; workloads compute with
integers only, so `0.5` is refused. Names do not start with a digit.",
    },
    CodeInfo {
        code: Code(706),
        title: "number out of range in a workload file",
        explanation: "\
A number does not fit what it is for: values have 64 bits with sign, counts of schedules 32 bits. The message says
how large a number can stand here.",
    },
    CodeInfo {
        code: Code(707),
        title: "name outside ASCII in a workload file",
        explanation: "\
Names are made of the letters `a`-`z` and `A`-`Z`, digits and `_`. Comments may hold any text.",
    },
    CodeInfo {
        code: Code(708),
        title: "unexpected token in a workload file",
        explanation: "\
The grammar needs something else at this place; the message says what. The place is marked behind the last thing
understood when the next thing stands on another line.",
    },
    CodeInfo {
        code: Code(709),
        title: "missing `;` in a workload file",
        explanation: "\
Items, tasks, calls and statements of schedules end with `;`. Blocks `{ … }` do not need one.",
    },
    CodeInfo {
        code: Code(710),
        title: "unclosed delimiter in a workload file",
        explanation: "\
A `(`, `[` or `{` has no partner where its list or block must end. The message shows where it was opened. A word such as
`tensor` or `workload` starts an item wherever it stands, so that a missing `}` is found at the next item.",
    },
    CodeInfo {
        code: Code(711),
        title: "unmatched closing delimiter in a workload file",
        explanation: "\
A `)`, `]` or `}` closes nothing. Delete it, or add what should open it; often a `}` further up is one too many.",
    },
    CodeInfo {
        code: Code(712),
        title: "expected an expression in a workload file",
        explanation: "\
A value is needed here: a number, a parameter, a loop's variable, a slot, an element of a table `t[i]`, `len(t)`,
`min(a, b)`, `max(a, b)`, `ceildiv(a, b)`, or an operator with its operands.",
    },
    CodeInfo {
        code: Code(713),
        title: "expected a name in a workload file",
        explanation: "\
A plain name is needed here. Keywords (`for`, `in`, `table`, `tensor`, …) cannot be used; append a `_`.",
    },
    CodeInfo {
        code: Code(714),
        title: "expected an item",
        explanation: "\
Files consist of items, which begin with `use`, `param`, `let`, `table`, `axis`, `tensor`, `slot`, `kernel`, `workload` or
`schedule`. Statements such as loops and tasks stand in the braces of a workload.",
    },
    CodeInfo {
        code: Code(715),
        title: "expected a statement in a workload",
        explanation: "\
Statements of a workload are tasks `k(…);`, labelled tasks `let p = k(…);`, `call w(…);`, `for`, `parallel for`, `select`,
`if`, `while`, `combine` and `sequential`. Nothing is assigned.",
    },
    CodeInfo {
        code: Code(716),
        title: "nested too deeply in a workload file",
        explanation: "\
Statements or the operators of one expression nest deeper than is read (`wsp config` prints the limit). Move inner
statements to a workload and `call` it; name part of an expression with `let`.",
    },
    CodeInfo {
        code: Code(717),
        title: "syntax of another language",
        explanation: "\
Something is written as in C or Rust and not as here: `for (i = 0; …)`, `for i = 0..n`, `i += 1`, or `in x` at the call of
a kernel. Loops are written `for i in 0..n { … }`; how a tensor is used is said in the declaration of the kernel.",
    },
    CodeInfo {
        code: Code(718),
        title: "half a range",
        explanation: "\
A range has both ends and is half-open: `lo..hi` or `lo +: count`. `..` alone is all of a dimension.",
    },
    CodeInfo {
        code: Code(719),
        title: "chained comparison",
        explanation: "\
`a < b < c` would compare the truth value of `a < b` with `c`. Write `a < b && b < c`, or, if that is meant,
`(a < b) < c`.",
    },
    CodeInfo {
        code: Code(720),
        title: "`else` without `if` in a workload",
        explanation: "\
An `else` stands right behind the `}` of an `if`: `if c { … } else { … }`.",
    },
    CodeInfo {
        code: Code(730),
        title: "name declared twice in a workload file",
        explanation: "\
Parameters, tables, axes, tensors, slots, kernels and workloads of a file share their names, and so do the formal
arguments of one workload. Rename one. Loop variables may hide any name.",
    },
    CodeInfo {
        code: Code(731),
        title: "undeclared name in a workload file",
        explanation: "\
Nothing declares this name, or a loop variable of this name is not visible here. Names of the file are visible in all of
it, loop variables and formal arguments in their block only.",
    },
    CodeInfo {
        code: Code(732),
        title: "name of the wrong kind in a workload file",
        explanation: "\
The name stands for something that cannot be used here, such as a tensor where a value is needed or a workload where a
kernel is. The message shows where it is declared. A loop variable hides what has its name outside.",
    },
    CodeInfo {
        code: Code(733),
        title: "undeclared kernel",
        explanation: "\
Nothing declares this kernel, and the file uses no other file that could. Declare it, `kernel k(in a, n, out b);`, or name
the file that has it, `use \"kernels.pto\";`.",
    },
    CodeInfo {
        code: Code(734),
        title: "undeclared label",
        explanation: "\
`after` names labels of tasks that stand earlier in the same workload: `let p = k(…);` and then `l(…) after p;`.",
    },
    CodeInfo {
        code: Code(735),
        title: "unknown statement of a schedule",
        explanation: "\
Schedules have `dispatch`, `dispatch_threshold`, `streams`, `stream_by`, `task_graph`, `pipeline_depth`, `batch_deps`,
`priority` and `task_window`.",
    },
    CodeInfo {
        code: Code(736),
        title: "unknown setting of `task_graph`",
        explanation: "\
`task_graph` has the settings `deps`, `window`, `pools`, `ready`, `start` and `trace`: `task_graph(deps = overlap, ready =
fifo);`.",
    },
    CodeInfo {
        code: Code(737),
        title: "unknown word",
        explanation: "\
The word is none of those that can stand here: element types, kinds of axes, execution units, policies, modes. The message
lists them.",
    },
    CodeInfo {
        code: Code(738),
        title: "arguments of a form",
        explanation: "\
A form has more or fewer arguments than it takes, or a file has more kernels than can be numbered.",
    },
    CodeInfo {
        code: Code(739),
        title: "undeclared channel",
        explanation: "\
`send` and `consume` name a channel of their workload that is declared before them: `channel tiles[2];`.",
    },
    CodeInfo {
        code: Code(760),
        title: "workload nested too deeply",
        explanation: "\
Statements, those of called workloads included, or the operators of an expression nest deeper than a limit (`wsp config`
prints it). Later steps recurse as deep as a workload nests. Flatten the calls, or name parts of the expression.",
    },
    CodeInfo {
        code: Code(761),
        title: "unknown id in a workload",
        explanation: "\
An id of the module is no index of its table. Text never makes such a module; one made by hand does.",
    },
    CodeInfo {
        code: Code(762),
        title: "bad or double name in a workload",
        explanation: "\
A name is no name, or two things that share a table of names have the same one. Labels of a workload, parameters of a
kernel and schedules each have names of their own; one schedule may be without.",
    },
    CodeInfo {
        code: Code(763),
        title: "parameter used before its declaration",
        explanation: "\
The default or value of a parameter uses itself or a later parameter. Values are computed from top to bottom: move the
declaration up.",
    },
    CodeInfo {
        code: Code(764),
        title: "value that cannot stand here",
        explanation: "\
Extents, lengths of tables and first values of slots are over parameters; bounds of axes also over tables; costs over
parameters and the kernel's integers; schedules over parameters, tables and axes; workloads over everything but axes.
An axis has a value in schedules only: in a workload use the variable of the loop over it.",
    },
    CodeInfo {
        code: Code(765),
        title: "variable outside its scope",
        explanation: "\
A variable of a workload is used outside the loop that binds it, or is bound twice or never. Text never makes such a
module; builders do when a loop's variable is kept and used after the loop.",
    },
    CodeInfo {
        code: Code(766),
        title: "elements of a table",
        explanation: "\
A table with a fixed number of elements is given another number of them.",
    },
    CodeInfo {
        code: Code(767),
        title: "outer axis",
        explanation: "\
The outer axis of a ragged or sparse axis must stand before it and be dense, since its index selects a row.",
    },
    CodeInfo {
        code: Code(768),
        title: "rank of a tensor",
        explanation: "\
A tensor has at least one dimension and at most six. A single value is `f32[1]`.",
    },
    CodeInfo {
        code: Code(769),
        title: "slot and its tensor",
        explanation: "\
A slot is held by a tensor `i64[1]` of its own, and slots stand in the order of their tensors. Text never makes another
module.",
    },
    CodeInfo {
        code: Code(770),
        title: "parameters of a kernel",
        explanation: "\
A kernel takes more integers or tensors than a task can have (`wsp config` prints the limits), or a module has more kernels
than ids.",
    },
    CodeInfo {
        code: Code(771),
        title: "kernel without parameters",
        explanation: "\
A kernel that is declared without `( )` is one of a used file, and the file uses none. `kernel k();` is a kernel without
arguments.",
    },
    CodeInfo {
        code: Code(772),
        title: "number of arguments of a task",
        explanation: "\
A task gives each parameter of its kernel one argument. The message shows the declaration.",
    },
    CodeInfo {
        code: Code(773),
        title: "kind of an argument",
        explanation: "\
A kernel's `in`, `out` and `inout` parameters take tensors or boxes of them, the others integers; the fields of a
descriptor are integers. Often two arguments are swapped.",
    },
    CodeInfo {
        code: Code(774),
        title: "named argument",
        explanation: "\
Fields of a descriptor may be set by name: `attn(row = i, first = 0);`, named ones after the others and each once. Arguments
of a kernel that is declared in the file come in the order of its parameters.",
    },
    CodeInfo {
        code: Code(775),
        title: "too many bounds",
        explanation: "\
A box has more bounds than its tensor has dimensions.",
    },
    CodeInfo {
        code: Code(776),
        title: "slot read in its own task's bounds",
        explanation: "\
A task writes a slot and one of its bounds reads that slot. Bounds are known before a task runs. Use two slots.",
    },
    CodeInfo {
        code: Code(777),
        title: "loop over an axis",
        explanation: "\
`for i in b` runs over a dense axis, `for k in tok[i]` over the part of a ragged axis under index `i` of its outer axis, and
`select e in nz[i]` over row `i` of a sparse axis.",
    },
    CodeInfo {
        code: Code(778),
        title: "step below 1",
        explanation: "\
Steps of ranges are at least 1. To count down, compute with `n - 1 - i`.",
    },
    CodeInfo {
        code: Code(779),
        title: "call of a workload",
        explanation: "\
A workload calls earlier ones only, with one value for each formal argument, so that calls always end. Repeat with `for`
or `while`.",
    },
    CodeInfo {
        code: Code(780),
        title: "label of a task",
        explanation: "\
Labels of a module made by hand stand in the order of their tasks, one each, and `after` names earlier ones.",
    },
    CodeInfo {
        code: Code(781),
        title: "entry of a workload file",
        explanation: "\
The workload named `main` runs, else the last; it takes no arguments, since nobody gives it any.",
    },
    CodeInfo {
        code: Code(782),
        title: "double statement of a schedule",
        explanation: "\
Each statement and each setting of `task_graph` stands once in a schedule, `pipeline_depth` once per scope, and
`task_window` is the same as `window` of `task_graph`. Write several schedules and choose with `--schedule NAME`.",
    },
    CodeInfo {
        code: Code(783),
        title: "thresholds",
        explanation: "\
`dispatch_threshold(metric, [t0, t1], [p0, p1, p2])` takes increasing thresholds and one policy more than thresholds.",
    },
    CodeInfo {
        code: Code(784),
        title: "count of a schedule",
        explanation: "\
Streams, gates, windows, batches and workers of a pool are at least 1, or nothing would ever run; some have a largest
value, which the message says.",
    },
    CodeInfo {
        code: Code(785),
        title: "static partition",
        explanation: "\
The parts of `static_partition([0..10, 10..20])` are half-open ranges of task numbers, one per worker, that begin at 0 and
join, so that every task has one worker.",
    },
    CodeInfo {
        code: Code(786),
        title: "statement without effect",
        explanation: "\
`stream_by` and `pipeline_depth(n, per_stream)` need `streams(n)`, `priority` needs `ready = priority`, and a level of
`dispatch_threshold` that is a pool (`vector`, `cube`, `any`) needs `pools = by_unit(v, c)`; without it they would be ignored.",
    },
    CodeInfo {
        code: Code(787),
        title: "`after` without effect",
        explanation: "\
Tasks are ordered by their data. `after` adds an order only with `deps = explicit` or `deps = hybrid`, which no schedule of
the file has. This is a warning.",
    },
    CodeInfo {
        code: Code(788),
        title: "handle of another module or workload",
        explanation: "\
A program that builds a module uses a tensor, parameter, kernel or the like of another module, or a loop's variable or a
label of another workload, or a kernel's parameter that does not exist. Handles are used where they were made.",
    },
    CodeInfo {
        code: Code(789),
        title: "use of a channel",
        explanation: "\
A channel belongs to one pipeline. In it one process sends to the channel and one consumes from it, so that the order of its
tokens does not depend on whose turn it is. Its depth is at least 1.",
    },
    CodeInfo {
        code: Code(790),
        title: "place of a pipeline, `send` or `consume`",
        explanation: "\
`send` and `consume` stand in a process of a pipeline, and a process holds no pipeline of its own, nor calls a workload that
has one. Inside the process they stand in no `for`, `while` or `sequential`: these are ordered scopes, which cannot stay open
while other processes go on. Write `parallel for`; the tasks of its iterations wait for each other by the slots that they use.",
    },
    CodeInfo {
        code: Code(791),
        title: "channel with one end",
        explanation: "\
Nothing sends to the channel, or nothing consumes from it. A process that consumes from a channel without sends waits for
ever; sends to a channel that is not consumed from wait once its slots are full.",
    },
];
