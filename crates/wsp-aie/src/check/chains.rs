//! Chains of descriptors of a tile's own.

use super::Findings;
use super::cores::lock;
use super::transfers::{Fields, begins, channel, dims};
use crate::codes;
use crate::design::{Design, TileDma, packet};
use crate::device::{Tile, TileKind};
use crate::mlir::{Attr, Block, Dim, Op};
use std::collections::BTreeSet;

/// The channels of a memory tile below this one reach the memory tiles beside it.
const FAR_CHANNELS: i64 = 4;

pub(super) fn check(design: &Design, findings: &mut Findings) {
    for dma in &design.dmas {
        let Some(kind) = design.device.kind(dma.tile) else { continue };
        let model = kind.model();
        let mut count = 0;
        let mut see = |op: &Op| match op.name.as_str() {
            "aie.dma_start" => {
                channel(kind, op.find_int("channel_index").unwrap_or(0), op.span, findings);
            }
            "aie.use_lock" => lock(op, findings),
            "aie.dma_bd" => {
                count += 1;
                descriptor(design, kind, op, findings);
            }
            _ => {}
        };
        dma.body.blocks.iter().flat_map(|block| &block.ops).for_each(|op| op.walk(&mut see));
        if count > model.descriptors {
            findings.add(
                codes::DESCRIPTORS,
                dma.span,
                format!("{count} descriptors on a {}, which has {}", kind.name(), model.descriptors),
            );
        }
        dma.body.blocks.iter().for_each(|block| one(dma, block, findings));
        started(kind, dma, findings);
        reach(design, kind, dma, findings);
    }
}

/// A block has one descriptor at most, which acquires one lock at most and releases one at most.
fn one(dma: &TileDma, block: &Block, findings: &mut Findings) {
    let count = |what: &dyn Fn(&&Op) -> bool| block.ops.iter().filter(what).count();
    let uses = |release: bool| {
        count(&move |op: &&Op| op.name == "aie.use_lock" && (op.find_int("action") == Some(1)) == release)
    };
    let found = [
        (uses(false), "acquires", "locks"),
        (uses(true), "releases", "locks"),
        (count(&|op: &&Op| op.name == "aie.dma_bd"), "has", "`aie.dma_bd`"),
    ];
    for (many, does, what) in found.into_iter().filter(|(many, ..)| *many > 1) {
        let message = format!(
            "a block of the channels of tile {} {does} {many} {what}, and a descriptor one",
            dma.tile
        );
        let found = findings.add(codes::CHAIN, dma.span, message);
        let span = block.ops.first().map_or(dma.span, |op| op.span);
        found.labels.push(wsp_diag::Label { span, text: "the block begins here".to_owned() });
        found.help.push("give each descriptor a block".to_owned());
    }
}

/// As many channels are started as there are.
fn started(kind: TileKind, dma: &TileDma, findings: &mut Findings) {
    for (direction, what) in [(0, "into"), (1, "out of")] {
        let mut channels = BTreeSet::new();
        for op in dma.body.blocks.iter().flat_map(|block| &block.ops) {
            let number = op.find_int("channel_index").unwrap_or(0);
            if op.name == "aie.dma_start" && op.find_int("channel_dir") == Some(direction) {
                channels.insert(number);
            }
        }
        let (used, most) = (channels.len() as u32, kind.model().channels);
        if used > most {
            let message = format!(
                "{used} channels {what} the memory of tile {} are started, and a {} has {most}",
                dma.tile,
                kind.name()
            );
            findings
                .add(codes::CHANNELS, dma.span, message)
                .figures
                .push(("missing", u64::from(used - most)));
        }
    }
}

fn descriptor(design: &Design, kind: TileKind, op: &Op, findings: &mut Findings) {
    let model = kind.model();
    findings.0.extend(packet(op).err());
    for name in ["bd_id", "next_bd_id"] {
        if let Some(id) = op.find_int(name).filter(|id| !(0..i64::from(model.descriptors)).contains(id)) {
            let message = format!(
                "descriptor {id} of a {}, which has descriptors 0 to {}",
                kind.name(),
                model.descriptors - 1
            );
            findings.add(codes::DESCRIPTORS, op.span, message);
        }
    }
    let Some(buffer) = op.operands.first().and_then(|value| design.buffer(*value)) else { return };
    let ty = design.module.ty(buffer.value);
    let name = buffer.name.as_deref().unwrap_or("a buffer");
    let bytes = ty.element_bytes().unwrap_or(1);
    let all: &[Dim] = match op.find("dimensions") {
        Some(Attr::Dims(all)) => all,
        _ => &[],
    };
    dims(&Fields { kind, bytes, what: name }, all, op.span, findings);
    let (offset, len) = (op.find_int("offset").unwrap_or(0), op.find_int("len"));
    let elements = ty.elements().unwrap_or(0);
    let reach = all
        .iter()
        .fold(0u64, |sum, dim| sum.saturating_add(dim.size.saturating_sub(1).saturating_mul(dim.stride)));
    let first = u64::try_from(offset).ok();
    let length = len.map_or(Some(1), |len| u64::try_from(len).ok()).filter(|len| *len > 0);
    let end = first.zip(length).map(|(first, len)| first.saturating_add(len.max(reach.saturating_add(1))));
    if end.is_none_or(|end| end > elements) {
        let end = end.map_or(offset.saturating_add(len.unwrap_or(1)), |end| end as i64);
        let message = format!("a descriptor has elements {offset} to {end} of a buffer of {elements}");
        findings.add(codes::TRANSFER, op.span, message);
    }
    if let Some(first) = first {
        begins(
            name,
            first.saturating_mul(bytes).saturating_add(buffer.address.unwrap_or(0)),
            op.span,
            findings,
        );
    }
    let total = length.filter(|_| len.is_some()).unwrap_or(elements).saturating_mul(bytes);
    if !total.is_multiple_of(4) {
        let message =
            format!("a transfer of `@{name}` has {total} bytes, and streams carry whole words of 4");
        findings.add(codes::GRANULE, op.span, message);
    }
}

/// What each channel of a tile goes through, each block once for a channel; numbers of channels that a tile does not have are refused.
fn reach(design: &Design, kind: TileKind, dma: &TileDma, findings: &mut Findings) {
    let blocks = &dma.body.blocks;
    let mut taken: [BTreeSet<u32>; 2] = Default::default();
    let mut seen = vec![BTreeSet::new(); kind.model().channels as usize];
    for start in blocks.iter().flat_map(|block| &block.ops).filter(|op| op.name == "aie.dma_start") {
        let number = start.find_int("channel_index").unwrap_or(0);
        let Some(seen) = usize::try_from(number).ok().and_then(|number| seen.get_mut(number)) else {
            continue;
        };
        let taken = &mut taken[usize::from(number % 2 != 0)];
        let mut next = start.successors.first().copied();
        while let Some(at) = next.filter(|at| seen.insert(*at)) {
            let Some(block) = blocks.get(at as usize) else { break };
            for op in &block.ops {
                near(design, (kind, dma.tile, number), op, findings);
                if op.name == "aie.dma_bd" {
                    usable((kind, number), at, op, taken, findings);
                }
            }
            let goes_on = block.ops.iter().find(|op| op.name == "aie.next_bd");
            next = goes_on.and_then(|op| op.successors.first().copied());
        }
    }
}

/// Of a memory tile even channels use one half of the descriptors, and odd ones the other.
fn usable(of: (TileKind, i64), block: u32, op: &Op, taken: &mut BTreeSet<u32>, findings: &mut Findings) {
    let (kind, number) = of;
    let model = kind.model();
    if kind != TileKind::Memory || !taken.insert(block) {
        return;
    }
    let (half, which) = (model.descriptors / 2, if number % 2 == 0 { "even" } else { "odd" });
    let id = op.find_int("bd_id").and_then(|id| u32::try_from(id).ok()).filter(|id| *id < model.descriptors);
    if let (Some(id), Ok(channel)) = (id, u32::try_from(number))
        && !model.takes(channel, id)
    {
        let first = if channel.is_multiple_of(2) { 0 } else { half };
        let message = format!(
            "descriptor {id} is for channel {number} of a memory tile, whose {which} channels have descriptors {first} to {}",
            first + half - 1
        );
        findings.add(codes::DESCRIPTORS, op.span, message);
    }
    if taken.len() as u32 == half + 1 {
        let message =
            format!("{which} channels of a memory tile have {half} descriptors, and this is one more");
        findings.add(codes::DESCRIPTORS, op.span, message);
    }
}

/// Channels use memory and locks of their tile; those of a memory tile, and not the last two, of the next ones to the east and west too.
fn near(design: &Design, of: (TileKind, Tile, i64), op: &Op, findings: &mut Findings) {
    let (kind, here, number) = of;
    if !matches!(op.name.as_str(), "aie.dma_bd" | "aie.use_lock") {
        return;
    }
    let is_far = kind == TileKind::Memory && number < FAR_CHANNELS;
    let reaches =
        |tile: Tile| tile == here || is_far && tile.row == here.row && tile.col.abs_diff(here.col) == 1;
    let value = op.operands.first().copied();
    let buffer = value.and_then(|value| design.buffer(value)).map(|buffer| ("memory", buffer.tile));
    let lock = value.and_then(|value| design.lock(value)).map(|lock| ("a lock", lock.tile));
    if let Some((what, tile)) = buffer.or(lock).filter(|(_, tile)| !reaches(*tile)) {
        let message = format!("channel {number} of tile {here} does not reach {what} of tile {tile}");
        findings.add(codes::REACH, op.span, message);
    }
}
