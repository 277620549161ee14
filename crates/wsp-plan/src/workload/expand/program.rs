//! The flat form of a module.
//!
//! A call names an earlier workload, so a workload is active at most once at a time. Hence every variable, loop, label and
//! return address has one fixed place, and running needs no stack. Nor is a pipeline ever active within another, so that of
//! each process there is one as well, and what processes share is the path of loops around the pipeline.

use super::super::Bindings;
use super::super::schedule::Placer;
use std::ops::Range;
use wsp_core::{AxisId, ChannelId, KernelId, MAX_RANK, Region, VarId, WorkloadId};
use wsp_diag::Span;
use wsp_ir::workload::{Access, ExecPool, IntExpr, Task, WorkloadModule};

/// A compiled module. Ids are indices into its vectors.
pub(super) struct CompiledModule<'m> {
    pub(super) module: &'m WorkloadModule,
    pub(super) bindings: &'m Bindings,
    pub(super) placer: Placer<'m>,
    pub(super) ops: Vec<Op>,
    pub(super) entry: u32,
    pub(super) workloads: Vec<Frame>,
    pub(super) loops: Vec<Loop<'m>>,
    pub(super) whiles: Vec<While<'m>>,
    pub(super) branches: Vec<Branch<'m>>,
    pub(super) calls: Vec<Call<'m>>,
    pub(super) pipelines: Vec<Pipeline>,
    pub(super) processes: Vec<Process<'m>>,
    pub(super) channels: Vec<Channel<'m>>,
    pub(super) transfers: Vec<Transfer>,
    pub(super) receives: Vec<Receive>,
    pub(super) closes: Vec<Close>,
    pub(super) sites: Vec<Site<'m>>,
    /// What to bring up to date: once, on entry of a workload, on each iteration of a loop.
    pub(super) levels: Vec<Level>,
    pub(super) fast_regions: Vec<FastRegion>,
    pub(super) tree_regions: Vec<TreeRegion<'m>>,
    pub(super) fast_scalars: Vec<FastScalar>,
    pub(super) scalars: Vec<TreeScalar<'m>>,
    pub(super) partials: Vec<Partial>,
    /// Of the regions of all statements those that never change.
    pub(super) regions: Vec<Region>,
    pub(super) scalar_count: u32,
    pub(super) register_count: u32,
    pub(super) label_count: u32,
}

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    /// Generates a task of a statement.
    Task(u32),
    /// Enters a loop, or goes past it.
    Enter { id: u32, exit: u32 },
    /// Goes on to the next iteration, or past the loop.
    Next { id: u32, body: u32 },
    /// Enters a `while`, or goes past it.
    While { id: u32, exit: u32 },
    /// Goes on to the next round, or past the `while`.
    Again { id: u32, body: u32 },
    /// Goes on, or to the other branch.
    Branch { id: u32, otherwise: u32 },
    /// Goes elsewhere.
    Jump(u32),
    /// Begins a `sequential`.
    Begin,
    /// Its next step.
    Step,
    /// Ends it.
    End,
    /// Enters a pipeline.
    Pipeline(u32),
    /// Ends a process.
    Ended,
    /// Takes a free slot of a channel, or waits.
    Send(u32),
    /// Puts the token of the slot into the channel.
    Sent(u32),
    /// Waits until the token of a send is taken: behind `Sent`, where the channel has a depth of 0.
    Taken(u32),
    /// Takes a token of one of several channels and goes to what uses it, or waits, or goes past them.
    Consume(u32),
    /// Frees its slot.
    Consumed(u32),
    /// Closes a channel.
    Close(u32),
    /// Calls a workload.
    Call(u32),
    /// Returns from a workload.
    Return(WorkloadId),
    /// The end.
    Halt,
}

/// Where a workload's variables, labels and instructions are.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    pub(super) base: u32,
    pub(super) labels: Range<u32>,
    pub(super) start: u32,
    /// What depends on its formal arguments.
    pub(super) level: u32,
}

/// A loop.
pub(super) struct Loop<'m> {
    pub(super) workload: WorkloadId,
    pub(super) base: u32,
    pub(super) var: VarId,
    pub(super) over: Over<'m>,
    /// Whether iterations follow each other.
    pub(super) ordered: bool,
    /// The axis whose index some schedule expression uses.
    pub(super) axis: Option<AxisId>,
    pub(super) level: u32,
    pub(super) span: Span,
}

/// What a loop runs over.
pub(super) enum Over<'m> {
    /// Fixed bounds.
    Fixed { start: i64, end: i64 },
    /// `lo..hi step s`.
    Range { lo: &'m IntExpr, hi: &'m IntExpr, step: Option<&'m IntExpr> },
    /// A row of a ragged axis.
    Ragged { axis: AxisId, lengths: &'m [i64], outer: &'m IntExpr },
    /// A row of a sparse axis.
    Sparse { axis: AxisId, indptr: &'m [i64], columns: &'m [i64], row: &'m IntExpr, position: Option<VarId> },
}

/// A `while`.
pub(super) struct While<'m> {
    pub(super) base: u32,
    pub(super) condition: &'m IntExpr,
    pub(super) max: Option<&'m IntExpr>,
    pub(super) span: Span,
}

/// A condition.
pub(super) struct Branch<'m> {
    pub(super) base: u32,
    pub(super) condition: &'m IntExpr,
}

/// A pipeline.
pub(super) struct Pipeline {
    pub(super) processes: Range<u32>,
    /// The channels of its workload.
    pub(super) channels: Range<u32>,
    pub(super) exit: u32,
    pub(super) span: Span,
}

/// A process.
pub(super) struct Process<'m> {
    pub(super) name: &'m str,
    pub(super) start: u32,
}

/// A channel.
pub(super) struct Channel<'m> {
    pub(super) declared: &'m wsp_ir::workload::Channel,
    pub(super) workload: WorkloadId,
    pub(super) id: ChannelId,
    pub(super) depth: u64,
    /// The process that sends or closes and the one that consumes.
    pub(super) ends: [Option<u32>; 2],
    /// Whether it sends, and whether it closes, perhaps.
    pub(super) sends: bool,
    pub(super) closes: bool,
}

impl Channel<'_> {
    /// Slots that it has: a token that waits to be taken has one, too.
    pub(super) fn slots(&self) -> u64 {
        self.depth.max(1)
    }
}

/// A send, or an arm of a consume.
pub(super) struct Transfer {
    pub(super) channel: u32,
    /// What its tasks begin with.
    pub(super) body: u32,
    /// Where its slot is kept.
    pub(super) register: u32,
    pub(super) level: u32,
    pub(super) span: Span,
}

/// A consume.
pub(super) struct Receive {
    /// Its transfers; the first that can be made is.
    pub(super) arms: Range<u32>,
    /// Whether it ends when its channels are closed; else that is a fault.
    pub(super) all: bool,
    pub(super) exit: u32,
    pub(super) span: Span,
}

/// A close.
pub(super) struct Close {
    pub(super) channel: u32,
    pub(super) span: Span,
}

/// A call.
pub(super) struct Call<'m> {
    pub(super) base: u32,
    pub(super) workload: WorkloadId,
    pub(super) args: &'m [IntExpr],
}

/// A task statement.
pub(super) struct Site<'m> {
    pub(super) kernel: KernelId,
    pub(super) unit: ExecPool,
    /// Its regions, by argument; then those read and those written, which may be parts of the same.
    pub(super) regions: Range<u32>,
    pub(super) reads: Range<u32>,
    pub(super) writes: Range<u32>,
    pub(super) scalars: Range<u32>,
    pub(super) label: Option<u32>,
    pub(super) after: Vec<u32>,
    /// Whether some argument names a slot, so that all are evaluated for each task.
    pub(super) late: bool,
    pub(super) base: u32,
    pub(super) args: Vec<SiteArg<'m>>,
    pub(super) task: &'m Task,
    pub(super) span: Span,
}

/// An argument of a statement, in the order of evaluation.
pub(super) enum SiteArg<'m> {
    Scalar { expr: &'m IntExpr, at: u32 },
    Region { access: &'m Access, places: Places },
}

/// Where one region is kept: by argument, and again among those read or written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    at: [u32; 3],
    len: u8,
}

impl Places {
    pub(super) fn new(at: u32) -> Places {
        Places { at: [at; 3], len: 1 }
    }

    pub(super) fn push(&mut self, at: u32) {
        self.at[self.len as usize] = at;
        self.len += 1;
    }

    pub(super) fn get(&self) -> &[u32] {
        &self.at[..self.len as usize]
    }
}

/// What to bring up to date when a variable changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Level {
    pub(super) partials: Range<u32>,
    pub(super) fast_regions: Range<u32>,
    pub(super) tree_regions: Range<u32>,
    pub(super) fast_scalars: Range<u32>,
    pub(super) scalars: Range<u32>,
}

/// A form, cut where its variables change: what depends on the outer ones is in a register of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Sum {
    /// The part that depends on outer variables; register 0 is always 0.
    pub(super) outer: u32,
    pub(super) register: u32,
    pub(super) scale: i64,
    pub(super) offset: i64,
}

impl Sum {
    /// Its value. Registers outside the bound of forms give a number without meaning.
    #[inline]
    pub(super) fn value(&self, registers: &[i64]) -> i64 {
        let scaled = registers[self.register as usize].wrapping_mul(self.scale);
        registers[self.outer as usize].wrapping_add(scaled).wrapping_add(self.offset)
    }
}

/// A register that holds a sum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Partial {
    pub(super) to: u32,
    pub(super) sum: Sum,
}

/// Bounds of a region in one dimension.
#[derive(Clone, Copy, Debug)]
pub(super) struct FastRegion {
    pub(super) lo: Sum,
    pub(super) hi: Upper,
    pub(super) extent: i64,
    pub(super) site: u32,
    pub(super) places: Places,
    pub(super) dim: u8,
}

/// An upper bound.
#[derive(Clone, Copy, Debug)]
pub(super) enum Upper {
    /// So many past the lower one.
    Len(i64),
    /// On its own.
    Sum(Sum),
}

/// Bounds of a region in one dimension, by evaluating expressions.
pub(super) struct TreeRegion<'m> {
    pub(super) access: &'m Access,
    pub(super) site: u32,
    pub(super) base: u32,
    pub(super) places: Places,
    pub(super) dim: u8,
}

/// An integer argument.
#[derive(Clone, Copy, Debug)]
pub(super) struct FastScalar {
    pub(super) sum: Sum,
    pub(super) at: u32,
}

/// An integer argument, by evaluating an expression.
pub(super) struct TreeScalar<'m> {
    pub(super) expr: &'m IntExpr,
    pub(super) site: u32,
    pub(super) base: u32,
    pub(super) at: u32,
}

/// Sets bounds of a region in one dimension, wherever it is kept. Bounds lie within an extent.
#[inline]
pub(super) fn set_bounds(regions: &mut [Region], places: &Places, dim: u8, lo: i64, hi: i64) {
    debug_assert!((dim as usize) < MAX_RANK, "verified ranks are within the limit");
    for place in places.get() {
        let region = &mut regions[*place as usize];
        region.lo[dim as usize] = lo as u32;
        region.hi[dim as usize] = hi as u32;
    }
}
