//! Why something of a launch failed.

use super::codes;
use wsp_backend::Payload;
use wsp_diag::Diagnostic;

/// Why something of a launch failed.
#[derive(Clone, Debug)]
pub(crate) struct TgFault {
    pub(crate) diagnostic: Box<Diagnostic>,
    /// What a function of the caller handed over.
    pub(crate) payload: Option<Payload>,
}

impl From<Box<Diagnostic>> for TgFault {
    fn from(diagnostic: Box<Diagnostic>) -> TgFault {
        TgFault { diagnostic, payload: None }
    }
}

pub(crate) fn cancelled() -> Box<Diagnostic> {
    Box::new(Diagnostic::error(codes::CANCELLED, "the run was cancelled"))
}
