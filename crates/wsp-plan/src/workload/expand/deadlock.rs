//! Pipelines that cannot go on, and channels that are closed, as the user sees them.

use super::super::{codes, fault};
use super::faults::{Closed, Deadlock, Waiting, Want, loops};
use super::program::CompiledModule;
use wsp_diag::Diagnostic;

/// Who waits for what in a pipeline, in a circle or for a process that has ended, and what may help.
pub(super) fn diagnostic(program: &CompiledModule<'_>, deadlock: &Deadlock) -> Diagnostic {
    let span = program.pipelines[deadlock.pipeline as usize].span;
    let mut diagnostic =
        Diagnostic::error(codes::DEADLOCK, "no process of the pipeline can go on").at(span, "");
    for waiting in &deadlock.waiting {
        let at = match fault::indices(loops(program, &waiting.loops, &waiting.indices)) {
            Some(indices) => format!(" at {indices}"),
            None => String::new(),
        };
        let name = program.processes[waiting.process as usize].name;
        let first = waiting.transfers.first().map_or(span, |(id, _)| program.transfers[*id as usize].span);
        diagnostic = diagnostic.label(first, format!("`{name}` waits {}{at}", what(program, waiting)));
    }
    for process in &deadlock.ended {
        diagnostic = diagnostic.note(format!("`{}` has ended", program.processes[*process as usize].name));
    }
    let circle = circle(program, deadlock);
    if let [first, rest @ ..] = &*circle {
        let name = |waiting: &Waiting| program.processes[waiting.process as usize].name;
        let mut chain = format!("`{}` waits for", name(first));
        rest.iter().for_each(|waiting| chain += &format!(" `{0}`, and `{0}` for", name(waiting)));
        diagnostic = diagnostic.note(format!("{chain} `{}`", name(first)));
    }
    diagnostic.help(help(program, deadlock, &circle))
}

/// What a process waits for.
fn what(program: &CompiledModule<'_>, waiting: &Waiting) -> String {
    let channel = |id: &u32| &program.channels[program.transfers[*id as usize].channel as usize];
    let of = |(id, held): &(u32, u64)| {
        let (name, slots) = (channel(id).name, channel(id).slots());
        let word = if slots == 1 { "slot" } else { "slots" };
        match waiting.want {
            Want::Slot => format!("`{name}` ({held} of {slots} {word} full)"),
            Want::Taken => format!("`{name}` (its token is not taken)"),
            Want::Token if *held == 0 => format!("`{name}` (empty)"),
            Want::Token => format!("`{name}` ({held} of {slots} {word} in use, none to be consumed)"),
        }
    };
    let verb = if waiting.want == Want::Token { "to consume from" } else { "to send to" };
    format!("{verb} {}", waiting.transfers.iter().map(of).collect::<Vec<_>>().join(" or "))
}

/// Processes each of which waits for the next one, and the last for the first: from a process that waits for one channel on.
fn circle<'d>(program: &CompiledModule<'_>, deadlock: &'d Deadlock) -> Vec<&'d Waiting> {
    let next = |waiting: &Waiting| {
        let [(transfer, _)] = &*waiting.transfers else { return None };
        let ends = program.channels[program.transfers[*transfer as usize].channel as usize].ends;
        let other = ends[usize::from(waiting.want != Want::Token)]?;
        deadlock.waiting.iter().find(|waiting| waiting.process == other)
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
fn help(program: &CompiledModule<'_>, deadlock: &Deadlock, circle: &[&Waiting]) -> String {
    let sends = |waiting: &&Waiting| waiting.want != Want::Token;
    let full = |waiting: &Waiting| {
        waiting
            .transfers
            .first()
            .map(|(id, _)| &program.channels[program.transfers[*id as usize].channel as usize])
    };
    let least = circle.iter().copied().filter(sends).filter_map(full).min_by_key(|channel| channel.depth);
    match least.or_else(|| deadlock.waiting.iter().filter(sends).find_map(full)) {
        Some(channel) => format!(
            "declare `{}` deeper than {}, or let a process consume before it sends",
            channel.name, channel.depth
        ),
        None => "send as many tokens as are consumed, and let one process send before it consumes".to_owned(),
    }
}

/// What is done with a channel that is closed.
pub(super) fn closed(program: &CompiledModule<'_>, fault: Closed) -> Diagnostic {
    let (does, at, closed, help) = match fault {
        Closed::Send { at, closed } => ("a token is sent to", at, closed, "close it behind the last `send`"),
        Closed::Again { at, closed } => ("a second `close` of", at, closed, "close it once"),
        Closed::Consume { at, closed } => (
            "nothing is left to consume from",
            at,
            closed,
            "send as many tokens as are consumed, or take what there is: `consume all c as s { … }`",
        ),
    };
    let close = &program.closes[closed as usize];
    let name = program.channels[close.channel as usize].name;
    Diagnostic::error(codes::CLOSED, format!("{does} `{name}`, which is closed"))
        .at(at, "")
        .label(close.span, "closed here")
        .help(help)
}
