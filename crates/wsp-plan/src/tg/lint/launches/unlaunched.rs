//! Waits of the host for graphs that it has not launched: the run stops there.

use super::super::{Cx, NEVER_LAUNCHED, error, note};
use super::waits_for;
use super::ways::Way;
use std::collections::{BTreeMap, BTreeSet};
use wsp_core::tg::{GraphNo, Instr};

/// What ways so far say of a wait.
#[derive(Clone, Copy, Default)]
struct Sync {
    /// On some way the graph was launched before.
    launched: bool,
    /// On some way it was not.
    missing: bool,
    /// On one on which conditions go as they may for some values of the unit's scalars.
    surely: bool,
}

/// The waits of a unit.
pub(super) struct Syncs {
    /// By instruction.
    found: BTreeMap<u32, Sync>,
    /// Graphs that may be restored, which launches them.
    restored: BTreeSet<GraphNo>,
    /// Graphs by the first of their launches.
    launches: BTreeMap<GraphNo, u32>,
    is_fine: bool,
}

impl Syncs {
    pub(super) fn new(cx: &Cx<'_>) -> Syncs {
        let (mut restored, mut launches, mut is_fine) = (BTreeSet::new(), BTreeMap::new(), true);
        for (instr, at) in cx.module.instrs.iter().zip(0..) {
            match *instr {
                Instr::TgLaunch { graph_id, .. } | Instr::TgInvoke { graph_id, .. } => {
                    launches.entry(graph_id).or_insert(at);
                }
                Instr::TgRestore { graph_id, .. } => _ = restored.insert(graph_id),
                Instr::TgSync { .. } => is_fine = false,
                _ => {}
            }
        }
        Syncs { found: BTreeMap::new(), restored, launches, is_fine }
    }

    /// Whether there is no wait.
    pub(super) fn are_fine(&self) -> bool {
        self.is_fine
    }

    pub(super) fn way(&mut self, way: &Way) {
        for (at, is_launched) in &way.syncs {
            let sync = self.found.entry(*at).or_default();
            sync.launched |= is_launched;
            sync.missing |= !is_launched;
            sync.surely |= !is_launched && !way.is_guessed();
        }
    }

    /// `is_whole` says whether there are no other ways.
    pub(super) fn report(self, cx: &mut Cx<'_>, is_whole: bool) {
        for (at, sync) in self.found {
            let Instr::TgSync { graph_id } = cx.module.instrs[at as usize] else { continue };
            if self.restored.contains(&graph_id) {
                continue;
            }
            let Some(graph) = cx.outline.graph(graph_id) else { continue };
            let name = cx.graph_name(graph);
            let found = if sync.missing && !sync.launched && is_whole {
                let found = error(
                    NEVER_LAUNCHED,
                    format!("graph `{name}` is not launched before the host waits for it"),
                );
                cx.on(found, at, "stops the run").help("launch it before waiting for it")
            } else if sync.surely {
                // A note: a loop of launches whose count is not known, and a wait behind it, are a usual program, of which no text says that
                // there is a round.
                let message = format!("graph `{name}` may not be launched when the host waits for it");
                let found = cx.on(note(NEVER_LAUNCHED, message), at, "stops the run where it is not");
                match self.launches.get(&graph_id) {
                    Some(&launch) => waits_for(cx, cx.and(found, launch, "launched here"), launch),
                    None => found,
                }
            } else {
                continue;
            };
            cx.report(found);
        }
    }
}
