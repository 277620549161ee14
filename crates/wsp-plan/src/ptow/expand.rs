//! The tasks of a workload on the host: its program, interpreted as the only AICPU's.
//!
//! The program is that of the workload alone. What the schedule says of a task is evaluated beside it, from the indices of the
//! axes around the task, so that the value of a dispatch key is known and not only whose the task is.

use super::lower::VarKind;
use super::{Found, LaunchData, Lowered, Statement, lower, statements};
use crate::workload::eval::{Environment, Halt, NotClosed, Values};
use crate::workload::expand::sink::{Behind, Refused, Sink};
use crate::workload::{
    self, Bindings, ExpandError, ExpandStats, LoweredSchedule, Placement, Placer, TaskRecord, TaskSink,
    fault, modes,
};
use wsp_core::ptow::DispatchConfig;
use wsp_core::ptow::interp::{AccessMode, Host, Interpreter, Mode, Ordered, Progress, Task, workspace_words};
use wsp_core::ptow::prefix::Prefixes;
use wsp_core::{AxisId, Region, SlotId};
use wsp_diag::Diagnostic;
use wsp_ir::workload::{Deps, Kernel, SchedulePolicy, Signature, WorkloadModule};

/// Tasks, and steps, between two looks at the sink's wish to stop.
const STRIDE: u32 = 1024;

/// Generates the tasks of a verified module's entry workload, in elaboration order.
///
/// `bindings` are of the same module. Every argument is checked: regions lie within their tensors, arithmetic fits.
///
/// # Errors
/// The first fault, with the indices of the loops around it; what the sink says; cancellation. The tasks before it have
/// been handed over.
pub fn expand<S: TaskSink>(
    module: &WorkloadModule,
    bindings: &Bindings,
    schedule: &LoweredSchedule,
    sink: &mut S,
) -> Result<ExpandStats, ExpandError<S::Error>> {
    if module.entry.is_none() {
        return Err(ExpandError::Fault(Box::new(fault::no_workload())));
    }
    // Labels are kept whatever dependences are asked for: the sink decides.
    let policy = SchedulePolicy { deps: Deps::Explicit, ..SchedulePolicy::default() };
    match lower(module, &LoweredSchedule { policy, ..LoweredSchedule::default() }) {
        Ok(lowered) => Behind::expanded(sink, |sink| run(&lowered, (module, bindings, schedule), sink)),
        // More than a program has room for.
        Err(_) => workload::expand(module, bindings, schedule, sink),
    }
}

/// Interprets a program that was lowered without a schedule.
fn run(
    lowered: &Lowered,
    source: (&WorkloadModule, &Bindings, &LoweredSchedule),
    sink: &mut Sink<'_>,
) -> Result<ExpandStats, ExpandError<Refused>> {
    let (module, bindings, schedule) = source;
    let data = LaunchData::new(lowered, module, bindings);
    let program = lowered.program.verified();
    let mut memory = vec![0; workspace_words(&program)];
    let config = DispatchConfig::round_robin(1, 0);
    let interpreter =
        Interpreter::new(program, data.as_launch(), &config, Prefixes::none(), &mut memory, Mode::Skip);
    let mut interpreter = interpreter.map_err(|refusal| {
        let message = format!("the program of the workload does not run: {refusal}");
        ExpandError::Fault(Box::new(Diagnostic::error(super::codes::BROKEN, message)))
    })?;
    let mut host = Handing::new(lowered, (module, bindings, schedule), sink);
    loop {
        if host.sink.cancelled() {
            return Err(ExpandError::Cancelled);
        }
        match interpreter.run(&mut host, STRIDE, STRIDE) {
            Ok(Progress::Yielded) => {}
            Ok(Progress::Finished) => {
                let stats = interpreter.stats();
                return Ok(ExpandStats {
                    tasks: stats.total_ordinals,
                    ordered_scopes: stats.scopes,
                    while_rounds: stats.while_rounds,
                });
            }
            Ok(Progress::Fault(found)) => {
                let found = lowered.fault(source, &Found::new(found, &interpreter));
                return Err(ExpandError::Fault(Box::new(found)));
            }
            Ok(Progress::Waits(_)) => {
                if let Some(refused) = host.refused.take() {
                    return Err(ExpandError::Sink(refused));
                }
            }
            Err(Halted::Sink) => return Err(ExpandError::Sink(Refused)),
            Err(Halted::Fault(found)) => return Err(ExpandError::Fault(found)),
        }
    }
}

/// Why a task is not handed over.
enum Halted {
    Sink,
    Fault(Box<Diagnostic>),
}

/// What the source says of a `TASK`.
struct Known<'m> {
    statement: Statement<'m>,
    /// How many regions are read, where those come first and all others are written only.
    split: Option<usize>,
    /// The depth of the innermost loop over each axis.
    axes: Vec<(AxisId, usize)>,
}

/// Hands tasks to a sink.
struct Handing<'h, 's> {
    sink: &'h mut Sink<'s>,
    lowered: &'h Lowered,
    module: &'h WorkloadModule,
    values: &'h Values,
    placer: Placer<'h>,
    known: Vec<Known<'h>>,
    /// By word of the program: which of them it is.
    at: Vec<u32>,
    reads: Vec<Region>,
    writes: Vec<Region>,
    /// Why a slot has no value.
    refused: Option<Refused>,
}

impl<'h, 's> Handing<'h, 's> {
    fn new(
        lowered: &'h Lowered,
        (module, bindings, schedule): (&'h WorkloadModule, &'h Bindings, &'h LoweredSchedule),
        sink: &'h mut Sink<'s>,
    ) -> Handing<'h, 's> {
        let statements = statements(module);
        let mut at = vec![0; lowered.spans.len()];
        let mut known = Vec::with_capacity(lowered.sites.len());
        for site in &lowered.sites {
            at[site.word as usize] = known.len() as u32;
            let statement = statements[site.statement as usize];
            let mut axes = Vec::new();
            for (depth, var) in lowered.vars(site.word).iter().enumerate().rev() {
                if let VarKind::Axis(axis) = var.kind {
                    axes.push((axis, depth));
                }
            }
            let split = split(&module.kernels[statement.task.kernel.index()]);
            known.push(Known { statement, split, axes });
        }
        let (values, placer) = (&bindings.values, Placer::new(schedule));
        let (reads, writes) = (Vec::new(), Vec::new());
        Handing { sink, lowered, module, values, placer, known, at, reads, writes, refused: None }
    }

    /// Where the schedule puts a task.
    #[inline]
    fn place(&self, task: &Task<'_>, known: &Known<'h>) -> Result<Placement, Box<Diagnostic>> {
        let pool = task.pool;
        if self.placer.plain {
            return Ok(Placement { pool, ..Placement::default() });
        }
        let mut scope = Around { values: self.values, axes: &known.axes, vars: task.vars };
        let found = match self.placer.place(task.ordinal, pool, &mut scope) {
            Ok(Ok(place)) => return Ok(place),
            Ok(Err(none)) => fault::no_place(&none, known.statement.span),
            Err(Halt::Fault(found)) => found.diagnostic(self.module, self.values),
            // The verifier refuses schedules that name slots.
            Err(Halt::Stop(NotClosed)) => return Ok(Placement { pool, ..Placement::default() }),
        };
        Err(Box::new(self.lowered.located(found, (task.site, task.ordinal), task.indices)))
    }
}

impl Host for Handing<'_, '_> {
    type Stop = Halted;

    #[inline]
    fn task(&mut self, task: &Task<'_>) -> Result<(), Halted> {
        let known = &self.known[self.at[task.site as usize] as usize];
        let place = self.place(task, known).map_err(Halted::Fault)?;
        let (reads, writes) = match known.split {
            Some(reads) => task.regions.split_at(reads),
            None => {
                self.reads.clear();
                self.writes.clear();
                divide(task, |region| self.reads.push(region), |region| self.writes.push(region));
                (&*self.reads, &*self.writes)
            }
        };
        let record = TaskRecord {
            ordinal: task.ordinal,
            kernel: task.kernel,
            scalars: task.params,
            task: known.statement.task,
            span: known.statement.span,
            reads,
            writes,
            regions: task.regions,
            after: task.after,
            place,
            indices: task.indices,
        };
        self.sink.task(&record).map_err(|Refused| Halted::Sink)
    }

    fn ordered(&mut self, event: Ordered, _: u64) -> Result<(), Halted> {
        match event {
            Ordered::Begin => self.sink.ordered_begin(),
            Ordered::Step => self.sink.ordered_step(),
            Ordered::End => self.sink.ordered_end(),
        }
        .map_err(|Refused| Halted::Sink)
    }

    fn slot(&mut self, slot: SlotId, _: u64) -> Option<i64> {
        self.sink.slot(slot).map_err(|refused| self.refused = Some(refused)).ok()
    }

    fn plan(&mut self, _: u16, _: u64) -> Result<Option<u64>, Halted> {
        Ok(None)
    }
}

/// The axes around a task, for the expressions of a schedule.
struct Around<'a> {
    values: &'a Values,
    axes: &'a [(AxisId, usize)],
    vars: &'a [i64],
}

impl Environment for Around<'_> {
    type Stop = NotClosed;

    fn values(&self) -> &Values {
        self.values
    }

    fn var(&self, _: wsp_core::VarId) -> i64 {
        0
    }

    fn axis(&self, axis: AxisId) -> i64 {
        let depth = self.axes.iter().find(|(known, _)| *known == axis).map(|(_, depth)| *depth);
        depth.and_then(|depth| self.vars.get(depth)).copied().unwrap_or(0)
    }

    fn slot(&mut self, _: SlotId) -> Result<i64, NotClosed> {
        Err(NotClosed)
    }
}

/// Tells of the regions that a task reads, and of those that it writes, in the order of its accesses.
#[inline]
pub fn divide(task: &Task<'_>, mut read: impl FnMut(Region), mut written: impl FnMut(Region)) {
    for (region, mode) in task.regions.iter().zip(task.modes) {
        if *mode != AccessMode::Out {
            read(*region);
        }
        if *mode != AccessMode::In {
            written(*region);
        }
    }
}

/// How many regions a kernel reads, where those come first and all others are written only. Of a library kernel nothing is known.
fn split(kernel: &Kernel) -> Option<usize> {
    let modes = matches!(kernel.signature, Signature::Declared(_)).then(|| modes(kernel))?;
    let reads = modes.iter().take_while(|mode| **mode == AccessMode::In).count();
    modes.iter().skip(reads).all(|mode| *mode == AccessMode::Out).then_some(reads)
}
