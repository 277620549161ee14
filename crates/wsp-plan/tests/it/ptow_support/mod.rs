//! Both expansions of a workload, recorded in a form that can be compared.

pub(crate) mod schedules;

use std::convert::Infallible;
use wsp_core::ptow::dispatch::check;
use wsp_core::ptow::interp::{
    AccessMode, Fault, Host, InterpStats, Interpreter, Mode, Ordered, Progress, Task, workspace_words,
};
use wsp_core::ptow::prefix::Prefixes;
use wsp_core::ptow::summary::{summarise, summary_words};
use wsp_core::ptow::{Group, Op};
use wsp_core::{ExecPool, Region, SlotId};
use wsp_diag::{Code, Diagnostic};
use wsp_ir::workload::{self as ir, WorkloadModule};
use wsp_plan::ptow::{Found, LaunchData, Lowered, dispatch_configs, statements};
use wsp_plan::workload::{
    Bindings, Dispatched, ExpandError, ExpandStats, LoweredSchedule, TaskRecord, TaskSink, expand,
};

/// A task, as both expansions have it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Made {
    pub(crate) ordinal: u64,
    /// Index of the statement.
    statement: usize,
    kernel: u16,
    pub(crate) scalars: Vec<i64>,
    regions: Vec<Region>,
    modes: Vec<AccessMode>,
    after: Vec<u64>,
    pool: ExecPool,
    stream: Option<u16>,
    priority: i32,
    indices: Vec<i64>,
    /// Of the ordered scopes around it, outermost first: the ordinals at which the scope and the step began, where there are
    /// tasks between.
    waits: Vec<(u64, u64)>,
}

/// Where the scopes around a task and their steps began.
#[derive(Default)]
struct Scopes(Vec<(u64, u64)>);

impl Scopes {
    fn tell(&mut self, event: Ordered, ordinal: u64) {
        match event {
            Ordered::Begin => self.0.push((ordinal, ordinal)),
            Ordered::Step => self.0.last_mut().expect("a scope has begun").1 = ordinal,
            Ordered::End => drop(self.0.pop().expect("a scope has begun")),
        }
    }

    fn waits(&self) -> Vec<(u64, u64)> {
        self.0.iter().filter(|(begin, step)| begin < step).copied().collect()
    }
}

/// The value of a slot when so many tasks were generated before: the same for whoever asks.
fn slot_value(seed: u64, slot: SlotId, ordinal: u64) -> i64 {
    let mixed = wsp_core::ptow::dispatch::mix(seed ^ u64::from(slot.0) << 40 ^ ordinal);
    (mixed % 3) as i64
}

/// What the host's expansion gives.
pub(crate) struct Expected {
    pub(crate) tasks: Vec<Made>,
    /// What the schedule says of each task's worker.
    pub(crate) dispatched: Vec<Option<Dispatched>>,
    /// Statistics of a run to the end; none after a fault.
    pub(crate) end: Option<ExpandStats>,
    /// What was at fault.
    pub(crate) fault: Option<Diagnostic>,
}

impl Expected {
    /// Whether no process of a pipeline could go on.
    pub(crate) fn is_deadlock(&self) -> bool {
        self.fault.as_ref().is_some_and(|fault| fault.code == Code(820))
    }
}

struct HostSink<'m> {
    module: &'m WorkloadModule,
    /// Addresses of the statements.
    statements: Vec<usize>,
    seed: u64,
    keeps_after: bool,
    scopes: Scopes,
    expected: Expected,
}

impl HostSink<'_> {
    fn ordinal(&self) -> u64 {
        self.expected.tasks.len() as u64
    }

    fn modes(&self, task: &ir::Task) -> Vec<AccessMode> {
        let declared = match &self.module.kernels[task.kernel.index()].signature {
            ir::Signature::Declared(params) => params.as_slice(),
            ir::Signature::Library => &[],
        };
        let mode = |param: &ir::KernelParam| match param.kind {
            ir::ParamKind::Scalar => None,
            ir::ParamKind::Tensor(mode) => Some(mode),
        };
        declared.iter().filter_map(mode).collect()
    }
}

impl TaskSink for HostSink<'_> {
    type Error = Infallible;

    fn task(&mut self, task: &TaskRecord<'_>) -> Result<(), Infallible> {
        let address = std::ptr::from_ref(task.task).addr();
        let made = Made {
            ordinal: task.ordinal,
            statement: self.statements.iter().position(|known| *known == address).expect("a statement"),
            kernel: task.kernel.0,
            scalars: task.scalars.to_vec(),
            regions: task.regions.to_vec(),
            modes: self.modes(task.task),
            after: if self.keeps_after { task.after.to_vec() } else { Vec::new() },
            pool: task.place.pool,
            stream: task.place.stream,
            priority: task.place.priority,
            indices: task.indices.to_vec(),
            waits: self.scopes.waits(),
        };
        self.expected.tasks.push(made);
        self.expected.dispatched.push(task.place.dispatch);
        Ok(())
    }

    fn ordered_begin(&mut self) -> Result<(), Infallible> {
        self.scopes.tell(Ordered::Begin, self.ordinal());
        Ok(())
    }

    fn ordered_step(&mut self) -> Result<(), Infallible> {
        self.scopes.tell(Ordered::Step, self.ordinal());
        Ok(())
    }

    fn ordered_end(&mut self) -> Result<(), Infallible> {
        self.scopes.tell(Ordered::End, self.ordinal());
        Ok(())
    }

    fn slot(&mut self, slot: SlotId) -> Result<i64, Infallible> {
        Ok(slot_value(self.seed, slot, self.ordinal()))
    }
}

/// The host's expansion.
pub(crate) fn on_host(
    module: &WorkloadModule,
    bindings: &Bindings,
    schedule: &LoweredSchedule,
    keeps_after: bool,
    seed: u64,
) -> Expected {
    let statements = statements(module).iter().map(|entry| std::ptr::from_ref(entry.task).addr()).collect();
    let expected = Expected { tasks: Vec::new(), dispatched: Vec::new(), end: None, fault: None };
    let mut sink = HostSink { module, statements, seed, keeps_after, scopes: Scopes::default(), expected };
    let (end, fault) = match expand(module, bindings, schedule, &mut sink) {
        Ok(stats) => (Some(stats), None),
        Err(ExpandError::Fault(fault)) => (None, Some(*fault)),
        Err(other) => panic!("{other:?}"),
    };
    Expected { end, fault, ..sink.expected }
}

/// What one AICPU gives.
pub(crate) struct Given {
    pub(crate) tasks: Vec<Made>,
    pub(crate) fault: Option<Fault>,
    /// The fault, with where it is.
    pub(crate) found: Option<Found>,
    pub(crate) stats: InterpStats,
}

struct Aicpu<'l> {
    lowered: &'l Lowered,
    seed: u64,
    scopes: Scopes,
    tasks: Vec<Made>,
}

impl Host for Aicpu<'_> {
    type Stop = Infallible;

    fn task(&mut self, task: &Task<'_>) -> Result<(), Infallible> {
        let site = self.lowered.site(task.site).expect("every TASK has a site");
        let vars = self.lowered.vars(task.site);
        assert_eq!(vars.len(), task.vars.len());
        let marked = vars.iter().zip(task.vars).filter(|(var, _)| var.kind.is_index());
        let indices: Vec<i64> = marked.map(|(_, value)| *value).collect();
        assert_eq!(indices, task.indices, "the indices are those of loops");
        self.tasks.push(Made {
            ordinal: task.ordinal,
            statement: site.statement as usize,
            kernel: task.kernel.0,
            scalars: task.params.to_vec(),
            regions: task.regions.to_vec(),
            modes: task.modes.to_vec(),
            after: task.after.to_vec(),
            pool: task.pool,
            stream: task.stream,
            priority: task.priority,
            indices,
            waits: self.scopes.waits(),
        });
        Ok(())
    }

    fn ordered(&mut self, event: Ordered, ordinal: u64) -> Result<(), Infallible> {
        self.scopes.tell(event, ordinal);
        Ok(())
    }

    fn slot(&mut self, slot: SlotId, ordinal: u64) -> Option<i64> {
        Some(slot_value(self.seed, slot, ordinal))
    }

    fn plan(&mut self, _: u16, _: u64) -> Result<Option<u64>, Infallible> {
        Ok(None)
    }
}

/// How AICPUs run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    pub(crate) aicpus: u16,
    pub(crate) mode: Mode,
    /// Whether they share sums that are made at launch.
    pub(crate) sums: bool,
    /// Tasks and steps between two returns.
    pub(crate) budget: (u32, u32),
}

/// What every AICPU gives.
pub(crate) fn on_aicpus(lowered: &Lowered, data: &LaunchData<'_>, way: Way, seed: u64) -> Vec<Given> {
    let verified = lowered.program.verified();
    let launch = data.as_launch();
    let mut memory = vec![0; summary_words(verified.program())];
    let summaries = summarise(verified.program(), &launch, &mut memory);
    let words = if way.sums { Prefixes::words_needed(verified.program(), &launch, &summaries) } else { 0 };
    let mut sums = vec![0; words];
    let prefixes = match way.sums {
        true => Prefixes::build(verified.program(), &launch, &summaries, &mut sums),
        false => Prefixes::none(),
    };
    let configs = dispatch_configs(lowered, way.aicpus).expect("the number of AICPUs fits");
    let run = |config| {
        check(config, &verified).expect("configurations fit their program");
        let mut workspace = vec![0; workspace_words(&verified)];
        let mut interpreter = Interpreter::new(verified, launch, config, prefixes, &mut workspace, way.mode)
            .unwrap_or_else(|refusal| panic!("{refusal}"));
        let mut host = Aicpu { lowered, seed, scopes: Scopes::default(), tasks: Vec::new() };
        let fault = loop {
            let Ok(progress) = interpreter.run(&mut host, way.budget.0, way.budget.1);
            match progress {
                Progress::Yielded => {}
                Progress::Waits(slot) => panic!("{slot:?} always has a value"),
                Progress::Finished => break None,
                Progress::Fault(fault) => break Some(fault),
            }
        };
        let found = fault.map(|fault| Found::new(fault, &interpreter));
        Given { tasks: host.tasks, fault, found, stats: interpreter.stats() }
    };
    configs.iter().map(run).collect()
}

/// The AICPU that a task belongs to.
pub(crate) fn owner(dispatched: Option<Dispatched>, ordinal: u64, aicpus: u16) -> usize {
    let worker = dispatched.and_then(|dispatched| dispatched.worker(u32::from(aicpus)));
    worker.map_or((ordinal % u64::from(aicpus)) as usize, |worker| worker as usize)
}

/// Asserts that the AICPUs together do what the host does: every task once, by its owner, in order and equal; and at a fault
/// all tasks before it.
pub(crate) fn compare(expected: &Expected, given: &[Given], what: &str) {
    let end = expected.tasks.len() as u64;
    let mut next = vec![0; given.len()];
    for (task, dispatched) in expected.tasks.iter().zip(&expected.dispatched) {
        let owner = owner(*dispatched, task.ordinal, given.len() as u16);
        let made = given[owner].tasks.get(next[owner]);
        assert_eq!(made, Some(task), "{what}: AICPU {owner}");
        next[owner] += 1;
    }
    match expected.end {
        Some(stats) => {
            for (id, (one, next)) in given.iter().zip(next).enumerate() {
                assert_eq!(one.fault, None, "{what}: AICPU {id}");
                assert_eq!(one.tasks.len(), next, "{what}: AICPU {id} has tasks of others");
                assert_eq!(one.stats.total_ordinals, stats.tasks, "{what}: AICPU {id}");
            }
        }
        None => {
            let mut faults = given.iter().filter_map(|one| one.fault);
            assert!(faults.all(|fault| fault.ordinal >= end), "{what}: a fault comes before {end} tasks");
        }
    }
}

/// The fault of a run, where one AICPU has found the one that comes after `end` tasks.
pub(crate) fn fault_after(end: usize, given: &[Given]) -> Option<Fault> {
    given.iter().filter_map(|one| one.fault).find(|fault| fault.ordinal == end as u64)
}

/// Whether a fault is one of a task's arguments, stream or priority: its owner finds it, however it skips.
pub(crate) fn is_of_task(lowered: &Lowered, fault: &Fault) -> bool {
    let verified = lowered.program.verified();
    let word = verified.program().words.get(fault.word as usize);
    let op = word.and_then(|word| Op::from_code(word.opcode)).expect("a word of the program");
    op == Op::Task || op.info().group == Group::Argument
}
