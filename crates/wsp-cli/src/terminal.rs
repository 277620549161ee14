//! Where output goes: results to stdout, diagnostics to stderr.

use crate::args::{Color, Format, MessageArgs};
use crate::files::written;
use pto_wsp::catalog::to_json;
use std::io::{IsTerminal as _, Write as _};
use wsp_core::limits;
use wsp_diag::{Diagnostic, Severity, SourceMap, render};
use wsp_ordered::OrderedMap;

/// Diagnostics with one code and one message that are printed: more of them say nothing new.
const MOST_ALIKE: usize = 5;

/// How to print.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    color: bool,
    format: Format,
}

impl Terminal {
    /// Decides about colour once, by flag and environment.
    pub(crate) fn new(messages: &MessageArgs) -> Terminal {
        let &MessageArgs { error_format: format, color } = messages;
        let color = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never,
        };
        Terminal { color, format }
    }

    /// Prints a result.
    pub fn print(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        self.must_be_written(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
    }

    /// Looks at what became of a result on standard output. A reader that is gone is no error; a result that cannot be written
    /// ends the program.
    pub(crate) fn must_be_written(&self, wrote: std::io::Result<()>) {
        if let Err(fault) = written(wrote) {
            self.report(&[fault], &SourceMap::default());
            crate::interrupt::leave(1);
        }
    }

    /// Prints JSON, indented.
    pub(crate) fn print_json(&self, value: &serde_json::Value) {
        self.print(&format!("{value:#}\n"));
    }

    /// Prints what a long command is doing; only to a person.
    pub fn progress(&self, text: &str) {
        let mut err = std::io::stderr().lock();
        if err.is_terminal() && self.format == Format::Text {
            let _ = writeln!(err, "{text}");
        }
    }

    /// Prints diagnostics, as many as are useful.
    pub(crate) fn report(&self, diagnostics: &[Diagnostic], sources: &SourceMap) {
        let mut text = String::new();
        let shown = match self.format {
            Format::Text => distinct(diagnostics),
            Format::Json => diagnostics.iter().collect(),
        };
        for diagnostic in shown.iter().take(limits::MAX_DIAGNOSTICS as usize) {
            match self.format {
                Format::Text => text.push_str(&render(diagnostic, sources, self.color)),
                Format::Json => text.push_str(&to_json(diagnostic, sources).to_string()),
            }
            if !text.ends_with('\n') {
                text.push('\n');
            }
        }
        if self.format == Format::Text {
            text.push_str(&summary(diagnostics, shown.len()));
        }
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }
}

/// All but those that say what [`MOST_ALIKE`] others have said before them, of other places.
fn distinct(diagnostics: &[Diagnostic]) -> Vec<&Diagnostic> {
    let mut said: OrderedMap<(u16, &str), usize> = OrderedMap::new();
    let mut shown = Vec::new();
    for one in diagnostics {
        let before = said.entry((one.code.0, one.message.as_str())).or_default();
        *before += 1;
        shown.extend((*before <= MOST_ALIKE).then_some(one));
    }
    shown
}

/// How many there were, when that is not plain to see; `shown` are those that differ.
fn summary(diagnostics: &[Diagnostic], shown: usize) -> String {
    let count = |severity: Severity| diagnostics.iter().filter(|d| d.severity == severity).count();
    let parts: Vec<String> = [(Severity::Error, "error"), (Severity::Warning, "warning")]
        .into_iter()
        .map(|(severity, name)| (count(severity), name))
        .filter(|(n, _)| *n > 0)
        .map(|(n, name)| format!("{n} {name}{}", if n == 1 { "" } else { "s" }))
        .collect();
    let hidden = diagnostics.len() - shown.min(limits::MAX_DIAGNOSTICS as usize);
    match (diagnostics.len(), hidden) {
        (0 | 1, _) => String::new(),
        (_, 0) => format!("{}\n", parts.join(", ")),
        _ => format!("{}; {hidden} not shown\n", parts.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_diag::Code;

    #[test]
    fn several_diagnostics_are_counted() {
        let error = Diagnostic::error(Code(1), "a");
        let warning = Diagnostic::warning(Code(2), "b");
        assert_eq!(summary(std::slice::from_ref(&error), 1), "");
        assert_eq!(summary(&[error.clone(), warning, error.clone()], 3), "2 errors, 1 warning\n");
        assert_eq!(summary(&vec![error; 60], 60), "60 errors; 10 not shown\n");
    }

    #[test]
    fn what_is_said_again_and_again_is_printed_a_few_times() {
        let error = |message: &str| Diagnostic::error(Code(1), message);
        let many = [vec![error("a"); 9], vec![error("b")]].concat();
        let shown = distinct(&many);
        assert_eq!((shown.len(), shown[5].message.as_str()), (6, "b"));
        assert_eq!(summary(&many, shown.len()), "10 errors; 4 not shown\n");
    }
}
