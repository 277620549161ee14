//! A place among the tokens of a text, and what is said when another token was needed.

use crate::{Lexer, Lexicon, Tok, Token, shorten};
use std::borrow::Cow;
use wsp_diag::{Code, Diagnostic, FileId, Span};

/// A delimiter that is open.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    /// The delimiter.
    pub token: Token,
    /// How many of it and those around it are `{`.
    pub braces: u32,
}

/// What ends where the tokens end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ends {
    /// A file: something that is missing is missing behind the last token.
    File,
    /// A line: something that is missing is missing at its end.
    Line,
}

/// A place among tokens.
#[derive(Clone, Debug)]
pub struct Cursor<'t> {
    /// The file of the text.
    pub file: FileId,
    /// The text.
    pub text: &'t str,
    /// Its tokens; the last is of kind [`Tok::Eof`].
    pub tokens: Cow<'t, [Token]>,
    /// The current token.
    pub pos: usize,
    /// Where reading ends: the last token, or an earlier one, which then reads as [`Tok::Eof`].
    pub end: usize,
    /// The delimiters that are open at `pos`.
    pub open: Vec<Open>,
    ends: Ends,
}

/// All tokens of a text; the last is of kind [`Tok::Eof`].
///
/// `take` is given each token, reports what is wrong with it, may pass text behind it, and says what it counts as; none leaves it out.
pub fn tokens<'t, L: Lexicon>(
    text: &'t str,
    mut take: impl FnMut(&mut Lexer<'t, L>, Token) -> Option<Tok>,
) -> Vec<Token> {
    let mut lexer = Lexer::new(text);
    let mut tokens = Vec::new();
    let mut starts_line = false;
    loop {
        let token = lexer.next();
        starts_line |= token.starts_line;
        let token = Token { starts_line, ..token };
        if let Some(kind) = take(&mut lexer, token) {
            tokens.push(Token { kind, ..token });
            starts_line = false;
        }
        if token.kind == Tok::Eof {
            return tokens;
        }
    }
}

impl<'t> Cursor<'t> {
    /// At the first of some tokens, of which the last is of kind [`Tok::Eof`].
    pub fn new(file: FileId, text: &'t str, tokens: impl Into<Cow<'t, [Token]>>, ends: Ends) -> Cursor<'t> {
        let tokens = tokens.into();
        Cursor { file, text, pos: 0, end: tokens.len() - 1, tokens, open: Vec::new(), ends }
    }

    /// The current token; at the end, one of kind [`Tok::Eof`] for ever.
    #[inline]
    pub fn token(&self) -> Token {
        self.peek(0)
    }

    /// The token `n` after the current one.
    #[inline]
    pub fn peek(&self, n: usize) -> Token {
        let at = (self.pos + n).min(self.end);
        let token = self.tokens[at];
        if at == self.end { Token { kind: Tok::Eof, ..token } } else { token }
    }

    /// The kind of the current token.
    #[inline]
    pub fn tok(&self) -> Tok {
        self.token().kind
    }

    /// The text of a token.
    #[inline]
    pub fn text_of(&self, token: Token) -> &'t str {
        token.text(self.text)
    }

    /// The current token's text when it is a word.
    #[inline]
    pub fn word(&self) -> Option<&'t str> {
        self.word_at(0)
    }

    /// The text of the token `n` after the current one when it is a word.
    #[inline]
    pub fn word_at(&self, n: usize) -> Option<&'t str> {
        let token = self.peek(n);
        (token.kind == Tok::Ident).then(|| self.text_of(token))
    }

    /// Whether the current token is of this kind.
    #[inline]
    pub fn at(&self, tok: Tok) -> bool {
        self.tok() == tok
    }

    /// Whether the current token is this word.
    pub fn at_word(&self, word: &str) -> bool {
        self.word() == Some(word)
    }

    /// Takes the current token and keeps `open` up to date.
    pub fn bump(&mut self) -> Token {
        let token = self.token();
        match token.kind {
            Tok::LParen | Tok::LBracket | Tok::LBrace => {
                let braces = self.open_braces() + u32::from(token.kind == Tok::LBrace);
                self.open.push(Open { token, braces });
            }
            Tok::RParen | Tok::RBracket | Tok::RBrace if self.closes_last(token.kind) => {
                self.open.pop();
            }
            Tok::Eof => return token,
            _ => {}
        }
        self.pos += 1;
        token
    }

    fn closes_last(&self, closer: Tok) -> bool {
        self.open.last().is_some_and(|open| Some(open.token.kind) == partner(closer))
    }

    /// Takes the first character of the current sign; `rest` is left.
    pub fn split(&mut self, rest: Tok) {
        let token = self.tokens[self.pos];
        self.tokens.to_mut()[self.pos] = Token { kind: rest, start: token.start + 1, ..token };
    }

    /// How many `{` are open.
    pub fn open_braces(&self) -> u32 {
        self.open.last().map_or(0, |open| open.braces)
    }

    /// Takes the current token if it is of this kind; the end is never taken.
    pub fn eat(&mut self, tok: Tok) -> bool {
        let found = self.at(tok) && tok != Tok::Eof;
        if found {
            self.bump();
        }
        found
    }

    /// Takes the current token if it is this word.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.bump();
        }
        found
    }

    /// The place of a token.
    pub fn span_of(&self, token: Token) -> Span {
        Span::new(self.file, token.start, token.end)
    }

    /// The place of the current token.
    pub fn span(&self) -> Span {
        self.span_of(self.token())
    }

    /// The place of the last token taken.
    pub fn last_span(&self) -> Span {
        self.span_of(self.tokens[self.pos.saturating_sub(1)])
    }

    /// From `start` to the end of the last token taken.
    pub fn span_from(&self, start: Span) -> Span {
        start.to(self.last_span())
    }

    /// Where something is missing: at the current token, or behind the last one when the current one is on another line.
    pub fn gap(&self) -> Span {
        let token = self.token();
        let behind = token.starts_line || token.kind == Tok::Eof;
        if self.ends == Ends::File && self.pos > 0 && behind {
            let end = self.last_span().end;
            return Span::new(self.file, end, end);
        }
        self.span_of(token)
    }

    /// The current token as a message names it.
    pub fn found(&self) -> String {
        if self.pos + 1 < self.tokens.len() {
            return format!("`{}`", shorten(self.text_of(self.token())));
        }
        match self.ends {
            Ends::File => "the end of the file".to_owned(),
            Ends::Line => "the end of the line".to_owned(),
        }
    }

    /// Something else was needed here.
    pub fn expected(&self, code: Code, what: &str) -> Diagnostic {
        let label = match self.ends {
            Ends::Line if self.at(Tok::Eof) => "the line ends here".to_owned(),
            _ => format!("found {}", self.found()),
        };
        Diagnostic::error(code, format!("expected {what}")).at(self.gap(), label)
    }

    /// The partner of `open` was needed here.
    pub fn unclosed(&self, code: Code, open: Token, what: &str) -> Diagnostic {
        let label = format!("this `{}` is not closed", self.text_of(open));
        self.expected(code, what).label(self.span_of(open), label)
    }

    /// A closing delimiter without its partner stands here.
    pub fn unmatched(&self, code: Code) -> Diagnostic {
        Diagnostic::error(code, format!("unmatched {}", self.found())).at(self.span(), "nothing is open here")
    }

    /// A block that `open` opens ends here without `}`. `suspect` is the one whose `}` is probably missing.
    pub fn unclosed_block_at(&self, at: Span, code: Code, open: Token, suspect: Option<Token>) -> Diagnostic {
        let culprit = suspect.unwrap_or(open);
        let fault = Diagnostic::error(code, "expected `}`")
            .at(at, format!("found {}", self.found()))
            .label(self.span_of(culprit), "this `{` is not closed");
        if culprit.start == open.start {
            return fault;
        }
        fault.note("its `}`, by indentation, closes an outer block")
    }

    /// Whether a `}` is indented less than the line that opens its block: the `}` of that block is probably missing.
    pub fn is_outdented(&self, open: Token, close: Token) -> bool {
        close.starts_line
            && matches!((self.indentation(close), self.indentation(open)), (Some(outer), Some(inner)) if outer < inner)
    }

    /// Blanks before the first token of a token's line; none when the line is very long.
    fn indentation(&self, token: Token) -> Option<usize> {
        const REACH: usize = 200;
        let before = &self.text.as_bytes()[..token.start as usize];
        let window = &before[before.len().saturating_sub(REACH)..];
        let line = match window.iter().rposition(|&b| b == b'\n') {
            Some(newline) => &window[newline + 1..],
            None if window.len() == before.len() => window,
            None => return None,
        };
        Some(line.iter().take_while(|&&b| matches!(b, b' ' | b'\t')).count())
    }
}

/// What closes an opening delimiter, or opens a closing one.
pub const fn partner(delimiter: Tok) -> Option<Tok> {
    Some(match delimiter {
        Tok::LParen => Tok::RParen,
        Tok::LBracket => Tok::RBracket,
        Tok::LBrace => Tok::RBrace,
        Tok::RParen => Tok::LParen,
        Tok::RBracket => Tok::LBracket,
        Tok::RBrace => Tok::LBrace,
        _ => return None,
    })
}

/// A comment without an end, in languages where comments are `/* … */`.
pub fn open_comment(code: Code, span: Span) -> Diagnostic {
    Diagnostic::error(code, "comment without an end")
        .at(span, "this `/*` has no `*/`")
        .help("close it with `*/`; comments do not nest")
}

/// A name with characters outside ASCII.
pub fn foreign_name(code: Code, span: Span, name: &str) -> Diagnostic {
    Diagnostic::error(code, format!("`{}` is not a name: it has characters outside ASCII", shorten(name)))
        .at(span, "")
        .help("names are made of the letters `a`-`z` and `A`-`Z`, digits and `_`")
}
