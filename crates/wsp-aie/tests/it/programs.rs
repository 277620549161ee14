//! Programs, what they are given, and their designs.

use std::sync::Arc;
use wsp_aie::{AieBackend, Simulation};
use wsp_backend::{Args, Backend as _, EmitOptions, Lengths, Outcome, Program, RunError, RunOptions};
use wsp_cpu::CpuSimBackend;
use wsp_diag::{Diagnostics, SourceMap};
use wsp_memory::Array;
use wsp_plan::target::Target;
use wsp_plan::workload::WorkloadPlan;
use wsp_plan::{CompileOptions, ParamValue, PlanSource};

/// The simulation.
pub(crate) struct Simulated;

impl Simulation for Simulated {
    fn compile(&self, plan: &PlanSource) -> Result<Box<dyn Program>, Diagnostics> {
        CpuSimBackend::default().compile(plan)
    }
}

pub(crate) fn backend() -> AieBackend {
    AieBackend { simulation: Arc::new(Simulated), steps: 300 }
}

/// A workload over the kernels of a file, for a target.
pub(crate) fn plan(workload: &str, kernels: &str, target: &str) -> PlanSource {
    let mut sources = SourceMap::default();
    let (module, found) = wsp_ir::workload::text::parse("test.wsp", workload, &mut sources);
    let module = module.unwrap_or_else(|| panic!("{found:?}"));
    let (library, found) = wsp_lang::compile("test.pto", kernels, &mut sources);
    let library = library.unwrap_or_else(|| panic!("{found:?}"));
    let target = Target::named(target).expect("it is in the table");
    let options = CompileOptions { target, ..CompileOptions::default() };
    WorkloadPlan::new(module, Some(&library), &options).unwrap_or_else(|found| panic!("{found}")).into()
}

/// An array of numbers that follow from its name's place.
pub(crate) fn array(shape: &[u64], seed: u32) -> Array {
    let count = shape.iter().product::<u64>() as u32;
    let elements: Vec<f32> =
        (0..count).map(|i| ((i * 7919 + seed * 104_729) % 2003) as f32 / 1001.5 - 1.0).collect();
    Array::of(shape, &elements).expect("it is small")
}

pub(crate) fn args(arrays: &[(&str, &Array)], values: &[(&str, i64)]) -> Args {
    let mut args = Args::new();
    for (name, array) in arrays {
        args = args.with(*name, (*array).clone());
    }
    for (name, value) in values {
        args.values.push(((*name).to_owned(), ParamValue::Int((*value).into())));
    }
    args
}

pub(crate) fn run(plan: &PlanSource, args: Args) -> Result<Outcome, RunError> {
    run_with(plan, args, RunOptions::default())
}

pub(crate) fn run_with(plan: &PlanSource, args: Args, options: RunOptions) -> Result<Outcome, RunError> {
    backend().compile(plan).map_err(RunError::Refused)?.execute(args, options)
}

/// The numbers of an array.
pub(crate) fn numbers(array: &Array) -> Vec<f64> {
    array.as_slice::<f32>().expect("it has floats").iter().map(|x| f64::from(*x)).collect()
}

/// The text of the design of a launch.
pub(crate) fn text(plan: &PlanSource, args: Args) -> String {
    written(plan, args, None).unwrap_or_else(|found| panic!("{found}"))
}

/// The text of the design of a launch, or of launches of these lengths.
pub(crate) fn written(
    plan: &PlanSource,
    launch: Args,
    lengths: Option<(&str, Lengths)>,
) -> Result<String, Diagnostics> {
    let lengths = lengths.map(|(name, lengths)| (name.to_owned(), lengths));
    let emitted = backend().emit(plan, &EmitOptions { launch, lengths, ..EmitOptions::default() })?;
    Ok(String::from_utf8(emitted.package.files[0].1.clone()).expect("it is text"))
}
