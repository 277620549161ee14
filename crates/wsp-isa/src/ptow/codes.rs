//! Codes of the assembler's diagnostics.

wsp_diag::codes! {
    /// The text has more bytes than a source may have.
    pub(super) SOURCE_TOO_LARGE = 910, "program text too large",
        "\
A program as text has more bytes than a source file may have (`wsp config` prints the limit). A program of that size is
better written by a compiler than by hand.";
    /// More errors than are kept.
    pub(super) TOO_MANY_ERRORS = 911, "too many errors in a program text",
        "\
More errors were found than are printed. They are shown in source order, so repair the first ones and assemble again;
later ones often follow from them.";
    /// A character, number or string that is none.
    pub(super) BAD_TOKEN = 912, "malformed token in a program text",
        "\
A character starts no token, an integer is malformed or has more than 64 bits, or a string has no end or an unknown
escape. Comments begin with `;`. Integers are written `42`, `0x2A` or `1_000_000`. Strings stand on one line; `\\\\`, `\\\"` and
`\\u{1F}` are their escapes.";
    /// No instruction or directive has this name.
    pub(super) UNKNOWN_WORD = 913, "unknown instruction or directive",
        "\
A line begins with a word that is no instruction, or with a `.word` that is no directive. Instructions are written in
capitals. `docs/reference/ptow.md` lists all of them.";
    /// Nothing that can stand here has this name.
    pub(super) UNKNOWN_NAME = 914, "unknown name in a program text",
        "\
A name stands where a value, table, axis, kernel, tensor, label, policy or operation is needed, and none has this name.
Values, tables, axes, kernels and tensors are declared by directives; a label is a name with `:` behind it. Loop variables
are named by depth: `i0` is that of the outermost loop.";
    /// A name or a directive that stands twice.
    pub(super) DECLARED_TWICE = 915, "declared twice in a program text",
        "\
A label, a symbol or a directive stands twice. Rows of a table may have the same name in the program, but not the same
symbol in its text: `.value v1 \"n\"` declares the symbol `v1` for a value whose name is `n`.";
    /// Some other token was needed.
    pub(super) EXPECTED = 916, "something else expected in a program text",
        "\
A line cannot go on as it does. The message says what was needed, and how the instruction is written: `BODY|-` is a label, or
`-` for none; what stands in brackets may be left out.";
    /// A number that does not fit where it stands.
    pub(super) OUT_OF_RANGE = 917, "number out of range in a program text",
        "\
A number does not fit the field that it is for. The message says how large it can be. An expression that another word
names with 16 bits begins within the first 65,535 words of all expressions.";
    /// Expressions inside each other beyond what is read.
    pub(super) TOO_DEEP = 918, "expression nested too deeply in a program text",
        "\
More than 64 parentheses and operators stand inside each other. Give a part of the expression to a loop variable with `LET`,
or write its words in braces: `{value n, const 1, add}`.";
    /// The program breaks a rule of the format.
    pub(super) RULE_BROKEN = 919, "program breaks a rule of its format",
        "\
The text was read, but the program that it describes would be refused wherever it is loaded. The message shows the line,
the rule, and what the rule allows; `docs/reference/ptow.md` lists the rules by their ids. `wsp disasm` prints programs that break
rules, too.";
    /// The program is larger than the format allows.
    pub(super) PROGRAM_TOO_LARGE = 920, "program too large for its format",
        "\
A program has more words, rows or bytes of names than its format counts. The message has both numbers. Names can be left
out with `.names none`.";
    /// Bytes that are no program.
    pub(super) NOT_A_PROGRAM = 921, "file is no program",
        "\
The bytes of a file are no program: it begins with other bytes, has another version, or is cut off. The message says
what was found and at which byte. `wsp disasm` reads what `wsp asm` writes.";
    /// A program that says what a workload cannot.
    pub(super) NO_WORKLOAD = 939, "program that is no workload",
        "\
A program that generates tasks (`.ptow`, `.ptows`) is run, listed and checked as the workload that generates the same tasks. What
`wsp asm` makes of a workload has that form again, up to names of loops. Programs that were written by hand may say what no workload
does: generators of descriptors, processes, the number of a round of `WHILE`, attributes within loops, tasks of one kernel with arguments of
several kinds. The note has the word of the program and what it is.";
}
