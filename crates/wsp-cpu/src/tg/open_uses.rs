//! Uses of bytes by a graph that the checker could not compare with those of other launches before the run.

use super::item::{Item, When};
use super::open_pairs::loops_around;
use wsp_core::tg::image::NONE;
use wsp_ordered::OrderedMap;
use wsp_tg::plan::{ConditionItem, GraphPlan};
use wsp_tg::{EventOrder, OpenLaunches};

/// The uses of a graph.
#[derive(Debug, Default)]
pub(crate) struct OpenUses {
    /// Of each kernel, as it runs.
    kernels: Vec<Uses>,
    copies: Vec<Uses>,
    conditions: Vec<Uses>,
    /// Of each kernel its waits, if a launch may skip it.
    waits: Vec<Vec<u32>>,
    /// What of it comes before signals and behind waits.
    order: EventOrder,
    /// Whether its launches find out while they run which bytes they use.
    pub(super) is_late: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Uses {
    /// By place among those of the unit.
    pub(super) uses: Vec<u32>,
    /// Whether the bytes are known when the graph is launched, and are surely used.
    pub(super) is_early: bool,
}

impl OpenUses {
    /// Those of `launches` that are of this graph.
    pub(crate) fn new(plan: &GraphPlan, whens: &[When], launches: &OpenLaunches) -> OpenUses {
        let mut by_instr: OrderedMap<u32, Vec<u32>> = OrderedMap::new();
        for (at, of) in (0u32..).zip(&launches.uses).filter(|(_, of)| of.graph == plan.no) {
            by_instr.entry(of.at).or_default().push(at);
        }
        let events = launches.events.iter().find(|of| of.graph == plan.no);
        let skipped = (0u32..).zip(events.map_or(&[][..], |events| &events.waits));
        let skipped: Vec<(u32, u32)> = skipped.filter_map(|(at, wait)| Some((at, wait.kernel?))).collect();
        if by_instr.is_empty() && skipped.is_empty() {
            return OpenUses::default();
        }
        let of = |instr: u32| by_instr.get(&instr).into_iter().flatten().copied();
        let runs = |node: u32| {
            plan.records.nodes[node as usize].guard == NONE && loops_around(plan, node).is_empty()
        };
        let kernels: Vec<Uses> = plan
            .kernels
            .iter()
            .zip(whens)
            .map(|(kernel, when)| Uses {
                uses: plan.binds_of(kernel).iter().flat_map(|bind| of(bind.instr)).collect(),
                is_early: *when != When::Dispatch && runs(kernel.node),
            })
            .collect();
        let copy = |copy: &wsp_tg::plan::CopyItem| Uses {
            uses: of(copy.instr).collect(),
            is_early: runs(copy.node),
        };
        let copies: Vec<Uses> = plan.copies.iter().map(copy).collect();
        // What a condition loads it may load again and again, and only as the one before it goes.
        let condition =
            |condition: &ConditionItem| Uses { uses: of(condition.instr).collect(), is_early: false };
        let conditions: Vec<Uses> = plan.conditions.iter().map(condition).collect();
        let mut all = kernels.iter().chain(&copies).chain(&conditions);
        let is_late = all.any(|of| !of.is_early && !of.uses.is_empty());
        let waits_of = |def: u32| {
            let instr = plan.defs[def as usize].instr;
            skipped.iter().filter(|(_, kernel)| *kernel == instr).map(|(at, _)| *at).collect()
        };
        let waits = plan.kernels.iter().map(|kernel| waits_of(kernel.def)).collect();
        let order = events.map(|_| EventOrder::new(plan)).unwrap_or_default();
        OpenUses { kernels, copies, conditions, waits, order, is_late }
    }

    /// What of the graph comes before signals and behind waits.
    pub(super) fn order(&self) -> &EventOrder {
        &self.order
    }

    /// The waits of a kernel that a launch may skip.
    pub(super) fn waits(&self, item: Item) -> &[u32] {
        match item {
            Item::Kernel(at) => self.waits.get(at as usize).map_or(&[], Vec::as_slice),
            Item::Copy(_) | Item::Condition(_) => &[],
        }
    }

    pub(super) fn of(&self, item: Item) -> Option<&Uses> {
        match item {
            Item::Kernel(at) => self.kernels.get(at as usize),
            Item::Copy(at) => self.copies.get(at as usize),
            Item::Condition(at) => self.conditions.get(at as usize),
        }
    }

    /// Kernels and copies that are compared before a launch begins. One that goes on from a state runs only what is not complete in that.
    pub(super) fn early<'a>(
        &'a self,
        plan: &'a GraphPlan,
        is_complete: &'a dyn Fn(u32) -> bool,
    ) -> impl Iterator<Item = Item> + 'a {
        let kernels = (0..).zip(&plan.kernels).map(|(at, kernel)| (Item::Kernel(at), kernel.node));
        let all = kernels.chain((0..).zip(&plan.copies).map(|(at, copy)| (Item::Copy(at), copy.node)));
        let is_early = |item: Item| self.of(item).is_some_and(|of| of.is_early && !of.uses.is_empty());
        all.filter(move |(item, node)| is_early(*item) && !is_complete(*node)).map(|(item, _)| item)
    }
}
