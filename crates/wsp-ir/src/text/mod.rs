//! The text form of a module: [`print()`] and [`parse`], each the other's inverse.
//!
//! The text is for people who read what a pass did, for tests, and for tools. It holds all of a module but the source
//! positions, and two equal modules print alike. `print(parse(print(m)))` is `print(m)` for every module that nests no
//! deeper than the verifier allows; what is read need not be a valid module, which [`crate::verify()`] decides.
//!
//! **Compatibility:** the number after `wsp-ir` is the version, [`VERSION`]. A reader takes its own version only.
//!
//! # Grammar
//!
//! ```text
//! text  = "(" "wsp-ir" version module ")"
//! node  = word | string | form | list
//! form  = "(" word (node | keyword node)* ")"     a node with parts: by place first, then by name
//! list  = "[" node* "]"                           a vector, or a pair
//! word  = any characters but blanks, brackets, quotes and ";"
//! keyword = a word that ends in ":"
//! string  = '"' (character | \" | \\ | \n | \t | \u{hex})* '"'       on one line
//! ```
//!
//! A `;` begins a comment that ends with the line. Blanks, which are those of C, only separate.
//!
//! * A struct is a form with its fields by name, in declared order: `(param name: "chunk" ty: u32 source: entry)`. A field
//!   that is `false`, an empty list or nothing is left out.
//! * A variant is a form with its values by place, or by name if they have names; without values it is a word: `(array u32)`,
//!   `(shape of: (tensor t0.q) dim: 3)`, `entry`. A missing value by place is `none`.
//! * An id is a letter or a few, a number, and, for the reader's sake only, the name: `t3.output`. The letters: `l` variable,
//!   `p` parameter, `t` tensor, `c` cache, `ax` axis, `s` space, `ts` tier set, `sch` schedule, `d` descriptor type,
//!   `f` function, `g` graph.
//! * An expression has its type after its first word: `5:u32`, `l3.low:u32`, `(add:u32 l3.low:u32 1:u32)`. Literals, variables
//!   and parameters are bare words; operators and functions stand for themselves.
//! * A tile operation is a statement of its own: `(row_reduce op: max dst: l4.m src: l3.scores)`.
//!
//! ```
//! use wsp_ir::{Module, text};
//! let module = Module::default();
//! let printed = text::print(&module);
//! assert_eq!(printed, "(wsp-ir 1 module)\n");
//! assert_eq!(text::parse(&printed), Ok(module));
//! ```

mod code;
mod leaf;
mod node;
#[cfg(test)]
mod random;
mod tables;
#[cfg(test)]
mod tests;
mod tree;

use crate::{BinOp, Const, ExprKind, Module, StmtKind, UnOp};
use node::{Args, Choice, Names, Parsed, Text};
use tree::{Fault, Tree};
use wsp_diag::{Diagnostic, FileId, SourceMap, Span};

/// The version of the text form.
pub const VERSION: u32 = 1;

wsp_diag::codes! {
    /// The text is not the text form of a module.
    pub(crate) MALFORMED = 390, "not the text form of a module",
        "The text does not follow the grammar of IR text, or is of another version. The message says what was expected at\n\
         the place shown.";
}

/// The first word of every text.
const HEAD: &str = "wsp-ir";

/// The text form of a module. Ends with a line break.
pub fn print(module: &Module) -> String {
    let names = Names::of(module);
    Tree::form(vec![Tree::word(HEAD), Tree::word(VERSION.to_string()), module.print(names)]).layout()
}

/// The module that a text describes; all its spans are empty.
///
/// # Errors
/// `WSP0390` with line and column when the text does not follow the grammar. The span is of file 0: add the text as
/// first file to a [`SourceMap`] to render it.
#[allow(clippy::result_large_err, reason = "a text is read once, and a diagnostic is what callers collect")]
pub fn parse(text: &str) -> Result<Module, Diagnostic> {
    tree::read(text).and_then(|tree| module(&tree)).map_err(|fault| diagnose(text, fault))
}

fn module(tree: &Tree) -> Parsed<Module> {
    let mut args = Args::of(tree)?;
    if args.head != HEAD {
        return Err(Fault::new(tree.at, format!("expected `({HEAD} …)`")));
    }
    let version: u32 = args.item("version")?;
    if version != VERSION {
        return Err(Fault::new(tree.at, format!("version {version} is not read here, only {VERSION}")));
    }
    let module = args.item("module")?;
    args.done()?;
    Ok(module)
}

fn diagnose(text: &str, fault: Fault) -> Diagnostic {
    let mut map = SourceMap::default();
    let span = Span::new(map.add("IR text", text), fault.at.0, fault.at.1);
    let (line, column) = map.line_col(span);
    let diagnostic = Diagnostic::error(MALFORMED, fault.message).at(Span { file: FileId(0), ..span }, "here");
    let diagnostic = diagnostic.note(format!("line {line}, column {column} of the IR text"));
    match fault.meant {
        Some(name) => diagnostic.help(format!("did you mean `{name}`?")),
        None => diagnostic,
    }
}

/// The word for an operator of one operand.
pub(crate) fn unary_word(op: UnOp) -> &'static str {
    op.head()
}

/// The word for an operator of two operands.
pub(crate) fn binary_word(op: BinOp) -> &'static str {
    op.head()
}

/// The text of a literal, without its type.
pub(crate) fn literal_word(value: Const) -> String {
    code::literal_word(value)
}

/// The first word of an expression of this form.
pub(crate) fn expr_head(kind: &ExprKind) -> &'static str {
    kind.head()
}

/// The first word of a statement of this form.
pub(crate) fn stmt_head(kind: &StmtKind) -> &'static str {
    match kind {
        StmtKind::Tile(op) => op.head(),
        other => other.head(),
    }
}
