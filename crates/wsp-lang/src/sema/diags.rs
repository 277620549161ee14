//! Collecting findings.

use wsp_core::limits;
use wsp_diag::{Diagnostic, FileId, Span};
use wsp_ordered::OrderedSet;

/// Proof that an error has been reported: whoever gets one need not report it again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reported(());

/// A value, or the proof that its absence has been reported.
pub(crate) type Res<T> = Result<T, Reported>;

/// Findings past this many are dropped.
const MOST: usize = 8 * limits::MAX_DIAGNOSTICS as usize;

/// The findings so far. The same finding at the same place counts once, so that code which is lowered several times
/// (templates, inline functions) does not repeat itself.
#[derive(Default)]
pub(crate) struct Diags {
    list: Vec<Diagnostic>,
    seen: OrderedSet<(u16, FileId, u32, u32, String)>,
    errors: bool,
}

impl Reported {
    /// For names whose definition has been found wrong before.
    pub(crate) fn earlier(diags: &Diags) -> Reported {
        debug_assert!(diags.errors, "an error should have been reported before");
        Reported(())
    }
}

impl Diags {
    /// Adds an error.
    pub(crate) fn error(&mut self, diagnostic: Diagnostic) -> Reported {
        debug_assert!(diagnostic.is_error());
        self.errors = true;
        self.add(diagnostic);
        Reported(())
    }

    /// Adds a warning.
    pub(crate) fn warn(&mut self, diagnostic: Diagnostic) {
        self.add(diagnostic);
    }

    /// Whether there is an error.
    pub(crate) fn has_errors(&self) -> bool {
        self.errors
    }

    /// Whether there are more findings than anybody will see.
    pub(crate) fn is_crowded(&self) -> bool {
        self.list.len() >= limits::MAX_DIAGNOSTICS as usize
    }

    /// The findings in the order in which they were made.
    pub(crate) fn into_list(self) -> Vec<Diagnostic> {
        self.list
    }

    fn add(&mut self, diagnostic: Diagnostic) {
        if self.list.len() >= MOST {
            return;
        }
        let span = diagnostic.primary.as_ref().map_or(Span::default(), |l| l.span);
        if self.seen.insert((diagnostic.code.0, span.file, span.start, span.end, diagnostic.message.clone()))
        {
            self.list.push(diagnostic);
        }
    }
}
