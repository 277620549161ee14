//! The text form of workloads: `.wsp` files.
//!
//! [`parse`] reads a file, [`print()`] writes a module; a printed module reads as itself, up to source positions and to loop
//! variables that hide a name which their body uses and are therefore renamed.
//!
//! Names of the file are visible in all of it; what the model orders (a parameter uses earlier ones, an inner axis stands
//! below its outer one, a call names an earlier workload) is a rule of [`verify`](super::verify), which [`parse`] applies.
//!
//! # Reading
//! The outline cuts the tokens into items and declares their names, so that an item is read knowing all others,
//! and a broken one costs no other. A function that cannot go on reports once and returns `Skip`; nobody reports on the
//! way up. A block resumes at its next statement, the file at its next item.
//!
//! **Invariant:** every loop consumes a token per turn or ends; `Parser::depth` and `Parser::expr_depth` bound recursion.

pub(crate) mod codes;
mod cursor;
mod expr;
mod item;
mod outline;
mod pipeline;
mod print;
mod recover;
mod schedule;
mod scope;
mod stmt;
mod task;
mod tokens;
pub(crate) mod words;

pub(super) use print::Printer;
pub use print::{print, print_expr};
pub use tokens::states_something;
pub use words::is_name;
pub(super) use wsp_syntax::Tok;

use self::scope::VisibleNames;
use super::WorkloadModule;
use super::verify::verify;
use std::ops::{Deref, DerefMut};
use wsp_core::limits::MAX_SOURCE_BYTES;
use wsp_diag::{Diagnostic, FileId, Sink, SourceMap, Span};
use wsp_syntax::{Cursor, Ends, Token};

/// Reads a `.wsp` file, adds it to `sources` under `name`, and checks it.
///
/// Total over any text: a module that keeps every rule of [`verify`](super::verify), perhaps with warnings, or
/// diagnostics of which at least one is an error; at most [`MAX_DIAGNOSTICS`](wsp_core::limits::MAX_DIAGNOSTICS), in
/// source order.
///
/// ```
/// use wsp_ir::workload::text;
/// use wsp_diag::SourceMap;
/// let source = "param n = 4; tensor x: f32[n]; kernel scale(inout x);
///               workload main { parallel for i in 0..n { scale(x[i]); } }";
/// let (module, diagnostics) = text::parse("scale.wsp", source, &mut SourceMap::default());
/// assert!(diagnostics.is_empty());
/// assert_eq!(module.unwrap().workloads[0].vars[0].name, "i");
/// ```
pub fn parse(name: &str, text: &str, sources: &mut SourceMap) -> (Option<WorkloadModule>, Vec<Diagnostic>) {
    let file = sources.add(name, text);
    if text.len() > MAX_SOURCE_BYTES as usize {
        let diagnostic = Diagnostic::error(codes::SOURCE_TOO_LARGE, "the source file is too large")
            .at(Span::new(file, 0, 0), "")
            .note(format!("it has {} bytes; at most {MAX_SOURCE_BYTES} are accepted", text.len()));
        return (None, vec![diagnostic]);
    }
    let (module, found) = read(file, text);
    if found.iter().any(Diagnostic::is_error) {
        return (None, found);
    }
    let found = verify(&module);
    let valid = !found.iter().any(Diagnostic::is_error);
    (valid.then_some(module), found)
}

/// Reads a text without checking the module.
fn read(file: FileId, text: &str) -> (WorkloadModule, Vec<Diagnostic>) {
    let (tokens, lexical) = tokens::lex(file, text);
    let mut parser = Parser::new(file, text, tokens);
    parser.file();
    (parser.module, lexical.merge(parser.sink, codes::TOO_MANY_ERRORS))
}

/// The construct is broken, and that is reported.
#[derive(Debug)]
pub(super) struct Skip;

pub(super) type Parsed<T> = Result<T, Skip>;

pub(super) struct Parser<'t> {
    cursor: Cursor<'t>,
    /// Statements around the current one.
    depth: u32,
    /// Expressions around the current one, in its statement.
    expr_depth: u32,
    /// A `}` is missing in the current item, and that is reported.
    unclosed: bool,
    /// The first block of the item whose `}` stands further left than the line that opens it.
    suspect: Option<Token>,
    scope: VisibleNames<'t>,
    module: WorkloadModule,
    sink: Sink,
}

impl<'t> Deref for Parser<'t> {
    type Target = Cursor<'t>;

    fn deref(&self) -> &Cursor<'t> {
        &self.cursor
    }
}

impl DerefMut for Parser<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.cursor
    }
}

impl<'t> Parser<'t> {
    fn new(file: FileId, text: &'t str, tokens: Vec<Token>) -> Parser<'t> {
        Parser {
            cursor: Cursor::new(file, text, tokens, Ends::File),
            depth: 0,
            expr_depth: 0,
            unclosed: false,
            suspect: None,
            scope: VisibleNames::default(),
            module: WorkloadModule::default(),
            sink: Sink::default(),
        }
    }

    /// Reads the items, those of one kind in source order, kinds in the order in which they need each other.
    fn file(&mut self) {
        let items = self.outline();
        for group in outline::GROUPS {
            for item in items.iter().filter(|item| group.contains(&item.kind)) {
                (self.pos, self.end) = (item.first, item.end);
                self.open.clear();
                (self.depth, self.expr_depth) = (0, 0);
                (self.unclosed, self.suspect) = (false, None);
                self.scope.close(0);
                self.scope.labels.clear();
                self.scope.channels.clear();
                self.scope.arrays.clear();
                let parsed = self.item(*item);
                self.finish_item(parsed);
            }
        }
        self.module.entry = self.module.runs();
    }

    /// Reports what stands behind an item that is read, unless the item is broken.
    fn finish_item(&mut self, parsed: Parsed<()>) {
        while parsed.is_ok() && self.eat(Tok::Semi) {}
        if parsed.is_err() || self.at(Tok::Eof) {
            return;
        }
        let _reported = if matches!(self.tok(), Tok::RBrace | Tok::RParen | Tok::RBracket) {
            self.unmatched_closer()
        } else {
            self.not_an_item()
        };
    }
}
