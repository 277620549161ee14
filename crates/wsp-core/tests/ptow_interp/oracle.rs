//! The tasks of a program by walking its tree: the meaning of every instruction, as plainly as it can be said.

use crate::asm::{Axis, Dim, Module, Node, Param, Policy, TaskNode, X};
use wsp_core::ptow::interp::AccessMode;
use wsp_core::ptow::{Op, XOp};

/// What a program does, as a host sees it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Event {
    Task(Box<Got>),
    Begin(u64),
    Step(u64),
    End(u64),
    Plan(u16, u64),
}

/// A task.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Got {
    pub(crate) ordinal: u64,
    pub(crate) kernel: u16,
    pub(crate) pool: u8,
    pub(crate) params: Vec<i64>,
    pub(crate) regions: Vec<AccessedRegion>,
    pub(crate) after: Vec<u64>,
    pub(crate) label: Option<u32>,
    pub(crate) stream: Option<u16>,
    pub(crate) priority: i32,
    pub(crate) vars: Vec<i64>,
    pub(crate) indices: Vec<i64>,
    /// Not compared: whose it is.
    pub(crate) owner: u16,
}

/// What it does to a region, its tensor, and its bounds.
pub(crate) type AccessedRegion = (AccessMode, u32, Vec<(u32, u32)>);

/// The launch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Data {
    pub(crate) values: Vec<i64>,
    pub(crate) tables: Vec<Vec<i64>>,
    pub(crate) extents: Vec<[u32; 6]>,
}

/// What slots hold in these tests once `ordinal` tasks were generated.
pub(crate) fn slot_value(slot: u32, ordinal: u64) -> i64 {
    ((ordinal * 7 + u64::from(slot)) % 5) as i64
}

/// Tasks that a descriptor generator of these tests generates.
pub(crate) fn plan_tasks(generator: u16) -> u64 {
    u64::from(generator) + 2
}

/// A fault, of which only where it happens matters here: after so many tasks. One of an argument is found by its owner only.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct AtFault {
    pub(crate) ordinal: u64,
    pub(crate) owner: Option<u16>,
}

pub(crate) struct Oracle<'m> {
    module: &'m Module,
    data: &'m Data,
    n: u16,
    config: Policy,
    ordinal: u64,
    /// Of the task whose arguments are evaluated.
    owner: Option<u16>,
    vars: Vec<Variable>,
    labels: Vec<Option<u64>>,
    pub(crate) events: Vec<Event>,
}

#[derive(Clone, Copy)]
struct Variable {
    value: i64,
    position: i64,
    axis: Option<u16>,
}

#[derive(Clone, Default)]
struct Attrs {
    filters: Vec<Policy>,
    stream: Option<(u32, Option<X>)>,
    priority: Option<X>,
}

type Run<T> = Result<T, AtFault>;

/// All tasks of a program for `n` AICPUs, and where it is at fault if it is.
pub(crate) fn expand(module: &Module, data: &Data, n: u16, config: Policy) -> (Vec<Event>, Run<u64>) {
    let mut oracle = Oracle {
        module,
        data,
        n,
        config,
        ordinal: 0,
        owner: None,
        vars: Vec::new(),
        labels: vec![None; usize::from(module.counts.labels)],
        events: Vec::new(),
    };
    let end = oracle.body(&module.body, Attrs::default());
    let ordinal = oracle.ordinal;
    (oracle.events, end.map(|()| ordinal))
}

impl Oracle<'_> {
    fn fault<T>(&self) -> Run<T> {
        Err(AtFault { ordinal: self.ordinal, owner: self.owner })
    }

    fn body(&mut self, body: &[Node], mut attrs: Attrs) -> Run<()> {
        for node in body {
            match node {
                Node::Filter(policy) => attrs.filters.push(policy.clone()),
                Node::Stream { count, key } => attrs.stream = Some((*count, key.clone())),
                Node::Priority(key) => attrs.priority = Some(key.clone()),
                _ => self.node(node, &attrs)?,
            }
        }
        Ok(())
    }

    fn with(&mut self, variable: Variable, body: &[Node], attrs: &Attrs) -> Run<()> {
        self.vars.push(variable);
        self.body(body, attrs.clone())?;
        self.vars.pop();
        Ok(())
    }

    fn node(&mut self, node: &Node, attrs: &Attrs) -> Run<()> {
        match node {
            Node::Nop | Node::Filter(_) | Node::Stream { .. } | Node::Priority(_) => Ok(()),
            Node::Task(task) => self.task(task, attrs),
            Node::Loop { op, axis, row, body } => {
                let items = self.items(*axis, row.as_ref())?;
                for (index, (position, value)) in items.iter().enumerate() {
                    if *op == Op::ForEach {
                        let at = self.ordinal;
                        self.events.push(if index == 0 { Event::Begin(at) } else { Event::Step(at) });
                    }
                    let variable = Variable { value: *value, position: *position, axis: Some(*axis) };
                    self.with(variable, body, attrs)?;
                }
                if *op == Op::ForEach && !items.is_empty() {
                    self.events.push(Event::End(self.ordinal));
                }
                Ok(())
            }
            Node::Cond { condition, then, otherwise } => {
                let taken = if self.eval(condition)? != 0 { then } else { otherwise };
                self.body(taken, attrs.clone())
            }
            Node::Combine(bodies) => bodies.iter().try_for_each(|body| self.body(body, attrs.clone())),
            Node::Sequential(bodies) => {
                for (index, body) in bodies.iter().enumerate() {
                    let at = self.ordinal;
                    self.events.push(if index == 0 { Event::Begin(at) } else { Event::Step(at) });
                    self.body(body, attrs.clone())?;
                }
                if !bodies.is_empty() {
                    self.events.push(Event::End(self.ordinal));
                }
                Ok(())
            }
            Node::While { condition, max, body } => self.rounds(condition, max.as_ref(), body, attrs),
            Node::Let { value, body } => {
                let value = self.eval(value)?;
                self.with(Variable { value, position: value, axis: None }, body, attrs)
            }
            Node::Reset(label, count) => {
                let first = usize::from(*label);
                self.labels[first..first + *count as usize].fill(None);
                Ok(())
            }
            Node::Transfer { .. } | Node::Arms { .. } | Node::Close(_) | Node::Channel(..) => {
                panic!("processes have tests of their own")
            }
            Node::Plan(generator) => {
                self.events.push(Event::Plan(*generator, self.ordinal));
                self.ordinal += plan_tasks(*generator);
                Ok(())
            }
        }
    }

    fn rounds(&mut self, condition: &X, max: Option<&X>, body: &[Node], attrs: &Attrs) -> Run<()> {
        let max = max.map_or(Ok(1 << 20), |max| self.eval(max))?.max(0);
        let mut round = 0;
        loop {
            let variable = Variable { value: round, position: round, axis: None };
            self.vars.push(variable);
            let holds = self.eval(condition)? != 0;
            self.vars.pop();
            if !holds {
                break;
            }
            if round == max {
                return self.fault();
            }
            let at = self.ordinal;
            self.events.push(if round == 0 { Event::Begin(at) } else { Event::Step(at) });
            self.with(variable, body, attrs)?;
            round += 1;
        }
        if round > 0 {
            self.events.push(Event::End(self.ordinal));
        }
        Ok(())
    }

    /// Positions and variables of a loop.
    fn items(&mut self, axis: u16, row: Option<&X>) -> Run<Vec<(i64, i64)>> {
        let innermost = |oracle: &Self| oracle.vars.last().map_or(0, |var| var.value);
        let row = row.map_or(Ok(innermost(self)), |row| self.eval(row));
        let plain = |range: std::ops::Range<i64>| range.map(|at| (at, at)).collect();
        match &self.module.axes[usize::from(axis)] {
            Axis::Dense(lo, hi) => Ok(plain(self.eval(lo)?..self.eval(hi)?)),
            Axis::DenseDyn(value) => Ok(plain(0..self.data.values[usize::from(*value)])),
            Axis::Ragged(table) => {
                let found =
                    usize::try_from(row?).ok().and_then(|row| self.data.tables[usize::from(*table)].get(row));
                found.map_or_else(|| self.fault(), |length| Ok(plain(0..*length)))
            }
            Axis::Sparse { pointers, columns } => {
                let row = row?;
                let pointers = &self.data.tables[usize::from(*pointers)];
                let columns = &self.data.tables[usize::from(*columns)];
                if row < 0 || row >= pointers.len() as i64 - 1 {
                    return self.fault();
                }
                let (from, to) = (pointers[row as usize], pointers[row as usize + 1]);
                if from < 0 || to < from || to > columns.len() as i64 {
                    return self.fault();
                }
                Ok((from..to).map(|at| (at, columns[at as usize])).collect())
            }
            Axis::Range { lo, hi, step } => {
                let (lo, hi) = (self.eval(lo)?, self.eval(hi)?);
                let step = step.as_ref().map_or(Ok(1), |step| self.eval(step))?;
                if step < 1 {
                    return self.fault();
                }
                Ok((lo..hi).step_by(step as usize).map(|at| (at, at)).collect())
            }
        }
    }

    fn task(&mut self, task: &TaskNode, attrs: &Attrs) -> Run<()> {
        let (owner, pool) = self.owner(attrs)?;
        self.owner = Some(owner);
        let mut got = Got {
            ordinal: self.ordinal,
            kernel: task.kernel,
            pool: pool.unwrap_or(self.module.kernels[usize::from(task.kernel)]),
            label: task.label.map(u32::from),
            vars: self.vars.iter().map(|var| var.value).collect(),
            indices: self.vars.iter().filter(|var| var.axis.is_some()).map(|var| var.value).collect(),
            owner,
            ..Got::default()
        };
        for param in &task.params {
            got.params.push(match param {
                Param::Const(value) => i64::from(*value),
                Param::Loopvar(depth) => self.vars[usize::from(*depth)].value,
                Param::Expr(expr) => self.eval(expr)?,
            });
        }
        for (op, tensor, dims) in &task.accesses {
            let region = self.region(*op, *tensor, dims)?;
            got.regions.push(region);
        }
        for label in &task.after {
            if let Some(task) = self.labels[usize::from(*label)].filter(|task| !got.after.contains(task)) {
                got.after.push(task);
            }
        }
        if let Some((streams, key)) = &attrs.stream {
            let stream = match key {
                Some(key) => self.eval(key)?.rem_euclid(i64::from(*streams)) as u16,
                None => (self.ordinal % u64::from(*streams)) as u16,
            };
            got.stream = Some(stream);
        }
        if let Some(key) = &attrs.priority {
            let value = self.eval(key)?;
            got.priority = i32::try_from(value).or_else(|_| self.fault())?;
        }
        self.owner = None;
        self.events.push(Event::Task(Box::new(got)));
        if let Some(label) = task.label {
            self.labels[usize::from(label)] = Some(self.ordinal);
        }
        self.ordinal += 1;
        Ok(())
    }

    fn region(&mut self, op: Op, tensor: u16, dims: &[Dim]) -> Run<AccessedRegion> {
        let mode = match op {
            Op::IoInput => AccessMode::In,
            Op::IoOutput => AccessMode::Out,
            _ => AccessMode::InOut,
        };
        let rank = self.module.tensors[usize::from(tensor)];
        let mut bounds = vec![(0, 1); 6];
        for (dim, bound) in bounds.iter_mut().enumerate().take(usize::from(rank)) {
            let extent = i64::from(self.data.extents[usize::from(tensor)][dim]);
            let (lo, hi) = match dims.get(dim).unwrap_or(&Dim::Whole) {
                Dim::Whole => (0, extent),
                Dim::Index(index) => {
                    let index = self.eval(index)?;
                    (index, index.saturating_add(1))
                }
                Dim::Range(lo, hi) => (self.eval(lo)?, self.eval(hi)?),
                Dim::Sized(lo, len) => {
                    let lo = self.eval(lo)?;
                    (lo, lo.saturating_add(self.eval(len)?))
                }
                Dim::SizedImm(lo, len) => {
                    let lo = self.eval(lo)?;
                    (lo, lo.saturating_add(i64::from(*len)))
                }
            };
            if !(0 <= lo && lo <= hi && hi <= extent) {
                return self.fault();
            }
            *bound = (lo as u32, hi as u32);
        }
        Ok((mode, u32::from(tensor), bounds))
    }

    fn owner(&mut self, attrs: &Attrs) -> Run<(u16, Option<u8>)> {
        let mut pool = None;
        let filters: Vec<Policy> = attrs.filters.iter().rev().cloned().chain([self.config.clone()]).collect();
        for policy in filters {
            let decided = match policy {
                Policy::Threshold { metric, bounds, levels } => {
                    let metric = self.eval(&metric)?;
                    levels[bounds.iter().filter(|bound| i64::from(**bound) <= metric).count()].clone()
                }
                other => other,
            };
            if let Policy::Pool(chosen) = decided {
                pool = pool.or(Some([0, 1, 255][usize::from(chosen)]));
                continue;
            }
            return Ok((self.decided(&decided)?, pool));
        }
        Ok(((self.ordinal % u64::from(self.n)) as u16, pool))
    }

    fn decided(&mut self, policy: &Policy) -> Run<u16> {
        let n = i64::from(self.n);
        Ok(match policy {
            Policy::RoundRobin => (self.ordinal % u64::from(self.n)) as u16,
            Policy::Affinity(depth) => {
                self.vars.get(usize::from(*depth)).map_or(0, |var| var.value).rem_euclid(n) as u16
            }
            Policy::Key(key) => self.eval(key)?.rem_euclid(n) as u16,
            Policy::Hash(key) => {
                let mut key = self.eval(key)? as u64;
                for _ in 0..2 {
                    key = (key ^ (key >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
                }
                ((key ^ (key >> 32)) % u64::from(self.n)) as u16
            }
            Policy::Ranges(ends) => {
                let range = ends.iter().position(|end| self.ordinal < u64::from(*end));
                range.map_or_else(|| self.fault(), |range| Ok(range as u16 % self.n))?
            }
            Policy::Threshold { .. } | Policy::Pool(_) => panic!("decided by now"),
        })
    }

    fn eval(&self, expr: &X) -> Run<i64> {
        let or_fault = |value: Option<i64>| value.map_or_else(|| self.fault(), Ok);
        Ok(match expr {
            X::Const(value) => *value,
            X::Value(value) => self.data.values[usize::from(*value)],
            X::Var(depth) => self.vars[usize::from(*depth)].value,
            X::Pos(depth) => self.vars[usize::from(*depth)].position,
            X::Axis(axis) => {
                self.vars.iter().rev().find(|var| var.axis == Some(*axis)).map_or(0, |var| var.value)
            }
            X::Slot(slot) => slot_value(u32::from(*slot), self.ordinal),
            X::Len(table) => self.data.tables[usize::from(*table)].len() as i64,
            X::Table(table, index) => {
                let index = usize::try_from(self.eval(index)?).ok();
                or_fault(index.and_then(|index| self.data.tables[usize::from(*table)].get(index)).copied())?
            }
            X::Neg(operand) => or_fault(self.eval(operand)?.checked_neg())?,
            X::Not(operand) => i64::from(self.eval(operand)? == 0),
            X::Choose(condition, then, otherwise) => {
                self.eval(if self.eval(condition)? != 0 { then } else { otherwise })?
            }
            X::Bin(op, left, right) => {
                let (l, r) = (self.eval(left)?, self.eval(right)?);
                or_fault(match op {
                    XOp::XAdd => l.checked_add(r),
                    XOp::XSub => l.checked_sub(r),
                    XOp::XMul => l.checked_mul(r),
                    XOp::XDiv => l.checked_div(r),
                    XOp::XRem if r == -1 => Some(0),
                    XOp::XRem => l.checked_rem(r),
                    XOp::XMin => Some(l.min(r)),
                    XOp::XMax => Some(l.max(r)),
                    XOp::XEq => Some(i64::from(l == r)),
                    XOp::XLt => Some(i64::from(l < r)),
                    other => panic!("{other:?} is not written in these tests"),
                })?
            }
        })
    }
}
