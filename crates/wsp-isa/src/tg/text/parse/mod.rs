//! Text to units.
//!
//! One pass, one token ahead. A statement that cannot be read is reported once, and reading goes on behind it; nobody reports on
//! the way up. What can only be said at the end (names that nothing defines) is said there.

mod declare;
mod expr;
mod instr;
mod numbers;
mod operand;
mod postfix;
mod report;

pub(super) use self::declare::SPACES;
pub(in crate::tg) use self::expr::MAX_NESTING;
use self::numbers::{Numbers, Role};
use super::codes;
use super::idents::{Ident, NOTHING};
use super::tokens::{Sign, Tok, Token, Tokens};
use super::words::STATEMENTS;
use wsp_core::limits::MAX_UNIT_BYTES;
use wsp_core::tg::{ExprOp, GraphNo, Instr, OPS, Op, Symbol};
use wsp_diag::{Diagnostic, FileId, Sink, SourceMap, Span, did_you_mean};
use wsp_ir::tg::TgModule;
use wsp_ordered::Arrange;

/// The statement is broken, and that is reported.
#[derive(Debug)]
pub(super) struct Skip;

pub(super) type Parsed<T> = Result<T, Skip>;

/// Reads the text of a unit and adds it to `sources` under `name`.
///
/// Total over any text. The unit is missing if and only if one of the diagnostics is an error; at most
/// [`MAX_DIAGNOSTICS`](wsp_core::limits::MAX_DIAGNOSTICS) errors, and as many warnings, are kept, in source order. Rules beyond
/// those of the text itself are [`wsp_ir::tg`]'s.
pub fn parse(name: &str, text: &str, sources: &mut SourceMap) -> (Option<TgModule>, Vec<Diagnostic>) {
    let file = sources.add(name, text);
    if text.len() > MAX_UNIT_BYTES as usize {
        let fault = Diagnostic::error(codes::TOO_LARGE, "the text is too long")
            .at(Span::new(file, 0, 0), "")
            .note(format!("it has {} bytes; at most {MAX_UNIT_BYTES} are read", text.len()))
            .help("split the unit, or write it as `.ptog`");
        return (None, vec![fault]);
    }
    let mut parser = Parser::new(file, text);
    parser.unit();
    parser.finish()
}

/// A text while it becomes a unit.
pub(super) struct Parser<'t> {
    file: FileId,
    tokens: Tokens<'t>,
    /// The token that is next.
    token: Token,
    /// One past the last byte that was taken.
    taken: u32,
    unit: TgModule,
    numbers: Numbers,
    consts: Vec<i64>,
    /// The graph around the place.
    graph: Option<GraphNo>,
    /// The instruction that is being read, for messages.
    op: Option<Op>,
    /// Operations of the expression that is being read.
    ops: Vec<ExprOp>,
    /// Those of them that load a value without saying of which type.
    untyped: Vec<usize>,
    /// Such operations of the unit.
    untyped_in_unit: Vec<usize>,
    /// Parentheses and operators around the place.
    depth: u32,
    /// Right sides of `&&` and `||` around the place that may not be evaluated.
    guards: u32,
    sink: Sink,
    warnings: Vec<Diagnostic>,
}

impl<'t> Parser<'t> {
    fn new(file: FileId, text: &'t str) -> Parser<'t> {
        let mut tokens = Tokens::new(text);
        let token = tokens.next();
        let mut unit = TgModule::default();
        // A short instruction has some 24 bytes.
        unit.instrs.reserve(text.len() / 24);
        unit.spans.reserve(text.len() / 24);
        Parser {
            file,
            tokens,
            token,
            taken: 0,
            unit,
            numbers: Numbers::default(),
            consts: Vec::new(),
            graph: None,
            op: None,
            ops: Vec::new(),
            untyped: Vec::new(),
            untyped_in_unit: Vec::new(),
            depth: 0,
            guards: 0,
            sink: Sink::default(),
            warnings: Vec::new(),
        }
    }

    fn unit(&mut self) {
        loop {
            match self.token.tok {
                Tok::End => break,
                Tok::Sign(Sign::Semi) => self.bump(),
                _ => {
                    if self.statement().is_err() {
                        self.recover();
                    }
                }
            }
        }
    }

    fn finish(mut self) -> (Option<TgModule>, Vec<Diagnostic>) {
        self.leave_graph();
        self.finish_numbers();
        let mut found = self.sink.merge(Sink::default(), codes::TOO_MANY_ERRORS);
        let broken = !found.is_empty();
        found.extend(self.warnings);
        found.arrange_by_key(|d| d.primary.as_ref().map_or(0, |label| label.span.start));
        ((!broken).then_some(self.unit), found)
    }

    fn statement(&mut self) -> Parsed<()> {
        (self.depth, self.guards) = (0, 0);
        self.op = None;
        let Tok::Ident(ident) = self.token.tok else {
            return Err(self.expected("an instruction or a declaration"));
        };
        if let Some(op) = ident.op() {
            self.op = Some(op);
            self.instruction(op)?;
        } else if STATEMENTS.contains(&ident.word()) {
            self.declaration(ident.word())?;
        } else {
            return Err(self.unknown_statement(ident));
        }
        if self.token.fresh || matches!(self.token.tok, Tok::End | Tok::Sign(Sign::Semi)) {
            Ok(())
        } else {
            Err(self.expected("the end of the line"))
        }
    }

    fn instruction(&mut self, op: Op) -> Parsed<()> {
        let start = self.token.start;
        self.bump();
        let instr = self.instr(op)?;
        self.unit.instrs.push(instr);
        self.unit.spans.push(Span::new(self.file, start, self.taken));
        match instr {
            Instr::TgBegin { graph_id } => self.enter_graph(graph_id),
            Instr::TgEnd { .. } => self.leave_graph(),
            _ => {}
        }
        Ok(())
    }

    fn unknown_statement(&mut self, ident: Ident) -> Skip {
        let name = self.tokens.idents.row(ident).text;
        let known = OPS.iter().map(|info| info.mnemonic).chain(STATEMENTS);
        let meant = did_you_mean(name, known);
        let mut fault =
            Diagnostic::error(codes::UNKNOWN_STATEMENT, format!("no statement begins with `{name}`"))
                .at(self.here(), "");
        fault = match meant {
            Some(meant) => fault.help(format!("did you mean `{meant}`?")),
            None => fault.help(
                "statements are instructions, as `TG_KERNEL(…)`, and `use`, `extern`, `const`, `arg`, `host`, `reference`",
            ),
        };
        self.report(fault)
    }

    /// Passes the rest of a broken statement: up to a line that begins with a word that begins statements, or to the end of the
    /// line if no parenthesis is open.
    fn recover(&mut self) {
        // The first token may be the one that is wrong; a statement ends behind it at the earliest.
        let mut open = 0i32;
        let mut first = self.token.start >= self.taken && !self.begins_statement();
        loop {
            match self.token.tok {
                Tok::End | Tok::Sign(Sign::Semi) => return,
                _ if self.token.fresh && !first && (open <= 0 || self.begins_statement()) => return,
                Tok::Sign(Sign::LParen | Sign::LBrace | Sign::LBracket) => open += 1,
                Tok::Sign(Sign::RParen | Sign::RBrace | Sign::RBracket) => open -= 1,
                _ => {}
            }
            first = false;
            self.bump();
        }
    }

    fn begins_statement(&self) -> bool {
        match self.token.tok {
            Tok::Ident(ident) => ident.op().is_some() || STATEMENTS.contains(&ident.word()),
            _ => false,
        }
    }

    /// Takes the next token.
    #[inline]
    fn bump(&mut self) {
        self.taken = self.token.end;
        self.token = self.tokens.next();
    }

    #[inline]
    fn is(&self, sign: Sign) -> bool {
        self.token.tok == Tok::Sign(sign)
    }

    /// Takes a sign if it is next.
    #[inline]
    fn eat(&mut self, sign: Sign) -> bool {
        let found = self.is(sign);
        if found {
            self.bump();
        }
        found
    }

    #[inline]
    fn need(&mut self, sign: Sign) -> Parsed<()> {
        if self.eat(sign) { Ok(()) } else { Err(self.expected(&format!("`{}`", sign.text()))) }
    }

    /// Whether the next token is this word of the text form.
    fn is_word(&self, word: &str) -> bool {
        matches!(self.token.tok, Tok::Ident(ident) if ident.word() == word)
    }

    /// The symbol of an identifier.
    #[inline]
    fn symbol(&mut self, ident: Ident) -> Symbol {
        let row = self.tokens.idents.row_mut(ident);
        if row.symbol == NOTHING {
            row.symbol = self.unit.strings.intern(row.text).0;
        }
        Symbol(row.symbol)
    }
}
