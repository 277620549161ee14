//! The tasks of one AICPU from a program.

use super::generation::GenerationFault;
use super::issue::{Issue, Issued};
use super::ready::AicpuProgram;
use smallvec::SmallVec;
use wsp_core::ptow::interp::{self, AccessMode, Fault, Host, Interpreter, Ordered, Task};
use wsp_core::{AccessKind, ExecPool, Region, SlotId, StreamId};
use wsp_plan::expected::{self, Tracking};
use wsp_plan::ptow::{Found, Statement, divide};
use wsp_plan::workload::{Placement, TaskRecord};
use wsp_runtime::aicpu::{AicpuTask, Emit, Generator, Need, Progress, Refused};

/// Loop steps of an interpreter between two looks at what else there is to do.
const STEPS: u32 = 4096;

/// Interprets a program.
pub(super) struct Bytecode<'a, I> {
    interpreter: Interpreter<'a>,
    adapter: Adapter<'a, I>,
}

/// Turns tasks of the interpreter into tasks of the runtime.
struct Adapter<'a, I> {
    issue: I,
    program: &'a AicpuProgram,
    statements: &'a [Statement<'a>],
    reads: SmallVec<[Region; 4]>,
    writes: SmallVec<[Region; 4]>,
    counted: Vec<expected::Need>,
    needs: SmallVec<[Need; 4]>,
}

impl<'a, I: Issue> Bytecode<'a, I> {
    pub(super) fn new(
        interpreter: Interpreter<'a>,
        program: &'a AicpuProgram,
        statements: &'a [Statement<'a>],
        issue: I,
    ) -> Bytecode<'a, I> {
        let (reads, writes) = (SmallVec::new(), SmallVec::new());
        let (counted, needs) = (Vec::new(), SmallVec::new());
        Bytecode {
            interpreter,
            adapter: Adapter { issue, program, statements, reads, writes, counted, needs },
        }
    }
}

impl<I> Bytecode<'_, I> {
    /// The end, unless a static partition has left tasks over: no AICPU sees those as its own.
    fn finished(&self) -> Progress<GenerationFault> {
        self.left_over(None).map_or(Progress::Finished, Progress::Fault)
    }

    /// A fault. Behind the last range of a static partition that may come of what nobody's tasks have not written.
    fn failed(&self, fault: Fault) -> Progress<GenerationFault> {
        let found = Found::new(fault, &self.interpreter);
        let left_over = self.left_over(Some(&found));
        Progress::Fault(left_over.unwrap_or(GenerationFault::Program(found)))
    }

    /// Tasks so far that a static partition gives to nobody.
    fn left_over(&self, then: Option<&Found>) -> Option<GenerationFault> {
        let total = self.interpreter.stats().total_ordinals;
        let end = self.adapter.program.partition.filter(|end| *end < total)?;
        Some(GenerationFault::Partition { end, total, then: then.cloned() })
    }
}

impl<I: Issue> Generator for Bytecode<'_, I> {
    type Fault = GenerationFault;

    fn generate(&mut self, free: u32, out: &mut dyn Emit) -> Progress<GenerationFault> {
        let mut host = Handing { adapter: &mut self.adapter, out };
        match self.interpreter.run(&mut host, free, STEPS) {
            Ok(interp::Progress::Yielded) => Progress::More,
            Ok(interp::Progress::Waits(slot)) => Progress::Waits(slot),
            Ok(interp::Progress::Finished) => self.finished(),
            Ok(interp::Progress::Fault(fault)) => self.failed(fault),
            Err(Halt::Task(fault)) => Progress::Fault(fault),
            // The runtime has said why, and ends the run.
            Err(Halt::Refused) => Progress::More,
        }
    }

    fn watermark(&self) -> u64 {
        self.interpreter.watermark()
    }
}

/// Why the interpreter stops.
enum Halt {
    /// The runtime takes no more.
    Refused,
    /// A task cannot be.
    Task(GenerationFault),
}

impl From<Refused> for Halt {
    fn from(_: Refused) -> Halt {
        Halt::Refused
    }
}

/// Hands tasks to the runtime.
struct Handing<'h, 'a, I> {
    adapter: &'h mut Adapter<'a, I>,
    out: &'h mut dyn Emit,
}

impl<I: Issue> Host for Handing<'_, '_, I> {
    type Stop = Halt;

    fn task(&mut self, task: &Task<'_>) -> Result<(), Halt> {
        let Adapter { issue, program, statements, reads, writes, counted, needs } = &mut *self.adapter;
        let AicpuProgram { lowered, expected, .. } = *program;
        reads.clear();
        writes.clear();
        divide(task, |region| reads.push(region), |region| writes.push(region));
        let statement = lowered.site(task.site).and_then(|site| statements.get(site.statement as usize));
        let Some(statement) = statement else {
            return Err(Halt::Task(GenerationFault::Site(task.site)));
        };
        let record = TaskRecord {
            ordinal: task.ordinal,
            kernel: task.kernel,
            scalars: task.params,
            task: statement.task,
            span: statement.span,
            reads,
            writes,
            regions: task.regions,
            after: task.after,
            place: Placement {
                dispatch: None,
                pool: task.pool,
                stream: task.stream,
                priority: task.priority,
            },
            indices: task.indices,
        };
        let issued = issue.issue(&record).map_err(|fault| Halt::Task(GenerationFault::Task(fault)))?;
        counted.clear();
        expected.needs(task.site, task.vars, counted);
        if counted.is_empty() {
            return Ok(self.out.task(&runtime_task(&record, task.pool, &issued))?);
        }
        needs.clear();
        needs.extend(counted.iter().map(need));
        let mapped = |region: &Region| matches!(expected.tracking(region.tensor), Tracking::Mapped(_));
        let of =
            |regions: &[Region]| regions.iter().copied().filter(mapped).collect::<SmallVec<[Region; 4]>>();
        let (reads, writes) = (of(issued.reads), of(issued.writes));
        let issued = Issued { reads: &reads, writes: &writes, needs, ..issued };
        Ok(self.out.task(&runtime_task(&record, task.pool, &issued))?)
    }

    fn ordered(&mut self, event: Ordered, ordinal: u64) -> Result<(), Halt> {
        match event {
            Ordered::Begin => self.out.ordered_begin(ordinal),
            Ordered::Step => self.out.ordered_step(ordinal)?,
            Ordered::End => self.out.ordered_end(ordinal)?,
        }
        Ok(())
    }

    fn slot(&mut self, slot: SlotId, ordinal: u64) -> Option<i64> {
        // A slot that is not there ends the run; until then it has no value.
        self.out.slot(slot, ordinal).unwrap_or(None)
    }

    fn plan(&mut self, _: u16, _: u64) -> Result<Option<u64>, Halt> {
        Ok(None)
    }
}

/// A record as a task of the runtime.
pub(super) fn runtime_task<'t>(
    record: &TaskRecord<'t>,
    pool: ExecPool,
    issued: &Issued<'t>,
) -> AicpuTask<'t> {
    AicpuTask {
        ordinal: record.ordinal,
        kernel: issued.kernel,
        pool,
        stream: record.place.stream.map(StreamId),
        priority: record.place.priority,
        reads: issued.reads,
        writes: issued.writes,
        after: record.after,
        payload: issued.payload,
        needs: issued.needs,
    }
}

/// What the runtime counts for an access.
fn need(need: &expected::Need) -> Need {
    let access = if need.mode == AccessMode::In { AccessKind::Read } else { AccessKind::Write };
    Need { counter: need.tile, access, reached: need.reached() }
}
