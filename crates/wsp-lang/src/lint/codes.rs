//! Diagnostic codes of warnings, WSP0260-WSP0279.
pub(crate) use wsp_diag::UNUSED_ITEM;

wsp_diag::codes! {
    /// A variable of a function that is never read.
    pub(crate) UNUSED_VARIABLE = 260, "variable that is never read",
        "\
A variable of a function or an index of `PTO_SCHEDULED_FOR` is declared and its value is used nowhere. Assigning to it is no use, nor
is an assignment or a tile operation that reads it only to write it again: `x = x + 1;`, `TADD(t, t, u);`. Often another name
was meant in the place of this one. Remove it, or begin its name with `_` if it is meant to be unused.";
    /// A field of a descriptor that is set and that no kernel reads.
    pub(crate) UNUSED_FIELD = 262, "field that no kernel reads",
        "\
A generator sets a field of a descriptor and no kernel reads it. Each field costs 4 bytes per task, and a kernel that was to
use it does not. Read it, remove it, or write `[[maybe_unused]]` before its type where something else reads it, such as a
device or a listing of `wsp plan`. The field `tier` picks the kernel and is always used.";
    /// A kernel or space that no launch reaches.
    pub(crate) NEVER_LAUNCHED = 263, "kernel or space that is never launched",
        "\
Nothing that the host entry launches runs this kernel or space. A kernel runs when a generator emits the descriptor that it
takes, or when it is a tier of the set that an emitted descriptor picks from. A space runs when `PTO_LAUNCH` names it, or a
graph in which it is a stage. Where a workload or a task graph runs the kernels of the file, check that one: then nothing is
asked of the host entry.";
    /// A tile that is read before anything is in it.
    pub(crate) UNWRITTEN_TILE = 264, "tile that is read before anything is in it",
        "\
A tile is empty (0 valid rows) until an operation writes it, also in each pass of the loop that declares it. Here no path to
the operation has written it, so the operation works on nothing. In a loop the first pass counts: what the end of the body
writes is not there yet. Write `TLOAD` or `TASSIGN` before.";
    /// A tile that is stored and was never loaded or computed.
    pub(crate) UNWRITTEN_STORE = 265, "tile that is stored and was never loaded or computed",
        "\
`TSTORE` stores the valid part of a tile, and nothing has given this tile one: nothing is stored, and the tensor keeps what
it had. Perhaps another tile was meant. Write `TLOAD`, `TASSIGN` or the computation before.";
    /// A condition that is always true or always false.
    pub(crate) CONSTANT_CONDITION = 266, "condition that is always true or always false",
        "\
A condition has one value whatever the program works on: an unsigned number is never below 0, both sides are the same, the
two sides of `&&` exclude each other, or there is no variable in it. One of the two ways is never taken. Conditions over
named constants and over parameters of templates are choices that a program makes once, and are not reported; nor is
`while (true)`, which `break` may leave.";
    /// A loop that cannot end.
    pub(crate) ENDLESS_LOOP = 267, "loop without an end",
        "\
A loop has no condition, or one that what the loop changes leaves true, and no `break` or `return` leaves it: once entered, it
runs until the limit of steps or Ctrl-C stops the run. Change in the body what the condition reads, or leave the loop with
`break;`.";
    /// A tensor that no launched kernel writes.
    pub(crate) NEVER_WRITTEN = 268, "tensor that nothing writes",
        "\
No kernel that is launched stores to an output, or to a temporary tensor or workspace that kernels load. An output keeps what
it had before the launch; a temporary tensor or slot has no values of this launch. The kernel that stores to it is perhaps
never launched: see its warning.

Or tasks load from the slots of a `PTO_ALLOC_WS`, and those that store use other calls, whose slots it does not share: a merge that
is emitted outside of the `PTO_SCHEDULED_FOR` that fills its slots, another number of arguments, other loops around. Emit it inside, or
give it the offset that the tasks before it have.";
    /// A statement that no path reaches.
    pub(crate) UNREACHABLE = 269, "statement that is never reached",
        "\
A statement stands after `return`, `break` or `continue`, or after an `if` of which both branches leave, so that it never
runs. A store there does not count as one: its tensor is no output of the program. Remove the statement, or leave under a
condition only.";
}
