//! What `cpu_sim` alone is given and tells. Beside this file, only bodies of kernels are written for a backend.
//!
//! Functions for kernels, tile operations and kept machine code are its options. What it tells beside what every backend does comes as a value of
//! its own type, and here becomes part of what Python is given. The value of another backend changes nothing in it.

use crate::outcome::Ran;
use pto_wsp::backend::cpu::{CpuSimBackend, Report, RunStats, WorkloadOutcome};
use pto_wsp::registry_with;
use pto_wsp::task_graph::TgKernels;
use pto_wsp::workload::KernelRegistry;
use std::any::Any;
use wsp_backend::Registry;
use wsp_kernel::{CodeCache, Mode};
use wsp_runtime::tg::Stats;

// Plans that are kept and advanced by the caller are those of `cpu_sim`.
pub(crate) use pto_wsp::backend::cpu::{
    Capacity, LaunchOptions, Metadata, Outcome as LaunchOutcome, Plan, PlanNeed, Program as PlanProgram,
};

/// The backends, `cpu_sim` with these functions for kernels of workloads, tile operations and machine code.
pub(crate) fn registry(kernels: KernelRegistry, mode: Mode, code: Option<CodeCache>) -> Registry {
    registry_with(CpuSimBackend { kernels, mode, code, ..CpuSimBackend::default() })
}

/// The backends, `cpu_sim` with these kernels of task graphs.
pub(crate) fn registry_of_units(unit_kernels: TgKernels) -> Registry {
    registry_with(CpuSimBackend { unit_kernels, ..CpuSimBackend::default() })
}

/// A run with what the backend tells beside.
pub(crate) fn ran(own: Box<dyn Any + Send>, common: Ran) -> Ran {
    match own.downcast::<WorkloadOutcome>() {
        Ok(own) => Ran {
            threads: own.threads,
            params: own.params,
            schedule: own.schedule.iter().map(ToString::to_string).collect(),
            runtime: own.runtime,
            ..common
        },
        Err(own) => match own.downcast::<RunStats>() {
            Ok(own) => Ran { runtime: own.runtime, ..common },
            Err(_) => common,
        },
    }
}

/// Counts of a run of a task graph; none of another backend.
pub(crate) fn counts_of_unit(own: &(dyn Any + Send)) -> Option<Stats> {
    own.downcast_ref::<Report>().map(|report| report.stats)
}
