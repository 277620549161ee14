//! `core_groups(n)`.

use super::{
    DirectiveDef, DirectiveInterface, DirectiveKind, Form, MissingRequirement, Schedule, SchedulePolicy,
    capability_rows,
};
use crate::workload::build::ScheduleBuilder;
use crate::workload::text::{Parsed, Parser, Printer};
use crate::workload::verify::Checker;
use crate::{CapabilityRow, Support};
use wsp_core::limits::MAX_THREADS;
use wsp_core::policy::Ready;
use wsp_diag::Span;

/// `core_groups(n)`: workers that share a core group, from which an idle one takes tasks first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CoreGroups(pub u32);

impl ScheduleBuilder<'_> {
    /// Workers that share a core group.
    pub fn core_groups(&mut self, count: u32) -> &mut Self {
        self.plain(CoreGroups(count))
    }
}

impl DirectiveDef for CoreGroups {
    const FORMS: &'static [Form] = &[Form::Statement("core_groups")];

    capability_rows! {
        CoreGroups(_) => CapabilityRow::new(
            "core_groups(n)",
            Support::Enforced,
            "each `n` workers that follow each other form a group, and under `work_steal` an idle one takes from those of its group first",
        )
        .on_aicpus(
            Support::Error,
            "an AICPU issues its own tasks only, so its cores have no groups; leave out `--aicpus`",
        ),
    }

    fn parse(parser: &mut Parser<'_>, _: Form) -> Parsed<CoreGroups> {
        parser.count32("the number of workers of a group").map(CoreGroups)
    }
}

impl DirectiveInterface for CoreGroups {
    fn print(&self, _: Form, printer: &mut Printer<'_>) {
        printer.text(&self.0.to_string());
    }

    fn verify<'m>(&'m self, checker: &mut Checker<'m>, span: Span) {
        checker.count(self.0, MAX_THREADS, "workers of a group", span);
    }

    /// Under `auto` workers may steal, and whether they do follows from their number at run time.
    fn missing_requirement(&self, schedule: &Schedule) -> Option<MissingRequirement> {
        if !schedule.has(|kind| matches!(kind, DirectiveKind::Ready(Ready::Fifo | Ready::Priority))) {
            return None;
        }
        MissingRequirement::of_directive("core_groups", "ready = work_steal", "leave it out", "leave it out")
    }

    fn apply(&self, policy: &mut SchedulePolicy) {
        policy.core_groups = Some(self.0);
    }
}
