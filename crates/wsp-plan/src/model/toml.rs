//! The part of TOML that machine models are written in: tables, arrays of tables, and keys with a string, a number or an inline table.
//!
//! A text that is taken is a document of TOML 1.0 with the same meaning. What a model has no use for (dotted and quoted keys, arrays, dates, truth
//! values, literal and multi-line strings, escapes but `\"` and `\\`) is refused, with its place.

use super::codes::TEXT;
use wsp_diag::{Diagnostic, FileId, Span};
use wsp_syntax::{
    Cursor, Ends, Escapes, Language, Lexicon, Names, Numbers, Rules, Tok, Token, decimal, shorten, tokens,
    unescape,
};

/// Longest text of a model, in bytes.
const MOST_BYTES: usize = 1 << 20;

/// Most faults that are reported of one text.
const MOST_FAULTS: usize = 20;

/// A table: `[name]`, or one of those of `[[name]]`.
#[derive(Debug)]
pub(super) struct Table<'t> {
    pub(super) name: &'t str,
    /// It is one of an array.
    pub(super) is_element: bool,
    pub(super) span: Span,
    pub(super) entries: Vec<Entry<'t>>,
}

/// `key = value`.
#[derive(Debug)]
pub(super) struct Entry<'t> {
    pub(super) key: &'t str,
    pub(super) key_span: Span,
    pub(super) value: Value<'t>,
    pub(super) span: Span,
}

/// What a key is given.
#[derive(Debug)]
pub(super) enum Value<'t> {
    Text(String),
    Number(f64),
    Inline(Vec<Entry<'t>>),
}

struct Toml;

impl Lexicon for Toml {
    const LANGUAGE: &'static Language = &Language::new(Rules {
        signs: &[
            Tok::LBrace,
            Tok::RBrace,
            Tok::LBracket,
            Tok::RBracket,
            Tok::Comma,
            Tok::Dot,
            Tok::Plus,
            Tok::Minus,
            Tok::Eq,
        ],
        comment: "#",
        block_comments: false,
        joined_lines: false,
        quotes: "\"",
        escapes: None,
        numbers: Numbers::C,
        names: Names::Ascii,
        directives: false,
        strays: None,
    });
}

/// The tables of a text, in its order.
///
/// # Errors
/// What is no TOML, or not of the part that is read; the first few faults.
pub(super) fn parse(text: &str, file: FileId) -> Result<Vec<Table<'_>>, Vec<Diagnostic>> {
    check_characters(text, file).map_err(|fault| vec![fault])?;
    let tokens = tokens::<Toml>(text, |_, token| Some(token.kind));
    let mut parser = Parser { cursor: Cursor::new(file, text, tokens, Ends::File), tables: Vec::new() };
    let mut faults = Vec::new();
    while !parser.cursor.at(Tok::Eof) && faults.len() < MOST_FAULTS {
        if let Err(fault) = parser.line() {
            faults.push(fault);
            parser.skip_line();
        }
    }
    if faults.is_empty() { Ok(parser.tables) } else { Err(faults) }
}

/// Refuses a text that is too long, and characters that a document of TOML may have nowhere.
fn check_characters(text: &str, file: FileId) -> Result<(), Diagnostic> {
    if text.len() > MOST_BYTES {
        let message = format!("a machine model of {} bytes", text.len());
        let fault = Diagnostic::error(TEXT, message).note(format!("at most {MOST_BYTES} bytes are read"));
        return Err(fault.help("give a file of figures: docs/reference/models.md has its tables"));
    }
    let mut before_line = text.bytes().skip(1).chain([0]);
    let at = text.bytes().position(|byte| {
        let next = before_line.next();
        let is_end = byte == b'\n' || byte == b'\r' && next == Some(b'\n');
        byte == 0x7f || byte < b' ' && byte != b'\t' && !is_end
    });
    let mark = text.starts_with('\u{feff}').then_some((0, "a byte order mark"));
    let Some((at, what)) = mark.or(at.map(|at| (at, "a control character"))) else { return Ok(()) };
    let span = Span::new(file, at as u32, at as u32 + 1);
    Err(Diagnostic::error(TEXT, format!("{what} in a machine model"))
        .at(span, "TOML has none here")
        .help("remove it: the text is TOML in UTF-8"))
}

struct Parser<'t> {
    cursor: Cursor<'t>,
    tables: Vec<Table<'t>>,
}

impl<'t> Parser<'t> {
    /// A header, or an entry of the last table.
    fn line(&mut self) -> Result<(), Diagnostic> {
        if self.cursor.at(Tok::LBracket) {
            let table = self.header()?;
            self.check_name(&table)?;
            self.tables.push(table);
            return self.end_of_line();
        }
        let entry = self.entry(true)?;
        self.end_of_line()?;
        let Some(table) = self.tables.last_mut() else {
            return Err(Diagnostic::error(TEXT, format!("`{}` stands in no table", entry.key))
                .at(entry.key_span, "no `[table]` comes before it")
                .help("begin with `[model]`"));
        };
        if let Some(first) = table.entries.iter().find(|other| other.key == entry.key) {
            return Err(twice(&entry, first));
        }
        table.entries.push(entry);
        Ok(())
    }

    fn header(&mut self) -> Result<Table<'t>, Diagnostic> {
        let open = self.cursor.bump();
        let second = self.cursor.token();
        let is_element = second.kind == Tok::LBracket && second.start == open.end;
        if is_element {
            self.cursor.bump();
        }
        self.same_line("the name of a table")?;
        let (name, span) = self.name("the name of a table")?;
        let close = self.sign(Tok::RBracket, "`]`")?;
        if is_element && self.sign(Tok::RBracket, "`]]`")?.start != close.end {
            return Err(Diagnostic::error(TEXT, "expected `]]`").at(span, "blanks stand between the two"));
        }
        Ok(Table { name, is_element, span, entries: Vec::new() })
    }

    /// One `[name]`, or any number of `[[name]]`.
    fn check_name(&self, table: &Table<'t>) -> Result<(), Diagnostic> {
        let clashes =
            |other: &&Table<'_>| other.name == table.name && !(other.is_element && table.is_element);
        let Some(first) = self.tables.iter().find(clashes) else { return Ok(()) };
        Err(Diagnostic::error(TEXT, format!("table `{}` stands here twice", table.name))
            .at(table.span, "again here")
            .label(first.span, "first here")
            .help("keep one of them"))
    }

    /// `key = value`; an inline table only where it may be one.
    fn entry(&mut self, may_nest: bool) -> Result<Entry<'t>, Diagnostic> {
        let (key, key_span) = self.name("a key")?;
        self.sign(Tok::Eq, "`=`")?;
        let start = self.cursor.span();
        let value = self.value(may_nest)?;
        Ok(Entry { key, key_span, value, span: self.cursor.span_from(start) })
    }

    fn value(&mut self, may_nest: bool) -> Result<Value<'t>, Diagnostic> {
        let token = self.same_line("a value")?;
        match token.kind {
            Tok::Str => Ok(Value::Text(self.text(token)?)),
            Tok::LBrace if may_nest => self.inline(),
            Tok::Number | Tok::Plus | Tok::Minus | Tok::Ident => self.number().map(Value::Number),
            _ => {
                let fault = self.cursor.expected(TEXT, "a string, a number or `{ value = …, … }`");
                Err(fault.help("a model has neither arrays nor tables in inline tables"))
            }
        }
    }

    fn text(&mut self, token: Token) -> Result<String, Diagnostic> {
        self.cursor.bump();
        let written = self.cursor.text_of(token);
        let span = self.cursor.span_of(token);
        if token.fault.is_some() {
            return Err(
                Diagnostic::error(TEXT, "a string without an end").at(span, "its line has no closing `\"`")
            );
        }
        let known = written.replace("\\\\", "").replace("\\\"", "");
        match unescape(written, Escapes::Hex) {
            Ok(text) if !known.contains('\\') => Ok(text),
            _ => Err(Diagnostic::error(TEXT, "an escape that strings of models do not have")
                .at(span, "")
                .help("write `\\\\` for a backslash and `\\\"` for a quote")),
        }
    }

    fn inline(&mut self) -> Result<Value<'t>, Diagnostic> {
        let open = self.cursor.bump();
        let mut entries: Vec<Entry<'t>> = Vec::new();
        loop {
            let token = self.same_line("a key or `}`").map_err(|fault| self.unclosed(fault, open))?;
            if token.kind == Tok::RBrace && entries.is_empty() {
                break;
            }
            let entry = self.entry(false)?;
            if let Some(first) = entries.iter().find(|other| other.key == entry.key) {
                return Err(twice(&entry, first));
            }
            entries.push(entry);
            let token = self.same_line("`,` or `}`").map_err(|fault| self.unclosed(fault, open))?;
            if token.kind != Tok::Comma {
                break;
            }
            self.cursor.bump();
        }
        self.sign(Tok::RBrace, "`,` or `}`")?;
        Ok(Value::Inline(entries))
    }

    fn unclosed(&self, fault: Diagnostic, open: Token) -> Diagnostic {
        fault
            .label(self.cursor.span_of(open), "this `{` is not closed")
            .note("an inline table stands in one line, and no `,` comes before its `}`")
    }

    /// A number as TOML writes it: decimal, no zeros in front, digits on both sides of a point, `_` between digits.
    fn number(&mut self) -> Result<f64, Diagnostic> {
        let first = self.cursor.bump();
        let mut token = first;
        if matches!(first.kind, Tok::Plus | Tok::Minus) {
            token = self.cursor.token();
            if token.start == first.end {
                self.cursor.bump();
            }
        }
        let span = self.cursor.span_of(first).to(self.cursor.span_of(token));
        let written = self.cursor.text.get(span.start as usize..span.end as usize).unwrap_or("");
        let unsigned = written.strip_prefix(['+', '-']).unwrap_or(written);
        let value = match unsigned {
            "inf" => Some(f64::INFINITY),
            "nan" => Some(f64::NAN),
            digits => decimal(digits),
        };
        match value {
            Some(value) if written.starts_with('-') => Ok(-value),
            Some(value) => Ok(value),
            None => Err(Diagnostic::error(TEXT, format!("`{}` is no number", shorten(written)))
                .at(span, "")
                .help("write it as `24`, `1_000`, `0.5` or `1.85e9`")),
        }
    }

    /// A key or the name of a table.
    fn name(&mut self, what: &str) -> Result<(&'t str, Span), Diagnostic> {
        let token = self.cursor.token();
        if token.kind != Tok::Ident || token.fault.is_some() {
            return Err(self.cursor.expected(TEXT, what));
        }
        self.cursor.bump();
        Ok((self.cursor.text_of(token), self.cursor.span_of(token)))
    }

    fn sign(&mut self, sign: Tok, what: &str) -> Result<Token, Diagnostic> {
        let token = self.same_line(what)?;
        if token.kind != sign {
            return Err(self.cursor.expected(TEXT, what));
        }
        Ok(self.cursor.bump())
    }

    /// The current token, which continues the line.
    fn same_line(&self, what: &str) -> Result<Token, Diagnostic> {
        let token = self.cursor.token();
        if token.starts_line || token.kind == Tok::Eof {
            return Err(self.cursor.expected(TEXT, what));
        }
        Ok(token)
    }

    fn end_of_line(&self) -> Result<(), Diagnostic> {
        let token = self.cursor.token();
        if token.starts_line || token.kind == Tok::Eof {
            return Ok(());
        }
        Err(self.cursor.expected(TEXT, "the end of the line"))
    }

    /// Goes to the next line; past one token at least.
    fn skip_line(&mut self) {
        if !self.cursor.token().starts_line {
            self.cursor.bump();
        }
        while !self.cursor.token().starts_line && !self.cursor.at(Tok::Eof) {
            self.cursor.bump();
        }
    }
}

fn twice(entry: &Entry<'_>, first: &Entry<'_>) -> Diagnostic {
    Diagnostic::error(TEXT, format!("`{}` is given twice", entry.key))
        .at(entry.key_span, "again here")
        .label(first.key_span, "first here")
        .help("keep one of them")
}
