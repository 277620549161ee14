//! Tiles: where they are, and what they have room for.

use super::Findings;
use crate::codes;
use crate::design::{Design, Fifo};
use crate::device::{Bundle, Direction, STACK, Tile, TileKind};
use crate::run::{Allocation, Net, depth};
use wsp_diag::Span;

pub(super) fn check(design: &Design, findings: &mut Findings) {
    places(design, findings);
    kinds(design, findings);
    names(design, findings);
    channels(design, findings);
    descriptors(design, findings);
}

/// Memory and locks of tiles, which follow from the buffers that fifos have.
pub(super) fn room(design: &Design, findings: &mut Findings) {
    match Net::new(design, Allocation::Lowered) {
        Ok(net) => memory(design, &net, findings),
        // Rules of fifos and links have said it where they found it too.
        Err(fault) if findings.0.iter().any(|found| found.code == fault.code) => {}
        Err(fault) => findings.0.push(*fault),
    }
}

fn span_of(design: &Design, tile: Tile) -> Span {
    design.tiles.iter().find(|used| used.tile == tile).map_or(Span::default(), |used| used.span)
}

fn places(design: &Design, findings: &mut Findings) {
    for (i, used) in design.tiles.iter().enumerate() {
        let tile = used.tile;
        if design.device.kind(tile).is_none() {
            let (name, cols, rows) = (design.device.name, design.device.cols, design.device.rows);
            let message =
                format!("tile {tile} is not one of `{name}`, which has {cols} columns and {rows} rows");
            findings.add(codes::PLACE, used.span, message);
        }
        if design.tiles[..i].iter().any(|other| other.tile == tile) {
            findings.add(codes::PLACE, used.span, format!("tile {tile} is named twice"));
        }
    }
}

fn kinds(design: &Design, findings: &mut Findings) {
    let kind = |tile: Tile| design.device.kind(tile);
    let mut wrong = |what: &str, tile: Tile, span: Span| {
        let Some(kind) = kind(tile) else { return };
        findings.add(codes::KIND, span, format!("{what} on {} {tile}", kind.name()));
    };
    for (i, core) in design.cores.iter().enumerate() {
        if kind(core.tile) != Some(TileKind::Compute) {
            wrong("a core", core.tile, core.span);
        } else if design.cores[..i].iter().any(|other| other.tile == core.tile) {
            wrong("a second core", core.tile, core.span);
        }
    }
    for buffer in design.buffers.iter().filter(|buffer| kind(buffer.tile) == Some(TileKind::Shim)) {
        wrong("a buffer", buffer.tile, buffer.span);
    }
    for given in design.allocations.iter().filter(|given| kind(given.tile) != Some(TileKind::Shim)) {
        wrong("a channel of the host", given.tile, given.span);
    }
    for fifo in &design.fifos {
        for (i, end) in fifo.consumers.iter().enumerate() {
            if end.tile == fifo.producer.tile
                || fifo.consumers[..i].iter().any(|other| other.tile == end.tile)
            {
                wrong(&format!("two ends of fifo `@{}`", fifo.name), end.tile, fifo.span);
            }
        }
        if let Some(home) = fifo.home
            && (!fifo.is_shared()
                || !fifo.producer.tile.reaches(home)
                || !fifo.consumers[0].tile.reaches(home))
        {
            wrong(
                &format!("objects of fifo `@{}`, which its two cores do not both reach,", fifo.name),
                home,
                if fifo.home_span == Span::default() { fifo.span } else { fifo.home_span },
            );
        }
    }
}

/// Symbols of a device are names of one thing each.
fn names(design: &Design, findings: &mut Findings) {
    let mut all: Vec<(&str, Span)> =
        design.fifos.iter().map(|fifo| (fifo.name.as_str(), fifo.span)).collect();
    all.extend(design.kernels.iter().map(|kernel| (kernel.name.as_str(), kernel.span)));
    all.extend(design.allocations.iter().map(|given| (given.name.as_str(), given.span)));
    all.extend(design.buffers.iter().filter_map(|buffer| Some((buffer.name.as_deref()?, buffer.span))));
    all.extend(design.locks.iter().filter_map(|lock| Some((lock.name.as_deref()?, lock.span))));
    all.extend(
        design.sequences.iter().filter(|one| !one.name.is_empty()).map(|one| (one.name.as_str(), one.span)),
    );
    for (i, (name, span)) in all.iter().enumerate() {
        if all[..i].iter().any(|(other, _)| other == name) {
            findings.add(codes::TWICE, *span, format!("`@{name}` is the name of something else too"));
        }
    }
}

/// Channels that fifos and streams use on a tile.
fn channels_of(design: &Design, tile: Tile, direction: Direction) -> u32 {
    let mut count = 0;
    for fifo in design.fifos.iter().filter(|fifo| !goes_by_memory(design, fifo)) {
        count += match direction {
            Direction::Mm2s => u32::from(fifo.producer.tile == tile),
            Direction::S2mm => fifo.consumers.iter().filter(|end| end.tile == tile).count() as u32,
        };
    }
    let mut named: Vec<i64> = Vec::new();
    for flow in &design.flows {
        let port = if direction == Direction::Mm2s { flow.from } else { flow.to };
        if port.bundle == Bundle::Dma && port.tile == tile && !named.contains(&port.channel) {
            named.push(port.channel);
        }
    }
    count + named.len() as u32
}

/// Whether a fifo needs no channels.
pub(super) fn goes_by_memory(design: &Design, fifo: &Fifo) -> bool {
    let is_linked =
        design.links.iter().any(|link| link.ins.contains(&fifo.name) || link.outs.contains(&fifo.name));
    fifo.is_shared() && !is_linked
}

fn channels(design: &Design, findings: &mut Findings) {
    for tile in design.device.tiles() {
        let Some(kind) = design.device.kind(tile) else { continue };
        for (direction, what) in [(Direction::S2mm, "into"), (Direction::Mm2s, "out of")] {
            let (used, most) = (channels_of(design, tile, direction), kind.model().channels);
            if used > most {
                let message = format!(
                    "{used} streams go {what} the memory of tile {tile}, and a {} has {most} channels for them",
                    kind.name()
                );
                let found = findings.add(codes::CHANNELS, span_of(design, tile), message);
                found.help.push(format!("put {} of them on another tile", used - most));
                found.figures.push(("missing", u64::from(used - most)));
            }
        }
    }
}

fn memory(design: &Design, net: &Net, findings: &mut Findings) {
    for tile in design.device.tiles() {
        let Some(kind) = design.device.kind(tile) else { continue };
        let model = kind.model();
        let core = design.cores.iter().find(|core| core.tile == tile);
        let stack = core.map_or(0, |core| core.stack.unwrap_or(STACK));
        let buffers = design.buffers.iter().filter(|buffer| buffer.tile == tile);
        let own: u64 = buffers.map(|buffer| design.module.ty(buffer.value).bytes().unwrap_or(0)).sum();
        let pools = net.pools.iter().filter(|pool| pool.tile == tile);
        let objects: u64 = pools.map(|pool| pool.bytes * pool.slots.len() as u64).sum();
        let used = stack + own + objects;
        if kind != TileKind::Shim && used > model.memory {
            let message =
                format!("tile {tile} needs {used} bytes, and a {} has {}", kind.name(), model.memory);
            let found = findings.add(codes::MEMORY, span_of(design, tile), message);
            found.notes.push(format!(
                "{objects} of objects, {own} of buffers, {stack} of stack: {} too many",
                used - model.memory
            ));
            found.figures.push(("missing", used - model.memory));
        }
        let locks = design.locks.iter().filter(|lock| lock.tile == tile).count();
        let pools = net.pools.iter().filter(|pool| pool.tile == tile).count();
        let used = locks + 2 * pools;
        if used > model.locks as usize {
            let message = format!(
                "tile {tile} needs {used} locks, 2 for each of {pools} fifos and {locks} of its own, and a {} has {}",
                kind.name(),
                model.locks
            );
            let beyond = design.locks.iter().filter(|lock| lock.tile == tile).nth(model.locks as usize);
            findings.add(codes::LOCKS, beyond.map_or(span_of(design, tile), |lock| lock.span), message);
        }
    }
}

/// Descriptors that the ends of fifos need on a tile of their own: one for each object, each time that it is sent.
fn descriptors(design: &Design, findings: &mut Findings) {
    for tile in design.device.tiles().filter(|tile| tile.row > 0) {
        let Some(kind) = design.device.kind(tile) else { continue };
        let model = kind.model();
        let mut total = 0u32;
        for fifo in design.fifos.iter().filter(|fifo| !goes_by_memory(design, fifo)) {
            let mut ends = Vec::new();
            if fifo.producer.tile == tile {
                let depth = depth(design, fifo, tile, fifo.producer_depth(), Allocation::Lowered);
                ends.push(depth.saturating_mul(fifo.repeat.unwrap_or(1)));
            }
            for (i, _) in fifo.consumers.iter().enumerate().filter(|(_, end)| end.tile == tile) {
                ends.push(depth(design, fifo, tile, fifo.consumer_depth(i), Allocation::Lowered));
            }
            for needed in ends {
                total = total.saturating_add(needed);
                // Of a memory tile each channel can use one half.
                let most = if kind == TileKind::Memory { model.descriptors / 2 } else { model.descriptors };
                if needed > most {
                    let message = format!(
                        "fifo `@{}` needs {needed} descriptors on tile {tile}, and a channel there has {most}",
                        fifo.name
                    );
                    findings.add(codes::DESCRIPTORS, fifo.span, message);
                }
            }
        }
        if total > model.descriptors {
            let message = format!(
                "fifos need {total} descriptors on tile {tile}, and a {} has {}",
                kind.name(),
                model.descriptors
            );
            findings.add(codes::DESCRIPTORS, span_of(design, tile), message);
        }
    }
}
