//! Elaboration: from a module and its bindings to tasks, in order.
//!
//! A module is compiled once per call into a flat program ([`program`], made by [`compile`]), which a machine without
//! recursion runs ([`machine`]). Arguments of a task are kept in buffers of its statement. An argument is brought up to
//! date when the innermost variable that it depends on changes, not when a task is generated, so that what does not
//! change costs nothing.
//!
//! An argument that is at fault there may belong to a task that is never generated. So it only marks the statement; the
//! task that is generated from a marked statement evaluates all its arguments in order and reports the first fault.

mod affine;
mod args;
mod compile;
mod faults;
mod loops;
mod machine;
pub(crate) mod observer;
mod pipeline;
pub(crate) mod probe;
mod program;
pub(crate) mod record;
mod scope;
mod seen;
pub(crate) mod sink;
mod turns;
mod watch;

use super::schedule::LoweredSchedule;
pub use super::schedule::{Dispatched, Placement};
use super::{Bindings, fault};
pub use seen::{ChannelUse, channels};
use sink::Behind;
pub use watch::SpanOfTask;
use wsp_core::{ChannelId, KernelId, Region, SlotId, WorkloadId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::{Task, WorkloadModule};

/// A task as it is generated.
#[derive(Clone, Copy, Debug)]
pub struct TaskRecord<'a> {
    /// How many tasks were generated before it.
    pub ordinal: u64,
    /// Its kernel.
    pub kernel: KernelId,
    /// Its integer arguments, in the order of the declaration; for library kernels as written.
    pub scalars: &'a [i64],
    /// Its statement.
    pub task: &'a Task,
    /// Where its statement stands.
    pub span: Span,
    /// Regions that it reads: arguments that are `in` or `inout`, in the order of the declaration. Regions may be empty.
    pub reads: &'a [Region],
    /// Regions that it writes: arguments that are `out` or `inout`, in the order of the declaration.
    pub writes: &'a [Region],
    /// Regions of all arguments, in the order of the declaration.
    pub regions: &'a [Region],
    /// Ordinals of the tasks that `after` names, without repetition. A label whose statement generated no task since its
    /// workload was entered names none.
    pub after: &'a [u64],
    /// Where and when it runs.
    pub place: Placement,
    /// Indices of the loops around it, outermost first, calls included; of a `select`, the column.
    pub indices: &'a [i64],
}

/// What becomes of tasks.
pub trait TaskSink {
    /// Why it takes no more.
    type Error;

    /// Takes a task.
    ///
    /// # Errors
    /// Ends the expansion.
    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), Self::Error>;

    /// An ordered scope begins with its first step: a `for`, a `while` or a `sequential`. Scopes nest. One without steps
    /// does not begin. A sink to which order does not matter leaves this method and the next two out.
    ///
    /// # Errors
    /// Ends the expansion.
    fn ordered_begin(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The next step of the innermost ordered scope begins: its tasks start after all tasks of the scope so far.
    ///
    /// # Errors
    /// Ends the expansion.
    fn ordered_step(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The innermost ordered scope ends.
    ///
    /// # Errors
    /// Ends the expansion.
    fn ordered_end(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The value of a slot once every task so far that writes it is complete; its initial value before any has.
    ///
    /// # Errors
    /// Ends the expansion.
    fn slot(&mut self, slot: SlotId) -> Result<i64, Self::Error>;

    /// Whether to stop. Asked now and then.
    fn cancelled(&self) -> bool {
        false
    }
}

/// What went through a channel, over all runs of its pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ChannelCount {
    /// Whose channel it is.
    pub(crate) workload: WorkloadId,
    /// It among the channels of the workload.
    pub(crate) channel: ChannelId,
    /// Tokens that were sent.
    pub(crate) sent: u64,
    /// Tokens that were consumed: fewer where some were left at the end.
    pub(crate) consumed: u64,
}

/// What an expansion came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ExpandStats {
    /// Tasks generated.
    pub tasks: u64,
    /// Ordered scopes entered.
    pub ordered_scopes: u64,
    /// Rounds of all `while` loops.
    pub while_rounds: u64,
}

/// Why an expansion ended early.
#[derive(Debug)]
pub enum ExpandError<E> {
    /// The program or its data is at fault.
    Fault(Box<Diagnostic>),
    /// The sink takes no more.
    Sink(E),
    /// The sink asked to stop.
    Cancelled,
}

/// Generates the tasks of a verified module's entry workload, in elaboration order.
///
/// `bindings` are of the same module. Every argument is checked: regions lie within their tensors, arithmetic fits.
///
/// # Errors
/// The first fault, with the indices of the loops around it; what the sink says; cancellation. The tasks before it have
/// been handed over.
pub fn expand<S: TaskSink>(
    module: &WorkloadModule,
    bindings: &Bindings,
    schedule: &LoweredSchedule,
    sink: &mut S,
) -> Result<ExpandStats, ExpandError<S::Error>> {
    let Some(entry) = module.entry else { return Err(ExpandError::Fault(Box::new(fault::no_workload()))) };
    let program = compile::compile(module, bindings, schedule, entry);
    Behind::expanded(sink, |sink| machine::Machine::new(&program).run(sink))
}
