//! What became of each task, and what it waited for last: from what was noted on the way.

use super::super::config::AicpuConfig;
use super::super::queue::LocalTask;
use super::super::stats::{AicpuTrace, CoreStats};
use super::AicpuCosts;
use super::deal::Program;
use crate::GateScope;
use crate::simulate::{SimTask, SimWorker, Simulation};
use wsp_core::{TaskId, WhyLate};

/// What is noted of a task.
#[derive(Clone, Copy, Default)]
pub(super) struct Life {
    /// The task that made room in the window for it, and the one that did so last before it.
    room: (Option<u32>, Option<u32>),
    /// When it was known to be complete, when what waits for it was released, and with which task.
    retired: u64,
    released: u64,
    with: u32,
    /// The task that its core ran before it, if it waited for the core, and the one that opened its gate.
    held: (Option<u32>, Option<u32>),
    /// When its core saw it, and when it took it, after which task.
    seen: u64,
    taken: u64,
    after: Option<u32>,
}

/// What is noted of all tasks, by ordinal.
pub(super) struct Log {
    lives: Vec<Life>,
    /// Tasks in the order in which they left the gates.
    left: Vec<u32>,
    /// When tasks may start, and when they had to.
    pub(super) opened: Option<u64>,
    pub(super) forced: Option<u64>,
}

pub(super) fn worker(stats: CoreStats) -> SimWorker {
    SimWorker { tasks: stats.tasks, busy: stats.busy_ns.unwrap_or(0), steals: 0 }
}

impl Log {
    pub(super) fn new(tasks: usize) -> Log {
        Log { lives: vec![Life::default(); tasks], left: Vec::new(), opened: None, forced: None }
    }

    pub(super) fn generated(&mut self, ordinal: u64, room: (Option<u32>, Option<u32>)) {
        self.lives[ordinal as usize].room = room;
    }

    pub(super) fn retired(&mut self, ordinal: u64, now: u64) {
        self.lives[ordinal as usize].retired = now;
        self.left.push(ordinal as u32);
    }

    pub(super) fn released(&mut self, task: u32, now: u64, with: u32) {
        let life = &mut self.lives[task as usize];
        (life.released, life.with) = (now, with);
    }

    pub(super) fn handed(&mut self, ordinal: u64, held: (Option<u32>, Option<u32>), seen: u64) {
        let life = &mut self.lives[ordinal as usize];
        (life.held, life.seen) = (held, seen);
    }

    pub(super) fn taken(&mut self, ordinal: u64, after: Option<u32>, now: u64) {
        let life = &mut self.lives[ordinal as usize];
        (life.taken, life.after) = (now, after);
    }

    /// The task that last left a gate which a task that was refused has entered.
    pub(super) fn opener(
        &self,
        program: &Program<'_>,
        config: &AicpuConfig,
        task: &LocalTask,
    ) -> Option<u32> {
        let is_of = |left: &&u32| {
            let spec = program.spec(u64::from(**left));
            config.gates.iter().any(|gate| match gate.scope {
                GateScope::Global => true,
                GateScope::PerPool => spec.pool == task.pool,
                GateScope::PerStream => task.stream.is_some() && spec.stream == task.stream,
            })
        };
        self.left.iter().rev().find(is_of).copied()
    }

    /// Tells what became of the nodes.
    pub(super) fn tell(
        &self,
        program: &Program<'_>,
        costs: &AicpuCosts,
        traces: &[AicpuTrace],
        out: &mut Simulation,
    ) {
        let unborn =
            SimTask { submitted: 0, ready: 0, start: 0, end: 0, worker: None, cause: WhyLate::Start };
        out.tasks = vec![unborn; program.dealt.graph.len()];
        let mut teller = Teller { log: self, program, costs, traces, out, newest: None };
        (0..program.ordinals.len()).for_each(|node| teller.node(node));
        out.makespan = out.tasks.iter().map(|task| task.end).max().unwrap_or(0);
        out.generation_end = traces.iter().map(|trace| trace.generated_ns).max().unwrap_or(0);
        out.forced_start = self.forced;
    }
}

/// Tells of one node after the other.
struct Teller<'t> {
    log: &'t Log,
    program: &'t Program<'t>,
    costs: &'t AicpuCosts,
    traces: &'t [AicpuTrace],
    out: &'t mut Simulation,
    /// When the last of the tasks so far was generated, and which.
    newest: Option<(u64, usize)>,
}

impl Teller<'_> {
    fn node(&mut self, node: usize) {
        let Some(ordinal) = self.program.ordinals[node] else { return self.point(node) };
        let at = ordinal as usize;
        let (trace, life) = (self.traces[at], self.log.lives[at]);
        self.newest = self.newest.max(Some((trace.generated_ns, at)));
        let (mut moment, mut cause) = (trace.generated_ns, self.generation(at));
        let is_ordered =
            !self.program.before(node).is_empty() || self.program.spec(ordinal.into()).stream.is_some();
        // Only when all AICPUs have generated past it, it is known what such a task waits for.
        if let Some((generated, last)) = self.newest.filter(|_| is_ordered) {
            let known = generated.saturating_add(self.notice(last, at));
            if known > moment {
                (moment, cause) = (known, self.generation(last));
            }
        }
        let mut later = |at: u64, why: WhyLate| {
            let counts = at > moment || at == moment && matches!(why, WhyLate::Gate { .. });
            if counts {
                (moment, cause) = (at, why);
            }
        };
        if let Some((at, why)) = self.last_before(node, Some(at)) {
            later(at, why);
        }
        later(self.log.opened.unwrap_or(0), WhyLate::Start);
        let retired = |task: u32| self.log.lives[task as usize].retired;
        if let Some(task) = life.held.0 {
            later(retired(task), WhyLate::Worker { busy_with: self.id(task) });
        }
        if let Some(task) = life.held.1 {
            later(retired(task), WhyLate::Gate { held_by: self.id(task) });
        }
        if let Some(task) = life.after.filter(|_| life.taken > life.seen) {
            later(life.taken, WhyLate::Worker { busy_with: self.id(task) });
        }
        self.out.tasks[node] = SimTask {
            submitted: trace.generated_ns,
            ready: trace.ready_ns,
            start: trace.started_ns,
            end: trace.finished_ns,
            worker: Some(trace.core),
            cause,
        };
    }

    /// A barrier node is complete when all before it are.
    fn point(&mut self, node: usize) {
        let (generated, last) = self.newest.unwrap_or((0, 0));
        let none = WhyLate::Generation { resumed_by: None };
        let mut found = (generated, if self.newest.is_some() { self.generation(last) } else { none });
        if let Some((at, why)) = self.last_before(node, None).filter(|(at, _)| *at > generated) {
            found = (at, why);
        }
        let (at, cause) = found;
        self.out.tasks[node] =
            SimTask { submitted: generated, ready: at, start: at, end: at, worker: None, cause };
    }

    fn id(&self, ordinal: u32) -> TaskId {
        self.program.nodes[ordinal as usize]
    }

    /// Why a task was not generated earlier.
    fn generation(&self, at: usize) -> WhyLate {
        let (room, resumed) = self.log.lives[at].room;
        match room {
            Some(task) => WhyLate::Window { held_by: self.id(task) },
            None => WhyLate::Generation { resumed_by: resumed.map(|task| self.id(task)) },
        }
    }

    /// How long what the AICPU of one task does takes to the AICPU of another.
    fn notice(&self, from: usize, to: usize) -> u64 {
        let [from, to] = [from, to].map(|at| self.program.owner(at as u64));
        if from == to { 0 } else { self.costs.notice }
    }

    /// The release of the last node before one, which belongs to the AICPU of task `to`.
    fn last_before(&self, node: usize, to: Option<usize>) -> Option<(u64, WhyLate)> {
        let moment = |&before: &u32| {
            let Some(ordinal) = self.program.ordinals[before as usize] else {
                return (self.out.tasks[before as usize].ready, before);
            };
            let by = to.map_or(0, |to| self.notice(ordinal as usize, to));
            (self.log.lives[ordinal as usize].released.saturating_add(by), before)
        };
        let (at, last) = self.program.before(node).iter().map(moment).max()?;
        let why = match self.program.ordinals[last as usize] {
            Some(ordinal) if self.log.lives[ordinal as usize].with != ordinal => WhyLate::Batch {
                predecessor: TaskId(last),
                released_with: self.id(self.log.lives[ordinal as usize].with),
            },
            _ => WhyLate::Predecessor(TaskId(last)),
        };
        Some((at, why))
    }
}
