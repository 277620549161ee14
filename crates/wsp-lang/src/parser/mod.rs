//! Tokens to the syntax tree: recursive descent, with operator precedence for expressions.
//!
//! # Recovery
//! A function that cannot go on reports once and returns [`Skip`]; nobody reports on the way up. Whoever can resume
//! catches it: [`Parser::file`] at the next item, a block at the next statement, a `PTO_` block form at its next member.
//! What was broken is absent from the tree. [`Cursor::open`] holds the delimiters that are open, so that a resume point
//! inside a broken list is not mistaken for the end of the statement around it.
//!
//! **Invariant:** every loop consumes a token per turn or ends, [`Parser::blocks`] and [`Parser::depth`] bound recursion, and
//! [`Parser::height`] the trees of expressions.

mod cursor;
mod expr;
mod foreign;
mod form;
mod function;
mod item;
mod member;
mod recover;
mod stmt;
mod types;

use crate::ast;
use crate::codes;
use crate::include;
use crate::tokens::{self, Lexed};
use std::collections::{HashMap, HashSet};
use std::ops::{Deref, DerefMut};
use std::rc::Rc;
use wsp_core::limits::MAX_SOURCE_BYTES;
use wsp_diag::{Diagnostic, FileId, Sink};
use wsp_syntax::{Cursor, Ends, Tok, Token};

/// Parses one file.
///
/// Total over any text. What does not parse is reported and absent; at most
/// [`MAX_DIAGNOSTICS`](wsp_core::limits::MAX_DIAGNOSTICS) diagnostics come back, in source order.
pub fn parse(file: FileId, text: &str) -> (ast::File, Vec<Diagnostic>) {
    if text.len() > MAX_SOURCE_BYTES as usize {
        return (ast::File::default(), vec![include::too_large(file, text.len())]);
    }
    let lexed = tokens::lex(file, text);
    let templates = template_names(text, &lexed.tokens);
    parse_tokens(file, text, lexed, &templates)
}

/// Parses the tokens of one file. `templates` are the functions with `template` in all files of the program.
pub(crate) fn parse_tokens(
    file: FileId,
    text: &str,
    lexed: Lexed,
    templates: &HashSet<&str>,
) -> (ast::File, Vec<Diagnostic>) {
    let mut parser = Parser::new(file, text, lexed.tokens, templates);
    let items = parser.file();
    (ast::File { items }, lexed.sink.merge(parser.sink, codes::TOO_MANY_ERRORS))
}

/// The names of the functions with `template`: those before the first `(` after each `template <…>`.
pub(crate) fn template_names<'t>(text: &'t str, tokens: &[Token]) -> HashSet<&'t str> {
    let mut names = HashSet::new();
    let mut in_header = false;
    let mut last = "";
    for token in tokens {
        let body = &text[token.start as usize..token.end as usize];
        match token.kind {
            Tok::Ident if body == "template" => in_header = true,
            Tok::Ident => last = body,
            Tok::LParen if in_header => {
                names.insert(last);
                in_header = false;
            }
            Tok::LBrace | Tok::RBrace | Tok::Semi => in_header = false,
            _ => {}
        }
    }
    names
}

/// The construct is broken, and that is reported.
#[derive(Debug)]
struct Skip;

type Parsed<T> = Result<T, Skip>;

struct Parser<'t> {
    cursor: Cursor<'t>,
    /// How many statements with blocks are around the current token, in one function.
    blocks: u32,
    /// How many parts of one expression or type are.
    depth: u32,
    /// How high the tree of the current expression is.
    height: u32,
    /// `>` ends the expression, which is a template argument.
    stop_at_gt: bool,
    /// `{` ends the expression, which stands before a body, unless a field follows.
    stop_at_brace: bool,
    /// How many delimiters are open in the list of fields around the current value.
    fields_level: Option<usize>,
    /// The current token is at an item although blocks are open: a `}` is missing and that is reported.
    item_ahead: bool,
    /// An item was out of place and none has parsed since.
    lost: bool,
    /// How many more `{` than `}` the file has.
    brace_excess: i64,
    /// The first block whose `}` stands further left than the line that opens it.
    suspect: Option<Token>,
    /// Names of functions with `template`.
    templates: &'t HashSet<&'t str>,
    names: HashMap<&'t str, Rc<str>>,
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
    fn new(file: FileId, text: &'t str, tokens: Vec<Token>, templates: &'t HashSet<&'t str>) -> Parser<'t> {
        let count = |kind| tokens.iter().filter(|t| t.kind == kind).count() as i64;
        Parser {
            blocks: 0,
            depth: 0,
            height: 0,
            stop_at_gt: false,
            stop_at_brace: false,
            fields_level: None,
            item_ahead: false,
            lost: false,
            brace_excess: count(Tok::LBrace) - count(Tok::RBrace),
            suspect: None,
            templates,
            names: HashMap::new(),
            sink: Sink::default(),
            cursor: Cursor::new(file, text, tokens, Ends::File),
        }
    }

    fn file(&mut self) -> Vec<ast::Item> {
        let mut items = Vec::new();
        while !self.at(Tok::Eof) {
            let before = self.pos;
            self.open.clear();
            self.item_ahead = false;
            if self.at_item_start() {
                self.lost = false;
            }
            if let Err(Skip) = self.item(&mut items) {
                self.recover_item(before);
            }
            self.progress(before);
        }
        items
    }
}

#[cfg(test)]
mod tests;
