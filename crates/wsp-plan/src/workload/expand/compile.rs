//! From the tree of a module to its flat form.

use super::super::Bindings;
use super::super::bind::AxisRange;
use super::super::schedule::{LoweredSchedule, Placer};
use super::program::{
    Branch, Call, Channel, Close, CompiledModule, FastRegion, FastScalar, Frame, Level, Loop, Op, Over,
    Partial, Pipeline, Process, Receive, Sum, Transfer, TreeRegion, TreeScalar, While,
};
use std::ops::Range;
use wsp_core::{AxisId, ChannelId, VarId, WorkloadId};
use wsp_diag::Span;
use wsp_ir::workload::{
    Arm, AxisKind, Block, IntExpr, IntExprKind, Iteration, Node, NodeKind, Workload, WorkloadModule,
};
use wsp_ordered::OrderedMap;

/// Compiles the workloads that the entry reaches.
pub(super) fn compile<'m>(
    module: &'m WorkloadModule,
    bindings: &'m Bindings,
    schedule: &'m LoweredSchedule,
    entry: WorkloadId,
) -> CompiledModule<'m> {
    let placer = Placer::new(schedule);
    let axes = axes_used(module, &placer);
    let program = empty(module, bindings, placer);
    let mut compiler = Compiler {
        program,
        axes,
        levels: vec![Pending::default()],
        scopes: Vec::new(),
        partials: OrderedMap::new(),
    };
    for (index, reached) in module.reached(entry).into_iter().enumerate() {
        if reached {
            compiler.workload(WorkloadId(index as u32));
        }
    }
    compiler.finish(entry)
}

fn empty<'m>(module: &'m WorkloadModule, bindings: &'m Bindings, placer: Placer<'m>) -> CompiledModule<'m> {
    CompiledModule {
        module,
        bindings,
        placer,
        ops: Vec::new(),
        entry: 0,
        workloads: vec![Frame::default(); module.workloads.len()],
        loops: Vec::new(),
        whiles: Vec::new(),
        branches: Vec::new(),
        calls: Vec::new(),
        pipelines: Vec::new(),
        processes: Vec::new(),
        channels: Vec::new(),
        transfers: Vec::new(),
        receives: Vec::new(),
        closes: Vec::new(),
        sites: Vec::new(),
        levels: Vec::new(),
        fast_regions: Vec::new(),
        tree_regions: Vec::new(),
        fast_scalars: Vec::new(),
        scalars: Vec::new(),
        partials: Vec::new(),
        regions: Vec::new(),
        scalar_count: 0,
        // Register 0 is always 0.
        register_count: 1,
        label_count: 0,
    }
}

/// Axes whose index some schedule expression uses.
fn axes_used(module: &WorkloadModule, placer: &Placer<'_>) -> Vec<bool> {
    let mut used = vec![false; module.axes.len()];
    for expr in placer.exprs() {
        expr.each(&mut |kind| {
            if let IntExprKind::Axis(axis) = kind {
                used[axis.index()] = true;
            }
        });
    }
    used
}

/// What to bring up to date on one level, while compiling.
#[derive(Default)]
pub(super) struct Pending<'m> {
    pub(super) partials: Vec<Partial>,
    pub(super) fast_regions: Vec<FastRegion>,
    pub(super) tree_regions: Vec<TreeRegion<'m>>,
    pub(super) fast_scalars: Vec<FastScalar>,
    pub(super) scalars: Vec<TreeScalar<'m>>,
}

/// A variable's place in the nest: the deepest of an expression's variables decides when it changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Depth {
    pub(super) depth: u32,
    pub(super) level: u32,
}

pub(super) struct Compiler<'m> {
    pub(super) program: CompiledModule<'m>,
    axes: Vec<bool>,
    pub(super) levels: Vec<Pending<'m>>,
    /// Of the workload being compiled: its variables' depths.
    pub(super) scopes: Vec<Depth>,
    /// Of the workload being compiled: registers that hold sums.
    pub(super) partials: OrderedMap<Sum, u32>,
}

/// What of a workload its statements need.
#[derive(Clone, Copy)]
pub(super) struct Within {
    workload: WorkloadId,
    pub(super) base: u32,
    pub(super) labels: u32,
    channels: u32,
    pub(super) depth: u32,
}

impl<'m> Compiler<'m> {
    fn workload(&mut self, id: WorkloadId) {
        let workload = &self.program.module.workloads[id.index()];
        let base = self.program.register_count;
        let labels = self.program.label_count;
        self.program.register_count += workload.vars.len() as u32;
        self.program.label_count += workload.labels.len() as u32;
        let level = self.level();
        self.partials.clear();
        self.scopes = vec![Depth { depth: 1, level }; workload.vars.len()];
        self.program.workloads[id.index()] =
            Frame { base, labels: labels..self.program.label_count, start: self.here(), level };
        let channels = self.channels(id, workload);
        self.block(&workload.body, Within { workload: id, base, labels, channels, depth: 1 });
        self.program.ops.push(Op::Return(id));
    }

    fn finish(mut self, entry: WorkloadId) -> CompiledModule<'m> {
        self.program.entry = self.program.workloads[entry.index()].start;
        self.program.ops.push(Op::Halt);
        for pending in std::mem::take(&mut self.levels) {
            let program = &mut self.program;
            program.levels.push(Level {
                partials: append(&mut program.partials, pending.partials),
                fast_regions: append(&mut program.fast_regions, pending.fast_regions),
                tree_regions: append(&mut program.tree_regions, pending.tree_regions),
                fast_scalars: append(&mut program.fast_scalars, pending.fast_scalars),
                scalars: append(&mut program.scalars, pending.scalars),
            });
        }
        self.program
    }

    fn here(&self) -> u32 {
        self.program.ops.len() as u32
    }

    fn level(&mut self) -> u32 {
        self.levels.push(Pending::default());
        self.levels.len() as u32 - 1
    }

    fn block(&mut self, block: &'m Block, within: Within) {
        for node in block {
            self.node(node, within);
        }
    }

    fn node(&mut self, node: &'m Node, within: Within) {
        match &node.kind {
            NodeKind::Task(task) => self.task(task, node.span, within),
            NodeKind::ParallelFor { var, over, body } => {
                let over = self.over(over);
                self.loop_(*var, over, body, within, Repeat::Free);
            }
            NodeKind::ForEach { var, over, body } => {
                let over = self.over(over);
                self.loop_(*var, over, body, within, Repeat::Ordered);
            }
            NodeKind::Select { var, position, axis, row, body } => {
                let over = self.sparse(*axis, row, *position);
                self.loop_(*var, over, body, within, Repeat::Free);
            }
            NodeKind::Cond { condition, then, otherwise } => {
                self.branch(condition, then, otherwise, within);
            }
            NodeKind::While { condition, max, body } => {
                let id = self.program.whiles.len() as u32;
                let max = max.as_ref();
                self.program.whiles.push(While { base: within.base, condition, max, span: node.span });
                let enter = self.here();
                self.program.ops.push(Op::Halt);
                self.block(body, within);
                self.program.ops.push(Op::Again { id, body: enter + 1 });
                self.program.ops[enter as usize] = Op::While { id, exit: self.here() };
            }
            NodeKind::Combine(blocks) => blocks.iter().for_each(|block| self.block(block, within)),
            NodeKind::Sequential(blocks) => {
                for (index, block) in blocks.iter().enumerate() {
                    self.program.ops.push(if index == 0 { Op::Begin } else { Op::Step });
                    self.block(block, within);
                }
                if !blocks.is_empty() {
                    self.program.ops.push(Op::End);
                }
            }
            NodeKind::Call { workload, args } => {
                let id = self.program.calls.len() as u32;
                self.program.calls.push(Call { base: within.base, workload: *workload, args });
                self.program.ops.push(Op::Call(id));
            }
            NodeKind::Pipeline { processes } => self.pipeline(processes, node.span, within),
            NodeKind::Send { channel, var, body } => {
                let id = self.transfer((*channel, 0), *var, node.span, within);
                self.program.ops.push(Op::Send(id));
                self.block(body, Within { depth: within.depth + 1, ..within });
                self.program.ops.push(Op::Sent(id));
                if self.program.channels[(within.channels + channel.0) as usize].depth == 0 {
                    self.program.ops.push(Op::Taken(id));
                }
            }
            NodeKind::Consume { arms, all } => self.consume(arms, *all, node.span, within),
            NodeKind::Close { channel } => {
                let id = self.program.closes.len() as u32;
                let channel = within.channels + channel.0;
                self.program.closes.push(Close { channel, span: node.span });
                let process = self.program.processes.len() as u32 - 1;
                let closed = &mut self.program.channels[channel as usize];
                (closed.ends[0], closed.closes) = (Some(process), true);
                self.program.ops.push(Op::Close(id));
            }
        }
    }

    /// Makes the channels of a workload; where they begin.
    fn channels(&mut self, id: WorkloadId, workload: &'m Workload) -> u32 {
        let first = self.program.channels.len() as u32;
        for (index, channel) in (0u32..).zip(&workload.channels) {
            let depth = u64::from(self.program.bindings.channel_depth(id, ChannelId(index)));
            self.program.channels.push(Channel {
                declared: channel,
                workload: id,
                id: ChannelId(index),
                depth,
                ends: [None; 2],
                sends: false,
                closes: false,
            });
        }
        first
    }

    fn pipeline(&mut self, processes: &'m [wsp_ir::workload::Process], span: Span, within: Within) {
        let at = self.here() as usize;
        self.program.ops.push(Op::Halt);
        let first = self.program.processes.len() as u32;
        for process in processes {
            self.program.processes.push(Process { name: &process.name, start: self.here() });
            self.block(&process.body, within);
            self.program.ops.push(Op::Ended);
        }
        let workload = &self.program.module.workloads[within.workload.index()];
        let id = self.program.pipelines.len() as u32;
        self.program.pipelines.push(Pipeline {
            processes: first..self.program.processes.len() as u32,
            channels: within.channels..within.channels + workload.channels.len() as u32,
            exit: self.here(),
            span,
        });
        self.program.ops[at] = Op::Pipeline(id);
    }

    fn consume(&mut self, arms: &'m [Arm], all: bool, span: Span, within: Within) {
        let begin = self.here();
        self.program.ops.push(Op::Halt);
        let first = self.program.transfers.len() as u32;
        for arm in arms {
            self.transfer((arm.channel, 1), arm.var, arm.span, within);
        }
        let ids = first..first + arms.len() as u32;
        let mut jumps = Vec::new();
        for (id, arm) in ids.clone().zip(arms) {
            self.program.transfers[id as usize].body = self.here();
            self.block(&arm.body, Within { depth: within.depth + 1, ..within });
            self.program.ops.push(Op::Consumed(id));
            jumps.push(self.here());
            self.program.ops.push(Op::Jump(begin));
        }
        let exit = self.here();
        if !all {
            jumps.into_iter().for_each(|jump| self.program.ops[jump as usize] = Op::Jump(exit));
        }
        let id = self.program.receives.len() as u32;
        self.program.receives.push(Receive { arms: ids, all, exit, span });
        self.program.ops[begin as usize] = Op::Consume(id);
    }

    /// Notes a send, or an arm of a consume, by its channel and end.
    fn transfer(
        &mut self,
        (channel, end): (ChannelId, usize),
        var: VarId,
        span: Span,
        within: Within,
    ) -> u32 {
        let level = self.level();
        let process = self.program.processes.len() as u32 - 1;
        let used = &mut self.program.channels[(within.channels + channel.0) as usize];
        used.ends[end] = Some(process);
        used.sends |= end == 0;
        self.scopes[var.index()] = Depth { depth: within.depth + 1, level };
        self.program.transfers.push(Transfer {
            channel: within.channels + channel.0,
            body: self.here() + 1,
            register: within.base + var.0,
            level,
            span,
        });
        self.program.transfers.len() as u32 - 1
    }

    fn branch(&mut self, condition: &'m IntExpr, then: &'m Block, otherwise: &'m Block, within: Within) {
        let id = self.program.branches.len() as u32;
        self.program.branches.push(Branch { base: within.base, condition });
        let branch = self.here();
        self.program.ops.push(Op::Halt);
        self.block(then, within);
        if otherwise.is_empty() {
            self.program.ops[branch as usize] = Op::Branch { id, otherwise: self.here() };
            return;
        }
        let jump = self.here();
        self.program.ops.push(Op::Halt);
        self.program.ops[branch as usize] = Op::Branch { id, otherwise: self.here() };
        self.block(otherwise, within);
        self.program.ops[jump as usize] = Op::Jump(self.here());
    }

    /// What a loop runs over.
    fn over(&self, iteration: &'m Iteration) -> (Over<'m>, Option<AxisId>) {
        match iteration {
            Iteration::Range { lo, hi, step } => (Over::Range { lo, hi, step: step.as_ref() }, None),
            Iteration::Axis(axis) => {
                let (start, end) = match self.program.bindings.axes[axis.index()] {
                    AxisRange::Dense { start, end } => (start, end),
                    AxisRange::Ragged | AxisRange::Sparse => (0, 0),
                };
                (Over::Fixed { start, end }, Some(*axis))
            }
            Iteration::Ragged { axis, outer } => match &self.program.module.axes[axis.index()].kind {
                AxisKind::Ragged { lengths, .. } => {
                    let lengths = self.program.bindings.table(*lengths);
                    (Over::Ragged { axis: *axis, lengths, outer }, Some(*axis))
                }
                _ => (Over::Fixed { start: 0, end: 0 }, Some(*axis)),
            },
        }
    }

    fn sparse(&self, axis: AxisId, row: &'m IntExpr, position: Option<VarId>) -> (Over<'m>, Option<AxisId>) {
        let AxisKind::Sparse { indptr, indices, .. } = &self.program.module.axes[axis.index()].kind else {
            return (Over::Fixed { start: 0, end: 0 }, Some(axis));
        };
        let bindings = self.program.bindings;
        let (indptr, columns) = (bindings.table(*indptr), bindings.table(*indices));
        (Over::Sparse { axis, indptr, columns, row, position }, Some(axis))
    }

    fn loop_(
        &mut self,
        var: VarId,
        (over, axis): (Over<'m>, Option<AxisId>),
        body: &'m Block,
        within: Within,
        repeat: Repeat,
    ) {
        let id = self.program.loops.len() as u32;
        let level = self.level();
        let depth = within.depth + 1;
        self.scopes[var.index()] = Depth { depth, level };
        if let Over::Sparse { position: Some(position), .. } = over {
            self.scopes[position.index()] = Depth { depth, level };
        }
        self.program.loops.push(Loop {
            workload: within.workload,
            base: within.base,
            var,
            over,
            ordered: matches!(repeat, Repeat::Ordered),
            axis: axis.filter(|axis| self.axes[axis.index()]),
            level,
            span: self.program.module.workloads[within.workload.index()].vars[var.index()].span,
        });
        let enter = self.here();
        self.program.ops.push(Op::Halt);
        self.block(body, Within { depth, ..within });
        self.program.ops.push(Op::Next { id, body: enter + 1 });
        self.program.ops[enter as usize] = Op::Enter { id, exit: self.here() };
    }
}

/// Whether iterations follow each other.
#[derive(Clone, Copy)]
enum Repeat {
    Free,
    Ordered,
}

/// Appends a vector, and says where it is.
fn append<T>(to: &mut Vec<T>, from: Vec<T>) -> Range<u32> {
    let start = to.len() as u32;
    to.extend(from);
    start..to.len() as u32
}
