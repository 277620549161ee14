//! Codes of the diagnostics of this text form.

wsp_diag::codes! {
    /// The text has more bytes than are read.
    pub(super) TOO_LARGE = 1400, "task-graph text too long",
        "\
A task-graph unit as text has more bytes than are read. Units of that size are better written as `.ptog` by the program that makes
them, or split into several.";
    /// More errors than are kept.
    pub(super) TOO_MANY_ERRORS = 1401, "too many errors in a task-graph text",
        "\
More errors were found than are printed. They are shown in source order, so repair the first ones and read the text again;
later ones often follow from them.";
    /// A character, number, string or comment that is none.
    pub(super) BAD_TOKEN = 1402, "malformed token in a task-graph text",
        "\
A character starts no token, an integer is malformed or has more than 64 bits, or a string or a comment has no end. Comments
are `// …` and `/* … */`. Integers are written `42`, `0x2A`, `0b101` or `1_000_000`. Strings stand on one line; `\\\\`, `\\\"`
and `\\u{1F}` are their escapes.";
    /// No statement begins with this word.
    pub(super) UNKNOWN_STATEMENT = 1403, "unknown statement in a task-graph text",
        "\
A line begins with neither an instruction (`TG_KERNEL(…)`, in capitals) nor a declaration (`use`, `extern`, `const`, `arg`,
`host`, `reference`, `name`). `docs/reference/tg.md` lists all of them.";
    /// Something else was needed.
    pub(super) EXPECTED = 1404, "something else was needed in a task-graph text",
        "\
The text cannot go on as it does. A statement ends with its line once its parentheses and braces are closed; two statements on one
line have a `;` between them.";
    /// Operands that are missing, too many, unknown or given twice.
    pub(super) OPERANDS = 1405, "operands of an instruction",
        "\
An operand is missing, there are too many, one is given twice, or none has the name given. Operands come in the order of the
instruction; any may be given by name instead, behind those that are not: `MC_ALLOC(T, 4096, location = L2)`. Those with a default may
be left out.";
    /// A name that nothing defines.
    pub(super) UNKNOWN_NAME = 1406, "unknown name in a task-graph text",
        "\
Nothing defines the name: a kernel comes from a `TG_KERNEL` of the same graph, a graph from `TG_BEGIN` or `TG_FUSE`, a partition from
`CA_PARTITION`, each before or behind its uses; a scalar in an expression from `const`, `arg`, `host` or a loop before it. Devices have
no names, but `const LEFT = 0` makes one.";
    /// A word that is none of the choices.
    pub(super) UNKNOWN_CHOICE = 1407, "a word that is none of the choices",
        "\
The operand is one of a few words, such as the types of cores `AIC`, `AIV`, `AIC_AIV`, `AICPU`. They are written as the reference
lists them.";
    /// A number that does not fit where it stands.
    pub(super) OUT_OF_RANGE = 1408, "a number that does not fit in a task-graph text",
        "\
A number is smaller or larger than can stand at its place. The note says what can.";
    /// An expression where a constant is needed.
    pub(super) NOT_CONSTANT = 1409, "a constant is needed in a task-graph text",
        "\
Sizes, counts of cores and numbers of things are fixed when the unit is read: they are made of numbers and `const` names. Only
conditions, counts of loops, and offsets, sizes and tables of bindings may depend on loop variables, `arg`s, tensors or
`iteration`.";
    /// Constants whose value cannot be computed.
    pub(super) ARITHMETIC = 1410, "constants without a value",
        "\
A constant part of an expression divides by zero or has a value beyond 64 bits with sign.";
    /// An expression that is too large or nested too deeply.
    pub(super) TOO_DEEP = 1411, "an expression that is too large",
        "\
An expression has too many operations, or too many of them inside each other. Give constant parts a name with `const`; let a kernel
compute the others into a tensor.";
    /// A name that is declared twice, or that cannot be declared.
    pub(super) DECLARED_TWICE = 1412, "a name declared twice in a task-graph text",
        "\
A tensor is declared `extern` twice, or a `const`, `arg` or `host` has a name that another has, or that expressions give a
meaning (`iteration`, `device`, `devices`).";
    /// A tensor that nothing declares.
    pub(super) UNDECLARED_TENSOR = 1413, "a tensor that nothing declares",
        "\
A warning: the tensor is used, but nothing allocates or declares it, so the caller of the unit must provide it. If that is meant, declare
it: `extern NAME: f16[ROWS, COLUMNS]`. Otherwise it is a slip in the name, or an `MC_ALLOC` is missing.";
}
