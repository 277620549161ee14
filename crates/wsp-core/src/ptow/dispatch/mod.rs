//! Which AICPU a task belongs to.
//!
//! A [`Filter`] comes from the configuration ([`check`]) or from a `DISPATCH_FILTER` ([`Filter::parse`]). It is a [`Rule`],
//! or a [`Threshold`] whose levels are rules and pools. A rule looks at the task's ordinal ([`Rule::by_ordinal`]) or at one
//! value, a variable or a key ([`Rule::by_value`]).
//!
//! Every rule but [`Rule::Own`] gives each task exactly one of `n` owners; ranges of [`Rule::Own`] are as many as there are
//! AICPUs, and [`check_tiling`] says whether they do.

mod config;
mod filter;
mod owner;
mod ranges;
mod stride;

pub use config::{ConfigFault, check, check_tiling};
pub use filter::{Filter, Level, Threshold};
pub use owner::{PastPartition, Rule, Source, mix};
pub use ranges::Ranges;
pub use stride::{Stride, solve, solve_loop};
