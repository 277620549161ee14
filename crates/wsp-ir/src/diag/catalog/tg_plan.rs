//! Task graphs: plans of units, 1530 to 1539.

use super::CodeInfo;
use crate::diag::Code;

/// The codes of this group.
pub(super) const CODES: &[CodeInfo] = &[
    CodeInfo {
        code: Code(1530),
        title: "instructions of a graph wait for each other",
        explanation: "\
The edges of a graph form a circle, so that none of its instructions could ever start. Beside the edges that `TG_DEPEND`, events and
barriers declare, copies, releases and conditions are ordered by the bytes they touch: after everything before them in program order that touches the
same bytes, and before everything behind them. A copy that a kernel should wait for must stand before that kernel, or be named in
a `TG_DEPEND` with it.",
    },
    CodeInfo {
        code: Code(1531),
        title: "an instruction breaks a rule of units",
        explanation: "\
A plan was asked for of a unit with errors. `wsp check` names the rule and the place.",
    },
    CodeInfo {
        code: Code(1532),
        title: "too many nodes in a graph",
        explanation: "\
Loops with a count that is known beforehand are unrolled: each iteration has kernels of its own, so that iterations can overlap. Together that is
more than a graph can hold. `SEQUENTIAL` loops are not unrolled.",
    },
    CodeInfo {
        code: Code(1533),
        title: "kernels cannot start together",
        explanation: "\
The kernels of an `SY_BARRIER` start together in each iteration of the loop that they stand in, so that must be the same loop for all,
and a kernel can start with one set of others only.",
    },
    CodeInfo {
        code: Code(1534),
        title: "impossible number of iterations",
        explanation: "\
The count of a `CF_LOOP` is negative, or more than 4294967294. Loops around it that are unrolled put their numbers into its count.",
    },
    CodeInfo {
        code: Code(1535),
        title: "an operand without a value",
        explanation: "\
An expression of constants overflows 64 bits or divides by zero. In a loop that is unrolled its variable counts as a constant: then one of
its iterations is meant.",
    },
    CodeInfo {
        code: Code(1536),
        title: "no such tensor in a table",
        explanation: "\
A binding to a table, as `{PING, PONG}[i]`, has an index below 0 or not below the number of tensors. `i % 2` is what double buffering
needs.",
    },
];
