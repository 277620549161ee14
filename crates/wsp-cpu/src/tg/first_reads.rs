//! External tensors that a unit surely reads before it writes them: what it reads there has to be given.

use super::code::GraphCode;
use super::tensors::TensorTable;
use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use wsp_core::tg::Direction;
use wsp_tg::EventOrder;
use wsp_tg::plan::{BindItem, GraphPlan, HostKind, UnitPlan};

/// Most nodes, edges and uses to look at for one tensor of a graph.
const MOST_STEPS: u64 = 1 << 26;

/// First byte, and one past the last.
type Bytes = (u64, u64);

/// A kernel or copy that reads or writes bytes of a tensor.
#[derive(Clone, Copy)]
struct Use {
    tensor: u32,
    node: u32,
    reads: bool,
    /// None of a read whose bytes go by a variable.
    bytes: Option<Bytes>,
}

/// A read, and what may be stored before it in its graph.
struct Load {
    tensor: u32,
    bytes: Option<Bytes>,
    before: Vec<Bytes>,
}

/// What one launch of a graph does with external tensors for which no array is given.
struct Firsts {
    loads: Vec<Load>,
    stores: BTreeMap<u32, Vec<Bytes>>,
}

/// Tensors of a unit that kernels or copies read before any other can have written all that they read.
///
/// Each doubt is for the unit: arms are taken as run, hosts as making all their launches in the order of the text, a store to bytes that go
/// by a variable as one to all of its tensor, a read of such bytes as one of bytes that were stored, and a store that edges do not put behind a
/// read as before it. Of tables nothing is known. Of a kernel that says that it writes an
/// argument, all bytes of the binding count as written. Conditions, counts and ranges are not looked at: a run refuses what they load and
/// nothing has stored.
pub(super) fn read_first(table: &TensorTable, unit: &UnitPlan, codes: &[GraphCode]) -> BTreeSet<u32> {
    let graphs: Vec<Firsts> = codes.iter().map(|code| Firsts::new(table, &code.plan)).collect();
    let mut launches: Vec<usize> = unit.host.iter().filter_map(|op| launched(&op.kind)).collect();
    if launches.is_empty() {
        launches.extend(0..graphs.len());
    }
    let (mut stored, mut read) = (BTreeMap::<u32, Vec<Bytes>>::new(), BTreeSet::new());
    let mut seen = BTreeSet::new();
    for at in launches {
        // Once a graph was launched, all that it stores is.
        if !seen.insert(at) {
            continue;
        }
        for load in &graphs[at].loads {
            let earlier = stored.get(&load.tensor).into_iter().flatten();
            let mut before = load.before.iter().chain(earlier).copied();
            let is_stored = match load.bytes {
                Some(bytes) => covers(before, bytes),
                None => before.next().is_some(),
            };
            if !is_stored {
                read.insert(load.tensor);
            }
        }
        for (tensor, bytes) in &graphs[at].stores {
            stored.entry(*tensor).or_default().extend(bytes);
        }
    }
    read
}

fn launched(kind: &HostKind) -> Option<usize> {
    match *kind {
        HostKind::Launch { graph, .. } | HostKind::Invoke { graph, .. } => Some(graph as usize),
        _ => None,
    }
}

impl Firsts {
    fn new(table: &TensorTable, plan: &GraphPlan) -> Firsts {
        let uses = uses(table, plan);
        let mut stores = BTreeMap::<u32, Vec<(u32, Bytes)>>::new();
        for of in uses.iter().filter(|of| !of.reads) {
            stores.entry(of.tensor).or_default().extend(of.bytes.map(|bytes| (of.node, bytes)));
        }
        let records = (plan.records.nodes.len() + plan.records.succs.len()) as u64;
        let (order, mut steps) = (LazyCell::new(|| EventOrder::new(plan)), 0);
        let load = |of: &Use| {
            let stores = stores.get(&of.tensor).map_or(&[][..], Vec::as_slice);
            steps += records + stores.len() as u64;
            let before = match steps > MOST_STEPS || stores.is_empty() {
                true => stores.iter().map(|(_, bytes)| *bytes).collect(),
                false => {
                    let behind = order.led_to(plan, of.node);
                    let may_come_first = |(node, _): &&(u32, Bytes)| !behind[*node as usize];
                    stores.iter().filter(may_come_first).map(|(_, bytes)| *bytes).collect()
                }
            };
            Load { tensor: of.tensor, bytes: of.bytes, before }
        };
        let loads = uses.iter().filter(|of| of.reads).map(load).collect();
        let bytes = |of: Vec<(u32, Bytes)>| of.into_iter().map(|(_, bytes)| bytes).collect();
        Firsts { loads, stores: stores.into_iter().map(|(tensor, of)| (tensor, bytes(of))).collect() }
    }
}

/// What kernels and copies do with external tensors for which no array is given. What reads and writes is both.
fn uses(table: &TensorTable, plan: &GraphPlan) -> Vec<Use> {
    let is_open = |tensor: u32| {
        let info = &table[tensor as usize];
        info.home == wsp_tg::plan::TensorKind::Extern && !info.given
    };
    let whole = |tensor: u32| (0, table[tensor as usize].bytes.unwrap_or(u64::MAX));
    let mut uses = Vec::new();
    for kernel in &plan.kernels {
        for bind in plan.binds_of(kernel) {
            let tensors = plan.tensors_of(&bind.tensor);
            for &tensor in tensors.iter().filter(|tensor| is_open(**tensor)) {
                let known = bytes(bind, whole(tensor).1);
                let node = kernel.node;
                if bind.direction != Direction::In {
                    let bytes = known.unwrap_or(whole(tensor));
                    uses.push(Use { tensor, node, reads: false, bytes: Some(bytes) });
                }
                if bind.direction != Direction::Out && tensors.len() == 1 {
                    uses.push(Use { tensor, node, reads: true, bytes: known });
                }
            }
        }
    }
    for copy in &plan.copies {
        for (tensor, first, reads) in [(copy.src, copy.src_offset, true), (copy.dst, copy.dst_offset, false)]
        {
            if is_open(tensor) {
                let bytes = (first, first.saturating_add(copy.size));
                uses.push(Use { tensor, node: copy.node, reads, bytes: Some(bytes) });
            }
        }
    }
    uses
}

/// The bytes of a binding, if they are the same for every launch.
fn bytes(bind: &BindItem, whole: u64) -> Option<Bytes> {
    let low = u64::try_from(bind.offset.as_const()?).ok()?;
    match u64::try_from(bind.size.as_const()?).ok()? {
        0 => Some((low, whole)),
        size => Some((low, low.saturating_add(size))),
    }
}

/// Whether ranges together have all bytes of one.
fn covers(ranges: impl Iterator<Item = Bytes>, (mut low, high): Bytes) -> bool {
    let mut ranges: Vec<Bytes> = ranges.collect();
    ranges.sort_unstable();
    for (first, end) in ranges {
        if first <= low {
            low = low.max(end);
        }
    }
    low >= high
}
