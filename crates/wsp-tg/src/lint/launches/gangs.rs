//! Gangs in several arms of a graph that wait for each other where all of these arms run.
//!
//! Elaboration refuses cycles of what stands in one arm and the blocks around it. Here arms that do not stand in each other are tried together where
//! their conditions can hold together.

use super::super::{Cx, NEVER_HAPPENS, error, note};
use super::conditions::{Condition, Forms, Known};
use super::goes::{Goes, agree, conditions, goes_of};
use super::{MOST_DEVICES, Steps, of_device};
use crate::plan::GraphPlan;
use wsp_core::tg::Instr;
use wsp_ir::tg::Namespace;
use wsp_ordered::{Arrange, OrderedSet};

/// Steps after which it is not looked further whether conditions go together.
const MOST_STEPS: usize = 1 << 16;
/// What it costs of the steps to look for one cycle.
const STEPS_OF_A_CYCLE: usize = 64;

/// Says which graphs may wait for themselves: an error where the conditions are known to go so on one device.
pub(in super::super) fn check(cx: &mut Cx<'_>) {
    if arms_with_gangs(cx) < 2 {
        return;
    }
    let Some(unit) = cx.plan() else { return };
    for graph in &unit.graphs {
        let mut search = Search { cx, graph, forms: Forms::of_one_launch(), steps: Steps::new(MOST_STEPS) };
        let Some((cycle, goes)) = search.cycle(&Goes::new()) else { continue };
        let is_sure = (0..cx.options.devices.unwrap_or(1).min(MOST_DEVICES)).any(|device| {
            let known = of_device(cx, device, cx.options.devices);
            let cx = &cx.with_known(known.as_ref().unwrap_or(cx.known));
            let found = conditions(cx, graph, &mut Forms::of_one_launch(), &goes, None);
            found.iter().all(|(condition, goes)| matches!(condition, Condition::Known(is) if is == goes))
        });
        tell(cx, graph, &cycle, &goes, is_sure);
    }
}

/// How many arms have members of gangs that stand in no arm within them.
fn arms_with_gangs(cx: &Cx<'_>) -> usize {
    let blocks = &cx.outline.blocks;
    let sets = cx.module.instrs.iter().enumerate().filter_map(|(at, instr)| match instr {
        Instr::SyBarrier { kernel_set, .. } => Some((at as u32, cx.module.set(*kernel_set))),
        _ => None,
    });
    let mut arms = OrderedSet::new();
    for (at, set) in sets {
        let graph = cx.outline.graphs.iter().find(|graph| (graph.at..graph.end).contains(&at));
        let kernels = graph
            .into_iter()
            .flat_map(|graph| &cx.outline.kernels[graph.kernels.start as usize..graph.kernels.end as usize]);
        for kernel in kernels.filter(|kernel| set.contains(&kernel.no)) {
            arms.extend(
                blocks.outwards(kernel.block).find(|(_, block)| block.kind.is_arm()).map(|(id, _)| id),
            );
        }
    }
    arms.len()
}

struct Search<'s, 'm> {
    cx: &'s Cx<'m>,
    graph: &'s GraphPlan,
    forms: Forms,
    steps: Steps,
}

impl Search<'_, '_> {
    /// A cycle of gangs in arms that may all run, and how the conditions go for that, where some go as given. Where no steps are left, arms may run together.
    fn cycle(&mut self, given: &Goes) -> Option<(Vec<u32>, Goes)> {
        let graph = self.graph;
        let runs = |guard: u32| agree(&goes_of(graph, guard), given);
        let cycle = graph.cycle_where(runs)?;
        let mut goes = given.clone();
        let around = cycle.iter().zip(cycle.iter().cycle().skip(1));
        // What waits for another of its gang runs; what waits by an edge may be skipped.
        let waits = around.filter(|(before, node)| graph.gang_of(**node).contains(before));
        let needed: Vec<Goes> =
            waits.map(|(_, node)| goes_of(graph, graph.records.nodes[*node as usize].guard)).collect();
        for (decision, is) in needed.iter().flatten() {
            goes.entry(*decision).or_insert(*is);
        }
        let is_possible = needed.iter().all(|member| agree(member, &goes)) && self.allows(&goes);
        if is_possible || !self.steps.spend(STEPS_OF_A_CYCLE) {
            return Some((cycle, goes));
        }
        let open = *needed.iter().flat_map(Goes::keys).find(|decision| !given.contains_key(decision))?;
        [true, false].into_iter().find_map(|is| {
            let mut given = given.clone();
            given.insert(open, is);
            if self.allows(&given) { self.cycle(&given) } else { None }
        })
    }

    fn allows(&mut self, goes: &Goes) -> bool {
        let conditions = conditions(self.cx, self.graph, &mut self.forms, goes, None);
        Known::default().allows(&self.forms, &conditions, &mut self.steps) || self.steps.are_over()
    }
}

fn tell(cx: &mut Cx<'_>, graph: &GraphPlan, cycle: &[u32], goes: &Goes, is_sure: bool) {
    let name = cx.module.name(Namespace::Graph, Default::default(), graph.no.0);
    let (of, how) = if is_sure {
        (error as fn(_, String) -> _, "waits")
    } else {
        (note as fn(_, String) -> _, "may wait")
    };
    let mut found =
        of(NEVER_HAPPENS, format!("a launch of graph `{name}` {how} for ever: gangs wait for each other"));
    let mut at: Vec<u32> = goes
        .keys()
        .map(|decision| graph.records.decisions[*decision as usize].condition)
        .map(|condition| graph.conditions[condition as usize].instr)
        .collect();
    at.arrange();
    at.dedup();
    let first =
        cycle.iter().filter(|node| !graph.gang_of(**node).is_empty()).find_map(|node| graph.instr_of(*node));
    found = first.into_iter().fold(found, |found, first| cx.on(found, first, "starts with its gang"));
    found = at.into_iter().fold(found, |found, at| cx.and(found, at, "decides whether they do"));
    let mut path: Vec<String> = cycle.iter().map(|node| graph.node_name(*node)).collect();
    path.extend(path.first().cloned());
    found = found
        .note(format!("each waits for the one before: {}", path.join(" -> ")))
        .note("the kernels of an SY_BARRIER start together: each waits for what one of them waits for");
    let found =
        found.help("leave out one of the edges, or let conditions exclude each other: CF_IF, CF_ELSE");
    cx.report(found);
}
