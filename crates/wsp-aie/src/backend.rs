//! AIE arrays behind the seam of backends: programs become designs, which are written as files and run without hardware.

mod kernels;
mod package;
mod picture;
mod run;
mod text;

use crate::codes;
use crate::device::{Device, XDNA1, XDNA2};
use crate::lower::{Launch, Listed, Lowered, by_process, kernels_of, lower};
use std::sync::Arc;
use wsp_backend::{
    Args, ArrayForm, Backend, CheckedKernels, Detail, EmitOptions, Emitted, GraphOptions, KernelsSource,
    Program, RunError, RunOptions,
};
use wsp_core::ParamId;
use wsp_diag::{Diagnostic, Diagnostics, Severity};
use wsp_ir::{Capability, Module, ParamSource, Support};
use wsp_memory::Array;
use wsp_plan::target::TARGETS;
use wsp_plan::workload::ScheduleLine;
use wsp_plan::{Arrays, ParamValue, PlanSource, Target, on_arrays};

/// The targets.
static ARRAYS: [&Target; 2] = [&TARGETS[5], &TARGETS[6]];

/// Runs programs on this machine: it lists the tasks of launches, and its sequential runs are what those of arrays are compared with.
pub trait Simulation: Send + Sync {
    /// A plan as a program of the simulation.
    ///
    /// # Errors
    /// As [`Backend::compile`].
    fn compile(&self, plan: &PlanSource) -> Result<Box<dyn Program>, Diagnostics>;
}

/// Designs for AIE arrays, and runs of them.
#[derive(Clone)]
pub struct AieBackend {
    /// Lists the tasks of launches, and runs sequentially.
    pub simulation: Arc<dyn Simulation>,
    /// How long places are looked for, in steps for each part of a design ([`place::STEPS`](crate::place::STEPS)).
    pub steps: u32,
}

impl Backend for AieBackend {
    fn name(&self) -> &'static str {
        "aie"
    }

    fn targets(&self) -> &'static [&'static Target] {
        &ARRAYS
    }

    fn supports(&self, plan: &PlanSource) -> Vec<Diagnostic> {
        let lines = heeded(plan).into_iter().filter(Diagnostic::is_error);
        kernels_of(plan).err().into_iter().chain(lines).collect()
    }

    fn compile(&self, plan: &PlanSource) -> Result<Box<dyn Program>, Diagnostics> {
        kernels_of(plan)?;
        Ok(Box::new(self.compiled(plan, plan.target())))
    }

    fn emits(&self) -> &'static [&'static Target] {
        &ARRAYS
    }

    fn check_kernels(&self, source: &KernelsSource) -> CheckedKernels {
        kernels::check(source)
    }

    fn emits_one_launch(&self) -> bool {
        true
    }

    fn emit(&self, plan: &PlanSource, options: &EmitOptions) -> Result<Emitted, Diagnostics> {
        let target = options.target.unwrap_or(plan.target());
        let compiled = self.compiled(plan, target);
        let module = &kernels_of(plan)?.module;
        let mut launches = Vec::new();
        for (name, mut args) in launches_of(module, options)? {
            let forms = run::forms(&args.arrays);
            args.arrays.extend(compiled.missing(&forms, &args.values)?);
            // Extents follow from the arrays now.
            args.values.retain(|(name, _)| !is_extent(module, name));
            launches.push(compiled.launch(name, &args)?);
        }
        let mut emitted = package::emit(&compiled.design(&launches)?, target)?;
        emitted.notes.splice(0..0, heeded(plan));
        Ok(emitted)
    }
}

impl AieBackend {
    fn compiled(&self, plan: &PlanSource, target: &'static Target) -> Compiled {
        let by_process = match plan {
            PlanSource::Workload(plan) => by_process(plan).into(),
            other => other.clone(),
        };
        Compiled { source: plan.clone(), by_process, target, of: self.clone() }
    }
}

/// The launches that a design is for, with what tells each from the others.
fn launches_of(module: &Module, options: &EmitOptions) -> Result<Vec<(String, Args)>, Diagnostic> {
    let Some((name, lengths)) = &options.lengths else {
        return Ok(vec![(String::new(), options.launch.clone())]);
    };
    if is_extent(module, name) && !options.launch.arrays.is_empty() {
        let message = format!("`{name}` is an extent of arrays that are given");
        return Err(Diagnostic::error(codes::LOWERING, message)
            .help("give no arrays, and extents that are the same in all launches as parameters"));
    }
    let launch = |length: &i64| {
        let mut args = options.launch.clone();
        args.values.retain(|(known, _)| known != name);
        args.values.push((name.clone(), ParamValue::Int((*length).into())));
        (format!("{name}={length}"), args)
    };
    Ok(lengths.iter().map(launch).collect())
}

/// What an array does with the schedule of a workload in another way than the schedule says, and what it does not take.
fn heeded(plan: &PlanSource) -> Vec<Diagnostic> {
    let PlanSource::Workload(plan) = plan else {
        let PlanSource::Spaces(plan) = plan else { return Vec::new() };
        let named = plan.stages.iter().filter_map(|stage| stage.schedule.name.as_ref());
        let note = |name: &String| {
            let message = format!("of schedule `{name}` an array has the tasks and the grid only");
            Diagnostic::new(codes::LOWERING, Severity::Note, message).note(on_arrays(NO_EFFECT).meaning)
        };
        return named.map(note).collect();
    };
    let line = |line: &ScheduleLine| {
        let Capability { primitive, support, meaning } =
            on_arrays(Capability { primitive: line.primitive, support: line.support, meaning: line.meaning });
        let severity = match support {
            Support::Error => Severity::Error,
            Support::NoOp => Severity::Note,
            _ => return None,
        };
        let what =
            if severity == Severity::Error { "is not for arrays" } else { "has no effect on an array" };
        let found = Diagnostic::new(codes::LOWERING, severity, format!("`{primitive}` {what}"));
        Some(found.at(line.span, meaning))
    };
    plan.schedule.lines.iter().filter_map(line).collect()
}

/// A primitive that no table has.
const NO_EFFECT: Capability = Capability { primitive: "", support: Support::NoOp, meaning: "" };

/// A plan that is a design once its arrays are known.
#[derive(Clone)]
pub(crate) struct Compiled {
    source: PlanSource,
    /// It, with kernels by process.
    by_process: PlanSource,
    target: &'static Target,
    of: AieBackend,
}

/// Whether a name is that of an extent of arrays.
fn is_extent(module: &Module, name: &str) -> bool {
    (0..module.params.len()).any(|at| {
        let is_this = module.user_names(ParamId(at as u32)).any(|known| known == name);
        is_this && matches!(module.params[at].source, ParamSource::Shape { .. })
    })
}

/// The array of a target.
fn device(target: &Target) -> Device {
    if target.name == ARRAYS[0].name { XDNA1 } else { XDNA2 }
}

impl Compiled {
    /// A launch as a design.
    fn lowered(&self, args: &Args) -> Result<Lowered, Diagnostics> {
        self.design(&[self.launch(String::new(), args)?])
    }

    /// Launches as one design.
    fn design(&self, launches: &[Launch]) -> Result<Lowered, Diagnostics> {
        lower(&self.by_process, launches, (device(self.target), self.of.steps))
    }

    /// A launch, whose tasks are listed.
    fn launch(&self, name: String, args: &Args) -> Result<Launch, Diagnostics> {
        let simulated = self.of.simulation.compile(&self.by_process)?;
        let options = GraphOptions {
            detail: Detail { accesses: true, ..Detail::default() },
            ..GraphOptions::default()
        };
        let graph = simulated.graph(args, &options).map_err(RunError::into_diagnostics)?;
        let table = simulated.table(args, &RunOptions::default()).map_err(RunError::into_diagnostics)?;
        let listed = Listed { graph, table };
        Ok(Launch { name, listed, arrays: run::forms(&args.arrays), values: args.values.clone() })
    }

    /// Arrays of zeros that a launch takes and that are not given, where the parameters tell their extents.
    fn missing(&self, given: &[ArrayForm], values: &[(String, ParamValue)]) -> Result<Arrays, Diagnostics> {
        let plan = kernels_of(&self.source)?;
        let mut made = Arrays::new();
        for form in crate::lower::forms(plan, given, values)? {
            let array = Array::on_pages(form.elem, &form.shape).map_err(|fault| {
                Diagnostic::error(codes::LOWERING, format!("there is no memory for `{}`", form.name))
                    .note(fault.to_string())
            })?;
            made.insert(form.name, array);
        }
        Ok(made)
    }
}
