//! Codes of reading `.wsp` text.

wsp_diag::codes! {
    /// The file has more bytes than a source may have.
    pub(super) SOURCE_TOO_LARGE = 700, "workload file too large",
        "\
A `.wsp` file has more bytes than a source file may have (`wsp config` prints the limit). Long tables are bound at launch:
declare `table t[n];` and pass `--input t=t.npy`.";
    /// More errors than are kept.
    pub(super) TOO_MANY_ERRORS = 701, "too many errors in a workload file",
        "\
More errors were found than are printed. They are shown in source order, so repair the first ones and read the file
again; later ones often follow from them.";
    /// A character that starts no token.
    pub(super) STRAY_CHARACTER = 702, "unexpected character in a workload file",
        "\
A character starts no token of the language: `#`, `$`, a single `&` or `|`, a typographic quote or dash, a non-breaking
space, a control character. Delete it or type the plain ASCII character.";
    /// `/*` without `*/`.
    pub(super) UNTERMINATED_COMMENT = 703, "comment without an end in a workload file",
        "\
A `/*` has no `*/` before the end of the file. Comments do not nest: the first `*/` ends a comment.
Close the comment, or use `//`, which ends with its line.";
    /// A string without an end, or one where none can stand.
    pub(super) BAD_STRING = 704, "misplaced or unfinished string",
        "\
A `\"` has no partner on its line, or a string stands where a value is needed. Strings name files in `use \"kernels.pto\";`
and stand nowhere else. Inside one, `\\` is a backslash and `\"` a quote.";
    /// A word that starts with a digit and is no integer.
    pub(super) MALFORMED_NUMBER = 705, "malformed number in a workload file",
        "\
A word that starts with a digit is no integer. Integers are written `42`, `0x2A` or `1_000_000`; workloads compute with
integers only, so `0.5` is refused. Names do not start with a digit.";
    /// An integer that does not fit what it is for.
    pub(super) NUMBER_OUT_OF_RANGE = 706, "number out of range in a workload file",
        "\
A number does not fit what it is for: values have 64 bits with sign, counts of schedules 32 bits. The message says
how large a number can stand here.";
    /// A name with characters outside ASCII.
    pub(super) NON_ASCII_NAME = 707, "name outside ASCII in a workload file",
        "\
Names are made of the letters `a`-`z` and `A`-`Z`, digits and `_`. Comments may hold any text.";
    /// Some other token was needed.
    pub(super) EXPECTED_TOKEN = 708, "unexpected token in a workload file",
        "\
The grammar needs something else at this place; the message says what. The place is marked behind the last thing
understood when the next thing stands on another line.";
    /// A statement or item does not end.
    pub(super) EXPECTED_SEMICOLON = 709, "missing `;` in a workload file",
        "\
Items, tasks, calls and statements of schedules end with `;`. Blocks `{ … }` do not need one.";
    /// `(`, `[` or `{` without its partner.
    pub(super) UNCLOSED = 710, "unclosed delimiter in a workload file",
        "\
A `(`, `[` or `{` has no partner where its list or block must end. The message shows where it was opened. A word such as
`tensor` or `workload` starts an item wherever it stands, so that a missing `}` is found at the next item.";
    /// `)`, `]` or `}` without its partner.
    pub(super) UNMATCHED_CLOSER = 711, "unmatched closing delimiter in a workload file",
        "\
A `)`, `]` or `}` closes nothing. Delete it, or add what should open it; often a `}` further up is one too many.";
    /// An expression was needed.
    pub(super) EXPECTED_EXPRESSION = 712, "expected an expression in a workload file",
        "\
A value is needed here: a number, a parameter, a loop's variable, a slot, an element of a table `t[i]`, `len(t)`,
`min(a, b)`, `max(a, b)`, `ceildiv(a, b)`, or an operator with its operands.";
    /// A name was needed.
    pub(super) EXPECTED_NAME = 713, "expected a name in a workload file",
        "\
A plain name is needed here. Keywords (`for`, `in`, `table`, `tensor`, …) cannot be used; append a `_`.";
    /// Something that cannot stand at file level.
    pub(super) EXPECTED_ITEM = 714, "expected an item",
        "\
Files consist of items, which begin with `use`, `param`, `let`, `table`, `axis`, `tensor`, `slot`, `kernel`, `workload` or
`schedule`. Statements such as loops and tasks stand in the braces of a workload.";
    /// Something that is no statement.
    pub(super) EXPECTED_STATEMENT = 715, "expected a statement in a workload",
        "\
Statements of a workload are tasks `k(…);`, labelled tasks `let p = k(…);`, `call w(…);`, `for`, `parallel for`, `select`,
`if`, `while`, `combine` and `sequential`. Nothing is assigned.";
    /// Statements or expressions nest too deeply.
    pub(super) NESTED_TOO_DEEPLY = 716, "nested too deeply in a workload file",
        "\
Statements or the operators of one expression nest deeper than is read (`wsp config` prints the limit). Move inner
statements to a workload and `call` it; name part of an expression with `let`.";
    /// Written as in another language.
    pub(super) FOREIGN_SYNTAX = 717, "syntax of another language",
        "\
Something is written as in C or Rust and not as here: `for (i = 0; …)`, `for i = 0..n`, `i += 1`, or `in x` at the call of
a kernel. Loops are written `for i in 0..n { … }`; how a tensor is used is said in the declaration of the kernel.";
    /// A range without one of its ends, or an inclusive one.
    pub(super) BAD_RANGE = 718, "half a range",
        "\
A range has both ends and is half-open: `lo..hi` or `lo +: count`. `..` alone is all of a dimension.";
    /// `a < b < c`.
    pub(super) COMPARISON_CHAIN = 719, "chained comparison",
        "\
`a < b < c` would compare the truth value of `a < b` with `c`. Write `a < b && b < c`, or, if that is meant,
`(a < b) < c`.";
    /// `else` without `if`.
    pub(super) LONE_ELSE = 720, "`else` without `if` in a workload",
        "\
An `else` stands right behind the `}` of an `if`: `if c { … } else { … }`.";
    /// Two declarations of one name.
    pub(super) DECLARED_TWICE = 730, "name declared twice in a workload file",
        "\
Parameters, tables, axes, tensors, slots, kernels and workloads of a file share their names, and so do the formal
arguments of one workload. Rename one. Loop variables may hide any name.";
    /// A name that nothing declares.
    pub(super) UNDECLARED_NAME = 731, "undeclared name in a workload file",
        "\
Nothing declares this name, or a loop variable of this name is not visible here. Names of the file are visible in all of
it, loop variables and formal arguments in their block only.";
    /// A name that stands for something else than is needed.
    pub(super) WRONG_KIND = 732, "name of the wrong kind in a workload file",
        "\
The name stands for something that cannot be used here, such as a tensor where a value is needed or a workload where a
kernel is. The message shows where it is declared. A loop variable hides what has its name outside.";
    /// A kernel that nothing declares.
    pub(super) UNDECLARED_KERNEL = 733, "undeclared kernel",
        "\
Nothing declares this kernel, and the file uses no other file that could. Declare it, `kernel k(in a, n, out b);`, or name
the file that has it, `use \"kernels.pto\";`.";
    /// A label that nothing before defines.
    pub(super) UNDECLARED_LABEL = 734, "undeclared label",
        "\
`after` names labels of tasks that stand earlier in the same workload: `let p = k(…);` and then `l(…) after p;`.";
    /// A schedule statement that does not exist.
    pub(super) UNKNOWN_DIRECTIVE = 735, "unknown statement of a schedule",
        "\
No statement of schedules begins with this word. The message lists those that do, or names the nearest; settings such as `deps` and
`ready` stand in the brackets of `task_graph`.";
    /// A setting of `task_graph` that does not exist.
    pub(super) UNKNOWN_SETTING = 736, "unknown setting of `task_graph`",
        "\
`task_graph` has the settings `deps`, `window`, `pools`, `ready`, `start` and `trace`: `task_graph(deps = overlap, ready =
fifo);`.";
    /// A word that is none of those which can stand here.
    pub(super) UNKNOWN_WORD = 737, "unknown word",
        "\
The word is none of those that can stand here: element types, kinds of axes, execution units, policies, modes. The message
lists them.";
    /// Arguments of a form that takes others.
    pub(super) FORM_ARGUMENTS = 738, "arguments of a form",
        "\
A form has more or fewer arguments than it takes, or a file has more kernels than can be numbered.";
    /// A channel that nothing before declares.
    pub(super) UNDECLARED_CHANNEL = 739, "undeclared channel",
        "\
`send`, `consume` and `close` name a channel of their workload that is declared before them: `channel tiles[2];`.";
    /// Copies of processes and arrays of channels that cannot be written out.
    pub(super) COPIES = 740, "copies and ends of processes",
        "\
`replicate w in 0..4 process work { … }` is read once for each number, which stands in the place of `w`, and `channel parts[4][2];` declares 4
channels `parts[0]` to `parts[3]` of depth 2. Both take numbers, not parameters: the file is read before they have values.
`connect load.out to work.tiles [2];` declares a channel that the two processes, written behind it, call by these names.";
}
