//! Task-graph units: what of them is checked before a run, and the plan of each graph.
//!
//! **Boundary:** knows kernels by their signatures only, and no backend. [`lint()`] and [`check`] say what a unit surely or perhaps does
//! wrong, [`elaborate()`] turns each graph into a [`GraphPlan`], and [`matrix`] has what platforms do with each instruction.
#![forbid(unsafe_code)]

mod certainty;
pub(crate) mod elaborate;
pub mod lint;
pub mod matrix;
mod nodes;
pub mod plan;
mod progression;
pub mod runs;

pub use certainty::Certainty;
pub use elaborate::elaborate;
pub use lint::{
    Checked, EventOrder, EventWait, GraphEvents, LaunchUse, LintOptions, OpenEnd, OpenLaunches, OpenPair,
    OpenUse, UseWait, UsedBy, check, lint,
};
pub use nodes::{UnitEdge, UnitGraph, UnitNode};
pub use plan::{ElaborateOptions, GraphPlan, UnitPlan};

/// The codes of this crate.
pub const CODES: wsp_diag::Codes = &[lint::codes::CODES, matrix::CODES, elaborate::codes::CODES];
