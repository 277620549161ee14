//! Fifos and their links.

use super::ends::{core_does, is_moved};
use super::transfers::{Fields, dims};
use super::{Findings, held};
use crate::codes;
use crate::design::{Design, Fifo, Link, Step, integers, steps};
use crate::device::{LOCK_MAX, Tile, TileKind};
use crate::mlir::{Attr, Type, text_of};
use crate::run::{Allocation, depth};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn check(design: &Design, findings: &mut Findings) {
    for fifo in &design.fifos {
        ends(design, fifo, findings);
        used(design, fifo, findings);
    }
    for link in &design.links {
        check_link(design, link, findings);
        parts(design, link, findings);
    }
    again(design, findings);
    replay(design, findings);
}

fn ends(design: &Design, fifo: &Fifo, findings: &mut Findings) {
    if fifo.depths.contains(&0) {
        findings.add(codes::DEPTH, fifo.span, format!("fifo `@{}` has no objects", fifo.name));
    }
    if let Some(repeat) = fifo.repeat
        && (repeat == 0 || fifo.producer.tile.row == 0)
    {
        let message = format!(
            "fifo `@{}` sends objects {repeat} times from tile {}; memory tiles and cores send them again, once at least",
            fifo.name, fifo.producer.tile
        );
        findings.add(codes::REPEAT, fifo.span, message);
    }
    initial(fifo, findings);
    counted(design, fifo, findings);
    for end in std::iter::once(&fifo.producer).chain(&fifo.consumers) {
        if end.tile.row == 0 && !end.dims.is_empty() {
            let message = format!(
                "fifo `@{}` has dimensions on shim tile {}, where transfers of a sequence have their own",
                fifo.name, end.tile
            );
            findings.add(codes::DIMS, fifo.span, message);
        }
        if let Some(kind) = design.device.kind(end.tile) {
            let fields = Fields { kind, bytes: fifo.object.element_bytes().unwrap_or(1), what: &fifo.name };
            dims(&fields, &end.dims, fifo.span, findings);
        }
    }
    if !fifo.bytes().is_multiple_of(4) && !super::tiles::goes_by_memory(design, fifo) {
        let message = format!(
            "objects of fifo `@{}` have {} bytes, and streams carry whole words of 4",
            fifo.name,
            fifo.bytes()
        );
        findings.add(codes::GRANULE, fifo.span, message);
    }
}

/// Objects at each end that has them in its memory, which a lock counts.
fn counted(design: &Design, fifo: &Fifo, findings: &mut Findings) {
    let shared = super::tiles::goes_by_memory(design, fifo);
    let readers = fifo.consumers.iter().enumerate().filter(|_| !shared);
    let readers = readers.map(|(at, end)| (end.tile, fifo.consumer_depth(at)));
    for (tile, declared) in std::iter::once((fifo.producer.tile, fifo.producer_depth())).chain(readers) {
        let objects = depth(design, fifo, tile, declared, Allocation::Lowered);
        if tile.row > 0 && i64::from(objects) > LOCK_MAX {
            let message = format!(
                "fifo `@{}` has {objects} objects on tile {tile}, whose lock counts them, and a lock has values from 0 to {LOCK_MAX}",
                fifo.name
            );
            findings.add(codes::LOCKS, fifo.span, message);
        }
    }
}

/// Objects that are there from the start: as many as the producer has, each of the object's type.
fn initial(fifo: &Fifo, findings: &mut Findings) {
    let Some((_, values)) = fifo.others.iter().find(|(name, _)| name == "initValues") else { return };
    let (name, depth) = (&fifo.name, fifo.producer_depth() as usize);
    let mut wrong = |message: String| {
        findings.add(codes::INITIAL, fifo.span, message);
    };
    let Attr::Array(values) = values else {
        return wrong(format!("initial objects of fifo `@{name}` are a list of `dense<…>`"));
    };
    if fifo.producer.tile.row == 0 {
        return wrong(format!(
            "fifo `@{name}` has initial objects, and begins on a shim tile without memory"
        ));
    }
    if values.len() != depth {
        return wrong(format!("fifo `@{name}` has {depth} objects, and {} initial ones", values.len()));
    }
    for (at, value) in values.iter().enumerate() {
        let Attr::Elements(items, ty) = value else {
            return wrong(format!("initial object {at} of fifo `@{name}` is no `dense<…>`"));
        };
        let shape = fifo.object.shaped().map_or(&[][..], |shaped| &shaped.shape);
        let same =
            ty.shaped().is_some_and(|shaped| shaped.shape == shape) && ty.scalar() == fifo.object.scalar();
        if !same || !fills(items, shape) {
            return wrong(format!(
                "initial object {at} of fifo `@{name}` does not have the elements of `{}`",
                text_of(&fifo.object)
            ));
        }
        if let Some(other) = beside(items, ty.scalar()) {
            return wrong(format!(
                "initial object {at} of fifo `@{name}` has the element {other}, which is no number of `{}`",
                text_of(ty.scalar())
            ));
        }
    }
}

/// Whether values are one for all elements, or nested as the extents are.
fn fills(items: &Attr, shape: &[Option<u64>]) -> bool {
    fn nested(items: &Attr, shape: &[Option<u64>]) -> bool {
        match (items, shape) {
            (Attr::Array(items), [first, rest @ ..]) => {
                Some(items.len() as u64) == *first && items.iter().all(|item| nested(item, rest))
            }
            (Attr::Array(_), []) => false,
            (_, left) => left.is_empty(),
        }
    }
    !matches!(items, Attr::Array(_)) || nested(items, shape)
}

/// The first of the values that is no number of a type, as it is written; integers have no sign there.
fn beside(items: &Attr, ty: &Type) -> Option<String> {
    match (items, ty) {
        (Attr::Array(items), _) => items.iter().find_map(|item| beside(item, ty)),
        (Attr::Bool(_), Type::Int(1)) => None,
        (Attr::Float(..), ty) if ty.is_float() => None,
        (Attr::Int(value, _), ty) => {
            let (least, most) = integers(ty)?;
            let most = if let Type::Int(bits) = ty { i64::MAX >> 63u32.saturating_sub(*bits) } else { most };
            (!(least..=most).contains(value)).then(|| value.to_string())
        }
        (Attr::Float(value, _), _) => Some(format!("{value:?}")),
        (Attr::Bool(value), _) => Some(value.to_string()),
        (Attr::Str(text), _) => Some(format!("\"{text}\"")),
        _ => Some("that is no number".to_owned()),
    }
}

/// A fifo is fed at one end and drained at the others.
fn used(design: &Design, fifo: &Fifo, findings: &mut Findings) {
    let name = &fifo.name;
    let starts = fifo.others.iter().any(|(other, _)| other == "initValues");
    let tile = fifo.producer.tile;
    let (is_fed, how) = match design.device.kind(tile) {
        Some(TileKind::Shim) => (
            is_moved(design, name),
            format!("no transfer of a sequence fills fifo `@{name}`, which begins on shim tile {tile}"),
        ),
        Some(TileKind::Memory) => {
            let linked = design.links.iter().any(|link| link.outs.contains(name));
            (
                linked || starts,
                format!("no fifo goes on in fifo `@{name}`, which begins on memory tile {tile}"),
            )
        }
        _ => {
            let linked = design.links.iter().any(|link| link.outs.contains(name));
            let made = core_does(design, tile, "aie.objectfifo.release", fifo, 0);
            (linked || made, format!("the core on tile {tile} gives no object to fifo `@{name}`"))
        }
    };
    if !is_fed {
        findings.add(codes::FED, fifo.span, how);
    }
    for end in &fifo.consumers {
        let tile = end.tile;
        let linked = design.links.iter().any(|link| link.ins.contains(name));
        let (is_drained, how) = match design.device.kind(tile) {
            Some(TileKind::Shim) => (
                is_moved(design, name),
                format!("no transfer of a sequence empties fifo `@{name}`, which ends on shim tile {tile}"),
            ),
            Some(TileKind::Memory) => {
                (linked, format!("fifo `@{name}` ends on memory tile {tile} and goes on in no other"))
            }
            _ => {
                let taken = core_does(design, tile, "aie.objectfifo.release", fifo, 1);
                (
                    linked || taken || held::keeps(design, tile, fifo),
                    format!("the core on tile {tile} gives no object of fifo `@{name}` back"),
                )
            }
        };
        if !is_drained {
            findings.add(codes::DRAINED, fifo.span, how);
        }
    }
}

/// A fifo ends in one link, and begins in one.
fn again(design: &Design, findings: &mut Findings) {
    let mut linked: BTreeMap<(bool, &str), usize> = BTreeMap::new();
    for (at, link) in design.links.iter().enumerate() {
        let ins = link.ins.iter().map(|name| (true, name.as_str()));
        for end in ins.chain(link.outs.iter().map(|name| (false, name.as_str()))) {
            let name = end.1;
            if *linked.entry(end).or_insert(at) == at {
                continue;
            }
            let Some(fifo) = design.fifo(name) else { continue };
            let found = findings.add(codes::LINK, fifo.span, format!("fifo `@{name}` is in two links"));
            found.labels.push(wsp_diag::Label { span: link.span, text: "the second stands here".to_owned() });
        }
    }
}

fn check_link(design: &Design, link: &Link, findings: &mut Findings) {
    let mut wrong = |message: String| {
        findings.add(codes::LINK, link.span, message);
    };
    let find = |names: &[String]| names.iter().filter_map(|name| design.fifo(name)).collect::<Vec<_>>();
    let (ins, outs) = (find(&link.ins), find(&link.outs));
    if ins.len() != link.ins.len() || outs.len() != link.outs.len() || ins.is_empty() || outs.is_empty() {
        return wrong("a link names a fifo that is not there, or none".to_owned());
    }
    if ins.len() > 1 && outs.len() > 1 {
        return wrong("a link joins fifos or distributes to fifos, and does not do both".to_owned());
    }
    let tile = outs[0].producer.tile;
    let there = ins.iter().all(|fifo| fifo.consumers.iter().any(|end| end.tile == tile));
    if !there || outs.iter().any(|fifo| fifo.producer.tile != tile) || tile.row == 0 {
        return wrong(format!(
            "the fifos of a link do not end and begin on one tile with memory; the first begins on {tile}"
        ));
    }
    if ins.len().max(outs.len()) > 1 && tile.row != 1 {
        return wrong(format!(
            "a link joins or distributes on a memory tile, and this one is on tile {tile}"
        ));
    }
    let unused = if ins.len() > 1 { &link.distribute } else { &link.join };
    if ins.len().max(outs.len()) > 1 && !unused.is_empty() {
        let (does, of) = if ins.len() > 1 { ("joins", "distributes") } else { ("distributes", "joins") };
        return wrong(format!("a link that {does} fifos has {} offsets of one that {of} them", unused.len()));
    }
    let (parts, whole, offsets) =
        if ins.len() > 1 { (&ins, outs[0], &link.join) } else { (&outs, ins[0], &link.distribute) };
    if parts.len() > 1 && offsets.len() != parts.len() {
        return wrong(format!("a link of {} parts has {} offsets", parts.len(), offsets.len()));
    }
    for (part, offset) in parts.iter().zip(offsets) {
        let end = u64::try_from(*offset).ok().and_then(|offset| offset.checked_add(part.elements()));
        let fits = end.is_some_and(|end| end <= whole.elements());
        if parts.len() > 1 && !fits {
            wrong(format!(
                "the part of `@{}` at {offset} goes beyond an object of `@{}`, which has {} elements",
                part.name,
                whole.name,
                whole.elements()
            ));
        }
    }
    if parts.iter().any(|part| part.object.scalar() != whole.object.scalar()) {
        wrong("the fifos of a link have elements of one type".to_owned());
    }
}

/// Fifos that are joined fill an object, those that one is distributed to take all of it, and no element of it is of two.
fn parts(design: &Design, link: &Link, findings: &mut Findings) {
    let (names, out, offsets) = match (link.ins.as_slice(), link.outs.as_slice()) {
        (ins, [out]) if ins.len() > 1 => (ins, out, &link.join),
        ([whole], outs) if outs.len() > 1 => (outs, whole, &link.distribute),
        _ => return,
    };
    let Some(whole) = design.fifo(out).filter(|_| offsets.len() == names.len()) else { return };
    let part = |(name, offset): (&String, &i64)| Some((u64::try_from(*offset).ok()?, design.fifo(name)?));
    let mut parts: Vec<(u64, &Fifo)> = names.iter().zip(offsets).filter_map(part).collect();
    parts.sort_by_key(|(offset, _)| *offset);
    let mut next = 0u64;
    for (offset, part) in parts {
        if offset != next {
            let message = format!(
                "the part of `@{}` begins at element {offset} of an object of `@{out}`, and the parts before it end at {next}",
                part.name
            );
            findings.add(codes::LINK, link.span, message).help.push(format!("begin it at {next}"));
        }
        next = next.max(offset.saturating_add(part.elements()));
    }
    if next < whole.elements() {
        let message = format!(
            "the parts of a link end at element {next} of an object of `@{out}`, which has {}",
            whole.elements()
        );
        findings.add(codes::LINK, link.span, message);
    }
}

/// Fifos that reach each other by tiles, numbered by the first of them.
fn components(design: &Design) -> Vec<usize> {
    let mut of: Vec<usize> = (0..design.fifos.len()).collect();
    let begin: BTreeSet<Tile> = design.fifos.iter().map(|fifo| fifo.producer.tile).collect();
    for tile in begin {
        let ends = |at: &usize| design.fifos[*at].consumers.iter().any(|end| end.tile == tile);
        if !(0..of.len()).any(|at| ends(&at)) {
            continue;
        }
        let here = (0..of.len()).filter(|at| design.fifos[*at].producer.tile == tile || ends(at));
        let joined: BTreeSet<usize> = here.map(|at| of[at]).collect();
        let Some(low) = joined.first() else { continue };
        of.iter_mut().filter(|one| joined.contains(one)).for_each(|one| *one = *low);
    }
    of
}

/// What a fifo is filled with by the host: the transfers of the fifo that goes on in it, or its own.
fn source<'d>(design: &'d Design, fifo: &'d Fifo) -> Vec<crate::design::Move> {
    let link = design.links.iter().find(|link| link.outs == [fifo.name.clone()] && link.ins.len() == 1);
    let name = link.map_or(&fifo.name, |link| &link.ins[0]);
    let mut found = Vec::new();
    let mut see = |step: &Step| {
        if let Step::Move(transfer) = step
            && transfer.symbol.as_ref() == Some(name)
        {
            // Where and as which task it is written does not tell two broadcasts of the same data apart.
            found.push(crate::design::Move {
                symbol: None,
                task: None,
                id: None,
                token: false,
                span: wsp_diag::Span::default(),
                descriptor: wsp_diag::Span::default(),
                ..transfer.clone()
            });
        }
    };
    let all = design.sequences.iter().flat_map(|sequence| steps(sequence).unwrap_or_default());
    all.for_each(|step| step.walk(&mut see));
    found
}

/// A broadcast to cores whose results are sent again, `T` times each, needs `2 · depth ≥ consumers · T`; halves of one broadcast, which the
/// host fills with the same data, count together. With less, arrays were measured to hang.
fn replay(design: &Design, findings: &mut Findings) {
    if design.fifos.iter().all(|fifo| fifo.repeat.is_none_or(|times| times < 2)) {
        return;
    }
    let of = components(design);
    let mut seen: Vec<usize> = Vec::new();
    for (i, fifo) in design.fifos.iter().enumerate() {
        if fifo.consumers.len() < 2 || seen.contains(&i) {
            continue;
        }
        let data = source(design, fifo);
        let mut halves = vec![i];
        for (j, other) in design.fifos.iter().enumerate().skip(i + 1) {
            let alike = other.consumers.len() > 1
                && other.object == fifo.object
                && other.depths == fifo.depths
                && other.repeat == fifo.repeat;
            let apart =
                other.consumers.iter().all(|end| fifo.consumers.iter().all(|mine| mine.tile != end.tile));
            if alike && apart && !data.is_empty() && source(design, other) == data {
                halves.push(j);
            }
        }
        let fan: u64 = halves.iter().map(|half| design.fifos[*half].consumers.len() as u64).sum();
        let within = |at: usize| halves.iter().any(|half| of[*half] == of[at]);
        let times = design
            .fifos
            .iter()
            .enumerate()
            .filter(|(at, _)| within(*at))
            .filter_map(|(_, other)| other.repeat)
            .max();
        let (times, depth) = (u64::from(times.unwrap_or(1)), u64::from(fifo.producer_depth()));
        if times >= 2 && fan * times > 2 * depth {
            let needed = (fan * times).div_ceil(2);
            let message = format!(
                "fifo `@{}` of depth {depth} is broadcast to {fan} cores whose objects are sent {times} times: that takes a depth of {needed}",
                fifo.name
            );
            findings
                .add(codes::REPLAY, fifo.span, message)
                .help
                .push(format!("make it {needed} deep, or send to fewer cores"));
        }
        seen.extend(halves);
    }
}
