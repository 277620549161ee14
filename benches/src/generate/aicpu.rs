//! AICPUs that generate a program's tasks, with kernels that do nothing.

use super::nest::Nest;
use smallvec::SmallVec;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
use wsp_core::ptow::interp::{self, AccessMode, Host, Interpreter, Mode, Ordered, Task, workspace_words};
use wsp_core::ptow::prefix::Prefixes;
use wsp_core::{KernelId, Region, SlotId, TaskId};
use wsp_plan::ptow::LaunchData;
use wsp_runtime::aicpu::{
    AfterEdges, AicpuConfig, AicpuTask, Aicpus, Emit, Generator, NoSlots, Progress, Refused,
};
use wsp_runtime::{Failure, TaskRunner, clock};

/// Loop steps of an interpreter at a time.
const STEPS: u32 = 4096;

/// Kernels that do nothing; the first task is noted, and may end the run.
struct Nothing {
    launched: Instant,
    /// Nanoseconds from the launch to the first task; `u64::MAX` before.
    first: AtomicU64,
    /// Becomes true when the first task has started.
    stop: Option<Arc<AtomicBool>>,
}

impl TaskRunner for Nothing {
    type Failure = Infallible;

    fn run(&self, _: usize, _: TaskId, _: KernelId, _: &[u32]) -> Result<(), Infallible> {
        if self.first.load(Ordering::Relaxed) == u64::MAX {
            self.first.fetch_min(clock::nanos_since(self.launched), Ordering::Relaxed);
            if let Some(stop) = &self.stop {
                stop.store(true, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}

/// How much of a program is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Until {
    /// The first task has started.
    FirstTask,
    /// The end.
    End,
}

/// Nanoseconds from the launch to the first task. A launch begins with a verified program and with AICPUs that wait; everything else counts.
pub(super) fn run(nest: &Nest, aicpus: u16, threads: u32, until: Until) -> Result<u64, String> {
    let program = nest.lowered.program.verified();
    let configs = (0..aicpus).map(|id| nest.config(aicpus, id)).collect::<Result<Vec<_>, _>>()?;
    let stop = (until == Until::FirstTask).then(|| Arc::new(AtomicBool::new(false)));
    let config =
        AicpuConfig { threads, after: AfterEdges::Absent, cancel: stop.clone(), ..AicpuConfig::default() };
    let mut waiting = Aicpus::new(&config, aicpus.into()).map_err(|fault| fault.to_string())?;
    let runner = Nothing { launched: clock::now(), first: AtomicU64::new(u64::MAX), stop };
    let data = LaunchData::new(&nest.lowered, &nest.module, &nest.bindings);
    let mut memory = vec![vec![0; workspace_words(&program)]; configs.len()];
    let generators = configs.iter().zip(&mut memory).map(|(config, memory)| {
        let made = Interpreter::new(program, data.as_launch(), config, Prefixes::none(), memory, Mode::Skip);
        made.map(|interpreter| Bytecode { interpreter }).map_err(|refusal| refusal.to_string())
    });
    let generators = generators.collect::<Result<Vec<_>, _>>()?;
    match waiting.run(generators, &runner, &NoSlots) {
        Ok(_) | Err(Failure::Cancelled) => Ok(runner.first.into_inner()),
        Err(failure) => Err(format!("{failure:?}")),
    }
}

/// The tasks of one AICPU.
struct Bytecode<'a> {
    interpreter: Interpreter<'a>,
}

impl Generator for Bytecode<'_> {
    type Fault = interp::Fault;

    fn generate(&mut self, free: u32, out: &mut dyn Emit) -> Progress<interp::Fault> {
        match self.interpreter.run(&mut Handing(out), free, STEPS) {
            Ok(interp::Progress::Yielded) | Err(_) => Progress::More,
            Ok(interp::Progress::Waits(slot)) => Progress::Waits(slot),
            Ok(interp::Progress::Finished) => Progress::Finished,
            Ok(interp::Progress::Fault(fault)) => Progress::Fault(fault),
        }
    }

    fn watermark(&self) -> u64 {
        self.interpreter.watermark()
    }
}

/// Hands tasks to the runtime.
struct Handing<'h>(&'h mut dyn Emit);

impl Host for Handing<'_> {
    type Stop = Refused;

    fn task(&mut self, task: &Task<'_>) -> Result<(), Refused> {
        let of = |skipped: AccessMode| -> SmallVec<[Region; 4]> {
            let regions = task.regions.iter().zip(task.modes).filter(|(_, mode)| **mode != skipped);
            regions.map(|(region, _)| *region).collect()
        };
        let (reads, writes) = (of(AccessMode::Out), of(AccessMode::In));
        self.0.task(&AicpuTask {
            ordinal: task.ordinal,
            kernel: task.kernel,
            pool: task.pool,
            reads: &reads,
            writes: &writes,
            ..AicpuTask::default()
        })
    }

    fn ordered(&mut self, event: Ordered, ordinal: u64) -> Result<(), Refused> {
        match event {
            Ordered::Begin => self.0.ordered_begin(ordinal),
            Ordered::Step => self.0.ordered_step(ordinal)?,
            Ordered::End => self.0.ordered_end(ordinal)?,
        }
        Ok(())
    }

    fn slot(&mut self, _: SlotId, _: u64) -> Option<i64> {
        None
    }

    fn plan(&mut self, _: u16, _: u64) -> Result<Option<u64>, Refused> {
        Ok(None)
    }
}
