//! `task_graph(trace = …)`.

use super::{Form, Reads, Says, SchedulePolicy};
use crate::workload::text::{Parsed, Parser, Printer};
use crate::{Row, Support};
use wsp_core::policy::Trace;

impl Reads for Trace {
    const FORMS: &'static [Form] = &[Form::Setting("trace")];
    const ROWS: &'static [Row] = &[
        Row::new(
            "task_graph(trace = none)",
            Support::Enforced,
            "no times of single tasks are recorded, only sums per kernel and worker",
        ),
        Row::new(
            "task_graph(trace = measured)",
            Support::Enforced,
            "start, end and worker of every task are recorded",
        ),
        Row::new(
            "task_graph(trace = cycles)",
            Support::Enforced,
            "no kernel runs: tasks take the `cost` of their kernel in virtual time, which is recorded",
        )
        .on_aicpus(Support::Error, "virtual time has no AICPUs; leave out `--aicpus`"),
    ];

    fn parse(parser: &mut Parser<'_>, _: Form) -> Parsed<Trace> {
        parser.one_of("trace", Trace::WORDS)
    }
}

impl Says for Trace {
    fn row(&self) -> &'static Row {
        // In the order of the values.
        &Self::ROWS[*self as usize]
    }

    fn print(&self, _: Form, printer: &mut Printer<'_>) {
        printer.text(self.word());
    }

    fn apply(&self, policy: &mut SchedulePolicy) {
        policy.trace = *self;
    }
}
