//! Assemblers and disassemblers: 910 to 939.

use super::{Code, CodeInfo};

/// The codes of this group.
pub(super) const CODES: &[CodeInfo] = &[
    CodeInfo {
        code: Code(910),
        title: "program text too large",
        explanation: "\
A program as text has more bytes than a source file may have (`wsp config` prints the limit). A program of that size is
better written by a compiler than by hand.",
    },
    CodeInfo {
        code: Code(911),
        title: "too many errors in a program text",
        explanation: "\
More errors were found than are printed. They are shown in source order, so repair the first ones and assemble again;
later ones often follow from them.",
    },
    CodeInfo {
        code: Code(912),
        title: "malformed token in a program text",
        explanation: "\
A character starts no token, an integer is malformed or has more than 64 bits, or a string has no end or an unknown
escape. Comments begin with `;`. Integers are written `42`, `0x2A` or `1_000_000`. Strings stand on one line; `\\\\`, `\\\"` and
`\\u{1F}` are their escapes.",
    },
    CodeInfo {
        code: Code(913),
        title: "unknown instruction or directive",
        explanation: "\
A line begins with a word that is no instruction, or with a `.word` that is no directive. Instructions are written in
capitals. `docs/reference/ptow.md` lists all of them.",
    },
    CodeInfo {
        code: Code(914),
        title: "unknown name in a program text",
        explanation: "\
A name stands where a value, table, axis, kernel, tensor, label, policy or operation is needed, and none has this name.
Values, tables, axes, kernels and tensors are declared by directives; a label is a name with `:` behind it. Loop variables
are named by depth: `i0` is that of the outermost loop.",
    },
    CodeInfo {
        code: Code(915),
        title: "declared twice in a program text",
        explanation: "\
A label, a symbol or a directive stands twice. Rows of a table may have the same name in the program, but not the same
symbol in its text: `.value v1 \"n\"` declares the symbol `v1` for a value whose name is `n`.",
    },
    CodeInfo {
        code: Code(916),
        title: "something else expected in a program text",
        explanation: "\
A line cannot go on as it does. The message says what was needed, and how the instruction is written: `BODY|-` is a label, or
`-` for none; what stands in brackets may be left out.",
    },
    CodeInfo {
        code: Code(917),
        title: "number out of range in a program text",
        explanation: "\
A number does not fit the field that it is for. The message says how large it can be. An expression that another word
names with 16 bits begins within the first 65,535 words of all expressions.",
    },
    CodeInfo {
        code: Code(918),
        title: "expression nested too deeply in a program text",
        explanation: "\
More than 64 parentheses and operators stand inside each other. Give a part of the expression to a loop variable with `LET`,
or write its words in braces: `{value n, const 1, add}`.",
    },
    CodeInfo {
        code: Code(919),
        title: "program breaks a rule of its format",
        explanation: "\
The text was read, but the program that it describes would be refused wherever it is loaded. The message shows the line,
the rule, and what the rule allows; `docs/reference/ptow.md` lists the rules by their ids. `wsp disasm` prints programs that break
rules, too.",
    },
    CodeInfo {
        code: Code(920),
        title: "program too large for its format",
        explanation: "\
A program has more words, rows or bytes of names than its format counts. The message has both numbers. Names can be left
out with `.names none`.",
    },
    CodeInfo {
        code: Code(921),
        title: "file is no program",
        explanation: "\
The bytes of a file are no program: it begins with other bytes, has another version, or is cut off. The message says
what was found and at which byte. `wsp disasm` reads what `wsp asm` writes.",
    },
    CodeInfo {
        code: Code(922),
        title: "program to a terminal",
        explanation: "\
`wsp asm` would print bytes to a terminal. Give a file with `--output FILE.ptow`, or send its output to a file or to another
program. `wsp disasm` prints a program as text.",
    },
];
