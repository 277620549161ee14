//! Binding and expanding workloads, and applying their schedules: WSP0800-WSP0849.

use super::CodeInfo;
use crate::diag::Code;

/// The codes of this group.
pub(super) const CODES: &[CodeInfo] = &[
    CodeInfo {
        code: Code(800),
        title: "a value is given for a name that the workload does not have",
        explanation: "`--set NAME=N` sets a `param` of the file, and `--input NAME=FILE.npy` binds an array to a `table`. \
            No declaration has this name, or it is one of the other kind.",
    },
    CodeInfo {
        code: Code(801),
        title: "values are missing",
        explanation: "A `param` without a default must be set with `--set NAME=N`, and a `table` without elements must be \
            bound with `--input NAME=FILE.npy`. The message names all that have no value.",
    },
    CodeInfo {
        code: Code(802),
        title: "a parameter cannot take this value",
        explanation: "Parameters are 64-bit integers. A `let` is derived from parameters and cannot be set: set what it is \
            derived from, or declare it with `param`.",
    },
    CodeInfo {
        code: Code(803),
        title: "a table has the wrong number of elements",
        explanation: "A table has as many elements as `table NAME[n];` says. The lengths of a ragged axis have one element \
            per index of the outer axis, and the row pointer of a sparse axis one more.",
    },
    CodeInfo {
        code: Code(804),
        title: "a length is negative",
        explanation: "The extent of a `dense_dyn` axis and the lengths of a ragged axis are 0 or more; 0 is an axis without \
            indices. Bounds of loops, on the other hand, may be negative: a loop whose end is not above its start is empty.",
    },
    CodeInfo {
        code: Code(805),
        title: "a table is no row pointer",
        explanation: "Row i of a sparse axis has the columns `indices[indptr[i]..indptr[i + 1]]`. So elements of `indptr` \
            never decrease, and lie between 0 and the number of elements of `indices`.",
    },
    CodeInfo {
        code: Code(806),
        title: "the extent of a tensor is out of range",
        explanation: "Extents are 0 to 4294967295. They are computed from parameters when a workload is launched, so a \
            parameter may be negative or too large, or a subtraction the wrong way round.",
    },
    CodeInfo {
        code: Code(807),
        title: "a tensor is larger than memory can be",
        explanation: "The number of bytes of a tensor, the product of its extents and the size of an element, must fit into \
            a signed 64-bit integer.",
    },
    CodeInfo {
        code: Code(808),
        title: "a channel has no slots",
        explanation: "The depth of a channel is the number of tokens that it holds, 1 to 4294967295. It follows from the \
            parameters of this launch.",
    },
    CodeInfo {
        code: Code(810),
        title: "an integer overflows",
        explanation: "Expressions of workloads are 64-bit integers, and every operation is checked. The note shows the \
            operands and the indices of the loops around it.",
    },
    CodeInfo {
        code: Code(811),
        title: "division by zero",
        explanation: "The right operand of `/`, `%` or `ceildiv` is 0. Guard the expression: `n != 0 ? a / n : 0` evaluates \
            only the branch that is taken.",
    },
    CodeInfo {
        code: Code(812),
        title: "an index is outside its table",
        explanation: "A table of n elements has the indices 0 to n - 1. `len(table)` is n. Bind a longer array, or leave out \
            the access with an `if`.",
    },
    CodeInfo {
        code: Code(813),
        title: "a box lies outside its tensor",
        explanation: "A task accesses `[lo, hi)` in each dimension, with 0 <= lo <= hi <= extent; a box with lo = hi is \
            empty and allowed. The message names dimension, bounds and extent, and the note the indices of the loops around \
            the task. Where the last tile is short, end it with `min(hi, extent)`.",
    },
    CodeInfo {
        code: Code(814),
        title: "the step of a loop is below 1",
        explanation: "`for i in lo..hi step s` counts upwards, so the step is at least 1. To count down, compute the index: \
            `hi - 1 - i`.",
    },
    CodeInfo {
        code: Code(815),
        title: "a `while` does not end",
        explanation: "The condition still holds after `max` rounds; without `max` the limit is that of `wsp config`. The \
            condition changes only when a task of the body writes a slot that it reads.",
    },
    CodeInfo {
        code: Code(816),
        title: "an axis has no such row",
        explanation: "`axis[i]` of a ragged axis is row i of its lengths, and of a sparse axis row i of its row pointer. The \
            index must be one of the outer axis: loop over that axis to have it.",
    },
    CodeInfo {
        code: Code(817),
        title: "the workload takes too many iterations",
        explanation: "Loops without tasks, or calls of calls, use more iterations than the limit of `wsp config`. That is \
            almost always a bound that is wrong by orders of magnitude.",
    },
    CodeInfo {
        code: Code(818),
        title: "there is no workload to run",
        explanation: "A file without a `workload` is a library of kernels, tensors and tables. What runs is the workload \
            named `main`, or the last one.",
    },
    CodeInfo {
        code: Code(819),
        title: "a value cannot be used here",
        explanation: "Priorities are 32-bit integers. Slots have values only while tasks run, not when a launch is bound.",
    },
    CodeInfo {
        code: Code(820),
        title: "no process of a pipeline can go on",
        explanation: "Every process that has not ended waits: to send to a channel whose slots are all in use, or to consume \
            from a channel in which no token is left. The labels show where each waits, with the indices of its loops. A \
            stage that consumes two tokens before it frees one needs a channel of depth 2; two processes that consume from \
            each other need one that sends first; what is consumed must be sent as often.",
    },
    CodeInfo {
        code: Code(830),
        title: "the schedule asked for does not exist",
        explanation: "`--schedule NAME` chooses `schedule NAME { … }` of the file in place of the unnamed one.",
    },
    CodeInfo {
        code: Code(831),
        title: "a static partition does not tile the tasks",
        explanation: "`static_partition([0..a, a..b, …])` gives worker i the tasks of range i in elaboration order, so the \
            ranges end where the tasks end. With a number of tasks that changes from launch to launch, use `round_robin` or \
            `affinity`.",
    },
    CodeInfo {
        code: Code(832),
        title: "a start threshold is not reached",
        explanation: "`start = threshold(n)` lets tasks start when n are generated. The workload generates fewer, so the end \
            of generation starts them.",
    },
    CodeInfo {
        code: Code(833),
        title: "a full window comes before the start",
        explanation: "`start = after_orchestration` and `threshold(n)` hold tasks back, and the window has room for fewer \
            than they wait for. A window that stalls then forces the start, as nothing could go on otherwise; one that \
            aborts ends the run.",
    },
    CodeInfo {
        code: Code(834),
        title: "pools have too many workers",
        explanation: "`pools = by_unit(v, c)` asks for v + c workers, and a run has at most as many as `wsp config` says.",
    },
];
