//! Whether one access comes behind another in every round of the loops around them, by edges of which some hold in some rounds only.

use super::rounds::{Numbers, Rounds};
use super::{Edge, Node, Order};
use crate::Certainty;
use crate::lint::Cx;
use crate::lint::access::Access;
use crate::lint::launches::Steps;
use crate::lint::overlap::overlap_where;
use std::collections::HashSet;
use wsp_core::tg::{Instr, TensorNo};
use wsp_ir::tg::TgModule;
use wsp_ir::tg::outline::{BlockId, Variable};

/// Which rounds of a loop are gone through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Which {
    All,
    First,
    Last,
}

impl Rounds<'_> {
    /// Whether the second of two accesses comes after the first in every round of the loops around them in which they run and touch the same bytes; of
    /// loops around both, in the same round. By a way that begins with an edge which shows a tensor, if one is given. Where no steps are left, the
    /// answer is `false`.
    pub(in super::super) fn is_behind(
        &self,
        (cx, order): (&Cx<'_>, &Order),
        pair: [&Access; 2],
        shown: Option<TensorNo>,
        steps: &mut Steps,
    ) -> bool {
        if order.needs.is_empty() {
            return false;
        }
        let (meet, ..) = self.outline.blocks.meet(pair[0].block, pair[1].block);
        let mut loops = self.rounds_around(meet, None, Which::All);
        for (access, nearest) in [(pair[0], Which::Last), (pair[1], Which::First)] {
            let which = if self.is_carried(access, meet) { nearest } else { Which::All };
            loops.extend(self.rounds_around(access.block, Some(meet), which));
        }
        let mut is_behind = |numbers: &Numbers| {
            self.is_apart(cx.known, pair, numbers) || self.leads((cx, order), pair, shown, numbers, steps)
        };
        self.each_round(&loops, &mut Vec::new(), &mut is_behind)
    }

    /// The unrolled loops around a block and inside of another block around it, the outermost first.
    fn rounds_around(&self, block: BlockId, end: Option<BlockId>, which: Which) -> Vec<(BlockId, Which)> {
        let around = self.outline.blocks.outwards(block).take_while(|(id, _)| Some(*id) != end);
        let unrolled = around.filter(|(id, def)| def.kind.is_loop() && self.is_unrolled(*id));
        let mut loops: Vec<(BlockId, Which)> = unrolled.map(|(id, _)| (id, which)).collect();
        loops.reverse();
        loops
    }

    /// Whether what an access does in a round comes behind what it does in the one before, in loops up to a block around it: it writes the same bytes in
    /// each, and runs in each.
    fn is_carried(&self, access: &Access, end: BlockId) -> bool {
        access.exact && self.writes_each_round(access, end)
    }

    /// Whether an access surely writes, in each round of loops up to a block around it.
    pub(in super::super) fn writes_each_round(&self, access: &Access, end: BlockId) -> bool {
        let mut around = self.outline.blocks.outwards(access.block).take_while(|(id, _)| *id != end);
        access.writes()
            && access.is_known()
            && around.all(|(id, def)| def.kind.is_loop() && self.is_unrolled(id))
    }

    /// Whether something is so in rounds of some loops, the outermost first.
    fn each_round(
        &self,
        loops: &[(BlockId, Which)],
        numbers: &mut Numbers,
        is_so: &mut dyn FnMut(&Numbers) -> bool,
    ) -> bool {
        let Some((&(outermost, which), inner)) = loops.split_first() else { return is_so(numbers) };
        let def = self.outline.blocks.get(outermost);
        let count = match self.module.instrs[def.open as usize] {
            Instr::CfLoop { count, .. } => self.number(def.parent, count, numbers),
            _ => None,
        };
        count.is_some_and(|count| {
            let mut rounds = match which {
                Which::All => 0..count,
                Which::First => 0..count.min(1),
                Which::Last => (count - 1).max(0)..count,
            };
            rounds.all(|number| {
                numbers.push((outermost, number));
                let is_so = self.each_round(inner, numbers, is_so);
                numbers.pop();
                is_so
            })
        })
    }

    /// Whether two accesses do not both run in a round, or touch no bytes in common.
    fn is_apart(&self, known: &TgModule, pair: [&Access; 2], numbers: &Numbers) -> bool {
        let is_ruled_out = |access: &Access| {
            self.decided(access.block)
                .any(|(_, def, scalar)| self.stands((def, scalar), numbers) == Some(false))
        };
        let values = |access: &Access| -> Vec<(Variable, i64)> {
            let of = |&(counted, number): &(BlockId, i64)| {
                let open = self.outline.blocks.get(counted).open;
                let Instr::CfLoop { iterator, .. } = self.module.instrs[open as usize] else { return None };
                let is_its = self.outline.loop_of(self.module, access.block, iterator) == Some(counted);
                is_its.then_some((Variable::Loop(iterator), number))
            };
            numbers.iter().filter_map(of).collect()
        };
        let [of_first, of_second] = pair.map(values);
        pair.into_iter().any(is_ruled_out)
            || overlap_where(known, self.outline, (pair[0], &of_first), (pair[1], &of_second))
                == Certainty::Never
    }

    /// Whether one node leads to another with these numbers. Of loops around neither, a way goes through some round.
    fn leads(
        &self,
        (cx, order): (&Cx<'_>, &Order),
        pair: [&Access; 2],
        shown: Option<TensorNo>,
        numbers: &Numbers,
        steps: &mut Steps,
    ) -> bool {
        let [from, to] = pair.map(|access| access.node);
        let last = order.rank[to as usize];
        let mut seen = HashSet::new();
        let mut open = vec![(from, numbers.clone())];
        while let Some((node, here)) = open.pop() {
            for edge in order.from(Node(node)) {
                let Edge { to: next, why, needs, .. } = *edge;
                if !steps.spend(1) {
                    return false;
                }
                if order.rank[next as usize] > last
                    || (node == from && shown.is_some_and(|shown| !why.shows(shown)))
                {
                    continue;
                }
                let needs = needs.map(|needs| &order.needs[needs as usize]);
                let mut is_led = |there: &Numbers| {
                    if !steps.spend(1) {
                        return false;
                    }
                    let mut both = here.clone();
                    both.extend(there.iter().filter(|number| !here.contains(number)));
                    if seen.contains(&(next, there.clone()))
                        || needs.is_some_and(|needs| !self.holds(cx, needs, pair, &both, steps))
                    {
                        return true;
                    }
                    seen.insert((next, there.clone()));
                    open.push((next, there.clone()));
                    true
                };
                let block = order.block(self.outline, next);
                let (loops, mut there) = self.rounds_of(block, pair, numbers, &here);
                self.each_round(&loops, &mut there, &mut is_led);
                if seen.contains(&(to, numbers.clone())) {
                    return true;
                }
            }
        }
        false
    }

    /// Unrolled loops around a block, and around neither of a pair, whose numbers are not known where one comes from, and the numbers that are.
    fn rounds_of(
        &self,
        block: BlockId,
        pair: [&Access; 2],
        numbers: &Numbers,
        here: &Numbers,
    ) -> (Vec<(BlockId, Which)>, Numbers) {
        let (mut loops, mut known) = (Vec::new(), numbers.clone());
        for (id, def) in self.outline.blocks.outwards(block) {
            let is_around_pair = pair.iter().any(|access| self.outline.blocks.is_within(access.block, id));
            if is_around_pair || !def.kind.is_loop() || !self.is_unrolled(id) {
                continue;
            }
            match here.iter().find(|(of, _)| *of == id) {
                Some(number) => known.push(*number),
                None => loops.push((id, Which::All)),
            }
        }
        loops.reverse();
        (loops, known)
    }
}
