//! A bounded collection of diagnostics.

use crate::{Code, Diagnostic};
use wsp_core::limits::MAX_DIAGNOSTICS;

/// Keeps the first [`MAX_DIAGNOSTICS`] diagnostics and counts the others.
#[derive(Debug, Default)]
pub struct Sink {
    kept: Vec<Diagnostic>,
    dropped: usize,
}

impl Sink {
    /// Adds a diagnostic.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.kept.len() < MAX_DIAGNOSTICS as usize {
            self.kept.push(diagnostic);
        } else {
            self.dropped += 1;
        }
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Whether an error is among what was reported.
    pub fn has_errors(&self) -> bool {
        self.kept.iter().any(Diagnostic::is_error)
    }

    /// Whether further diagnostics are only counted.
    pub fn is_full(&self) -> bool {
        self.kept.len() >= MAX_DIAGNOSTICS as usize
    }

    /// The diagnostics of both, in source order, at most [`MAX_DIAGNOSTICS`]; the last one, of the code
    /// `too_many`, says how many are missing.
    pub fn merge(self, other: Sink, too_many: Code) -> Vec<Diagnostic> {
        let mut all = self.kept;
        all.extend(other.kept);
        all.sort_by_key(|d| d.primary.as_ref().map_or(0, |label| label.span.start));
        let total = all.len() + self.dropped + other.dropped;
        if total > MAX_DIAGNOSTICS as usize {
            let hidden = all.split_off(MAX_DIAGNOSTICS as usize - 1);
            let message = format!("too many errors: {} more are not shown", total - all.len());
            let last = Diagnostic::error(too_many, message).help("repair the errors above first");
            all.push(match hidden.into_iter().find_map(|d| d.primary) {
                Some(first) => last.at(first.span, "the next one is here"),
                None => last,
            });
        }
        all
    }
}
