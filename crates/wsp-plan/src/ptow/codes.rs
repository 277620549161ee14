//! Diagnostic codes of programs.

wsp_diag::codes! {
    pub(super) TOO_LARGE = 890, "a workload is too large for a program",
        "\
A program has at most 65,536 instruction words and 65,535 words of expressions, and numbers its rows with 16 bits. Calls are
inlined, so a workload that is called at many places counts as often. Put repeated statements and calls into a loop whose
index tells them apart; a table of parameters can hold what differs.";
    pub(super) TOO_DEEP = 891, "loops or statements nest too deeply for a program",
        "\
A program has at most 16 variables in scope: indices of loops, rounds of `while`, and arguments of calls that are computed
(an argument that is a number, a parameter or a variable needs none). Its bodies (loops, branches, steps) nest at most 64
deep. Merge loops: `for ij in 0..n * m` with `ij / m` and `ij % m` has one variable in place of two.";
    pub(super) EXPRESSION = 892, "an expression is too large for a program",
        "\
An expression of a program has at most 256 words, one per operand and operator, and needs at most 32 entries of a stack.
Compute what depends on parameters alone with `let`, and give other parts to a called workload as arguments: they are
evaluated once, at the call.";
    pub(super) SCHEDULE = 893, "a program cannot express the schedule",
        "\
AICPUs find the owner of a task themselves, from fields of fixed width: at most 8 thresholds, which fit into 32 bits; ranges
of a static partition that end below 2^32; levels of a threshold that are `round_robin`, `affinity`, `hash` or a pool. The
host's expansion (`--expand host`) takes the schedule as it is.";
    pub(super) AICPUS = 894, "the number of AICPUs does not fit",
        "\
There are 1 to 1024 AICPUs, and at least as many as a static partition has ranges: AICPU i generates the tasks of range i,
those past the last range generate none.";
    pub(super) WORK_STEAL = 895, "AICPUs take tasks in turn",
        "\
`work_steal` lets any idle worker take a task. An AICPU generates its own tasks only, so it must know them beforehand: under
`work_steal` task number n belongs to AICPU n modulo their number. The cores of an AICPU still share its tasks.";
    pub(super) NAMES_LEFT_OUT = 896, "a program has no names",
        "\
Names of parameters, tables, axes, kernels and tensors take at most 65,535 bytes in a program. This one has more, and was
written without; it runs all the same.";
    pub(super) BROKEN = 897, "a program breaks a rule of its format",
        "\
Programs are checked before they run: bodies nest, operands are of the right kind and in range, expressions keep to their
stack. The note names the rule and the word. A file that was written by `wsp` and breaks a rule was damaged or edited.";
}
