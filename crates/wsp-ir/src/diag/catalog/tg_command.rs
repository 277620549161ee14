//! Task graphs: the command line, 1590 to 1599.

use super::CodeInfo;
use crate::diag::Code;

/// The codes of this group.
pub(super) const CODES: &[CodeInfo] = &[
    CodeInfo {
        code: Code(1590),
        title: "the command takes another kind of file",
        explanation: "\
The file is a task graph, a workload, a program or a program in bytes, and the command takes another of these. Files in bytes
are recognised by their first word, whatever they are called; all others by the end of their name: `.pto` programs, `.wsp`
workloads, `.tg` task graphs as text, `.ptows` programs that generate tasks. The help names commands that take it.",
    },
    CodeInfo {
        code: Code(1591),
        title: "the task graph is too long",
        explanation: "\
The text or binary of a task graph has more bytes than a unit may have; `wsp config` prints the limit. Check that it is the
right file, or split the unit.",
    },
    CodeInfo {
        code: Code(1592),
        title: "the unit has nothing of this name",
        explanation: "\
An option of `wsp run` names an array, a value or an event. Arrays are given for tensors that the unit declares `extern` and
for tensors that its kernels keep resident; `--set` for values that it declares with `arg` or `host` and for parameters of its
files of kernels; `--event` for events that it declares `extern event`.",
    },
    CodeInfo {
        code: Code(1593),
        title: "the array does not fit the tensor",
        explanation: "\
An array has another element type or another number of bytes than the tensor that it is given for. The notes name both. The
shape may differ, if the elements are as many.",
    },
    CodeInfo {
        code: Code(1594),
        title: "the data of a tensor cannot be made up",
        explanation: "\
Whoever runs a unit provides its `extern` tensors. `wsp run` makes them up from a seed, if their size is known: from their
declaration, or from a kernel of a file that takes them. Declare the tensor with a type and a shape,
`extern X: f16[4096, 128]`, or give it with `--input X=FILE.npy`.",
    },
    CodeInfo {
        code: Code(1595),
        title: "checkpoints cannot be kept or found",
        explanation: "\
`--checkpoints DIR` names a folder, which is made if it is not there. Each checkpoint is written under a name of its own, brought
to the disk, and only then given its final name, so that a run that is killed at any moment leaves the last complete one. The
note says what the system refused.",
    },
    CodeInfo {
        code: Code(1596),
        title: "outputs differ from those of a run on one thread",
        explanation: "\
`wsp run` runs a unit without a reference a second time, on one thread, and compares what both runs wrote bit by bit. They may
differ only when two kernels touch the same bytes without an order between them, one of them writing: `wsp check` names such
pairs. The notes name the first element that differs.",
    },
    CodeInfo {
        code: Code(1597),
        title: "a stage of a task graph cannot be emitted as written",
        explanation: "\
`wsp asm --emit cpp` writes C++ for a device. As an error: the graph has something that the platform, or what is emitted, does not
have, or the unit has no graph. As a note: the platform does something else than what is written, which is at least as strong.",
    },
    CodeInfo {
        code: Code(1598),
        title: "a folder for checkpoints, and a unit without checkpoints",
        explanation: "\
`--checkpoints DIR` keeps what `TG_CHECKPOINT` saves, and the unit has no such instruction: nothing would be kept, and a run that is
killed could only begin anew. Add `TG_CHECKPOINT(GRAPH, NAME)` between tasks of a graph or between statements of the host.",
    },
];
