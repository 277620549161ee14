//! AIE arrays behind the seam of backends: programs become designs, which are written as files and run without hardware.

mod extents;
mod file;
mod kernels;
mod origin;
mod package;
mod picture;
mod run;
mod text;

pub use file::{DesignArg, DesignFile, DesignRun};

use crate::codes;
use crate::device::{Device, XDNA1, XDNA2};
use crate::lower::{
    COMPARED, Launch, Listed, Lowered, OF_LENGTH, Probe, Range, RangeOf, by_process, kernels_of, lower,
    lower_range,
};
use extents::is_extent;
use std::sync::Arc;
use wsp_backend::codes::OPTION_OF_OTHERS;
use wsp_backend::{
    Args, ArrayForm, Backend, CheckedKernels, CheckedLaunch, Detail, EmitOptions, Emitted, Expansion,
    GraphOptions, KernelsSource, Lengths, PackagePart, Program, RunError, RunOptions,
};
use wsp_core::ParamId;
use wsp_diag::{Diagnostic, Diagnostics, Severity, did_you_mean};
use wsp_ir::workload::{self, WorkloadModule};
use wsp_ir::{Capability, Module, ParamSource, Support};
use wsp_memory::Array;
use wsp_ordered::OrderedMap;
use wsp_plan::target::TARGETS;
use wsp_plan::workload::{ScheduleLine, bind, count};
use wsp_plan::{ParamValue, PlanSource, Target, on_arrays};

/// How often more lengths of a range are looked at.
const PASSES: usize = 6;

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

    fn emit_kernels(&self, source: &KernelsSource) -> Result<Emitted, Diagnostics> {
        Err(of_others("stage", source.target)
            .note("the kernels of an array are the bodies of the cores of a design, which is of one launch")
            .help("emit the design of a launch, as with `wsp emit FILE --target xdna2 --generate rows=64 -o FOLDER`, or look at the kernels with `wsp check FILE --target xdna2`")
            .into())
    }

    fn emits_one_launch(&self) -> bool {
        true
    }

    fn check_launch(&self, plan: &PlanSource, launch: &Args) -> CheckedLaunch {
        let found = |found: Diagnostics| CheckedLaunch { found: found.0, ..CheckedLaunch::default() };
        let refused = self.supports(plan);
        if !refused.is_empty() {
            return found(refused.into());
        }
        let (compiled, mut launch) = (self.compiled(plan, plan.target()), launch.clone());
        if let Err(fault) = compiled.within(&launch.values) {
            return found(fault);
        }
        match compiled.forms(&launch) {
            Ok(forms) => {
                let done = compiled.fill(forms, &mut launch).and_then(|()| run::look(&compiled, &launch));
                done.unwrap_or_else(found)
            }
            Err(unknown) => found(Diagnostics(unknown.0.into_iter().map(not_looked_at).collect())),
        }
    }

    fn copies_arrays(&self) -> bool {
        true
    }

    fn check_values(&self, plan: &PlanSource, values: &[(String, ParamValue)]) -> Result<(), Diagnostics> {
        self.compiled(plan, plan.target()).within(values)?;
        extents::boxes(plan, values)
    }

    fn emit(&self, plan: &PlanSource, options: &EmitOptions) -> Result<Emitted, Diagnostics> {
        let target = options.target.unwrap_or(plan.target());
        refuse(options, target)?;
        let compiled = self.compiled(plan, target);
        let lowered = match &options.lengths {
            Some((name, Lengths::Range(from, to))) => {
                compiled.ranged(&options.launch, &Range { name: name.clone(), from: *from, to: *to })?
            }
            Some((name, Lengths::Each(lengths))) => {
                compiled.design(&compiled.of_lengths(&options.launch, name, lengths)?)?
            }
            None => {
                let mut args = options.launch.clone();
                compiled.has_room(&args.values)?;
                compiled.complete(&mut args)?;
                compiled.lowered(&args)?
            }
        };
        let mut emitted = package::emit(&lowered, target)?;
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

/// What is not known of a launch that was to be looked at, as a note.
fn not_looked_at(mut found: Diagnostic) -> Diagnostic {
    found.severity = Severity::Note;
    found.note(
        "what a launch decides was not looked at: cores, places, ways of streams, and the rules of designs",
    )
}

/// An option that an array has no part of.
fn of_others(name: &str, target: &Target) -> Diagnostic {
    let message = format!("option `{name}` has no meaning on target `{}`", target.name);
    Diagnostic::error(OPTION_OF_OTHERS, message)
}

/// What of the options of files has no part in a design.
fn refuse(options: &EmitOptions, target: &Target) -> Result<(), Diagnostic> {
    if options.part != PackagePart::Whole {
        return Err(of_others("stage", target)
            .note("a design is one file, and its cores, transfers and sequences belong together")
            .help("leave it out: the design and its manifest are written"));
    }
    if options.expansion != Expansion::Loops {
        return Err(of_others("expand", target)
            .note("a design holds the tasks of its launches")
            .help("leave it out"));
    }
    Ok(())
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

/// Whether a parameter of a workload has no value of its own, so that its kernels' file has its default.
fn is_open(module: &WorkloadModule, name: &str) -> bool {
    module
        .params
        .iter()
        .any(|param| param.name == name && matches!(param.source, workload::ParamSource::Set(None)))
}

/// Refuses a name that no parameter and no extent has.
fn known(source: &PlanSource, module: &Module, name: &str) -> Result<(), Diagnostic> {
    let of_workload = match source {
        PlanSource::Workload(plan) => plan.module.params.as_slice(),
        _ => &[],
    };
    let of_kernels = (0..module.params.len()).flat_map(|at| module.user_names(ParamId(at as u32)));
    let mut names: Vec<&str> = of_workload.iter().map(|param| param.name.as_str()).collect();
    for name in of_kernels {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.contains(&name) {
        return Ok(());
    }
    let fault = Diagnostic::error(codes::LOWERING, format!("there is no parameter `{name}`"));
    Err(match did_you_mean(name, names.iter().copied()) {
        Some(near) => fault.help(format!("did you mean `{near}`?")),
        None if names.is_empty() => fault.help("leave out `--lengths`: the program has no parameter"),
        None => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            fault.help(format!("give one of {}", names.join(", ")))
        }
    })
}

/// A launch, whose tasks are listed by a program of the simulation.
fn listed(simulated: &dyn Program, name: String, args: &Args) -> Result<Launch, Diagnostics> {
    let options =
        GraphOptions { detail: Detail { accesses: true, ..Detail::default() }, ..GraphOptions::default() };
    let graph = simulated.graph(args, &options).map_err(RunError::into_diagnostics)?;
    let table = simulated.table(args, &RunOptions::default()).map_err(RunError::into_diagnostics)?;
    let listed = Listed { graph, table };
    Ok(Launch { name, listed, arrays: run::forms(&args.arrays), values: args.values.clone() })
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

    /// Launches in which a parameter or an extent has these values.
    fn of_lengths(&self, launch: &Args, name: &str, lengths: &[i64]) -> Result<Vec<Launch>, Diagnostics> {
        let module = &kernels_of(&self.source)?.module;
        known(&self.source, module, name)?;
        let is_extent = is_extent(module, name);
        if let Some(length) =
            lengths.iter().find(|length| is_extent && !(0..=i64::from(u32::MAX)).contains(*length))
        {
            let message = format!("`{name}` is an extent of arrays, and one of its lengths is {length}");
            return Err(Diagnostic::error(codes::LOWERING, message)
                .help(format!("give lengths from 1 to {}, as with `--lengths {name}=64`", u32::MAX))
                .into());
        }
        if is_extent && !launch.arrays.is_empty() {
            let message = format!("`{name}` is an extent of arrays that are given");
            return Err(Diagnostic::error(codes::LOWERING, message)
                .help("give no arrays, and extents that are the same in all launches as parameters")
                .into());
        }
        let simulated = self.of.simulation.compile(&self.by_process)?;
        lengths.iter().map(|length| self.of_length(&*simulated, launch, (name, *length))).collect()
    }

    /// A launch in which a parameter or an extent has this value.
    fn of_length(
        &self,
        simulated: &dyn Program,
        launch: &Args,
        (name, length): (&str, i64),
    ) -> Result<Launch, Diagnostics> {
        let mut args = launch.clone();
        args.values.retain(|(known, _)| known != name);
        args.values.push((name.to_owned(), ParamValue::Int(length.into())));
        self.has_room(&args.values)?;
        self.complete(&mut args)?;
        listed(simulated, format!("{name}={length}"), &args)
    }

    /// A design with one sequence for all lengths of a range.
    fn ranged(&self, launch: &Args, range: &Range) -> Result<Lowered, Diagnostics> {
        let module = &kernels_of(&self.source)?.module;
        known(&self.source, module, &range.name)?;
        let is_extent = is_extent(module, &range.name);
        range.check(if is_extent { RangeOf::Extent } else { RangeOf::Parameter })?;
        if is_extent {
            return Err(range.differs("arrays have other extents").into());
        }
        self.compares(&launch.values, range)?;
        let simulated = self.of.simulation.compile(&self.by_process)?;
        let mut lengths = range.first();
        for _ in 0..PASSES {
            let all: Vec<i64> = lengths.iter().copied().collect();
            let launches = self.of_lengths(launch, &range.name, &all)?;
            let within = (device(self.target), self.of.steps);
            let probe = |length| self.of_length(&*simulated, launch, (&range.name, length));
            let of = (range, all.as_slice(), &probe as Probe<'_>);
            let mut lowered = lower_range(&self.by_process, &launches, of, within)?;
            if lowered.open.is_empty() {
                return Ok(lowered);
            }
            lengths.extend(std::mem::take(&mut lowered.open));
        }
        let message = format!(
            "after {} lengths of `{}` it is open how sizes follow from them",
            lengths.len(),
            range.name
        );
        Err(Diagnostic::error(codes::LOWERING, message)
            .help(format!(
                "have a sequence for each length: `--lengths {}={},{}`",
                range.name, range.from, range.to
            ))
            .into())
    }

    /// Refuses a range whose lengths have more tasks together than are compared, where their number is known without listing them.
    fn compares(&self, values: &[(String, ParamValue)], range: &Range) -> Result<(), Diagnostic> {
        let Range { name, from, to } = range;
        let mut values = values.to_vec();
        values.retain(|(known, _)| known != name);
        values.push((name.clone(), ParamValue::Int(0)));
        let mut all = 0u64;
        for length in *from..=*to {
            if let Some((_, value)) = values.last_mut() {
                *value = ParamValue::Int(length.into());
            }
            let Some(tasks) = self.tasks(&values) else { return Ok(()) };
            all = all.saturating_add(tasks).saturating_add(OF_LENGTH);
            if all > COMPARED && length > from + 1 {
                let message = format!(
                    "lengths {from} to {length} of `{name}` have {all} tasks together, with {OF_LENGTH} for each length, and {COMPARED} are compared with what a sequence computes at most"
                );
                return Err(Diagnostic::error(codes::LOWERING, message).help(format!(
                    "give a shorter range, `--lengths {name}={from}..={}`, or larger tiles, of which a length has fewer",
                    length - 1
                )));
            }
        }
        Ok(())
    }

    /// Launches as one design.
    fn design(&self, launches: &[Launch]) -> Result<Lowered, Diagnostics> {
        lower(&self.by_process, launches, (device(self.target), self.of.steps))
    }

    /// A launch, whose tasks are listed.
    fn launch(&self, name: String, args: &Args) -> Result<Launch, Diagnostics> {
        self.has_room(&args.values)?;
        listed(&*self.of.simulation.compile(&self.by_process)?, name, args)
    }

    /// Refuses extents that no array has, and more tasks than a launch may have.
    fn within(&self, values: &[(String, ParamValue)]) -> Result<(), Diagnostics> {
        if let Ok(plan) = kernels_of(&self.source) {
            extents::within(&plan.module, values)?;
        }
        Ok(self.has_room(values)?)
    }

    /// Refuses more tasks than a launch may have before they are listed, where their number is known without.
    fn has_room(&self, values: &[(String, ParamValue)]) -> Result<(), Diagnostic> {
        self.tasks(values).map_or(Ok(()), crate::lower::has_room)
    }

    /// How many tasks a launch has, where that is known without listing them.
    fn tasks(&self, values: &[(String, ParamValue)]) -> Option<u64> {
        let PlanSource::Workload(plan) = &self.source else { return None };
        // Others are extents of arrays.
        let is_own = |name: &str| plan.module.params.iter().any(|param| param.name == name);
        let mut own: Vec<_> = values.iter().filter(|(name, _)| is_own(name)).cloned().collect();
        let library = plan.library.as_ref().map_or(&[][..], |library| &library.plan.module.params);
        for param in library.iter().filter(|param| is_own(&param.name)) {
            if let ParamSource::Set { default } = &param.source
                && let Some(default) = default.as_const_int()
                && values.iter().all(|(name, _)| *name != param.name)
                && is_open(&plan.module, &param.name)
            {
                own.push((param.name.clone(), ParamValue::Int(default)));
            }
        }
        count(&plan.module, &bind(&plan.module, &own, &OrderedMap::new()).ok()?)
    }

    /// Adds arrays of zeros that a launch takes and that are not given, where the parameters tell their extents.
    fn complete(&self, args: &mut Args) -> Result<(), Diagnostics> {
        self.fill(self.forms(args)?, args)
    }

    /// The arrays that a launch takes and that are not given.
    fn forms(&self, args: &Args) -> Result<Vec<ArrayForm>, Diagnostics> {
        crate::lower::forms(kernels_of(&self.source)?, &run::forms(&args.arrays), &args.values)
    }

    /// Adds arrays of zeros.
    fn fill(&self, forms: Vec<ArrayForm>, args: &mut Args) -> Result<(), Diagnostics> {
        let plan = kernels_of(&self.source)?;
        for form in forms {
            let made = Array::on_pages(form.elem, &form.shape);
            let array = made.map_err(|fault| run::no_memory(&form.name, &fault))?;
            args.arrays.insert(form.name, array);
        }
        // Extents follow from the arrays now.
        args.values.retain(|(name, _)| !is_extent(&plan.module, name));
        Ok(())
    }
}
