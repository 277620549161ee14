//! Diagnostic codes of costs.

wsp_diag::codes! {
    pub(super) NO_COST = 1746, "what a kernel costs on a machine is not known",
        "In virtual time a task takes as many cycles as its kernel is said to `cost`, or else as its operations take by the machine model. The kernel has \
            neither a `cost` nor operations, or the model does not say what one of them takes, or how often a loop runs is not known. Write \
            `kernel NAME cost CYCLES;` in the workload (`cost 64 + n * 3` may name its integers), or give the model the row that is missing.";
    pub(super) LARGE_COST = 1747, "a cost is too large",
        "A task takes less than 2^62 cycles. The extents of its tiles, or the figures of the machine model, are of another order of magnitude.";
}
