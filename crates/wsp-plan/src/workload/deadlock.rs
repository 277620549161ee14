//! Pipelines that cannot go on, and channels that are closed, as the user sees them.

use super::{codes, fault};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::StatementKind;

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
    /// The same, or that its channels are closed.
    Rest,
}

impl Want {
    /// Whether the process is about to send, or has sent.
    pub(crate) fn sends(self) -> bool {
        matches!(self, Want::Slot | Want::Taken)
    }
}

/// How full a channel is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Full<'n> {
    pub(crate) name: &'n str,
    /// Slots that are taken.
    pub(crate) held: u64,
    pub(crate) depth: u64,
    /// The process at its other end.
    pub(crate) other: Option<&'n str>,
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
    let circle = circle(deadlock);
    if let [first, rest @ ..] = &*circle {
        let mut chain = format!("`{}` waits for", first.process);
        rest.iter().for_each(|waiting| chain += &format!(" `{0}`, and `{0}` for", waiting.process));
        diagnostic = diagnostic.note(format!("{chain} `{}`", first.process));
    }
    diagnostic.help(help(deadlock, &circle))
}

/// Processes each of which waits for the next one, and the last for the first: from a process that waits for one channel on.
fn circle<'d, 'n>(deadlock: &'d Deadlock<'n>) -> Vec<&'d Waiting<'n>> {
    let next = |waiting: &Waiting<'n>| {
        let [Full { other: Some(other), .. }] = &*waiting.channels else { return None };
        deadlock.waiting.iter().find(|waiting| waiting.process == *other)
    };
    for start in &deadlock.waiting {
        let (mut path, mut at) = (vec![start], start);
        while let Some(after) = next(at) {
            if let Some(from) = path.iter().position(|waiting| waiting.process == after.process) {
                return path.split_off(from);
            }
            path.push(after);
            at = after;
        }
    }
    Vec::new()
}

/// Names the full channel of the smallest depth in a circle, else the first.
fn help(deadlock: &Deadlock<'_>, circle: &[&Waiting<'_>]) -> String {
    fn full<'d, 'n>(waiting: &'d Waiting<'n>) -> Option<&'d Full<'n>> {
        waiting.channels.first().filter(|_| waiting.want.sends())
    }
    let least = circle.iter().copied().filter_map(full).min_by_key(|channel| channel.depth);
    match least.or_else(|| deadlock.waiting.iter().find_map(full)) {
        Some(Full { name, depth, .. }) => {
            format!("declare `{name}` deeper than {depth}, or let a process consume before it sends")
        }
        None if deadlock.waiting.iter().any(|waiting| waiting.want == Want::Rest) => {
            let rest = deadlock.waiting.iter().find(|waiting| waiting.want == Want::Rest);
            let name = rest.and_then(|waiting| waiting.channels.first()).map_or("c", |channel| channel.name);
            format!("close the channel behind the last `send`: `close {name};`")
        }
        None => "send as many tokens as are consumed, and let one process send before it consumes".to_owned(),
    }
}

/// What is done at `at` with a channel that was closed at `by`.
pub(crate) fn closed(done: StatementKind, name: &str, at: Span, by: Span) -> Diagnostic {
    let (does, help) = match done {
        StatementKind::Send => ("a token is sent to", "close it behind the last `send`"),
        StatementKind::Close => ("a second `close` of", "close it once"),
        _ => (
            "nothing is left to consume from",
            "send as many tokens as are consumed, or take what there is: `consume all c as s { … }`",
        ),
    };
    Diagnostic::error(codes::CLOSED, format!("{does} `{name}`, which is closed"))
        .at(at, "")
        .label(by, "closed here")
        .help(help)
}

/// What a process waits for.
fn what(waiting: &Waiting<'_>) -> String {
    let of = |Full { name, held, depth, .. }: &Full<'_>| {
        // A token that waits to be taken has a slot, too.
        let slots = (*depth).max(1);
        let word = if slots == 1 { "slot" } else { "slots" };
        match waiting.want {
            Want::Slot => format!("`{name}` ({held} of {slots} {word} full)"),
            Want::Taken => format!("`{name}` (its token is not taken)"),
            Want::Token | Want::Rest if *held == 0 => format!("`{name}` (empty)"),
            Want::Token | Want::Rest => {
                format!("`{name}` ({held} of {slots} {word} in use, none to be consumed)")
            }
        }
    };
    let verb = if waiting.want.sends() { "to send to" } else { "to consume from" };
    format!("{verb} {}", waiting.channels.iter().map(of).collect::<Vec<_>>().join(" or "))
}
