//! The codes of the rules, and how a finding names the instruction it is about.

use crate::tg::TgModule;
use wsp_diag::Diagnostic;

wsp_diag::codes! {
    pub(in crate::tg) LEVEL = 1450, "an instruction in the wrong place",
        "\
Kernels, edges, bindings and what belongs to them stand in a graph, between TG_BEGIN and TG_END; TG_LAUNCH, TG_SYNC and what else the
host does stand outside. After TG_END a graph is complete and cannot be changed. Graphs are defined outside of control flow,
once; launch them inside. Move the instruction.";
    pub(in crate::tg) NESTED = 1451, "a graph inside of a graph",
        "\
Graphs do not nest. End the first with TG_END before the second begins.";
    pub(in crate::tg) END = 1452, "a graph is not ended, or another is",
        "\
TG_BEGIN and TG_END come in pairs with one number. Write the TG_END that belongs to the open graph.";
    pub(in crate::tg) GRAPH_RANGE = 1453, "the number of a graph is too large",
        "\
Graphs are numbered from 0 to 65535.";
    pub(in crate::tg) GRAPH_TWICE = 1454, "a graph is defined twice",
        "\
Each graph of a unit has a number of its own; that of TG_FUSE is a new one, too.";
    pub(in crate::tg) KERNEL_TWICE = 1455, "a kernel is defined twice",
        "\
Each kernel of a graph has a number of its own. To run one function several times, define several kernels with its entry
symbol, or give one kernel more blocks.";
    pub(in crate::tg) KERNEL_RANGE = 1456, "the number of a kernel is too large",
        "\
Numbers of kernels are below 2147483648: larger ones stand for copies.";
    pub(in crate::tg) BLOCK_DIM = 1457, "the number of blocks is out of range",
        "\
A kernel has 1 to 65535 blocks. For more work let each block loop: its number and the number of blocks are known to it.";
    pub(in crate::tg) UNKNOWN_NODE = 1458, "unknown kernel or copy",
        "\
The graph has no kernel, or no copy, of this number. Kernels of other graphs cannot be named; graphs are ordered by streams, TG_SYNC
and events. Copies are `copy.0`, `copy.1`, … in program order of MC_COPY.";
    pub(in crate::tg) SELF_EDGE = 1459, "a kernel depends on itself",
        "\
An edge joins two kernels. What follows itself, as rounds do, stands in a CF_LOOP or is launched again.";
    pub(in crate::tg) BARRIER_ORDER = 1460, "a barrier the wrong way round",
        "\
TG_DEPEND(A, B, BARRIER): every kernel defined up to A completes before any defined from B on starts. So A is defined before B.";
    pub(in crate::tg) UNKNOWN_GRAPH = 1461, "unknown graph, or not complete yet",
        "\
What the host launches, waits for, fuses, saves or restores is a graph of the unit whose TG_END stands before.";
    pub(in crate::tg) NEVER_LAUNCHED = 1462, "a graph that was never launched",
        "\
TG_SYNC waits for the launches before it. Launch the graph first with TG_LAUNCH, TG_INVOKE or TG_RESTORE.";
    pub(in crate::tg) TENSOR_TWICE = 1463, "a tensor is defined twice",
        "\
Each allocation and each external tensor of a unit has a number of its own, in all graphs together.";
    pub(in crate::tg) TENSOR_ZERO = 1464, "tensor 0",
        "\
0 stands for no tensor: in TG_DEPEND it means all that the first kernel writes. Number tensors from 1.";
    pub(in crate::tg) UNKNOWN_TENSOR = 1465, "unknown tensor",
        "\
The tensor is neither allocated by MC_ALLOC nor declared as external. A tensor that the caller of the unit provides is declared
before the graphs: `extern NAME: f16[4096, 128]`.";
    pub(in crate::tg) FOREIGN_TENSOR = 1466, "a tensor of another graph",
        "\
What a graph allocates exists once for each of its launches, so nothing outside of the graph can name it. Allocate what is shared outside of graphs
or in SHARED.";
    pub(in crate::tg) SIZE = 1467, "a size or an alignment that cannot be",
        "\
Sizes are at least 1 byte, alignments powers of two.";
    pub(in crate::tg) BOUNDS = 1468, "outside of a tensor",
        "\
A binding, a copy or a condition reaches outside of its tensor: offset plus size is at most the tensor's bytes, for every value of the
loop variables in it.";
    pub(in crate::tg) ARG_TWICE = 1469, "an argument is bound twice",
        "\
Each argument of a kernel has one MC_BIND. For one that changes from round to round bind a table: `{PING, PONG}[iteration % 2]`.";
    pub(in crate::tg) ARG_HOLE = 1470, "an argument is missing",
        "\
Arguments of a kernel are numbered from 0 without a hole. Bind the missing one.";
    pub(in crate::tg) BIND_BLOCK = 1471, "a binding in a block of its own",
        "\
A binding in an arm or a loop is about a kernel in that arm or loop: whether and where an argument is bound does not depend on what
runs. Move the binding out of the block, or the kernel into it.";
    pub(in crate::tg) AFTER_FREE = 1472, "used after release",
        "\
MC_FREE stands in program order: no kernel defined behind it uses the tensor, nor a graph launched behind it. Move it behind the last use.";
    pub(in crate::tg) FREE = 1473, "a release that cannot be",
        "\
A tensor is released once, by whom it belongs to: what a graph allocates, in that graph, outside of loops; what the unit allocates, on
the host; external tensors not at all.";
    pub(in crate::tg) OVERLAP = 1474, "a copy overlaps itself",
        "\
Source and target of a copy in one tensor have no bytes in common.";
    pub(in crate::tg) UNMATCHED = 1475, "control flow does not nest",
        "\
CF_IF, CF_ELSE and CF_ENDIF, CF_LOOP and CF_ENDLOOP, CF_WHILE and CF_ENDWHILE nest in each other, inside of one graph or outside of all.";
    pub(in crate::tg) BREAK = 1476, "a break outside of a loop",
        "\
CF_BREAK leaves the innermost CF_LOOP or CF_WHILE around it, in the same graph or on the host.";
    pub(in crate::tg) DEPTH = 1477, "control flow is nested too deep",
        "\
At most 64 blocks of control flow stand in each other.";
    pub(in crate::tg) ITERATOR = 1478, "a loop variable",
        "\
A loop variable has a value inside of its CF_LOOP, and two loops in each other count with two variables.";
    pub(in crate::tg) EXPRESSION = 1479, "a value that is not known there",
        "\
Operands of bindings are known before the graph runs: data of the device is for conditions and counts. `iteration` is given to graphs,
not to the host.";
    pub(in crate::tg) COUNT = 1480, "a count out of range",
        "\
Counts of loops are at least 0, `max_iterations` at least 1, iterations of TG_INVOKE at most 4294967295.";
    pub(in crate::tg) REQUEST = 1481, "a request that cannot be",
        "\
A kernel asks for at least one core, once, and is made persistent once.";
    pub(in crate::tg) PARTITION = 1482, "a partition that cannot be",
        "\
A partition has cores, its number is its own, and no two partitions of a unit share a core.";
    pub(in crate::tg) UNKNOWN_PARTITION = 1483, "unknown partition",
        "\
Define the partition with CA_PARTITION.";
    pub(in crate::tg) PARTITION_CORES = 1484, "a partition lacks cores",
        "\
Blocks of AIC kernels take a cube core, of AIV kernels a vector core, of AIC_AIV kernels one cube and two vector cores: the partition
has none of them.";
    pub(in crate::tg) NO_SIGNAL = 1485, "a wait for what never comes",
        "\
Nothing in the unit signals the event, or sends the notification. Signal it, or declare `extern event NAME` if the caller of the unit
signals it.";
    pub(in crate::tg) SET = 1486, "a set of kernels",
        "\
Sets name kernels of the graph: at least one, each once.";
    pub(in crate::tg) GANG = 1487, "a gang that cannot start",
        "\
Members of a gang (SY_BARRIER) start together: they stand in one block of control flow, none waits for another, and none is in a second
gang.";
    pub(in crate::tg) FUSE = 1488, "graphs that cannot be fused",
        "\
TG_FUSE makes a graph with a number of its own out of two others.";
    pub(in crate::tg) CHECKPOINT = 1489, "a checkpoint of another graph",
        "\
In a graph, TG_CHECKPOINT saves that graph. TG_RESTORE continues from a checkpoint that the unit saves for this graph.";
    pub(in crate::tg) NOTIFY = 1490, "a notification without a kernel",
        "\
SY_NOTIFY is sent when a kernel is complete: the last defined before it, or that of `after`.";
    pub(in crate::tg) TABLE = 1491, "a table of tensors",
        "\
A table has at least one tensor, and its index stays inside of it.";
    pub(in crate::tg) DECLARATION = 1492, "a declaration",
        "\
What is declared has a name or number of its own; external tensors have a type and dimensions of at least 1 or neither; defaults fit
their type; references name tensors and scalars of the unit.";
    pub(in crate::tg) MALFORMED = 1493, "an operand or an expression that is not one",
        "\
An expression keeps more than 64 values at a time: parentheses that open to the right, 64 in each other, do; write sums from left to
right, or split the condition. The other cases are in no text, but in files of bytes that were damaged or written by a tool that is at
fault, and in units that a program builds: an expression that does not end, gives no value or more than one, takes one that nothing gives,
or skips what is not the right side of its `&&` or `||`; a declared scalar or a set of kernels that the unit does not have; a kernel
without an entry symbol.";
    pub(in crate::tg) TOO_MANY = 1499, "too many faults",
        "\
Only the first faults of a unit are shown. Repair them and check again.";
}

/// Where a finding is: the source of an instruction, or its number where no source is known.
pub(crate) trait Placed {
    /// Puts the finding at instruction `at`.
    fn on(self, module: &TgModule, at: u32, text: &str) -> Self;
    /// Points to instruction `at` as well.
    fn and(self, module: &TgModule, at: u32, text: &str) -> Self;
}

impl Placed for Diagnostic {
    fn on(self, module: &TgModule, at: u32, text: &str) -> Diagnostic {
        match module.spans.get(at as usize) {
            Some(&span) => self.at(span, text),
            None => self.note(numbered(module, at, text)),
        }
    }

    fn and(self, module: &TgModule, at: u32, text: &str) -> Diagnostic {
        match module.spans.get(at as usize) {
            Some(&span) => self.label(span, text),
            None => self.note(numbered(module, at, text)),
        }
    }
}

/// An instruction by its number: `instruction 17: MC_BIND(…): what is to be said of it`.
fn numbered(module: &TgModule, at: u32, text: &str) -> String {
    let Some(instr) = module.instrs.get(at as usize) else { return format!("at the end: {text}") };
    let info = instr.op().info();
    let operands = if info.operands.is_empty() { "" } else { "(…)" };
    let separator = if text.is_empty() { "" } else { ": " };
    format!("instruction {at}: {}{operands}{separator}{text}", info.mnemonic)
}
