//! Workloads as bytecode for AICPUs.

use crate::codes::WRONG_KIND;
use crate::{Error, Source};
use wsp_core::ptow::{DispatchConfig, Header as BytecodeHeader};
use wsp_diag::{Diagnostic, SourceMap};
use wsp_plan::PlanSource;
use wsp_plan::ptow::{Lowered, ProgramBuf, dispatch_configs, lower};
use wsp_plan::workload::WorkloadPlan;

/// A workload and its schedule as what AICPUs generate their tasks from: the program, which is the same for all and has the
/// size of the source whatever a launch binds, and a configuration for each.
///
/// The class of this name in `pto/wsp/backend/npu/on_device_gen.hpp` makes the same bytes on a device, of a program without a
/// schedule.
///
/// ```
/// use pto_wsp::{OnDeviceGenerator, Source};
///
/// let text = "
///     param batch = 4; param heads = 8;
///     axis b = dense(batch); axis h = dense(heads);
///     tensor o: f32[batch, heads];
///     kernel attention(out o);
///     workload main { parallel for i in b, j in h { attention(o[i, j]); } }
///     schedule { dispatch(affinity(b)); }
/// ";
/// let generator = OnDeviceGenerator::new(Source::text("attention.wsp", text))?;
/// let bytecode = generator.compile();
/// let configs = generator.compile_dispatch(2)?;
/// assert!(bytecode.as_bytes().len() < 512);
/// assert_eq!((configs[1].my_aicpu_id, configs[1].num_aicpus, configs[1].policy_type), (1, 2, 1));
/// # Ok::<(), pto_wsp::Error>(())
/// ```
#[derive(Debug)]
pub struct OnDeviceGenerator {
    lowered: Lowered,
    sources: SourceMap,
}

impl OnDeviceGenerator {
    /// Of a workload under its schedule, or that of [`Source::schedule`].
    ///
    /// # Errors
    /// As [`Source::compile`]; a source of another kind; more than a program has room for, and schedules that it cannot say.
    pub fn new(mut source: Source) -> Result<OnDeviceGenerator, Error> {
        let (plan, _, sources) = source.planned()?;
        let PlanSource::Workload(plan) = plan else {
            let message = format!("a {} is not generated on AICPUs from bytecode", plan.kind());
            return Err(Diagnostic::error(WRONG_KIND, message).help("give a workload").into());
        };
        OnDeviceGenerator::of_plan(&plan, &sources)
    }

    /// Of a workload that was compiled.
    ///
    /// # Errors
    /// More than a program has room for, and schedules that it cannot say.
    pub fn of_plan(plan: &WorkloadPlan, sources: &SourceMap) -> Result<OnDeviceGenerator, Error> {
        let lowered = lower(&plan.module, &plan.schedule);
        let lowered = lowered.map_err(|found| Error::in_sources(found, sources))?;
        Ok(OnDeviceGenerator { lowered, sources: sources.clone() })
    }

    /// The program.
    pub fn compile(&self) -> WorkloadBytecode {
        WorkloadBytecode(self.lowered.program.clone())
    }

    /// What each of so many AICPUs gets beside the program, in the order of their ids.
    ///
    /// # Errors
    /// No AICPU, more than there can be, fewer than the schedule has ranges for.
    pub fn compile_dispatch(&self, num_aicpus: u16) -> Result<Vec<DispatchConfig>, Error> {
        dispatch_configs(&self.lowered, num_aicpus).map_err(|found| Error::in_sources(found, &self.sources))
    }

    /// What the program does in another way than the schedule says.
    pub fn notes(&self) -> &[Diagnostic] {
        &self.lowered.notes
    }
}

/// A program that AICPUs generate tasks from: bytes, as `.ptow` files have them, which keep every rule of such programs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkloadBytecode(ProgramBuf);

impl WorkloadBytecode {
    /// The program that these bytes are.
    ///
    /// # Errors
    /// They are none, or it breaks a rule.
    pub fn from_bytes(bytes: &[u8]) -> Result<WorkloadBytecode, Error> {
        let program = ProgramBuf::from_bytes(bytes).map_err(|fault| fault.diagnostic("what is given"))?;
        Ok(WorkloadBytecode(program))
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// What it begins with: how many words, axes, kernels and tensors it has.
    pub fn header(&self) -> BytecodeHeader {
        *self.0.verified().program().header
    }
}
