//! What can be wrong with traces and reports.

wsp_diag::codes! {
    pub(crate) NOT_A_TRACE = 1750, "no trace of wsp",
        "\
A report is made of a trace of a run or a simulation that this program has written, as `.pftrace` or
`.json`. Other traces, and those of versions that did not say so, lack what a report shows: why each
task was late.";

    pub(crate) CUT_TRACE = 1751, "trace that ends too early",
        "\
A trace says how many tasks it has and marks its end, and the file ends before that. It was cut off, for
instance by a full disk or a copy that stopped. Write or copy it again.";

    pub(crate) TRACE_VERSION = 1752, "trace of another version",
        "\
A trace says by which version of its form it was written, and this program reads one. Write the trace
again with this program, or read it with the program that has written it.";

    pub(crate) BAD_TRACE = 1753, "damaged trace",
        "\
The file is a trace, but something in it cannot be: bytes that are no field, a task that is there twice, an
end before its begin. It was changed after it was written. Write it again.";

    pub OTHER_PROGRAM = 1754, "traces of two programs",
        "\
Two traces are compared task by task, which says something only of one program: its spaces or
workloads, kernels and tensors are the same. Schedules, parameters, machines, threads and what
kernels compute may differ. The key of each is in its trace; a program that has changed has another.";

    pub(crate) TOO_MANY_TASKS = 1755, "trace of too many tasks",
        "\
A report holds all tasks of its traces in memory, here and in the browser, and there is a limit of tasks
for it. Trace a smaller run: fewer rows, layers or tokens.";

    pub(crate) OTHER_CLOCK = 1756, "traces with two clocks",
        "\
The times of one trace are nanoseconds, measured, and those of the other cycles of virtual time. They
have no unit in common. Compare two measured runs, or two in virtual time.";

    /// A report goes to a file that exists.
    pub REPORT_EXISTS = 1757, "a report that would replace a file",
        "\
A report does not replace a file that exists, unless it is asked to. Give another name.";
}
