//! Running task graphs: WSP0850-WSP0879.

use super::{Code, CodeInfo};

/// The codes of this group.
pub(super) const CODES: &[CodeInfo] = &[
    CodeInfo {
        code: Code(850),
        title: "kernel has no body",
        explanation: "\
A workload mixes kernels of a used file with kernels that are only declared: `kernel k(in a, out b);` says what a kernel
takes, not what it does. Write the kernel in the used `.pto` file, or register a function for it in Rust.
A workload all of whose kernels are only declared can be run: each task then mixes what it reads into what it writes.",
    },
    CodeInfo {
        code: Code(851),
        title: "unknown kernel",
        explanation: "\
A task calls a kernel that neither the file declares nor a used file defines.
Correct the name, or add `use \"file.pto\";` with the file that defines it.",
    },
    CodeInfo {
        code: Code(852),
        title: "arguments do not fit the descriptor",
        explanation: "\
A task of a library kernel sets the fields of its descriptor, by name or in declared order: each exactly once, all with
integers. What the kernel reads and writes follows from its own loads and stores and is not passed.
The message lists the fields.",
    },
    CodeInfo {
        code: Code(853),
        title: "name declared on both sides",
        explanation: "\
A workload file and a file that it uses declare a tensor of the same name. Remove one of the two declarations: kernels of
a used file see the tensors of that file.",
    },
    CodeInfo {
        code: Code(854),
        title: "task graph depends on computed values",
        explanation: "\
A condition reads a slot that tasks write, so that which tasks there are is known only while they run.
`wsp run` runs such a workload. A graph of it, explicit dependences and virtual time need tasks that are known before.",
    },
    CodeInfo {
        code: Code(855),
        title: "no memory for a tensor",
        explanation: "The extents of a tensor, as the launch gives them, need more memory than there is. Use smaller parameters.",
    },
    CodeInfo {
        code: Code(856),
        title: "task failed",
        explanation: "\
The body of a kernel returned an error. The message names the kernel, the indices of the loops around the task, and its
arguments. Tasks that had not started were dropped; the program can be run again.",
    },
    CodeInfo {
        code: Code(857),
        title: "kernel panicked",
        explanation: "\
The body of a kernel panicked. The message names the kernel, the indices of the loops around the task, and its arguments.
Tasks that had not started were dropped; the program can be run again.",
    },
    CodeInfo {
        code: Code(858),
        title: "no task can start",
        explanation: "\
Tasks are left, none runs and none is ready: they wait for each other, or for an event that nothing signals.
The notes say who waits for whom. Dependences found from data cannot do this; look at `after` and at events.",
    },
    CodeInfo {
        code: Code(859),
        title: "task window overflowed",
        explanation: "\
With `task_window(n, abort)` a run fails when more than `n` tasks are between submission and completion.
Use a larger window, or `stall`, with which generation waits.",
    },
    CodeInfo {
        code: Code(860),
        title: "dependences of the schedule miss a hazard",
        explanation: "\
Two tasks touch the same elements, one of them writes, and the dependences that the schedule asks for do not order them,
so that the result would depend on luck. `exact` sees equal boxes only: make the boxes equal or disjoint, or use
`deps = overlap`. `explicit` sees `after` only: add what is missing, or use `deps = hybrid`.",
    },
    CodeInfo {
        code: Code(861),
        title: "too many tasks",
        explanation: "\
The workload has more tasks than one graph or run can have. `wsp config` prints the limits. Use larger tiles, or smaller
parameters; `wsp run` keeps only a window of tasks and takes more than a stored graph.",
    },
    CodeInfo {
        code: Code(862),
        title: "value does not fit a descriptor field",
        explanation: "\
Fields of descriptors have 32 bits without sign: an argument of a library kernel must lie in 0..=4294967295.
The message shows the value and the indices of the task.",
    },
    CodeInfo {
        code: Code(863),
        title: "array does not fit its tensor",
        explanation: "\
An array of the launch has another element type or shape than the tensor of that name. Extents of tensors follow from
parameters: set them with `--set name=value`, or pass another array.",
    },
    CodeInfo {
        code: Code(864),
        title: "option cannot be used",
        explanation: "\
An option of the launch contradicts the schedule, or the machine cannot do it. The message says which range is allowed.",
    },
    CodeInfo {
        code: Code(865),
        title: "run was cancelled",
        explanation: "The run was interrupted. Tasks that were running have finished; the others were not started.",
    },
    CodeInfo {
        code: Code(866),
        title: "cost is no number of cycles",
        explanation: "\
The `cost` of a kernel gives a negative number for some task, or the costs together exceed 2^64 cycles.
Virtual time counts whole cycles from 0.",
    },
];
