//! Tokens to the syntax tree: recursive descent, with operator precedence for expressions.
//!
//! # Recovery
//! A function that cannot go on reports once and returns [`Skip`]; nobody reports on the way up. Whoever can resume
//! catches it: [`Parser::file`] at the next item, a block at the next statement, a `PTO_` block form at its next member.
//! What was broken is absent from the tree. [`Parser::open`] holds the delimiters that are open, so that a resume point
//! inside a broken list is not mistaken for the end of the statement around it.
//!
//! **Invariant:** every loop consumes a token per turn or ends, and [`Parser::depth`] bounds recursion and tree depth.

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
use crate::lexer::{self, Tok, Token};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use wsp_core::limits::MAX_SOURCE_BYTES;
use wsp_ir::diag::{Diagnostic, Sink};
use wsp_ir::{FileId, Span};

/// Parses one file.
///
/// Total over any text. What does not parse is reported and absent; at most
/// [`MAX_DIAGNOSTICS`](wsp_core::limits::MAX_DIAGNOSTICS) diagnostics come back, in source order.
pub fn parse(file: FileId, text: &str) -> (ast::File, Vec<Diagnostic>) {
    if text.len() > MAX_SOURCE_BYTES as usize {
        let diagnostic = Diagnostic::error(codes::SOURCE_TOO_LARGE, "the source file is too large")
            .at(Span::new(file, 0, 0), "")
            .note(format!("it has {} bytes; at most {MAX_SOURCE_BYTES} are accepted", text.len()));
        return (ast::File::default(), vec![diagnostic]);
    }
    let (tokens, lexical) = lexer::lex(file, text);
    let mut parser = Parser::new(file, text, tokens);
    let items = parser.file();
    (ast::File { items }, lexical.merge(parser.sink, codes::TOO_MANY_ERRORS))
}

/// The construct is broken, and that is reported.
#[derive(Debug)]
struct Skip;

type Parsed<T> = Result<T, Skip>;

/// A delimiter that is open.
#[derive(Clone, Copy)]
struct Open {
    token: Token,
    /// How many of it and those around it are `{`.
    braces: u32,
}

struct Parser<'t> {
    file: FileId,
    text: &'t str,
    tokens: Vec<Token>,
    pos: usize,
    /// The delimiters that are open at `pos`.
    open: Vec<Open>,
    depth: u32,
    /// `>` ends the expression, which is a template argument.
    stop_at_gt: bool,
    /// `{` ends the expression, which stands before a body, unless a field follows.
    stop_at_brace: bool,
    /// How many delimiters are open in the list of fields around the current value.
    fields_level: Option<usize>,
    /// `pos` is at an item although blocks are open: a `}` is missing and that is reported.
    item_ahead: bool,
    /// An item was out of place and none has parsed since.
    lost: bool,
    /// How many more `{` than `}` the file has.
    brace_excess: i64,
    /// The first block whose `}` stands further left than the line that opens it.
    suspect: Option<Token>,
    /// Names of functions with `template`.
    templates: HashSet<&'t str>,
    names: HashMap<&'t str, Rc<str>>,
    sink: Sink,
}

impl<'t> Parser<'t> {
    fn new(file: FileId, text: &'t str, tokens: Vec<Token>) -> Parser<'t> {
        let mut parser = Parser {
            file,
            text,
            tokens,
            pos: 0,
            open: Vec::new(),
            depth: 0,
            stop_at_gt: false,
            stop_at_brace: false,
            fields_level: None,
            item_ahead: false,
            lost: false,
            brace_excess: 0,
            suspect: None,
            templates: HashSet::new(),
            names: HashMap::new(),
            sink: Sink::default(),
        };
        let count = |kind| parser.tokens.iter().filter(|t| t.kind == kind).count() as i64;
        parser.brace_excess = count(Tok::LBrace) - count(Tok::RBrace);
        parser.templates = parser.template_names();
        parser
    }

    /// The name before the first `(` after each `template <…>`.
    fn template_names(&self) -> HashSet<&'t str> {
        let mut names = HashSet::new();
        let mut in_header = false;
        let mut last = "";
        for token in &self.tokens {
            match token.kind {
                Tok::Ident if self.text_of(*token) == "template" => in_header = true,
                Tok::Ident => last = self.text_of(*token),
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
