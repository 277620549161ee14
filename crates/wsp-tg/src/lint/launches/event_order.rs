//! Which nodes of a plan come before signals of its graph and behind its waits.

use super::levels::{Levels, reach, starts_with_gang};
use crate::plan::GraphPlan;
use wsp_core::tg::image::{DecisionRecord, NONE, WHEN_NONZERO, WHEN_ZERO};
use wsp_core::tg::{EventNo, ExprOp, Scalar};
use wsp_ordered::{OrderedMap, OrderedSet};

/// Which nodes of a plan come before signals and behind waits for events.
#[derive(Debug, Default)]
pub struct EventOrder {
    levels: Levels,
    /// Of each event, whether nodes come before a signal of it.
    before: OrderedMap<EventNo, Vec<bool>>,
    /// Of each event, whether they come behind a wait for it that takes place in every launch.
    behind: OrderedMap<EventNo, Vec<bool>>,
}

impl EventOrder {
    /// That of a graph.
    pub fn new(plan: &GraphPlan) -> EventOrder {
        let levels = Levels::new(plan);
        let mut behind = OrderedMap::new();
        for wait in plan.event_waits.iter().filter(|wait| levels.is_certain(plan, wait.node)) {
            join(behind.entry(wait.event).or_default(), &levels.behind(plan, wait.node, |_| true));
        }
        EventOrder { before: before_signals(plan, &levels), behind, levels }
    }

    /// Whether a node is complete before the graph signals an event.
    pub fn is_before(&self, node: u32, event: EventNo) -> bool {
        has(&self.before, node, event)
    }

    /// Whether a node starts behind a wait for an event in every launch.
    pub fn is_behind(&self, node: u32, event: EventNo) -> bool {
        has(&self.behind, node, event)
    }

    /// Whether a node is one of some, or comes behind one of them.
    pub fn leads(&self, plan: &GraphPlan, from: &[u32], to: u32) -> bool {
        from.iter().any(|node| self.led_to(plan, *node)[to as usize])
    }

    /// Of each node whether it is one, or comes behind it; of nodes in a loop that runs at run time, in the same round.
    pub fn led_to(&self, plan: &GraphPlan, from: u32) -> Vec<bool> {
        self.levels.behind(plan, from, |_| true)
    }

    /// The same where members of gangs with these guards run.
    pub fn led_to_where(&self, plan: &GraphPlan, from: u32, on: &[u32]) -> Vec<bool> {
        let starts = |member: u32, other: u32| {
            starts_with_gang(plan, member, other) || on.contains(&plan.records.nodes[member as usize].guard)
        };
        self.levels.behind_by(plan, from, |_| true, |_| true, starts)
    }

    /// Guards of members of gangs that are on in a launch by values that stay as they are: `value` gives conditions that name no round.
    pub fn guards_on(plan: &GraphPlan, value: impl Fn(Scalar) -> Option<i64>) -> Vec<u32> {
        let records = &plan.records;
        let guards = records.members.iter().map(|member| records.nodes[*member as usize].guard);
        let guards: OrderedSet<u32> = guards.filter(|guard| *guard != NONE).collect();
        let parent = |guard: &u32| Some(records.guards.get(*guard as usize)?.parent);
        let is_on = |guard: u32| {
            let decides = |of: &&DecisionRecord| (of.first..of.first + of.len).contains(&guard);
            let decision = records.decisions.iter().find(decides)?;
            let condition = plan.conditions[decision.condition as usize].value;
            let varies = |op: &ExprOp| matches!(op, ExprOp::Iter(_) | ExprOp::Load(..));
            let ops = plan.expr(condition).iter().take_while(|op| **op != ExprOp::End);
            let holds = if ops.clone().any(varies) { None } else { value(condition) }? != 0;
            Some(records.guards[guard as usize].when == if holds { WHEN_NONZERO } else { WHEN_ZERO })
        };
        let is_on = |guard: &u32| *guard == NONE || is_on(*guard) == Some(true);
        let runs = |guard: &u32| std::iter::successors(Some(*guard), parent).all(|guard| is_on(&guard));
        guards.into_iter().filter(runs).collect()
    }
}

fn has(of: &OrderedMap<EventNo, Vec<bool>>, node: u32, event: EventNo) -> bool {
    of.get(&event).is_some_and(|of| of.get(node as usize).is_some_and(|has| *has))
}

/// Of each event whether nodes are complete before a graph signals it.
pub(super) fn before_signals(plan: &GraphPlan, levels: &Levels) -> OrderedMap<EventNo, Vec<bool>> {
    let mut preds = vec![Vec::new(); plan.records.nodes.len()];
    for node in 0..preds.len() as u32 {
        plan.succs_of(node).iter().for_each(|next| preds[*next as usize].push(node));
    }
    let mut signals = OrderedMap::<EventNo, Vec<u32>>::new();
    plan.signals.iter().for_each(|of| signals.entry(of.event).or_default().push(of.node));
    let ahead = |nodes: Vec<u32>| {
        let mut all = Vec::new();
        for signal in nodes {
            let mut seen = vec![false; preds.len()];
            reach(&mut seen, vec![signal], |node, open| {
                open.extend_from_slice(&preds[node as usize]);
                if starts_with_gang(plan, node, signal) {
                    let members = plan.gang_of(node).iter();
                    members.for_each(|member| open.extend_from_slice(&preds[*member as usize]));
                }
            });
            join(&mut all, &seen);
        }
        levels.with_bodies(plan, all)
    };
    signals.into_iter().map(|(event, nodes)| (event, ahead(nodes))).collect()
}

pub(super) fn join(all: &mut Vec<bool>, more: &[bool]) {
    match all.is_empty() {
        true => *all = more.to_vec(),
        false => all.iter_mut().zip(more).for_each(|(all, more)| *all |= more),
    }
}
