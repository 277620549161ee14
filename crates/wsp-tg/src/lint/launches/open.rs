//! Launches whose bytes only a run knows: what a run has to compare them, and what it says of those that meet.

use super::super::access::{Access, verb_of};
use super::super::order::Node;
use super::super::{Cx, LAUNCHES};
use std::ops::Range;
use wsp_core::tg::{Direction, EventNo, GraphNo, Instr, IterNo};
use wsp_diag::{Diagnostic, Span};

/// What a run compares of launches on different streams.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OpenLaunches {
    /// Uses of bytes that may meet those of another launch in no order.
    pub uses: Vec<OpenUse>,
    /// By which events launches wait for each other.
    pub events: Vec<GraphEvents>,
}

/// A use of bytes by the launches of a graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenUse {
    /// The graph that is launched.
    pub graph: GraphNo,
    /// The instruction: a binding or a copy, or one with a condition or count.
    pub at: u32,
    /// What is done with the bytes; [`Direction::Auto`] if nothing says it.
    pub direction: Direction,
    /// The kernel's or copy's name, or what a condition or count is called.
    pub name: String,
    /// Who uses them.
    pub user: UsedBy,
    /// Where it stands.
    pub span: Span,
    /// Events that the graph signals only when this is complete, in every round; for the others see [`EventOrder`](super::EventOrder).
    pub signals: Vec<EventNo>,
    /// Waits of the graph before it does this.
    pub waits: Vec<UseWait>,
}

/// A wait before a use of bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UseWait {
    /// Its place in [`GraphEvents::waits`].
    pub wait: u32,
    /// Variables of the unrolled loops around both, the outermost first: a kernel that a launch may skip is waited for in the same round.
    pub iters: Vec<IterNo>,
}

/// Who uses bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum UsedBy {
    /// A kernel that is bound to them.
    Kernel,
    /// A copy.
    Copy,
    /// A condition or count, which loads them.
    Condition,
}

impl UsedBy {
    /// What messages call it, whose name is this.
    pub(super) fn said(self, name: &str) -> String {
        match self {
            UsedBy::Condition => name.to_owned(),
            _ => format!("`{name}`"),
        }
    }
}

/// Who does an access, with its name.
pub(super) fn user_of(cx: &Cx<'_>, access: &Access) -> (UsedBy, String) {
    let name = || cx.node_name(Node(access.node));
    match (access.load, &cx.module.instrs[access.at as usize]) {
        (None, Instr::McCopy { .. }) => (UsedBy::Copy, name()),
        (None, _) => (UsedBy::Kernel, name()),
        (Some(_), Instr::CfLoop { .. }) => (UsedBy::Condition, "the count of the loop".to_owned()),
        (Some(_), _) => (UsedBy::Condition, "the condition".to_owned()),
    }
}

/// Who uses bytes in a launch: with its name, and that of the graph.
type End<'a> = (UsedBy, &'a str, &'a str);

/// Says how an event orders a launch with a condition of another, if one of two ends is such; the first was submitted first.
pub(super) fn by_event(found: Diagnostic, first: End<'_>, second: End<'_>) -> Diagnostic {
    let ((_, name, graph), is_first) = match (first.0, second.0) {
        (UsedBy::Condition, _) => (first, true),
        (_, UsedBy::Condition) => (second, false),
        _ => return found,
    };
    let found = found.note(format!(
        "{name} is looked at as soon as kernels before it in `{graph}` have written what it loads: it waits for no event itself"
    ));
    let other = if is_first { second.2 } else { first.2 };
    found.help(match is_first {
        true => format!(
            "or an event: SY_SIGNAL(EVENT, KERNEL) of a kernel in `{graph}` that runs as {name} says, and SY_WAIT of it in `{other}`"
        ),
        false => format!(
            "or an event that `{other}` signals: SY_WAIT(EVENT, KERNEL) of a kernel in `{graph}` that writes what {name} then loads"
        ),
    })
}

impl OpenUse {
    /// Whether it may write the bytes.
    pub fn writes(&self) -> bool {
        self.direction != Direction::In
    }
}

/// Events of a graph that join its launches with those of other graphs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphEvents {
    /// The graph that is launched.
    pub graph: GraphNo,
    /// Those that it signals.
    pub signals: Vec<EventNo>,
    /// Its waits.
    pub waits: Vec<EventWait>,
    /// Waits by their place, and what it signals behind them.
    pub before: Vec<(u32, EventNo)>,
}

/// A wait of a graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventWait {
    /// The event.
    pub event: EventNo,
    /// The kernel that waits, by its instruction, if a launch may skip it. Then the launch waits for nothing.
    pub kernel: Option<u32>,
}

/// A use of bytes by a launch.
#[derive(Clone, Debug)]
pub struct LaunchUse<'a> {
    /// What is used.
    pub of: &'a OpenUse,
    /// The graph's name.
    pub graph: &'a str,
    /// Which launch it is, from 1 on in the order of submission.
    pub launch: u64,
    /// The stream's name.
    pub stream: &'a str,
    /// The iteration.
    pub iteration: i64,
    /// Where the launch stands.
    pub launched: Span,
}

impl LaunchUse<'_> {
    /// What a run says whose launches met; `self` was submitted first.
    pub fn meets(&self, other: &LaunchUse<'_>, tensor: &str, bytes: Range<u64>) -> Diagnostic {
        let is_same = self.of.graph == other.of.graph;
        let is_guess = [self, other].iter().any(|end| end.of.direction == Direction::Auto);
        let message = match is_same {
            true => format!("two launches of graph `{}` use `{tensor}` in no order", self.graph),
            false => {
                let graphs = (self.graph, other.graph);
                format!("launches of graphs `{}` and `{}` use `{tensor}` in no order", graphs.0, graphs.1)
            }
        };
        let of = if is_same || is_guess { Diagnostic::warning } else { Diagnostic::error };
        let mut found = of(LAUNCHES, message);
        let places = [
            (other.launched, "submitted while the other may run".to_owned()),
            (self.launched, "the other launch".to_owned()),
            (self.of.span, format!("{} of the other {} it here", self.user(), self.verb())),
            (other.of.span, format!("{} {} it here", other.user(), other.verb())),
        ];
        for (span, text) in places.iter().filter(|(span, _)| *span != Span::default()) {
            found = match found.primary.is_none() {
                true => found.at(*span, text),
                false => found.label(*span, text),
            };
        }
        found = found.note(self.told()).note(other.told());
        found = found.note(format!("both touch bytes {} to {} of `{tensor}`", bytes.start, bytes.end));
        if is_same {
            found = found.note("a simulation runs them one after another; a device does not");
        }
        found = found.note("TG_SYNC behind the other launch orders them, and so does one stream for both");
        found = found.help(format!("TG_SYNC({})", self.graph));
        if is_same || [self, other].iter().any(|end| end.of.user == UsedBy::Copy) {
            return found;
        }
        if [self, other].iter().any(|end| end.of.user == UsedBy::Condition) {
            return by_event(found, self.end(), other.end());
        }
        found.help(format!(
            "or an event: SY_SIGNAL(EVENT, {}) in `{}`, SY_WAIT(EVENT, {}) in `{}`",
            self.of.name, self.graph, other.of.name, other.graph
        ))
    }

    fn end(&self) -> End<'_> {
        (self.of.user, &self.of.name, self.graph)
    }

    fn user(&self) -> String {
        self.of.user.said(&self.of.name)
    }

    fn verb(&self) -> &'static str {
        verb_of(self.of.direction)
    }

    fn told(&self) -> String {
        let LaunchUse { of, graph, launch, stream, iteration, .. } = self;
        let user = of.user.said(&of.name);
        format!("{user} in launch {launch}, of graph `{graph}` on stream {stream}, iteration {iteration}")
    }
}
