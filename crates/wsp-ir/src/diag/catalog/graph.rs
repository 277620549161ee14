//! Workloads on the command line: WSP0880-WSP0899.

use super::CodeInfo;
use crate::diag::Code;

/// The codes of this group.
pub(super) const CODES: &[CodeInfo] = &[
    CodeInfo {
        code: Code(880),
        title: "not a workload",
        explanation: "\
`wsp graph` lists the tasks of a workload, a `.wsp` file. The tasks of a `.pto` program depend on its data and are listed
by `wsp plan FILE.pto`; the edges between them by the figures of `wsp run`.",
    },
    CodeInfo {
        code: Code(881),
        title: "an output cannot go there",
        explanation: "\
Two outputs go to one file, two go to standard output, or an output would replace a file that is read: a source or an
array. Give each output a name of its own. With a list on standard output (`-`), the summary is printed only if the list
goes to a file.",
    },
    CodeInfo {
        code: Code(882),
        title: "an option does not apply to this program",
        explanation: "\
The option belongs to another kind of program: `--generate` and `kv_layout` to `.pto` programs, `--trace` to workloads; or
it asks for something that this run does not have: in virtual time (`trace = cycles`) no kernel runs, so there are no
outputs to write or to check; a task graph is made of parameters and tables, not of tensors; a file of kernels of which the unit calls
none adds nothing. An option that had no effect is refused, whatever the file. Leave it out.",
    },
    CodeInfo {
        code: Code(883),
        title: "outputs differ from those of a sequential run",
        explanation: "\
`wsp run FILE.wsp` runs the workload a second time, one task after another in elaboration order, and compares what both
runs wrote bit by bit. They may differ only when the schedule leaves out a dependence that the data need
(`deps = explicit` or `exact`), or when a kernel touches what it does not declare. The notes name the first element that
differs.",
    },
    CodeInfo {
        code: Code(884),
        title: "several used files",
        explanation: "\
A workload takes its kernels from one file. Put the kernels of the others into it.",
    },
    CodeInfo {
        code: Code(885),
        title: "an access does not fit rows and columns",
        explanation: "\
`wsp graph --args` writes boxes as rows and columns, so tensors that tasks access must have at most two dimensions.
Leave out `--args`, or declare the tensor with its first dimensions multiplied.",
    },
];
