//! Pipelines that cannot go on, as the user sees them.

use super::{codes, fault};
use wsp_diag::{Diagnostic, Span};

/// A pipeline in which no process can go on.
#[derive(Debug)]
pub(crate) struct Deadlock<'n> {
    /// Where it stands.
    pub(crate) span: Span,
    /// Processes that wait, in the order of their turns.
    pub(crate) waiting: Vec<Waiting<'n>>,
    /// Those that have ended.
    pub(crate) ended: Vec<&'n str>,
}

/// A process that waits.
#[derive(Debug)]
pub(crate) struct Waiting<'n> {
    pub(crate) process: &'n str,
    pub(crate) want: Want,
    /// The send or consume.
    pub(crate) span: Span,
    /// The channels of which it waits for one.
    pub(crate) channels: Vec<Full<'n>>,
    /// Names and indices of the loops around it, from the pipeline on.
    pub(crate) loops: Vec<(&'n str, i64)>,
}

/// What a process waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Want {
    /// A free slot to send.
    Slot,
    /// That the token that it sent is taken.
    Taken,
    /// A token to consume.
    Token,
}

/// How full a channel is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Full<'n> {
    pub(crate) name: &'n str,
    /// Slots that are taken.
    pub(crate) held: u64,
    pub(crate) depth: u64,
}

/// Who waits for what in a pipeline.
pub(crate) fn diagnostic(deadlock: &Deadlock<'_>) -> Diagnostic {
    let mut diagnostic =
        Diagnostic::error(codes::DEADLOCK, "no process of the pipeline can go on").at(deadlock.span, "");
    for waiting in &deadlock.waiting {
        let at = match fault::indices(waiting.loops.iter().copied()) {
            Some(indices) => format!(" at {indices}"),
            None => String::new(),
        };
        let label = format!("`{}` waits {}{at}", waiting.process, what(waiting));
        diagnostic = diagnostic.label(waiting.span, label);
    }
    for process in &deadlock.ended {
        diagnostic = diagnostic.note(format!("`{process}` has ended"));
    }
    let sends = deadlock.waiting.iter().any(|waiting| waiting.want != Want::Token);
    diagnostic.help(if sends {
        "declare channels deeper, or let a process consume before it sends"
    } else {
        "send as many tokens as are consumed, and let one process send before it consumes"
    })
}

/// What a process waits for.
fn what(waiting: &Waiting<'_>) -> String {
    let of = |Full { name, held, depth }: &Full<'_>| {
        // A token that waits to be taken has a slot, too.
        let slots = (*depth).max(1);
        let word = if slots == 1 { "slot" } else { "slots" };
        match waiting.want {
            Want::Slot => format!("`{name}` ({held} of {slots} {word} full)"),
            Want::Taken => format!("`{name}` (its token is not taken)"),
            Want::Token if *held == 0 => format!("`{name}` (empty)"),
            Want::Token => format!("`{name}` ({held} of {slots} {word} in use, none to be consumed)"),
        }
    };
    let verb = if waiting.want == Want::Token { "to consume from" } else { "to send to" };
    format!("{verb} {}", waiting.channels.iter().map(of).collect::<Vec<_>>().join(" or "))
}
