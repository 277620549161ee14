//! Diagnostic codes of lowering.

wsp_diag::codes! {
    pub(crate) UNKNOWN_TARGET = 400, "the target is not known, or does not take the program",
        "A program is made for one target of a table. The table has no such name, or programs of this kind are neither \
            compiled for the target nor run by a backend. The message lists the targets that will do; `cpu_sim` runs on this machine.";
    pub(crate) NO_ENTRY = 401, "there is nothing to launch",
        "A file without a host entry is a library: it can be checked but not run. Add a function that holds one \
            `PTO_LAUNCH(Space, { .inner = parameter, … });`; its parameters are the arrays and scalars of a run.";
    pub(crate) NO_GENERATOR = 402, "a launched space has no generator",
        "Work is made by a generator: `PTO_DESCRIPTOR_GEN(Space) { … }` walks the space and emits a descriptor \
            per task. A space that is launched, or is a stage of a launched graph, needs one.";
    pub(crate) UNKNOWN_SCHEDULE = 403, "the schedule asked for does not exist",
        "`--schedule NAME` replaces the schedule that the source applies by another one of the same file. The \
            name is that of a `PTO_SCHEDULE(NAME) { … }`.";
    pub(crate) UNKNOWN_AXIS = 404, "a schedule names an axis that the space does not have",
        "A schedule speaks of axes by name, and is applied to the space of the generator that applies it. Each \
            axis it names must be a `PTO_AXIS` of that space.";
    pub(crate) SCHEDULE_UNCLEAR = 405, "which schedule applies is not clear",
        "A generator applies at most one schedule, with `PTO_APPLY_SCHEDULE(name);` before its \
            PTO_SCHEDULED_FOR and not inside an `if` or a loop that the loop nest is not in: the nest is built before the \
            run. To choose between schedules, use `--schedule NAME`.";
    pub(crate) SCHEDULE_UNUSED = 406, "a schedule has no effect here",
        "Schedules order the items of a PTO_SCHEDULED_FOR that comes after PTO_APPLY_SCHEDULE. A generator \
            written with PTO_FOR_EACH or plain loops emits in the order of its loops. The same holds for `PTO_WHERE`: only \
            PTO_SCHEDULED_FOR leaves out the items it excludes.";
    pub(crate) NO_EXTENT = 407, "the extent of a dynamic axis is not known",
        "PTO_SCHEDULED_FOR must know how far a PTO_DYNAMIC axis runs for each outer index. Say it in one of \
            these ways: begin the body with `if (index >= count) continue;`, where `count` depends on the other indices \
            only and nothing before it has an effect; or call `PTO_SET_EXTENT(axis, lengths);` or `PTO_SET_EXTENT(axis, n);` \
            before the loop. With one paged cache in the file, its lengths are taken when nothing is said.";
    pub(crate) EXTENT_CYCLE = 408, "extents of dynamic axes depend on each other",
        "The extent of one dynamic axis may depend on the index of another, but not both ways round: neither \
            loop could then be the outer one. Compute one of the extents without the other's index.";
    pub(crate) EXTENT_UNCLEAR = 409, "PTO_SET_EXTENT does not say one extent",
        "`PTO_SET_EXTENT(axis, …)` is given once per dynamic axis, before PTO_SCHEDULED_FOR and not inside an \
            `if` or a loop that the loop nest is not in. A choice goes into the value: `PTO_SET_EXTENT(axis, c ? a : b);`. \
            An array has one extent per index of the first axis, so the first axis itself takes a scalar. \
            `PTO_SET_EXTENT(axis, lengths, last)` counts the last elements only; where the axis has no tiles its index is the \
            element, from the start of the axis, and cannot begin there: write `PTO_TILE(axis, PTO_AUTO)` in the space.";
    pub(crate) LEAVES_SCHEDULED_FOR = 410, "PTO_SCHEDULED_FOR is left early",
        "The items of PTO_SCHEDULED_FOR come in the order of the schedule, so `return` in its body would make \
            the result depend on the schedule. Skip single items with `continue`; leave out more with PTO_WHERE \
            or a smaller extent.";
    pub(crate) DEPENDENCY_NOT_WRITTEN = 411, "a dependency names a tensor that its stage does not write",
        "`PTO_DEPENDENCY(reader.tensor, writer.tensor)`: edges between tasks follow from what kernels load and \
            store, and the statement is checked against it. No kernel of the second stage stores to the tensor.";
    pub(crate) DEPENDENCY_NOT_READ = 412, "a dependency names a tensor that its stage does not read",
        "`PTO_DEPENDENCY(reader.tensor, writer.tensor)`: edges between tasks follow from what kernels load and \
            store, and the statement is checked against it. No kernel of the first stage loads from the tensor.";
    pub(crate) DEPENDENCY_ORDER = 413, "a dependency points backwards",
        "Stages of a graph are elaborated in the order in which they are declared, and a task waits only for \
            tasks before it. Declare the stage that writes before the stage that reads.";
    pub(crate) DEPENDENCY_TENSORS = 414, "a dependency joins two different tensors",
        "Both sides of `PTO_DEPENDENCY(reader.tensor, writer.tensor)` must be the same memory: one tensor, the \
            two halves of one cache, or two tensors bound to the same argument of the host entry. Otherwise nothing flows.";
    pub(crate) NOT_SUPPORTED = 415, "the target does not support this",
        "The capability table (docs/reference/schedules.md, or `wsp targets`) has one row per schedule \
            primitive. This one is refused by the target of the plan; remove it or choose another target.";
    pub(crate) NO_EFFECT = 416, "the target ignores this",
        "The capability table (docs/reference/schedules.md, or `wsp targets`) has one row per schedule \
            primitive. This one is accepted by the target of the plan but changes nothing there.";
    pub(crate) TOO_MANY_DYNAMIC = 417, "a space has too many dynamic axes",
        "Each PTO_DYNAMIC axis whose extent depends on others adds loops that look for the largest extent, so a \
            space may have 8 of them. Join axes whose extents do not depend on each other, or bound some by a fixed end and \
            leave out items with PTO_WHERE.";
    pub(crate) ALIAS_RANKS = 418, "one array with two ranks",
        "Tensors that `PTO_LAUNCH` binds to one argument of the host entry are one memory: what a kernel stores \
            to one, others read from the other. So they need shapes with as many dimensions. Give both the same \
            `PTO_SHAPE`, or let the entry take two arguments.";
    pub(crate) SPLIT_AXIS = 419, "an axis cannot be split",
        "`PTO_SPLIT(axis, policy)` cuts an axis whose length is known when the launch is: it ends at `PTO_DYNAMIC`, has `PTO_TILE(axis, PTO_AUTO)`, and its elements come from `PTO_SET_EXTENT` or from the lengths of the only paged cache, not from a guard at the beginning of the body.";
    pub(crate) SPLIT_TILE = 420, "a split axis has no tile of its own",
        "`PTO_SPLIT(axis, policy)` decides what an item holds, so the generator does not set the tile, and under `PTO_WHOLE` and `PTO_BALANCED` there is no tile size to be asked for. Take the bounds of an item from `PTO_ITEM_BEGIN(axis)` and `PTO_ITEM_END(axis)`, the number of items from `PTO_ITEM_COUNT(axis)`.";
    pub(crate) SPLIT_OTHERS = 421, "a balanced split needs other axes of known extent",
        "`PTO_BALANCED` lays the elements of all indices of the other axes on one line and cuts it into equal shares. Where an index lies on the line follows from the lengths and from the ends of the other axes, which therefore cannot be `PTO_DYNAMIC`. Use `PTO_FIXED(n)`, or give the other axis an end.";
    pub(crate) ORDER_LENGTHS = 422, "there are no lengths to order by",
        "`PTO_ORDER(axis, PTO_LONGEST_FIRST)` issues the indices of the first axis of a space by falling number of elements of its dynamic axis. It needs a length per index: those that `PTO_SET_EXTENT(axis, lengths)` gives or those of the only paged cache.";
    pub(crate) IDLE_POOL = 423, "workers of a pool have nothing to run",
        "Pools give each unit its workers: those of the vector units take tasks `on vector`, those of the cube units tasks \
            `on cube`, and both take tasks that are for any unit. Where no kernel is for a unit or for any, its workers are \
            idle for the whole run.";
}
