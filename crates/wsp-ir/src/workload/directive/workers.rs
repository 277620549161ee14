//! `workers(n)`.

use super::{
    DirectiveDef, DirectiveFields, DirectiveInterface, DirectiveKind, Form, MissingRequirement, Schedule,
    SchedulePolicy, capability_rows,
};
use crate::workload::build::ScheduleBuilder;
use crate::workload::text::{Parsed, Parser, Printer};
use crate::workload::verify::Checker;
use crate::{CapabilityRow, Support};
use wsp_core::limits::MAX_THREADS;
use wsp_core::policy::PoolSizes;
use wsp_diag::Span;

/// `workers(n)`: threads of a run that does not ask for a number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Workers(pub u32);

impl ScheduleBuilder<'_> {
    /// Threads of a run that does not ask for a number.
    pub fn workers(&mut self, count: u32) -> &mut Self {
        self.plain(Workers(count))
    }
}

impl DirectiveDef for Workers {
    const FORMS: &'static [Form] = &[Form::Statement("workers")];

    capability_rows! {
        Workers(_) => CapabilityRow::new(
            "workers(n)",
            Support::Enforced,
            "a run that asks for no number of threads has `n`, and as many workers in virtual time",
        ),
    }

    fn parse(parser: &mut Parser<'_>, _: Form) -> Parsed<Workers> {
        parser.count32("the number of workers", MAX_THREADS).map(Workers)
    }

    fn read<F: DirectiveFields>(fields: &mut F) -> Result<Workers, F::Fault> {
        fields.count("n").map(Workers)
    }
}

impl DirectiveInterface for Workers {
    fn print(&self, _: Form, printer: &mut Printer<'_>) {
        printer.text(&self.0.to_string());
    }

    fn verify<'m>(&'m self, checker: &mut Checker<'m>, span: Span) {
        checker.count(self.0, MAX_THREADS, "workers", span);
    }

    fn missing_requirement(&self, schedule: &Schedule) -> Option<MissingRequirement> {
        let by_unit = schedule.has(|kind| matches!(kind, DirectiveKind::Pools(PoolSizes::ByUnit { .. })));
        by_unit.then(|| MissingRequirement {
            message: "`workers` has no effect where pools by unit say how many there are".to_owned(),
            note: None,
            help: "leave `workers` out, or the pools",
            python: "leave `.workers` out, or the pools",
        })
    }

    fn apply(&self, policy: &mut SchedulePolicy) {
        policy.workers = Some(self.0);
    }
}
