//! Programs of spaces on AICPUs: each runs the generators and keeps what is its own by ordinal, so that workspace, temporaries and regions
//! are those of any other run.

use crate::bind::Bound;
use crate::derived;
use crate::host::{PlanHost, Sink};
use crate::kernels::{Evaluator, KernelTable};
use crate::memory;
use crate::planner::{Planner, at};
use crate::submit::priority;
use crate::traps::{generator_fault, one};
use crate::workload::aicpu::GenerationFault;
use crate::workload::settings::{next_not_started, not_replayed};
use std::ops::Range;
use wsp_core::{KernelId, StructId, limits};
use wsp_diag::{Diagnostic, Span};
use wsp_kernel::{Env, GeneratorCode, Hints, Trap};
use wsp_plan::LoweredPlan;
use wsp_runtime::aicpu::{AicpuTask, Emit, Generator, Progress, Refused, SourceFault};

/// The surroundings of the generators of one AICPU: no kernel, and no other generator, sees the tiles that they set.
///
/// # Errors
/// Arrays that cannot be derived.
pub(crate) fn surroundings(plan: &LoweredPlan, bound: &Bound, env: &Env) -> Result<Env, Vec<Diagnostic>> {
    let mut own = memory::metadata(plan, bound, env.axis_extents.clone());
    derived::derive(plan, bound, &mut own).map_err(one)?;
    (own.mode, own.engine) = (env.mode, env.engine);
    (own.code, own.cancel) = (env.code.clone(), env.cancel.clone());
    Ok(own)
}

/// What ends generation, as the user sees it.
pub(crate) trait EndsGeneration {
    /// Why.
    fn diagnostic(self) -> Diagnostic;
}

impl EndsGeneration for Diagnostic {
    fn diagnostic(self) -> Diagnostic {
        self
    }
}

impl EndsGeneration for SourceFault<GenerationFault> {
    fn diagnostic(self) -> Diagnostic {
        let why = match self {
            SourceFault::Fault { fault: GenerationFault::Task(fault), .. } => return fault,
            SourceFault::Refused { ordinal, refused: refused @ Refused::NotReplayed(_), .. } => {
                return not_replayed(format!("task {ordinal}: {refused}"));
            }
            SourceFault::NotReplayed { task } => return next_not_started(task),
            SourceFault::Refused { refused, .. } => refused.to_string(),
            SourceFault::Fault { .. } => "a generator of spaces has a fault of workloads".to_owned(),
            SourceFault::NoticeLost { .. } => "a notice of completion was lost".to_owned(),
        };
        Trap::internal(why, Span::default()).into()
    }
}

/// The tasks of one AICPU: of `count` it has those whose ordinal is `me` modulo `count`.
pub(crate) struct Share<'a> {
    generators: &'a [GeneratorCode],
    /// Surroundings of kernels.
    env: &'a Env,
    planner: Planner<'a>,
    evaluator: Evaluator,
    kept: Kept<'a>,
    /// The first that is not handed over.
    next: usize,
    /// The stage whose generator runs next.
    stage: u32,
    fences: bool,
}

/// The part of what one generator emitted that is the AICPU's.
struct Kept<'a> {
    kernels: &'a KernelTable,
    me: u64,
    count: u64,
    /// Tasks of all AICPUs so far.
    total: u64,
    events: Vec<Event>,
    words: Vec<u32>,
}

enum Event {
    Task {
        ordinal: u64,
        kernel: KernelId,
        priority: i32,
        words: Range<usize>,
    },
    /// What follows starts when so many tasks are complete.
    Fence(u64),
}

impl Sink for &mut Kept<'_> {
    fn emit(
        &mut self,
        planner: &Planner<'_>,
        descriptor: StructId,
        fields: &[u32],
        hints: Hints<'_>,
    ) -> Result<(), Trap> {
        let ordinal = self.total;
        self.total += 1;
        if ordinal % self.count == self.me {
            let kernel = self.kernels.consumer(planner.plan, descriptor, fields)?;
            let first = self.words.len();
            self.words.extend_from_slice(fields);
            let (priority, words) = (priority(hints)?, first..self.words.len());
            self.events.push(Event::Task { ordinal, kernel, priority, words });
        }
        Ok(())
    }

    fn fence(&mut self) {
        self.events.push(Event::Fence(self.total));
    }

    fn cancelled(&self, planner: &Planner<'_>) -> bool {
        planner.env.cancelled()
    }
}

impl<'a> Share<'a> {
    /// The share of AICPU `me` of `count`. `planner` has the surroundings of its generators, `env` are those of kernels, and `fences` says
    /// whether some generator has one.
    pub(crate) fn new(
        generators: &'a [GeneratorCode],
        (kernels, env): (&'a KernelTable, &'a Env),
        planner: Planner<'a>,
        (me, count): (u16, u16),
        fences: bool,
    ) -> Share<'a> {
        let (me, count) = (me.into(), count.into());
        let kept = Kept { kernels, me, count, total: 0, events: Vec::new(), words: Vec::new() };
        Share { generators, env, planner, evaluator: Evaluator::default(), kept, next: 0, stage: 0, fences }
    }

    /// Runs the generator of the next stage.
    fn run_generator(&mut self, code: &GeneratorCode) -> Result<(), Trap> {
        let (planner, kept) = (&mut self.planner, &mut self.kept);
        kept.events.clear();
        kept.words.clear();
        self.next = 0;
        let (env, space) = (planner.env, planner.plan.stages[self.stage as usize].space);
        let span = planner.plan.module.spaces[space.index()].span;
        let mut host = PlanHost { planner, sink: kept };
        host.enter(self.stage, space);
        code.run(env, &mut host, limits::MAX_GENERATOR_STEPS).map_err(|trap| at(trap, span))?;
        self.stage += 1;
        Ok(())
    }
}

impl Generator for Share<'_> {
    type Fault = GenerationFault;

    fn generate(&mut self, free: u32, out: &mut dyn Emit) -> Progress<GenerationFault> {
        if self.next == self.kept.events.len() {
            if self.fences && self.stage == 0 {
                out.ordered_begin(0);
            }
            let Some(code) = self.generators.get(self.stage as usize) else {
                // A refusal ends the run, and the runtime says why.
                let _ = self.fences.then(|| out.ordered_end(self.kept.total));
                return Progress::Finished;
            };
            let fault = |trap| Progress::Fault(GenerationFault::Task(generator_fault(trap)));
            return self.run_generator(code).map_or_else(fault, |()| Progress::More);
        }
        let mut left = free;
        while left > 0
            && let Some(event) = self.kept.events.get(self.next)
        {
            let told = match event {
                Event::Fence(ordinal) => out.ordered_step(*ordinal),
                Event::Task { ordinal, kernel, priority, words } => {
                    left -= 1;
                    let (of, payload) = (self.kept.kernels.get(*kernel), &self.kept.words[words.clone()]);
                    let touched = of.touched(&mut self.evaluator, self.env, payload);
                    out.task(&AicpuTask {
                        ordinal: *ordinal,
                        kernel: *kernel,
                        pool: of.unit,
                        priority: *priority,
                        reads: &touched.reads,
                        writes: &touched.writes,
                        payload,
                        ..AicpuTask::default()
                    })
                }
            };
            if told.is_err() {
                break;
            }
            self.next += 1;
        }
        Progress::More
    }

    fn watermark(&self) -> u64 {
        match self.kept.events.get(self.next) {
            Some(Event::Task { ordinal, .. } | Event::Fence(ordinal)) => *ordinal,
            None if self.stage as usize == self.generators.len() => u64::MAX,
            None => self.kept.total,
        }
    }
}
