//! Options that say nothing about what a command was given: none of them is accepted and passed over.

use crate::args::{LaunchArgs, RunArgs};
use pto_wsp::{codes, registry};
use wsp_diag::Diagnostic;

/// What takes the options of task graphs.
pub(super) const OF_UNITS: &str = "is for task graphs (`.tg`, `.ptog`)";
/// What takes those of the two sides of a launch.
pub(super) const OF_SIDES: &str =
    "is for packages (`--target ascend_host`) of workloads with kernels of the host (`kernel NAME on host;`)";
/// What takes tasks that the host generates.
pub(super) const OF_CPU_SIM: &str = "is for `cpu_sim`: AICPUs generate the tasks of a package";
/// What takes those of workloads.
pub(super) const OF_WORKLOADS: &str = "is for workloads (`.wsp`)";

/// Refuses those of these options that are given; `why` goes on from the name of the first.
///
/// # Errors
/// For them, with the help to leave all of them out.
pub fn refuse(options: &[(&str, bool)], why: &str) -> Result<(), Diagnostic> {
    let given: Vec<String> =
        options.iter().filter(|(_, given)| *given).map(|(o, _)| format!("`{o}`")).collect();
    let Some(first) = given.first() else { return Ok(()) };
    Err(Diagnostic::error(codes::OPTION_OF_OTHERS, format!("{first} {why}"))
        .help(format!("leave out {}", given.join(", "))))
}

/// Refuses options of a run of which an array has no part: its design is interpreted on one thread, and no machine code is made.
///
/// # Errors
/// For those that are given.
pub(super) fn refuse_on_arrays(args: &RunArgs) -> Result<(), Diagnostic> {
    let Some(target) = args.target.filter(|target| registry().emits_one_launch(target)) else {
        return Ok(());
    };
    // Each option is named here, so that a new one is decided on; those of task graphs are refused with the kind of the file.
    let RunArgs {
        file: _,
        data: _,
        launch: LaunchArgs { set: _, schedule: _, isa, engine },
        outputs: _,
        target: _,
        threads,
        check: _,
        reference: _,
        no_check: _,
        strict: _,
        allow_unwritten: _,
        stats: _,
        cache,
        aicpus,
        expand,
        phases,
        trace,
        replay,
        trace_edges,
        unit: _,
    } = args;
    let given = [
        ("--isa", isa.is_some()),
        ("--engine", engine.is_some()),
        ("--threads", threads.is_some()),
        ("--aicpus", aicpus.is_some()),
        ("--expand", expand.is_some()),
        ("--cache", cache.is_some()),
        ("--phases", *phases),
        ("--trace", trace.is_some()),
        ("--trace-edges", *trace_edges),
        ("--replay", replay.is_some()),
    ];
    let why = format!(
        "has no meaning on target `{}`: designs of arrays are interpreted, on one thread",
        target.name
    );
    refuse(&given, &why).map_err(|fault| fault.help("or run the program on `cpu_sim`"))
}

/// An option that is of no use; `why` goes on from its name.
pub(super) fn refused(option: &str, why: &str) -> Diagnostic {
    Diagnostic::error(codes::OPTION_OF_OTHERS, format!("`{option}` {why}"))
        .help(format!("leave out `{option}`"))
}

/// A value of `--set` that nothing reads.
pub(super) fn unread_value(name: &str) -> Diagnostic {
    refused(&format!("--set {name}=…"), &format!("has no meaning: nothing reads `{name}`"))
}
