//! How many objects each fifo has to be given for what the host waits for, and how many it gets.
//!
//! A core that repeats a body for ever gives and takes the same number of objects each time, where the loops in it are fixed. From the objects that the host
//! takes follows how often the body runs, from that what it needs, and so on to the fifos that the host fills. Where a number is not fixed,
//! nothing is said.

use super::Findings;
use crate::codes;
use crate::design::{Core, Design, Fifo, Length, Move, Sequence, Step, steps};
use crate::mlir::{Attr, Block, Op, Value};
use wsp_ordered::OrderedMap;

/// A loop with at least so many rounds is one without an end.
const FOREVER: i64 = 1 << 31;

/// Objects that a core gives and takes, by fifo and whether it produces them: before its endless loop, and in each of its rounds.
#[derive(Default)]
pub(crate) struct Rates {
    pub(crate) once: OrderedMap<(String, bool), u64>,
    pub(crate) each: OrderedMap<(String, bool), u64>,
}

pub(super) fn check(design: &Design, findings: &mut Findings) {
    let rates: Vec<Option<Rates>> = design.cores.iter().map(rates).collect();
    for sequence in &design.sequences {
        check_sequence(design, sequence, &rates, findings);
    }
}

/// The values of constants of a core.
pub(crate) fn constants(core: &Core) -> OrderedMap<Value, i64> {
    let mut known = OrderedMap::new();
    let mut see = |op: &Op| {
        if let (Some(Attr::Int(value, _)), Some(result)) = (op.find("value"), op.results.first()) {
            known.insert(*result, *value);
        }
    };
    core.body.blocks.iter().flat_map(|block| &block.ops).for_each(|op| op.walk(&mut see));
    known
}

/// How many rounds a loop has, and its end, where its bounds are constants.
pub(crate) fn rounds(op: &Op, known: &OrderedMap<Value, i64>) -> Option<(u64, i64)> {
    let bound = |at: usize| known.get(op.operands.get(at)?).copied();
    let (low, high, step) = (bound(0)?, bound(1)?, bound(2)?);
    let rounds = if step > 0 && high > low { high.abs_diff(low).div_ceil(step.unsigned_abs()) } else { 0 };
    Some((rounds, high))
}

/// The objects of a core, where loops and branches around them are fixed.
pub(crate) fn rates(core: &Core) -> Option<Rates> {
    let mut rates = Rates::default();
    let block = core.body.blocks.first()?;
    count(block, &constants(core), 1, false, &mut rates).then_some(rates)
}

/// Counts what a block gives and takes, `times` times; whether that is fixed.
fn count(
    block: &Block,
    known: &OrderedMap<Value, i64>,
    times: u64,
    endless: bool,
    rates: &mut Rates,
) -> bool {
    for op in &block.ops {
        let inner = op.regions.iter().flat_map(|region| &region.blocks);
        match op.name.as_str() {
            "aie.objectfifo.release" => {
                let key =
                    (op.find_name("objFifo_name").unwrap_or("").to_owned(), op.find_int("port") == Some(0));
                let objects = op.find_int("size").unwrap_or(0).unsigned_abs().saturating_mul(times);
                let into = if endless { &mut rates.each } else { &mut rates.once };
                let total = into.get(&key).copied().unwrap_or(0).saturating_add(objects);
                into.insert(key, total);
            }
            "scf.for" => {
                let Some((rounds, high)) = rounds(op, known) else {
                    if inner.clone().any(has_objects) {
                        return false;
                    }
                    continue;
                };
                let forever = high >= FOREVER;
                if forever && (endless || times != 1) {
                    return false;
                }
                let times = if forever { 1 } else { times.saturating_mul(rounds) };
                for block in inner {
                    if !count(block, known, times, endless || forever, rates) {
                        return false;
                    }
                }
            }
            _ => {
                if inner.clone().any(has_objects) {
                    return false;
                }
            }
        }
    }
    true
}

fn has_objects(block: &Block) -> bool {
    let mut found = false;
    let mut see = |op: &Op| found |= op.name == "aie.objectfifo.release";
    block.ops.iter().for_each(|op| op.walk(&mut see));
    found
}

/// Objects that the host moves of each fifo; none where a launch decides it.
fn moved(design: &Design, steps: &[Step]) -> Option<OrderedMap<String, u64>> {
    let (mut objects, mut tasks) = (OrderedMap::new(), Vec::new());
    let mut moves: Vec<&Move> = Vec::new();
    for step in steps {
        match step {
            Step::Move(transfer) if transfer.task.is_some() => tasks.push(transfer),
            Step::Move(transfer) => moves.push(transfer),
            Step::Start(task, _) => {
                moves.extend(tasks.iter().copied().filter(|of: &&Move| of.task == Some(*task)));
            }
            Step::Loop(_) => return None,
            _ => {}
        }
    }
    for transfer in moves {
        let Some(fifo) = transfer.symbol.as_deref().and_then(|name| design.fifo(name)) else { continue };
        let mut bytes = design.module.ty(transfer.array).element_bytes()?;
        let is_task = transfer.task.is_some();
        let sizes =
            if is_task && transfer.sizes.len() == 4 { &transfer.sizes[1..] } else { &transfer.sizes[..] };
        for size in sizes {
            let Length::Fixed(size) = size else { return None };
            bytes = bytes.saturating_mul(size.unsigned_abs());
        }
        if is_task {
            bytes = bytes.saturating_mul(transfer.rounds());
        }
        let total: &mut u64 = objects.entry(fifo.name.clone()).or_default();
        *total = total.saturating_add(bytes);
    }
    Some(objects)
}

fn check_sequence(design: &Design, sequence: &Sequence, rates: &[Option<Rates>], findings: &mut Findings) {
    let Some(given) = moved(design, &steps(sequence).unwrap_or_default()) else { return };
    // Bytes that each fifo has to carry.
    let mut needed: OrderedMap<String, u64> = OrderedMap::new();
    let mut open: Vec<(&Fifo, u64)> = Vec::new();
    for fifo in design.fifos.iter().filter(|fifo| fifo.producer.tile.row > 0) {
        if let Some(bytes) = given.get(&fifo.name) {
            open.push((fifo, *bytes));
        }
    }
    // A circle of fifos needs more each time around; after so many the answer does not come from this.
    let mut left = 16 * (design.fifos.len() + 1);
    while let Some((fifo, bytes)) = open.pop() {
        let have = needed.get(&fifo.name).copied().unwrap_or(0);
        if bytes <= have {
            continue;
        }
        let Some(rest) = left.checked_sub(1) else { return };
        left = rest;
        needed.insert(fifo.name.clone(), bytes);
        before(design, fifo, bytes, rates, &mut open);
    }
    for fifo in design.fifos.iter().filter(|fifo| fifo.producer.tile.row == 0) {
        let (Some(bytes), have) = (needed.get(&fifo.name), given.get(&fifo.name).copied().unwrap_or(0))
        else {
            continue;
        };
        if *bytes > have {
            let objects = |bytes: u64| bytes.div_ceil(fifo.bytes().max(1));
            let missing = objects(*bytes) - have / fifo.bytes().max(1);
            let message = format!(
                "what the host takes needs {} objects of fifo `@{}`, and the sequence gives it {}",
                objects(*bytes),
                fifo.name,
                have / fifo.bytes().max(1)
            );
            let found = findings.add(codes::BALANCE, fifo.span, message);
            found.figures.push(("missing", missing));
            found.help.push(more(design, fifo, rates, missing));
        }
    }
}

/// What to write where a fifo is given too few objects.
fn more(design: &Design, fifo: &Fifo, rates: &[Option<Rates>], missing: u64) -> String {
    let send = format!("have the sequence send {missing} more");
    let taken = design.cores.iter().zip(rates).find_map(|(core, rates)| {
        let each = *rates.as_ref()?.each.get(&(fifo.name.clone(), false))?;
        let is_end = fifo.consumers.iter().any(|end| end.tile == core.tile);
        (is_end && each > 0).then_some((core.tile, each))
    });
    match taken {
        Some((tile, each)) => {
            let given = wsp_core::words::counted(each, "object");
            let fewer = if each == 1 { "none, and hold what it acquires before its loop" } else { "fewer" };
            format!(
                "{send}, or have the core on tile {tile}, which gives {given} back in each round, give back {fewer}"
            )
        }
        None => send,
    }
}

/// What a fifo needs of those before it.
fn before<'d>(
    design: &'d Design,
    fifo: &Fifo,
    bytes: u64,
    rates: &[Option<Rates>],
    open: &mut Vec<(&'d Fifo, u64)>,
) {
    let objects = bytes.div_ceil(fifo.bytes().max(1));
    if let Some(link) = design.links.iter().find(|link| link.outs.contains(&fifo.name)) {
        let once = objects.div_ceil(u64::from(fifo.repeat.unwrap_or(1).max(1)));
        for input in link.ins.iter().filter_map(|name| design.fifo(name)) {
            // Parts come with each object; a fifo alone carries the same bytes.
            let alone = link.ins.len() == 1 && link.outs.len() == 1;
            let bytes =
                if alone { once.saturating_mul(fifo.bytes()) } else { once.saturating_mul(input.bytes()) };
            open.push((input, bytes));
        }
        return;
    }
    let Some(at) = design.cores.iter().position(|core| core.tile == fifo.producer.tile) else { return };
    let Some(rates) = &rates[at] else { return };
    let key = (fifo.name.clone(), true);
    let once = rates.once.get(&key).copied().unwrap_or(0);
    let each = rates.each.get(&key).copied().unwrap_or(0);
    let made = objects.div_ceil(u64::from(fifo.repeat.unwrap_or(1).max(1)));
    let rounds = if each > 0 { made.saturating_sub(once).div_ceil(each) } else { 0 };
    for (name, produces) in rates.each.keys().chain(rates.once.keys()) {
        let Some(input) = design.fifo(name).filter(|_| !produces) else { continue };
        let key = (name.clone(), false);
        let taken = rates.each.get(&key).copied().unwrap_or(0).saturating_mul(rounds);
        let first = if rounds > 0 { rates.once.get(&key).copied().unwrap_or(0) } else { 0 };
        open.push((input, taken.saturating_add(first).saturating_mul(input.bytes())));
    }
}
