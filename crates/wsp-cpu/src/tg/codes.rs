//! Codes of the diagnostics that sessions report.

use wsp_diag::Code;

wsp_diag::codes! {
    pub(crate) UNKNOWN_ENTRY = 1540, "no kernel has this entry symbol",
        "\
`TG_KERNEL` names its function by an entry symbol. It is looked up among the entries of the `.pto` files that the unit uses
and among registered functions. Check the spelling, add `use \"FILE.pto\"`, or register the function.";
    pub(crate) KERNEL_EXISTS = 1541, "two kernels with one entry symbol",
        "\
An entry symbol names one kernel. Two used files, or a file and a registered function, have the same. Rename one, or replace
the first on purpose.";
    pub(crate) KERNEL_FAILED = 1542, "a kernel failed",
        "\
A block of a kernel reported a fault or stopped. The rest of the launch is cancelled; blocks that were running have ended.
Tensors that the graph writes are in an undefined state. The notes name kernel, block and iteration.";
    pub(crate) KERNEL_PANICKED = 1543, "a kernel panicked",
        "\
A registered function panicked. The panic was caught, the rest of the launch is cancelled, and the session can be used
further. Return an error instead.";
    pub(crate) OUT_OF_MEMORY = 1544, "out of memory",
        "\
An allocation does not fit the memory of the device. The notes say how much is asked for, in use and there, and who holds
most. Graph allocations exist once for each launch that is in flight: sync before the next launch, release tensors with
`MC_FREE`, or raise the capacity (`--memory`).";
    pub(crate) UNKNOWN_SIZE = 1545, "the size of an external tensor is not known",
        "\
An external tensor gets its size from its declaration, `extern NAME: f16[1024, 128]`, or from the array that is given for it.
Do one of both.";
    pub(crate) BAD_INPUT = 1546, "an input does not fit its tensor",
        "\
An array that is given for an external tensor has another element type or shape than its declaration, is too small for what
kernels are bound to, or no tensor of this name exists. Or a tensor is not given that is read before anything can have written all that is
read.";
    pub(crate) BAD_ARGUMENT = 1547, "a scalar has no value, or one that does not fit",
        "\
A declared `arg` or `host` scalar without a default must be given (`--set NAME=VALUE`), and its value must fit its type. Names
that are not declared are refused.";
    pub(crate) BAD_BINDING = 1548, "a binding leads outside its tensor",
        "\
Offset and size of a binding may depend on loop variables, on the iteration and on scalars of the launch. For these values
the bytes do not lie in the tensor, or a table of tensors has no such entry, or the bytes of the arguments of a kernel do not fit each other: its
extents follow from them. The notes have the numbers. Bytes that are known before the run are compared by `wsp check`.";
    pub(crate) BAD_EXPRESSION = 1549, "an expression has no value",
        "\
While a graph or the host program ran, an expression overflowed 64 bits, divided by zero, or read outside of a tensor.";
    pub(crate) UNKNOWN_NAME = 1550, "no graph, tensor, stream or event has this name",
        "\
What a session is asked for by name must exist in its unit.";
    pub(crate) STALE_STREAM = 1552, "the stream does not exist any more",
        "\
A handle of a stream that was destroyed, or of another session, was used. Create a stream, or use the default stream.";
    pub(crate) RELEASED = 1553, "a tensor was released",
        "\
After `MC_FREE` a tensor has no memory: it cannot be used, and cannot be released again. Allocate it again first.";
    pub(crate) STILL_IN_USE = 1554, "a tensor is still in use",
        "\
`MC_FREE` outside of graphs, and access to a tensor from outside, need that no launch is in flight which uses the tensor. Put a
`TG_SYNC` before it.";
    pub(crate) STUCK = 1555, "nothing can run any more",
        "\
Launches are not complete, and no kernel runs or can start: they wait for events that are never signalled, for notifications that
are never sent, or for each other. The notes name what waits for what. Signals of external events are given with `--event`.";
    pub(crate) TOO_MANY_ROUNDS = 1556, "too many rounds of a loop",
        "\
A `CF_WHILE` went on longer than `max_iterations` allows: its condition did not become 0. Look at the kernel that writes the
condition, or raise the bound.";
    pub(crate) NO_STORE = 1557, "no place for checkpoints",
        "\
The unit has `TG_CHECKPOINT` or `TG_RESTORE`, and the run has no place to keep checkpoints. Name a folder (`--checkpoints DIR`).";
    pub(crate) BAD_CHECKPOINT = 1559, "a checkpoint cannot be read",
        "\
The record is cut short, its checksum is wrong, it is no checkpoint at all, or another version of the program wrote it, in another
layout. Records are replaced in one step, so a run that is killed does not leave such a record behind; the file was changed or
damaged. A run is resumed from an older checkpoint if there is one. If there is none, leave out `--resume`: the run begins anew.";
    pub(crate) OTHER_CHECKPOINT = 1560, "a checkpoint of something else",
        "\
A checkpoint continues the run that saved it: the same unit, the same code and parameters of its kernels, the same values of
scalars, the same contents of inputs, as many devices. The notes say what differs, what it was, and what it is. Threads, cores,
`--hints`, `--memory`, `--trace`, outputs and signals of events may differ. A run that checks, or has `--strict`, records what tasks
store, and goes on only from a checkpoint of a run that recorded it too: not from one of a run with `--no-check`. To begin anew, leave out `--resume`.";
    pub(crate) STORE_FAILED = 1561, "a checkpoint cannot be saved or loaded",
        "\
The place for checkpoints refused a record. The notes have its reason.";
    pub(crate) SERIALISED = 1562, "launches of a graph run one after another",
        "\
Two launches of a graph on different streams would write the same tensors: those of the unit or external ones, or there is
memory for one launch only. They run one after another. To make them overlap, allocate the tensors in the graph.";
    pub(crate) EVERY_GRAPH = 1563, "every graph is launched once",
        "\
The unit launches no graph: it has no `TG_LAUNCH` and no `TG_INVOKE`. A run launches each graph once, in order, and waits for
it.";
    pub(crate) BAD_OPTION = 1564, "a setting of a run does not fit",
        "\
Threads, devices, cores or memory of a run are out of their bounds, or do not fit the unit.";
    pub(crate) CANCELLED = 1565, "the run was cancelled",
        "\
The run was stopped from outside. Blocks that were running have ended; nothing else was started.";
    pub(crate) REFUSED_LAUNCH = 1566, "a launch is refused",
        "\
The runtime cannot run the graph as it is: kernels that start together need more cores than there are, or a partition lacks
cores for a kernel. The notes have the numbers.";
    pub(crate) PASSED_OVER = 1576, "a checkpoint was passed over",
        "\
A run was resumed, and a checkpoint that may be newer than the one it went on from cannot be used: it cannot be read, or other
launches were in flight when it was saved. The run repeats what it did after the older checkpoint, with the same result.";
}
/// Found by the checker of units: pairs of kernels that a run compares.
pub(crate) const NEVER_LAUNCHED: Code = Code(1551);
pub(crate) const NO_CHECKPOINT: Code = Code(1558);
pub(crate) const LEFT_OPEN: Code = Code(1522);
