//! Diagnostic codes of binding, expansion and workload schedules.

wsp_diag::codes! {
    pub(super) UNKNOWN_NAME = 800, "a value is given for a name that the workload does not have",
        "`--set NAME=N` sets a `param` of the file, and `--input NAME=FILE.npy` binds an array to a `table`. \
            No declaration has this name, or it is one of the other kind.";
    pub(super) MISSING_VALUES = 801, "values are missing",
        "A `param` without a default must be set with `--set NAME=N`, and a `table` without elements must be \
            bound with `--input NAME=FILE.npy`. The message names all that have no value.";
    pub(super) WRONG_KIND = 802, "a parameter cannot take this value",
        "Parameters are 64-bit integers. A `let` is derived from parameters and cannot be set: set what it is \
            derived from, or declare it with `param`.";
    pub(super) TABLE_LENGTH = 803, "a table has the wrong number of elements",
        "A table has as many elements as `table NAME[n];` says. The lengths of a ragged axis have one element \
            per index of the outer axis, and the row pointer of a sparse axis one more.";
    pub(super) NEGATIVE_LENGTH = 804, "a length is negative",
        "The extent of a `dense_dyn` axis and the lengths of a ragged axis are 0 or more; 0 is an axis without \
            indices. Bounds of loops, on the other hand, may be negative: a loop whose end is not above its start is empty.";
    pub(super) ROW_POINTER = 805, "a table is no row pointer",
        "Row i of a sparse axis has the columns `indices[indptr[i]..indptr[i + 1]]`. So elements of `indptr` \
            never decrease, and lie between 0 and the number of elements of `indices`.";
    pub(super) TENSOR_EXTENT = 806, "the extent of a tensor is out of range",
        "Extents are 0 to 4294967295. They are computed from parameters when a workload is launched, so a \
            parameter may be negative or too large, or a subtraction the wrong way round.";
    pub(super) TENSOR_SIZE = 807, "a tensor is larger than memory can be",
        "The number of bytes of a tensor, the product of its extents and the size of an element, must fit into \
            a signed 64-bit integer.";
    pub(crate) CHANNEL_DEPTH = 808, "the depth of a channel is out of range",
        "The depth of a channel is the number of tokens that it holds, 0 to 4294967295. It follows from the \
            parameters of this launch.";
    pub(super) OVERFLOW = 810, "an integer overflows",
        "Expressions of workloads are 64-bit integers, and every operation is checked. The note shows the \
            operands and the indices of the loops around it.";
    pub(super) DIVISION_BY_ZERO = 811, "division by zero",
        "The right operand of `/`, `%` or `ceildiv` is 0. Guard the expression: `n != 0 ? a / n : 0` evaluates \
            only the branch that is taken.";
    pub(super) TABLE_INDEX = 812, "an index is outside its table",
        "A table `t` of n elements has the indices 0 to n - 1, and `len(t)` is n. Bind a longer array, or leave out \
            the access with an `if`.";
    pub(super) REGION_OUTSIDE = 813, "a region lies outside its tensor",
        "A task accesses `[lo, hi)` in each dimension, with 0 <= lo <= hi <= extent; a region with lo = hi is \
            empty and allowed. The message names dimension, bounds and extent, and the note the indices of the loops around \
            the task. Where the last tile is short, end it with `min(hi, extent)`.";
    pub(super) LOOP_STEP = 814, "the step of a loop is below 1",
        "`for i in lo..hi step s` counts upwards, so the step is at least 1. To count down, compute the index: \
            `hi - 1 - i`.";
    pub(super) WHILE_LIMIT = 815, "a `while` does not end",
        "The condition still holds after `max` rounds; without `max` the limit is that of `wsp config`. The \
            condition changes only when a task of the body writes a slot that it reads.";
    pub(super) AXIS_ROW = 816, "an axis has no such row",
        "`axis[i]` of a ragged axis is row i of its lengths, and of a sparse axis row i of its row pointer. The \
            index must be one of the outer axis: loop over that axis to have it.";
    pub(super) TOO_MANY_STEPS = 817, "the workload takes too many iterations",
        "Loops without tasks, or calls of calls, use more iterations than the limit of `wsp config`. That is \
            almost always a bound that is wrong by orders of magnitude.";
    pub(super) NO_WORKLOAD = 818, "there is no workload to run",
        "A file without a `workload` is a library of kernels, tensors and tables. What runs is the workload \
            named `main`, or the last one.";
    pub(super) NO_PLACE = 819, "a value cannot be used here",
        "Priorities are 32-bit integers. Slots have values only while tasks run, not when a launch is bound.";
    pub(super) DEADLOCK = 820, "no process of a pipeline can go on",
        "Every process that has not ended waits: to send to a channel whose slots are all in use, for a token that it \
            sent to a channel of depth 0 to be taken, or to consume from channels in which no token is left. The labels show where each waits, with the indices of its loops. A \
            stage that consumes two tokens before it frees one needs a channel of depth 2; two processes that consume from \
            each other need one that sends first; what is consumed must be sent as often.";
    pub(super) CLOSED = 821, "a channel is closed",
        "A process sends to a channel that it has closed, closes it again, or consumes once more than was sent before \
            the close. The labels show where, and where it was closed, with the indices of its loops. `consume all c as s { … }` takes \
            what there is and ends when the channel is closed.";
    pub(crate) LEFT_TOKENS = 822, "tokens are left in a channel",
        "With the values of this launch more tokens are sent to the channel than are consumed from it. What is left when all \
            processes have ended is dropped. This is a warning: consume as often as is sent, or take what there is with \
            `consume all c as s { … }`.";
    pub(super) UNKNOWN_SCHEDULE = 830, "the schedule asked for does not exist",
        "`--schedule NAME` chooses `schedule NAME { … }` of the file in place of the unnamed one.";
    pub(super) PARTITION = 831, "a static partition does not tile the tasks",
        "`static_partition([0..a, a..b, …])` gives worker i the tasks of range i in elaboration order, so the \
            ranges end where the tasks end. With a number of tasks that changes from launch to launch, use `round_robin` or \
            `affinity`.";
    pub(super) START_NOT_REACHED = 832, "a start threshold is not reached",
        "`start = threshold(n)` lets tasks start when n are generated. The workload generates fewer, so the end \
            of generation starts them.";
    pub(super) START_FORCED = 833, "a full window comes before the start",
        "`start = after_orchestration` and `threshold(n)` hold tasks back, and the window has room for fewer \
            than they wait for. A window that stalls then forces the start, as nothing could go on otherwise; one that \
            aborts ends the run.";
    pub(super) NUMBER_TOO_LARGE = 834, "pools have too many workers",
        "`pools = by_unit(v, c)` asks for v + c workers, and a run has at most as many as `wsp config` says.";
    pub(super) NO_BODY = 850, "kernel has no body",
        "\
A workload mixes kernels of a used file with kernels that are only declared: `kernel k(in a, out b);` says what a kernel
takes, not what it does. Write the kernel in the used `.pto` file.
A workload all of whose kernels are only declared can be run if that is asked for: each task then mixes what it reads into what
it writes. `wsp run` asks for it and says so in its summary; in Rust it is `WorkloadRunOptions::mixing`, and otherwise each kernel
needs a function in the `KernelRegistry`.";
    pub(super) UNKNOWN_KERNEL = 851, "unknown kernel",
        "\
A task calls a kernel that neither the file declares nor a used file defines, or a function was registered for a kernel
that the workload does not declare. Correct the name, or add `use \"file.pto\";` with the file that defines it.";
    pub(super) KERNEL_FIELDS = 852, "arguments do not fit the descriptor",
        "\
A task of a library kernel sets the fields of its descriptor, by name or in declared order: each exactly once, all with
integers. What the kernel reads and writes follows from its own loads and stores and is not passed.
The message lists the fields.";
    pub(super) BOTH_SIDES = 853, "name declared on both sides",
        "\
A workload file and a file that it uses give one name two meanings: a tensor of both, a `let` that has the name of a
parameter there, a parameter that is an integer here and a real number there, or one that has a default here and follows
from a shape or from others there, or kernels `on` other units. Remove one of the two declarations, or rename it, or write `param n;` to take the value
that the used file has: its kernels see the tensors and parameters of that file.";
}
