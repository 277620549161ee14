//! What is said when something cannot be read.

use super::{Parser, Skip};
use crate::tg::text::codes;
use crate::tg::text::idents::Ident;
use crate::tg::text::tokens::{Fault, Tok};
use wsp_diag::{Diagnostic, Span, did_you_mean};

/// Names that a wrong one is compared with.
pub(super) const MAX_CANDIDATES: usize = 1024;
/// Longest piece of the text that a message repeats, in bytes.
const MAX_REPEATED: usize = 60;

impl Parser<'_> {
    pub(super) fn report(&mut self, fault: Diagnostic) -> Skip {
        self.sink.push(fault);
        Skip
    }

    /// The place of the next token.
    pub(super) fn here(&self) -> Span {
        Span::new(self.file, self.token.start, self.token.end)
    }

    /// From a byte to the last token that was taken.
    pub(super) fn since(&self, start: u32) -> Span {
        Span::new(self.file, start, self.taken.max(start))
    }

    pub(super) fn text_at(&self, span: Span) -> &str {
        self.tokens.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// Reports that something else was needed.
    #[cold]
    pub(super) fn expected(&mut self, what: &str) -> Skip {
        if let Tok::Bad(fault) = self.token.tok {
            return self.bad_token(fault);
        }
        let text = self.text_at(self.here());
        let (span, found) = match self.token.tok {
            Tok::End => (self.here(), "the text ends here".to_owned()),
            // The place is on the line of what it belongs to.
            _ if self.token.fresh && self.taken > 0 => (
                Span::new(self.file, self.taken, self.taken),
                format!("the line ends here, and the next begins with `{}`", short(text)),
            ),
            _ => (self.here(), format!("found `{}`", short(text))),
        };
        let fault = Diagnostic::error(codes::EXPECTED, format!("expected {what}")).at(span, found);
        let fault = self.with_usage(fault);
        self.report(fault)
    }

    /// Adds how the instruction is written.
    pub(super) fn with_usage(&self, fault: Diagnostic) -> Diagnostic {
        match self.op {
            Some(op) => fault.help(format!("it is written `{}`", crate::tg::usage(op.info()))),
            None => fault,
        }
    }

    fn bad_token(&mut self, fault: Fault) -> Skip {
        let text = short(self.text_at(self.here())).to_owned();
        let (message, help) = match fault {
            Fault::Character | Fault::Name => (
                format!("`{}` cannot stand here", text.escape_debug()),
                "names are words of letters, digits and `_`; comments begin with `//`",
            ),
            Fault::Number => (
                format!("`{text}` is no integer"),
                "integers are written `42`, `0x2A`, `0b101` or `1_000_000`",
            ),
            Fault::LargeNumber => (
                format!("`{text}` has more than 64 bits"),
                "integers have 64 bits: at most 18446744073709551615",
            ),
            Fault::OpenString => ("string without an end".to_owned(), "close it with `\"` on the same line"),
            Fault::Escape => (
                "unknown escape in a string".to_owned(),
                "escapes are `\\\\`, `\\\"` and `\\u{HEX}`, as in `\\u{1F}`",
            ),
            Fault::OpenComment => ("comment without an end".to_owned(), "close it with `*/`"),
        };
        let fault = Diagnostic::error(codes::BAD_TOKEN, message).at(self.here(), "").help(help);
        self.report(fault)
    }

    #[cold]
    pub(super) fn out_of_range(
        &mut self,
        span: Span,
        value: i128,
        what: &str,
        low: i128,
        high: i128,
    ) -> Skip {
        let fault = Diagnostic::error(codes::OUT_OF_RANGE, format!("{value} is out of range for {what}"))
            .at(span, "")
            .note(format!("it can be {low} to {high}"));
        self.report(fault)
    }

    /// Reports a name that nothing defines, with the nearest that something does.
    #[cold]
    pub(super) fn unknown_name(&mut self, ident: Ident, span: Span, what: &str, meant: Option<&str>) -> Skip {
        let name = self.tokens.idents.row(ident).text;
        let mut fault =
            Diagnostic::error(codes::UNKNOWN_NAME, format!("no {what} is called `{name}`")).at(span, "");
        if let Some(meant) = meant {
            fault = fault.help(format!("did you mean `{meant}`?"));
        }
        self.report(fault)
    }

    /// The nearest of some names; none if nobody reads it any more.
    pub(super) fn nearest<'c>(
        &self,
        ident: Ident,
        names: impl IntoIterator<Item = &'c str>,
    ) -> Option<&'c str> {
        let most = if self.sink.is_full() { 0 } else { MAX_CANDIDATES };
        did_you_mean(self.tokens.idents.row(ident).text, names.into_iter().take(most))
    }
}

/// A piece of a text that is short enough to be repeated.
pub(super) fn short(text: &str) -> &str {
    let text = text.lines().next().unwrap_or("");
    if text.len() <= MAX_REPEATED {
        return text;
    }
    let end = (0..=MAX_REPEATED).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    &text[..end]
}
