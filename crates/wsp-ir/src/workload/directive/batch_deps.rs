//! `batch_deps(n)`.

use super::{DirectiveDef, DirectiveFields, DirectiveInterface, Form, SchedulePolicy, capability_rows};
use crate::workload::build::ScheduleBuilder;
use crate::workload::text::{Parsed, Parser, Printer};
use crate::workload::verify::Checker;
use crate::{CapabilityRow, Support};
use wsp_core::limits::MAX_TASK_WINDOW;
use wsp_diag::Span;

/// `batch_deps(n)`: a worker gathers this many completions before it releases their successors.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BatchDeps(pub u32);

impl ScheduleBuilder<'_> {
    /// Completions that a worker gathers before it releases their successors.
    pub fn batch_deps(&mut self, count: u32) -> &mut Self {
        self.plain(BatchDeps(count))
    }
}

impl DirectiveDef for BatchDeps {
    const FORMS: &'static [Form] = &[Form::Statement("batch_deps")];

    capability_rows! {
        BatchDeps(_) => CapabilityRow::new(
            "batch_deps(n)",
            Support::Enforced,
            "a worker releases successors after `n` completions, when it runs out of tasks, and at the end",
        )
        .on_aicpus(
            Support::Enforced,
            "an AICPU releases successors after `n` completions, when it has nothing else to do, and at the end",
        ),
    }

    fn parse(parser: &mut Parser<'_>, _: Form) -> Parsed<BatchDeps> {
        parser.count32("the number of completions", MAX_TASK_WINDOW).map(BatchDeps)
    }

    fn read<F: DirectiveFields>(fields: &mut F) -> Result<BatchDeps, F::Fault> {
        fields.count("n").map(BatchDeps)
    }
}

impl DirectiveInterface for BatchDeps {
    fn print(&self, _: Form, printer: &mut Printer<'_>) {
        printer.text(&self.0.to_string());
    }

    fn verify<'m>(&'m self, checker: &mut Checker<'m>, span: Span) {
        checker.count(self.0, MAX_TASK_WINDOW, "completions of a batch", span);
    }

    fn apply(&self, policy: &mut SchedulePolicy) {
        policy.batch = Some(self.0);
    }
}
