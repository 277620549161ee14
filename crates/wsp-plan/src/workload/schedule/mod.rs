//! Schedules of workloads as plain data.

mod check;
mod lower;
mod place;

pub use check::check_schedule;
pub use lower::lower_schedule;
pub use place::{Dispatched, Placement};
pub(crate) use place::{NoPlace, Placer};

use crate::{Capability, Support};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::CapabilityRow;
use wsp_ir::workload::{Dispatch, DispatchThreshold, SchedulePolicy};

/// What a schedule comes to on a target. The default is that of a module without one.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LoweredSchedule {
    /// Its name; none for the unnamed one, and where no schedule applies.
    pub name: Option<String>,
    /// What it says.
    pub policy: SchedulePolicy,
    /// One line per directive: what the target does with it.
    pub lines: Vec<ScheduleLine>,
    /// Warnings: directives that the target ignores.
    pub notes: Vec<Diagnostic>,
}

/// What a target does with one directive.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ScheduleLine {
    /// Spelling of the primitive, as the capability table has it.
    pub primitive: &'static str,
    /// Whether the target keeps to it.
    pub support: Support,
    /// What that means, in one sentence.
    pub meaning: &'static str,
    /// Where the directive stands.
    pub span: Span,
    row: &'static CapabilityRow,
}

impl ScheduleLine {
    fn new(row: &'static CapabilityRow, does: &Capability, span: Span) -> ScheduleLine {
        ScheduleLine { primitive: does.primitive, support: does.support, meaning: does.meaning, span, row }
    }

    /// What becomes of the directive where AICPUs generate the tasks.
    pub fn on_aicpus(&self) -> ScheduleLine {
        ScheduleLine::new(self.row, self.row.aicpus.as_ref().unwrap_or(&self.row.host), self.span)
    }
}

impl std::fmt::Display for ScheduleLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}: {}", self.primitive, self.support.name(), self.meaning)
    }
}

impl LoweredSchedule {
    /// The ranges of every static partition.
    fn partitions(&self) -> impl Iterator<Item = &[(u64, u64)]> {
        let in_threshold = self.policy.threshold.iter().flat_map(DispatchThreshold::dispatches);
        self.policy.dispatch.iter().chain(in_threshold).filter_map(|dispatch| match dispatch {
            Dispatch::StaticPartition(ranges) => Some(ranges.as_slice()),
            _ => None,
        })
    }
}
