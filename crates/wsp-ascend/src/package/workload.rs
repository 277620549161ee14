//! A workload over the kernels of a file, as the program that a package is made of.

use super::Unit;
use crate::orchestration::{Walk, Workload};
use std::borrow::Cow;
use wsp_backend::Expansion;
use wsp_backend::codes::NO_FILES;
use wsp_core::{FuncId, ParamId};
use wsp_diag::{Diagnostic, Diagnostics, Severity};
use wsp_ir::workload::{self, Deps, SchedulePolicy, Start, ThresholdPolicy, Trace, WindowMode};
use wsp_ir::{BindingSource, Const, Expr, ExprKind, ParamSource};
use wsp_plan::LoweredPlan;
use wsp_plan::workload::{WorkloadLibrary, WorkloadPlan};

/// A program whose tasks a package generates.
pub(crate) struct Source<'a> {
    /// Its kernels, arrays and parameters.
    pub(super) plan: Cow<'a, LoweredPlan>,
    /// What generates its tasks, if its generators do not.
    pub(super) workload: Option<Workload<'a>>,
    /// A graph that AICPUs walk.
    pub(super) walk: Option<Walk>,
    /// What the schedule asks for that packages do in another way.
    pub(super) notes: Vec<Diagnostic>,
    /// Whether edges order its tasks, as those of a graph do, and regions where there are none.
    pub(super) has_edges: bool,
    /// Kernels whose tasks the host runs.
    pub(super) on_host: Vec<FuncId>,
}

impl<'a> Source<'a> {
    /// A program of spaces.
    ///
    /// # Errors
    /// Its schedule has a grid.
    pub(crate) fn spaces(plan: &'a LoweredPlan) -> Result<Source<'a>, Diagnostic> {
        refuse_grid(&plan.policy)?;
        Ok(Source {
            plan: Cow::Borrowed(plan),
            workload: None,
            walk: None,
            notes: super::unheeded(plan),
            has_edges: false,
            on_host: Vec::new(),
        })
    }

    /// The kernels of a task graph.
    pub(crate) fn of_unit(unit: Unit) -> Source<'a> {
        let has_edges = unit.walk.is_none();
        let (plan, on_host) = (Cow::Owned(unit.plan), Vec::new());
        Source { plan, workload: None, walk: unit.walk, notes: unit.notes, has_edges, on_host }
    }

    /// A workload.
    ///
    /// # Errors
    /// Its kernels have no bodies; it has no program for AICPUs.
    pub(crate) fn workload(plan: &'a WorkloadPlan, expansion: &Expansion) -> Result<Source<'a>, Diagnostics> {
        let Some(library) = &plan.library else { return Err(without_bodies(plan).into()) };
        refuse_grid(&plan.schedule.policy)?;
        let workload = Workload::new(plan, &library.functions, expansion)?;
        let mut notes = plan.schedule.notes.clone();
        notes.extend_from_slice(workload.notes());
        notes.extend(unheeded(plan));
        let of_host =
            plan.module.kernels.iter().zip(&*library.functions).filter(|(kernel, _)| kernel.on_host);
        let on_host = of_host.filter_map(|(_, function)| *function).collect();
        let plan = Cow::Owned(program(plan, library));
        Ok(Source { plan, workload: Some(workload), walk: None, notes, has_edges: false, on_host })
    }

    /// Its kernels, arrays and parameters.
    pub(crate) fn into_plan(self) -> LoweredPlan {
        self.plan.into_owned()
    }
}

/// An NPU has no grid of tiles.
fn refuse_grid(policy: &SchedulePolicy) -> Result<(), Diagnostic> {
    let Some(grid) = policy.grid else { return Ok(()) };
    let message =
        format!("packages do not support the grid of {} × {} tiles of the schedule", grid.x, grid.y);
    let fault = Diagnostic::error(NO_FILES, message)
        .note("an NPU has no grid of tiles; target `cpu_sim` has one, simulated");
    let fault = match policy.layouts.first() {
        Some(layout) => fault.at(layout.span, "a layout on it"),
        None => fault,
    };
    Err(fault
        .help("leave grid and layouts out of the schedule, or choose another one with `--schedule NAME`"))
}

/// A workload of declared kernels.
fn without_bodies(plan: &WorkloadPlan) -> Diagnostic {
    let kernel = plan.module.kernels.first();
    let named = kernel.map_or_else(String::new, |kernel| format!(": `{}` is only declared", kernel.name));
    let message = format!("a package of a workload needs kernels with bodies{named}");
    Diagnostic::error(NO_FILES, message)
        .at(kernel.map(|kernel| kernel.span).unwrap_or_default(), "declared here")
        .help("write the kernels in a `.pto` file, and `use \"FILE.pto\";` in place of their declarations")
}

/// The used file as a program: with the arrays that a run of the workload takes, its defaults, and its schedule.
fn program(plan: &WorkloadPlan, library: &WorkloadLibrary) -> LoweredPlan {
    let mut made = library.plan.clone();
    made.policy = plan.schedule.policy.clone();
    made.sources.clone_from(&plan.sources);
    let taken = plan.library_tensors();
    let is_taken = |module: &wsp_ir::Module, source: BindingSource| match source {
        BindingSource::Tensor(id) => taken.contains(&id),
        BindingSource::Cache(id) => {
            let tensors = &module.caches[id.index()];
            taken.contains(&tensors.keys) || taken.contains(&tensors.values)
        }
        BindingSource::Param(_) => true,
    };
    let mut entry = made.module.entry.take();
    if let Some(entry) = &mut entry {
        entry.launch.bindings.retain(|binding| is_taken(&made.module, binding.source));
    }
    made.module.entry = entry;
    defaults(plan, &mut made);
    made
}

/// Parameters that the workload gives a default have it; those that nothing of it needs follow from no array.
fn defaults(plan: &WorkloadPlan, made: &mut LoweredPlan) {
    let shared = plan.module.params.iter().filter_map(|param| made.module.param_named(&param.name));
    let needs = made.needs(shared);
    let number = |n: i128, param: &wsp_ir::Param| {
        let value = if param.ty.is_float() { Const::Float(n as f64) } else { Const::Int(n) };
        Expr { kind: ExprKind::Const(value), ty: param.ty, span: param.span }
    };
    for param in &plan.module.params {
        let workload::ParamSource::Set(Some(default)) = &param.source else { continue };
        let (Some(id), Some(value)) = (made.module.param_named(&param.name), default.as_const()) else {
            continue;
        };
        let of = &mut made.module.params[id.index()];
        let settable = matches!(of.source, ParamSource::Set { .. } | ParamSource::Entry);
        if settable && Const::Int(value.into()).fits(of.ty) {
            of.source = ParamSource::Set { default: number(value.into(), of) };
        }
    }
    for at in 0..made.module.params.len() {
        let of = &mut made.module.params[at];
        if matches!(of.source, ParamSource::Shape { .. }) && !needs.params.contains(&ParamId(at as u32)) {
            of.source = ParamSource::Derived(number(0, of));
        }
    }
}

/// What a schedule asks for that packages do in another way.
fn unheeded(plan: &WorkloadPlan) -> Vec<Diagnostic> {
    let policy = &plan.schedule.policy;
    let window = policy.window.map(|window| window.mode);
    let moves = |of: &ThresholdPolicy| matches!(of, ThresholdPolicy::Pool(_));
    let pools = policy.threshold.as_ref().is_some_and(|of| of.policies.iter().any(moves));
    let said = [
        (
            "dispatch_threshold",
            pools,
            "a task runs on the cores that its kernel is made for, whatever its size",
        ),
        (
            "task_graph(window",
            window.is_some_and(|mode| mode != WindowMode::Stall),
            "generation waits while the window is full",
        ),
        (
            "task_graph(deps",
            matches!(policy.deps, Deps::Explicit | Deps::Exact),
            "tasks wait for those whose regions overlap theirs, and for those that `after` names",
        ),
        ("task_graph(start", policy.start != Start::Immediate, "tasks start while others are generated"),
        ("task_graph(trace", policy.trace != Trace::None, "kernels run, and times of tasks are not recorded"),
        ("workers", policy.workers.is_some(), "cores run tasks, as many as the pools say"),
        ("core_groups", policy.core_groups.is_some(), "any core of a task's kind may run it"),
    ];
    let asked = said.iter().filter(|(_, asked, _)| *asked);
    let note = |(name, _, instead): &(&str, bool, &str)| {
        let line = plan.schedule.lines.iter().find(|line| line.primitive.starts_with(name))?;
        let message = format!("`{}` has no effect in a package", line.primitive);
        Some(Diagnostic::new(NO_FILES, Severity::Note, message).at(line.span, *instead))
    };
    asked.filter_map(note).collect()
}
