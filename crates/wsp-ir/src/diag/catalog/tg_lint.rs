//! Task graphs: findings of the checker, 1500 to 1524 and 1529; platforms, 1525 to 1528.

use super::CodeInfo;
use crate::diag::Code;

/// The codes of this group.
pub(super) const CODES: &[CodeInfo] = &[
    CodeInfo {
        code: Code(1500),
        title: "something waits for itself",
        explanation: "\
Edges, barriers, events, gangs and decisions on data form a circle: no kernel in it can ever start. The circle is printed whole, each of its
links as a place. Remove one link; what is to follow in a next round stands in a CF_LOOP or is launched again.",
    },
    CodeInfo {
        code: Code(1501),
        title: "two kernels use the same bytes in no order",
        explanation: "\
One of the two writes, and no edge, barrier, event or condition says who comes first: the result depends on time. Add the edge of the
help. Bytes are compared as bound: kernels on parts of one tensor that do not overlap need no edge. Kernels under conditions that exclude each other
do not meet; that two may run which both have conditions is a warning, and a run stops where it starts both. Of two kernels of which
nothing says what they do with the tensor, the first is taken to write what nobody wrote before.",
    },
    CodeInfo {
        code: Code(1502),
        title: "ordered, but not visible",
        explanation: "\
`AFTER` orders two kernels and makes nothing visible: on a device the second may read what was in memory before. A `DATA` edge for the tensor, a
fence between the two in program order, a barrier or an event makes it visible. A simulation on a CPU does not show the
difference.",
    },
    CodeInfo {
        code: Code(1503),
        title: "a DATA edge is missing",
        explanation: "\
A kernel reads what another wrote; the two are ordered, but only by edges for other tensors or through other kernels, so the write is not
surely visible. Add the edge of the help.",
    },
    CodeInfo {
        code: Code(1504),
        title: "never used",
        explanation: "\
The unit allocates memory, signals an event, sets cores apart or defines a graph that nothing uses. Remove it, or use it.",
    },
    CodeInfo {
        code: Code(1505),
        title: "written and never read",
        explanation: "\
Nothing reads what kernels write to this memory, and when the unit ends it is gone. If it is a result, declare the tensor as external.",
    },
    CodeInfo {
        code: Code(1506),
        title: "an argument is missing, or one too many",
        explanation: "\
The kernel's signature has more arguments than are bound, or fewer. Bind each argument once, from 0 on.",
    },
    CodeInfo {
        code: Code(1507),
        title: "too few bytes",
        explanation: "\
A binding or a workspace has fewer bytes than the kernel's signature needs.",
    },
    CodeInfo {
        code: Code(1508),
        title: "a direction is not known",
        explanation: "\
Nobody says whether the kernel reads or writes the argument: the binding has no direction, and the kernel has no signature. It is taken as
reading and writing when the graph runs. Name the file of the kernels with `use`, or give MC_BIND a direction.",
    },
    CodeInfo {
        code: Code(1509),
        title: "an edge that carries nothing",
        explanation: "\
The first kernel of a `DATA` edge does not write the tensor. Name the tensor that the second needs from it.",
    },
    CodeInfo {
        code: Code(1510),
        title: "an edge that changes nothing",
        explanation: "\
A `SOFT` edge is a hint that two kernels share data; beside another edge between the same kernels it says nothing more.",
    },
    CodeInfo {
        code: Code(1511),
        title: "a gang is too large",
        explanation: "\
All blocks of all members of a gang run at the same time, so there must be cores for all of them: AIC blocks take a cube core, AIV
blocks a vector core, AIC_AIV blocks one cube core and its vector cores.",
    },
    CodeInfo {
        code: Code(1512),
        title: "a request is too large",
        explanation: "\
A kernel asks for more cores than the device, or its partition, has.",
    },
    CodeInfo {
        code: Code(1513),
        title: "requests that do not fit together",
        explanation: "\
Kernels that may run at the same time ask for more cores than there are. They run, and take turns.",
    },
    CodeInfo {
        code: Code(1514),
        title: "a barrier with kernels in between",
        explanation: "\
TG_DEPEND(A, B, BARRIER) orders every kernel up to A before every kernel from B on. Kernels defined between A and B are on neither side.",
    },
    CodeInfo {
        code: Code(1515),
        title: "a launch that waits for ever",
        explanation: "\
A graph waits for an event that only graphs signal which are launched later: after the host has waited for the first, or behind it on the same
stream, or never.",
    },
    CodeInfo {
        code: Code(1516),
        title: "a loop that never runs",
        explanation: "\
The count or the condition of the loop is 0.",
    },
    CodeInfo {
        code: Code(1517),
        title: "a condition that never changes",
        explanation: "\
The condition is a constant, or a CF_WHILE reads what nothing in the loop writes: it runs not at all or until its `max_iterations`.",
    },
    CodeInfo {
        code: Code(1518),
        title: "a binding contradicts the kernel",
        explanation: "\
The direction of a binding, or the type or the shape of an external tensor, is not what the kernel's signature says. The signature is right: it comes
from the kernel. Shapes are compared where both have as many dimensions, without the first, which says how many rows there are.
In Python another direction or type is an error: a function would see the bytes as elements of another type.",
    },
    CodeInfo {
        code: Code(1519),
        title: "not everything was checked, or shown",
        explanation: "\
Kernels of a graph are compared pair by pair, up to some number of steps: a unit in which very many kernels touch the same bytes is not compared
to the end. Not compared are also bytes that several devices share where neither `device` keeps them apart nor a notification orders them,
more than 16384 pairs of kernels of a graph whose bytes are known only when it runs, and what the host releases or restores where it has too many ways
or launches. What is not compared at all is a warning; pairs of kernels
that every run compares are a note. Launches on different streams that cannot be compared here are compared by every run (WSP1522). Of more than
1000 findings the rest is counted, and as grave as the gravest of them.",
    },
    CodeInfo {
        code: Code(1520),
        title: "a partition outside of the device",
        explanation: "\
CA_PARTITION names cores by number, from 0 on; the last of them must be one that the device has. `wsp check --target` checks for a platform,
`wsp run --cores` for the device that is simulated.",
    },
    CodeInfo {
        code: Code(1521),
        title: "launches use the same bytes in no order",
        explanation: "\
Launches on one stream run one after another. Launches on different streams, or on different devices that share a tensor, run at the same time
unless the host waits for the first with TG_SYNC before it submits the second, or an event or a notification orders the kernels. Two of them touch
the same bytes and one writes, or the host releases a tensor that a launch in flight may use: the result depends on time. Where both are launches
of one graph that writes tensors which are not its own, a simulation runs them one after another, and the finding is a warning. What `wsp check`
cannot compare a run does: before the second launch begins, where its bytes are known by then, else before its kernel starts. It says which kernels
of which launches on which streams meet, and where.",
    },
    CodeInfo {
        code: Code(1522),
        title: "known only when the graph runs",
        explanation: "\
The bytes that two kernels touch depend on declared scalars, the iteration, the device or values in memory, and nothing orders the two, or nothing
makes what the first wrote visible to the second; or a SY_WAIT orders them, and its kernel may be skipped: then it waits for nothing. `wsp check`
cannot compare the bytes; every launch compares them as soon as they are known, and stops when they overlap. The two may be of one graph, or of launches on different streams; where the host makes very many launches on several
streams, or has more than 64 ways through its conditions, a run compares all of them.",
    },
    CodeInfo {
        code: Code(1523),
        title: "read and never written",
        explanation: "\
Kernels, copies or conditions read memory that the unit allocates and that nothing writes. On a device it holds whatever was there before.",
    },
    CodeInfo {
        code: Code(1524),
        title: "a binding at a misaligned byte",
        explanation: "\
The first byte of a binding is not a multiple of the size of the elements that the kernel takes there. A device refuses such an address or reads
other bytes.",
    },
    CodeInfo {
        code: Code(1525),
        title: "the platform does not have this instruction",
        explanation: "\
The platform matrix (`wsp targets --matrix`) says No. Choose another platform, or do what the help says.",
    },
    CodeInfo {
        code: Code(1526),
        title: "no effect on this platform",
        explanation: "\
The platform matrix says N/A: the instruction is accepted and does nothing there. One unit can so be written for all platforms.",
    },
    CodeInfo {
        code: Code(1527),
        title: "a hint on this platform",
        explanation: "\
The platform matrix says Hint: the instruction is recorded and may be ignored.",
    },
    CodeInfo {
        code: Code(1528),
        title: "something stronger on this platform",
        explanation: "\
The platform matrix says Partial: what the platform lacks is replaced by something that does the same and more.",
    },
    CodeInfo {
        code: Code(1529),
        title: "a number is read as another type",
        explanation: "\
A condition, a count or an iteration loads a number of a type that the elements of the tensor do not have: other bytes are read than one element, or they
mean something else. `load(T)`, and `T` alone, have the type of the tensor's declaration. Real numbers are no scalars: a kernel has to write an integer.",
    },
];
