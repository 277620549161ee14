//! Where output goes: results to stdout, diagnostics to stderr.

use crate::args::{Color, ErrorFormat};
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use wsp_core::limits;
use wsp_ir::SourceMap;
use wsp_ir::diag::{Diagnostic, Severity, render, to_json};

/// How to print.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    color: bool,
    format: ErrorFormat,
}

impl Terminal {
    /// Decides about colour once, by flag and environment.
    pub(crate) fn new(format: ErrorFormat, color: Color) -> Terminal {
        let color = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never,
        };
        Terminal { color, format }
    }

    /// Prints a result. Nobody reading it any more is no error; a result that cannot be written ends the program.
    pub(crate) fn print(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => {}
            Err(fault) if fault.kind() == ErrorKind::BrokenPipe => {}
            Err(fault) => {
                let _ = writeln!(std::io::stderr(), "error: cannot write to standard output: {fault}");
                crate::interrupt::abandon(1);
            }
        }
    }

    /// Prints JSON, indented.
    pub(crate) fn print_json(&self, value: &serde_json::Value) {
        self.print(&format!("{value:#}\n"));
    }

    /// Prints what a long command is doing; only to a person.
    pub(crate) fn progress(&self, text: &str) {
        let mut err = std::io::stderr().lock();
        if err.is_terminal() && self.format == ErrorFormat::Text {
            let _ = writeln!(err, "{text}");
        }
    }

    /// Prints diagnostics, as many as are useful.
    pub(crate) fn report(&self, diagnostics: &[Diagnostic], sources: &SourceMap) {
        let mut text = String::new();
        for diagnostic in diagnostics.iter().take(limits::MAX_DIAGNOSTICS as usize) {
            match self.format {
                ErrorFormat::Text => text.push_str(&render(diagnostic, sources, self.color)),
                ErrorFormat::Json => text.push_str(&to_json(diagnostic, sources).to_string()),
            }
            if !text.ends_with('\n') {
                text.push('\n');
            }
        }
        if self.format == ErrorFormat::Text {
            text.push_str(&summary(diagnostics));
        }
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }
}

/// How many there were, when that is not plain to see.
fn summary(diagnostics: &[Diagnostic]) -> String {
    let count = |severity: Severity| diagnostics.iter().filter(|d| d.severity == severity).count();
    let parts: Vec<String> = [(Severity::Error, "error"), (Severity::Warning, "warning")]
        .into_iter()
        .map(|(severity, name)| (count(severity), name))
        .filter(|(n, _)| *n > 0)
        .map(|(n, name)| format!("{n} {name}{}", if n == 1 { "" } else { "s" }))
        .collect();
    let hidden = diagnostics.len().saturating_sub(limits::MAX_DIAGNOSTICS as usize);
    match (diagnostics.len(), hidden) {
        (0 | 1, _) => String::new(),
        (_, 0) => format!("{}\n", parts.join(", ")),
        _ => format!("{}; {hidden} not shown\n", parts.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_ir::diag::Code;

    #[test]
    fn several_diagnostics_are_counted() {
        let error = Diagnostic::error(Code(1), "a");
        let warning = Diagnostic::warning(Code(2), "b");
        assert_eq!(summary(std::slice::from_ref(&error)), "");
        assert_eq!(summary(&[error.clone(), warning, error.clone()]), "2 errors, 1 warning\n");
        assert_eq!(summary(&vec![error; 60]), "60 errors; 10 not shown\n");
    }
}
