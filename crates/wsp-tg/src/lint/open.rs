//! Pairs of kernels whose bytes are known only when the graph runs.

use super::access::Access;
use super::flow::{Flow, fences};
use super::order::Node;
use super::pairs::Pair;
use super::values::depends_on;
use super::{AT_LAUNCH, Cx, NOT_ALL, note, warning};
use wsp_core::tg::{Direction, GraphNo, Instr, IterNo};
use wsp_diag::{Diagnostic, Span};
use wsp_ordered::Arrange;

/// Pairs that are reported one by one.
const MOST_TOLD: usize = 16;
/// Pairs that are left to the run.
const MOST_OPEN: usize = 1 << 14;

/// Two kernels of a graph that are in no order, or of which the second may not see what the first wrote, if a run binds them to bytes in common and
/// does not lay them out in such an order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenPair {
    /// The graph that defines them.
    pub graph: GraphNo,
    /// The two, the one that stands first in the program first.
    pub ends: [OpenEnd; 2],
    /// Variables of the loops around both: only what is bound in the same round is compared.
    pub iters: Vec<IterNo>,
    /// Instructions that begin the loops around both.
    pub loops: Vec<u32>,
    /// The tensor, or one of several.
    pub tensor: String,
    /// Whether they are in no order that the program states; else what the first writes is not made visible.
    pub is_race: bool,
    /// Whether a fence between the two makes visible what one of them writes.
    pub is_fenced: bool,
    /// Whether it was guessed what one of the two does.
    pub is_guess: bool,
    /// What ends it.
    pub help: String,
}

/// A binding of a kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenEnd {
    /// The instruction that defines the kernel.
    pub kernel: u32,
    /// The argument.
    pub arg: u32,
    /// What it does with its bytes.
    pub direction: Direction,
    /// The kernel's name.
    pub name: String,
    /// Where the binding stands.
    pub span: Span,
}

impl<'m> Flow<'_, 'm> {
    /// Says which pairs cannot be compared here, and keeps them for the run.
    pub(super) fn left_open(&self, cx: &mut Cx<'m>, pairs: &[Pair], ordered: &[bool]) {
        let kernels = cx.outline.kernels.len() as u32;
        let is_kernel =
            |pair: &&Pair| self.first(**pair).node < kernels && self.second(**pair).node < kernels;
        let (pairs, ordered): (Vec<Pair>, Vec<bool>) =
            pairs.iter().zip(ordered).filter(|(pair, _)| is_kernel(pair)).unzip();
        let follows = self.shown(&pairs, &ordered);
        let visible = self.visible(cx, &follows);
        let races =
            pairs.iter().zip(&ordered).filter(|(_, ordered)| !**ordered).map(|(pair, _)| (*pair, true));
        let unseen = follows.iter().zip(&visible).filter(|(_, seen)| !**seen).map(|(pair, _)| (*pair, false));
        let mut open: Vec<(Pair, bool)> = races.chain(unseen).collect();
        open.arrange();
        let (count, fences) = (open.len(), fences(cx));
        for (at, (pair, is_race)) in open.into_iter().take(MOST_OPEN).enumerate() {
            let Some(made) = self.open_pair(cx, (pair, &fences), is_race) else { continue };
            if at < MOST_TOLD {
                self.tell_open(cx, pair, &made);
            }
            cx.open.push(made);
        }
        if count > MOST_TOLD {
            let message = format!(
                "{} more pairs of kernels are compared only when their graphs run",
                count - MOST_TOLD
            );
            cx.report(match count.checked_sub(MOST_OPEN) {
                None | Some(0) => note(NOT_ALL, message),
                Some(rest) => {
                    warning(NOT_ALL, message).note(format!("{rest} of them are not compared at all"))
                }
            });
        }
    }

    /// Keeps for the run kernels that it may start both, as their conditions go: it stops at the second.
    pub(super) fn left_to_arms(&self, cx: &mut Cx<'_>, pairs: &[Pair]) {
        let rest = MOST_OPEN.saturating_sub(cx.open.len());
        let fences = fences(cx);
        let made = pairs.iter().filter_map(|pair| self.open_pair(cx, (*pair, &fences), true));
        let made: Vec<OpenPair> = made.take(rest).collect();
        cx.open.extend(made);
    }

    fn open_pair(&self, cx: &Cx<'_>, (pair, fences): (Pair, &[u32]), is_race: bool) -> Option<OpenPair> {
        let mut places = [pair.first, pair.second];
        if is_race && self.list[places[0] as usize].place > self.list[places[1] as usize].place {
            places.reverse();
        }
        let [a, b] = places.map(|at| self.list[at as usize]);
        let end = |access: &Access| {
            let Instr::McBind { arg_index, .. } = cx.module.instrs[access.at as usize] else { return None };
            Some(OpenEnd {
                kernel: cx.outline.kernels[access.node as usize].at,
                arg: arg_index,
                direction: access.direction,
                name: cx.node_name(Node(access.node)),
                span: cx.module.spans.get(access.at as usize).copied().unwrap_or_default(),
            })
        };
        let (meet, ..) = cx.outline.blocks.meet(a.block, b.block);
        let around = cx.outline.blocks.outwards(meet).filter(|(_, block)| block.kind.is_loop());
        let loops: Vec<u32> = around.map(|(_, block)| block.open).collect();
        let iters = loops.iter().filter_map(|&at| match cx.module.instrs[at as usize] {
            Instr::CfLoop { iterator, .. } => Some(iterator),
            _ => None,
        });
        let tensor = cx.tensor_name(a.tensor);
        let ends = [end(&a)?, end(&b)?];
        let help = match is_race {
            true => self.order_of(cx, &a, &b),
            false => Some(format!("TG_DEPEND({}, {}, DATA, {tensor})", ends[0].name, ends[1].name)),
        };
        let help = help.unwrap_or_else(|| format!("bind `{}` to other bytes", ends[1].name));
        Some(OpenPair {
            graph: cx.graph_no(a.graph),
            iters: iters.collect(),
            loops,
            tensor,
            is_race,
            is_fenced: self.fenced(cx, fences, Pair { first: places[0], second: places[1] }),
            is_guess: places.iter().any(|at| self.guessed[*at as usize]),
            help,
            ends,
        })
    }

    fn tell_open(&self, cx: &mut Cx<'_>, pair: Pair, open: &OpenPair) {
        let [a, b] = &open.ends;
        let (first, second) = (*self.first(pair), *self.second(pair));
        let by_gangs = self.is_by_gangs(pair);
        let message = match open.is_race {
            true if by_gangs => format!(
                "`{}` and `{}` use `{}` in an order only where gangs between them run",
                a.name, b.name, open.tensor
            ),
            true => format!(
                "`{}` and `{}` use `{}` in no order, maybe the same bytes",
                a.name, b.name, open.tensor
            ),
            false => format!("`{}` may not see bytes of `{}` that `{}` wrote", b.name, open.tensor, a.name),
        };
        let (later, earlier) = if first.place > second.place { (first, second) } else { (second, first) };
        let label = |access: &Access| {
            let on = depends_on(cx, access);
            if on.is_empty() { "bound here".to_owned() } else { format!("depends on {on}") }
        };
        let found = cx.on(note(AT_LAUNCH, message), later.at, &label(&later));
        let found = cx.and(found, earlier.at, &label(&earlier));
        let found = found.note(match by_gangs {
            true => {
                "not checked here: every run looks whether they do, before it starts the second of the two"
            }
            false => "not checked here: every run compares the bytes before it starts the second of the two",
        });
        cx.report(found.help(open.help.clone()));
    }
}

impl OpenPair {
    /// What a run says whose kernels met in no order.
    pub fn race(&self) -> Diagnostic {
        let [a, b] = &self.ends;
        let of = if self.is_guess { Diagnostic::warning } else { Diagnostic::error };
        let message = format!("`{}` and `{}` use `{}` in no order", a.name, b.name, self.tensor);
        self.at_both(of(super::RACE, message)).help(self.help.clone())
    }

    /// What a run says where one end comes first and writes what the other may not see; nothing if the other does not read it.
    pub fn unseen(&self, first: usize) -> Option<Diagnostic> {
        let (a, b) = (&self.ends[first], &self.ends[1 - first]);
        if a.direction == Direction::In || b.direction == Direction::Out {
            return None;
        }
        let message = format!("`{}` may not see `{}` as `{}` wrote it", b.name, self.tensor, a.name);
        let found = self.at_both(Diagnostic::warning(super::NO_DATA_EDGE, message));
        Some(found.help(format!("TG_DEPEND({}, {}, DATA, {})", a.name, b.name, self.tensor)))
    }

    fn at_both(&self, found: Diagnostic) -> Diagnostic {
        let [a, b] = &self.ends;
        match a.span == Span::default() {
            true => found,
            false => found.at(b.span, "bound here").label(a.span, "bound here"),
        }
    }
}
