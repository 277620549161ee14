//! Codes of the diagnostics of the binary form.

wsp_diag::codes! {
    /// Bytes that are no task graph, or of another version.
    pub(super) NOT_A_UNIT = 1430, "not a task graph in binary form",
        "\
The file is no task graph in binary form, has its bytes in big-endian order, or is of a version that this program does not
know. The message says what it looks like. A text (`.tg`) is assembled by `wsp asm`; a program that generates tasks (PTOW)
is read by commands for such programs. A file of another version is assembled again from its text.";
    /// A file that is damaged or cut off.
    pub(super) DAMAGED = 1431, "damaged task graph",
        "\
The file is a task graph in binary form, but it is cut off, its checksum is wrong, or a row of a table cannot be. The message
names the byte or the row. Copy the file again, or assemble it again from its text. `docs/reference/ptog.md` has the layout.";
    /// A unit that the format cannot hold.
    pub(super) DOES_NOT_FIT = 1432, "unit does not fit the binary form",
        "\
The binary form holds at most 2^32 - 1 rows of a kind and bytes of strings, and partitions of kernels up to number 65534. Give
partitions smaller numbers, or split the unit.";
    /// A unit that refers to what it does not have.
    pub(super) INCONSISTENT = 1433, "unit refers to what it does not have",
        "\
A unit that was put together by a program names a string, an expression or a set that is not in it, so that it cannot be
written. The message names the row. Units that the text or the builder makes do not do that.";
}
