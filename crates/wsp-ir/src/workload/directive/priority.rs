//! `priority(key)`.

use super::{DirectiveKind, Form, Lack, Reads, Says, Schedule, SchedulePolicy};
use crate::workload::IntExpr;
use crate::workload::text::{Parsed, Parser, Printer};
use crate::workload::verify::Checker;
use crate::{Row, Span, Support};
use wsp_core::policy::Ready;

/// `priority(key)`: with `ready = priority`, larger keys first.
#[derive(Clone, PartialEq, Debug)]
pub struct Priority(pub IntExpr);

impl Reads for Priority {
    const FORMS: &'static [Form] = &[Form::Statement("priority")];
    const ROWS: &'static [Row] = &[Row::new(
        "priority(key)",
        Support::Enforced,
        "the order of ready tasks under `ready = priority`, larger keys first",
    )];

    fn parse(parser: &mut Parser<'_>, _: Form) -> Parsed<Priority> {
        parser.expr().map(Priority)
    }
}

impl Says for Priority {
    fn row(&self) -> &'static Row {
        &Self::ROWS[0]
    }

    fn print(&self, _: Form, printer: &mut Printer<'_>) {
        printer.expr(&self.0);
    }

    fn verify<'m>(&'m self, checker: &mut Checker<'m>, _: Span) {
        checker.key(&self.0);
    }

    fn lacks(&self, schedule: &Schedule) -> Option<Lack> {
        if schedule.has(|kind| matches!(kind, DirectiveKind::Ready(Ready::Priority))) {
            return None;
        }
        Lack::effect("priority", "ready = priority", "add `task_graph(ready = priority);`")
    }

    fn exprs(&self) -> Vec<&IntExpr> {
        vec![&self.0]
    }

    fn exprs_mut(&mut self) -> Vec<&mut IntExpr> {
        vec![&mut self.0]
    }

    fn apply(&self, policy: &mut SchedulePolicy) {
        policy.priority = Some(self.0.clone());
    }
}
