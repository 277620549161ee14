//! N AICPUs, each of which generates its own tasks and hands them to cores.
//!
//! Where [`run`](crate::run) has one source of tasks, here every AICPU has a [`Generator`], which knows all tasks' numbers in
//! elaboration order, the *ordinals*, and hands over those that its AICPU owns. An AICPU keeps them in its window
//! (`queue.rs`), finds what they wait for, and hands ready ones to the cores attached to it ([`Handshake`]). Its loop is
//! cooperative: it takes short steps in turn (`engine.rs`), so that tasks run while later ones are generated. Threads drive
//! AICPUs and cores (`drive.rs`).
//!
//! # Dependences
//!
//! * **Regions.** An access is put into a map that all AICPUs share when its task is generated (`tensor_map.rs`), and leaves it when
//!   the task is complete. Each AICPU publishes its *watermark*: all its tasks with smaller ordinals are in the map. A task
//!   looks for conflicts when all watermarks are above its ordinal; then no task before it can be missing, and those after it
//!   are passed over by their ordinals. It waits for each task that it finds, on its own AICPU through a list of successors
//!   (`queue.rs`), on another by adding its AICPU to a word of that task's slot (`registration.rs`) and getting a notice when
//!   it is complete (`ring.rs`). Streams are regions too, and `after` names tasks that are found in a directory by then.
//! * **Counts.** A task may instead know how many earlier accesses of a tile there are ([`Need`]), and waits for the tile's
//!   counters without regard to watermarks. All accesses to a tensor are ordered by its regions, or all by counts.
//! * **Ordered scopes** count their complete tasks (`scopes.rs`).
//! * **Slots.** A generator that reads a computed value waits until all watermarks have reached the ordinal at which it
//!   stands and every writer before it is complete. A task at this ordinal or behind it does not look for conflicts, and so
//!   does not start, before this generator has gone on.
//!
//! # Why a run ends
//!
//! A task waits for tasks with smaller ordinals, and for watermarks to pass its own. Consider the unfinished task with the
//! smallest ordinal.
//! 1. *It will be generated.* Its AICPU generates in the order of ordinals, and slots of the window are taken back in
//!    whatever order tasks complete; so its window holds only tasks with smaller ordinals, which are complete, and there is
//!    room. The same holds for its share of the map. If its generator waits for a slot, all writers that this waits for
//!    are complete, and the other generators come as far for the same reason as in 2.
//! 2. *It will look for conflicts.* A generator whose watermark is not above it has either room, or a window that is full of
//!    tasks with larger ordinals, and then its watermark is above it. While a generator waits for a slot at an ordinal that
//!    is not above it, everything before that ordinal is complete.
//! 3. *It will be ready*, because everything that it waits for is complete, and notices are kept until there is room for
//!    them.
//! 4. *It will run.* Every AICPU has cores of every unit; a core serves its AICPUs in turn. A task that finds a gate shut
//!    waits for running tasks.
//!
//! # Orders of starts
//!
//! A run may keep to the order of starts of another one ([`AicpuConfig::replay`]): an AICPU hands out a ready task when it has the turn, to the core that had
//! it, and the turn is passed on when the task starts. When a task has the turn, all that it waited for in the other run has started and ends: those before
//! it, those that made room for the tasks that its and all other generators had to come past, those that held gates. A generator comes as far as it was
//! then, and one task further, for which there is room.
//!
//! The argument does not hold for counts that are wrong. Then nothing can go on, which is noticed (`drive.rs`) and reported
//! with who waits for what ([`Failure::Stuck`]).
//!
//! [`Handshake`]: wsp_core::handshake::Handshake

mod config;
mod cores;
mod counter_waits;
mod counters;
mod directory;
mod drive;
mod driven;
mod engine;
mod failure;
mod gates;
mod generator;
mod queue;
mod ready;
mod registration;
mod remote;
mod ring;
mod scopes;
mod shared;
mod stats;
mod stuck;
mod tensor_map;
mod topology;
mod virtual_time;

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;

pub use config::{AfterEdges, AicpuConfig, AicpuConfigError, Interleaving, ReadyOrder};
pub use failure::{AicpuFailure, SourceFault};
pub use generator::{AicpuTask, Emit, Generator, Need, NoSlots, Progress, Refused, Slots};
pub use stats::{AicpuRunStats, AicpuTrace, CoreStats, WindowStall};
pub use virtual_time::{AicpuCosts, AicpuWork, Dealt, SimAicpu, SimAicpus, simulate};

use crate::team::Team;
use crate::{Failure, KernelStats, StartError, TaskRunner, clock, worker_threads};
use cores::Core;
use drive::{Crew, Run};
use driven::Driven;
use engine::Aicpu;
use shared::{Shared, Stop};
use wsp_core::limits;
use wsp_core::ptow::AicpuStats;
use wsp_ordered::Arrange;

/// AICPUs for any number of runs one after another. The threads that drive them sleep between runs.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use wsp_core::{KernelId, Region, TaskId, TensorId};
/// use wsp_runtime::TaskRunner;
/// use wsp_runtime::aicpu::{AicpuConfig, AicpuTask, Aicpus, Emit, Generator, NoSlots, Progress};
///
/// /// Every second of ten tasks.
/// struct EverySecond {
///     next: u64,
/// }
///
/// impl Generator for EverySecond {
///     type Fault = ();
///
///     fn generate(&mut self, _: u32, out: &mut dyn Emit) -> Progress<()> {
///         if self.next >= 10 {
///             return Progress::Finished;
///         }
///         let cell = Region::new(TensorId(0), &[0], &[1]).unwrap();
///         let task = AicpuTask { ordinal: self.next, writes: &[cell], ..AicpuTask::default() };
///         if out.task(&task).is_ok() {
///             self.next += 2;
///         }
///         Progress::More
///     }
///
///     fn watermark(&self) -> u64 {
///         if self.next >= 10 { u64::MAX } else { self.next }
///     }
/// }
///
/// /// Appends its number, as a decimal digit.
/// struct Append(AtomicU32);
///
/// impl TaskRunner for Append {
///     type Failure = ();
///
///     fn run(&self, _: usize, task: TaskId, _: KernelId, _: &[u32]) -> Result<(), ()> {
///         self.0.store(self.0.load(Ordering::Relaxed).wrapping_mul(10) + task.0, Ordering::Relaxed);
///         Ok(())
///     }
/// }
///
/// let runner = Append(AtomicU32::new(0));
/// let mut aicpus = Aicpus::new(&AicpuConfig::default(), 2).unwrap();
/// let stats = aicpus.run(vec![EverySecond { next: 0 }, EverySecond { next: 1 }], &runner, &NoSlots).unwrap();
/// assert_eq!((stats.tasks, runner.0.into_inner()), (10, 123_456_789));
/// ```
#[derive(Debug)]
pub struct Aicpus {
    config: AicpuConfig,
    count: u32,
    /// What the next run begins with.
    armed: Option<Armed>,
}

/// What a run begins with.
#[derive(Debug)]
struct Armed {
    shared: Shared,
    aicpus: Vec<Aicpu>,
    cores: Vec<Core>,
}

impl Armed {
    fn new(config: &AicpuConfig, count: u32) -> Armed {
        let shared = Shared::new(config, count);
        let aicpus = (0..count as u16).map(|id| Aicpu::new(&shared, id)).collect();
        let cores = (0..shared.topology.units.len() as u32).map(|id| Core::new(&shared, id)).collect();
        Armed { shared, aicpus, cores }
    }
}

impl Aicpus {
    /// So many AICPUs, with all that a run begins with.
    ///
    /// # Errors
    /// A configuration that cannot be.
    pub fn new(config: &AicpuConfig, count: u32) -> Result<Aicpus, StartError> {
        config.validate(count).map_err(StartError::Aicpus)?;
        let window = match &config.replay {
            // A generator whose window is full is not asked how far it is: so it is asked one task further than in the run whose order it is.
            Some(_) => (config.window + 1).min(limits::MAX_LOCAL_WINDOW),
            None => config.window,
        };
        let config = AicpuConfig { threads: worker_threads(config.threads), window, ..config.clone() };
        let armed = Some(Armed::new(&config, count));
        Ok(Aicpus { config, count, armed })
    }

    /// How runs are configured.
    pub fn config(&self) -> &AicpuConfig {
        &self.config
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Builds what the next run begins with, if a run has used it up. A run does so itself where this was not called, which takes about as
    /// long as it takes to get to its first task.
    pub fn arm(&mut self) {
        self.armed.get_or_insert_with(|| Armed::new(&self.config, self.count));
    }

    /// Runs what the generators generate, one of each AICPU, until all of it is complete.
    ///
    /// The runner is told the thread as its worker, and the low 32 bits of the ordinal as the task. Tasks that are ordered never
    /// run at the same time, and what the earlier one wrote is visible to the later.
    ///
    /// # Errors
    /// What ends the run early; see [`Failure`] and [`SourceFault`]. The next run begins as if this one had not been.
    ///
    /// # Panics
    /// When a generator or `slots` panics, and where there are more or fewer generators than AICPUs.
    pub fn run<R: TaskRunner, G: Generator>(
        &mut self,
        mut generators: Vec<G>,
        runner: &R,
        slots: &dyn Slots,
    ) -> Result<AicpuRunStats, AicpuFailure<R::Failure, G::Fault>> {
        assert_eq!(generators.len(), self.count as usize, "each AICPU has a generator");
        let started = clock::now();
        let team = Team::take(self.config.threads, 1).map_err(Failure::Start)?;
        let Armed { mut shared, aicpus, cores } =
            self.armed.take().unwrap_or_else(|| Armed::new(&self.config, self.count));
        shared.origin = started;
        let threads = self.config.threads;
        let mut crews: Vec<Crew<&mut G>> =
            (0..threads).map(|thread| Crew::new(&self.config, thread)).collect();
        // They stay where they are: an interpreter takes tens of kilobytes, and no task starts before all have been passed on.
        for (aicpu, generator) in aicpus.into_iter().zip(&mut generators) {
            // Few tasks at first: the first of the run waits for those that its AICPU generates with it, and for a step of all others.
            crews[usize::from(aicpu.id) % threads as usize].aicpus.push(Driven::new(aicpu, generator, 1));
        }
        // From the last thread on: where there are more threads than cores, AICPUs are driven while tasks run.
        for core in cores {
            crews[(threads - 1 - core.id % threads) as usize].cores.push(core);
        }
        let run = Run::new(shared, runner, slots);
        let crews = drive::drive_all(&run, &team, crews).map_err(Failure::Start)?;
        let stats = stats(&run.shared, &crews);
        if let Some(failure) = run.take_failure() {
            return Err(with_cancelled(
                failure,
                stats.tasks - stats.cores.iter().map(|core| core.tasks).sum::<u64>(),
            ));
        }
        match (run.shared.stopped(), run.shared.left_to_replay()) {
            (None | Some(Stop::Stuck), Some(task)) => Err(Failure::Source(SourceFault::NotReplayed { task })),
            (None, None) => Ok(stats),
            (Some(Stop::Stuck), None) => {
                let mut aicpus: Vec<Driven<&mut G>> =
                    crews.into_iter().flat_map(|crew| crew.aicpus).collect();
                aicpus.arrange_by_key(|driven| driven.aicpu.id);
                Err(Failure::Stuck(stuck::report(&run.shared, &aicpus)))
            }
            (Some(_), _) => Err(Failure::Cancelled),
        }
    }
}

/// A failure with the number of tasks that did not run.
fn with_cancelled<F, G>(mut failure: AicpuFailure<F, G>, dropped: u64) -> AicpuFailure<F, G> {
    if let Failure::Task { task, .. } | Failure::Panic { task, .. } = &mut failure {
        task.cancelled = dropped;
    }
    failure
}

/// Puts the statistics of all crews together.
fn stats<G: Generator>(shared: &Shared, crews: &[Crew<G>]) -> AicpuRunStats {
    let (generation_ns, overlapped) = shared.generation();
    let mut stats = AicpuRunStats {
        aicpus: vec![AicpuStats::default(); usize::from(shared.aicpus())],
        cores: vec![CoreStats::default(); shared.topology.units.len()],
        first_task_ns: shared.first_task_ns(),
        generation_ns,
        overlapped,
        wall_ns: shared.now(),
        forced_starts: shared.forced_starts.load(crate::sync::Ordering::Relaxed),
        ..AicpuRunStats::default()
    };
    for core in crews.iter().flat_map(|crew| &crew.cores) {
        stats.cores[core.id as usize] = core.stats;
        if stats.kernels.len() < core.kernels.len() {
            stats.kernels.resize(core.kernels.len(), KernelStats::default());
        }
        for (sum, of_core) in stats.kernels.iter_mut().zip(&core.kernels) {
            sum.tasks += of_core.tasks;
            if let Some(busy_ns) = of_core.busy_ns {
                *sum.busy_ns.get_or_insert(0) += busy_ns;
            }
        }
    }
    for driven in crews.iter().flat_map(|crew| &crew.aicpus) {
        let aicpu = &driven.aicpu;
        let own = AicpuStats { ready_overflows: aicpu.ready.overflows(), ..aicpu.stats };
        stats.aicpus[usize::from(aicpu.id)] = own;
        stats.tasks += own.tasks;
        stats.stalls.extend(&aicpu.stalls);
        stats.trace.extend(&aicpu.trace);
    }
    stats.stalls.arrange_by_key(|stall| stall.aicpu);
    stats.trace.arrange_by_key(|trace| trace.ordinal);
    stats
}
