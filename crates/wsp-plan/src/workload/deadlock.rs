//! Pipelines that cannot go on, and channels that are closed, as the user sees them.

use super::eval::count;
use super::{codes, fault};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::{Channel, StatementKind};
use wsp_ordered::OrderedMap;

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
    pub(crate) channel: &'n Channel,
    /// Slots that are taken.
    pub(crate) held: u64,
    pub(crate) depth: u64,
    /// Whether all of them are those of a send under way, and of sends after it.
    pub(crate) sending: bool,
    /// The process at its other end.
    pub(crate) other: Option<&'n str>,
    /// Whether a process sends to it, and whether one closes it, perhaps.
    pub(crate) sends: bool,
    pub(crate) closes: bool,
}

/// A channel of a pipeline whose processes cannot end, as its counts say.
#[derive(Debug)]
pub(crate) struct Unbalanced<'n> {
    /// Where the pipeline stands.
    pub(crate) span: Span,
    pub(crate) channel: &'n Channel,
    /// The process that sends and the one that consumes, and where.
    pub(crate) ends: [Option<(&'n str, Span)>; 2],
    /// Tokens that are sent and consumed in so many runs of the pipeline.
    pub(crate) counts: [u64; 2],
    pub(crate) runs: u64,
    pub(crate) depth: u32,
}

/// That more is consumed than is sent, or more is sent than is consumed and the channel holds.
pub(crate) fn unbalanced(found: &Unbalanced<'_>) -> Diagnostic {
    let Unbalanced { channel, ends, counts: [sent, consumed], runs, depth, .. } = found;
    let name = channel.shown();
    let is_short = consumed > sent;
    let why = match is_short {
        true => format!("{consumed} tokens are consumed from `{name}`, and {sent} sent"),
        false => {
            format!("{sent} tokens are sent to `{name}`, which holds {depth}, and {consumed} are consumed")
        }
    };
    let message = format!("no process of the pipeline can go on: {why}");
    let mut diagnostic = Diagnostic::error(codes::DEADLOCK, message).at(found.span, "");
    for ((process, span), (does, times)) in ends
        .iter()
        .zip([("sends to", sent), ("consumes from", consumed)])
        .filter_map(|(end, of)| Some(((*end)?, of)))
    {
        let name = channel.written(does == "sends to");
        diagnostic = diagnostic.label(span, format!("`{process}` {does} `{name}` {}", count(*times, "time")));
    }
    if *runs != 1 {
        diagnostic = diagnostic.note(format!("in {} of the pipeline", count(*runs, "run")));
    }
    let waits = ends[usize::from(is_short)].map_or("a process", |(process, _)| process);
    let what = if is_short { "another token" } else { "a free slot" };
    diagnostic.note(format!("in the end `{waits}` waits for {what} that does not come")).help(
        match is_short {
            true => "send as often as is consumed",
            false => "consume as often as is sent",
        },
    )
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
    let (chain, is_circle) = chain(deadlock);
    let ended = match &*chain {
        _ if is_circle => None,
        [.., last] => ended(deadlock, last),
        [] => None,
    };
    let to = if is_circle { chain.first().map(|waiting| waiting.process) } else { ended };
    if let ([first, rest @ ..], Some(to)) = (&*chain, to) {
        let mut text = format!("`{}` waits for", first.process);
        rest.iter().for_each(|waiting| text += &format!(" `{0}`, and `{0}` for", waiting.process));
        let end = match is_circle {
            true if chain.iter().all(|waiting| is_for_close(waiting)) => ", each for a `close`",
            true => "",
            false => ", which has ended",
        };
        let whom = if is_circle && rest.is_empty() { "itself".to_owned() } else { format!("`{to}`") };
        diagnostic = diagnostic.note(format!("{text} {whom}{end}"));
    }
    diagnostic.help(help(deadlock, &chain, is_circle))
}

/// Whether a process waits for a `close` alone, as nothing is sent.
fn is_for_close(waiting: &Waiting<'_>) -> bool {
    waiting.want == Want::Rest && waiting.channels.iter().all(|channel| !channel.sends)
}

/// Processes each of which waits for the next one: a circle where there is one, in which the last waits for the first (true); else those from the
/// first process on.
fn chain<'d, 'n>(deadlock: &'d Deadlock<'n>) -> (Vec<&'d Waiting<'n>>, bool) {
    let all = &deadlock.waiting;
    let places: OrderedMap<&str, usize> = all.iter().map(|waiting| waiting.process).zip(0..).collect();
    let nexts: Vec<Vec<usize>> = all
        .iter()
        .map(|waiting| {
            let others = waiting.channels.iter().filter_map(|channel| channel.other);
            others.filter_map(|other| places.get(&other).copied()).collect()
        })
        .collect();
    let mut seen = vec![false; all.len()];
    for start in 0..all.len() {
        // A process, and how many of those that it waits for were looked at.
        let mut path = vec![(start, 0)];
        while let Some((at, looked)) = path.last_mut() {
            let Some(next) = nexts[*at].get(*looked).copied() else {
                path.pop();
                continue;
            };
            *looked += 1;
            if let Some(from) = path.iter().position(|(on_path, _)| *on_path == next) {
                return (path[from..].iter().map(|(at, _)| &all[*at]).collect(), true);
            }
            if !std::mem::replace(&mut seen[next], true) {
                path.push((next, 0));
            }
        }
    }
    let next = |at: &usize| nexts[*at].first().copied();
    let first = (!all.is_empty()).then_some(0);
    (std::iter::successors(first, next).map(|at| &all[at]).collect(), false)
}

/// A process that has ended and is waited for.
fn ended<'n>(deadlock: &Deadlock<'n>, waiting: &Waiting<'n>) -> Option<&'n str> {
    let mut others = waiting.channels.iter().filter_map(|channel| channel.other);
    others.find(|other| deadlock.ended.contains(other))
}

/// Names the full channel of the smallest depth in a circle; without a circle, what the last of a chain waits for in vain.
fn help<'n>(deadlock: &Deadlock<'n>, chain: &[&Waiting<'n>], is_circle: bool) -> String {
    fn full<'d, 'n>(waiting: &'d Waiting<'n>) -> Option<&'d Full<'n>> {
        waiting.channels.first().filter(|_| waiting.want.sends())
    }
    if let ([waiting], true) = (chain, is_circle)
        && let Some(own) = waiting.channels.iter().find(|channel| channel.other == Some(waiting.process))
        && (own.sending || waiting.want == Want::Token)
    {
        return of_itself(waiting.want, own);
    }
    let least = chain.iter().copied().filter_map(full).min_by_key(|channel| channel.depth);
    let deepest = if is_circle { least } else { chain.last().copied().and_then(full) };
    if let Some(Full { channel, depth, .. }) = deepest {
        let name = channel.shown();
        return format!("declare `{name}` deeper than {depth}, or let a process consume before it sends");
    }
    let last = chain.last().filter(|last| !is_circle && last.want == Want::Rest);
    let unclosed = last.and_then(|last| {
        let is_ended =
            |channel: &&Full<'n>| channel.other.is_some_and(|other| deadlock.ended.contains(&other));
        last.channels.iter().find(is_ended).or(last.channels.first())
    });
    match unclosed {
        Some(Full { channel, closes: true, .. }) => {
            let name = channel.written(true);
            format!("let `close {name};` run whenever the last token was sent: it stands where it did not")
        }
        Some(Full { channel, .. }) => {
            format!("close the channel behind the last `send`: `close {};`", channel.written(true))
        }
        None if chain.iter().all(|waiting| is_for_close(waiting)) => {
            "let one process `close` before it consumes".to_owned()
        }
        None if chain.iter().any(|waiting| waiting.want == Want::Rest) => {
            "let one process send or `close` before it consumes".to_owned()
        }
        None => "send as many tokens as are consumed, and let one process send before it consumes".to_owned(),
    }
}

/// What lets a process go on that waits for a send of its own.
fn of_itself(want: Want, Full { channel, depth, sending, .. }: &Full<'_>) -> String {
    let name = channel.written(true);
    let deeper = match (want, depth) {
        (Want::Slot, depth) => format!("declare `{name}` deeper than {}, or ", depth.max(&1)),
        // What a process sends to itself stays in the channel until it consumes.
        (_, 0) => format!("declare `{name}` deeper than 0, and "),
        _ => String::new(),
    };
    let before = match (want, sending) {
        (Want::Slot, _) => format!("end the block of `send {name}` before the next one begins"),
        (_, true) => format!("end the block of `send {name}` before the `consume` begins"),
        (_, false) => format!("send to `{name}` as often as is consumed, and before it"),
    };
    deeper + &before
}

/// What is done at `at` with a channel that was closed at `by`.
pub(crate) fn closed(done: StatementKind, channel: &Channel, at: Span, by: Span) -> Diagnostic {
    let name = channel.written(matches!(done, StatementKind::Send | StatementKind::Close));
    let (does, help) = match done {
        StatementKind::Send => ("a token is sent to", format!("put `close {name};` behind the last `send`")),
        StatementKind::Close => {
            ("a second `close` of", format!("write `close {name};` once, behind the last `send`"))
        }
        _ => (
            "nothing is left to consume from",
            format!(
                "send as many tokens as are consumed, or take what there is: `consume all {name} as s {{ … }}`"
            ),
        ),
    };
    Diagnostic::error(codes::CLOSED, format!("{does} `{name}`, which is closed"))
        .at(at, "")
        .label(by, "closed here")
        .help(help)
}

/// What a process waits for.
fn what(waiting: &Waiting<'_>) -> String {
    let of = |Full { channel, held, depth, .. }: &Full<'_>| {
        let name = channel.written(waiting.want.sends());
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
