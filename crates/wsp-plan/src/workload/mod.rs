//! From a workload module to a stream of tasks.
//!
//! [`bind()`] gives parameters and tables their values and checks all that depends on them. [`lower_schedule`] turns a
//! schedule into plain data. [`expand`] walks the module in elaboration order and hands every task to a [`TaskSink`].
//! A [`WorkloadPlan`] is a module that is tied to the kernels of its used file and has a schedule.
//! [`count`] tells how many tasks that will be, without making them.
//!
//! **Boundary:** knows no runtime: a sink decides what becomes of tasks.

mod bind;
pub(crate) mod codes;
mod count;
pub(crate) mod deadlock;
pub(crate) mod eval;
pub(crate) mod expand;
pub(crate) mod fault;
mod launch;
mod link;
mod live_ins;
mod plan;
mod schedule;
mod takes;
mod tensor_set;

pub use bind::{Bindings, set_defaults};
pub use count::count;
pub(crate) use count::{reaching, runs, tokens};
pub use eval::constant;
pub use expand::{
    ChannelUse, Dispatched, ExpandError, ExpandStats, Placement, SpanOfTask, TaskRecord, TaskSink, channels,
    expand,
};
pub use launch::bind;
pub(crate) use link::written;
pub use link::{Functions, Named, modes, named};
pub use plan::{WorkloadLibrary, WorkloadPlan};
pub use schedule::{LoweredSchedule, ScheduleLine, check_schedule, lower_schedule};
pub(crate) use schedule::{NoPlace, Placer};
pub use takes::{FirstReads, stated_tables};
