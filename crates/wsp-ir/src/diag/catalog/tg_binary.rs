//! Task graphs: the binary form, 1430 to 1449.

use super::{Code, CodeInfo};

/// The codes of this group.
pub(super) const CODES: &[CodeInfo] = &[
    CodeInfo {
        code: Code(1430),
        title: "not a task graph in binary form",
        explanation: "\
The file is no task graph in binary form, has its bytes in big-endian order, or is of a version that this program does not
know. The message says what it looks like. A text (`.tg`) is assembled by `wsp asm`; a program that generates tasks (PTOW)
is read by commands for such programs. A file of another version is assembled again from its text.",
    },
    CodeInfo {
        code: Code(1431),
        title: "damaged task graph",
        explanation: "\
The file is a task graph in binary form, but it is cut off, its checksum is wrong, or a row of a table cannot be. The message
names the byte or the row. Copy the file again, or assemble it again from its text. `docs/reference/ptog.md` has the layout.",
    },
    CodeInfo {
        code: Code(1432),
        title: "unit does not fit the binary form",
        explanation: "\
The binary form holds at most 2^32 - 1 rows of a kind and bytes of strings, and partitions of kernels up to number 65534. Give
partitions smaller numbers, or split the unit.",
    },
    CodeInfo {
        code: Code(1433),
        title: "unit refers to what it does not have",
        explanation: "\
A unit that was put together by a program names a string, an expression or a set that is not in it, so that it cannot be
written. The message names the row. Units that the text or the builder makes do not do that.",
    },
];
