//! Task-graph units: what of them is checked before a run, and the plan of each graph.

mod certainty;
pub(crate) mod elaborate;
pub mod entry;
pub mod lint;
pub mod matrix;
pub mod plan;
mod progression;
pub mod runs;

pub use certainty::Certainty;
pub use elaborate::elaborate;
pub use lint::{
    Checked, EventOrder, EventWait, GraphEvents, LaunchUse, LintOptions, OpenEnd, OpenLaunches, OpenPair,
    OpenUse, UseWait, UsedBy, check, lint,
};
pub use plan::{ElaborateOptions, GraphPlan, UnitPlan};
