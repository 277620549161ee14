//! Diagnostic codes of machine models.

wsp_diag::codes! {
    pub(super) TEXT = 1740, "the text of a machine model cannot be read",
        "A machine model is a file of TOML, of which a part is read: `[table]`, `[[table]]`, and lines `key = value`, where a value is a \
            string in `\"`, a decimal number, or an inline table `{ value = …, unit = \"…\", mark = \"…\", source = \"…\" }` of strings and numbers. \
            No key is given twice, no table but those of `[[…]]` stands twice. docs/reference/models.md has the tables.";
    pub(super) NAME = 1741, "a machine model has a table or key of an unknown name",
        "Each table of a machine model and each key in it means something; others would have no effect and are refused. \
            docs/reference/models.md lists them.";
    pub(super) MISSING = 1742, "something is missing in a machine model",
        "A machine model has a name, a clock, units and memories, and every figure has a value, a unit, a mark and a source: how a figure is known \
            is part of it. The message says what is missing and how it is written.";
    pub(super) FIGURE = 1743, "a figure or word of a machine model is not one that can be there",
        "A figure is a finite number in the unit that the key asks for: counts and bytes are whole, and what something is divided by is above 0. \
            Its mark is `measured`, `stated` or `assumed`; its source says in words where it is from, and is not empty.";
    pub(super) PARTS = 1744, "parts of a machine model do not fit together",
        "Units have numbers of their own, memories and paths names of their own, paths join memories that the model has, and an operation is \
            costed once. The message names the two parts.";
    pub(super) UNKNOWN_MODEL = 1745, "no machine model has this name",
        "A model is one that comes with the project, `cpu`, `ascend_910b`, `ascend_910c` or `ascend_950`, or a file, whose path has a `.` or a `/` in it.";
}
