//! The elaborator that is easy to believe: walks the tree and evaluates everything for every task.

use super::{Event, Record, Seen};
use std::collections::BTreeMap;
use wsp_core::{ChannelId, LabelId, MAX_RANK, Region, VarId, WorkloadId, limits};
use wsp_ir::workload::{
    Access, AccessMode, ArgValue, AxisKind, Block, DimRange, IntExpr, IntExprKind, Iteration, Node, NodeKind,
    ParamKind, Process, Signature, Task, WorkloadModule,
};
use wsp_ir::{BinOp, UnOp};
use wsp_plan::workload::{Bindings, Placement};

/// A run ended at a fault.
#[derive(Debug, PartialEq)]
pub(crate) struct Fault;

pub(crate) struct Oracle<'m> {
    pub(crate) module: &'m WorkloadModule,
    pub(crate) bindings: &'m Bindings,
    pub(crate) record: Record,
    indices: Vec<i64>,
    ordinal: u64,
    /// What the process that is elaborated does with channels, by the number of events before.
    transfers: Vec<(usize, Transfer)>,
    /// Sends and consumes that have begun in the pipeline that is elaborated.
    begun: BTreeMap<(ChannelId, bool), i64>,
}

/// A step of a process, elaborated on its own: which slot it binds does not depend on other processes.
#[derive(Clone, Copy, Debug)]
enum Transfer {
    Begin { channel: ChannelId, sends: bool },
    End { channel: ChannelId, sends: bool },
}

/// A process that is elaborated to its end.
struct Elaborated {
    events: Vec<Event>,
    transfers: Vec<(usize, Transfer)>,
    faults: bool,
    /// Events and transfers that have had their turn.
    at: (usize, usize),
}

/// A channel while processes take turns.
#[derive(Default)]
struct Tokens {
    /// Numbers of sends and consumes that have not ended.
    open: [Vec<i64>; 2],
    /// Sends and consumes that have begun.
    begun: [i64; 2],
}

impl Tokens {
    /// Sends or consumes before the oldest one that has not ended.
    fn done(&self, sends: bool) -> i64 {
        self.open[usize::from(sends)].iter().copied().min().unwrap_or(self.begun[usize::from(sends)])
    }
}

/// Ordinals of tasks whose turn is not known yet.
const UNKNOWN: u64 = 1 << 40;

/// One activation of a workload.
struct Frame {
    workload: WorkloadId,
    vars: Vec<i64>,
    labels: Vec<Option<u64>>,
}

impl<'m> Oracle<'m> {
    pub(crate) fn new(module: &'m WorkloadModule, bindings: &'m Bindings, slots: &[i64]) -> Oracle<'m> {
        let record = Record { slots: slots.to_vec(), ..Record::default() };
        Oracle {
            module,
            bindings,
            record,
            indices: Vec::new(),
            ordinal: 0,
            transfers: Vec::new(),
            begun: BTreeMap::new(),
        }
    }

    pub(crate) fn run(&mut self) -> Result<u64, Fault> {
        self.workload(self.module.entry.expect("an entry"), &[])?;
        Ok(self.ordinal)
    }

    fn workload(&mut self, id: WorkloadId, args: &[i64]) -> Result<(), Fault> {
        let workload = &self.module.workloads[id.index()];
        let (vars, labels) = (vec![0; workload.vars.len()], vec![None; workload.labels.len()]);
        let mut frame = Frame { workload: id, vars, labels };
        frame.vars[..args.len()].copy_from_slice(args);
        self.block(&workload.body, &mut frame)
    }

    fn block(&mut self, block: &Block, frame: &mut Frame) -> Result<(), Fault> {
        block.iter().try_for_each(|node| self.node(node, frame))
    }

    fn node(&mut self, node: &Node, frame: &mut Frame) -> Result<(), Fault> {
        match &node.kind {
            NodeKind::Task(task) => self.task(task, frame),
            NodeKind::ParallelFor { var, over, body } => {
                let indices = self.indices_of(over, frame)?;
                self.each(&[*var], indices.map(|i| vec![i]), body, frame, false)
            }
            NodeKind::ForEach { var, over, body } => {
                let indices = self.indices_of(over, frame)?;
                self.each(&[*var], indices.map(|i| vec![i]), body, frame, true)
            }
            NodeKind::Select { var, position, axis, row, body } => {
                let AxisKind::Sparse { indptr, indices, .. } = &self.module.axes[axis.index()].kind else {
                    return Err(Fault);
                };
                let row = usize::try_from(self.eval(row, frame)?).map_err(|_| Fault)?;
                let rows = self.bindings.table(*indptr);
                let (from, to) = (*rows.get(row).ok_or(Fault)?, *rows.get(row + 1).ok_or(Fault)?);
                let columns = self.bindings.table(*indices);
                let vars: Vec<VarId> = std::iter::once(*var).chain(*position).collect();
                self.each(&vars, (from..to).map(|at| vec![columns[at as usize], at]), body, frame, false)
            }
            NodeKind::Cond { condition, then, otherwise } => {
                let taken = if self.eval(condition, frame)? != 0 { then } else { otherwise };
                self.block(taken, frame)
            }
            NodeKind::While { condition, max, body } => {
                let max = max.as_ref().map_or(Ok(1 << 20), |max| self.eval(max, frame))?;
                let mut rounds = 0;
                while self.eval(condition, frame)? != 0 {
                    if rounds >= max {
                        return Err(Fault);
                    }
                    self.record.events.push(if rounds == 0 { Event::Begin } else { Event::Step });
                    rounds += 1;
                    self.block(body, frame)?;
                }
                if rounds > 0 {
                    self.record.events.push(Event::End);
                }
                Ok(())
            }
            NodeKind::Combine(blocks) => blocks.iter().try_for_each(|block| self.block(block, frame)),
            NodeKind::Sequential(blocks) => {
                for (step, block) in blocks.iter().enumerate() {
                    self.record.events.push(if step == 0 { Event::Begin } else { Event::Step });
                    self.block(block, frame)?;
                }
                if !blocks.is_empty() {
                    self.record.events.push(Event::End);
                }
                Ok(())
            }
            NodeKind::Pipeline { processes } => self.pipeline(processes, frame),
            NodeKind::Send { channel, var, body } => self.transfer((*channel, true), *var, body, frame),
            NodeKind::Consume { channel, var, body } => self.transfer((*channel, false), *var, body, frame),
            NodeKind::Call { workload, args } => {
                let args: Result<Vec<i64>, Fault> = args.iter().map(|arg| self.eval(arg, frame)).collect();
                self.workload(*workload, &args?)
            }
        }
    }

    fn transfer(
        &mut self,
        end: (ChannelId, bool),
        var: VarId,
        body: &Block,
        frame: &mut Frame,
    ) -> Result<(), Fault> {
        let (channel, sends) = end;
        let number = self.begun.entry(end).or_default();
        frame.vars[var.index()] = *number % i64::from(self.bindings.channel_depth(frame.workload, channel));
        *number += 1;
        self.transfers.push((self.record.events.len(), Transfer::Begin { channel, sends }));
        self.block(body, frame)?;
        self.transfers.push((self.record.events.len(), Transfer::End { channel, sends }));
        Ok(())
    }

    /// Elaborates each process on its own, then merges them by their turns.
    fn pipeline(&mut self, processes: &[Process], frame: &mut Frame) -> Result<(), Fault> {
        let (before, ordinal) = (std::mem::take(&mut self.record.events), self.ordinal);
        self.begun.clear();
        self.ordinal = UNKNOWN;
        let around = self.indices.len();
        let mut all: Vec<Elaborated> = Vec::new();
        for process in processes {
            let faults = self.block(&process.body, frame).is_err();
            self.indices.truncate(around);
            let events = std::mem::take(&mut self.record.events);
            all.push(Elaborated {
                events,
                transfers: std::mem::take(&mut self.transfers),
                faults,
                at: (0, 0),
            });
        }
        (self.record.events, self.ordinal) = (before, ordinal);
        let mut known = BTreeMap::new();
        let ends = self.turns(&mut all, frame.workload, &mut known);
        for label in frame.labels.iter_mut().flatten().filter(|label| **label >= UNKNOWN) {
            *label = known.get(label).copied().unwrap_or(*label);
        }
        ends
    }

    fn turns(
        &mut self,
        all: &mut [Elaborated],
        workload: WorkloadId,
        known: &mut BTreeMap<u64, u64>,
    ) -> Result<(), Fault> {
        let mut channels: BTreeMap<ChannelId, Tokens> = BTreeMap::new();
        loop {
            let (mut live, mut moved) = (false, false);
            for process in all.iter_mut() {
                let ended = process.at == (process.events.len(), process.transfers.len()) && !process.faults;
                if ended {
                    continue;
                }
                live = true;
                let before = process.at;
                self.turn(process, &mut channels, workload, known)?;
                moved |= process.at != before;
            }
            match (live, moved) {
                (false, _) => return Ok(()),
                (true, false) => return Err(Fault),
                (true, true) => {}
            }
        }
    }

    /// One turn of a process.
    fn turn(
        &mut self,
        process: &mut Elaborated,
        channels: &mut BTreeMap<ChannelId, Tokens>,
        workload: WorkloadId,
        known: &mut BTreeMap<u64, u64>,
    ) -> Result<(), Fault> {
        loop {
            let next = process.transfers.get(process.at.1).copied();
            let until = next.map_or(process.events.len(), |(until, _)| until);
            for event in &process.events[process.at.0..until] {
                let mut event = event.clone();
                if let Event::Task(task) = &mut event {
                    known.insert(task.ordinal, self.ordinal);
                    task.ordinal = self.ordinal;
                    task.after
                        .iter_mut()
                        .for_each(|after| *after = known.get(after).copied().unwrap_or(*after));
                    self.ordinal += 1;
                }
                self.record.events.push(event);
            }
            process.at.0 = until;
            let Some((_, transfer)) = next else { return if process.faults { Err(Fault) } else { Ok(()) } };
            match transfer {
                Transfer::Begin { channel, sends } => {
                    let depth = i64::from(self.bindings.channel_depth(workload, channel));
                    let tokens = channels.entry(channel).or_default();
                    let waits = if sends {
                        tokens.begun[1] - tokens.done(false) >= depth
                    } else {
                        tokens.begun[0] >= tokens.done(true)
                    };
                    if waits {
                        return Ok(());
                    }
                    let number = tokens.begun[usize::from(sends)];
                    tokens.open[usize::from(sends)].push(number);
                    tokens.begun[usize::from(sends)] += 1;
                    process.at.1 += 1;
                }
                Transfer::End { channel, sends } => {
                    channels.entry(channel).or_default().open[usize::from(sends)].pop();
                    process.at.1 += 1;
                    if sends {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn indices_of(
        &mut self,
        over: &Iteration,
        frame: &Frame,
    ) -> Result<impl Iterator<Item = i64> + use<>, Fault> {
        let (lo, hi, step) = match over {
            Iteration::Range { lo, hi, step } => {
                let (lo, hi) = (self.eval(lo, frame)?, self.eval(hi, frame)?);
                (lo, hi, step.as_ref().map_or(Ok(1), |step| self.eval(step, frame))?)
            }
            Iteration::Axis(axis) => {
                let (start, end) = self.bindings.dense_axis(*axis).ok_or(Fault)?;
                (start, end, 1)
            }
            Iteration::Ragged { axis, outer } => {
                let AxisKind::Ragged { lengths, .. } = &self.module.axes[axis.index()].kind else {
                    return Err(Fault);
                };
                let row = usize::try_from(self.eval(outer, frame)?).map_err(|_| Fault)?;
                (0, *self.bindings.table(*lengths).get(row).ok_or(Fault)?, 1)
            }
        };
        if step < 1 {
            return Err(Fault);
        }
        let more = (i128::from(hi) - i128::from(lo) - 1) / i128::from(step);
        if more >= i128::from(limits::MAX_GENERATOR_STEPS) {
            return Err(Fault);
        }
        Ok((i128::from(lo)..i128::from(hi)).step_by(step.min(1 << 40) as usize).map(|i| i as i64))
    }

    fn each(
        &mut self,
        vars: &[VarId],
        indices: impl Iterator<Item = Vec<i64>>,
        body: &Block,
        frame: &mut Frame,
        ordered: bool,
    ) -> Result<(), Fault> {
        let mut first = true;
        for values in indices {
            if ordered {
                self.record.events.push(if first { Event::Begin } else { Event::Step });
            }
            first = false;
            for (var, value) in vars.iter().zip(&values) {
                frame.vars[var.index()] = *value;
            }
            self.indices.push(values[0]);
            self.block(body, frame)?;
            self.indices.pop();
        }
        if ordered && !first {
            self.record.events.push(Event::End);
        }
        Ok(())
    }

    fn task(&mut self, task: &Task, frame: &mut Frame) -> Result<(), Fault> {
        let kernel = &self.module.kernels[task.kernel.index()];
        let mut seen = Seen {
            ordinal: self.ordinal,
            kernel: task.kernel.0,
            scalars: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            regions: Vec::new(),
            after: Vec::new(),
            place: Placement { pool: kernel.unit, ..Placement::default() },
            indices: self.indices.clone(),
        };
        for (n, arg) in task.args.iter().enumerate() {
            match &arg.value {
                ArgValue::Scalar(expr) => seen.scalars.push(self.eval(expr, frame)?),
                ArgValue::Access(access) => {
                    let region = self.region(access, frame)?;
                    let mode = match &kernel.signature {
                        Signature::Declared(params) => params[n].kind,
                        Signature::Library => ParamKind::Tensor(AccessMode::InOut),
                    };
                    seen.regions.push(region);
                    if mode != ParamKind::Tensor(AccessMode::Out) {
                        seen.reads.push(region);
                    }
                    if mode != ParamKind::Tensor(AccessMode::In) {
                        seen.writes.push(region);
                    }
                }
            }
        }
        let named = |label: &LabelId| frame.labels[label.index()];
        for task in task.after.iter().filter_map(named) {
            if !seen.after.contains(&task) {
                seen.after.push(task);
            }
        }
        if let Some(label) = task.label {
            frame.labels[label.index()] = Some(self.ordinal);
        }
        self.ordinal += 1;
        self.record.events.push(Event::Task(Box::new(seen)));
        Ok(())
    }

    fn region(&mut self, access: &Access, frame: &Frame) -> Result<Region, Fault> {
        let mut region = Region { tensor: access.tensor, lo: [0; MAX_RANK], hi: [1; MAX_RANK] };
        let shape = self.bindings.shape(access.tensor).to_vec();
        for (dim, extent) in shape.into_iter().enumerate() {
            let (lo, hi) = match access.ranges.get(dim) {
                None | Some(DimRange::Whole) => (0, i128::from(extent)),
                Some(DimRange::Index(lo)) => {
                    let lo = i128::from(self.eval(lo, frame)?);
                    (lo, lo + 1)
                }
                Some(DimRange::Range { lo, hi }) => {
                    (i128::from(self.eval(lo, frame)?), i128::from(self.eval(hi, frame)?))
                }
                Some(DimRange::Sized { lo, len }) => {
                    let lo = i128::from(self.eval(lo, frame)?);
                    (lo, lo + i128::from(self.eval(len, frame)?))
                }
            };
            if lo < 0 || hi < lo || hi > i128::from(extent) {
                return Err(Fault);
            }
            (region.lo[dim], region.hi[dim]) = (lo as u32, hi as u32);
        }
        Ok(region)
    }

    fn eval(&mut self, expr: &IntExpr, frame: &Frame) -> Result<i64, Fault> {
        let value: i128 = match &expr.kind {
            IntExprKind::Const(value) => i128::from(*value),
            IntExprKind::Param(param) => i128::from(self.bindings.param(*param)),
            IntExprKind::Var(var) => i128::from(frame.vars[var.index()]),
            IntExprKind::Slot(_) => i128::from(self.record.next_slot()),
            IntExprKind::Axis(_) => return Err(Fault),
            IntExprKind::TableLen(table) => self.bindings.table(*table).len() as i128,
            IntExprKind::Table(table, index) => {
                let index = usize::try_from(self.eval(index, frame)?).map_err(|_| Fault)?;
                i128::from(*self.bindings.table(*table).get(index).ok_or(Fault)?)
            }
            IntExprKind::Unary(UnOp::Neg, x) => -i128::from(self.eval(x, frame)?),
            IntExprKind::Unary(UnOp::Not, x) => i128::from(self.eval(x, frame)? == 0),
            IntExprKind::Choose(c, a, b) => {
                let taken = if self.eval(c, frame)? != 0 { a } else { b };
                i128::from(self.eval(taken, frame)?)
            }
            IntExprKind::Chain(first, rest) => {
                let mut value = self.eval(first, frame)?;
                for (op, operand) in rest {
                    let next = wide(*op, i128::from(value), i128::from(self.eval(operand, frame)?))?;
                    value = i64::try_from(next).map_err(|_| Fault)?;
                }
                i128::from(value)
            }
            IntExprKind::Binary(op, a, b) => {
                let a = i128::from(self.eval(a, frame)?);
                match (op, a) {
                    (BinOp::And, 0) => 0,
                    (BinOp::Or, a) if a != 0 => 1,
                    _ => wide(*op, a, i128::from(self.eval(b, frame)?))?,
                }
            }
        };
        i64::try_from(value).map_err(|_| Fault)
    }
}

/// An operation in twice the width.
fn wide(op: BinOp, a: i128, b: i128) -> Result<i128, Fault> {
    Ok(match op {
        BinOp::Add => a + b,
        BinOp::Sub => a - b,
        BinOp::Mul => a * b,
        BinOp::Div => a.checked_div(b).ok_or(Fault)?,
        BinOp::Rem => a.checked_rem(b).ok_or(Fault)?,
        BinOp::CeilDiv => {
            let floor = a.checked_div_euclid(b).ok_or(Fault)?;
            // Euclid rounds down for positive and up for negative divisors; up is what is asked for.
            if b > 0 && a.rem_euclid(b) != 0 { floor + 1 } else { floor }
        }
        BinOp::Min => a.min(b),
        BinOp::Max => a.max(b),
        BinOp::Eq => i128::from(a == b),
        BinOp::Ne => i128::from(a != b),
        BinOp::Lt => i128::from(a < b),
        BinOp::Le => i128::from(a <= b),
        BinOp::Gt => i128::from(a > b),
        BinOp::Ge => i128::from(a >= b),
        BinOp::And | BinOp::Or => i128::from(b != 0),
        BinOp::BitAnd | BinOp::BitOr | BinOp::BitXor | BinOp::Shl | BinOp::Shr => return Err(Fault),
    })
}
