//! External tensors that a unit surely reads before it writes them: what it reads there has to be given.

use super::code::GraphCode;
use super::first_uses::{Bytes, Known, Rounds, Use, is_open, uses};
use super::host::{HostState, HostValue, Turn};
use super::tensors::TensorTable;
use std::cell::LazyCell;
use std::cmp::Ordering;
use wsp_core::tg::ExprOp;
use wsp_ordered::{Arrange, OrderedMap, OrderedSet};
use wsp_tg::EventOrder;
use wsp_tg::plan::{GraphPlan, HostKind, UnitPlan};

/// Most nodes, edges and uses to look at for one tensor of a graph.
const MOST_STEPS: u64 = 1 << 26;
/// Most devices that are followed one by one.
const MOST_DEVICES: u32 = 16;
/// Most launches of a host that are followed one by one.
const MOST_LAUNCHES: usize = 1 << 12;
/// Most iterations of a graph that are looked at one by one.
const MOST_ITERATIONS: usize = 64;

/// A read, and what may be stored before it in its graph.
struct Load {
    tensor: u32,
    bytes: Option<Bytes>,
    before: Vec<Bytes>,
}

/// A store, where it stands, and in which rounds.
type Store = (u32, Rounds, Bytes);

/// What one launch of a graph does with external tensors for which no array is given.
struct Firsts {
    loads: Vec<Load>,
    stores: OrderedMap<u32, Vec<Bytes>>,
}

/// Tensors of a unit that kernels or copies read before any other can have written all that they read, with these values of its scalars.
///
/// Arms, rounds, launches of the host and bytes of kernels are those of the run where values that are known before it starts decide. Each doubt is for
/// the unit: where what is loaded decides, arms are taken as run, hosts as making all their launches in the order of the text, a store to bytes
/// that are not known as one to all of its tensor, and a read of such bytes as one of bytes that were stored. A store that edges do not put
/// behind a read is taken as before it. Of tables nothing is known but the index. Of a kernel that says that it writes an argument, all bytes of the
/// binding count as written. Conditions, counts and ranges are not looked at: a run refuses what they load and nothing has stored.
pub(super) fn read_first(
    table: &TensorTable,
    unit: &UnitPlan,
    codes: &[GraphCode],
    scalars: &[i64],
    devices: u32,
) -> OrderedSet<u32> {
    let mut used = codes.iter().flat_map(|code| &code.tensors);
    if !used.any(|of| is_open(table, of.unit)) {
        return OrderedSet::new();
    }
    let exprs = codes.iter().flat_map(|code| &code.plan.exprs).chain(&unit.exprs);
    let asks_device = { exprs }.any(|op| *op == ExprOp::Device);
    let followed = match (asks_device, devices > MOST_DEVICES) {
        (false, _) => vec![Some(0)],
        (true, false) => (0..devices).map(Some).collect(),
        (true, true) => vec![None],
    };
    let of_device = |device| read_first_on(table, unit, codes, Known { scalars, device, devices });
    followed.into_iter().flat_map(of_device).collect()
}

/// Those that are read first on a device.
fn read_first_on(
    table: &TensorTable,
    unit: &UnitPlan,
    codes: &[GraphCode],
    known: Known<'_>,
) -> OrderedSet<u32> {
    let mut launches = launches(unit, known);
    if launches.is_empty() && !unit.host.iter().any(|op| launched(&op.kind).is_some()) {
        launches.extend((0..codes.len()).map(|graph| (graph, Some(0))));
    }
    let (mut stored, mut read) = (OrderedMap::<u32, Vec<Bytes>>::new(), OrderedSet::new());
    let mut seen = OrderedMap::<usize, OrderedSet<Option<i64>>>::new();
    for (at, iteration) in launches {
        let plan = &codes[at].plan;
        let seen = seen.entry(at).or_default();
        let counts = plan.exprs.contains(&ExprOp::Iteration) && seen.len() < MOST_ITERATIONS;
        let iteration = iteration.filter(|_| counts);
        // Once a graph was launched, all that it stores in this iteration is.
        if !seen.insert(iteration) {
            continue;
        }
        let firsts = Firsts::new(table, plan, known, iteration);
        for load in &firsts.loads {
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
        for (tensor, bytes) in firsts.stores {
            let all = stored.entry(tensor).or_default();
            all.extend(bytes);
            *all = merged(std::mem::take(all));
        }
    }
    read
}

/// The launches of a host in order, each with its iteration if that is known. From where the values of the host are not known before the run, or where there are
/// very many, all that its text has.
fn launches(unit: &UnitPlan, known: Known<'_>) -> Vec<(usize, Option<i64>)> {
    let mut state = HostState::new(unit.host_loops);
    let mut launches = Vec::new();
    while launches.len() < MOST_LAUNCHES {
        let value = |state: &HostState, scalar| known.host_value(unit, state, scalar).map(HostValue::Known);
        match state.next(&unit.host, value) {
            Ok(Turn::Do(op)) => launches.extend(launched(&op.kind).map(|graph| {
                let iteration = match op.kind {
                    HostKind::Invoke { iteration, .. } => known.host_value(unit, &state, iteration).ok(),
                    _ => Some(0),
                };
                (graph, iteration)
            })),
            Ok(Turn::End) => return launches,
            Ok(Turn::Wait(_) | Turn::Pause) | Err(_) => break,
        }
    }
    launches.extend(unit.host.iter().filter_map(|op| Some((launched(&op.kind)?, None))));
    launches
}

fn launched(kind: &HostKind) -> Option<usize> {
    match *kind {
        HostKind::Launch { graph, .. } | HostKind::Invoke { graph, .. } => Some(graph as usize),
        _ => None,
    }
}

impl Firsts {
    fn new(table: &TensorTable, plan: &GraphPlan, known: Known<'_>, iteration: Option<i64>) -> Firsts {
        let uses = uses(table, plan, known, iteration);
        let mut stores = OrderedMap::<u32, Vec<Store>>::new();
        for of in uses.iter().filter(|of| !of.reads) {
            stores
                .entry(of.tensor)
                .or_default()
                .extend(of.bytes.map(|bytes| (of.node, of.rounds.clone(), bytes)));
        }
        let records = (plan.records.nodes.len() + plan.records.succs.len()) as u64;
        let (order, mut steps) = (LazyCell::new(|| EventOrder::new(plan)), 0);
        let mut behind = OrderedMap::new();
        let load = |of: &Use| {
            let stores = stores.get(&of.tensor).map_or(&[][..], Vec::as_slice);
            steps += stores.len() as u64;
            if !behind.contains_key(&of.node) {
                steps += records;
            }
            let before = match steps > MOST_STEPS || stores.is_empty() {
                true => stores.iter().map(|(.., bytes)| *bytes).collect(),
                false => {
                    let behind = behind.entry(of.node).or_insert_with(|| order.led_to(plan, of.node));
                    let may_come_first = |(node, rounds, _): &&Store| match in_order(rounds, &of.rounds) {
                        Ordering::Less => true,
                        Ordering::Equal => !behind[*node as usize],
                        Ordering::Greater => false,
                    };
                    stores.iter().filter(may_come_first).map(|(.., bytes)| *bytes).collect()
                }
            };
            Load { tensor: of.tensor, bytes: of.bytes, before }
        };
        let loads = uses.iter().filter(|of| of.reads).map(load).collect();
        let bytes = |of: Vec<Store>| merged(of.into_iter().map(|(.., bytes)| bytes).collect());
        Firsts { loads, stores: stores.into_iter().map(|(tensor, of)| (tensor, bytes(of))).collect() }
    }
}

/// How the rounds of the loops around two nodes follow each other: those of one loop run one after another.
fn in_order(a: &Rounds, b: &Rounds) -> Ordering {
    let both = a.iter().zip(&**b).take_while(|(a, b)| a.0 == b.0);
    both.map(|(a, b)| a.1.cmp(&b.1)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// The same bytes, each once, in ranges that do not touch.
fn merged(mut ranges: Vec<Bytes>) -> Vec<Bytes> {
    ranges.arrange();
    let mut all: Vec<Bytes> = Vec::new();
    for (first, end) in ranges {
        match all.last_mut() {
            Some(last) if first <= last.1 => last.1 = last.1.max(end),
            _ => all.push((first, end)),
        }
    }
    all
}

/// Whether ranges together have all bytes of one.
fn covers(ranges: impl Iterator<Item = Bytes>, (low, high): Bytes) -> bool {
    low >= high || merged(ranges.collect()).iter().any(|(first, end)| *first <= low && *end >= high)
}
