//! Waits of the host for graphs that it has not launched, and restores of what was not saved: the run stops there.

use super::super::{Cx, NEVER_LAUNCHED, NEVER_SAVED, error, note};
use super::tell::waits_for;
use super::way::Way;
use wsp_core::tg::{GraphNo, Instr};
use wsp_diag::{Code, Diagnostic};
use wsp_ir::tg::Namespace;
use wsp_ir::tg::outline::BlockId;
use wsp_ordered::OrderedMap;

/// What ways so far say of a statement that needs an earlier one.
#[derive(Clone, Copy, Default)]
struct Need {
    /// On some way there was one.
    met: bool,
    /// On some way there was none.
    missing: bool,
}

/// The waits and restores of a unit.
pub(super) struct Needs {
    /// By instruction.
    found: OrderedMap<u32, Need>,
    /// Graphs by the first of their launches.
    launches: OrderedMap<GraphNo, u32>,
    /// The same by block.
    in_blocks: OrderedMap<(GraphNo, BlockId), u32>,
}

impl Needs {
    pub(super) fn new(cx: &Cx<'_>) -> Needs {
        let (mut found, mut launches, mut in_blocks) =
            (OrderedMap::new(), OrderedMap::new(), OrderedMap::new());
        for (instr, at) in cx.module.instrs.iter().zip(0..) {
            if matches!(instr, Instr::TgSync { .. } | Instr::TgRestore { .. }) {
                found.insert(at, Need::default());
            }
            if let Instr::TgLaunch { graph_id, .. }
            | Instr::TgInvoke { graph_id, .. }
            | Instr::TgRestore { graph_id, .. } = *instr
            {
                launches.entry(graph_id).or_insert(at);
                in_blocks.entry((graph_id, cx.outline.blocks.around(at))).or_insert(at);
            }
        }
        Needs { found, launches, in_blocks }
    }

    /// Whether there is neither wait nor restore.
    pub(super) fn are_fine(&self) -> bool {
        self.found.is_empty()
    }

    pub(super) fn way(&mut self, way: &Way) {
        for (at, is_met) in &way.needs {
            let need = self.found.entry(*at).or_default();
            need.met |= is_met;
            need.missing |= !is_met;
        }
    }

    /// Whether every way that leads to an instruction has launched a graph before.
    fn is_behind_launch(&self, cx: &Cx<'_>, at: u32, graph: GraphNo) -> bool {
        let blocks = &cx.outline.blocks;
        let mut around = blocks.outwards(blocks.around(at));
        around.any(|(id, _)| self.in_blocks.get(&(graph, id)).is_some_and(|launch| *launch < at))
    }

    /// `is_whole` says whether there are no other ways.
    pub(super) fn report(self, cx: &mut Cx<'_>, is_whole: bool) {
        for (&at, need) in &self.found {
            let never = need.missing && !need.met && is_whole;
            // A note: a loop of launches whose count is not known, and a wait behind it, are a usual program, of which no text says that
            // there is a round.
            let (graph_id, checkpoint) = match cx.module.instrs[at as usize] {
                Instr::TgSync { graph_id } => (graph_id, None),
                Instr::TgRestore { graph_id, checkpoint_id } => (graph_id, Some(checkpoint_id)),
                _ => continue,
            };
            let Some(graph) = cx.outline.graph(graph_id) else { continue };
            if !need.missing && (is_whole || self.is_behind_launch(cx, at, graph_id)) {
                continue;
            }
            let graph = format!("graph `{}`", cx.graph_name(graph));
            let (code, what, done, does, help) = match checkpoint {
                None => {
                    (NEVER_LAUNCHED, graph, "launched", "waits for it", "launch it before waiting for it")
                }
                Some(no) => {
                    let name = cx.module.name(Namespace::Checkpoint, GraphNo(0), no.0);
                    let what = format!("checkpoint `{name}` of {graph}");
                    (NEVER_SAVED, what, "saved", "restores it", "launch the graph before, which saves it")
                }
            };
            let (of, message, label): (fn(Code, String) -> Diagnostic, _, _) = match never {
                true => (error, format!("{what} is not {done} before the host {does}"), "stops the run"),
                false => (
                    note,
                    format!("{what} may not be {done} when the host {does}"),
                    "stops the run where it is not",
                ),
            };
            let found = cx.on(of(code, message), at, label);
            let found = match need.missing {
                true => found,
                false => {
                    found.note("the host has more ways through its conditions and loops than were followed")
                }
            };
            let launch = self.launches.get(&graph_id).filter(|_| !never);
            let found =
                launch.into_iter().fold(found, |found, &launch| cx.and(found, launch, "launched here"));
            cx.report(match launch {
                Some(&launch) if checkpoint.is_none() => waits_for(cx, found, launch),
                _ => found.help(help),
            });
        }
    }
}
