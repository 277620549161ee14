//! A fault of structure while it is being told.

use crate::tg::TgModule;
use crate::tg::verify::rule::Placed as _;
use wsp_diag::{Diagnostic, Sink};

/// A fault that is being told; it is reported when it is dropped.
pub(super) struct Fault<'a> {
    pub(super) module: &'a TgModule,
    pub(super) faults: &'a mut Sink,
    pub(super) diagnostic: Option<Diagnostic>,
}

impl Fault<'_> {
    pub(super) fn and(&mut self, at: u32, text: &str) -> &mut Self {
        self.diagnostic = self.diagnostic.take().map(|d| d.and(self.module, at, text));
        self
    }

    pub(super) fn label(&mut self, span: wsp_diag::Span, text: &str) -> &mut Self {
        self.diagnostic = self.diagnostic.take().map(|d| d.label(span, text));
        self
    }

    pub(super) fn help(&mut self, text: impl Into<String>) -> &mut Self {
        self.diagnostic = self.diagnostic.take().map(|d| d.help(text));
        self
    }
}

impl Drop for Fault<'_> {
    fn drop(&mut self) {
        if let Some(diagnostic) = self.diagnostic.take() {
            self.faults.push(diagnostic);
        }
    }
}
