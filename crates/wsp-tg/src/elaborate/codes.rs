//! Codes of plans of units.

wsp_diag::codes! {
    pub(super) CYCLE = 1530, "instructions of a graph wait for each other",
        "\
The edges of a graph form a cycle, so that none of its instructions could ever start. Beside the edges that `TG_DEPEND`, events and
barriers declare, copies, releases and conditions are ordered by the bytes they touch: after everything before them in program order that touches the
same bytes, and before everything behind them. A copy that a kernel should wait for must stand before that kernel, or be named in
a `TG_DEPEND` with it.";
    pub(super) UNVERIFIED = 1531, "an instruction breaks a rule of units",
        "\
A plan was asked for of a unit with errors. `wsp check` names the rule and the place.";
    pub(super) TOO_MANY_NODES = 1532, "too many nodes in a graph",
        "\
Loops with a count that is known beforehand are unrolled: each iteration has kernels of its own, so that iterations can overlap. Together that is
more than a graph can hold. `SEQUENTIAL` loops are not unrolled.";
    pub(super) GANG = 1533, "kernels cannot start together",
        "\
The kernels of an `SY_BARRIER` start together in each iteration of the loop that they stand in, so that must be the same loop for all,
and a kernel can start with one set of others only.";
    pub(super) LOOP_COUNT = 1534, "impossible number of iterations",
        "\
The count of a `CF_LOOP` is negative, or more than 4294967294. Loops around it that are unrolled put their numbers into its count.";
    pub(super) NO_VALUE = 1535, "an operand without a value",
        "\
An expression of constants overflows 64 bits or divides by zero. In a loop that is unrolled its variable counts as a constant: then one of
its iterations is meant.";
    pub(super) NO_TENSOR = 1536, "no such tensor in a table",
        "\
A binding to a table, as `{PING, PONG}[i]`, has an index below 0 or not below the number of tensors. `i % 2` is what double buffering
needs.";
}
