//! Schedules.

use super::{Parsed, Parser, Skip, codes};
use crate::workload::directive::Form;
use crate::workload::{Directive, DirectiveKind, Schedule};
use wsp_diag::{Code, Diagnostic, Span, did_you_mean};
use wsp_syntax::{Tok, Token, shorten};

/// The statement that holds settings.
const SETTINGS: &str = "task_graph";

/// The largest number of a `u32`.
const U32: u64 = u32::MAX as u64;

/// The words of statements; that of the settings stands where the first of them does.
fn statements() -> Vec<&'static str> {
    let mut words = Vec::new();
    for (form, _) in DirectiveKind::parsers() {
        let word = if form.is_setting() { SETTINGS } else { form.word() };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// The words of settings.
fn settings() -> Vec<&'static str> {
    DirectiveKind::parsers().map(|(form, _)| form).filter(|form| form.is_setting()).map(Form::word).collect()
}

impl<'t> Parser<'t> {
    /// Reads a schedule. A broken statement is left out.
    pub(super) fn schedule(&mut self) -> Parsed<()> {
        let start = self.span();
        self.bump();
        let (name, span) =
            if self.at(Tok::LBrace) { ("", start) } else { self.name("the schedule's name, or `{`")? };
        if !self.at(Tok::LBrace) {
            return Err(self.unexpected(codes::EXPECTED_TOKEN, "`{` and the statements of the schedule"));
        }
        let open = self.bump();
        let mut directives = Vec::new();
        loop {
            match self.tok() {
                Tok::RBrace => break,
                Tok::Eof => return Err(self.unclosed_block(open)),
                Tok::Semi => {
                    self.bump();
                }
                _ => {
                    let at = self.pos;
                    if self.directive(&mut directives).is_err() {
                        self.recover_statement(at);
                    }
                }
            }
        }
        self.bump();
        self.module.schedules.push(Schedule { name: name.to_owned(), directives, span });
        Ok(())
    }

    fn directive(&mut self, directives: &mut Vec<Directive>) -> Parsed<()> {
        let (name, start) = self.name("a statement of a schedule")?;
        let found = DirectiveKind::parsers().find(|(form, _)| !form.is_setting() && form.word() == name);
        if found.is_none() && name != SETTINGS {
            let known = statements();
            return Err(self.unknown(
                codes::UNKNOWN_DIRECTIVE,
                "schedules have no statement",
                name,
                start,
                &known,
            ));
        }
        if !self.at(Tok::LParen) {
            return Err(self.unexpected(codes::EXPECTED_TOKEN, &format!("`(` after `{name}`")));
        }
        let open = self.bump();
        let mut kind = None;
        match found {
            Some((form, read)) => kind = Some(read(self, form)?),
            None => directives.extend(self.list(Tok::RParen, Self::setting)?),
        }
        self.eat(Tok::Comma);
        self.close(open, &format!("`)` after the arguments of `{name}`"))?;
        let span = self.span_from(start);
        directives.extend(kind.map(|kind| Directive { kind, span }));
        self.semicolon(&format!("`{name}(…)`"))
    }

    /// `name = value` of `task_graph`.
    fn setting(&mut self) -> Parsed<Directive> {
        let (name, start) = self.name("a setting of `task_graph`")?;
        let found = DirectiveKind::parsers().find(|(form, _)| form.is_setting() && form.word() == name);
        let Some((form, read)) = found else {
            let (what, known) = ("`task_graph` has no setting", settings());
            return Err(self.unknown(codes::UNKNOWN_SETTING, what, name, start, &known));
        };
        self.expect(Tok::Eq, &format!("`=` after `{name}`"))?;
        let kind = read(self, form)?;
        Ok(Directive { kind, span: self.span_from(start) })
    }

    /// Reports a word that is none of `known`.
    fn unknown(&mut self, code: Code, what: &str, name: &str, span: Span, known: &[&str]) -> Skip {
        let diagnostic = Diagnostic::error(code, format!("{what} `{}`", shorten(name))).at(span, "");
        let list: Vec<String> = known.iter().map(|word| format!("`{word}`")).collect();
        let diagnostic = diagnostic.note(format!("there are {}", list.join(", ")));
        let meant = did_you_mean(name, known.iter().copied());
        self.report(match meant {
            Some(meant) => diagnostic.help(format!("did you mean `{meant}`?")),
            None => diagnostic,
        })
    }

    /// Reads a count of 32 bits. The error for a larger number says the `most` that there may be; the rules of schedules check that bound.
    pub(in crate::workload) fn count32(&mut self, what: &str, most: u32) -> Parsed<u32> {
        self.count(what, U32, most.into()).map(|count| count as u32)
    }

    /// Reads the `(` behind a word.
    pub(in crate::workload) fn open(&mut self, expected: &str, help: &str) -> Parsed<Token> {
        if self.at(Tok::LParen) {
            return Ok(self.bump());
        }
        Err(self.unexpected_help(codes::EXPECTED_TOKEN, expected, help))
    }

    /// `[ … ]`.
    pub(in crate::workload) fn bracketed<T>(
        &mut self,
        what: &str,
        part: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        if !self.at(Tok::LBracket) {
            return Err(self.unexpected(codes::EXPECTED_TOKEN, &format!("`[` and {what}")));
        }
        let open = self.bump();
        let parts = self.list(Tok::RBracket, part)?;
        self.close(open, "`,` or `]`")?;
        Ok(parts)
    }
}
