//! `task_graph(trace = …)`.

use super::{DirectiveDef, DirectiveFields, DirectiveInterface, Form, SchedulePolicy, capability_rows};
use crate::workload::build::ScheduleBuilder;
use crate::workload::text::{Parsed, Parser, Printer};
use crate::{CapabilityRow, Support};
use wsp_core::policy::Trace;

impl ScheduleBuilder<'_> {
    /// What is recorded.
    pub fn trace(&mut self, trace: Trace) -> &mut Self {
        self.plain(trace)
    }
}

impl DirectiveDef for Trace {
    const FORMS: &'static [Form] = &[Form::Setting("trace")];

    capability_rows! {
        Trace::None => CapabilityRow::new(
            "task_graph(trace = none)",
            Support::Enforced,
            "no times of single tasks are recorded, only sums per kernel and worker",
        ),
        Trace::Measured => CapabilityRow::new(
            "task_graph(trace = measured)",
            Support::Enforced,
            "start, end and worker of every task are recorded",
        ),
        Trace::Cycles => CapabilityRow::new(
            "task_graph(trace = cycles)",
            Support::Enforced,
            "no kernel runs: tasks take the `cost` of their kernel in virtual time, which is recorded",
        )
        .on_aicpus(
            Support::Enforced,
            "no kernel runs: tasks take the `cost` of their kernel in virtual time, and what AICPUs do takes none",
        ),
    }

    fn parse(parser: &mut Parser<'_>, _: Form) -> Parsed<Trace> {
        parser.one_of("trace", Trace::WORDS)
    }

    fn read<F: DirectiveFields>(fields: &mut F) -> Result<Trace, F::Fault> {
        fields.word("mode", Trace::WORDS)
    }
}

impl DirectiveInterface for Trace {
    fn print(&self, _: Form, printer: &mut Printer<'_>) {
        printer.text(self.word());
    }

    fn apply(&self, policy: &mut SchedulePolicy) {
        policy.trace = *self;
    }
}
