//! Kernels that touch the same bytes: in which order, and whether one sees what the other wrote.

use super::access::Access;
use super::launches::{Arms, Asked, InOrder, LaidPairs, Steps};
use super::order::{Node, Order, Why};
use super::overlap::Overlaps;
use super::pairs::{Finder, Guess, Pair};
use super::reach::Lane;
use super::{Cx, NO_DATA_EDGE, NOT_ALL, NOT_VISIBLE, RACE, UNKNOWN_DIRECTION, error, note, warning};
use crate::Certainty;
use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use wsp_core::tg::{Direction, Instr, TensorNo};
use wsp_diag::Diagnostic;
use wsp_ordered::{Arrange, OrderedSet};

/// Steps after which ways that hold in some rounds only are not looked for: whether they order something is then not decided.
const MOST_STEPS_IN_ROUNDS: usize = 1 << 21;

pub(super) fn check(cx: &mut Cx<'_>, order: &Order) {
    let known = Rc::new(Overlaps::new(cx.known, cx.outline));
    let with_scalars = !std::ptr::eq(cx.known, cx.module);
    let any = if with_scalars { Rc::new(Overlaps::new(cx.module, cx.outline)) } else { Rc::clone(&known) };
    let (mut arms, laid) = (Arms::new(), RefCell::new(LaidPairs::new(Rc::clone(&known))));
    // A write takes the place of what comes before it. Where edges are left out, or what comes later here comes before as the graph is laid out, all
    // pairs are compared.
    for replaces in [order.is_whole, false] {
        let mut list = cx.accesses.list.clone();
        let mut guessed = vec![false; list.len()];
        let pairs = pairs(cx, order, (&mut list, &mut guessed), replaces, ([&known, &any], &mut arms));
        let flow = Flow { order, list: &list, guessed: &guessed, laid: &laid, kept: RefCell::default() };
        let ordered = [&pairs.sure, &pairs.open, &pairs.elsewhere].map(|pairs| flow.ordered(cx, pairs));
        if !replaces || !laid.borrow().are_reversed() {
            flow.report(cx, &pairs, ordered, &mut arms);
            break;
        }
    }
    unknown_directions(cx);
}

/// Pairs of accesses of which one writes, each pair of nodes once per tensor.
struct Pairs {
    /// They surely touch bytes in common, in one round.
    sure: Vec<Pair>,
    /// They may.
    open: Vec<Pair>,
    /// They may, in launches with other iterations than those of the host's.
    elsewhere: Vec<Pair>,
}

fn pairs(
    cx: &mut Cx<'_>,
    order: &Order,
    (list, guessed): (&mut [Access], &mut [bool]),
    replaces: bool,
    ([known, any], arms): ([&Overlaps<'_>; 2], &mut Arms),
) -> Pairs {
    let (outline, accesses) = (cx.outline, cx.accesses);
    let gives = |access: &Access| accesses.gives(access.node, access.tensor);
    let takes = |access: &Access| accesses.takes(access.node, access.tensor);
    let replacing = if replaces { 0 } else { u32::MAX };
    let mut finder =
        Finder { blocks: &outline.blocks, replacing, list, guessed, pairs: Vec::new(), steps: 0 };
    let mut left_out = None;
    for tensor in 0..outline.tensors.len() as u32 {
        let range = accesses.first[tensor as usize]..accesses.first[tensor as usize + 1];
        let mut by_rank: Vec<u32> = range.collect();
        let key = |at: &u32| {
            let access = &accesses.list[*at as usize];
            (access.graph, order.rank[access.node as usize], access.direction == Direction::Out, *at)
        };
        if !by_rank.is_sorted_by_key(key) {
            by_rank.arrange_by_key(key);
        }
        let begins_empty = cx.is_private(tensor);
        let guess = Guess { gives: &gives, takes: &takes, begins_empty };
        for graph in
            by_rank.chunk_by(|a, b| accesses.list[*a as usize].graph == accesses.list[*b as usize].graph)
        {
            if left_out.is_none() && !finder.tensor(graph, &guess) {
                left_out = Some(tensor);
            }
        }
    }
    let mut pairs = finder.pairs;
    if let Some(tensor) = left_out {
        cx.not_all_users(tensor);
    }
    pairs.arrange();
    pairs.dedup();
    let (mut open, mut elsewhere) = (Vec::new(), Vec::new());
    pairs.retain(|pair| {
        let (a, b) = (&list[pair.first as usize], &list[pair.second as usize]);
        let meets = match known.of(a, b) {
            Certainty::Never => Certainty::Never,
            _ if arms.together(cx, a, b) == Certainty::Never => {
                elsewhere.extend(arms.in_other_launches(cx, a, b).then_some(*pair));
                Certainty::Never
            }
            // What values of scalars decide is left to the run, which knows the order of the rounds and which kernels it starts.
            _ => any.of(a, b),
        };
        if meets == Certainty::Maybe {
            open.push(*pair);
        }
        meets == Certainty::Surely
    });
    let key = |pair: &Pair| {
        let (a, b) = (&list[pair.first as usize], &list[pair.second as usize]);
        (a.node, b.node, a.tensor, *pair)
    };
    for pairs in [&mut pairs, &mut open, &mut elsewhere] {
        pairs.arrange_by_key(key);
    }
    Pairs { sure: pairs, open, elsewhere }
}

pub(super) struct Flow<'a, 'm> {
    pub(super) order: &'a Order,
    pub(super) list: &'a [Access],
    pub(super) guessed: &'a [bool],
    laid: &'a RefCell<LaidPairs<'m>>,
    kept: RefCell<Kept>,
}

/// Pairs of which more is to be said than whether they are in order.
#[derive(Default)]
struct Kept {
    /// It takes too many steps to tell whether they are in order.
    undecided: OrderedSet<Pair>,
    /// They are in order with the iterations of the host's launches, and not with every other.
    by_iteration: OrderedSet<Pair>,
    /// They are in order where gangs run that may be skipped.
    by_gangs: OrderedSet<Pair>,
}

impl<'m> Flow<'_, 'm> {
    /// Whether a pair is in order where gangs run that may be skipped.
    pub(super) fn is_by_gangs(&self, pair: Pair) -> bool {
        self.kept.borrow().by_gangs.contains(&pair)
    }

    /// Says which pairs are in no order, and of which the second may not see what the first writes; keeps for the run what is not known here.
    fn report(&self, cx: &mut Cx<'m>, pairs: &Pairs, ordered: [Vec<bool>; 3], arms: &mut Arms) {
        let [ordered, open_ordered, ordered_elsewhere] = ordered;
        let unordered = |(pair, ordered): (&Pair, &bool)| (!ordered).then_some(*pair);
        let races = pairs.sure.iter().zip(&ordered).filter_map(unordered);
        let (by_gangs, races): (Vec<Pair>, Vec<Pair>) = races.partition(|pair| self.is_by_gangs(*pair));
        let mut conditional = Vec::new();
        for pair in races {
            let together = arms.together(cx, self.first(pair), self.second(pair));
            self.race(cx, pair, together);
            conditional.extend((together == Certainty::Maybe).then_some(pair));
        }
        conditional.extend(pairs.elsewhere.iter().zip(&ordered_elsewhere).filter_map(unordered));
        conditional.extend(&self.kept.borrow().by_iteration);
        let seen: Vec<Pair> = self.shown(&pairs.sure, &ordered);
        for (pair, is_visible) in seen.iter().zip(self.visible(cx, &seen)) {
            if !is_visible {
                self.unseen(cx, *pair);
            }
        }
        let open = [&pairs.open[..], &by_gangs].concat();
        let ordered = [&open_ordered[..], &vec![false; by_gangs.len()]].concat();
        self.left_open(cx, &open, &ordered);
        self.left_to_arms(cx, &conditional);
        self.not_decided(cx);
    }

    /// Pairs in order of which the second reads what the first writes.
    pub(super) fn shown(&self, pairs: &[Pair], ordered: &[bool]) -> Vec<Pair> {
        let reads = |pair: &Pair| self.first(*pair).writes() && self.second(*pair).reads();
        let ordered = pairs.iter().zip(ordered).filter(|(pair, ordered)| **ordered && reads(pair));
        ordered.map(|(pair, _)| *pair).collect()
    }

    pub(super) fn first(&self, pair: Pair) -> &Access {
        &self.list[pair.first as usize]
    }

    pub(super) fn second(&self, pair: Pair) -> &Access {
        &self.list[pair.second as usize]
    }

    fn rank(&self, node: u32) -> u32 {
        self.order.rank[node as usize]
    }

    /// Per pair whether the second comes after the first. Pairs stand by their first node.
    pub(super) fn ordered(&self, cx: &Cx<'m>, pairs: &[Pair]) -> Vec<bool> {
        let mut answers = vec![false; pairs.len()];
        let mut direct = vec![u32::MAX; self.order.rank.len()];
        let mut lanes = Vec::new();
        let mut asked = Vec::new();
        let mut at = 0;
        for group in pairs.chunk_by(|a, b| self.first(*a).node == self.first(*b).node) {
            let from = self.first(group[0]).node;
            for edge in self.order.from(Node(from)) {
                direct[edge.to as usize] = from;
            }
            let mut targets = Vec::new();
            for (offset, pair) in group.iter().enumerate() {
                let to = self.second(*pair).node;
                if direct[to as usize] == from {
                    answers[at + offset] = true;
                } else {
                    targets.push(self.rank(to));
                    asked.push(at + offset);
                }
            }
            if !targets.is_empty() {
                lanes.push(Lane { starts: vec![self.rank(from)], targets });
            }
            at += group.len();
        }
        let reached = self.order.ordered().reached(&lanes);
        let mut steps = Steps::new(MOST_STEPS_IN_ROUNDS);
        for (at, answer) in asked.into_iter().zip(reached.into_iter().flatten()) {
            answers[at] = answer || self.is_laid_out(cx, pairs[at], None, &mut steps);
        }
        answers
    }

    /// Whether a pair is in order in the graph as it is laid out. A pair for which no steps are left is noted, and passes for one in order, if the text has
    /// edges that hold in some rounds only.
    fn is_laid_out(&self, cx: &Cx<'m>, pair: Pair, shown: Option<TensorNo>, steps: &mut Steps) -> bool {
        let ends = [self.first(pair), self.second(pair)];
        let in_loop = |access: &Access| cx.outline.blocks.innermost_loop(access.block).is_some();
        if self.order.holds_always && (steps.are_over() || !ends.iter().any(|access| in_loop(access))) {
            return false;
        }
        let asked = Asked { pair: ends, shown };
        let answer = self.laid.borrow_mut().are_in_order((cx, self.order), asked, steps);
        let is_undecided = answer == InOrder::No && steps.are_over() && !self.order.holds_always;
        let mut kept = self.kept.borrow_mut();
        match answer {
            InOrder::ByIteration => _ = kept.by_iteration.insert(pair),
            InOrder::Maybe => _ = kept.by_gangs.insert(pair),
            InOrder::No if is_undecided => _ = kept.undecided.insert(pair),
            _ => {}
        }
        is_undecided || matches!(answer, InOrder::Yes | InOrder::ByIteration)
    }

    /// Says of which pairs it was not found out whether they are in order.
    fn not_decided(&self, cx: &mut Cx<'_>) {
        let undecided = std::mem::take(&mut self.kept.borrow_mut().undecided);
        let Some(&pair) = undecided.first() else { return };
        let (a, b) = (*self.first(pair), *self.second(pair));
        let names = [cx.node_name(Node(a.node)), cx.node_name(Node(b.node))];
        let message = format!(
            "whether `{}` comes before `{}`, which uses `{}` too, in every round was not decided",
            names[0],
            names[1],
            cx.tensor_name(a.tensor)
        );
        let mut found = cx.on(warning(NOT_ALL, message), b.at, &format!("{} it here", b.verb()));
        found = cx.and(found, a.at, &format!("{} it here", a.verb()));
        if undecided.len() > 1 {
            found = found.note(format!("and of {} more pairs", undecided.len() - 1));
        }
        found = found
            .note(format!("the rounds of unrolled loops were searched for {MOST_STEPS_IN_ROUNDS} steps"));
        let help = self.order_of(cx, &a, &b);
        cx.report(help.into_iter().fold(found, Diagnostic::help).help("or use loops of fewer rounds"));
    }

    /// Per pair whether the second sees what the first wrote.
    pub(super) fn visible(&self, cx: &Cx<'m>, pairs: &[Pair]) -> Vec<bool> {
        let fences = fences(cx);
        let mut answers: Vec<bool> = pairs.iter().map(|pair| self.fenced(cx, &fences, *pair)).collect();
        let mut lanes = Vec::new();
        let mut asked = Vec::new();
        let key = |pair: &Pair| (self.first(*pair).node, self.first(*pair).tensor);
        let mut order: Vec<usize> = (0..pairs.len()).filter(|&at| !answers[at]).collect();
        order.arrange_by_key(|&at| (key(&pairs[at]), at));
        for group in order.chunk_by(|a, b| key(&pairs[*a]) == key(&pairs[*b])) {
            let (from, tensor) = key(&pairs[group[0]]);
            let no = cx.outline.tensors[tensor as usize].no;
            let shown = self.order.from(Node(from)).iter().filter(|edge| edge.why.shows(no));
            let (mut starts, mut direct) = (Vec::new(), Vec::new());
            for edge in shown {
                direct.push(self.rank(edge.to));
                starts.extend(edge.always.then(|| self.rank(edge.to)));
            }
            let mut targets = Vec::new();
            for &at in group {
                let to = self.rank(self.second(pairs[at]).node);
                if direct.len() < 64 && direct.contains(&to) {
                    answers[at] = true;
                } else {
                    targets.push(to);
                    asked.push(at);
                }
            }
            if !targets.is_empty() {
                lanes.push(Lane { starts, targets });
            }
        }
        let reached = self.order.ordered().reached(&lanes);
        let mut steps = Steps::new(MOST_STEPS_IN_ROUNDS);
        for (at, answer) in asked.into_iter().zip(reached.into_iter().flatten()) {
            let no = cx.outline.tensors[self.first(pairs[at]).tensor as usize].no;
            answers[at] = answer || self.is_laid_out(cx, pairs[at], Some(no), &mut steps);
        }
        answers
    }

    /// Whether a fence stands between the two, and runs when they do.
    pub(super) fn fenced(&self, cx: &Cx<'_>, fences: &[u32], pair: Pair) -> bool {
        let (a, b) = (self.first(pair), self.second(pair));
        let between = &fences[fences.partition_point(|at| *at < a.place)..];
        between.iter().take_while(|at| **at < b.place).any(|&at| {
            let block = cx.outline.blocks.around(at);
            cx.outline.blocks.is_within(a.block, block) || cx.outline.blocks.is_within(b.block, block)
        })
    }

    fn race(&self, cx: &mut Cx<'_>, pair: Pair, together: Certainty) {
        let (mut a, mut b) = (*self.first(pair), *self.second(pair));
        let mut places = [pair.first, pair.second];
        if a.place > b.place {
            std::mem::swap(&mut a, &mut b);
            places.reverse();
        }
        let sure = places.iter().all(|at| !self.guessed[*at as usize]) && together == Certainty::Surely;
        let of = if sure { error } else { warning };
        if cx.is_full() {
            return cx.report(of(RACE, "no order".to_owned()));
        }
        let names = [cx.node_name(Node(a.node)), cx.node_name(Node(b.node))];
        let tensor = cx.tensor_name(a.tensor);
        let message = format!("`{}` and `{}` use `{tensor}` in no order", names[0], names[1]);
        let mut found = of(RACE, message);
        found = cx.on(found, b.at, &format!("{} it here", b.verb()));
        found = cx.and(found, a.at, &format!("{} it here", a.verb()));
        found = found.note(bytes_in_common(&a, &b));
        found = self.guesses(cx, found, &places);
        let help = self.order_of(cx, &a, &b);
        if help.is_none() {
            found = found.note("a gang holds them together: neither can wait for the other");
        }
        let apart = || format!("take `{}` out of its gang, or bind it to other bytes", names[1]);
        cx.report(found.help(help.unwrap_or_else(apart)));
    }

    /// The edge that orders two kernels; none if a gang makes every one a cycle.
    pub(super) fn order_of(&self, cx: &Cx<'_>, a: &Access, b: &Access) -> Option<String> {
        let (first, second) = match (self.may_follow(a.node, b.node), self.may_follow(b.node, a.node)) {
            (true, _) => (a, b),
            (false, true) => (b, a),
            (false, false) => return None,
        };
        let kind = match first.writes() && second.reads() {
            true => format!("DATA, {}", cx.tensor_name(a.tensor)),
            false => "AFTER".to_owned(),
        };
        Some(format!(
            "TG_DEPEND({}, {}, {kind})",
            cx.node_name(Node(first.node)),
            cx.node_name(Node(second.node))
        ))
    }

    /// Whether the second of two kernels may be told to wait for the first: members of a gang start when the last of them may, so the first must
    /// not wait for any mate of the second.
    fn may_follow(&self, first: u32, second: u32) -> bool {
        let starts = self.order.edges.iter().filter(|edge| edge.why == Why::Gang && edge.to == second);
        let mut open: Vec<u32> = starts.map(|edge| edge.from).collect();
        open.push(second);
        let mut seen: HashSet<u32> = open.iter().copied().collect();
        // What has a higher rank leads to others alone.
        let last = self.rank(first);
        while let Some(node) = open.pop() {
            let next = self.order.from(Node(node)).iter().map(|edge| edge.to);
            open.extend(next.filter(|to| self.rank(*to) <= last && seen.insert(*to)));
        }
        !seen.contains(&first)
    }

    fn unseen(&self, cx: &mut Cx<'_>, pair: Pair) {
        if cx.is_full() {
            return cx.report(warning(NO_DATA_EDGE, "not visible"));
        }
        let (a, b) = (*self.first(pair), *self.second(pair));
        let names = [cx.node_name(Node(a.node)), cx.node_name(Node(b.node))];
        let tensor = cx.tensor_name(a.tensor);
        let edges = self.order.from(Node(a.node));
        let after = edges.iter().find(|edge| edge.to == b.node && edge.why == Why::After);
        let mut found = match after {
            Some(edge) => {
                let message = format!("`{}` may not see `{tensor}` as `{}` wrote it", names[1], names[0]);
                let found = cx.on(
                    warning(NOT_VISIBLE, message),
                    edge.origin,
                    "orders them, and makes nothing visible",
                );
                cx.and(found, b.at, "read here")
            }
            None => {
                let message =
                    format!("a DATA edge for `{tensor}` is missing from `{}` to `{}`", names[0], names[1]);
                cx.on(warning(NO_DATA_EDGE, message), b.at, "read here, not surely as it was written")
            }
        };
        found = cx.and(found, a.at, "written here");
        found = self.guesses(cx, found, &[pair.first, pair.second]);
        found = found.help(format!("TG_DEPEND({}, {}, DATA, {tensor})", names[0], names[1]));
        if after.is_some() {
            found = found.help(format!("or put MC_FENCE(DEVICE) between `{}` and `{}`", names[0], names[1]));
        }
        cx.report(found);
    }

    /// Says what was guessed of the accesses of a finding.
    fn guesses(&self, cx: &Cx<'_>, mut found: Diagnostic, places: &[u32]) -> Diagnostic {
        for &at in places.iter().filter(|at| self.guessed[**at as usize]) {
            let access = &self.list[at as usize];
            let name = cx.node_name(Node(access.node));
            found = found.note(format!(
                "nothing says what `{name}` does with it: taken as one that {} it",
                access.verb()
            ));
        }
        found
    }
}

/// The fences of a unit, in the order of the text.
pub(super) fn fences(cx: &Cx<'_>) -> Vec<u32> {
    let instrs = (0..).zip(&cx.module.instrs);
    instrs.filter(|(_, instr)| matches!(instr, Instr::McFence { .. })).map(|(at, _)| at).collect()
}

fn bytes_in_common(a: &Access, b: &Access) -> String {
    let (low, high) = (a.low.max(b.low), a.high.min(b.high));
    if a.exact && b.exact && high < u64::MAX {
        format!("both touch bytes {low} to {high}")
    } else {
        "both touch the same bytes".to_owned()
    }
}

fn unknown_directions(cx: &mut Cx<'_>) {
    let mut unknown = cx.accesses.list.iter().filter(|access| !access.is_known() && !is_beyond(cx, access));
    let Some(first) = unknown.clone().min_by_key(|access| access.at).copied() else { return };
    let count = unknown.by_ref().count();
    let message = "nothing says whether kernels read or write some arguments";
    let found = cx.on(note(UNKNOWN_DIRECTION, message), first.at, "the first of them");
    let name = cx.node_name(Node(first.node));
    let found = found.note(format!("bindings without a direction, of kernels without a signature: {count}"));
    cx.report(found.help(format!(
        "give the kernels: `use \"FILE.pto\"`; or the direction: MC_BIND({name}, …, direction = IN)"
    )));
}

/// Whether a binding is of an argument that the kernel does not have, which is told elsewhere.
fn is_beyond(cx: &Cx<'_>, access: &Access) -> bool {
    let Instr::McBind { arg_index, .. } = cx.module.instrs[access.at as usize] else { return false };
    let signature = cx.signatures.get(cx.entry_of(access.node));
    signature.is_some_and(|signature| signature.args.len() <= arg_index as usize)
}
