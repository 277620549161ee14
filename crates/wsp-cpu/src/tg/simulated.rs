//! A unit in virtual time: its statements and kernels run, on copies of what it is given, and a clock of cycles says when.
//!
//! What conditions, counts, offsets and statements of the host load is known only where kernels have run, so they do. A block takes a cycle for
//! each four bytes of what its kernel is bound to, its share of them, and at least one; a copy one for each four bytes that it moves. Statements of the
//! host, dispatches and releases take none.

use super::build::CheckedUnit;
use super::inputs::check_gaps;
use super::kernels::TgKernels;
use super::memory::TensorRange;
use super::options::SessionOptions;
use smallvec::SmallVec;
use std::sync::Arc;
use wsp_backend::claims::{Argument, claimed, refused, uses};
use wsp_backend::{BARRIER_NODE, GraphKernel, GraphListing, MemoryStore, Simulated, SimulatedTask};
use wsp_core::tg::Instr;
use wsp_core::{ExecPool, TaskId, WhyLate};
use wsp_diag::Diagnostic;
use wsp_ir::tg::TgModule;
use wsp_memory::Array;
use wsp_ordered::Arrange;
use wsp_plan::cost;
use wsp_plan::target::model::Model;
use wsp_runtime::tg::{BlockTrace, Granted, RunTrace, Time, Trace, Tracing};
use wsp_runtime::timeline::Timeline;

/// Runs a unit in virtual time, on as many workers as the options have threads. Arrays of the caller are read only, and checkpoints are kept in
/// memory for as long as it takes.
///
/// # Errors
/// What would refuse or fail a run.
pub(crate) fn simulate(
    module: &TgModule,
    kernels: &TgKernels,
    mut options: SessionOptions,
) -> Result<Simulated, Vec<Diagnostic>> {
    take_copies(&mut options)?;
    options.runtime.time = Time::Virtual;
    options.runtime.tracing = Tracing::On;
    let keeps = |instr: &Instr| matches!(instr, Instr::TgCheckpoint { .. } | Instr::TgRestore { .. });
    if module.instrs.iter().any(keeps) {
        options.checkpoints = Some(Arc::new(MemoryStore::new()));
    }
    let (workers, machine) = (options.runtime.threads, options.machine.clone());
    let has_copies = module.instrs.iter().any(|instr| matches!(instr, Instr::McCopy { .. }));
    if let Some(machine) = machine.as_ref().filter(|_| has_copies) {
        cost::of_copy(machine, 0).map_err(|fault| vec![fault])?;
    }
    let mut session = CheckedUnit::new(module, kernels, &options)?.session(options)?;
    let report = session.run()?;
    let notes = session.findings().iter().cloned().chain(report.notes).collect();
    let rows = Rows { machine: machine.filter(|machine| machine.count(ExecPool::Cube) > 0), workers };
    Ok(simulated(&report.trace.unwrap_or_default(), &rows, notes))
}

/// Copies the arrays of the caller: virtual time stores to none of them.
fn take_copies(options: &mut SessionOptions) -> Result<(), Vec<Diagnostic>> {
    check_gaps(options)?;
    let views = std::mem::take(&mut options.views);
    // What a run would write may be read only, and share memory: the copies are written.
    let copied = std::mem::take(&mut options.copied);
    let given = views.iter().chain(&copied);
    let read = given.map(|(name, view)| Argument { name, view, written: false, span: None });
    let read: Vec<Argument<'_>> = read.collect();
    let faults = refused(&read);
    if !faults.is_empty() {
        return Err(faults);
    }
    let _claim = claimed(options.claim.as_ref(), &uses(read)).map_err(|fault| vec![fault])?;
    for (name, view) in &views {
        let mut array = Array::zeros(view.dtype(), view.shape()).map_err(|fault| {
            let message = format!("there is no copy of the array for `{name}`: {fault}");
            vec![Diagnostic::error(super::codes::OUT_OF_MEMORY, message)]
        })?;
        array.bytes_mut().copy_from_slice(&TensorRange::of_view(view).to_vec());
        options.inputs.insert(name.clone(), array);
    }
    options.claim = None;
    Ok(())
}

/// What was recorded, as the seam has it: a task for each block, copy and release, in the order in which they started.
fn simulated(trace: &Trace, rows: &Rows, notes: Vec<Diagnostic>) -> Simulated {
    let mut order: Vec<u32> = (0..trace.blocks.len() as u32).collect();
    order.arrange_by_key(|&block| trace.blocks[block as usize].started);
    let mut ids = vec![0; order.len()];
    for (id, &block) in (0..).zip(&order) {
        ids[block as usize] = id;
    }
    let mut listing = GraphListing::default();
    let mut tasks = Vec::with_capacity(order.len());
    let mut busy = vec![0; rows.count()];
    let timeline = Timeline::of_launches(trace);
    let record = |block: u32| timeline.task(TaskId(block)).copied();
    let (_, places) = timeline.starts();
    for (at, block) in order.iter().map(|&at| (at, &trace.blocks[at as usize])) {
        let &BlockTrace { run, started, finished, .. } = block;
        let of = &trace.runs[run as usize];
        let task = tasks.len() as u32;
        listing.tasks.push(kernel_of(&mut listing.kernels, of));
        listing.edges.extend(of.released_by.map(|block| (ids[block as usize], task)));
        let (submitted, cause) = record(at).map_or((of.ready, WhyLate::Unrecorded), |record| {
            (record.submitted, renumbered(record.cause(), &ids))
        });
        let (ready, start, end) = (of.ready, started, finished);
        let held = rows.of(block);
        tasks.push(SimulatedTask { worker: held.first().copied(), submitted, ready, start, end, cause });
        for row in held {
            // Blocks of gangs have workers beyond the others.
            busy.resize(busy.len().max(row as usize + 1), 0);
            busy[row as usize] += finished - started;
        }
    }
    listing.kernels.push(GraphKernel { name: BARRIER_NODE.to_owned(), unit: ExecPool::Any });
    let mut simulated = Simulated::default();
    simulated.makespan = tasks.iter().map(|task| task.end).max().unwrap_or(0);
    simulated.max_in_flight = most_at_once(&tasks);
    simulated.blocks = order.iter().filter_map(|&block| places.get(block as usize)).copied().collect();
    (simulated.listing, simulated.tasks, simulated.busy, simulated.notes) = (listing, tasks, busy, notes);
    simulated
}

/// Where blocks are shown: at their workers, or on a machine at the units that they hold.
struct Rows {
    machine: Option<Arc<Model>>,
    workers: u32,
}

impl Rows {
    /// How many there are at least.
    fn count(&self) -> usize {
        self.machine.as_ref().map_or(self.workers, |machine| machine.count(ExecPool::Any)) as usize
    }

    /// Those of a block, the first of them the one at which it is shown. What holds no unit is beyond them.
    fn of(&self, block: &BlockTrace) -> SmallVec<[u32; 4]> {
        let Some(machine) = &self.machine else { return SmallVec::from_slice(&[block.worker]) };
        let unit = |kind: ExecPool, number: u32| {
            let of = (0..).zip(machine.cores()).filter(move |(_, (_, unit))| *unit == kind);
            of.map(|(at, _)| at).nth(number as usize)
        };
        let cubes = block.cores.aic().and_then(|core| unit(ExecPool::Cube, core));
        let vectors = block.cores.aiv().iter().filter_map(|core| unit(ExecPool::Vector, *core));
        let held: SmallVec<[u32; 4]> = cubes.into_iter().chain(vectors).collect();
        if !held.is_empty() {
            return held;
        }
        let beyond = machine.count(ExecPool::Any);
        let at = block.cores.aicpu().unwrap_or_else(|| beyond + block.worker);
        SmallVec::from_slice(&[beyond + at])
    }
}

/// A cause that names blocks by the numbers of their tasks.
fn renumbered(cause: WhyLate, ids: &[u32]) -> WhyLate {
    let task = |block: TaskId| TaskId(ids[block.index()]);
    match cause {
        WhyLate::Predecessor(block) => WhyLate::Predecessor(task(block)),
        WhyLate::Worker { busy_with } => WhyLate::Worker { busy_with: task(busy_with) },
        other => other,
    }
}

/// The number of a run's kernel.
fn kernel_of(kernels: &mut Vec<GraphKernel>, run: &RunTrace) -> u32 {
    let at = kernels.iter().position(|kernel| kernel.name == run.name).unwrap_or_else(|| {
        let unit = match run.granted {
            Granted { aic: 1.., aiv: 0, .. } => ExecPool::Cube,
            Granted { aic: 0, aiv: 1.., .. } => ExecPool::Vector,
            _ => ExecPool::Any,
        };
        kernels.push(GraphKernel { name: run.name.clone(), unit });
        kernels.len() - 1
    });
    at as u32
}

/// Most tasks that were ready or running in one cycle.
fn most_at_once(tasks: &[SimulatedTask]) -> u32 {
    let mut moments: Vec<(u64, i32)> =
        tasks.iter().flat_map(|task| [(task.ready, 1), (task.end, -1)]).collect();
    // Those that end in a cycle do so before others are ready.
    moments.arrange();
    let counts = moments.iter().scan(0, |count, (_, change)| {
        *count += change;
        Some(*count)
    });
    counts.max().unwrap_or(0).unsigned_abs()
}
