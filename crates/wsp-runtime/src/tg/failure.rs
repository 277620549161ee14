//! Why a call is refused, and why a launch did not complete.

use super::id::{LaunchId, StreamId};
use super::order::Unreplayed;
use crate::Failure;
use std::fmt;
use std::sync::Arc;
use wsp_core::policy::Hints;
use wsp_core::tg::machine::StateFault;

/// What was going on in a launch when it failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// It was about to begin.
    Begin,
    /// A kernel was being dispatched.
    Prepare {
        /// Its node.
        node: u32,
        /// Its name.
        name: String,
    },
    /// A block ran.
    Block {
        /// The kernel's node.
        node: u32,
        /// The kernel's name.
        name: String,
        /// The block.
        block: u32,
        /// Blocks of the kernel.
        blocks: u32,
    },
    /// A copy or a release ran.
    Item {
        /// Its node.
        node: u32,
        /// Its name.
        name: String,
    },
    /// A condition or a count was evaluated.
    Condition(u32),
    /// A checkpoint was being saved.
    Checkpoint(u32),
}

/// Why a launch did not complete: as runs of tasks. What returned an error or panicked is a method of its [`Bodies`](super::Bodies), known by its [`Place`];
/// what cannot start is a gang that needs more threads than the system gives.
pub type Cause<F> = Failure<F, LaunchFault<F>, Place>;

/// What ends a launch beside its bodies.
#[derive(Clone, Debug)]
pub enum LaunchFault<F> {
    /// A loop would begin an iteration more than its maximum.
    Endless {
        /// The loop, by its place among those of the graph that run at run time.
        in_loop: u32,
        /// Its maximum.
        most: u32,
        /// The last value of its condition.
        value: i64,
    },
    /// The count of a loop is negative, or above its maximum.
    Count {
        /// The loop, by its place among those of the graph that run at run time.
        in_loop: u32,
        /// Its maximum.
        most: u32,
        /// The count.
        value: i64,
    },
    /// It ends at a cycle of virtual time that 64 bits cannot tell.
    TooLong,
    /// The order of starts is one of another run.
    NotReplayed(Unreplayed),
    /// A launch that it came after did not complete.
    After(Arc<LaunchFailure<F>>),
}

/// A launch that did not complete. What had started has finished; the rest was not started.
#[derive(Clone, Debug)]
pub struct LaunchFailure<F> {
    /// The launch.
    pub launch: LaunchId,
    /// The name of its graph.
    pub graph: String,
    /// What `TG_INVOKE` gave, else 0.
    pub iteration: i64,
    /// Why.
    pub cause: Cause<F>,
}

impl<F> LaunchFailure<F> {
    /// The failure that was there first, of which this one is a consequence.
    pub fn first(&self) -> &LaunchFailure<F> {
        let mut failure = self;
        while let Cause::Source(LaunchFault::After(earlier)) = &failure.cause {
            failure = earlier;
        }
        failure
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Begin => f.write_str("its beginning"),
            Place::Prepare { name, .. } => write!(f, "the dispatch of kernel `{name}`"),
            Place::Block { name, block, blocks, .. } => {
                write!(f, "block {block} of {blocks} of kernel `{name}`")
            }
            Place::Item { name, .. } => write!(f, "`{name}`"),
            Place::Condition(condition) => write!(f, "condition {condition}"),
            Place::Checkpoint(id) => write!(f, "checkpoint {id}"),
        }
    }
}

impl<F: fmt::Display> fmt::Display for LaunchFailure<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "launch {} of graph `{}`", self.launch.0, self.graph)?;
        match &self.cause {
            Cause::Task { task, failure } => write!(f, " failed in {task}: {failure}"),
            Cause::Panic { task, message } => write!(f, " panicked in {task}: {message}"),
            Cause::Start(error) => write!(f, " has a gang whose blocks run at once: {error}"),
            Cause::Source(LaunchFault::Endless { in_loop, most, value }) => {
                write!(f, " is in loop {in_loop} for more than {most} iterations; its condition is {value}")
            }
            Cause::Source(LaunchFault::Count { in_loop, most, value }) => {
                write!(f, " has a loop ({in_loop}) with the count {value}, which must lie in 0..={most}")
            }
            Cause::Source(LaunchFault::TooLong) => f.write_str(" ends beyond cycle 2^64 of virtual time"),
            Cause::Source(LaunchFault::NotReplayed(fault)) => {
                write!(f, " does not keep to the order of starts: {fault}")
            }
            Cause::Cancelled => f.write_str(" was cancelled"),
            Cause::Source(LaunchFault::After(earlier)) => write!(f, " was not run: {earlier}"),
            Cause::Stuck(report) => write!(f, " cannot go on: {report}"),
        }
    }
}

impl<F: fmt::Display + fmt::Debug> std::error::Error for LaunchFailure<F> {}

/// Why a call is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The stream was destroyed, or is of another runtime.
    StaleStream(StreamId),
    /// The default stream of a device cannot be destroyed.
    DefaultStream,
    /// There is no such device.
    NoDevice {
        /// The number given.
        device: u32,
        /// How many there are.
        devices: u32,
    },
    /// No launch of the graph was ever submitted.
    NeverLaunched {
        /// The graph's name.
        graph: String,
    },
    /// No such launch, or its result was returned before.
    NoLaunch(LaunchId),
    /// A kernel's blocks need cores of which there are none where it may run.
    NoCores {
        /// The kernel's name.
        kernel: String,
        /// Its core type's name.
        core_type: &'static str,
        /// Whether partitions were looked at.
        hints: Hints,
    },
    /// The blocks of a gang need more cores than there are where they may run.
    GangTooLarge {
        /// Its kernels' names.
        kernels: Vec<String>,
        /// Blocks of all of them.
        blocks: u64,
        /// Cores that these blocks hold: of AIC, AIV and AICPU.
        needs: [u64; 3],
        /// Cores of the device: of AIC, AIV and AICPU.
        has: [u32; 3],
    },
    /// The state does not fit the graph.
    State(StateFault),
    /// This process is the child of a fork, and the threads of the runtime are those of its parent.
    Forked,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::StaleStream(stream) => {
                write!(f, "stream {} does not exist any more; create another", stream.index())
            }
            Refused::DefaultStream => f.write_str("the default stream cannot be destroyed"),
            Refused::NoDevice { device, devices } => {
                write!(f, "there is no device {device}; this runtime has {devices}, counted from 0")
            }
            Refused::NeverLaunched { graph } => write!(f, "graph `{graph}` was never launched"),
            Refused::NoLaunch(launch) => {
                write!(f, "there is no launch {} whose result has not been returned", launch.0)
            }
            Refused::NoCores { kernel, core_type, hints } => {
                let place = if *hints == Hints::Honour { "its partition" } else { "the device" };
                write!(f, "kernel `{kernel}` needs {core_type} cores, and {place} has too few for a block")
            }
            Refused::GangTooLarge { kernels, blocks, needs, has } => {
                write!(f, "the {blocks} blocks of `{}` start together and need ", kernels.join("`, `"))?;
                let [aic, aiv, aicpu] = needs;
                write!(
                    f,
                    "{aic} AIC, {aiv} AIV and {aicpu} AICPU cores where they may run; the device has "
                )?;
                write!(f, "{}, {} and {}", has[0], has[1], has[2])
            }
            Refused::Forked => f.write_str(
                "this process was forked from the one that has the threads of this runtime; make one in this process",
            ),
            Refused::State(fault) => write!(f, "the saved state does not fit the graph: {fault}"),
        }
    }
}

impl std::error::Error for Refused {}

/// Why waiting did not end with complete launches.
#[derive(Clone, Debug)]
pub enum SyncError<F> {
    /// The call is refused.
    Refused(Refused),
    /// A launch did not complete: of those waited for, the first that was submitted.
    Failed(Arc<LaunchFailure<F>>),
}

impl<F: fmt::Display> fmt::Display for SyncError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SyncError::Refused(refused) => refused.fmt(f),
            SyncError::Failed(failure) => failure.fmt(f),
        }
    }
}

impl<F: fmt::Display + fmt::Debug> std::error::Error for SyncError<F> {}

impl<F> From<Refused> for SyncError<F> {
    fn from(refused: Refused) -> Self {
        SyncError::Refused(refused)
    }
}
