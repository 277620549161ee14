//! The straight line of passes from a module to a plan.

mod aliases;
mod branches;
pub(crate) mod codes;
mod library;
mod plan;
mod schedule;
mod stages;

use crate::{CompileOptions, KernelAccess, access, walk};
pub use library::{array_name, declared_shape, library_entry};
pub use plan::{BalancedLine, LoweredPlan, PlanStage, ScheduleSummary, TensorUse};
use schedule::{foreign_axes, lower_generator, quoted};
use stages::StageSource;
use wsp_core::{AxisId, FuncId, ParamId, ScheduleId, SpaceId, TensorId};
use wsp_diag::{Diagnostic, Severity, did_you_mean};
use wsp_ir::workload::SchedulePolicy;
use wsp_ir::{ArrayRef, DerivedArray, Expr, ExprKind, FuncKind, Module, StmtKind, Verified};
use wsp_ordered::OrderedSet;

/// Lowers a module.
///
/// # Errors
/// Diagnostics when the module is not valid or has no entry, a schedule does not fit its space, or the target refuses
/// something.
pub fn lower(module: &Module, options: &CompileOptions) -> Result<LoweredPlan, Vec<Diagnostic>> {
    let mut notes = Vec::new();
    options.target.check_plans().map_err(|fault| vec![fault])?;
    // What follows indexes tables and relies on types and on the form of generators without looking again.
    errors(wsp_ir::verify(module))?;
    let sources = stages::of_entry(module)?;
    let mut module = module.clone();
    branches::decide(&mut module);
    let memory = aliases::unify(&mut module)?;
    let accesses = summaries(&module);

    // From here on generators are plain loops: no schedule is left in the module's functions.
    let mut stages = lower_stages(&mut module, &sources, options, &mut notes)?;
    lower_others(&mut module, &mut notes)?;

    // A stage's kernels follow from what its generator emits.
    for stage in &mut stages {
        stage.kernels = stages::kernels_of(&module, stage.generator).into_iter().collect();
    }
    let uses_of = |kernels: OrderedSet<FuncId>| uses(&module, &accesses, &memory, &kernels);
    let per_stage: Vec<Vec<TensorUse>> =
        stages.iter().map(|s| uses_of(s.kernels.iter().copied().collect())).collect();
    let tensors = uses_of(stages.iter().flat_map(|s| s.kernels.iter().copied()).collect());
    errors(stages::check_dependencies(&module, &per_stage))?;
    // Loops nest deeper than what they replace, and the limit on that holds for the plan as well.
    errors(wsp_ir::verify(&module))?;
    let derived = derived_arrays(&module, &stages);
    let policy = stages::policy(&stages, &sources)?;
    notes.extend(stages::idle_pool(&module, &stages, &sources, policy.pools));
    Ok(LoweredPlan {
        policy,
        last: last_elements(&module, &stages),
        module,
        stages,
        accesses,
        tensors,
        memory,
        derived,
        called: None,
        options: options.clone(),
        notes,
        sources: None,
    })
}

/// Lowers a module whose tasks somebody else generates: a plan without stages, for these kernels of it.
///
/// A module without a host entry is given one that takes every array and cache under its own name.
///
/// # Errors
/// Diagnostics when the module is not valid, or the target is unknown.
pub fn lower_library(
    module: &Module,
    kernels: &[FuncId],
    options: &CompileOptions,
) -> Result<LoweredPlan, Vec<Diagnostic>> {
    let mut notes = Vec::new();
    options.target.check_plans().map_err(|fault| vec![fault])?;
    errors(wsp_ir::verify(module))?;
    let mut module = module.clone();
    branches::decide(&mut module);
    if module.entry.is_none() {
        module.entry = Some(library_entry(&module));
    }
    let memory = aliases::unify(&mut module)?;
    let accesses = summaries(&module);
    lower_others(&mut module, &mut notes)?;
    let tensors = uses(&module, &accesses, &memory, &kernels.iter().copied().collect());
    Ok(LoweredPlan {
        module,
        stages: Vec::new(),
        policy: SchedulePolicy::default(),
        accesses,
        tensors,
        memory,
        derived: Vec::new(),
        last: Vec::new(),
        called: Some(kernels.to_vec()),
        options: options.clone(),
        notes,
        sources: None,
    })
}

/// The module whose functions name one tensor for each argument of the host entry; none where no two tensors have one argument.
///
/// # Errors
/// When tensors of one argument differ in rank.
pub fn with_one_name(module: &Verified) -> Result<Option<Verified>, Vec<Diagnostic>> {
    let first = aliases::first(module)?;
    if first.iter().enumerate().all(|(at, first)| first.index() == at) {
        return Ok(None);
    }
    let mut own = Module::clone(module);
    aliases::rename(&mut own, &first);
    wsp_ir::into_verified(own).map(Some)
}

/// The parameters that a launch of a program reads: of the spaces, generators and kernels that it runs, of the arrays that it is
/// given, of what it requires and compares with, and of schedules. Values of the others change nothing.
pub fn params_of_launch(module: &Module) -> OrderedSet<ParamId> {
    let mut module = module.clone();
    branches::decide(&mut module);
    let sources = stages::of_entry(&module).unwrap_or_default();
    let spaces: Vec<SpaceId> = sources.iter().map(|source| source.space).collect();
    let generators: Vec<FuncId> = sources.iter().map(|source| source.generator).collect();
    let kernels = generators.iter().flat_map(|generator| stages::kernels_of(&module, *generator)).collect();
    crate::needs::of_launch(&module, &spaces, &generators, &kernels)
}

/// The parameters that a run reads whose tasks call these kernels of a file: of the kernels, of the file's arrays, of what it
/// requires and compares with. Values of the others change nothing.
pub fn params_of_kernels(module: &Module, kernels: &OrderedSet<FuncId>) -> OrderedSet<ParamId> {
    let mut module = module.clone();
    branches::decide(&mut module);
    crate::needs::of_launch(&module, &[], &[], kernels)
}

/// What each function of the module accesses. Kernels do not change in lowering, so this holds for the plan.
fn summaries(module: &Module) -> Vec<Vec<KernelAccess>> {
    (0..module.functions.len()).map(|i| access::summarise(module, FuncId(i as u32))).collect()
}

/// The derived arrays that the generators of these stages read.
fn derived_arrays(module: &Module, stages: &[PlanStage]) -> Vec<DerivedArray> {
    let mut found = Vec::new();
    for stage in stages {
        walk::any_expr(&module.functions[stage.generator.index()].body, &mut |e| {
            if let ExprKind::Load(ArrayRef::Derived(array), _) | ExprKind::ArrayLen(ArrayRef::Derived(array)) =
                e.kind
                && !found.contains(&array)
            {
                found.push(array);
            }
            false
        });
    }
    found
}

/// How many last elements of an axis there are, as the generators of these stages say.
fn last_elements(module: &Module, stages: &[PlanStage]) -> Vec<(AxisId, Expr)> {
    let mut found = Vec::new();
    for stage in stages {
        walk::stmts(&module.functions[stage.generator.index()].body, &mut |stmt| {
            if let StmtKind::SetExtent { axis, last: Some(last), .. } = &stmt.kind {
                found.push((*axis, last.clone()));
            }
        });
    }
    found
}

/// What these kernels do with each tensor; tensors of one memory have one use.
fn uses(
    module: &Module,
    accesses: &[Vec<KernelAccess>],
    memory: &[TensorId],
    kernels: &OrderedSet<FuncId>,
) -> Vec<TensorUse> {
    let mut uses = stages::tensor_uses(module, accesses, kernels);
    aliases::share_uses(memory, &mut uses);
    uses
}

fn errors(found: Vec<Diagnostic>) -> Result<(), Vec<Diagnostic>> {
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// The schedule that the options ask for.
fn schedule_asked_for(
    module: &Module,
    options: &CompileOptions,
) -> Result<Option<ScheduleId>, Vec<Diagnostic>> {
    let Some(name) = &options.schedule else { return Ok(None) };
    if let Some(index) = module.schedules.iter().position(|s| s.name == *name) {
        return Ok(Some(ScheduleId(index as u32)));
    }
    let names: Vec<&str> = module.schedules.iter().map(|s| s.name.as_str()).collect();
    let mut d = Diagnostic::error(codes::UNKNOWN_SCHEDULE, format!("there is no schedule `{name}`"));
    d = match (did_you_mean(name, names.iter().copied()), names.as_slice()) {
        (_, []) => d
            .note("the file declares no schedule")
            .help(format!("ask for none, or declare it: `PTO_SCHEDULE({name}) {{ … }}`")),
        (Some(near), names) => {
            d.note(format!("schedules: {}", quoted(names))).help(format!("did you mean `{near}`?"))
        }
        (None, names) => d
            .note(format!("schedules: {}", quoted(names)))
            .help("ask for one of these, or for none: then the one that the source applies is taken"),
    };
    Err(vec![d])
}

fn lower_stages(
    module: &mut Module,
    sources: &[StageSource],
    options: &CompileOptions,
    notes: &mut Vec<Diagnostic>,
) -> Result<Vec<PlanStage>, Vec<Diagnostic>> {
    let asked = schedule_asked_for(module, options)?;
    let fits = |module: &Module, stage: &StageSource| {
        asked.is_some_and(|id| {
            foreign_axes(module, &module.schedules[id.index()], &module.spaces[stage.space.index()])
                .is_empty()
        })
    };
    // A graph has several spaces: the schedule asked for is meant for those that have its axes.
    let some_fit = sources.iter().any(|stage| fits(module, stage));
    let (mut stages, mut wrong) = (Vec::<PlanStage>::new(), Vec::new());
    for stage in sources {
        let mut instead = asked;
        if asked.is_some() && some_fit && !fits(module, stage) {
            instead = None;
            notes.push(kept_its_own(stage, options));
        }
        // Two stages of one space share its generator, which is lowered once.
        let earlier = stages.iter().find(|earlier| earlier.generator == stage.generator);
        let lowered = match earlier {
            Some(earlier) => Ok(earlier.schedule.clone()),
            None => lower_generator(module, stage.generator, stage.space, instead, notes),
        };
        match lowered {
            Ok(schedule) => stages.push(PlanStage {
                name: stage.name.clone(),
                space: stage.space,
                generator: stage.generator,
                schedule,
                kernels: Vec::new(),
            }),
            Err(diagnostics) => wrong.extend(diagnostics),
        }
    }
    if wrong.is_empty() { Ok(stages) } else { Err(wrong) }
}

fn kept_its_own(stage: &StageSource, options: &CompileOptions) -> Diagnostic {
    let asked = options.schedule.as_deref().unwrap_or_default();
    let message = format!("stage `{}` keeps its own schedule", stage.name);
    Diagnostic::new(codes::SCHEDULE_UNUSED, Severity::Note, message)
        .at(stage.span, format!("its space does not have the axes of `{asked}`"))
}

/// Lowers the generators that no stage runs, so that the whole module is plain loops.
fn lower_others(module: &mut Module, notes: &mut Vec<Diagnostic>) -> Result<(), Vec<Diagnostic>> {
    let mut wrong = Vec::new();
    for index in 0..module.functions.len() {
        let FuncKind::Generator { space } = module.functions[index].kind else { continue };
        // Generators of stages have no schedule left and stay as they are, without further notes.
        if !schedule::is_scheduled(&module.functions[index].body) {
            continue;
        }
        if let Err(diagnostics) = lower_generator(module, FuncId(index as u32), space, None, notes) {
            wrong.extend(diagnostics);
        }
    }
    errors(wrong)
}
