//! Programs that generate tasks on a device: WSP0890-WSP0899.

use super::CodeInfo;
use crate::diag::Code;

/// The codes of this group.
pub(super) const CODES: &[CodeInfo] = &[
    CodeInfo {
        code: Code(890),
        title: "a workload is too large for a program",
        explanation: "\
A program has at most 65,536 instruction words and 65,535 words of expressions, and numbers its rows with 16 bits. Calls are
inlined, so a workload that is called at many places counts as often. Put repeated statements and calls into a loop whose
index tells them apart; a table of parameters can hold what differs.",
    },
    CodeInfo {
        code: Code(891),
        title: "loops or statements nest too deeply for a program",
        explanation: "\
A program has at most 16 variables in scope: indices of loops, rounds of `while`, and arguments of calls that are computed
(an argument that is a number, a parameter or a variable needs none). Its bodies (loops, branches, steps) nest at most 64
deep. Merge loops: `for ij in 0..n * m` with `ij / m` and `ij % m` has one variable in place of two.",
    },
    CodeInfo {
        code: Code(892),
        title: "an expression is too large for a program",
        explanation: "\
An expression of a program has at most 256 words, one per operand and operator, and needs at most 32 entries of a stack.
Compute what depends on parameters alone with `let`, and give other parts to a called workload as arguments: they are
evaluated once, at the call.",
    },
    CodeInfo {
        code: Code(893),
        title: "a program cannot express the schedule",
        explanation: "\
AICPUs find the owner of a task themselves, from fields of fixed width: at most 8 thresholds, which fit into 32 bits; ranges
of a static partition that end below 2^32; levels of a threshold that are `round_robin`, `affinity`, `hash` or a pool. The
host's expansion (`--expand host`) takes the schedule as it is.",
    },
    CodeInfo {
        code: Code(894),
        title: "the number of AICPUs does not fit",
        explanation: "\
There are 1 to 1024 AICPUs, and at least as many as a static partition has ranges: AICPU i generates the tasks of range i,
those past the last range generate none.",
    },
    CodeInfo {
        code: Code(895),
        title: "AICPUs take tasks in turn",
        explanation: "\
`work_steal` lets any idle worker take a task. An AICPU generates its own tasks only, so it must know them beforehand: under
`work_steal` task number n belongs to AICPU n modulo their number. The cores of an AICPU still share its tasks.",
    },
    CodeInfo {
        code: Code(896),
        title: "a program has no names",
        explanation: "\
Names of parameters, tables, axes, kernels and tensors take at most 65,535 bytes in a program. This one has more, and was
written without; it runs all the same.",
    },
    CodeInfo {
        code: Code(897),
        title: "a program breaks a rule of its format",
        explanation: "\
Programs are checked before they run: bodies nest, operands are of the right kind and in range, expressions keep to their
stack. The note names the rule and the word. A file that was written by `wsp` and breaks a rule was damaged or edited.",
    },
    CodeInfo {
        code: Code(898),
        title: "a pipeline is expanded by the host",
        explanation: "\
Processes of a pipeline take turns and keep their place while others go on. Programs for AICPUs have no such instruction:
leave out `--aicpus`, or let the host generate the tasks for them with `--expand host`.",
    },
];
