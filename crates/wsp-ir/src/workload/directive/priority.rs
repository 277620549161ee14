//! `priority(key)`.

use super::{
    DirectiveDef, DirectiveFields, DirectiveInterface, DirectiveKind, Form, MissingRequirement, Schedule,
    SchedulePolicy, capability_rows,
};
use crate::workload::IntExpr;
use crate::workload::build::{Expr, ScheduleBuilder};
use crate::workload::text::{Parsed, Parser, Printer};
use crate::workload::verify::Checker;
use crate::{CapabilityRow, Support};
use wsp_core::policy::Ready;
use wsp_diag::Span;

/// `priority(key)`: with `ready = priority`, larger keys first.
#[derive(Clone, PartialEq, Debug)]
pub struct Priority(pub IntExpr);

impl ScheduleBuilder<'_> {
    /// Larger keys first, with [`Ready::Priority`].
    pub fn priority(&mut self, key: impl Into<Expr>) -> &mut Self {
        self.keyed(key, Priority)
    }
}

impl DirectiveDef for Priority {
    const FORMS: &'static [Form] = &[Form::Statement("priority")];

    capability_rows! {
        Priority(_) => CapabilityRow::new(
            "priority(key)",
            Support::Enforced,
            "the order of ready tasks under `ready = priority`, larger keys first",
        ),
    }

    fn parse(parser: &mut Parser<'_>, _: Form) -> Parsed<Priority> {
        parser.expr().map(Priority)
    }

    fn read<F: DirectiveFields>(fields: &mut F) -> Result<Priority, F::Fault> {
        fields.expr("key").map(Priority)
    }
}

impl DirectiveInterface for Priority {
    fn print(&self, _: Form, printer: &mut Printer<'_>) {
        printer.expr(&self.0);
    }

    fn verify<'m>(&'m self, checker: &mut Checker<'m>, _: Span) {
        checker.key(&self.0);
    }

    fn missing_requirement(&self, schedule: &Schedule) -> Option<MissingRequirement> {
        if schedule.has(|kind| matches!(kind, DirectiveKind::Ready(Ready::Priority))) {
            return None;
        }
        let (help, python) = match schedule.has(|kind| matches!(kind, DirectiveKind::Ready(_))) {
            true => {
                ("change `ready` to `ready = priority`", "change `ready` to `ready=ReadyPolicy.priority()`")
            }
            false => {
                ("add `task_graph(ready = priority);`", "add `.task_graph(ready=ReadyPolicy.priority())`")
            }
        };
        MissingRequirement::of_directive("priority", "ready = priority", help, python)
    }

    fn exprs(&self) -> Vec<&IntExpr> {
        vec![&self.0]
    }

    fn apply(&self, policy: &mut SchedulePolicy) {
        policy.priority = Some(self.0.clone());
    }
}
