//! Diagnostic codes of running workloads.

use wsp_diag::Code;

wsp_diag::codes! {
    pub(crate) SLOT_IN_GRAPH = 854, "task graph depends on computed values",
        "\
A condition reads a slot that tasks write, so that which tasks there are is known only while they run.
`wsp run` runs such a workload. A graph of it, explicit dependences and virtual time need tasks that are known before.
Kernels of a used file cannot write slots: with them a condition takes a parameter instead.";
    pub(crate) NO_MEMORY = 855, "no memory for a tensor",
        "The extents of a tensor, as the launch gives them, need more memory than there is. Use smaller parameters.";
    pub(crate) TASK_FAILED = 856, "task failed",
        "\
The body of a kernel returned an error. The message names the kernel, the indices of the loops around the task, and its
arguments. Tasks that had not started were dropped; the program can be run again.";
    pub(crate) TASK_PANICKED = 857, "kernel panicked",
        "\
The body of a kernel panicked. The message names the kernel, the indices of the loops around the task, and its arguments.
Tasks that had not started were dropped; the program can be run again.";
    pub(crate) WINDOW_OVERFLOW = 859, "task window overflowed",
        "\
With `task_window(n, abort)` a run fails when more than `n` tasks are between submission and completion. Of several AICPUs
each has its share of `n`. Use a larger window, or `stall`, with which generation waits.";
    pub(crate) MISSED_HAZARD = 860, "dependences of the schedule miss a hazard",
        "\
Two tasks touch the same elements, one of them writes, and the dependences that the schedule asks for do not order them,
so that the result would depend on luck. `exact` sees equal regions only: make the regions equal or disjoint, or use
`deps = overlap`. `explicit` sees `after`, ordered loops and streams only: add what is missing, or use `deps = hybrid`.";
    pub(crate) TOO_MANY_TASKS = 861, "too many tasks",
        "\
The workload has more tasks than one graph or run can have. `wsp config` prints the limits. Use larger tiles, or smaller
parameters; `wsp run` keeps only a window of tasks and takes more than a stored graph.";
    pub(crate) FIELD_VALUE = 862, "value does not fit a descriptor field",
        "\
Fields of descriptors have 32 bits without sign: an argument of a library kernel must lie in 0..=4294967295.
The message shows the value and the indices of the task.";
    pub(crate) BAD_OPTION = 864, "option cannot be used",
        "\
An option of the launch contradicts the schedule or another option, has no meaning for what is asked, or is out of the
range that the message names; or the machine has no more threads to give.";
    pub(crate) PROGRAM_REFUSED = 867, "AICPUs do not take the program",
        "\
The program of a workload is correct, but it or its launch asks for something that the AICPUs of this target do not have, or
generating its tasks went wrong in a way that only AICPUs notice. The message says what. Without `--aicpus` the host
generates the tasks, and says more of what is wrong with values that tasks compute.";
    pub(crate) VIEW_KERNEL = 872, "a kernel over views cannot be used",
        "\
A kernel over views of its tasks' regions does not fit its own description or the kernel that the workload declares: another
number of views, dimensions or descriptor words, a scalar that is not there, or a store to a parameter that is declared
`in`. The message has the numbers of both.";
    pub(crate) VIEW_ARGUMENT = 873, "a task does not fit its kernel",
        "\
A kernel over views was compiled for regions of certain extents and element types, and for scalars of 32 bits without a sign.
A task gives it something else. The message has the value, and what the kernel takes; the notes say which task it is.";
    pub(crate) NO_UNIT = 874, "a workload has no form as a task graph",
        "\
Kernels of task graphs take ranges of bytes of tensors and nothing else. A workload becomes a unit of task graphs where its kernels are declared
with tensors alone, no task takes a slot, and the elements of each region lie together in memory. `wsp run` runs the workload as it is.";
}
pub(crate) const NO_BODY: Code = Code(850);
pub(crate) const UNKNOWN_KERNEL: Code = Code(851);
pub(crate) const PARTITION: Code = Code(831);
pub(crate) const START_FORCED: Code = Code(833);
