//! Two that use a buffer while a design runs, and what streams and objects order.

use super::bytes::Touch;
use super::chain::lock_name;
use super::net::{Net, Pool, Role, Stream, StreamEnd};
use super::order::Order;
use super::uses::Uses;
use crate::codes;
use crate::design::{Buffer, Design, Step, User, steps};
use std::collections::BTreeSet;
use wsp_diag::{Diagnostic, Label};

/// The clocks of a run whose cores have these uses, and release these locks; none where each buffer has one user.
pub(super) fn order(
    mut touches: Vec<Vec<Touch>>,
    released: &[Vec<usize>],
    (design, net): (&Design, &Net),
) -> Option<Box<Order>> {
    let mut ends = Vec::new();
    let mut locks: Vec<(i64, BTreeSet<usize>)> =
        net.locks.iter().map(|value| (*value, BTreeSet::new())).collect();
    for (core, released) in released.iter().enumerate() {
        released.iter().for_each(|lock| _ = locks[*lock].1.insert(core));
    }
    for stream in &net.streams {
        ends.push(touches.len());
        for (at, end) in std::iter::once(&stream.from).chain(&stream.to).enumerate() {
            let bds = if let StreamEnd::Chain(chain) = end { chain.bds.as_slice() } else { &[] };
            let released = bds.iter().flat_map(|bd| &bd.release);
            released.for_each(|(lock, ..)| _ = locks[*lock].1.insert(touches.len()));
            touches.push(bds.iter().map(|bd| bd.touch(at > 0)).collect());
        }
    }
    ends.push(touches.len());
    touches.push(Vec::new());
    let slots: Vec<usize> = net.pools.iter().map(|pool| pool.slots.len()).collect();
    let uses = Uses::new(touches, words(design));
    uses.any().then(|| Box::new(Order::new(uses, ends, &slots, locks)))
}

/// Buffers whose words the host writes.
fn words(design: &Design) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut see = |step: &Step| {
        if let Step::Parameter(word) = step {
            let is = |buffer: &Buffer| buffer.name.as_ref() == Some(&word.buffer);
            found.extend(design.buffers.iter().position(is));
        }
    };
    design
        .sequences
        .iter()
        .filter_map(|sequence| steps(sequence).ok())
        .flatten()
        .for_each(|step| step.walk(&mut see));
    found
}

/// A stream moves so many bytes.
pub(super) fn piece(order: &mut Order, at: usize, (stream, pools): (&Stream, &[Pool]), bytes: u64) {
    let first = order.engine(at, 0);
    for (i, end) in std::iter::once(&stream.from).chain(&stream.to).enumerate() {
        let engine = first + i;
        if i > 0 {
            order.brings(first, engine);
        }
        match end {
            StreamEnd::Pool { pool, role, len, repeat, sent, done, .. } => {
                let object = match role {
                    Role::Writer(writer) => pools[*pool].written[*writer],
                    Role::Reader(reader) => pools[*pool].read[*reader],
                };
                order.acquire(engine, (*pool, role.reads()), object);
                if done + bytes >= *len && sent + 1 >= *repeat {
                    order.release(engine, (*pool, role.reads()), object);
                }
            }
            StreamEnd::Chain(chain) => {
                let Some(at) = chain.at else { continue };
                let bd = &chain.bds[at];
                if !chain.holds {
                    bd.acquire.iter().for_each(|(lock, _, value)| order.take(engine, *lock, *value));
                    order.touch(engine, at, 0);
                }
                if chain.done + bytes >= bd.len {
                    order.touch(engine, at, 0);
                    bd.release.iter().for_each(|(lock, _, value)| order.give(engine, *lock, *value));
                }
            }
            StreamEnd::Host { queue, .. } => {
                let Some(task) = queue.front() else { continue };
                if i == 0 {
                    order.behind(engine, &task.after);
                }
                if task.token && task.done + bytes >= task.bytes() {
                    order.ends(engine, task.number);
                }
            }
        }
    }
    order.tick(first);
}

/// Who an engine is.
fn user(order: &Order, design: &Design, streams: &[Stream], engine: usize) -> String {
    if let Some(core) = design.cores.get(engine) {
        return User::Core(core.tile).to_string();
    }
    let (at, end) = order.end(engine);
    let mut ends =
        streams.get(at).into_iter().flat_map(|stream| std::iter::once(&stream.from).chain(&stream.to));
    match ends.nth(end) {
        Some(StreamEnd::Chain(chain)) => chain.name.clone(),
        _ => "a stream".to_owned(),
    }
}

/// What is wrong, if two use a buffer.
pub(super) fn told(design: &Design, net: &Net) -> Option<Diagnostic> {
    let order = net.order.as_ref()?;
    let race = order.uses.race.as_ref()?;
    let [(later, after), (earlier, before)] = &race.sites;
    let buffer = &design.buffers[after.buffer];
    let name = buffer.name.as_ref().map_or("a buffer".to_owned(), |name| format!("buffer `@{name}`"));
    let does = |touch: &Touch| if order.uses.writes(touch) { "written" } else { "read" };
    let who = |engine: usize| user(order, design, &net.streams, engine);
    let message = format!(
        "{name} of tile {} is {} by {} and {} by {}, and no lock or fifo says which of them is first",
        buffer.tile,
        does(before),
        who(*earlier),
        does(after),
        who(*later)
    );
    let mut found = Diagnostic::error(codes::SHARED, message).at(after.span, "");
    found.labels.push(Label { span: before.span, text: format!("it is {} here", does(before)) });
    for lock in order.begun(design, race) {
        let begin = design.locks[lock].init;
        found = found.note(format!(
            "{} begins at {begin}: that much of it is acquired without a wait",
            lock_name(design, lock)
        ));
    }
    Some(found)
}

/// That uses were not looked at, where there were more than are compared.
pub(super) fn cut(net: &Net) -> Option<Diagnostic> {
    net.order.as_ref().filter(|order| order.uses.is_cut)?;
    let message =
        "buffers are used at more places than are compared, and what comes behind them was not looked at";
    let help = "use parts of buffers in loops with written bounds, or a buffer of its own for each part";
    Some(Diagnostic::warning(codes::SHARED, message.to_owned()).help(help))
}
