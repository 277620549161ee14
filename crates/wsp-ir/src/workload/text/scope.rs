//! What names stand for.

use super::codes;
use super::{Parser, Skip};
use crate::workload::walk::Reference;
use wsp_core::{ChannelId, LabelId, VarId};
use wsp_diag::{Diagnostic, Span, did_you_mean};
use wsp_ordered::OrderedMap;
use wsp_syntax::shorten;

impl Reference {
    /// With its article, as a message says it.
    pub(super) fn what(self) -> &'static str {
        match self {
            Reference::Param(_) => "a parameter",
            Reference::Table(_) => "a table",
            Reference::Axis(_) => "an axis",
            Reference::Tensor(_) => "a tensor",
            Reference::Slot(_) => "a slot",
            Reference::Kernel(_) => "a kernel",
            Reference::Workload(_) => "a workload",
            Reference::Var(_) => "a variable",
        }
    }
}

/// The names that are visible.
#[derive(Default)]
pub(super) struct VisibleNames<'t> {
    /// How many entries each table will have: parameters, tables, axes, tensors, slots, kernels, workloads.
    pub(super) counts: [u32; 7],
    globals: OrderedMap<&'t str, (Reference, Span)>,
    /// Labels of the current workload.
    pub(super) labels: OrderedMap<&'t str, LabelId>,
    /// Channels of the current workload, and those that the current process calls by the names of its ends.
    pub(super) channels: OrderedMap<&'t str, ChannelId>,
    /// Arrays of channels of the current workload: the first and how many.
    pub(super) arrays: OrderedMap<&'t str, (ChannelId, u32)>,
    /// Ends of the current process that a connection names: whether it sends by them.
    pub(super) ends: OrderedMap<&'t str, bool>,
    /// Processes and their ends that connections of the current pipeline name.
    pub(super) connected: Vec<(&'t str, &'t str)>,
    /// Values of the variables of copies that are read, outermost first; the variables have the ids of [`VisibleNames::copied`].
    copies: Vec<i64>,
    /// How many copies are made of what is read.
    pub(super) copied_times: u64,
    /// Variables, innermost last.
    locals: Vec<(&'t str, VarId, Span)>,
}

impl<'t> VisibleNames<'t> {
    /// What a name of the file stands for, and where it is declared.
    pub(super) fn global(&self, name: &str) -> Option<(Reference, Span)> {
        self.globals.get(name).copied()
    }

    pub(super) fn declare(&mut self, name: &'t str, entity: Reference, span: Span) {
        self.globals.insert(name, (entity, span));
    }

    /// What a name stands for here.
    pub(super) fn find(&self, name: &str) -> Option<(Reference, Span)> {
        let local = self.locals.iter().rev().find(|(local, ..)| *local == name);
        local.map(|(_, var, span)| (Reference::Var(*var), *span)).or_else(|| self.global(name))
    }

    /// Makes a variable visible until it is closed.
    pub(super) fn open(&mut self, name: &'t str, var: VarId, span: Span) {
        self.locals.push((name, var, span));
    }

    /// Makes the variable of a copy visible until it is closed: what is read has its value in its place.
    pub(super) fn open_copy(&mut self, name: &'t str, value: i64, span: Span) {
        self.locals.push((name, VarId(u32::MAX - self.copies.len() as u32), span));
        self.copies.push(value);
    }

    /// Ends what the last [`VisibleNames::open_copy`] began.
    pub(super) fn close_copy(&mut self) {
        self.locals.pop();
        self.copies.pop();
    }

    /// The value of the variable of a copy.
    pub(super) fn copied(&self, var: VarId) -> Option<i64> {
        self.copies.get((u32::MAX - var.0) as usize).copied()
    }

    /// What names in copies end with, such as `_0_3`.
    pub(super) fn suffix(&self) -> String {
        self.copies.iter().map(|value| format!("_{value}").replace('-', "m")).collect()
    }

    /// How many variables are visible.
    pub(super) fn depth(&self) -> usize {
        self.locals.len()
    }

    /// Hides all variables but the outermost `depth`.
    pub(super) fn close(&mut self, depth: usize) {
        self.locals.truncate(depth);
    }

    /// The visible names of entities that `fits` accepts, for suggestions: the first of very many.
    fn names(&self, fits: impl Fn(Reference) -> bool) -> Vec<&'t str> {
        const MOST: usize = 2000;
        let locals = self.locals.iter().rev().map(|(name, var, _)| (*name, Reference::Var(*var)));
        let globals = self.globals.iter().map(|(name, (entity, _))| (*name, *entity));
        locals.chain(globals).filter(|(_, entity)| fits(*entity)).map(|(name, _)| name).take(MOST).collect()
    }
}

impl Parser<'_> {
    /// Reports a name that stands for nothing, where `what` is needed, as those that `fits` accepts are.
    pub(super) fn undeclared(
        &mut self,
        name: &str,
        span: Span,
        what: &str,
        fits: impl Fn(Reference) -> bool,
    ) -> Skip {
        let message = format!("`{}` is not declared", shorten(name));
        let mut diagnostic =
            Diagnostic::error(codes::UNDECLARED_NAME, message).at(span, format!("expected {what}"));
        if self.sink.is_full() {
            return self.report(diagnostic);
        }
        if let Some(meant) = did_you_mean(name, self.scope.names(fits)) {
            diagnostic = diagnostic.help(format!("did you mean `{meant}`?"));
        } else if matches!(name, "true" | "false") {
            diagnostic = diagnostic.help("truth values are 1 and 0");
        }
        self.report(diagnostic)
    }

    /// Reports a name that stands for something else than `what`.
    pub(super) fn wrong_kind(&mut self, name: &str, span: Span, what: &str, help: &str) -> Skip {
        let Some((entity, declared)) = self.scope.find(name) else {
            return self.undeclared(name, span, what, |_| true);
        };
        let name = shorten(name);
        let mut diagnostic = Diagnostic::error(codes::WRONG_KIND, format!("`{name}` is {}", entity.what()))
            .at(span, format!("expected {what}"))
            .label(declared, "declared here");
        let hidden = matches!(entity, Reference::Var(_)).then(|| self.scope.global(&name)).flatten();
        if let Some((global, at)) = hidden {
            diagnostic = diagnostic.label(at, format!("{} that the variable hides", global.what()));
        }
        if !help.is_empty() {
            diagnostic = diagnostic.help(help);
        }
        self.report(diagnostic)
    }
}
