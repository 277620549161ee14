//! Codes of the findings.

wsp_diag::codes! {
    pub(super) CYCLE = 1500, "something waits for itself",
        "\
Edges, barriers, events, gangs and decisions on data form a cycle: no kernel in it can ever start. The cycle is printed whole, each of its
links as a place. Remove one link; what is to follow in a next round stands in a CF_LOOP or is launched again. A wait for an event of an earlier launch
of the same graph has a TG_DEPEND from the kernel that waits to the one that signals.";
    pub(super) RACE = 1501, "two kernels use the same bytes in no order",
        "\
One of the two writes, and no edge, barrier, event or condition says who comes first: the result depends on time. Add the edge of the
help. Bytes are compared as bound: kernels on parts of one tensor that do not overlap need no edge. Kernels under conditions that exclude each other
do not meet; that two may run which both have conditions is a warning, and a run stops where it starts both. Of two kernels of which
nothing says what they do with the tensor, the first is taken to write what nothing wrote before.";
    pub(super) NOT_VISIBLE = 1502, "ordered, but not visible",
        "\
`AFTER` orders two kernels and makes nothing visible: on a device the second may read what was in memory before. A `DATA` edge for the tensor, a
fence between the two in program order, a barrier or an event makes it visible. A simulation on a CPU does not show the
difference.";
    pub(super) NO_DATA_EDGE = 1503, "a DATA edge is missing",
        "\
A kernel reads what another wrote; the two are ordered, but only by edges for other tensors or through other kernels, so the write is not
surely visible. Add the edge of the help.";
    pub(super) NEVER_USED = 1504, "never used",
        "\
The unit allocates memory, signals an event, sends a notification, sets cores apart or defines a graph that nothing uses, or notifies a device that
does not exist. Remove it, or use it.";
    pub(super) NEVER_READ = 1505, "written and never read",
        "\
Nothing reads what kernels write to this memory, and when the unit ends it is gone. If it is a result, declare the tensor as external.";
    pub(super) ARGUMENT = 1506, "an argument is missing, or one too many",
        "\
The kernel's signature has more arguments than are bound, or fewer. Bind each argument once, from 0 on.";
    pub(super) TOO_SMALL = 1507, "too few bytes",
        "\
A binding or a workspace has fewer bytes than the kernel's signature needs.";
    pub(super) UNKNOWN_DIRECTION = 1508, "a direction is not known",
        "\
Nobody says whether the kernel reads or writes the argument: the binding has no direction, and the kernel has no signature. It is taken as
reading and writing when the graph runs. Name the file of the kernels with `use`, or give MC_BIND a direction.";
    pub(super) WRONG_EDGE = 1509, "an edge that carries nothing",
        "\
The first kernel of a `DATA` edge does not write the tensor. Name the tensor that the second needs from it.";
    pub(super) REDUNDANT = 1510, "an edge that changes nothing",
        "\
A `SOFT` edge is a hint that two kernels share data; beside another edge between the same kernels it says nothing more.";
    pub(super) GANG = 1511, "a gang is too large",
        "\
All blocks of all members of a gang run at the same time, so there must be cores for all of them: AIC blocks take a cube core, AIV
blocks a vector core, AIC_AIV blocks one cube core and its vector cores.";
    pub(super) CAPACITY = 1512, "a request is too large",
        "\
A kernel asks for more cores than the device, or its partition, has.";
    pub(super) SHARED_CORES = 1513, "requests that do not fit together",
        "\
Kernels that may run at the same time ask for more cores than there are. They run, and take turns.";
    pub(super) UNORDERED_BY_BARRIER = 1514, "a barrier with kernels in between",
        "\
TG_DEPEND(A, B, BARRIER) orders every kernel up to A before every kernel from B on. Kernels defined between A and B are on neither side.";
    pub(super) NEVER_HAPPENS = 1515, "a launch that waits for ever",
        "\
A graph waits for an event that only launches signal which come later: after the host has waited for the first, by TG_SYNC or by what it loads, or behind
it on the same stream, or by other events behind it, or never; so do launches that wait for each other's events. Or a device waits for more notifications than another sends, or devices wait for each other,
each before it sends: each notification lets one wait through. Or gangs of one graph, in arms that may run together, wait for each other. An error if it is so whichever way the conditions and loops of the host go, on one device at
least; a note if conditions and loops of the host decide, or those of a graph around a kernel or a gang that waits.";
    pub(super) NEVER_RUNS = 1516, "a loop that never runs",
        "\
The count or the condition of the loop is 0.";
    pub(super) NEVER_CHANGES = 1517, "a condition that never changes",
        "\
The condition is a constant, or a CF_WHILE reads what nothing in the loop writes: it runs not at all or until its `max_iterations`.";
    pub(super) CONTRADICTION = 1518, "a binding contradicts the kernel",
        "\
The direction of a binding, or the type or the shape of an external tensor, is not what the kernel's signature says. The signature is right: it comes
from the kernel. Another type is an error: the kernel would read the bytes as other numbers. Shapes are compared where both have as many dimensions,
without the first, which says how many rows there are. In Python another direction is an error too.";
    pub(super) NOT_ALL = 1519, "not everything was checked, or shown",
        "\
Kernels of a graph are compared pair by pair, up to some number of steps: a unit in which very many kernels touch the same bytes is not compared
to the end. Not compared are also bytes that several devices share where scalars, memory or the order of waits say whether they meet,
waits of more than 16 devices, more than 16384 pairs of kernels of a graph whose bytes are known only when it runs, and what the host releases or restores where it has too many ways
or launches. What is not compared at all is a warning; pairs of kernels
that every run compares are a note. Launches on different streams that cannot be compared here are compared by every run (WSP1522). Of more than
1000 findings the rest is counted, and as grave as the gravest of them.";
    pub(super) PARTITION = 1520, "a partition outside of the device",
        "\
CA_PARTITION names cores by number, from 0 on; the last of them must be one that the device has. `wsp check --target` checks for a platform,
`wsp run --cores` for the device that is simulated.";
    pub(super) LAUNCHES = 1521, "launches use the same bytes in no order",
        "\
Launches on one stream run one after another. Launches on different streams, or on different devices that share a tensor, run at the same time
unless the host waits for the first with TG_SYNC before it submits the second, or an event or a notification orders the kernels. Two of them touch
the same bytes and one writes, or the host releases a tensor that a launch in flight may use: the result depends on time. Where both are launches
of one graph that writes tensors which are not its own, a simulation runs them one after another, and the finding is a warning. What `wsp check`
cannot compare a run does: before the second launch begins, where its bytes are known by then, else before its kernel starts. It says which kernels
of which launches on which streams meet, and where.";
    pub(super) AT_LAUNCH = 1522, "known only when the graph runs",
        "\
The bytes that two kernels touch depend on declared scalars, the iteration, the device or values in memory, and nothing orders the two, or nothing
makes what the first wrote visible to the second; or a SY_WAIT orders them, and its kernel may be skipped: then it waits for nothing. `wsp check`
cannot compare the bytes; every launch compares them as soon as they are known, and stops when they overlap. The two may be of one graph, or of launches on different streams; where the host makes very many launches on several
streams, or has more than 64 ways through its conditions, a run compares all of them.";
    pub(super) NEVER_WRITTEN = 1523, "read and never written",
        "\
Kernels, copies or conditions read memory that the unit allocates and that nothing writes. On a device it holds whatever was there before.";
    pub(super) MISALIGNED = 1524, "a binding at a misaligned byte",
        "\
The first byte of a binding is not a multiple of the size of the elements that the kernel takes there. A device refuses such an address or reads
other bytes.";
    pub(super) READ_AS = 1529, "a number is read as another type",
        "\
A condition, a count or an iteration loads a number of a type that the elements of the tensor do not have: other bytes are read than one element, or they
mean something else. `load(T)`, and `T` alone, have the type of the tensor's declaration. Real numbers are no scalars: a kernel has to write an integer.";
    pub(super) NEVER_LAUNCHED = 1551, "never launched",
        "\
`TG_SYNC` waits for launches of its graph, and stops a run in which there was none. `wsp check` follows the conditions and loops of the host: that no
way launches the graph before is an error; that some way does not, or may not where not every way is followed, is a note. Launch the graph first,
or put the wait into the block of the launch.";
    pub(super) NEVER_SAVED = 1558, "no such checkpoint",
        "\
`TG_RESTORE` asks for a checkpoint that its run has not saved: the graph was not launched before, or no launch came to the checkpoint. What earlier
runs saved in the same place is not of this run. `wsp check` says it of hosts of which no way saves it before (an error), or some way does not (a
note).";
}
