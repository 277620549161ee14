//! Lowering, schedules and capabilities: WSP0400-WSP0499.

use super::CodeInfo;
use crate::diag::Code;

/// The codes of this group.
pub(super) const CODES: &[CodeInfo] = &[
    CodeInfo {
        code: Code(400),
        title: "the target is not known",
        explanation: "A plan is made for one target, and no backend has this name. `wsp targets` lists those there are; \
            `cpu_sim` runs on this machine.",
    },
    CodeInfo {
        code: Code(401),
        title: "there is nothing to launch",
        explanation: "A file without a host entry is a library: it can be checked but not run. Add a function that holds one \
            `PTO_LAUNCH(Space, { .inner = parameter, … });`; its parameters are the arrays and scalars of a run.",
    },
    CodeInfo {
        code: Code(402),
        title: "a launched space has no generator",
        explanation: "Work is made by a generator: `PTO_DESCRIPTOR_GEN(Space) { … }` walks the space and emits a descriptor \
            per task. A space that is launched, or is a stage of a launched graph, needs one.",
    },
    CodeInfo {
        code: Code(403),
        title: "the schedule asked for does not exist",
        explanation: "`--schedule NAME` replaces the schedule that the source applies by another one of the same file. The \
            name is that of a `PTO_SCHEDULE(NAME) { … }`.",
    },
    CodeInfo {
        code: Code(404),
        title: "a schedule names an axis that the space does not have",
        explanation: "A schedule speaks of axes by name, and is applied to the space of the generator that applies it. Each \
            axis it names must be a `PTO_AXIS` of that space.",
    },
    CodeInfo {
        code: Code(405),
        title: "which schedule applies is not clear",
        explanation: "A generator applies at most one schedule, with `PTO_APPLY_SCHEDULE(name);` before its \
            PTO_SCHEDULED_FOR and not inside an `if` or a loop that the loop nest is not in: the nest is built before the \
            run. To choose between schedules, use `--schedule NAME`.",
    },
    CodeInfo {
        code: Code(406),
        title: "a schedule has no effect here",
        explanation: "Schedules order the items of a PTO_SCHEDULED_FOR that comes after PTO_APPLY_SCHEDULE. A generator \
            written with PTO_FOR_EACH or plain loops emits in the order of its loops. The same holds for `PTO_WHERE`: only \
            PTO_SCHEDULED_FOR leaves out the items it excludes.",
    },
    CodeInfo {
        code: Code(407),
        title: "the extent of a dynamic axis is not known",
        explanation: "PTO_SCHEDULED_FOR must know how far a PTO_DYNAMIC axis runs for each outer index. Say it in one of \
            these ways: begin the body with `if (index >= count) continue;`, where `count` depends on the other indices \
            only and nothing before it has an effect; or call `PTO_SET_EXTENT(axis, lengths);` or `PTO_SET_EXTENT(axis, n);` \
            before the loop. With one paged cache in the file, its lengths are taken when nothing is said.",
    },
    CodeInfo {
        code: Code(408),
        title: "extents of dynamic axes depend on each other",
        explanation: "The extent of one dynamic axis may depend on the index of another, but not both ways round: neither \
            loop could then be the outer one. Compute one of the extents without the other's index.",
    },
    CodeInfo {
        code: Code(409),
        title: "PTO_SET_EXTENT does not say one extent",
        explanation: "`PTO_SET_EXTENT(axis, …)` is given once per dynamic axis, before PTO_SCHEDULED_FOR and not inside an \
            `if` or a loop that the loop nest is not in. A choice goes into the value: `PTO_SET_EXTENT(axis, c ? a : b);`. \
            An array has one extent per index of the first axis, so the first axis itself takes a scalar. \
            `PTO_SET_EXTENT(axis, lengths, last)` counts the last elements only; where the axis has no tiles its index is the \
            element, from the start of the axis, and cannot begin there: write `PTO_TILE(axis, PTO_AUTO)` in the space.",
    },
    CodeInfo {
        code: Code(410),
        title: "PTO_SCHEDULED_FOR is left early",
        explanation: "The items of PTO_SCHEDULED_FOR come in the order of the schedule, so `return` in its body would make \
            the result depend on the schedule. Skip single items with `continue`; leave out more with PTO_WHERE \
            or a smaller extent.",
    },
    CodeInfo {
        code: Code(411),
        title: "a dependency names a tensor that its stage does not write",
        explanation: "`PTO_DEPENDENCY(reader.tensor, writer.tensor)`: edges between tasks follow from what kernels load and \
            store, and the statement is checked against it. No kernel of the second stage stores to the tensor.",
    },
    CodeInfo {
        code: Code(412),
        title: "a dependency names a tensor that its stage does not read",
        explanation: "`PTO_DEPENDENCY(reader.tensor, writer.tensor)`: edges between tasks follow from what kernels load and \
            store, and the statement is checked against it. No kernel of the first stage loads from the tensor.",
    },
    CodeInfo {
        code: Code(413),
        title: "a dependency points backwards",
        explanation: "Stages of a graph are elaborated in the order in which they are declared, and a task waits only for \
            tasks before it. Declare the stage that writes before the stage that reads.",
    },
    CodeInfo {
        code: Code(414),
        title: "a dependency joins two different tensors",
        explanation: "Both sides of `PTO_DEPENDENCY(reader.tensor, writer.tensor)` must be the same memory: one tensor, the \
            two halves of one cache, or two tensors bound to the same argument of the host entry. Otherwise nothing flows.",
    },
    CodeInfo {
        code: Code(415),
        title: "the target does not support this",
        explanation: "The capability table (docs/reference/schedules.md, or `wsp targets`) has one row per schedule \
            primitive. This one is refused by the target of the plan; remove it or choose another target.",
    },
    CodeInfo {
        code: Code(416),
        title: "the target ignores this",
        explanation: "The capability table (docs/reference/schedules.md, or `wsp targets`) has one row per schedule \
            primitive. This one is accepted by the target of the plan but changes nothing there.",
    },
    CodeInfo {
        code: Code(417),
        title: "a space has too many dynamic axes",
        explanation: "Each PTO_DYNAMIC axis whose extent depends on others adds loops that look for the largest extent, so a \
            space may have 8 of them. Join axes whose extents do not depend on each other, or bound some by a fixed end and \
            leave out items with PTO_WHERE.",
    },
    CodeInfo {
        code: Code(418),
        title: "one array with two ranks",
        explanation: "Tensors that `PTO_LAUNCH` binds to one argument of the host entry are one memory: what a kernel stores \
            to one, others read from the other. So they need shapes with as many dimensions. Give both the same \
            `PTO_SHAPE`, or let the entry take two arguments.",
    },
    CodeInfo {
        code: Code(419),
        title: "an axis cannot be split",
        explanation: "`PTO_SPLIT(axis, policy)` cuts an axis whose length is known when the launch is: it ends at             `PTO_DYNAMIC`, has `PTO_TILE(axis, PTO_AUTO)`, and its elements come from `PTO_SET_EXTENT` or from the lengths             of the only paged cache, not from a guard at the beginning of the body.",
    },
    CodeInfo {
        code: Code(420),
        title: "a split axis has no tile of its own",
        explanation: "`PTO_SPLIT(axis, policy)` decides what an item holds, so the generator does not set the tile, and under             `PTO_WHOLE` and `PTO_BALANCED` there is no tile size to be asked for. Take the bounds of an item from             `PTO_ITEM_BEGIN(axis)` and `PTO_ITEM_END(axis)`, the number of items from `PTO_ITEM_COUNT(axis)`.",
    },
    CodeInfo {
        code: Code(421),
        title: "a balanced split needs other axes of known extent",
        explanation: "`PTO_BALANCED` lays the elements of all indices of the other axes on one line and cuts it into equal             shares. Where an index lies on the line follows from the lengths and from the ends of the other axes, which             therefore cannot be `PTO_DYNAMIC`. Use `PTO_FIXED(n)`, or give the other axis an end.",
    },
    CodeInfo {
        code: Code(422),
        title: "there are no lengths to order by",
        explanation: "`PTO_ORDER(axis, PTO_LONGEST_FIRST)` issues the indices of the first axis of a space by falling number             of elements of its dynamic axis. It needs a length per index: those that `PTO_SET_EXTENT(axis, lengths)` gives             or those of the only paged cache.",
    },
];
