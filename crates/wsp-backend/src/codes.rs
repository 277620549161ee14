//! Diagnostic codes of the seam.

wsp_ir::diag::codes! {
    pub(crate) NO_BACKEND = 1600, "no backend runs this",
        "\
A target is run by a backend. None of those that there are runs this target, or one does and cannot do all of the program; the
message has a line for each of them. `wsp run --target NAME` takes the targets that it lists.";
    pub(crate) BACKEND_EXISTS = 1601, "two backends have one name",
        "\
Backends are registered by name. Give the second one another name.";
    pub(crate) UNKNOWN_BACKEND = 1602, "the backend is not known",
        "\
No backend of this name is registered. The message lists those that are.";
    pub(crate) OPTION_OF_OTHERS = 1603, "an option of other programs",
        "\
Programs of spaces (`.pto`), workloads (`.wsp`) and task graphs (`.tg`) are run with options of which some belong to one kind only, and
so do options of a backend. An option that would have no effect is refused by its name.";
    pub(crate) WRONG_ARGUMENT = 1604, "an argument that cannot be taken",
        "\
Scalars of task graphs are integers of 64 bits.";
    pub(crate) NOT_STARTED = 1605, "the run has no thread",
        "\
The system made no thread for a run that goes on while its caller does other things. Wait for other runs first.";
}
