//! Diagnostic codes of the seam.

use wsp_diag::Code;

wsp_diag::codes! {
    pub(crate) NO_BACKEND = 1600, "no backend runs this",
        "\
A target is run by a backend. None of those that there are runs this target, or one does and cannot do all of the program; the
message has a line for each of them. `wsp run --target NAME` takes the targets that it lists.";
    pub(crate) BACKEND_EXISTS = 1601, "two backends have one name",
        "\
Backends are registered by name. Give the second one another name.";
    pub(crate) UNKNOWN_BACKEND = 1602, "the backend is not known",
        "\
No backend of this name is registered. The message lists those that are.";
    pub(crate) WRONG_ARGUMENT = 1604, "an argument that cannot be taken",
        "\
Scalars of task graphs are integers of 64 bits.";
    pub(crate) NOT_STARTED = 1605, "the run has no thread",
        "\
The system made no thread for a run that goes on while its caller does other things: wait for other runs first. Or the run was begun
by the process that this one was forked from: wait for it there.";
    /// What a program does not tell before a run, or does not have.
    pub NOT_LISTED = 1606, "the program has none of this",
        "\
Lists of tasks and their order are of programs whose tasks are known before they run, `.pto` programs and workloads; transfers are of workloads. What a task
graph (`.tg`) runs is known when it has run: virtual time lists it, and a list of its graphs has the nodes of its file.";
    pub(crate) NO_OUTCOME = 1607, "the outcome was taken",
        "\
A prepared program gives the outcome of a run once. Run it again first.";
    pub NO_FILES = 1608, "no files are written for the target",
        "\
`wsp emit FILE --target NAME -o FOLDER` writes a program as files for a target that runs elsewhere. The message lists the targets for which
some backend writes files, or says what of the program it cannot write. Of a task graph without a package, stage `graph` writes the C++ of
its graphs alone, which walks them on a device of your own. As a note: the target does something else than what is written, which
is at least as strong.";
    pub(crate) NOT_TAKEN = 1609, "a statement that a backend does not take",
        "\
A backend says which kinds of statements of workloads it takes; `wsp targets` lists what `cpu_sim` does with each. A workload with another one is
run by another backend of its target, if there is one.";
    pub(crate) TOO_MANY_THREADS = 1610, "more threads than a run has",
        "\
A run has at most 1024 threads (`wsp config` prints the limit). Ask for fewer, or for none: that is one per core of this machine.";
    pub KERNELS_UNSEEN = 1611, "kernels of a file were not looked at for the target",
        "\
A task graph uses kernels of `.pto` files. A check of the graph for another target compares its instructions with what the platform has; the
kernels are looked at by a check of their own file for that target, which takes the values of their parameters.";
    pub NOT_REPLAYED = 1612, "the order of starts is one of other tasks",
        "\
A run keeps to the order of starts of another one where both have the same tasks: the same program, arguments that make the same tasks,
and the same edges. Other tasks, kernels or edges are refused, before a task runs where they are known by then.";
    /// A checkpoint was saved that a run cannot be resumed from.
    pub CANNOT_RESUME = 1575, "a checkpoint that no run can be resumed from",
        "\
A checkpoint has the state of its graph, and of the run if nothing else is in flight: launches on other streams, or on other
devices, are not brought to a halt for it. Its graph can be restored from it with `TG_RESTORE`; `--resume` takes an older one, or
begins anew. Launch the graphs on one stream, or wait for the other launches before the checkpoint.";
    pub WRONG_RANK = 551, "an array has the wrong number of dimensions",
        "`PTO_SHAPE` declares how many dimensions a tensor has, and the array has more or fewer. A paged cache \
            always has four: [pages, page_size, heads, dim], or [pages, heads, page_size, dim] with `--set kv_layout=HND`.";
    pub WRONG_EXTENT = 552, "an array has the wrong extent",
        "A name that stands in several shapes has one value in all of them: the first array that names it \
            decides, and every other must agree. The note shows the array's shape beside the declared one.";
    pub WRONG_ARRAY = 863, "array does not fit what it is for",
        "\
An array of the launch has another element type or shape than the tensor or slot of that name, or it has the name of a
table and is not integers in one dimension. Extents of tensors follow from parameters: set them with `--set name=value`,
or pass another array.";
    /// An option of another kind of programs, or of another target.
    pub OPTION_OF_OTHERS = 882, "an option does not apply to this program",
        "\
The option belongs to another kind of program: `--generate` and `kv_layout` to `.pto` programs, `--devices` to task graphs; or to
another target: a design for an array (`xdna1`, `xdna2`) is interpreted on one thread, and takes neither `--threads` nor `--aicpus`; or
it asks for something that this run does not have: in virtual time (`trace = cycles`) no kernel runs, so there are no
outputs to write or to check; a task graph is made of parameters and tables, not of tensors; a file of kernels of which the unit calls
none adds nothing. An option that would have no effect is refused by its name, whatever the file. Leave it out.";
    pub READ_ONLY = 870, "array may only be read",
        "\
Tasks write a tensor that is bound to an array of the caller which must not be written, such as a NumPy array whose
`flags.writeable` is false. Pass an array that may be written, or a copy; or declare the kernels' parameters `in` if they
only read.";
    pub SHARED_MEMORY = 871, "arrays share memory that tasks write",
        "\
Tensors are bound to arrays of the caller where they lie, and tasks are ordered by the regions of tensors that they touch. So
memory that tasks write must belong to one tensor, and to one element of it: two tensors that share memory, or an array
whose elements share memory with each other (a stride of 0, a sliding window), would give results that depend on chance.
Arrays that interleave without sharing an element, such as the two halves of every row, are let through.
Pass a copy of one of the arrays, or declare one tensor and give kernels both parts of it.";
}

/// Two runs at the same time, one of which writes memory that the other uses.
pub const IN_USE: Code = Code(1268);
