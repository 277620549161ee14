//! A run of a plan on one thread, in which nodes that were handed out take random times: a kernel reads when it starts and writes when it is
//! complete.

use super::oracle::{BYTES, Memory, Run, apply, load, loops_around};
use super::random::Random;
use std::collections::HashMap;
use wsp_core::tg::image::{NONE, NodeKind};
use wsp_core::tg::machine::{Fault, Machine, Scalars, Step};
use wsp_core::tg::{Direction, Env, EvalFault, IterNo, KernelNo, Scalar, ScalarType, TensorNo, eval};
use wsp_ir::tg::TgModule;
use wsp_tg::plan::{BindTensor, KernelItem};
use wsp_tg::{GraphPlan, UnitPlan};

/// What happened to a kernel, and when, counted in events.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) run: Run,
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) gang: Option<u32>,
}

/// A node that was handed out: what it will write.
struct Running {
    node: u32,
    span: Option<usize>,
    writes: Vec<(u32, usize, Vec<u8>)>,
}

pub(crate) struct Simulation<'p> {
    unit: &'p UnitPlan,
    pub(crate) plan: &'p GraphPlan,
    around: HashMap<KernelNo, Vec<u32>>,
    pub(crate) memory: Memory,
    pub(crate) spans: Vec<Span>,
    pub(crate) checkpoints: usize,
    /// Names of nodes in the order in which they were complete.
    pub(crate) log: Vec<String>,
    pub(crate) signals: Vec<u32>,
    pub(crate) state: Vec<u32>,
    running: Vec<Running>,
    now: usize,
    /// Waits for events and notifications are over only when this says so.
    pub(crate) open: fn(&GraphPlan, u32, &[String]) -> bool,
}

/// Values at run time.
pub(crate) struct Values<'v> {
    unit: &'v UnitPlan,
    plan: &'v GraphPlan,
    memory: &'v Memory,
    iterations: Vec<u32>,
}

impl Env for Values<'_> {
    fn iter(&self, iter: IterNo) -> Result<i64, EvalFault> {
        Ok(i64::from(self.iterations[iter.0 as usize]))
    }

    fn load(&self, tensor: TensorNo, ty: ScalarType, offset: i64) -> Result<i64, EvalFault> {
        let no = self.unit.tensors[tensor.0 as usize].no;
        load(&self.memory[&no], ty, offset).ok_or(EvalFault::Load { tensor, offset, ty })
    }

    fn arg(&self, arg: u32) -> Result<i64, EvalFault> {
        self.unit.args[arg as usize].default.ok_or(EvalFault::Malformed)
    }

    fn iteration(&self) -> Result<i64, EvalFault> {
        Ok(0)
    }
}

impl Values<'_> {
    fn value(&self, scalar: Scalar) -> i64 {
        match scalar {
            Scalar::Const(value) => value,
            scalar => eval(self.plan.expr(scalar), self).expect("the tests' expressions have values"),
        }
    }
}

impl Scalars for Values<'_> {
    type Fault = EvalFault;

    fn eval(&mut self, condition: u32, iterations: &[u32]) -> Result<i64, EvalFault> {
        self.iterations = iterations.to_vec();
        match self.plan.conditions[condition as usize].value {
            Scalar::Const(value) => Ok(value),
            scalar => eval(self.plan.expr(scalar), self),
        }
    }
}

/// How a run ended.
#[derive(Debug, PartialEq)]
pub(crate) enum End {
    Done,
    /// Nothing runs and nothing can start.
    Stuck,
    /// After so many events, as asked.
    Stopped,
    Fault(Fault<EvalFault>),
}

impl<'p> Simulation<'p> {
    pub(crate) fn new(module: &TgModule, unit: &'p UnitPlan, graph: usize, memory: Memory) -> Simulation<'p> {
        let plan = &unit.graphs[graph];
        let mut state = vec![0; plan.records.image().state_words()];
        Machine::start(&plan.records.image(), &mut state).expect("the state fits");
        Simulation {
            unit,
            plan,
            around: loops_around(module, plan.no),
            memory,
            spans: Vec::new(),
            checkpoints: 0,
            log: Vec::new(),
            signals: Vec::new(),
            state,
            running: Vec::new(),
            now: 0,
            open: |_, _, _| true,
        }
    }

    /// Runs until the end, or until `stop` events have happened.
    pub(crate) fn run(&mut self, random: &mut Random, stop: usize) -> End {
        let end = self.now.saturating_add(stop);
        loop {
            if self.now >= end {
                return End::Stopped;
            }
            self.now += 1;
            if !self.running.is_empty() && random.below(3) == 0 {
                let at = random.below(self.running.len());
                self.try_finish(at);
                continue;
            }
            match self.step() {
                Err(fault) => return End::Fault(fault),
                Ok(Step::Run(node)) => self.start(node, None),
                Ok(Step::Gang(gang)) => {
                    let image = self.plan.records.image();
                    let machine =
                        Machine::attach(&image, &mut self.state).expect("it is a state of this graph");
                    let members: Vec<u32> = machine.gang(gang).collect();
                    members.into_iter().for_each(|node| self.start(node, Some(gang)));
                }
                Ok(Step::Signal(node)) => self.signals.push(self.plan.records.nodes[node as usize].item),
                Ok(Step::Idle) => {
                    let from = random.below(self.running.len().max(1));
                    let places = (0..self.running.len()).map(|at| (at + from) % self.running.len());
                    if !places.collect::<Vec<_>>().into_iter().any(|at| self.try_finish(at)) {
                        return End::Stuck;
                    }
                }
                Ok(Step::Done) => return End::Done,
            }
        }
    }

    fn step(&mut self) -> Result<Step, Fault<EvalFault>> {
        let image = self.plan.records.image();
        let mut machine = Machine::attach(&image, &mut self.state).expect("it is a state of this graph");
        let (unit, plan, memory) = (self.unit, self.plan, &self.memory);
        machine.next(&mut Values { unit, plan, memory, iterations: Vec::new() })
    }

    /// Numbers of the iterations of the dynamic loops around a node, with the loops' instructions.
    fn dynamic_rounds(&self, node: u32, iterations: &[u32]) -> Vec<(u32, u64)> {
        let (mut rounds, mut at) = (Vec::new(), node);
        let bodies = &self.plan.records.loops;
        while let Some(l) =
            bodies.iter().position(|l| (l.body.first..l.body.first + l.body.len).contains(&at))
        {
            rounds.push((self.plan.loops[l].instr, u64::from(iterations[l])));
            at = bodies[l].node;
        }
        rounds
    }

    fn start(&mut self, node: u32, gang: Option<u32>) {
        let image = self.plan.records.image();
        let machine = Machine::attach(&image, &mut self.state).expect("it is a state of this graph");
        let iterations = machine.iterations().to_vec();
        let item = self.plan.records.nodes[node as usize].item as usize;
        let mut running = Running { node, span: None, writes: Vec::new() };
        match self.plan.kind_of(node) {
            NodeKind::Kernel => {
                let leader = &self.plan.kernels[item];
                let members = std::iter::once(leader)
                    .chain(leader.batch.iter().map(|&k| &self.plan.kernels[k as usize]));
                for kernel in members {
                    let run = self.identity(kernel, node, &iterations);
                    running.span = Some(self.spans.len());
                    self.spans.push(Span { run, start: self.now, end: usize::MAX, gang });
                    running.writes.extend(self.outputs(kernel, iterations.clone()));
                }
            }
            NodeKind::Copy => {
                let copy = self.plan.copies[item];
                let source = &self.memory[&self.unit.tensors[copy.src as usize].no];
                let bytes = source[copy.src_offset as usize..][..copy.size as usize].to_vec();
                running.writes.push((copy.dst, copy.dst_offset as usize, bytes));
            }
            NodeKind::Checkpoint => self.checkpoints += 1,
            _ => {}
        }
        self.running.push(running);
    }

    fn identity(&self, kernel: &KernelItem, node: u32, iterations: &[u32]) -> Run {
        let no = self.plan.defs[kernel.def as usize].kernel;
        let dynamic = self.dynamic_rounds(node, iterations);
        let mut fixed = self.plan.fixed_of(kernel.fixed).iter();
        let around = self.around.get(&no).cloned().unwrap_or_default();
        let round = |instr: &u32| match dynamic.iter().find(|(at, _)| at == instr) {
            Some((_, round)) => *round,
            None => fixed.next().expect("a loop is dynamic or unrolled").1 as u64,
        };
        let rounds = around.iter().map(round).collect();
        assert!(fixed.next().is_none(), "every loop around a kernel counts once");
        (no, rounds)
    }

    fn outputs(&self, kernel: &KernelItem, iterations: Vec<u32>) -> Vec<(u32, usize, Vec<u8>)> {
        let values = Values { unit: self.unit, plan: self.plan, memory: &self.memory, iterations };
        let resolve = |bind: &wsp_tg::plan::BindItem| {
            let tensor = match bind.tensor {
                BindTensor::One(tensor) => tensor,
                BindTensor::Table { index, .. } => {
                    self.plan.tensors_of(&bind.tensor)[values.value(index) as usize]
                }
            };
            let first = values.value(bind.offset) as usize;
            let len = match values.value(bind.size) as usize {
                0 => BYTES - first,
                len => len,
            };
            (tensor, first, len, bind.direction)
        };
        let binds: Vec<_> = self.plan.binds_of(kernel).iter().map(resolve).collect();
        let read = |&(tensor, first, len, _): &(u32, usize, usize, Direction)| {
            self.memory[&self.unit.tensors[tensor as usize].no][first..first + len].to_vec()
        };
        let args: Vec<Vec<u8>> = binds.iter().map(read).collect();
        let def = &self.plan.defs[kernel.def as usize];
        let out = apply(&def.entry, def.kernel, &args);
        let written = binds.iter().zip(out).filter(|(bind, _)| bind.3 != Direction::In);
        written.map(|(&(tensor, first, ..), bytes)| (tensor, first, bytes)).collect()
    }

    fn try_finish(&mut self, at: usize) -> bool {
        let node = self.running[at].node;
        if !(self.open)(self.plan, node, &self.log) {
            return false;
        }
        let running = self.running.swap_remove(at);
        self.log.push(self.plan.node_name(node));
        for (tensor, first, bytes) in running.writes {
            let no = self.unit.tensors[tensor as usize].no;
            let target = self.memory.get_mut(&no).expect("there is this tensor");
            target[first..first + bytes.len()].copy_from_slice(&bytes);
        }
        let now = self.now;
        if let Some(last) = running.span {
            let kernel = &self.plan.kernels[self.plan.records.nodes[node as usize].item as usize];
            let count = kernel.batch.len() + 1;
            self.spans[last + 1 - count..=last].iter_mut().for_each(|span| span.end = now);
        }
        let image = self.plan.records.image();
        Machine::attach(&image, &mut self.state).expect("it is a state of this graph").complete(node);
        true
    }

    /// Completes gangs that run, and forgets whatever else was handed out: it has had no effect yet.
    pub(crate) fn abandon(&mut self) {
        while let Some(at) =
            self.running.iter().position(|r| self.plan.records.nodes[r.node as usize].gang != NONE)
        {
            self.now += 1;
            self.try_finish(at);
        }
        let lost = |running: &Running| self.plan.kind_of(running.node) == NodeKind::Checkpoint;
        self.checkpoints -= self.running.iter().filter(|running| lost(running)).count();
        self.running.clear();
        self.spans.retain(|span| span.end != usize::MAX);
    }

    /// Every kernel that ran, in no particular order.
    pub(crate) fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = self.spans.iter().map(|span| span.run.clone()).collect();
        runs.sort();
        runs
    }
}

/// Runs a graph to its end, and gives the order of completions.
pub(crate) fn order_of(module: &TgModule, unit: &UnitPlan, graph: usize, seed: u64) -> Vec<String> {
    let mut simulation = Simulation::new(module, unit, graph, super::oracle::memory(module));
    assert_eq!(simulation.run(&mut Random::new(seed), usize::MAX), End::Done);
    simulation.log
}
