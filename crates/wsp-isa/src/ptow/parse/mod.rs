//! Text to bytes.
//!
//! Lines are read twice: first the symbols that they declare, then all of them, so that a line may name what stands behind
//! it. A line that cannot be read is reported once and left out; nobody reports on the way up.

mod cursor;
mod directive;
mod expr;
mod instruction;
mod operand;
mod tokens;

use self::operand::Field;
use self::tokens::Line;
pub use self::tokens::states_something;
use super::codes;
use super::image::{AlignedBytes, EmptyPool, Image};
use super::names::{self, Layout, NO_NAME, Names};
use super::shape;
use super::symbols::{Kind, Symbols};
use std::collections::HashMap;
use std::rc::Rc;
use wsp_core::limits::MAX_SOURCE_BYTES;
use wsp_core::ptow::verify::Place;
use wsp_core::ptow::{Program, ReadError, Section, Verified, VerifyError, Word, marks_needed};
use wsp_diag::{Diagnostic, FileId, Sink, SourceMap, Span};
use wsp_ordered::OrderedMap;
use wsp_syntax::{Cursor, Ends, Tok, Token};

/// Reads the text of a program, adds it to `sources` under `name`, and checks the program.
///
/// Total over any text: the bytes of a program that keeps every rule, or diagnostics with their places in the text.
///
/// # Errors
/// At most [`MAX_DIAGNOSTICS`](wsp_core::limits::MAX_DIAGNOSTICS) diagnostics, in source order.
pub fn assemble(name: &str, text: &str, sources: &mut SourceMap) -> Result<Vec<u8>, Vec<Diagnostic>> {
    let file = sources.add(name, text);
    let (bytes, places) = bytes_of(file, text)?;
    let aligned = AlignedBytes::copy(&bytes);
    let program = Program::read(aligned.as_bytes()).map_err(|error| vec![unreadable(file, &error)])?;
    let mut marks = vec![0; marks_needed(&program)];
    match Verified::new(program, &mut marks) {
        Ok(_) => Ok(bytes),
        Err(error) => Err(vec![broken_rule(file, &error, &places)]),
    }
}

/// As [`assemble`], without checking the program: what [`disassemble`](super::disassemble) wrote becomes the same bytes,
/// whatever they are. For tests, and to write programs that break rules.
///
/// # Errors
/// As [`assemble`], when the text cannot be read.
pub fn encode(name: &str, text: &str, sources: &mut SourceMap) -> Result<Vec<u8>, Vec<Diagnostic>> {
    let file = sources.add(name, text);
    bytes_of(file, text).map(|(bytes, _)| bytes)
}

/// The words of an expression over given symbols; none when it cannot be read.
pub(super) fn expression(symbols: &Rc<Symbols>, text: &str) -> Option<Vec<Word>> {
    let mut assembler = Assembler::new(FileId::default(), text);
    assembler.symbols = Rc::clone(symbols);
    let lines = tokens::lines(assembler.file, text, &mut assembler.sink);
    let [line] = lines.as_slice() else { return None };
    let mut cursor = Cursor::new(assembler.file, text, &line.tokens[..], Ends::Line);
    let words = assembler.expression(&mut cursor).ok()?;
    (cursor.at(Tok::Eof) && !line.broken).then_some(words)
}

fn bytes_of(file: FileId, text: &str) -> Result<(Vec<u8>, Places), Vec<Diagnostic>> {
    if text.len() > MAX_SOURCE_BYTES as usize {
        let fault = Diagnostic::error(codes::SOURCE_TOO_LARGE, "the text is too long")
            .at(Span::new(file, 0, 0), "")
            .note(format!("it has {} bytes; at most {MAX_SOURCE_BYTES} are accepted", text.len()));
        return Err(vec![fault]);
    }
    let mut assembler = Assembler::new(file, text);
    let lines = tokens::lines(file, text, &mut assembler.sink);
    for line in &lines {
        assembler.declarations(line);
    }
    for line in &lines {
        // What is wrong with a line is reported where it is found.
        let _ = assembler.line(line);
    }
    assembler.finish();
    let found = assembler.sink.merge(Sink::default(), codes::TOO_MANY_ERRORS);
    if found.is_empty() {
        Ok((assembler.image.to_bytes(assembler.pool), assembler.places))
    } else {
        Err(found)
    }
}

/// A program that is too large for the format.
fn unreadable(file: FileId, error: &ReadError) -> Diagnostic {
    let fault = match error {
        ReadError::TooMany { section, count, most, .. } => {
            let what = match section {
                Section::Instructions => "words of instructions",
                Section::Axes => "axes",
                Section::Kernels => "kernels",
                Section::Tensors => "tensors",
                Section::Names => "bytes of names",
                Section::Expressions | Section::Header | Section::PoolHeader => "words of expressions",
            };
            let message = format!("the program has too many {what}");
            Diagnostic::error(codes::PROGRAM_TOO_LARGE, message)
                .note(format!("it has {count}; at most {most} are allowed"))
        }
        _ => Diagnostic::error(codes::PROGRAM_TOO_LARGE, "the program cannot be stored")
            .note(error.to_string()),
    };
    fault.at(Span::new(file, 0, 0), "")
}

/// A rule of the format that the program breaks, where the text says what breaks it.
fn broken_rule(file: FileId, error: &VerifyError, places: &Places) -> Diagnostic {
    let row = |kind: Kind, row: u32| places.rows[kind as usize].get(row as usize);
    let span = match error.place {
        Place::Program | Place::Name(_) => None,
        Place::Word(at) => places.words.get(at as usize),
        Place::Expr(at) => places.exprs.get(at as usize),
        Place::Axis(at) => row(Kind::Axis, at),
        Place::Kernel(at) => row(Kind::Kernel, at),
        Place::Tensor(at) => row(Kind::Tensor, at),
    };
    let found = format!("found {}{}", error.found, error.allowed);
    Diagnostic::error(codes::RULE_BROKEN, format!("rule {} of programs is broken", error.rule.id()))
        .at(span.copied().unwrap_or(Span::new(file, 0, 0)), found)
        .note(format!("the rule: {}", error.rule.text()))
        .note(format!("in the program this is {}", error.place))
}

/// Where what a program consists of stands in the text.
#[derive(Debug, Default)]
struct Places {
    words: Vec<Span>,
    /// Each word of the pool: where its expression was first read.
    exprs: Vec<Span>,
    rows: [Vec<Span>; 5],
}

/// The line is broken, and that is reported.
#[derive(Debug)]
struct Skip;

type Parsed<T> = Result<T, Skip>;

/// Where names come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NameStyle {
    /// From the rows.
    Symbols,
    /// There are none.
    None,
    /// From `.names bytes`.
    Bytes,
}

/// An operand that is filled in when all labels are known.
#[derive(Debug)]
struct Fixup {
    word: usize,
    field: Field,
    label: Token,
}

/// A text while it becomes a program.
struct Assembler<'t> {
    file: FileId,
    text: &'t str,
    image: Image,
    places: Places,
    pool: EmptyPool,
    name_style: NameStyle,
    names: Names,
    symbols: Rc<Symbols>,
    /// Rows that were read, by kind.
    next_row: [usize; 5],
    /// Expressions of the pool.
    pooled: HashMap<Vec<Word>, u32>,
    labels: OrderedMap<String, (u32, Span)>,
    fixups: Vec<Fixup>,
    /// Where `TASK`s are; their counts follow from the words behind them.
    tasks: Vec<usize>,
    /// Parentheses and operators around the place.
    depth: u32,
    /// How the instruction of the line is written.
    usage: Option<String>,
    sink: Sink,
}

impl<'t> Assembler<'t> {
    fn new(file: FileId, text: &'t str) -> Assembler<'t> {
        Assembler {
            file,
            text,
            image: Image::default(),
            places: Places::default(),
            pool: EmptyPool::Omitted,
            name_style: NameStyle::Symbols,
            names: Names::default(),
            symbols: Rc::default(),
            next_row: [0; 5],
            pooled: HashMap::new(),
            labels: OrderedMap::new(),
            fixups: Vec::new(),
            tasks: Vec::new(),
            depth: 0,
            usage: None,
            sink: Sink::default(),
        }
    }

    /// Adds a word of the instructions.
    fn push(&mut self, word: Word, span: Span) -> usize {
        self.image.words.push(word);
        self.places.words.push(span);
        self.image.words.len() - 1
    }

    /// Takes the symbols that a line declares, behind its labels.
    fn declarations(&mut self, line: &Line) {
        let mut tokens = line.tokens.as_slice();
        while let [Token { kind: Tok::Ident, .. }, Token { kind: Tok::Colon, .. }, rest @ ..] = tokens {
            tokens = rest;
        }
        let &[directive, second, ..] = tokens else { return };
        if directive.kind != Tok::Directive {
            return;
        }
        let name = self.text_of(directive).get(1..).unwrap_or("");
        let kind = Kind::ALL.into_iter().find(|kind| kind.word() == name);
        match (kind, name, second.kind) {
            (Some(kind), _, Tok::Ident) => self.declare(kind, second),
            (None, "values", Tok::Number) => self.declare_count(Kind::Value, self.value(second)),
            (None, "tables", Tok::Number) => self.declare_count(Kind::Table, self.value(second)),
            _ => {}
        }
    }

    fn line(&mut self, line: &Line) -> Parsed<()> {
        if line.broken {
            return Err(Skip);
        }
        self.usage = None;
        let mut cursor = Cursor::new(self.file, self.text, &line.tokens[..], Ends::Line);
        while cursor.at(Tok::Ident) && cursor.peek(1).kind == Tok::Colon {
            let token = cursor.bump();
            self.label(token)?;
            cursor.bump();
        }
        match cursor.tok() {
            Tok::Eof => return Ok(()),
            Tok::Directive => {
                let token = cursor.bump();
                self.directive(&mut cursor, token)?;
            }
            Tok::Ident => {
                let token = cursor.bump();
                self.instruction(&mut cursor, token)?;
            }
            _ => {
                cursor.pos = 0;
                return Err(self.expected(&cursor, "an instruction, a directive or a label"));
            }
        }
        if cursor.at(Tok::Eof) { Ok(()) } else { Err(self.expected(&cursor, "the end of the line")) }
    }

    /// What follows from the whole text: places, counts of tasks, names.
    fn finish(&mut self) {
        self.usage = None;
        self.link();
        for at in std::mem::take(&mut self.tasks) {
            let Some(word) = self.image.words.get(at) else { continue };
            let behind = at + 1 + usize::from(word.flags);
            let counts = shape::task_counts(self.image.words.get(behind..).unwrap_or_default());
            if let Some(word) = self.image.words.get_mut(at) {
                word.operand2 = counts;
            }
        }
        // More rows than 16 bits count are found by the rows' own limits below.
        for (kind, count) in
            [(Kind::Value, &mut self.image.counts.values), (Kind::Table, &mut self.image.counts.tables)]
        {
            match u16::try_from(self.symbols.len(kind)) {
                Ok(rows) => *count = rows,
                Err(_) => {
                    let message = format!("the program has too many {}s", kind.word());
                    let fault = Diagnostic::error(codes::PROGRAM_TOO_LARGE, message)
                        .at(Span::new(self.file, 0, 0), "")
                        .note(format!("it has {}; at most 65535 are allowed", self.symbols.len(kind)));
                    self.sink.push(fault);
                }
            }
        }
        if self.name_style == NameStyle::Symbols {
            self.lay_names_out();
        }
    }

    fn lay_names_out(&mut self) {
        let Some(Layout { bytes, kernels, tensors }) = names::layout(&self.names) else {
            let fault = Diagnostic::error(codes::PROGRAM_TOO_LARGE, "the names are too long")
                .at(Span::new(self.file, 0, 0), "")
                .note("names of kernels and tensors begin within the first 65,535 bytes of names")
                .help("shorten them, or leave them out with `.names none`");
            self.sink.push(fault);
            return;
        };
        self.image.names = bytes;
        for (kernel, name) in self.image.kernels.iter_mut().zip(kernels) {
            kernel.name = name;
        }
        for (tensor, name) in self.image.tensors.iter_mut().zip(tensors) {
            tensor.name = name;
        }
        debug_assert!(self.image.kernels.iter().all(|k| k.name == NO_NAME || !self.image.names.is_empty()));
    }
}
