//! What tests of workloads share.
#![allow(dead_code, reason = "each test uses a part")]

pub(crate) mod order;
#[allow(dead_code, reason = "not every test makes workloads up")]
pub(crate) mod random;
#[allow(dead_code, reason = "not every test has kernels over views")]
pub(crate) mod views;

use wsp_backend::{Detail, GraphListing};
use wsp_cpu::workload::{WorkloadInputs, WorkloadOptions, WorkloadProgram};
use wsp_diag::{Diagnostic, SourceMap, render_all};
use wsp_ir::workload::{Deps, text::parse};
use wsp_kernel::{Engine, Mode};
use wsp_plan::CompileOptions;
use wsp_plan::workload::WorkloadPlan;

/// Several workers.
pub(crate) const WIDE: WorkloadOptions = WorkloadOptions {
    threads: 3,
    window: None,
    seed: 0,
    replay: None,
    trace: false,
    recording: wsp_backend::Recording::Off,
    sequential: false,
    plain: false,
    aicpus: 0,
    expand: wsp_backend::Expand::Bytecode,
    whole_outs: false,
    claim: None,
    cancel: None,
    progress: None,
    poll: None,
    payload: None,
};

/// What was found, as text.
pub(crate) fn report(found: &[Diagnostic]) -> String {
    render_all(found, &SourceMap::default(), false)
}

/// A program of declared kernels; warnings are let through.
pub(crate) fn program(text: &str) -> WorkloadProgram {
    WorkloadProgram::of(plan(text), Mode::default(), Engine::default(), None)
}

/// The plan of a text.
pub(crate) fn plan(text: &str) -> WorkloadPlan {
    let mut sources = SourceMap::default();
    let (module, found) = parse("test.wsp", text, &mut sources);
    let module = module.unwrap_or_else(|| panic!("{}", render_all(&found, &sources, false)));
    WorkloadPlan::new(module, None, &CompileOptions::default())
        .unwrap_or_else(|found| panic!("{}", render_all(&found, &sources, false)))
}

/// The graph of a program.
pub(crate) fn graph(text: &str, deps: Option<Deps>) -> GraphListing {
    program(text)
        .graph(&WorkloadInputs::all_made_up(0), deps, Detail::default(), &WorkloadOptions::default())
        .unwrap_or_else(|found| panic!("{}", report(&found)))
}

/// Bytes of what a program writes, by name.
pub(crate) fn outputs(text: &str, options: &WorkloadOptions) -> Vec<(String, Vec<u8>)> {
    let outcome = program(text)
        .execute(&WorkloadInputs::all_made_up(0), options)
        .unwrap_or_else(|found| panic!("{}", report(&found)));
    outcome.outputs.iter().map(|(name, array)| (name.clone(), array.bytes().to_vec())).collect()
}

/// What a failing run says.
pub(crate) fn run_error(text: &str, options: &WorkloadOptions) -> String {
    report(&program(text).execute(&WorkloadInputs::all_made_up(0), options).expect_err("the run should fail"))
}

/// A program of kernels of a used file; warnings are let through.
pub(crate) fn library_program(text: &str, library: &str) -> Result<WorkloadProgram, Vec<Diagnostic>> {
    library_plan(text, library)
        .map(|plan| WorkloadProgram::of(plan, Mode::default(), Engine::default(), None))
}

/// The plan of a text over kernels of a used file.
pub(crate) fn library_plan(text: &str, library: &str) -> Result<WorkloadPlan, Vec<Diagnostic>> {
    let mut sources = SourceMap::default();
    let (module, found) = parse("test.wsp", &format!("use \"test.pto\"; {text}"), &mut sources);
    let module = module.unwrap_or_else(|| panic!("{}", render_all(&found, &sources, false)));
    let (library, found) = wsp_lang::compile("test.pto", library, &mut sources);
    let library = library.unwrap_or_else(|| panic!("{}", render_all(&found, &sources, false)));
    Ok(WorkloadPlan::new(module, Some(&library), &CompileOptions::default())?)
}
