//! What runs on AICPUs have in common, made before the first of them.

use super::settings::settings;
use crate::workload::inputs::WorkloadOptions;
use crate::workload::settings::not_started;
use wsp_backend::Expand;
use wsp_core::ptow::DispatchConfig;
use wsp_diag::Diagnostic;
use wsp_ir::workload::WorkloadModule;
use wsp_plan::expected::Expected;
use wsp_plan::ptow::{DispatchPlan, LaunchData, Lowered, dispatch_configs, lower};
use wsp_plan::workload::{Bindings, LoweredSchedule};
use wsp_runtime::aicpu::{AicpuConfig, Aicpus};

/// AICPUs that wait for runs, and what they run.
pub(crate) struct ReadyAicpus {
    pub(super) aicpus: Aicpus,
    pub(super) source: Source,
}

/// Where AICPUs have their tasks from.
pub(super) enum Source {
    /// A list of the host, which each run makes.
    List,
    /// The workload's program.
    Program(Box<AicpuProgram>),
}

/// The workload's program with what follows from it for one set of values.
pub(super) struct AicpuProgram {
    pub(super) lowered: Lowered,
    /// One of each AICPU.
    pub(super) configs: Vec<DispatchConfig>,
    /// How many accesses of each tile come before a task's.
    pub(super) expected: Expected,
    /// Where the ranges of a static partition end.
    pub(super) partition: Option<u64>,
}

impl ReadyAicpus {
    /// Makes the AICPUs of `options`, with their threads; tasks have the numbers of these kernels.
    ///
    /// # Errors
    /// Options that are out of range or contradict the schedule; no program can be made of the workload; too few threads.
    pub(crate) fn new(
        module: &WorkloadModule,
        schedule: &LoweredSchedule,
        bindings: &Bindings,
        options: &WorkloadOptions,
        kernels: &[&str],
    ) -> Result<ReadyAicpus, Vec<Diagnostic>> {
        let config = settings(schedule, options)?;
        let (source, counters) = match options.expand {
            Expand::Usual | Expand::Bytecode => {
                let program = AicpuProgram::new(module, schedule, bindings, options.aicpus)?;
                let tiles = program.expected.tiles();
                (Source::Program(Box::new(program)), tiles)
            }
            // Those of packages are refused before.
            Expand::Host | Expand::Loops | Expand::Table => (Source::List, 0),
        };
        let config = AicpuConfig { counters, ..config.of_kernels(kernels.iter().copied()) };
        let aicpus =
            Aicpus::new(&config, options.aicpus.into()).map_err(|fault| vec![not_started(&fault)])?;
        Ok(ReadyAicpus { aicpus, source })
    }

    /// Threads that run tasks.
    pub(crate) fn threads(&self) -> u32 {
        self.aicpus.config().threads
    }

    /// Builds what the next run begins with.
    pub(crate) fn arm(&mut self) {
        self.aicpus.arm();
    }
}

impl AicpuProgram {
    fn new(
        module: &WorkloadModule,
        schedule: &LoweredSchedule,
        bindings: &Bindings,
        aicpus: u16,
    ) -> Result<AicpuProgram, Vec<Diagnostic>> {
        let lowered = lower(module, schedule)?;
        let configs = dispatch_configs(&lowered, aicpus)?;
        let data = LaunchData::new(&lowered, module, bindings);
        let expected = Expected::analyse(&lowered.program.verified(), &data.as_launch());
        let partition = match &lowered.dispatch {
            DispatchPlan::StaticPartition(ranges) => Some(ranges.last().map_or(0, |last| last.1.into())),
            DispatchPlan::RoundRobin | DispatchPlan::Affinity { .. } => None,
        };
        Ok(AicpuProgram { lowered, configs, expected, partition })
    }
}
