//! The elaborator that is easy to believe: walks the tree and evaluates everything for every task.

use super::{Event, Record, Seen};
use std::collections::{BTreeMap, VecDeque};
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
    /// Processes that wait where none could go on, in the order of the pipeline.
    pub(crate) stuck: Vec<Stuck>,
    /// The process that is elaborated.
    script: Script,
}

/// A process that waits.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Stuck {
    pub(crate) process: String,
    /// Whether it is about to send, or has sent.
    pub(crate) sends: bool,
    /// The channels of which it waits for one.
    pub(crate) channels: Vec<ChannelId>,
}

/// A process that is elaborated from its beginning: what it was granted so far, and what it asks for next.
#[derive(Default)]
struct Script {
    answers: VecDeque<Answer>,
    /// By the number of events before.
    steps: Vec<(usize, Step)>,
    asks: Option<Ask>,
}

/// What a process waits for.
#[derive(Clone, Debug)]
enum Ask {
    Slot(ChannelId),
    /// That its token is taken, of a channel of depth 0.
    Taken(ChannelId),
    /// A token of the first channel that has one; and whether it goes past them when all are closed.
    Token(Vec<ChannelId>, bool),
    Close(ChannelId),
}

/// What it is granted.
#[derive(Clone, Copy, Debug)]
enum Answer {
    Go,
    Slot(i64),
    Token { arm: usize, slot: i64 },
    Past,
}

/// What a process does with channels.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// It was granted what it asked for.
    Granted,
    /// The body of a send or a consume has ended.
    End { channel: ChannelId, sends: bool },
}

/// A process, as far as it has come.
struct Elaborated {
    answers: Vec<Answer>,
    events: Vec<Event>,
    steps: Vec<(usize, Step)>,
    asks: Option<Ask>,
    faults: bool,
    /// Its labels, when it has ended.
    labels: Vec<Option<u64>>,
    /// Events and steps that have had their turn.
    at: (usize, usize),
}

impl Elaborated {
    fn has_ended(&self) -> bool {
        self.at == (self.events.len(), self.steps.len()) && self.asks.is_none() && !self.faults
    }
}

/// A channel while processes take turns.
#[derive(Default)]
struct Tokens {
    /// Numbers of sends and consumes that have not ended.
    open: [Vec<i64>; 2],
    /// Sends and consumes that have begun.
    begun: [i64; 2],
    closed: bool,
}

impl Tokens {
    /// Sends or consumes before the oldest one that has not ended.
    fn done(&self, sends: bool) -> i64 {
        self.open[usize::from(sends)].iter().copied().min().unwrap_or(self.begun[usize::from(sends)])
    }

    /// Begins a send or a consume; its number.
    fn begin(&mut self, sends: bool) -> i64 {
        let number = self.begun[usize::from(sends)];
        self.open[usize::from(sends)].push(number);
        self.begun[usize::from(sends)] += 1;
        number
    }
}

/// Ordinals of tasks of the first process whose turn is not known yet; those of the next begin as far behind.
const UNKNOWN: u64 = 1 << 40;

/// Who waits for what.
fn stuck(
    processes: &[Process],
    all: &[Elaborated],
    channels: &mut BTreeMap<ChannelId, Tokens>,
) -> Vec<Stuck> {
    let mut found = Vec::new();
    for (process, elaborated) in processes.iter().zip(all) {
        let (sends, mut of) = match &elaborated.asks {
            Some(Ask::Slot(channel) | Ask::Taken(channel)) => (true, vec![*channel]),
            Some(Ask::Token(of, _)) => (false, of.clone()),
            Some(Ask::Close(_)) | None => continue,
        };
        // Nothing comes from a channel that is closed.
        of.retain(|channel| !channels.entry(*channel).or_default().closed);
        found.push(Stuck { process: process.name.clone(), sends, channels: of });
    }
    found
}

/// One activation of a workload.
struct Frame {
    workload: WorkloadId,
    vars: Vec<i64>,
    labels: Vec<Option<u64>>,
}

impl<'m> Oracle<'m> {
    pub(crate) fn new(module: &'m WorkloadModule, bindings: &'m Bindings, slots: &[i64]) -> Oracle<'m> {
        let record = Record { slots: slots.to_vec(), ..Record::default() };
        let (indices, stuck) = (Vec::new(), Vec::new());
        Oracle { module, bindings, record, indices, ordinal: 0, stuck, script: Script::default() }
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
            NodeKind::Send { channel, var, body } => {
                let Answer::Slot(slot) = self.ask(Ask::Slot(*channel))? else { unreachable!("a slot") };
                self.transfer((*channel, true), (*var, slot), body, frame)?;
                if self.bindings.channel_depth(frame.workload, *channel) == 0 {
                    self.ask(Ask::Taken(*channel))?;
                }
                Ok(())
            }
            NodeKind::Consume { arms, all } => loop {
                let channels = arms.iter().map(|arm| arm.channel).collect();
                let Answer::Token { arm, slot } = self.ask(Ask::Token(channels, *all))? else {
                    return Ok(());
                };
                let arm = &arms[arm];
                self.transfer((arm.channel, false), (arm.var, slot), &arm.body, frame)?;
                if !all {
                    return Ok(());
                }
            },
            NodeKind::Close { channel } => self.ask(Ask::Close(*channel)).map(drop),
            NodeKind::Call { workload, args } => {
                let args: Result<Vec<i64>, Fault> = args.iter().map(|arg| self.eval(arg, frame)).collect();
                self.workload(*workload, &args?)
            }
        }
    }

    /// The next answer of the script; a fault where there is none.
    fn ask(&mut self, ask: Ask) -> Result<Answer, Fault> {
        let Some(answer) = self.script.answers.pop_front() else {
            self.script.asks = Some(ask);
            return Err(Fault);
        };
        self.script.steps.push((self.record.events.len(), Step::Granted));
        Ok(answer)
    }

    fn transfer(
        &mut self,
        (channel, sends): (ChannelId, bool),
        (var, slot): (VarId, i64),
        body: &Block,
        frame: &mut Frame,
    ) -> Result<(), Fault> {
        frame.vars[var.index()] = slot;
        self.block(body, frame)?;
        self.script.steps.push((self.record.events.len(), Step::End { channel, sends }));
        Ok(())
    }

    /// Elaborates a process from its beginning with what it was granted so far.
    fn elaborate(
        &mut self,
        process: &Process,
        ordinal: u64,
        answers: Vec<Answer>,
        frame: &Frame,
    ) -> Elaborated {
        let (around, before) = (self.indices.len(), self.ordinal);
        let mut frame =
            Frame { workload: frame.workload, vars: frame.vars.clone(), labels: frame.labels.clone() };
        let events = std::mem::take(&mut self.record.events);
        self.script = Script { answers: answers.clone().into(), ..Script::default() };
        self.ordinal = ordinal;
        let failed = self.block(&process.body, &mut frame).is_err();
        self.indices.truncate(around);
        self.ordinal = before;
        let Script { steps, asks, .. } = std::mem::take(&mut self.script);
        let events = std::mem::replace(&mut self.record.events, events);
        let (faults, labels) = (failed && asks.is_none(), frame.labels);
        Elaborated { answers, events, steps, asks, faults, labels, at: (0, 0) }
    }

    /// Processes take turns; each is elaborated again whenever it is granted something.
    fn pipeline(&mut self, processes: &[Process], frame: &mut Frame) -> Result<(), Fault> {
        let mut known = BTreeMap::new();
        let mut channels: BTreeMap<ChannelId, Tokens> = BTreeMap::new();
        let mut all: Vec<Elaborated> = Vec::new();
        for (at, process) in (1..).zip(processes) {
            all.push(self.elaborate(process, at * UNKNOWN, Vec::new(), frame));
        }
        loop {
            let mut moved = false;
            for (at, process) in (1..).zip(processes) {
                let elaborated = &mut all[at as usize - 1];
                if elaborated.has_ended() {
                    continue;
                }
                let before = (elaborated.at, elaborated.answers.len());
                self.turn((process, at * UNKNOWN), elaborated, &mut channels, frame, &mut known)?;
                moved |= (elaborated.at, elaborated.answers.len()) != before || elaborated.has_ended();
            }
            if all.iter().all(Elaborated::has_ended) {
                break;
            }
            if !moved {
                self.stuck = stuck(processes, &all, &mut channels);
                return Err(Fault);
            }
        }
        let labels = frame.labels.clone();
        for process in &all {
            for (label, (after, before)) in frame.labels.iter_mut().zip(process.labels.iter().zip(&labels)) {
                if after != before {
                    *label = after.map(|ordinal| known.get(&ordinal).copied().unwrap_or(ordinal));
                }
            }
        }
        Ok(())
    }

    /// One turn of a process.
    fn turn(
        &mut self,
        (process, ordinal): (&Process, u64),
        elaborated: &mut Elaborated,
        channels: &mut BTreeMap<ChannelId, Tokens>,
        frame: &Frame,
        known: &mut BTreeMap<u64, u64>,
    ) -> Result<(), Fault> {
        loop {
            let next = elaborated.steps.get(elaborated.at.1).copied();
            let until = next.map_or(elaborated.events.len(), |(until, _)| until);
            for event in &elaborated.events[elaborated.at.0..until] {
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
            elaborated.at.0 = until;
            match (next, elaborated.asks.clone()) {
                (Some((_, step)), _) => {
                    elaborated.at.1 += 1;
                    if let Step::End { channel, sends } = step {
                        channels.entry(channel).or_default().open[usize::from(sends)].pop();
                        if sends {
                            return Ok(());
                        }
                    }
                }
                (None, Some(ask)) => {
                    let Some(answer) = self.grant(&ask, channels, frame.workload)? else { return Ok(()) };
                    let (at, mut answers) = (elaborated.at, elaborated.answers.clone());
                    answers.push(answer);
                    *elaborated = self.elaborate(process, ordinal, answers, frame);
                    elaborated.at = at;
                }
                (None, None) => return if elaborated.faults { Err(Fault) } else { Ok(()) },
            }
        }
    }

    /// What a process is granted that asks for something; nothing while it has to wait.
    fn grant(
        &self,
        ask: &Ask,
        channels: &mut BTreeMap<ChannelId, Tokens>,
        workload: WorkloadId,
    ) -> Result<Option<Answer>, Fault> {
        let slots = |channel: &ChannelId| i64::from(self.bindings.channel_depth(workload, *channel)).max(1);
        match ask {
            Ask::Slot(channel) => {
                let tokens = channels.entry(*channel).or_default();
                if tokens.closed {
                    return Err(Fault);
                }
                let free = tokens.begun[1] - tokens.done(false) < slots(channel);
                Ok(free.then(|| Answer::Slot(tokens.begin(true) % slots(channel))))
            }
            Ask::Taken(channel) => {
                let tokens = channels.entry(*channel).or_default();
                Ok((tokens.begun[0] >= tokens.done(true)).then_some(Answer::Go))
            }
            Ask::Token(of, all) => {
                for (arm, channel) in of.iter().enumerate() {
                    let tokens = channels.entry(*channel).or_default();
                    if tokens.begun[0] < tokens.done(true) {
                        return Ok(Some(Answer::Token { arm, slot: tokens.begin(false) % slots(channel) }));
                    }
                }
                let closed = of.iter().all(|channel| channels.entry(*channel).or_default().closed);
                if closed && !all { Err(Fault) } else { Ok(closed.then_some(Answer::Past)) }
            }
            Ask::Close(channel) => {
                let tokens = channels.entry(*channel).or_default();
                if std::mem::replace(&mut tokens.closed, true) { Err(Fault) } else { Ok(Some(Answer::Go)) }
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
