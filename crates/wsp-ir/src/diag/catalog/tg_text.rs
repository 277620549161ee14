//! Task graphs: the text form, 1400 to 1429.

use super::CodeInfo;
use crate::diag::Code;

/// The codes of this group.
pub(super) const CODES: &[CodeInfo] = &[
    CodeInfo {
        code: Code(1400),
        title: "task-graph text too long",
        explanation: "\
A task-graph unit as text has more bytes than are read. Units of that size are better written as `.ptog` by whoever makes
them, or split into several.",
    },
    CodeInfo {
        code: Code(1401),
        title: "too many errors in a task-graph text",
        explanation: "\
More errors were found than are printed. They are shown in source order, so repair the first ones and read the text again;
later ones often follow from them.",
    },
    CodeInfo {
        code: Code(1402),
        title: "malformed token in a task-graph text",
        explanation: "\
A character starts no token, an integer is malformed or has more than 64 bits, or a string or a comment has no end. Comments
are `// …` and `/* … */`. Integers are written `42`, `0x2A`, `0b101` or `1_000_000`. Strings stand on one line; `\\\\`, `\\\"`
and `\\u{1F}` are their escapes.",
    },
    CodeInfo {
        code: Code(1403),
        title: "unknown statement in a task-graph text",
        explanation: "\
A line begins with neither an instruction (`TG_KERNEL(…)`, in capitals) nor a declaration (`use`, `extern`, `const`, `arg`,
`host`, `reference`, `name`). `docs/reference/tg.md` lists all of them.",
    },
    CodeInfo {
        code: Code(1404),
        title: "something else was needed in a task-graph text",
        explanation: "\
The text cannot go on as it does. A statement ends with its line once its parentheses and braces are closed; two statements on one
line have a `;` between them.",
    },
    CodeInfo {
        code: Code(1405),
        title: "operands of an instruction",
        explanation: "\
An operand is missing, there are too many, one is given twice, or none has the name given. Operands come in the order of the
instruction; any may be given by name instead, behind those that are not: `MC_ALLOC(T, 4096, location = L2)`. Those with a default may
be left out.",
    },
    CodeInfo {
        code: Code(1406),
        title: "unknown name in a task-graph text",
        explanation: "\
Nothing defines the name: a kernel comes from a `TG_KERNEL` of the same graph, a graph from `TG_BEGIN` or `TG_FUSE`, a partition from
`CA_PARTITION`, each before or behind its uses; a scalar in an expression from `const`, `arg`, `host` or a loop before it. Devices have
no names, but `const LEFT = 0` makes one.",
    },
    CodeInfo {
        code: Code(1407),
        title: "a word that is none of the choices",
        explanation: "\
The operand is one of a few words, such as the types of cores `AIC`, `AIV`, `AIC_AIV`, `AICPU`. They are written as the reference
lists them.",
    },
    CodeInfo {
        code: Code(1408),
        title: "a number that does not fit in a task-graph text",
        explanation: "\
A number is smaller or larger than can stand at its place. The note says what can.",
    },
    CodeInfo {
        code: Code(1409),
        title: "a constant is needed in a task-graph text",
        explanation: "\
Sizes, counts of cores and numbers of things are fixed when the unit is read: they are made of numbers and `const` names. Only
conditions, counts of loops, and offsets, sizes and tables of bindings may depend on loop variables, `arg`s, tensors or
`iteration`.",
    },
    CodeInfo {
        code: Code(1410),
        title: "constants without a value",
        explanation: "\
A constant part of an expression divides by zero or has a value beyond 64 bits with sign.",
    },
    CodeInfo {
        code: Code(1411),
        title: "an expression that is too large",
        explanation: "\
An expression has too many operations, or too many of them inside each other. Give constant parts a name with `const`; let a kernel
compute the others into a tensor.",
    },
    CodeInfo {
        code: Code(1412),
        title: "a name declared twice in a task-graph text",
        explanation: "\
A tensor is declared `extern` twice, or a `const`, `arg` or `host` has a name that another has, or that expressions give a
meaning (`iteration`, `device`, `devices`).",
    },
    CodeInfo {
        code: Code(1413),
        title: "a tensor that nothing declares",
        explanation: "\
A warning: the tensor is used, but nothing allocates or declares it, so whoever runs the unit must provide it. If that is meant, declare
it: `extern NAME: f16[ROWS, COLUMNS]`. Otherwise it is a slip in the name, or an `MC_ALLOC` is missing.",
    },
];
