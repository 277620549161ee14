//! What goes wrong with launches, as the user sees it.

use super::code::{GraphCode, Spans};
use super::codes;
use super::fault::{TgFault, cancelled};
use crate::workload::settings;
use std::sync::Arc;
use wsp_backend::PayloadSlot;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_runtime::tg::{Cause, LaunchFailure, LaunchFault, Refused, SyncError, Unreplayed};

/// A launch that did not complete; what a function handed over goes into the slot.
pub(crate) fn failed(
    failure: &LaunchFailure<TgFault>,
    graphs: &[Arc<GraphCode>],
    payload: Option<&PayloadSlot>,
) -> Box<Diagnostic> {
    let first = failure.first();
    let code = graphs.iter().find(|code| code.plan.name == first.graph);
    let (fault, handed) = match &first.cause {
        Cause::Task { failure: fault, .. } => ((*fault.diagnostic).clone(), fault.payload.clone()),
        Cause::Panic { task: place, message } => {
            (Diagnostic::error(codes::KERNEL_PANICKED, format!("panic in {place}: {message}")), None)
        }
        Cause::Start(error) => {
            let message = format!("kernels that start together have a thread for each block: {error}");
            (Diagnostic::error(codes::REFUSED_LAUNCH, message), None)
        }
        &Cause::Source(LaunchFault::Endless { in_loop, most, value }) => {
            (endless(code.map(|code| &**code), in_loop, most, value), None)
        }
        &Cause::Source(LaunchFault::Count { in_loop, most, value }) => {
            (count(code.map(|code| &**code), in_loop, most, value), None)
        }
        Cause::Source(LaunchFault::TooLong) => {
            let message = "the unit takes more cycles than 64 bits count";
            (Diagnostic::error(codes::REFUSED_LAUNCH, message), None)
        }
        Cause::Source(LaunchFault::NotReplayed(fault)) => (not_replayed(fault), None),
        Cause::Cancelled | Cause::Source(LaunchFault::After(_)) => (*cancelled(), None),
        Cause::Stuck(report) => {
            (Diagnostic::error(codes::STUCK, "nothing can run any more").note(report.to_string()), None)
        }
    };
    if let Some(slot) = payload {
        slot.put(handed);
    }
    if fault.code == codes::CANCELLED {
        return Box::new(fault);
    }
    let mut launch = format!("in a launch of graph `{}`", first.graph);
    if first.iteration != 0 {
        launch = format!("{launch}, iteration {}", first.iteration);
    }
    Box::new(fault.note(launch))
}

/// A run that is another one than that whose order of starts it was to keep to.
pub(crate) fn not_replayed(fault: &Unreplayed) -> Diagnostic {
    settings::not_replayed(format!("the order of starts is one of another run: {fault}"))
}

/// A call that the runtime refuses.
pub(crate) fn refused(refused: &Refused) -> Box<Diagnostic> {
    let code = match refused {
        Refused::StaleStream(_) | Refused::DefaultStream => codes::STALE_STREAM,
        Refused::NeverLaunched { .. } | Refused::NoLaunch(_) => codes::NEVER_LAUNCHED,
        Refused::State(_) => codes::OTHER_CHECKPOINT,
        _ => codes::REFUSED_LAUNCH,
    };
    Box::new(Diagnostic::error(code, refused.to_string()))
}

/// Why waiting failed.
pub(crate) fn sync(
    error: &SyncError<TgFault>,
    graphs: &[Arc<GraphCode>],
    payload: Option<&PayloadSlot>,
) -> Box<Diagnostic> {
    match error {
        SyncError::Refused(reason) => refused(reason),
        SyncError::Failed(failure) => failed(failure, graphs, payload),
    }
}

/// A loop whose condition does not become 0.
pub(crate) fn endless(graph: Option<&GraphCode>, in_loop: u32, most: u32, value: i64) -> Diagnostic {
    let fault = Diagnostic::error(
        codes::TOO_MANY_ROUNDS,
        format!("a loop goes on after {most}", most = counted(most, "round")),
    )
    .note(format!("its condition is still {value}"));
    at_loop(fault, graph, in_loop).help("raise `max_iterations`, or look at what writes the condition")
}

/// A loop that cannot be run so many times.
pub(crate) fn count(graph: Option<&GraphCode>, in_loop: u32, most: u32, value: i64) -> Diagnostic {
    let message = format!("a loop has a count of {value}, and takes 0 to {most}");
    at_loop(Diagnostic::error(codes::BAD_EXPRESSION, message), graph, in_loop)
}

fn at_loop(fault: Diagnostic, graph: Option<&GraphCode>, in_loop: u32) -> Diagnostic {
    match graph {
        Some(code) => Spans::located(fault, &code.spans.loops, in_loop, "this loop"),
        None => fault,
    }
}
