//! `core_groups(n)`.

use super::{
    DirectiveDef, DirectiveFields, DirectiveInterface, DirectiveKind, Dispatch, Form, MissingRequirement,
    Schedule, SchedulePolicy, ThresholdPolicy, capability_rows,
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
            "each `n` workers that follow each other form a group, and an idle one takes from those of its group first: it needs `ready = work_steal`, and tasks that `dispatch` gives to no worker",
        )
        .on_aicpus(
            Support::Error,
            "an AICPU issues its own tasks only, so its cores have no groups",
        ),
    }

    fn parse(parser: &mut Parser<'_>, _: Form) -> Parsed<CoreGroups> {
        parser.count32("the number of workers of a group", MAX_THREADS).map(CoreGroups)
    }

    fn read<F: DirectiveFields>(fields: &mut F) -> Result<CoreGroups, F::Fault> {
        fields.count("n").map(CoreGroups)
    }
}

impl DirectiveInterface for CoreGroups {
    fn print(&self, _: Form, printer: &mut Printer<'_>) {
        printer.text(&self.0.to_string());
    }

    fn verify<'m>(&'m self, checker: &mut Checker<'m>, span: Span) {
        checker.count(self.0, MAX_THREADS, "workers of a group", span);
    }

    /// Under `ready = auto` the number of workers decides whether they steal; so the schedule says that they do.
    fn missing_requirement(&self, schedule: &Schedule) -> Option<MissingRequirement> {
        if !schedule.has(|kind| matches!(kind, DirectiveKind::Ready(Ready::WorkSteal))) {
            let [help, python] = match schedule.has(|kind| matches!(kind, DirectiveKind::Ready(_))) {
                true => [
                    "change `ready` to `ready = work_steal`, or leave `core_groups` out",
                    "change `ready` to `ready=ReadyPolicy.work_steal()`, or leave `.core_groups` out",
                ],
                false => [
                    "add `task_graph(ready = work_steal);`, or leave `core_groups` out",
                    "add `.task_graph(ready=ReadyPolicy.work_steal())`, or leave `.core_groups` out",
                ],
            };
            return MissingRequirement::of_directive("core_groups", "ready = work_steal", help, python);
        }
        if leaves_tasks_to_any_worker(schedule) {
            return None;
        }
        let by_threshold = schedule.has(|kind| matches!(kind, DirectiveKind::DispatchThreshold(_)));
        let [directive, help, python] = match by_threshold {
            true => [
                "dispatch_threshold",
                "write `work_steal` for a policy of `dispatch_threshold`, or leave `core_groups` out",
                "write `DispatchPolicy.work_steal()` for a policy of `.dispatch_threshold`, or leave `.core_groups` out",
            ],
            false => [
                "dispatch",
                "write `dispatch(work_steal);`, or leave `core_groups` out",
                "write `.dispatch(DispatchPolicy.work_steal())`, or leave `.core_groups` out",
            ],
        };
        Some(MissingRequirement {
            message: format!("`core_groups` has no effect where `{directive}` gives every task to a worker"),
            note: Some("an idle worker takes from its group what no worker was named for"),
            help,
            python,
        })
    }

    fn apply(&self, policy: &mut SchedulePolicy) {
        policy.core_groups = Some(self.0);
    }
}

/// Whether the schedule may have tasks for which it names no worker.
fn leaves_tasks_to_any_worker(schedule: &Schedule) -> bool {
    let names_worker = |dispatch: &Dispatch| !matches!(dispatch, Dispatch::WorkSteal);
    let all = || schedule.directives.iter().map(|directive| &directive.kind);
    let plainly =
        !all().any(|kind| matches!(kind, DirectiveKind::Dispatch(dispatch) if names_worker(dispatch)));
    let threshold = all().find_map(|kind| match kind {
        DirectiveKind::DispatchThreshold(threshold) => Some(threshold),
        _ => None,
    });
    threshold.map_or(plainly, |threshold| {
        threshold.policies.iter().any(|policy| match policy {
            ThresholdPolicy::Dispatch(dispatch) => !names_worker(dispatch),
            ThresholdPolicy::Pool(_) => plainly,
        })
    })
}
