//! Warnings of `.pto` programs: 260 to 279.

use super::{Code, CodeInfo};

/// The codes of this group.
pub(super) const CODES: &[CodeInfo] = &[
    CodeInfo {
        code: Code(260),
        title: "variable that is never read",
        explanation: "\
A variable of a function or an index of `PTO_SCHEDULED_FOR` is declared and its value is used nowhere. Assigning to it is no use, nor
is an assignment or a tile operation that reads it only to write it again: `x = x + 1;`, `TADD(t, t, u);`. Often another name
was meant in the place of this one. Remove it, or begin its name with `_` if it is meant to be unused.",
    },
    CodeInfo {
        code: Code(261),
        title: "declaration that is never used",
        explanation: "\
A parameter, constant, array of the launch, tensor, workspace, struct or function of a program with a host entry is used by
no kernel, generator or other declaration. An array of the launch counts as used when a kernel or generator names it, or when
it is the only array that gives an extent which is used; that a reference names an output does not write it. A tensor that is only written is
reported too: `PTO_TENSOR` and `PTO_WORKSPACE` are gone after the launch. Remove the declaration, or begin its name with `_`.
Files that a program includes are not searched: what they declare may serve other programs. In a `.wsp` file, a tensor is
reported that no task of any workload is given.",
    },
    CodeInfo {
        code: Code(262),
        title: "field that no kernel reads",
        explanation: "\
A generator sets a field of a descriptor and no kernel reads it. Each field costs 4 bytes per task, and a kernel that was to
use it does not. Read it, remove it, or write `[[maybe_unused]]` before its type where something else reads it, such as a
device or a listing of `wsp plan`. The field `tier` picks the kernel and is always used.",
    },
    CodeInfo {
        code: Code(263),
        title: "kernel or space that is never launched",
        explanation: "\
Nothing that the host entry launches runs this kernel or space. A kernel runs when a generator emits the descriptor that it
takes, or when it is a tier of the set that an emitted descriptor picks from. A space runs when `PTO_LAUNCH` names it, or a
graph in which it is a stage. Where a workload or a task graph runs the kernels of the file, check that one: then nothing is
asked of the host entry.",
    },
    CodeInfo {
        code: Code(264),
        title: "tile that is read before anything is in it",
        explanation: "\
A tile is empty (0 valid rows) until an operation writes it, also in each pass of the loop that declares it. Here no path to
the operation has written it, so the operation works on nothing. In a loop the first pass counts: what the end of the body
writes is not there yet. Write `TLOAD` or `TASSIGN` before.",
    },
    CodeInfo {
        code: Code(265),
        title: "tile that is stored and was never loaded or computed",
        explanation: "\
`TSTORE` stores the valid part of a tile, and nothing has given this tile one: nothing is stored, and the tensor keeps what
it had. Perhaps another tile was meant. Write `TLOAD`, `TASSIGN` or the computation before.",
    },
    CodeInfo {
        code: Code(266),
        title: "condition that is always true or always false",
        explanation: "\
A condition has one value whatever the program works on: an unsigned number is never below 0, both sides are the same, the
two sides of `&&` exclude each other, or there is no variable in it. One of the two ways is never taken. Conditions over
named constants and over parameters of templates are choices that a program makes once, and are not reported; nor is
`while (true)`, which `break` may leave.",
    },
    CodeInfo {
        code: Code(267),
        title: "loop without an end",
        explanation: "\
A loop has no condition, or one that what the loop changes leaves true, and no `break` or `return` leaves it: once entered, it
runs until the limit of steps or Ctrl-C stops the run. Change in the body what the condition reads, or leave the loop with
`break;`.",
    },
    CodeInfo {
        code: Code(268),
        title: "tensor that nothing writes",
        explanation: "\
No kernel that is launched stores to an output, or to a temporary tensor or workspace that kernels load. An output keeps what
it had before the launch; a temporary tensor or slot has no values of this launch. The kernel that stores to it is perhaps
never launched: see its warning.

Or tasks load from the slots of a `PTO_ALLOC_WS`, and those that store use other calls, whose slots it does not share: a merge that
is emitted outside of the `PTO_SCHEDULED_FOR` that fills its slots, another number of arguments, other loops around. Emit it inside, or
give it the offset that the tasks before it have.",
    },
    CodeInfo {
        code: Code(269),
        title: "statement that is never reached",
        explanation: "\
A statement stands after `return`, `break` or `continue`, or after an `if` of which both branches leave, so that it never
runs. A store there does not count as one: its tensor is no output of the program. Remove the statement, or leave under a
condition only.",
    },
];
