//! `streams(n)`.

use super::{DirectiveDef, DirectiveFields, DirectiveInterface, Form, SchedulePolicy, capability_rows};
use crate::workload::build::ScheduleBuilder;
use crate::workload::text::{Parsed, Parser, Printer};
use crate::workload::verify::Checker;
use crate::{CapabilityRow, Support};
use wsp_diag::Span;

/// The largest number of streams: their ids have 16 bits.
const MAX_STREAMS: u32 = 1 << 16;

/// `streams(n)`: tasks go to so many in-order streams, in turn unless `stream_by` says otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Streams(pub u32);

impl ScheduleBuilder<'_> {
    /// Tasks go to so many in-order streams.
    pub fn streams(&mut self, count: u32) -> &mut Self {
        self.plain(Streams(count))
    }
}

impl DirectiveDef for Streams {
    const FORMS: &'static [Form] = &[Form::Statement("streams")];

    capability_rows! {
        Streams(_) => CapabilityRow::new(
            "streams(n)",
            Support::Enforced,
            "tasks go to `n` streams, in turn without `stream_by`, and a stream starts a task when the one before is complete, or as its `pipeline_depth` says",
        ),
    }

    fn parse(parser: &mut Parser<'_>, _: Form) -> Parsed<Streams> {
        parser.count32("the number of streams", MAX_STREAMS).map(Streams)
    }

    fn read<F: DirectiveFields>(fields: &mut F) -> Result<Streams, F::Fault> {
        fields.count("n").map(Streams)
    }
}

impl DirectiveInterface for Streams {
    fn print(&self, _: Form, printer: &mut Printer<'_>) {
        printer.text(&self.0.to_string());
    }

    fn verify<'m>(&'m self, checker: &mut Checker<'m>, span: Span) {
        checker.count(self.0, MAX_STREAMS, "streams", span);
    }

    fn apply(&self, policy: &mut SchedulePolicy) {
        policy.streams = Some(self.0);
    }
}
