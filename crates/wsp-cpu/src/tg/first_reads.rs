//! External tensors that a unit may read before it has surely written them: what it reads there has to be given.

use super::code::GraphCode;
use super::tensors::TensorTable;
use std::collections::{BTreeMap, BTreeSet};
use wsp_core::tg::Direction;
use wsp_core::tg::image::NONE;
use wsp_tg::plan::{BindItem, BindTensor, GraphPlan, HostKind, UnitPlan};

/// Most nodes, edges and loads to look at for one tensor of a graph.
const MOST_STEPS: u64 = 1 << 26;

/// A kernel or copy that reads or writes bytes of a tensor.
#[derive(Clone, Copy)]
struct Use {
    tensor: u32,
    node: u32,
    reads: bool,
    /// First byte and one past the last that it surely stores to.
    stores: Option<(u64, u64)>,
    /// The same of what it may load.
    loads: (u64, u64),
}

/// Tensors of a unit that kernels or copies may read before others have surely written all that they read. Of a kernel that says that it
/// writes an argument, all bytes of the binding count as written. Conditions, counts and ranges are not looked at: a run refuses what
/// they load and nothing has stored.
pub(super) fn read_first(table: &TensorTable, unit: &UnitPlan, codes: &[GraphCode]) -> BTreeSet<u32> {
    let graphs: Vec<Firsts> = codes.iter().map(|code| Firsts::new(table, &code.plan)).collect();
    let launched = |kind: &HostKind| match *kind {
        HostKind::Launch { graph, .. } | HostKind::Invoke { graph, .. } => Some(graph as usize),
        _ => None,
    };
    let mut read = BTreeSet::new();
    if !unit.host.iter().any(|op| launched(&op.kind).is_some()) {
        // The caller launches the graphs, in an order that is not known.
        graphs.iter().for_each(|graph| read.extend(&graph.read));
        return read;
    }
    let targets: BTreeSet<usize> = unit.host.iter().filter_map(|op| target(&op.kind)).collect();
    // What is written on all ways, and what is written since the last branch or target of one.
    let (mut always, mut here, mut is_straight) = (BTreeSet::new(), BTreeSet::new(), true);
    for (at, op) in unit.host.iter().enumerate() {
        if targets.contains(&at)
            || target(&op.kind).is_some()
            || matches!(op.kind, HostKind::WhileBegin { .. })
        {
            is_straight = false;
            here = BTreeSet::clone(&always);
        }
        let Some(graph) = launched(&op.kind).map(|graph| &graphs[graph]) else { continue };
        read.extend(graph.read.difference(&here));
        here.extend(&graph.written);
        if is_straight {
            always.extend(&graph.written);
        }
    }
    read
}

/// Where a statement of the host may go on, beside the one behind it.
fn target(kind: &HostKind) -> Option<usize> {
    match *kind {
        HostKind::Unless { target, .. }
        | HostKind::Jump(target)
        | HostKind::LoopBegin { target, .. }
        | HostKind::LoopEnd { target, .. }
        | HostKind::WhileTest { target, .. }
        | HostKind::WhileEnd { target, .. }
        | HostKind::Break { target, .. } => Some(target as usize),
        _ => None,
    }
}

/// External tensors without an array that a graph reads first, and those that each of its launches writes.
struct Firsts {
    read: BTreeSet<u32>,
    written: BTreeSet<u32>,
}

impl Firsts {
    fn new(table: &TensorTable, plan: &GraphPlan) -> Firsts {
        let uses = uses(table, plan);
        let (mut loads, mut stores) = (BTreeMap::<u32, Vec<&Use>>::new(), BTreeMap::<u32, Vec<&Use>>::new());
        uses.iter().filter(|of| of.reads).for_each(|of| loads.entry(of.tensor).or_default().push(of));
        let of_stores = uses.iter().filter(|of| of.stores.is_some());
        of_stores.for_each(|of| stores.entry(of.tensor).or_default().push(of));
        let none = Vec::new();
        let of = |tensor: u32| stores.get(&tensor).unwrap_or(&none);
        let is_first = |(tensor, loads): (&u32, &Vec<&Use>)| reads_first(plan, loads, of(*tensor));
        let read = loads.iter().filter(|entry| is_first(*entry)).map(|(tensor, _)| *tensor).collect();
        let top = plan.records.top;
        let is_always = |node: u32| {
            let is_top = (top.first..top.first + top.len).contains(&node);
            is_top && plan.records.nodes[node as usize].guard == NONE
        };
        let is_whole = |(tensor, stores): (&u32, &Vec<&Use>)| {
            let all = stores.iter().filter(|store| is_always(store.node)).filter_map(|store| store.stores);
            covers(all, (0, table[*tensor as usize].bytes.unwrap_or(u64::MAX)))
        };
        let written = stores.iter().filter(|entry| is_whole(*entry)).map(|(tensor, _)| *tensor).collect();
        Firsts { read, written }
    }
}

/// Whether one of the loads of a tensor may come before stores to all that it loads. Where too many stores would have to be followed, it may.
fn reads_first(plan: &GraphPlan, loads: &[&Use], stores: &[&Use]) -> bool {
    let steps = (plan.records.nodes.len() + plan.records.succs.len() + loads.len()) as u64;
    if steps.saturating_mul(stores.len() as u64) > MOST_STEPS {
        return true;
    }
    let mut before = vec![Vec::new(); loads.len()];
    for store in stores {
        let behind = behind(plan, store.node);
        for (load, before) in loads.iter().zip(&mut before) {
            if is_before(plan, store.node, &behind, load.node) {
                before.extend(store.stores);
            }
        }
    }
    loads.iter().zip(before).any(|(load, before)| !covers(before.into_iter(), load.loads))
}

/// What kernels and copies do with external tensors for which no array is given.
fn uses(table: &TensorTable, plan: &GraphPlan) -> Vec<Use> {
    let is_open = |tensor: u32| {
        let info = &table[tensor as usize];
        info.home == wsp_tg::plan::TensorKind::Extern && !info.given
    };
    let whole = |tensor: u32| (0, table[tensor as usize].bytes.unwrap_or(u64::MAX));
    let mut uses = Vec::new();
    for kernel in &plan.kernels {
        for bind in plan.binds_of(kernel) {
            for &tensor in plan.tensors_of(&bind.tensor).iter().filter(|tensor| is_open(**tensor)) {
                let range = range(bind, whole(tensor).1);
                let is_one = matches!(bind.tensor, BindTensor::One(_));
                let stores = range.filter(|_| is_one && bind.direction == Direction::Out);
                let reads = bind.direction != Direction::Out;
                let loads = range.unwrap_or(whole(tensor));
                uses.push(Use { tensor, node: kernel.node, reads, stores, loads });
            }
        }
    }
    for copy in &plan.copies {
        let (from, to) = (copy.src_offset, copy.dst_offset);
        if is_open(copy.src) {
            let loads = (from, from.saturating_add(copy.size));
            uses.push(Use { tensor: copy.src, node: copy.node, reads: true, stores: None, loads });
        }
        if is_open(copy.dst) {
            let range = (to, to.saturating_add(copy.size));
            uses.push(Use {
                tensor: copy.dst,
                node: copy.node,
                reads: false,
                stores: Some(range),
                loads: range,
            });
        }
    }
    uses
}

/// The bytes of a binding, if they are the same for every launch.
fn range(bind: &BindItem, bytes: u64) -> Option<(u64, u64)> {
    let low = u64::try_from(bind.offset.as_const()?).ok()?;
    match u64::try_from(bind.size.as_const()?).ok()? {
        0 => Some((low, bytes)),
        size => Some((low, low.saturating_add(size))),
    }
}

/// Whether ranges together have all bytes of one.
fn covers(ranges: impl Iterator<Item = (u64, u64)>, (mut low, high): (u64, u64)) -> bool {
    let mut ranges: Vec<(u64, u64)> = ranges.collect();
    ranges.sort_unstable();
    for (first, end) in ranges {
        if first <= low {
            low = low.max(end);
        }
    }
    low >= high
}

/// Of each node, whether edges lead to it from this one.
fn behind(plan: &GraphPlan, node: u32) -> Vec<bool> {
    let mut is_behind = vec![false; plan.records.nodes.len()];
    let mut next = vec![node];
    while let Some(node) = next.pop() {
        let of = plan.records.nodes[node as usize];
        for &succ in &plan.records.succs[of.first as usize..of.end as usize] {
            if !std::mem::replace(&mut is_behind[succ as usize], true) {
                next.push(succ);
            }
        }
    }
    is_behind
}

/// Whether a node, or a loop around it, runs only behind another, which then has run.
fn is_before(plan: &GraphPlan, store: u32, behind: &[bool], load: u32) -> bool {
    let records = &plan.records;
    let guard = records.nodes[store as usize].guard;
    let has_run = |node: u32| {
        let mut own = records.nodes[node as usize].guard;
        while own != guard && own != NONE {
            own = records.guards[own as usize].parent;
        }
        own == guard
    };
    let around = |node: u32| {
        let is_in =
            |body: wsp_core::tg::image::LevelRecord| (body.first..body.first + body.len).contains(&node);
        records.loops.iter().find(|of| is_in(of.body)).map(|of| of.node)
    };
    std::iter::successors(Some(load), |node| around(*node)).any(|node| behind[node as usize] && has_run(node))
}
