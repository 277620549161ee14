//! Task graphs: rules of units, 1450 to 1499.

use super::CodeInfo;
use crate::diag::Code;

/// The codes of this group.
pub(super) const CODES: &[CodeInfo] = &[
    CodeInfo {
        code: Code(1450),
        title: "an instruction in the wrong place",
        explanation: "\
Kernels, edges, bindings and what belongs to them stand in a graph, between TG_BEGIN and TG_END; TG_LAUNCH, TG_SYNC and what else the
host does stand outside. After TG_END a graph is complete and cannot be changed. Graphs are defined outside of control flow,
once; launch them inside. Move the instruction.",
    },
    CodeInfo {
        code: Code(1451),
        title: "a graph inside of a graph",
        explanation: "\
Graphs do not nest. End the first with TG_END before the second begins.",
    },
    CodeInfo {
        code: Code(1452),
        title: "a graph is not ended, or another is",
        explanation: "\
TG_BEGIN and TG_END come in pairs with one number. Write the TG_END that belongs to the open graph.",
    },
    CodeInfo {
        code: Code(1453),
        title: "the number of a graph is too large",
        explanation: "\
Graphs are numbered from 0 to 65535.",
    },
    CodeInfo {
        code: Code(1454),
        title: "a graph is defined twice",
        explanation: "\
Each graph of a unit has a number of its own; that of TG_FUSE is a new one, too.",
    },
    CodeInfo {
        code: Code(1455),
        title: "a kernel is defined twice",
        explanation: "\
Each kernel of a graph has a number of its own. To run one function several times, define several kernels with its entry
symbol, or give one kernel more blocks.",
    },
    CodeInfo {
        code: Code(1456),
        title: "the number of a kernel is too large",
        explanation: "\
Numbers of kernels are below 2147483648: larger ones stand for copies.",
    },
    CodeInfo {
        code: Code(1457),
        title: "the number of blocks is out of range",
        explanation: "\
A kernel has 1 to 65535 blocks. For more work let each block loop: its number and the number of blocks are known to it.",
    },
    CodeInfo {
        code: Code(1458),
        title: "unknown kernel or copy",
        explanation: "\
The graph has no kernel, or no copy, of this number. Kernels of other graphs cannot be named; graphs are ordered by streams, TG_SYNC
and events. Copies are `copy.0`, `copy.1`, … in program order of MC_COPY.",
    },
    CodeInfo {
        code: Code(1459),
        title: "a kernel depends on itself",
        explanation: "\
An edge joins two kernels. What follows itself, as rounds do, stands in a CF_LOOP or is launched again.",
    },
    CodeInfo {
        code: Code(1460),
        title: "a barrier the wrong way round",
        explanation: "\
TG_DEPEND(A, B, BARRIER): every kernel defined up to A completes before any defined from B on starts. So A is defined before B.",
    },
    CodeInfo {
        code: Code(1461),
        title: "unknown graph, or not complete yet",
        explanation: "\
What the host launches, waits for, fuses, saves or restores is a graph of the unit whose TG_END stands before.",
    },
    CodeInfo {
        code: Code(1462),
        title: "a graph that was never launched",
        explanation: "\
TG_SYNC waits for the launches before it. Launch the graph first with TG_LAUNCH, TG_INVOKE or TG_RESTORE.",
    },
    CodeInfo {
        code: Code(1463),
        title: "a tensor is defined twice",
        explanation: "\
Each allocation and each external tensor of a unit has a number of its own, in all graphs together.",
    },
    CodeInfo {
        code: Code(1464),
        title: "tensor 0",
        explanation: "\
0 stands for no tensor: in TG_DEPEND it means all that the first kernel writes. Number tensors from 1.",
    },
    CodeInfo {
        code: Code(1465),
        title: "unknown tensor",
        explanation: "\
The tensor is neither allocated by MC_ALLOC nor declared as external. A tensor that whoever runs the unit provides is declared
before the graphs: `extern NAME: f16[4096, 128]`.",
    },
    CodeInfo {
        code: Code(1466),
        title: "a tensor of another graph",
        explanation: "\
What a graph allocates exists once for each of its launches, so nobody else can name it. Allocate what is shared outside of graphs
or in SHARED.",
    },
    CodeInfo {
        code: Code(1467),
        title: "a size or an alignment that cannot be",
        explanation: "\
Sizes are at least 1 byte, alignments powers of two.",
    },
    CodeInfo {
        code: Code(1468),
        title: "outside of a tensor",
        explanation: "\
A binding, a copy or a condition reaches outside of its tensor: offset plus size is at most the tensor's bytes, for every value of the
loop variables in it.",
    },
    CodeInfo {
        code: Code(1469),
        title: "an argument is bound twice",
        explanation: "\
Each argument of a kernel has one MC_BIND. For one that changes from round to round bind a table: `{PING, PONG}[iteration % 2]`.",
    },
    CodeInfo {
        code: Code(1470),
        title: "an argument is missing",
        explanation: "\
Arguments of a kernel are numbered from 0 without a hole. Bind the missing one.",
    },
    CodeInfo {
        code: Code(1471),
        title: "a binding in a block of its own",
        explanation: "\
A binding in an arm or a loop is about a kernel in that arm or loop: whether and where an argument is bound does not depend on what
runs. Move the binding out of the block, or the kernel into it.",
    },
    CodeInfo {
        code: Code(1472),
        title: "used after release",
        explanation: "\
MC_FREE stands in program order: no kernel defined behind it uses the tensor, nor a graph launched behind it. Move it behind the last use.",
    },
    CodeInfo {
        code: Code(1473),
        title: "a release that cannot be",
        explanation: "\
A tensor is released once, by whom it belongs to: what a graph allocates, in that graph, outside of loops; what the unit allocates, on
the host; external tensors not at all.",
    },
    CodeInfo {
        code: Code(1474),
        title: "a copy overlaps itself",
        explanation: "\
Source and target of a copy in one tensor have no bytes in common.",
    },
    CodeInfo {
        code: Code(1475),
        title: "control flow does not nest",
        explanation: "\
CF_IF, CF_ELSE and CF_ENDIF, CF_LOOP and CF_ENDLOOP, CF_WHILE and CF_ENDWHILE nest in each other, inside of one graph or outside of all.",
    },
    CodeInfo {
        code: Code(1476),
        title: "a break outside of a loop",
        explanation: "\
CF_BREAK leaves the innermost CF_LOOP or CF_WHILE around it, in the same graph or on the host.",
    },
    CodeInfo {
        code: Code(1477),
        title: "control flow is nested too deep",
        explanation: "\
At most 64 blocks of control flow stand in each other.",
    },
    CodeInfo {
        code: Code(1478),
        title: "a loop variable",
        explanation: "\
A loop variable has a value inside of its CF_LOOP, and two loops in each other count with two variables.",
    },
    CodeInfo {
        code: Code(1479),
        title: "a value that is not known there",
        explanation: "\
Operands of bindings are known before the graph runs: data of the device is for conditions and counts. `iteration` is given to graphs,
not to the host.",
    },
    CodeInfo {
        code: Code(1480),
        title: "a count out of range",
        explanation: "\
Counts of loops are at least 0, `max_iterations` at least 1, iterations of TG_INVOKE at most 4294967295.",
    },
    CodeInfo {
        code: Code(1481),
        title: "a request that cannot be",
        explanation: "\
A kernel asks for at least one core, once, and is made persistent once.",
    },
    CodeInfo {
        code: Code(1482),
        title: "a partition that cannot be",
        explanation: "\
A partition has cores, its number is its own, and no two partitions of a unit share a core.",
    },
    CodeInfo {
        code: Code(1483),
        title: "unknown partition",
        explanation: "\
Define the partition with CA_PARTITION.",
    },
    CodeInfo {
        code: Code(1484),
        title: "a partition lacks cores",
        explanation: "\
Blocks of AIC kernels take a cube core, of AIV kernels a vector core, of AIC_AIV kernels one cube and two vector cores: the partition
has none of them.",
    },
    CodeInfo {
        code: Code(1485),
        title: "a wait for what never comes",
        explanation: "\
Nothing in the unit signals the event, or sends the notification. Signal it, or declare `extern event NAME` if whoever runs the unit
signals it.",
    },
    CodeInfo {
        code: Code(1486),
        title: "a set of kernels",
        explanation: "\
Sets name kernels of the graph: at least one, each once.",
    },
    CodeInfo {
        code: Code(1487),
        title: "a gang that cannot start",
        explanation: "\
Members of a gang (SY_BARRIER) start together: they stand in one block of control flow, none waits for another, and none is in a second
gang.",
    },
    CodeInfo {
        code: Code(1488),
        title: "graphs that cannot be fused",
        explanation: "\
TG_FUSE makes a graph with a number of its own out of two others.",
    },
    CodeInfo {
        code: Code(1489),
        title: "a checkpoint of another graph",
        explanation: "\
In a graph, TG_CHECKPOINT saves that graph. TG_RESTORE continues from a checkpoint that the unit saves for this graph.",
    },
    CodeInfo {
        code: Code(1490),
        title: "a notification without a kernel",
        explanation: "\
SY_NOTIFY is sent when a kernel is complete: the last defined before it, or that of `after`.",
    },
    CodeInfo {
        code: Code(1491),
        title: "a table of tensors",
        explanation: "\
A table has at least one tensor, and its index stays inside of it.",
    },
    CodeInfo {
        code: Code(1492),
        title: "a declaration",
        explanation: "\
What is declared has a name or number of its own; external tensors have a type and dimensions of at least 1 or neither; defaults fit
their type; references name tensors and scalars of the unit.",
    },
    CodeInfo {
        code: Code(1493),
        title: "a unit that no text gives",
        explanation: "\
An operand refers to a string, a set or an expression that the unit does not have, or an expression is not complete. Texts do not give
such units: the file was damaged, or the tool that wrote it is at fault.",
    },
    CodeInfo {
        code: Code(1499),
        title: "too many faults",
        explanation: "\
Only the first faults of a unit are shown. Repair them and check again.",
    },
];
