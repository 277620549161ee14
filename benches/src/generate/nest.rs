//! Programs that are measured, from source to the tasks of one AICPU.

use super::super::runtime::measure::Moment;
use super::hosts::Sum;
use wsp_core::ptow::DispatchConfig;
use wsp_core::ptow::interp::{Interpreter, Mode, Progress, workspace_words};
use wsp_core::ptow::prefix::Prefixes;
use wsp_diag::{Diagnostic, SourceMap};
use wsp_ir::workload::WorkloadModule;
use wsp_ir::workload::text::parse;
use wsp_ordered::OrderedMap;
use wsp_plan::ParamValue;
use wsp_plan::ptow::{self, LaunchData, Lowered, dispatch_configs, lower, prefix_sums};
use wsp_plan::target::CPU_SIM;
use wsp_plan::workload::{Bindings, LoweredSchedule, bind, expand, lower_schedule};

/// Steps of an interpreter at a time: as many as it takes, as nothing else is to be done.
const STEPS: u32 = u32::MAX;

/// A program and what launches it.
pub(super) struct Nest {
    pub(super) module: WorkloadModule,
    pub(super) schedule: LoweredSchedule,
    pub(super) bindings: Bindings,
    pub(super) lowered: Lowered,
}

/// What the tasks of one AICPU came to, and how long they took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Took {
    pub(super) sum: Sum,
    pub(super) ns: f64,
}

impl Nest {
    /// A program from its source and values of its parameters.
    pub(super) fn new(source: &str, set: &[(&str, u64)]) -> Result<Nest, String> {
        Nest::with_tables(source, set, &OrderedMap::new())
    }

    /// A program from its source, values of its parameters and tables.
    pub(super) fn with_tables(
        source: &str,
        set: &[(&str, u64)],
        tables: &OrderedMap<String, Vec<i64>>,
    ) -> Result<Nest, String> {
        let (module, found) = parse("nest.wsp", source, &mut SourceMap::default());
        let Some(module) = module else { return Err(first(found)) };
        let set: Vec<(String, ParamValue)> =
            set.iter().map(|(name, n)| ((*name).to_owned(), ParamValue::Int((*n).into()))).collect();
        let schedule = lower_schedule(&module, None, CPU_SIM).map_err(first)?;
        let bindings = bind(&module, &set, tables).map_err(first)?;
        let lowered = lower(&module, &schedule).map_err(first)?;
        Ok(Nest { module, schedule, bindings, lowered })
    }

    /// What AICPU `id` of `n` is told.
    pub(super) fn config(&self, n: u16, id: u16) -> Result<DispatchConfig, String> {
        let configs = dispatch_configs(&self.lowered, n).map_err(first)?;
        configs.get(usize::from(id)).copied().ok_or_else(|| format!("there is no AICPU {id} of {n}"))
    }

    /// Generates the tasks of one AICPU, without sums over ragged loops.
    pub(super) fn generate(&self, config: &DispatchConfig, mode: Mode) -> Result<Took, String> {
        self.generate_with(config, mode, Prefixes::none())
    }

    /// Generates the tasks of one AICPU with the sums of [`Nest::sums`].
    pub(super) fn generate_with(
        &self,
        config: &DispatchConfig,
        mode: Mode,
        sums: Prefixes<'_>,
    ) -> Result<Took, String> {
        let program = self.lowered.program.verified();
        let mut workspace = vec![0; workspace_words(&program)];
        let data = LaunchData::new(&self.lowered, &self.module, &self.bindings);
        let start = Moment::now();
        let interpreter = Interpreter::new(program, data.as_launch(), config, sums, &mut workspace, mode);
        let mut interpreter = interpreter.map_err(|refusal| refusal.to_string())?;
        let mut sum = Sum::default();
        loop {
            match interpreter.run(&mut sum, u32::MAX, STEPS) {
                Ok(Progress::Yielded) => {}
                Ok(Progress::Finished) => break,
                Ok(Progress::Waits(slot)) => return Err(format!("waits for slot {}", slot.0)),
                Ok(Progress::Fault(fault)) => return Err(format!("{fault:?}")),
                Err(never) => match never {},
            }
        }
        Ok(Took { sum, ns: start.to(Moment::now()).cpu })
    }

    /// Sums over ragged loops, made once per launch for all AICPUs, and the nanoseconds that they took.
    pub(super) fn sums<'m>(&self, memory: &'m mut Vec<u64>) -> (Prefixes<'m>, f64) {
        let data = LaunchData::new(&self.lowered, &self.module, &self.bindings);
        let start = Moment::now();
        let sums = prefix_sums(&self.lowered.program.verified(), &data.as_launch(), memory);
        (sums, start.to(Moment::now()).cpu)
    }

    /// Generates all tasks on the host, from the program.
    pub(super) fn expand_program(&self) -> Result<Took, String> {
        let start = Moment::now();
        let mut sum = Sum::default();
        ptow::expand(&self.module, &self.bindings, &self.schedule, &mut sum)
            .map_err(|_| "expansion failed".to_owned())?;
        Ok(Took { sum, ns: start.to(Moment::now()).cpu })
    }

    /// Generates all tasks on the host, by a walk over the tree.
    pub(super) fn expand(&self) -> Result<Took, String> {
        let start = Moment::now();
        let mut sum = Sum::default();
        expand(&self.module, &self.bindings, &self.schedule, &mut sum)
            .map_err(|_| "expansion failed".to_owned())?;
        Ok(Took { sum, ns: start.to(Moment::now()).cpu })
    }
}

fn first(faults: Vec<Diagnostic>) -> String {
    faults.into_iter().next().map(|fault| fault.message).unwrap_or_default()
}
