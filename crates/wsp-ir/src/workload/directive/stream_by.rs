//! `stream_by(key)`.

use super::{
    DirectiveDef, DirectiveFields, DirectiveInterface, DirectiveKind, Form, MissingRequirement, Schedule,
    SchedulePolicy, capability_rows,
};
use crate::workload::IntExpr;
use crate::workload::build::{Expr, ScheduleBuilder};
use crate::workload::text::{Parsed, Parser, Printer};
use crate::workload::verify::Checker;
use crate::{CapabilityRow, Support};
use wsp_diag::Span;

/// `stream_by(key)`: a task goes to stream `key % streams`.
#[derive(Clone, PartialEq, Debug)]
pub struct StreamBy(pub IntExpr);

impl ScheduleBuilder<'_> {
    /// Stream `key % streams`.
    pub fn stream_by(&mut self, key: impl Into<Expr>) -> &mut Self {
        self.keyed(key, StreamBy)
    }
}

impl DirectiveDef for StreamBy {
    const FORMS: &'static [Form] = &[Form::Statement("stream_by")];

    capability_rows! {
        StreamBy(_) => CapabilityRow::new(
            "stream_by(key)",
            Support::Enforced,
            "a task goes to stream `key` modulo the number of streams",
        ),
    }

    fn parse(parser: &mut Parser<'_>, _: Form) -> Parsed<StreamBy> {
        parser.expr().map(StreamBy)
    }

    fn read<F: DirectiveFields>(fields: &mut F) -> Result<StreamBy, F::Fault> {
        fields.expr("key").map(StreamBy)
    }
}

impl DirectiveInterface for StreamBy {
    fn print(&self, _: Form, printer: &mut Printer<'_>) {
        printer.expr(&self.0);
    }

    fn verify<'m>(&'m self, checker: &mut Checker<'m>, _: Span) {
        checker.key(&self.0);
    }

    fn missing_requirement(&self, schedule: &Schedule) -> Option<MissingRequirement> {
        let streams = schedule.has(|kind| matches!(kind, DirectiveKind::Streams(_)));
        if streams {
            None
        } else {
            MissingRequirement::of_directive("stream_by", "streams", "add `streams(4);`", "add `.streams(4)`")
        }
    }

    fn exprs(&self) -> Vec<&IntExpr> {
        vec![&self.0]
    }

    fn apply(&self, policy: &mut SchedulePolicy) {
        policy.stream_by = Some(self.0.clone());
    }
}
