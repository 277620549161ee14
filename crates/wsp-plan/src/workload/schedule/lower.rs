//! From the directives of a schedule to plain data.

use super::super::{codes, named};
use super::{LoweredSchedule, ScheduleLine};
use crate::Support;
use crate::layout::declared::check_arguments;
use crate::lower::codes::{NO_EFFECT, NOT_SUPPORTED};
use crate::pools::idle_pool;
use crate::target::Target;
use wsp_core::limits;
use wsp_core::words::counted;
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_ir::workload::{
    Directive, DirectiveKind, ExecPool, PoolSizes, Schedule, SchedulePolicy, ThresholdPolicy, WorkloadModule,
};

/// What the chosen schedule of a verified module, or else its unnamed one, comes to on a target.
///
/// # Errors
/// When nothing can be lowered for the target, the schedule does not exist, the target does not support a directive, or pools have more workers
/// than a run can have.
pub fn lower_schedule(
    module: &WorkloadModule,
    chosen: Option<&str>,
    target: &Target,
) -> Result<LoweredSchedule, Vec<Diagnostic>> {
    target.check_plans().map_err(|fault| vec![fault])?;
    let Some(schedule) = find(module, chosen)? else { return Ok(LoweredSchedule::default()) };
    let mut lowered = LoweredSchedule {
        name: Some(schedule.name.clone()).filter(|name| !name.is_empty()),
        ..LoweredSchedule::default()
    };
    let mut errors = Vec::new();
    for directive in &schedule.directives {
        let row = directive.kind.row();
        directive.kind.apply(&mut lowered.policy);
        lowered.lines.push(ScheduleLine::new(row, &row.host, directive.span));
        errors.extend(too_large(directive));
        match row.host.support {
            Support::Enforced | Support::Hint | Support::Simulated => {}
            Support::NoOp => lowered.notes.push(unsupported(directive, target)),
            Support::Error => errors.push(unsupported(directive, target)),
        }
    }
    errors.extend(check_arguments(module, &lowered.policy));
    let tasks = pools_of_tasks(module, &lowered.policy);
    for directive in &schedule.directives {
        if let DirectiveKind::Pools(pools) = directive.kind {
            lowered.notes.extend(idle_pool(pools, &tasks, directive.span));
        }
    }
    if errors.is_empty() { Ok(lowered) } else { Err(errors) }
}

/// The schedule to apply, if there is one.
fn find<'m>(
    module: &'m WorkloadModule,
    chosen: Option<&str>,
) -> Result<Option<&'m Schedule>, Vec<Diagnostic>> {
    let name = chosen.unwrap_or("");
    let found = module.schedules.iter().find(|schedule| schedule.name == name);
    if found.is_some() || chosen.is_none() {
        return Ok(found);
    }
    let diagnostic = Diagnostic::error(codes::UNKNOWN_SCHEDULE, format!("there is no schedule `{name}`"));
    let names = || module.schedules.iter().map(|s| s.name.as_str()).filter(|name| !name.is_empty());
    let list: Vec<String> = names().map(|name| format!("`{name}`")).collect();
    Err(vec![match did_you_mean(name, names()) {
        Some(meant) => diagnostic.help(format!("did you mean `{meant}`?")),
        None if list.is_empty() => diagnostic
            .note("the file has no named schedule")
            .help("ask for none: then that of the file is taken, if it has one"),
        None => diagnostic
            .note(format!("the schedules are {}", list.join(", ")))
            .help("ask for one of these, or for none: then the one without a name is taken, if there is one"),
    }])
}

/// Pools that together have more workers than any run.
fn too_large(directive: &Directive) -> Option<Diagnostic> {
    let DirectiveKind::Pools(PoolSizes::ByUnit { vector, cube }) = directive.kind else { return None };
    let workers = u64::from(vector) + u64::from(cube);
    (workers > u64::from(limits::MAX_THREADS)).then(|| {
        Diagnostic::error(
            codes::NUMBER_TOO_LARGE,
            format!("pools of {workers} in all are too many", workers = counted(workers, "worker")),
        )
        .at(directive.span, format!("a run has at most {}", limits::MAX_THREADS))
        .help(format!(
            "give `by_unit(vector, cube)` two numbers that add up to at most {}",
            limits::MAX_THREADS
        ))
    })
}

/// The pools that tasks are for: those of the kernels, unless each policy of a `dispatch_threshold` names another.
fn pools_of_tasks(module: &WorkloadModule, policy: &SchedulePolicy) -> Vec<ExecPool> {
    let policies = policy.threshold.iter().flat_map(|threshold| &threshold.policies);
    let (mut pools, mut of_kernels) = (Vec::new(), policy.threshold.is_none());
    for policy in policies {
        match policy {
            ThresholdPolicy::Pool(pool) => pools.push(*pool),
            ThresholdPolicy::Dispatch(_) => of_kernels = true,
        }
    }
    if of_kernels {
        pools.extend(named(module).kernels.iter().map(|kernel| module.kernels[kernel.index()].unit));
    }
    pools
}

fn unsupported(directive: &Directive, target: &Target) -> Diagnostic {
    let row = directive.kind.row().host;
    let (code, says) = match row.support {
        Support::Error => (NOT_SUPPORTED, "does not support"),
        _ => (NO_EFFECT, "ignores"),
    };
    let message = format!("`{}` {says} `{}`", target.name, row.primitive);
    let severity = if row.support == Support::Error { Diagnostic::error } else { Diagnostic::warning };
    let diagnostic = severity(code, message).at(directive.span, row.meaning);
    match directive.kind.instead() {
        Some([text, python]) => diagnostic
            .note("no target supports it")
            .help(format!("write `{text}`"))
            .python(format!("write `{python}`")),
        None => diagnostic,
    }
}
