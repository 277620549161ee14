//! Findings as an error.

use super::Diagnostic;
use std::fmt;
use std::ops::Deref;

/// Findings of which one at least is an error. Their text has the options of Rust, and names no places in sources: [`render_all`](super::render_all) does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, found) in self.0.iter().enumerate() {
            let found = found.clone().in_rust();
            let line = if at == 0 { "" } else { "\n" };
            write!(f, "{line}{}: {}", found.code, found.message)?;
            for more in found.notes.iter().chain(&found.help) {
                write!(f, "\n    {more}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

impl Deref for Diagnostics {
    type Target = [Diagnostic];

    fn deref(&self) -> &[Diagnostic] {
        &self.0
    }
}

impl From<Vec<Diagnostic>> for Diagnostics {
    fn from(found: Vec<Diagnostic>) -> Diagnostics {
        Diagnostics(found)
    }
}

impl From<Diagnostics> for Vec<Diagnostic> {
    fn from(found: Diagnostics) -> Vec<Diagnostic> {
        found.0
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(found: Diagnostic) -> Diagnostics {
        Diagnostics(vec![found])
    }
}
